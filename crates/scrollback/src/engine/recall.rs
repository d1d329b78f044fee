//! Recall: carries out what a model asks to see again. It sees the path of its own conversation and nothing else,
//! unless a person allows results of other sessions. What is too large for the room left is cut, with a pointer to the
//! rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Engine;
use super::topics::{Wanted, Woken, recorded};
use super::turn::Turn;
use crate::error::{Error, Result};
use crate::ids::{Depth, MessageId, SessionKey};
use crate::note::Fold;
use crate::recall::{CALLS_MAX, Hit, Part, RecallCall, fence, heading, said};
use crate::search::{Found, Query, Reach};
use crate::store::{Lineage, Place, Position, Span, Stored};
use crate::strategy::{Leaf, StrategyName, turns};
use crate::task;
use crate::window::{Block, Body, Budget, Window, tokens_of};

mod elsewhere;
mod expand;
mod held;
mod meant;
mod outside;
mod passages;
mod whole;

use passages::cut;
pub(super) use passages::told as shown_words;
pub use whole::Lines;

/// How many finds a search shows.
const FINDS: usize = 8;
/// How far around a message its turn is looked for.
const AROUND: u32 = 64;
/// Tokens that a result costs beyond what it shows: fence, title, pointer.
const DRESS: u32 = 120;
/// With less room than this nothing is shown: it would be a beginning without an end.
const LEAST: u32 = 60;
/// What is kept of the window's room for the model's own words, in hundredths.
const KEEP: u32 = 10;
/// What a model is told of a message that a person wants left out.
const LEFT_OUT: &str = "[left out, as the person wants it]";
/// The room of a recall where no window is at hand, in tokens.
const ROOM: u32 = 100_000;

/// Whose eyes a recall sees with: a path, what of it is folded, and the window that its model has before it.
struct Sight<'a> {
    session: &'a SessionKey,
    head: Position,
    fold: &'a Fold,
    window: Option<&'a Window>,
    /// What a person wants left out; a person may see it.
    excluded: &'a BTreeSet<MessageId>,
    /// Whether a person looks, and no model.
    is_person: bool,
    /// Whether the path may be sorted into topics, some of which are archived.
    sorted: bool,
}

impl Sight<'_> {
    /// What the model has before it.
    fn blocks(&self) -> &[Block] {
        self.window.map(Window::blocks).unwrap_or_default()
    }

    /// Whether a message is neither shown there nor left out; one that is held is not shown.
    fn lacks(&self, id: MessageId) -> bool {
        let same = |block: &&Block| block.message().is_some_and(|stored| stored.id == id);
        let block = self.blocks().iter().find(same);
        block.is_none_or(|block| matches!(block.body, Body::Held(..))) && !self.excluded.contains(&id)
    }
}

/// What a call is answered with, and the page it showed.
struct Answered {
    text: String,
    page: Option<MessageId>,
    woken: Option<Woken>,
}

impl Turn {
    fn sight(&self) -> Sight<'_> {
        let (session, fold) = (&self.received.session, &*self.lane.folded.fold);
        let (window, excluded) = (Some(&self.window), self.lane.excluded());
        let sorted = self.lane.strategy == StrategyName::Topics;
        Sight { session, head: self.head, fold, window, excluded, is_person: false, sorted }
    }
}

impl Engine {
    /// Answers calls of a model that is sent the window again with the answers, each with a text; a call that cannot be
    /// carried out is told why.
    pub fn recall<'a>(
        &'a self,
        turn: &'a mut Turn,
        calls: &'a [Result<RecallCall, String>],
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            // Where no room can be made, what is recalled is cut to the room there is.
            Box::pin(self.make_room(turn)).await.unwrap_or_default();
            self.recall_for_later(turn, calls).await
        })
    }

    /// The same where the client goes on first: the window stays as it was sent.
    pub fn recall_for_later<'a>(
        &'a self,
        turn: &'a mut Turn,
        calls: &'a [Result<RecallCall, String>],
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            let room = Budget { tokens: turn.window.room() }.share(100 - KEEP);
            let each = room / u32::try_from(calls.len().clamp(1, CALLS_MAX)).unwrap_or(1);
            let mut answers = Vec::with_capacity(calls.len());
            for (i, call) in calls.iter().enumerate() {
                answers.push(match call {
                    _ if i >= CALLS_MAX => {
                        format!("Too many calls at once; ask again for this one (at most {CALLS_MAX}).")
                    }
                    Err(complaint) => complaint.clone(),
                    Ok(call) => self.answer(turn, call, each).await,
                });
            }
            answers
        })
    }

    async fn answer(&self, turn: &mut Turn, call: &RecallCall, room: u32) -> String {
        let Some(room) = room.checked_sub(DRESS).filter(|room| *room >= LEAST) else {
            return "There is no room left in the window to show this. Ask for a small part of it, or answer."
                .to_owned();
        };
        turn.recalls.push(as_asked(call));
        let mut asked = Vec::new();
        let answered = self.looked_up(&turn.sight(), call, room, &mut asked).await;
        turn.asked.append(&mut asked);
        match answered {
            Ok(answered) => {
                turn.pages.extend(answered.page);
                if let (RecallCall::Topic { words, .. }, Some(woken)) = (call, &answered.woken) {
                    let (event, topics) = recorded(words, woken);
                    turn.activated.push(event);
                    turn.woken.extend(topics);
                }
                answered.text
            }
            Err(Error::NotFound(what) | Error::Invalid(what)) => what,
            Err(error) => format!("This could not be read: {error}"),
        }
    }

    /// What a person is told of a path who asks as a model would: all of it, also what they want left out.
    pub fn recall_at<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        fold: &'a Fold,
        call: &'a RecallCall,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let sight =
                Sight { session, head, fold, window: None, excluded: &BTreeSet::new(), is_person: true, sorted: true };
            self.looked_up(&sight, call, ROOM, &mut Vec::new()).await.map(|answered| answered.text)
        })
    }

    async fn looked_up(
        &self,
        sight: &Sight<'_>,
        call: &RecallCall,
        room: u32,
        asked: &mut Vec<task::Asked>,
    ) -> Result<Answered> {
        let alone = |text: String| Answered { text, page: None, woken: None };
        match call {
            RecallCall::Topic { words, since, until } => {
                let Sight { session, head, fold, excluded, .. } = *sight;
                let wanted = Wanted { session, head, open: fold.open(), words, since: *since, until: *until, excluded };
                let woken = self.wake(&wanted, room, asked).await?;
                Ok(Answered { text: woken.text.clone(), page: None, woken: Some(woken) })
            }
            RecallCall::Page { number, from } => self.page(sight, MessageId(*number), *from, room).await,
            RecallCall::Summary { .. } => self.expand(sight, call, room).await.map(alone),
            RecallCall::Hold { id, part } => self.hold(sight, id, part, room).await.map(alone),
            // Finds are leads: what they lead to needs room as well.
            RecallCall::Search { .. } => self.search(sight, call, room / 2).await.map(alone),
        }
    }

    async fn page(&self, sight: &Sight<'_>, id: MessageId, from: Option<MessageId>, room: u32) -> Result<Answered> {
        let unknown = || Error::NotFound(format!("There is no page #{} in this conversation.", id.0));
        let lineage = self.store().lineage(sight.session, sight.head).await?;
        let at = self.on_path(sight.session, &lineage, id).await?.ok_or_else(unknown)?;
        if at.depth >= sight.fold.open() {
            let text = format!("Page #{} has not been folded: it is in the conversation below.", id.0);
            return Ok(Answered { text, page: None, woken: None });
        }
        let onwards = match from {
            Some(from) => self.on_path(sight.session, &lineage, from).await?,
            None => None,
        };
        let open = sight.fold.open();
        let depth = onwards.filter(|from| from.depth < open).map_or(at.depth, |from| from.depth);
        let (messages, next) = self.page_around(sight, depth).await?;
        let first = messages.first().map_or(id, |stored| stored.id);
        let skipped = messages.iter().position(|stored| Some(stored.id) == from).unwrap_or(0);
        let leaves = Leaf::all(messages.into_iter().map(Arc::new), &self.settings.strategies.holds);
        for leaf in leaves.iter().filter(|leaf| leaf.large.is_some()) {
            self.settle_one(sight.session, leaf).await?;
        }
        let unread = Unread { of: Onward::Page(first), next };
        let shown = self.written(sight, &leaves[skipped..], unread, room);
        let text = fence("page", &format!("Page #{}", first.0), &shown);
        Ok(Answered { text, page: Some(first), woken: None })
    }

    /// The messages of the page that a depth is in: as it is listed, or else the turn. Of a turn too long to be read at
    /// once, those around, and the one it goes on with.
    async fn page_around(&self, sight: &Sight<'_>, depth: Depth) -> Result<(Vec<Stored>, Option<MessageId>)> {
        let Sight { session, head, fold, .. } = *sight;
        if let Some(note) = fold.listed.iter().find(|note| note.covers.holds(depth)) {
            let span = Span::Path { head, from: note.covers.from, to: note.covers.to };
            return Ok((self.store().read(session, span).await?, None));
        }
        let open = fold.open().0;
        let (first, last) = if depth.0 < open { (0, open - 1) } else { (open, head.depth.0) };
        let (from, to) = (Depth(depth.0.saturating_sub(AROUND).max(first)), Depth((depth.0 + AROUND).min(last)));
        let around = self.store().read(session, Span::Path { head, from, to }).await?;
        let leaves = Leaf::all(around.iter().cloned().map(Arc::new), &self.settings.strategies.holds);
        let index = (depth.0 - from.0) as usize;
        let pages = turns::pages(&leaves, u32::MAX);
        let mut page = pages.into_iter().find(|page| page.contains(&index)).unwrap_or(index..index + 1);
        let goes_on = page.end == around.len() && to.0 < last && page.end > index + 1;
        page.end -= usize::from(goes_on);
        let next = goes_on.then(|| around[page.end].id);
        Ok((around[page].to_vec(), next))
    }

    /// Messages as text, as many as there is room for. Held results stay held.
    fn written(&self, sight: &Sight<'_>, leaves: &[Arc<Leaf>], unread: Unread, mut room: u32) -> String {
        let mut pieces: Vec<String> = Vec::new();
        let mut goes_on = unread.next;
        for (i, leaf) in leaves.iter().enumerate() {
            let text = match leaf.told(&self.settings.strategies.holds) {
                _ if sight.excluded.contains(&leaf.stored.id) => LEFT_OUT.to_owned(),
                Some(held) => held,
                None => said(leaf.stored.id, &leaf.stored.message()),
            };
            let piece = format!("{}\n{text}", heading(leaf.stored.id, &leaf.stored.role, leaf.stored.at));
            let tokens = tokens_of(&piece);
            if let Some(rest) = room.checked_sub(tokens) {
                room = rest;
                pieces.push(piece);
                continue;
            }
            let id = leaf.stored.id;
            if pieces.is_empty() {
                let shown = cut(&piece, room);
                pieces.push(format!(
                    "{shown}\n[cut: load_tool_history(id = \"h{}\", part = lines) reads the rest]",
                    id.0
                ));
                goes_on = leaves.get(i + 1).map(|next| next.stored.id).or(goes_on);
            } else {
                goes_on = Some(id);
            }
            break;
        }
        pieces.extend(goes_on.map(|from| unread.of.pointer(from)));
        pieces.join("\n\n")
    }

    async fn search(&self, sight: &Sight<'_>, call: &RecallCall, room: u32) -> Result<String> {
        let RecallCall::Search { words, since, until, archived } = call else { return Ok(String::new()) };
        let session = sight.session;
        let lineage = self.store().lineage(sight.session, sight.head).await?;
        let reach = Reach::Path(session.id, lineage.clone());
        let limit = FINDS + (sight.blocks().len() + sight.excluded.len()).min(64);
        let query = Query { reach, since: *since, until: *until, limit, ..Query::new(words) };
        let mut found = self.out_of_sight(sight, &query, &lineage).await?;
        let archived = if *archived { 0 } else { self.leave_archived(sight, &mut found).await? };
        found.truncate(FINDS);
        let mut lines: Vec<String> =
            found.iter().map(|found| self.hit(sight, &found.message, &found.snippet.text)).collect();
        if self.settings.across_sessions {
            lines.extend(self.elsewhere(sight, &query).await?);
        }
        let more = (archived > 0).then(|| {
            format!("[{archived} more in archived topics: search_history(words, archived = true) shows them]")
        });
        let sections = self.sections(sight, words, room).await?;
        if lines.is_empty() && more.is_none() && sections.is_none() {
            let (words, outside) = (passages::told(words), sight.window.map_or("", |_| " outside the window"));
            return Ok(format!("Nothing{outside} matches “{words}”. Try other words, or fewer."));
        }
        lines.extend(more);
        let title = format!("What matches “{}”", passages::told(words));
        let room = room.saturating_sub(sections.as_deref().map_or(0, tokens_of));
        let finds = (!lines.is_empty() && room > 0).then(|| fence("search", &title, &cut(&lines.join("\n"), room)));
        Ok(sections.into_iter().chain(finds).collect::<Vec<_>>().join("\n"))
    }

    /// Leaves out what is in archived topics, and says how much that is.
    async fn leave_archived(&self, sight: &Sight<'_>, found: &mut Vec<Found>) -> Result<usize> {
        if !sight.sorted {
            return Ok(0);
        }
        let all = found.len();
        let lineage = self.store().lineage(sight.session, sight.head).await?;
        let mut kept = Vec::with_capacity(all);
        for found in std::mem::take(found) {
            if !self.is_archived(sight.session, &lineage, &found.message).await? {
                kept.push(found);
            }
        }
        *found = kept;
        Ok(all - found.len())
    }

    fn hit(&self, sight: &Sight<'_>, stored: &Stored, text: &str) -> String {
        let holds = &self.settings.strategies.holds;
        let depth = stored.position().map_or(Depth(0), |position| position.depth);
        let fold = sight.fold;
        let listed =
            fold.listed.iter().find(|note| note.covers.holds(depth)).map_or(stored.id.0, crate::note::Note::number);
        let page = (depth < fold.open()).then_some(listed);
        let held = Leaf::new(Arc::new(stored.clone()), &[], holds).large.is_some();
        Hit { page, held, ..Hit::new(stored.id, &stored.role, stored.at, text) }.to_string()
    }

    /// Where a message is on a path.
    async fn on_path(&self, session: &SessionKey, lineage: &Lineage, id: MessageId) -> Result<Option<Position>> {
        let stored = self.store().read(session, Span::Ids(vec![id])).await?.pop();
        let place = stored.map(|stored| stored.place).filter(|place| lineage.holds(place));
        Ok(place.and_then(|place| match place {
            Place::Path(position) => Some(position),
            Place::Beside(_) => None,
        }))
    }
}

/// Where something goes on after what is shown of it.
#[derive(Clone, Copy)]
struct Unread {
    of: Onward,
    /// The first message that was not even read.
    next: Option<MessageId>,
}

/// How to go on.
#[derive(Clone, Copy)]
enum Onward {
    /// In a page.
    Page(MessageId),
    /// In what a summary covers.
    Summary(u32),
}

impl Onward {
    fn pointer(self, from: MessageId) -> String {
        match self {
            Self::Page(page) => format!("[cut: recall_page(index = {}, from = \"{from}\") goes on]", page.0),
            Self::Summary(number) => format!("[cut: expand_summary(id = \"s{number}\", from = \"{from}\") goes on]"),
        }
    }
}

/// A call as it is written in a view.
pub fn as_asked(call: &RecallCall) -> String {
    match call {
        RecallCall::Topic { words, .. } => format!("activate_topic({})", passages::told(words)),
        RecallCall::Page { number, .. } => format!("recall_page({number})"),
        RecallCall::Summary { number, words: Some(words), .. } => {
            format!("expand_summary(s{number}, {})", passages::told(words))
        }
        RecallCall::Summary { number, from: Some(from), .. } => format!("expand_summary(s{number}, {from})"),
        RecallCall::Summary { number, .. } => format!("expand_summary(s{number})"),
        RecallCall::Hold { id, part: Part::Whole } => format!("load_tool_history({id})"),
        RecallCall::Hold { id, part: Part::Lines { first, last } } => {
            format!("load_tool_history({id}, {first}-{last})")
        }
        RecallCall::Hold { id, part: Part::Words(words) } => {
            format!("load_tool_history({id}, {})", passages::told(words))
        }
        RecallCall::Search { words, .. } => format!("search_history({})", passages::told(words)),
    }
}
