//! Lanes: what the engine has in mind of a conversation between two turns, so that a turn need not read the log again.
//!
//! A lane is one branch's fold and its open messages. Lanes are bounded in bytes and can be dropped at any time: they
//! are read from the store again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;

use super::control::Controlled;
use super::control::rules::Rules;
use super::folds::Folded;
use super::topics::{Consulted, Shelf};
use crate::ids::{BranchId, Depth, Hash128, MessageId, SessionId};
use crate::log::Received;
use crate::note::Fold;
use crate::store::{Position, Stint, Stored};
use crate::strategy::{Filed, HoldSettings, Leaf, Scene, StrategyName, turns};
use crate::summary::Summary;
use crate::view::FoldId;
use crate::window::{Budget, Reserved};

/// How many bytes of messages are kept before the older half is dropped.
const BYTES: usize = 32 << 20;
/// How many sessions are known to have been dropped before all of them count as dropped.
const DROPPED: usize = 4_096;

/// What the client never saw around a message of a reply: rounds of recall before it, and calls of ours inside it.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// Calls and results that came before it, and before the reasoning that led to it.
    pub rounds: Vec<(Arc<RawValue>, u32)>,
    /// What came between that reasoning and the message.
    pub before: Vec<(Arc<RawValue>, u32)>,
    /// The reply as the model made it, if it also held calls of ours.
    pub whole: Option<(Arc<RawValue>, u32)>,
    /// The results of those calls.
    pub after: Vec<(Arc<RawValue>, u32)>,
}

impl Hidden {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.pieces().next().is_none()
    }

    /// What it costs, roughly: a reply that is put back whole costs little more than as the client has it.
    pub(super) fn tokens(&self) -> u32 {
        self.pieces().map(|(_, tokens)| tokens).sum()
    }

    fn bytes(&self) -> usize {
        self.pieces().map(|(raw, _)| raw.get().len()).sum()
    }

    fn pieces(&self) -> impl Iterator<Item = &(Arc<RawValue>, u32)> {
        self.rounds.iter().chain(&self.before).chain(&self.whole).chain(&self.after)
    }
}

/// A branch, as far as it is open.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) session: SessionId,
    pub(super) layout: Arc<str>,
    pub(super) head: Position,
    pub(super) strategy: StrategyName,
    /// The model it was last asked with.
    pub(super) model: Arc<str>,
    /// Whether that one can load what is held.
    pub(super) recalls: bool,
    /// What else that request costs.
    pub(super) reserved: Reserved,
    pub(super) folded: Folded,
    pub(super) preamble: Vec<Arc<Stored>>,
    /// Those of them that stood outside of the messages.
    pub(super) heads: Vec<MessageId>,
    /// The messages after the fold, up to the head.
    pub(super) open: Vec<Arc<Leaf>>,
    /// What the client never saw of replies, as far as it is in mind.
    pub(super) hidden: HashMap<MessageId, Arc<Hidden>>,
    /// From this depth on it is.
    pub(super) hidden_from: Depth,
    /// What open replies are bound to.
    pub(super) bound: HashMap<MessageId, Hash128>,
    /// The topics of its branch, if it has any.
    pub(super) shelf: Arc<Shelf>,
    /// What was found in them for the turn it is in.
    pub(super) consulted: Option<Arc<Consulted>>,
    /// What its fold was worked into, if it has artifacts.
    pub(super) artifacts: Arc<Vec<Filed>>,
    /// What its person decided.
    pub(super) controlled: Controlled,
    /// Messages of the path that are pinned or hold images, as far as they are folded.
    pub(super) pinned: Vec<Arc<Stored>>,
    /// What `pinned` was read for.
    pub(super) pinned_for: (u64, Option<FoldId>),
    /// The rules of its path.
    pub(super) rules: Arc<Rules>,
    /// What was last recorded of what is kept.
    pub(super) kept: Option<Hash128>,
    /// When it was read, on the clock of [`Lanes`].
    pub(super) born: u64,
    /// The run of changes during which it holds.
    pub(super) stint: Stint,
}

impl Lane {
    /// Adds what was received or replied.
    pub(super) fn extend(&mut self, received: &Received, holds: &HoldSettings) {
        for stored in &received.fresh {
            let asides = received.asides.iter().filter(|(owner, _)| *owner == stored.id);
            self.push(stored.clone(), asides.map(|(_, aside)| aside.clone()).collect(), holds);
        }
    }

    /// Adds the next message, with the reasoning that led to it.
    fn push(&mut self, stored: Arc<Stored>, asides: Vec<Arc<Stored>>, holds: &HoldSettings) {
        let Some(position) = stored.position() else { return };
        let leaf = Leaf::new(stored, &self.open, holds).with_asides(asides);
        if position.branch != self.head.branch {
            // What the branch it leaves says later is not said here.
            self.rules = Arc::new(self.rules.inherited(self.head.depth));
        }
        self.head = position;
        self.open.push(Arc::new(leaf));
    }

    /// How many open messages stand before a depth, if they may be parted there from what follows.
    pub(super) fn open_before(&self, depth: Depth) -> usize {
        let count = depth.0.saturating_sub(self.folded.fold.open().0) as usize;
        if self.open.get(count).is_some_and(|leaf| !leaf.belongs()) { count } else { 0 }
    }

    /// The lane as it was when `base` was its last message, if that is within its open part.
    fn cut_at(&self, base: Position) -> Option<Self> {
        let index = base.depth.0.checked_sub(self.folded.fold.open().0)? as usize;
        let found = self.open.get(index)?.stored.position()?;
        if found.node != base.node {
            return None;
        }
        let mut lane = self.clone();
        lane.open.truncate(index + 1);
        lane.head = base;
        let current = lane.open[turns::last(&lane.open)].stored.position()?;
        (current.depth >= lane.hidden_from).then_some(lane)
    }

    /// Goes on with a new fold, which covers so many of the open messages.
    pub(super) fn fold_to(&mut self, folded: Folded, covered: usize) {
        self.folded = folded;
        for leaf in self.open.drain(..covered) {
            self.hidden.remove(&leaf.stored.id);
            self.bound.remove(&leaf.stored.id);
        }
    }

    pub(super) fn scene(&self, budget: Budget) -> Scene<'_> {
        Scene {
            undone: self.folded.undone,
            model: &self.model,
            recalls: self.recalls,
            reserved: self.reserved,
            excluded: self.excluded(),
            topics: self.shelf.topical(),
            artifacts: &self.artifacts,
            ..Scene::new(&self.preamble, &self.folded.fold, &self.open, budget)
        }
    }

    /// The scene after a fold that has not been recorded yet, if there is one.
    pub(super) fn scene_after<'a>(&'a self, fold: Option<&'a Fold>, budget: Budget) -> Scene<'a> {
        let fold = fold.unwrap_or(&self.folded.fold);
        let covered = (fold.open().0 - self.folded.fold.open().0) as usize;
        Scene { fold, open: &self.open[covered..], ..self.scene(budget) }
    }

    /// The limit of the models it is laid out for.
    pub(super) fn limit_tokens(&self) -> u32 {
        self.layout.rsplit_once('@').and_then(|(_, limit)| limit.parse().ok()).unwrap_or(u32::MAX)
    }

    /// What is put back around replies of the current turn.
    pub(super) fn hidden_now(&self) -> impl Iterator<Item = (MessageId, &Arc<Hidden>)> {
        let current = &self.open[turns::last(&self.open)..];
        current.iter().filter_map(|leaf| Some((leaf.stored.id, self.hidden.get(&leaf.stored.id)?)))
    }

    /// What it takes in memory, roughly.
    pub(super) fn bytes(&self) -> usize {
        let asides = |leaf: &Leaf| leaf.asides.iter().map(|aside| aside.raw.get().len()).sum::<usize>();
        let open: usize = self.open.iter().map(|leaf| leaf.stored.raw.get().len() + asides(leaf) + 256).sum();
        let hidden: usize = self.hidden.values().map(|hidden| hidden.bytes()).sum();
        let consulted = self.consulted.as_ref().map_or(0, |consulted| consulted.bytes());
        let apart: usize = self.preamble.iter().chain(&self.pinned).map(|stored| stored.raw.get().len()).sum();
        let artifacts: usize = self.artifacts.iter().map(|(_, artifact)| artifact.bytes()).sum();
        let rules: usize = self.rules.stated.iter().map(|stated| stated.rule.text.len() + 64).sum();
        let summary = self.folded.fold.summary.as_ref().map_or(0, Summary::bytes);
        let notes = artifacts + rules + summary + 2 * self.folded.fold.text.len();
        open + hidden + apart + notes + self.shelf.bytes() + consulted
    }
}

type Key = (SessionId, BranchId, Arc<str>);

#[derive(Debug, Default)]
pub(super) struct Lanes {
    kept: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Key, Arc<Lane>>,
    old: HashMap<Key, Arc<Lane>>,
    bytes: usize,
    /// Counts how often anything was dropped.
    clock: u64,
    /// When what is kept of a session was dropped; lanes that were read before are out of date.
    dropped: HashMap<SessionId, u64>,
    /// When all was.
    all_dropped: u64,
}

impl Lanes {
    /// The lane that ends in `base`.
    pub(super) fn find(&self, session: SessionId, base: Position, layout: &Arc<str>) -> Option<Lane> {
        let key = (session, base.branch, layout.clone());
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = kept.young.get(&key).or_else(|| kept.old.get(&key)).cloned();
        drop(kept);
        lane?.cut_at(base)
    }

    /// The time on the clock of what is dropped.
    pub(super) fn now(&self) -> u64 {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clock
    }

    /// Keeps a lane as the newest of its branch, unless it was read before what counts was changed.
    pub(super) fn keep(&self, lane: Lane) {
        let key = (lane.session, lane.head.branch, lane.layout.clone());
        let lane = Arc::new(lane);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if lane.stint == Stint::Unknown {
            return;
        }
        if lane.born < kept.dropped.get(&lane.session).copied().unwrap_or(0).max(kept.all_dropped) {
            return;
        }
        kept.old.remove(&key);
        let before = kept.young.insert(key, lane.clone());
        kept.bytes = kept.bytes + lane.bytes() - before.map_or(0, |before| before.bytes());
        if kept.bytes > BYTES / 2 {
            kept.old = std::mem::take(&mut kept.young);
            kept.bytes = 0;
        }
    }

    /// Drops what is kept of a session, or of all.
    pub(super) fn forget(&self, session: Option<SessionId>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let clock = kept.clock;
        match session {
            Some(session) if kept.dropped.len() < DROPPED => drop(kept.dropped.insert(session, clock)),
            Some(_) | None => {
                kept.dropped.clear();
                kept.all_dropped = clock;
            }
        }
        let stays = |key: &Key| session.is_some_and(|session| session != key.0);
        kept.young.retain(|key, _| stays(key));
        kept.old.retain(|key, _| stays(key));
        kept.bytes = kept.young.values().map(|lane| lane.bytes()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{At, NodeId};
    use crate::message::{Message, Role};
    use crate::store::{Beside, Origin, Place};
    use crate::tokens::Measure;

    #[test]
    fn lanes_with_long_instructions_are_bounded_in_bytes() {
        let message = Message::text(&Role::System, &"x".repeat(1 << 20));
        let measure = Measure::of(&Message::text(&Role::System, ""), "gpt-5");
        let (place, origin) = (Place::Beside(Beside::Preamble), Origin::Client);
        let lanes = Lanes::default();
        for number in 0..100 {
            let hash = Hash128([number; 16]);
            let raw = message.raw().clone();
            let stored =
                Stored { id: MessageId(0), parent: None, place, role: Role::System, at: At(0), origin, measure, raw };
            let head = Position { id: MessageId(1), branch: BranchId(0), depth: Depth(0), node: NodeId(hash) };
            let lane = Lane::new(SessionId(hash), "pages@32000".into(), head);
            lanes.keep(Lane { preamble: vec![Arc::new(stored)], ..lane });
            let kept = lanes.kept.lock().unwrap();
            assert!((kept.young.len() + kept.old.len()) << 20 <= BYTES + (1 << 20));
        }
    }
}
