//! The rules that were stated on a path, found when messages are folded and kept beside the folds: what a person said
//! must hold whatever the strategy, and whatever its notes forget.
//!
//! Each branch has one record: how far it was looked through, what was found, and stretches that were too long to be
//! read in a turn. Those are looked through in the background.

use std::ops::Range;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, SessionKey};
use crate::log::Sums;
use crate::rule::{Rule, rules};
use crate::store::{Batch, Expect, Kind, Position, Put, Record, Scope, Span, Stored};
use crate::strategy::Leaf;

/// How many messages are looked through at once in the background.
const CHUNK: u32 = 256;
/// How many such pieces of what is open are looked through when somebody asks for the rules.
const PIECES: u32 = 20;
/// How often what a fold found is written again when somebody else has written meanwhile.
const TRIES: usize = 16;

/// A rule and where on the path it was stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    /// Where.
    pub depth: Depth,
    /// The rule.
    pub rule: Rule,
}

/// The rules of a path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::engine) struct Rules {
    /// What was found, in the order it was said.
    pub(in crate::engine) stated: Vec<Stated>,
    /// Messages before this depth were looked through, but for the gaps.
    upto: Depth,
    /// Stretches nobody has looked through, both ends included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<(Depth, Depth)>,
    #[serde(skip)]
    branch: Option<BranchId>,
    #[serde(skip)]
    version: u64,
}

impl Rules {
    /// What a branch that leaves at a depth goes on with.
    pub(in crate::engine) fn inherited(&self, fork: Depth) -> Self {
        let stated = self.stated.iter().filter(|stated| stated.depth <= fork).cloned().collect();
        let gaps = self.gaps.iter().filter(|(from, _)| *from <= fork).map(|(from, to)| (*from, fork.min(*to)));
        Self { stated, upto: self.upto.min(fork.plus(1)), gaps: gaps.collect(), branch: None, version: 0 }
    }

    /// Whether some of the path was never looked through.
    pub(in crate::engine) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// The same after what lies between two depths was looked through as well, but for the second.
    fn with(mut self, found: Vec<Stated>, from: Depth, before: Depth) -> Self {
        if self.upto < from {
            self.gaps.push((self.upto, Depth(from.0 - 1)));
        }
        self.add(found);
        self.upto = self.upto.max(before);
        self
    }

    fn add(&mut self, found: Vec<Stated>) {
        self.stated.extend(found);
        self.stated.sort_by_key(|stated| (stated.depth, stated.rule.number));
        self.stated.dedup();
    }
}

impl Engine {
    /// The rules stated on a path, those that a person let go of included.
    pub fn rules<'a>(&'a self, session: &'a SessionKey, head: Position) -> BoxFuture<'a, Result<Vec<Stated>>> {
        Box::pin(async move {
            let mut known = self.rules_of(session, head).await?;
            // What is open was not looked through yet: the window shows it anyway. Where that is very much, as after an
            // import, the newest of it is read now, and the rest in the background once it is folded.
            let from = known.upto.max(Depth(head.depth.0.saturating_sub(CHUNK * PIECES - 1)));
            known.add(self.read_rules(session, head, from).await?);
            known.stated.retain(|stated| stated.depth <= head.depth);
            Ok(known.stated)
        })
    }

    /// The rules that the messages of a path state from a depth on, read a piece at a time.
    async fn read_rules(&self, session: &SessionKey, head: Position, from: Depth) -> Result<Vec<Stated>> {
        let (mut found, mut from) = (Vec::new(), from);
        let sums = Sums::of(self.store(), session).await?;
        while from <= head.depth {
            let to = Depth(from.0 + (CHUNK - 1)).min(head.depth);
            let messages = self.store().read(session, Span::Path { head, from, to }).await?;
            for stored in &messages {
                let depth = stored.position().map_or(from, |position| position.depth);
                found.extend(own_rules(stored, &sums).into_iter().map(|rule| Stated { depth, rule }));
                // It may be very much, and somebody may be waiting for something else.
                tokio::task::yield_now().await;
            }
            from = Depth(to.0 + 1);
        }
        Ok(found)
    }

    /// What is on record of a path's rules: of its own branch, or of the one it left.
    pub(in crate::engine) async fn rules_of(&self, session: &SessionKey, head: Position) -> Result<Rules> {
        if let Some(own) = self.rules_on(session, head.branch).await? {
            return Ok(own);
        }
        let mut most = head.depth;
        for (branch, end) in self.store().lineage(session, head).await?.left() {
            most = most.min(end);
            if let Some(found) = self.rules_on(session, branch).await? {
                return Ok(found.inherited(most));
            }
        }
        Ok(Rules::default())
    }

    async fn rules_on(&self, session: &SessionKey, branch: BranchId) -> Result<Option<Rules>> {
        let record = self.store().record(Scope::Session(session.clone()), Kind::Note, key(branch)).await?;
        record.map(|record| read(&record, branch)).transpose()
    }

    /// Looks through open messages of a lane that are about to be folded, before a depth. Whatever others write of the
    /// rules meanwhile, as the work in the background does all the time after an import, is put together with what was
    /// found.
    pub(in crate::engine) async fn look_through(
        &self,
        session: &SessionKey,
        lane: &mut Lane,
        before: Depth,
        at: At,
    ) -> Result<()> {
        let (known, branch) = (lane.rules.clone(), lane.head.branch);
        if before <= known.upto && known.branch == Some(branch) {
            return Ok(());
        }
        let first = lane.open.first().and_then(|leaf| leaf.stored.position()).map_or(before, |first| first.depth);
        let from = known.upto.max(first);
        let mut stated = known.stated.clone();
        let sums = Sums::of(self.store(), session).await?;
        stated.extend(found_in(&lane.open, from..before, &sums));
        let mut next = Rules::clone(&known).with(stated.clone(), from, before);
        for _ in 0..TRIES {
            match self.keep_rules(session, branch, &next, at).await {
                Ok(version) => {
                    next = Rules { branch: Some(branch), version, ..next };
                    break;
                }
                Err(Error::Conflict(_)) => {
                    next = self.rules_of(session, lane.head).await?.with(stated.clone(), from, before);
                }
                Err(error) => return Err(error),
            }
        }
        // If it could not be kept, this window has the rules all the same, and the next fold keeps them.
        lane.rules = Arc::new(next);
        Ok(())
    }

    /// Records the rules of a branch; returns the version of the record.
    async fn keep_rules(&self, session: &SessionKey, branch: BranchId, rules: &Rules, at: At) -> Result<u64> {
        let version = if rules.branch == Some(branch) { rules.version } else { 0 };
        let expect = if version == 0 { Expect::Absent } else { Expect::Version(version) };
        let put = Put::new(session, Kind::Note, key(branch), at, rules).expecting(expect);
        self.store().commit(Batch::of_records(session.clone(), vec![put])).await?;
        Ok(version + 1)
    }

    /// Looks through what was too long to be read in a turn, a piece at a time; what was found is kept after each.
    pub(in crate::engine) async fn look_through_gaps(
        &self,
        session: &SessionKey,
        head: Position,
        at: At,
    ) -> Result<()> {
        let sums = Sums::of(self.store(), session).await?;
        loop {
            let mut known = self.rules_of(session, head).await?;
            let Some((from, to)) = known.gaps.pop() else { return Ok(()) };
            let start = Depth(to.0.saturating_sub(CHUNK - 1).max(from.0));
            let messages = self.store().read(session, Span::Path { head, from: start, to }).await?;
            let mut found = Vec::new();
            for stored in &messages {
                let depth = stored.position().map_or(from, |position| position.depth);
                found.extend(own_rules(stored, &sums).into_iter().map(|rule| Stated { depth, rule }));
                // It may be very much, and somebody may be waiting for something else.
                tokio::task::yield_now().await;
            }
            if start > from {
                known.gaps.push((from, Depth(start.0 - 1)));
            }
            // Lanes in mind are read again, as few times as possible: that is dear beside a long history.
            let matters = !found.is_empty() || known.gaps.is_empty();
            known.add(found);
            match self.keep_rules(session, head.branch, &known, at).await {
                Ok(_) if matters => self.lanes.forget(Some(session.id)),
                Ok(_) | Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The rules that messages of a stretch state.
fn found_in(open: &[Arc<Leaf>], stretch: Range<Depth>, sums: &Sums) -> Vec<Stated> {
    let positioned = open.iter().filter_map(|leaf| Some((leaf.stored.position()?.depth, &leaf.stored)));
    let within = positioned.filter(|(depth, _)| stretch.contains(depth));
    let stated = |(depth, stored): (Depth, &Arc<Stored>)| {
        own_rules(stored, sums).into_iter().map(move |rule| Stated { depth, rule })
    };
    within.flat_map(stated).collect()
}

/// The rules that a message states in its speaker's own words.
fn own_rules(stored: &Stored, sums: &Sums) -> Vec<Rule> {
    let mut found = rules(stored);
    if !found.is_empty() {
        let own = sums.own_texts(stored);
        found.retain(|rule| own.iter().any(|text| text.contains(&rule.text)));
    }
    found
}

fn key(branch: BranchId) -> String {
    format!("rules/{:06}", branch.0)
}

fn read(record: &Record, branch: BranchId) -> Result<Rules> {
    Ok(Rules { branch: Some(branch), version: record.version, ..record.read()? })
}
