//! Views: the windows of a session that were sent, newest first; one of them block by block; and what differs between
//! two.

mod block;
mod compare;
mod listing;

use schemars::JsonSchema;
use scrollback::engine::Recorded;
use scrollback::ids::BranchId;
use scrollback::ledger::{Cost, Totals};
use scrollback::note::Covers;
use scrollback::view::{FoldId, View};
use scrollback::window::Reason;
use scrollback::{MessageId, SessionKey};
use serde::Serialize;
use serde_json::Value;

use super::{Ask, Refusal, Room};
use block::Block;
pub(crate) use compare::{Change, changes};
pub(super) use listing::{list, newest_on};

/// What stands for the view that was made last.
pub(crate) const NEWEST: &str = "newest";

/// A page of views.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ViewPage")]
pub(super) struct Page {
    views: Vec<Line>,
    /// Where the next page begins; of those after a view, the one to name next.
    next: Option<String>,
}

/// A view as it is listed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ViewLine")]
pub(crate) struct Line {
    view: String,
    at: scrollback::At,
    /// The message it was made to answer.
    head: MessageId,
    branch: BranchId,
    tokens: u32,
    budget: u32,
    /// The model's limit.
    limit: Option<u32>,
    layout: String,
    fold: Option<FoldId>,
    /// What the model recalled on the way.
    recalls: Vec<String>,
    /// What had to be done to it.
    notices: Vec<String>,
    /// What its calls cost, in dollars, if every price is known.
    cost: Option<f64>,
    kinds: Kinds,
}

/// What a window was made of, in tokens.
#[derive(Default, Serialize, JsonSchema)]
struct Kinds {
    instructions: u32,
    contents: u32,
    kept: u32,
    topics: u32,
    open: u32,
    current: u32,
    held: u32,
    recalled: u32,
    reasoning: u32,
}

/// A view, block by block.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "View")]
pub(super) struct Whole {
    #[serde(flatten)]
    line: Line,
    blocks: Vec<Block>,
    /// The first and last message that was folded.
    covers: Option<[MessageId; 2]>,
    /// How many messages were neither shown nor under a note.
    lost: u32,
}

/// What differs between two views.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ViewDiff")]
pub(super) struct Compared {
    from: String,
    to: String,
    /// What only the second shows, or shows differently.
    more: Vec<Block>,
    /// What only the first shows, or shows differently.
    less: Vec<Block>,
    /// How many blocks are the same.
    same: usize,
    tokens: Sizes,
}

/// What two windows cost.
#[derive(Serialize, JsonSchema)]
struct Sizes {
    from: u32,
    to: u32,
}

impl Kinds {
    fn of(view: &View) -> Self {
        let mut kinds = Self {
            instructions: view.preamble_tokens,
            contents: view.fold_tokens,
            kept: view.kept_tokens,
            topics: view.topics_tokens,
            recalled: view.recalled_tokens,
            reasoning: view.reasoning_tokens,
            ..Self::default()
        };
        for run in &view.runs {
            *match run.reason {
                Reason::CurrentTurn => &mut kinds.current,
                Reason::TooLarge => &mut kinds.held,
                Reason::Instructions => &mut kinds.instructions,
                Reason::Kept => &mut kinds.kept,
                Reason::Relevant => &mut kinds.topics,
                Reason::Recalled => &mut kinds.recalled,
                Reason::Reasoning => &mut kinds.reasoning,
                Reason::Covers => &mut kinds.contents,
                Reason::Open | Reason::LeftOut => &mut kinds.open,
            } += run.tokens;
        }
        kinds
    }
}

impl Line {
    pub(crate) fn of(recorded: &Recorded) -> Self {
        let Recorded { name, at, view, .. } = recorded;
        Self {
            view: name.clone(),
            at: *at,
            head: view.head.id,
            branch: view.head.branch,
            tokens: view.tokens(),
            budget: view.budget,
            limit: view.layout.rsplit_once('@').and_then(|(_, limit)| limit.parse().ok()),
            layout: view.layout.clone(),
            fold: view.fold,
            recalls: view.recalls.clone(),
            notices: view.notices.clone(),
            cost: cost(recorded).map(Cost::dollars),
            kinds: Kinds::of(view),
        }
    }
}

/// What a view's calls cost together; `None` if a price is not known.
pub(crate) fn cost(recorded: &Recorded) -> Option<Cost> {
    let totals: Totals = recorded.view.calls.iter().collect();
    (totals.unpriced == 0).then_some(totals.cost)
}

/// Shows a view, block by block.
pub(super) async fn one(room: &Room, ask: &Ask, name: &str, view: &str) -> Result<Value, Refusal> {
    let (_, key) = room.session(name).await?;
    let recorded = named(room, &key, view).await?;
    let window = room.engine.window_of(&key, &recorded.view).await?;
    let blocks = block::all(&window, &recorded.view, ask.wants("text", "true"));
    let covers = room.engine.fold_of(&key, &recorded.view).await?.covers.map(Covers::ends);
    Ok(serde_json::to_value(Whole { line: Line::of(&recorded), blocks, covers, lost: window.lost() })?)
}

/// Compares two views.
pub(super) async fn diff(room: &Room, ask: &Ask, name: &str, view: &str) -> Result<Value, Refusal> {
    let (_, key) = room.session(name).await?;
    let other = ask.text("with").ok_or_else(|| Refusal::invalid("name the view to compare it with: with=v38"))?;
    let (before, after) = (named(room, &key, other).await?, named(room, &key, view).await?);
    let (old, new) =
        (room.engine.window_of(&key, &before.view).await?, room.engine.window_of(&key, &after.view).await?);
    let (mut more, mut less) = (Vec::new(), Vec::new());
    let changes = changes(&old, &new);
    let differ = changes.iter().filter(|(change, _)| *change != Change::Gone).count();
    for (change, shown) in changes {
        match change {
            Change::Gone => less.push(Block::of(shown, false)),
            Change::New => more.push(Block::of(shown, false)),
            Change::Changed => {
                less.extend(compare::counterpart(&old, shown).map(|shown| Block::of(shown, false)));
                more.push(Block::of(shown, false));
            }
        }
    }
    let (same, tokens) = (new.blocks().len() - differ, Sizes { from: before.view.tokens(), to: after.view.tokens() });
    Ok(serde_json::to_value(Compared { from: before.name, to: after.name, more, less, same, tokens })?)
}

/// The view a person means: `v42`, `v42.2`, or the newest.
pub(crate) async fn named(room: &Room, key: &SessionKey, name: &str) -> Result<Recorded, Refusal> {
    let found = match name {
        NEWEST => room.engine.newest_view(key).await?,
        name => room.engine.view_named(key, name).await?,
    };
    found.ok_or_else(|| match name {
        NEWEST => Refusal::not_found("no window of this session was ever sent"),
        name => Refusal::not_found(format!("this session has no view “{name}”: its views list them")),
    })
}
