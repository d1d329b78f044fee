//! Messages: those of a branch, page by page, and one whole with how it stands in a window. A page costs what it shows,
//! however long the conversation is.

mod part;
mod range;
mod told;
mod why;

use std::ops::Range;

use schemars::JsonSchema;
use scrollback::ids::{BranchId, Depth};
use scrollback::note::{Covers, Fold};
use scrollback::store::{Beside, Lineage, Place as Where, Position, Span, Stored};
use scrollback::{MessageId, SessionKey, Store};
use serde::Serialize;
use serde_json::Value;

use super::place::{Place, message_id};
use super::{Ask, Refusal, Room, views};
use range::Wanted;
pub(super) use told::{How, Message};
use told::{Look, shown};
use why::Parts;
pub(crate) use why::{Case, Said, places};

/// A page is read so many messages at a time.
const STEP: u32 = 10;
/// A page that took so much to read ends early.
const PAGE_BYTES: usize = 4 << 20;
/// Instructions stand at the head of a session; this far they are looked for, so many at a time.
const PREAMBLE_AMONG: u32 = 64;
const PREAMBLE_STEP: u32 = 4;

/// A page of the messages of a branch, oldest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MessagePage")]
pub(super) struct Page {
    messages: Vec<Message>,
    /// Whether nothing is earlier.
    start: bool,
    /// Whether nothing is later.
    end: bool,
    /// How many messages the branch has, with its instructions.
    total: u32,
    /// The first and last message that is folded.
    folded: Option<[MessageId; 2]>,
}

/// A message, whole.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MessageWhole")]
pub(super) struct Whole {
    #[serde(flatten)]
    message: Message,
    /// The branch that is meant.
    branch: BranchId,
    /// The exact JSON it came as.
    raw: String,
    standing: Standing,
}

/// How a message stands in a window.
#[derive(Serialize, JsonSchema)]
struct Standing {
    word: &'static str,
    why: String,
    parts: Parts,
}

/// Lists messages of a branch: the newest, or those before, after or around one.
pub(super) async fn list(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let (count, wanted) = (ask.page()?.count, Wanted::of(ask)?);
    let place = room.place(ask, name).await?;
    let fold = room.fold(&place).await?;
    let count_on_path = place.head.depth.0 + 1;
    let depth = match wanted.message() {
        Some(id) => depth_on_path(room, &place, id).await?.map(|depth| depth.0),
        None => None,
    };
    let look = Look::new(&place, &fold, How::of(ask).in_a_list());
    let (mut messages, range) = light(room, &look, wanted, wanted.range(depth, count, count_on_path)).await?;
    let instructions = preamble(room.store(), &place.key).await?;
    if range.start == 0 {
        let first = instructions.iter().filter(|stored| wanted.shows(stored.id));
        messages.splice(0..0, first.map(|stored| look.beside(stored)));
    }
    let (start, end) = (range.start == 0, range.end == count_on_path);
    let total = count_on_path + u32::try_from(instructions.len()).unwrap_or(u32::MAX);
    Ok(serde_json::to_value(Page { messages, start, end, total, folded: fold.covers.map(Covers::ends) })?)
}

/// The messages of a range, or as many as may be read for a page, and the range that they are.
async fn light(
    room: &Room,
    look: &Look<'_>,
    wanted: Wanted,
    range: Range<u32>,
) -> Result<(Vec<Message>, Range<u32>), Refusal> {
    let (mut messages, mut bytes, mut rest) = (Vec::new(), 0, range.clone());
    while !rest.is_empty() && bytes < PAGE_BYTES {
        let step = wanted.step(&mut rest, STEP);
        let told = shown(room, look, Depth(step.start), Depth(step.end - 1)).await?;
        bytes += told.iter().map(|message| message.bytes).sum::<usize>();
        let at = if wanted.goes_on() { messages.len() } else { 0 };
        messages.splice(at..at, told);
    }
    let shown = if wanted.goes_on() { range.start..rest.start } else { rest.end..range.end };
    Ok((messages, shown))
}

/// One message, whole.
pub(super) async fn one(room: &Room, ask: &Ask, name: &str, message: &str) -> Result<Value, Refusal> {
    let (place, stored) = placed(room, ask, name, message_id(message)?).await?;
    let fold = room.fold(&place).await?;
    let look = Look::new(&place, &fold, How::of(ask));
    let message = match stored.place {
        Where::Path(position) => {
            on_branch(&place, &position)?;
            let told = shown(room, &look, position.depth, position.depth).await?.pop();
            told.unwrap_or_else(|| look.beside(&stored))
        }
        Where::Beside(_) => look.beside(&stored),
    };
    let standing = standing(room, &place, &stored, ask.text("view")).await?;
    let (branch, raw) = (place.head.branch, stored.raw.get().to_owned());
    Ok(serde_json::to_value(Whole { message, branch, raw, standing })?)
}

/// A message and the path it is looked at on: where no branch is named, the newest, or else its own.
async fn placed(room: &Room, ask: &Ask, name: &str, id: MessageId) -> Result<(Place, Stored), Refusal> {
    let place = room.place(ask, name).await?;
    let stored = stored(room, &place.key, id).await?;
    let lineage = Lineage::of(place.head, &place.session.branches);
    let position = stands_at(room, &place.key, &stored).await?;
    let own = position.filter(|at| !lineage.holds(&Where::Path(*at))).map(|position| position.branch.0);
    if own.is_none() || ask.text("branch").is_some() {
        return Ok((place, stored));
    }
    Ok((room.place(&ask.clone().with("branch", own), name).await?, stored))
}

/// How a message stood in a view; where none is named, in the newest of the path it is looked at on.
async fn standing(room: &Room, place: &Place, stored: &Stored, view: Option<&str>) -> Result<Standing, Refusal> {
    let unsent = |what: &str| {
        let why = format!("no window of this {what} was ever sent");
        Ok(Standing { word: "unsent", why, parts: Parts::default() })
    };
    let recorded = match view {
        None | Some(views::NEWEST) if place.newest.is_none() => return unsent("session"),
        None => match views::newest_on(room, place).await? {
            Some(newest) => newest,
            None => return unsent("branch"),
        },
        Some(name) => views::named(room, &place.key, name).await?,
    };
    let Place { session, key, .. } = place;
    let case = Case { engine: &room.engine, key, session, recorded: &recorded, stored, time: |at| at.to_string() };
    let Said { word, why, parts } = case.said().await?;
    Ok(Standing { word, why, parts })
}

/// The messages of the page of the contents that one is on, and the number of that page.
pub(super) async fn of_page(
    room: &Room,
    place: &Place,
    fold: &Fold,
    id: MessageId,
    how: How,
) -> Result<(MessageId, Vec<Message>), Refusal> {
    let depth = depth_of(room, place, id).await?;
    let page = room.engine.page_at(&place.key, place.head, fold, depth).await?;
    let depths = || page.iter().filter_map(Stored::position).map(|position| position.depth);
    let (from, to) = (depths().next().unwrap_or(depth), depths().next_back().unwrap_or(depth));
    let first = page.first().map_or(id, |stored| stored.id);
    Ok((first, shown(room, &Look::new(place, fold, how), from, to).await?))
}

/// The instructions a session began with.
pub(crate) async fn preamble(store: &dyn Store, key: &SessionKey) -> scrollback::Result<Vec<Stored>> {
    let instructs = |stored: &Stored| stored.place == Where::Beside(Beside::Preamble);
    let mut found = Vec::new();
    // What follows them may be long.
    for from in (0..PREAMBLE_AMONG).step_by(PREAMBLE_STEP as usize) {
        let next = store.read(key, Span::Arrival { from: MessageId(from), limit: PREAMBLE_STEP as usize }).await?;
        let are_all = !next.is_empty() && next.iter().all(instructs);
        found.extend(next.into_iter().take_while(instructs));
        if !are_all {
            break;
        }
    }
    Ok(found)
}

/// How deep on its branch a message is; of one beside the path, what it stands with.
async fn depth_of(room: &Room, place: &Place, id: MessageId) -> Result<Depth, Refusal> {
    Ok(depth_on_path(room, place, id).await?.unwrap_or(Depth(0)))
}

/// The same; `None` for instructions, which stand before the path.
async fn depth_on_path(room: &Room, place: &Place, id: MessageId) -> Result<Option<Depth>, Refusal> {
    let found = stored(room, &place.key, id).await?;
    if found.place == Where::Beside(Beside::Preamble) {
        return Ok(None);
    }
    let nowhere = || Refusal::not_found(format!("{id} stands beside the path, so nothing is before or after it"));
    Ok(Some(on_branch(place, &stands_at(room, &place.key, &found).await?.ok_or_else(nowhere)?)?))
}

/// Where a message is on the path; of one beside the path, where what it stands with is.
async fn stands_at(room: &Room, key: &SessionKey, found: &Stored) -> Result<Option<Position>, Refusal> {
    let with = match found.place {
        Where::Path(position) => return Ok(Some(position)),
        Where::Beside(Beside::Preamble) => None,
        Where::Beside(Beside::Overlay(over)) => Some(over),
        Where::Beside(Beside::Insert | Beside::Aside) => found.parent,
    };
    match with {
        Some(with) => Ok(stored(room, key, with).await?.position()),
        None => Ok(None),
    }
}

async fn stored(room: &Room, key: &SessionKey, id: MessageId) -> Result<Stored, Refusal> {
    let found = room.engine.log().store().read(key, Span::Ids(vec![id])).await?.pop();
    found.ok_or_else(|| Refusal::not_found(format!("this session has no message {id}")))
}

/// The depth of a position, if it is on the branch that is meant.
pub(super) fn on_branch(place: &Place, position: &Position) -> Result<Depth, Refusal> {
    let lineage = Lineage::of(place.head, &place.session.branches);
    if lineage.holds(&Where::Path(*position)) {
        return Ok(position.depth);
    }
    let (id, its, asked) = (position.id, position.branch.0, place.head.branch.0);
    Err(Refusal::not_found(format!("{id} is on branch {its}, not on branch {asked}: ask with branch={its}")))
}
