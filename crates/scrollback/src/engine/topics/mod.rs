//! Topics in the engine: sorted when a path folds (`sort`), found by words (`find`), read before each reply (`consult`,
//! `reader`), woken when the model asks (`wake`), kept in shape after it (`chores`, `divide`), gone through once a day
//! (`review`), listed (`list`) and written to files and read back (`files`, `restore`). A `shelf` is what a lane has in
//! mind of them, `editions` how they are kept, `event` what can be listed of what happened.

mod chores;
mod consult;
mod divide;
mod editions;
mod event;
mod files;
mod find;
mod list;
mod reader;
mod restore;
mod review;
mod shelf;
mod sort;
mod wake;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

pub(super) use consult::{Consulted, asked, leans};
pub(super) use editions::{holding, topic_in, unwritten};
pub use event::Event;
pub use files::{TopicFile, day_index};
pub use list::{Happened, TopicLine, TopicState};
pub use restore::Restored;
pub use review::{Fate, ReviewMode, ReviewReport, Verdict};
pub(super) use shelf::Shelf;
pub(super) use wake::{Wanted, Woken, recorded};

use super::Engine;
use super::lanes::Lane;
use super::lay::Occasion;
use super::quotes::{Call, Past};
use super::turn::Turn;
use crate::error::Result;
use crate::ids::{At, Depth, SessionKey};
use crate::note::Fold;
use crate::store::{Kind, Lineage, Position, Put, Stored};
use crate::strategy::topics::{Excerpt, Shown, activation, excerpt};
use crate::strategy::{Leaf, QuoteNeed, StrategyName, in_order, quotes, turns};
use crate::task;
use crate::view::View;
use crate::window::{Budget, fitting};
use consult::Asking;
use editions::Editions;
use event::{During, puts};
use shelf::Shelved;
use sort::Sorting;

/// How a person asks for what is out of sight.
pub(super) struct Deep {
    /// They say that something was forgotten.
    pub(super) forgotten: bool,
    /// They ask for what is long past.
    pub(super) past: bool,
}

/// What is looked for in the past, and for which turn.
#[derive(Clone, Copy)]
pub(super) struct Consultation<'a> {
    pub(super) session: &'a SessionKey,
    /// What is folded, as the turn will see it.
    pub(super) fold: &'a Fold,
    /// What the turn asks of the past and how much of it, if that was looked at.
    pub(super) call: Option<&'a (Call, QuoteNeed)>,
    /// What its window may cost.
    pub(super) budget: Budget,
    pub(super) at: At,
}

/// How many batches a turn waits for at most.
const BATCHES: u32 = 4;

impl Engine {
    /// Brings a lane its shelf, unless it has it in mind.
    pub(super) async fn shelve(&self, session: &SessionKey, lane: &mut Lane) -> Result<()> {
        if lane.strategy != StrategyName::Topics {
            return Ok(());
        }
        let (mut shelf, branch) = (Shelf::clone(&lane.shelf), lane.head.branch);
        let current = self.is_current(session, &mut shelf).await?;
        if !current || !shelf.is_of(branch) {
            let lineage = self.store().lineage(session, lane.head).await?;
            // A branch that begins knows what the one it leaves knows.
            let handed_on = current && shelf.hand_on(&lineage) && !self.has_shelf(session, branch).await?;
            if !handed_on {
                shelf = self.shelf(session, &lineage).await?;
            }
        }
        lane.shelf = Arc::new(shelf);
        Ok(())
    }

    /// Sorts the open messages of a lane up to a depth, as many as a turn can wait for; older ones are left for later.
    /// Notes what the helper was asked, also if something fails.
    pub(super) async fn sort_upto(
        &self,
        lane: &mut Lane,
        occasion: &Occasion<'_>,
        to: Depth,
        asked: &mut Vec<task::Asked>,
    ) -> Result<()> {
        let Occasion { session, at, .. } = *occasion;
        let mut shelf = Shelf::clone(&lane.shelf);
        shelf.progress.skip_to(lane.folded.fold.open());
        let unsorted = |depth: Depth| depth >= shelf.progress.frontier && depth <= to;
        let wanted = |leaf: &&Arc<Leaf>| leaf.stored.position().is_some_and(|at| unsorted(at.depth));
        let leaves: Vec<_> = lane.open.iter().filter(wanted).cloned().collect();
        let leaves = &leaves[self.too_many(&leaves)..];
        if let Some(first) = leaves.first().and_then(|leaf| leaf.stored.position()) {
            shelf.progress.skip_to(first.depth);
            let lineage = self.store().lineage(session, lane.head).await?;
            let until = Some(Instant::now() + self.deadline());
            let sorting = Sorting { session, lineage: &lineage, at, until };
            self.sort(&sorting, &mut shelf, leaves, asked).await?;
        }
        lane.shelf = Arc::new(shelf);
        Ok(())
    }

    /// How many of the oldest of some messages are more than a turn can wait for: up to where a turn begins, or in the
    /// middle of a very long one. The newest call is sorted with its results, however large.
    fn too_many(&self, leaves: &[Arc<Leaf>]) -> usize {
        let room = self.settings.strategies.topics.batch_tokens.saturating_mul(BATCHES);
        let over = leaves.len() - fitting(leaves.iter().rev().map(|leaf| leaf.tokens()), room);
        if over == 0 {
            return 0;
        }
        let begins = (over..leaves.len()).find(|i| leaves[*i].begins_turn);
        let parts = || (over..leaves.len()).find(|i| !leaves[*i].belongs());
        begins.or_else(parts).or_else(|| leaves.iter().rposition(|leaf| !leaf.belongs())).unwrap_or(0)
    }

    /// What the past has to say to a turn: as it was found when the turn began, or found now. Notes what the helper was
    /// asked.
    pub(super) async fn consult(
        &self,
        lane: &mut Lane,
        wanted: &Consultation<'_>,
        asked: &mut Vec<task::Asked>,
    ) -> Result<Option<Consulted>> {
        let Consultation { session, fold, call, budget, at } = *wanted;
        if fold.covers.is_none() || lane.strategy != StrategyName::Topics && !self.quotes(lane) {
            return Ok(None);
        }
        let began = lane.open[turns::last(&lane.open)].stored.id;
        let lineage = self.store().lineage(session, lane.head).await?;
        if let Some(before) = self.consulted_before(session, &lineage, lane, fold.open()).await? {
            return Ok(Some(before.without(lane.excluded())));
        }
        let mut consulted = if lane.strategy == StrategyName::Topics {
            self.read_shelf(&Sorting { session, lineage: &lineage, at, until: None }, lane, fold.open()).await?
        } else {
            Consulted::new(began)
        };
        asked.append(&mut consulted.calls);
        // In the middle of a turn nobody has asked yet.
        let late = if call.is_none() { self.call(session, lane).await? } else { None };
        let late = late.map(|call| {
            let need = self.need(&call, lane, fold.open(), budget);
            (call, need)
        });
        if let Some((call, need)) = call.or(late.as_ref()) {
            consulted.most = self.settings.strategies.quotes.room(*need, budget);
            let past = Past {
                lineage: &lineage,
                open: fold.open(),
                archived: consulted.past || !lane.shelf.progress.archived,
            };
            consulted.gathered = self.gathered(session, lane, (call, &past), consulted.most).await?;
        }
        Ok(Some(consulted))
    }

    /// Reads the topics of a lane for the turn it is in.
    async fn read_shelf(&self, sorting: &Sorting<'_>, lane: &mut Lane, open: Depth) -> Result<Consulted> {
        let Deep { forgotten, past } = self.deep(lane);
        let mut shelf = Shelf::clone(&lane.shelf);
        let asking = Asking { sorting: *sorting, lane, open, deep: forgotten || past, past };
        let consulted = self.read_topics(&asking, &mut shelf).await?;
        lane.shelf = Arc::new(shelf);
        Ok(Consulted { past, ..consulted })
    }

    /// Whether the person says that something was forgotten, or asks for what is long past.
    pub(super) fn deep(&self, lane: &Lane) -> Deep {
        let words = consult::newest(&lane.open);
        Deep { forgotten: self.cues.implies_forgetting(&words), past: self.cues.asks_for_past(&words) }
    }

    /// What was found when a turn began, from memory or from its view.
    async fn consulted_before(
        &self,
        session: &SessionKey,
        lineage: &Lineage,
        lane: &Lane,
        open: Depth,
    ) -> Result<Option<Consulted>> {
        let turn = &lane.open[turns::last(&lane.open)..];
        let began = turn[0].stored.id;
        if let Some(before) = lane.consulted.as_ref().filter(|before| before.turn == began) {
            return Ok(Some(before.again()));
        }
        let is_later = lane.head.id != began;
        for leaf in turn.iter().rev() {
            let view = self.last_view(session, leaf.stored.id).await?;
            // Before anything was folded there was nothing to ask. The same request may come once more, because it was
            // not answered, and also for a model with another window.
            let counts = |view: &View| view.fold.is_some() && (is_later || *view.layout == *lane.layout);
            if let Some(view) = view.filter(counts) {
                let consulted = self.consulted_in(session, lineage, &view, open).await?;
                return Ok(Some(Consulted { turn: began, ..consulted }));
            }
        }
        Ok(None)
    }

    /// What a view quotes.
    pub(super) async fn consulted_in(
        &self,
        session: &SessionKey,
        lineage: &Lineage,
        view: &View,
        open: Depth,
    ) -> Result<Consulted> {
        let editions = Editions { store: self.store(), session, lineage };
        let mut consulted = Consulted { remark: view.remark.clone(), is_again: true, ..Consulted::new(view.head.id) };
        for Shown { topic, edition, reading } in &view.topics {
            let found = editions.numbered(*topic, *edition).await?;
            let shelved = found.as_ref().map_or_else(|| consult::loose(*topic), Shelved::of);
            consulted.findings.push(self.finding(session, open, &shelved, reading.clone()).await?);
        }
        // Whatever no reading names was gathered by words.
        if view.topics.iter().all(|shown| shown.reading.messages.is_empty()) {
            let quoted = self.by_number(session, view.quoted.clone()).await?;
            let leaves = Leaf::all(quoted, &self.settings.strategies.holds);
            self.settle_all(session, &leaves).await?;
            consulted.gathered = in_order(leaves, &view.quoted);
        }
        Ok(consulted)
    }

    /// What was found, in as much room as there is.
    pub(super) fn excerpt_within(&self, consulted: &Consulted, room: u32) -> Option<Excerpt> {
        let (holds, remark) = (&self.settings.strategies.holds, consulted.remark.as_deref());
        if consulted.gathered.is_empty() {
            return excerpt(&consulted.findings, remark, holds, room);
        }
        quotes(&consulted.gathered, remark, holds, room)
    }

    /// How much room what was found may take, as far as the window has it.
    pub(super) fn most(&self, consulted: &Consulted, budget: Budget) -> u32 {
        let settings = &self.settings.strategies;
        if consulted.gathered.is_empty() {
            budget.share(settings.topics.excerpt_share)
        } else if consulted.most < settings.quotes.most(budget) {
            consulted.most
        } else {
            // Quotes that are wanted as far as possible also take what nothing else does.
            settings.quotes.tokens
        }
    }

    /// What a reply changes about topics, and its records: scores, who wakes and who sleeps, what the helper was asked.
    /// Where it cannot be read how active they are, only the last.
    pub(super) async fn scored(&self, turn: &mut Turn, at: At) -> Vec<Put> {
        let mut records = asked_in(turn, at);
        let Some(consulted) = turn.consulted.as_ref().filter(|_| turn.lane.shelf.is_whole()) else {
            return records;
        };
        let (session, branch) = (&turn.received.session, turn.head.branch);
        let mut shelf = Shelf::clone(&turn.lane.shelf);
        let Ok(activity) = self.latest_activity(session, &shelf).await else { return records };
        shelf.activity = activity;
        let is_again = consulted.is_again || shelf.activity.scored == Some(consulted.turn);
        if is_again && turn.woken.is_empty() {
            return records;
        }
        let mut events = Vec::new();
        if !is_again {
            let (turn, scores, passed_over) = (consulted.turn, consulted.scores.clone(), consulted.passed_over);
            events.push(Event::Scored { turn, scores, passed_over });
        }
        if consulted.cue && !is_again {
            let topics = consulted.findings.iter().map(|finding| finding.card.id).collect();
            events.push(Event::Cue { turn: consulted.turn, topics });
        }
        events.append(&mut turn.activated);
        let settings = &self.settings.strategies.topics.activation;
        let woken: Vec<_> = consulted.woken.iter().chain(&turn.woken).copied().collect();
        let changes = if is_again {
            activation::wake(settings, &mut shelf.activity.trails, &turn.woken)
        } else {
            activation::step(settings, &mut shelf.activity.trails, &consulted.scores, &woken)
        };
        events.extend(changes.into_iter().map(Event::Changed));
        shelf.activity.scored = Some(consulted.turn);
        shelf.relist();
        records.push(shelf.scored(session, branch, at));
        records.extend(puts(session, During::Turn(turn.head.id), &events, at));
        turn.lane.shelf = Arc::new(shelf);
        records
    }

    /// Whether a message is in a topic that is archived.
    pub(super) async fn is_archived(&self, session: &SessionKey, lineage: &Lineage, stored: &Stored) -> Result<bool> {
        let Some(at) = stored.position() else { return Ok(false) };
        let editions = Editions { store: self.store(), session, lineage };
        let home = editions.home_of(at).await?.and_then(|(_, edition)| edition);
        Ok(home.is_some_and(|edition| edition.archived.is_some()))
    }

    /// The topic that a message of a path is in.
    pub fn topic_of<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        at: Position,
    ) -> BoxFuture<'a, Result<Option<crate::topic::Card>>> {
        Box::pin(async move {
            let lineage = self.store().lineage(session, head).await?;
            let editions = Editions { store: self.store(), session, lineage: &lineage };
            Ok(editions.home_of(at).await?.and_then(|(_, edition)| edition).map(|edition| edition.card))
        })
    }
}

/// The ledger of what the helper was asked for a turn.
fn asked_in(turn: &Turn, at: At) -> Vec<Put> {
    let session = &turn.received.session;
    let put = |(i, asked): (usize, &task::Asked)| {
        Put::new(session, Kind::Ledger, format!("{:016x}-t{:010}-{i:03}", at.0, turn.head.id.0), at, asked)
    };
    turn.asked.iter().enumerate().map(put).collect()
}
