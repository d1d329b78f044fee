//! The rules that were stated on a path, found when messages are folded and kept beside the folds: what a person said
//! must hold whatever the strategy, and whatever its notes forget.
//!
//! Each branch has one record: how far it was looked through, what was found, and stretches that were too long to be
//! read in a turn. Those are looked through in the background.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, SessionKey};
use crate::rule::{Rule, rules};
use crate::store::{Batch, Expect, Keys, Kind, Position, Put, Record, Scope, Span};

/// How many messages are looked through at once in the background.
const CHUNK: u32 = 256;

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

    fn add(&mut self, found: Vec<Stated>) {
        self.stated.extend(found);
        self.stated.sort_by_key(|stated| (stated.depth, stated.rule.number));
        self.stated.dedup();
    }
}

impl Engine {
    /// The rules stated on a path, those that a person let go of included.
    pub async fn rules(&self, session: &SessionKey, head: Position) -> Result<Vec<Stated>> {
        let mut known = self.rules_of(session, head).await?;
        // What is open was not looked through yet: the window shows it anyway. Where that is very much, as after an
        // import, the newest of it is read now, and the rest in the background once it is folded.
        let from = known.upto.max(Depth(head.depth.0.saturating_sub(CHUNK - 1)));
        let open = self.store().read(session, Span::path(head, from)).await?;
        let found = open.iter().flat_map(|stored| {
            let depth = stored.position().map_or(Depth(0), |position| position.depth);
            rules(stored).into_iter().map(move |rule| Stated { depth, rule })
        });
        known.add(found.collect());
        known.stated.retain(|stated| stated.depth <= head.depth);
        Ok(known.stated)
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
        let (scope, keys) = (Scope::Session(session.clone()), Keys::One(key(branch)));
        let record = self.store().records(&scope, Kind::Note, keys).await?.pop();
        record.map(|record| read(&record, branch)).transpose()
    }

    /// Looks through open messages of a lane that are about to be folded, before a depth. A conflict means that
    /// somebody else has meanwhile.
    pub(in crate::engine) async fn look_through(
        &self,
        session: &SessionKey,
        lane: &mut Lane,
        before: Depth,
        at: At,
    ) -> Result<()> {
        let known = &lane.rules;
        if before <= known.upto && known.branch == Some(lane.head.branch) {
            return Ok(());
        }
        let mut next = Rules::clone(known);
        let first = lane.open.first().and_then(|leaf| leaf.stored.position()).map_or(before, |first| first.depth);
        if next.upto < first {
            next.gaps.push((next.upto, Depth(first.0 - 1)));
        }
        let mut found = Vec::new();
        for leaf in &lane.open {
            let Some(position) = leaf.stored.position() else { continue };
            if position.depth >= next.upto && position.depth < before {
                let stated = |rule| Stated { depth: position.depth, rule };
                found.extend(rules(&leaf.stored).into_iter().map(stated));
            }
        }
        next.add(found);
        next.upto = next.upto.max(before);
        lane.rules = Arc::new(self.keep_rules(session, lane.head.branch, next, at).await?);
        Ok(())
    }

    async fn keep_rules(&self, session: &SessionKey, branch: BranchId, rules: Rules, at: At) -> Result<Rules> {
        let version = if rules.branch == Some(branch) { rules.version } else { 0 };
        let expect = if version == 0 { Expect::Absent } else { Expect::Version(version) };
        let put = Put::new(session, Kind::Note, key(branch), at, &rules).expecting(expect);
        self.store().commit(Batch::of_records(session.clone(), vec![put])).await?;
        Ok(Rules { branch: Some(branch), version: version + 1, ..rules })
    }

    /// Looks through what was too long to be read in a turn, a piece at a time; what was found is kept after each.
    pub(in crate::engine) async fn look_through_gaps(
        &self,
        session: &SessionKey,
        head: Position,
        at: At,
    ) -> Result<()> {
        loop {
            let mut known = self.rules_of(session, head).await?;
            let Some((from, to)) = known.gaps.pop() else { return Ok(()) };
            let start = Depth(to.0.saturating_sub(CHUNK - 1).max(from.0));
            let messages = self.store().read(session, Span::Path { head, from: start, to }).await?;
            let mut found = Vec::new();
            for stored in &messages {
                let depth = stored.position().map_or(from, |position| position.depth);
                found.extend(rules(stored).into_iter().map(|rule| Stated { depth, rule }));
                // It may be very much, and somebody may be waiting for something else.
                tokio::task::yield_now().await;
            }
            known.add(found);
            if start > from {
                known.gaps.push((from, Depth(start.0 - 1)));
            }
            match self.keep_rules(session, head.branch, known, at).await {
                Ok(_) => self.lanes.forget(Some(session.id)),
                Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn key(branch: BranchId) -> String {
    format!("rules/{:06}", branch.0)
}

fn read(record: &Record, branch: BranchId) -> Result<Rules> {
    Ok(Rules { branch: Some(branch), version: record.version, ..record.read()? })
}
