//! Where messages of a history were seen in the log, and the paths that they may be of.

use std::collections::HashMap;

use super::rewrite::Features;
use crate::ids::{BranchId, MessageId, SessionId};
use crate::store::{Lineage, Place, Position};

/// A message of the log that may be one of the request's.
pub(super) struct Sighting {
    pub(super) session: SessionId,
    pub(super) at: Position,
    pub(super) features: Features,
}

/// A path that may be the true one.
pub(super) struct Lane {
    pub(super) session: SessionId,
    pub(super) head: Position,
    pub(super) lineage: Lineage,
}

impl Lane {
    pub(super) fn holds(&self, sighting: &Sighting) -> bool {
        sighting.session == self.session && self.lineage.holds(&Place::Path(sighting.at))
    }

    /// Whether what was seen in these places was said here and nowhere else.
    pub(super) fn alone_has(&self, seen: &[&Sighting]) -> bool {
        !seen.is_empty() && seen.iter().all(|sighting| self.holds(sighting))
    }
}

/// The only session in which something was seen, if there is just one.
pub(super) fn said_in_one(seen: &[&Sighting]) -> Option<SessionId> {
    let first = seen.first()?.session;
    seen.iter().all(|sighting| sighting.session == first).then_some(first)
}

/// The branches with sightings, the most promising first: with a call in common, then many, then new.
pub(super) fn ranked(sightings: &[Sighting], theirs: &[Features]) -> Vec<(SessionId, BranchId)> {
    let mut votes: HashMap<(SessionId, BranchId), (bool, usize, MessageId)> = HashMap::new();
    for Sighting { session, at, features } in sightings {
        let by_call = theirs.iter().any(|theirs| theirs.shares_unique_call(features));
        let vote = votes.entry((*session, at.branch)).or_insert((false, 0, at.id));
        *vote = (vote.0 || by_call, vote.1 + 1, vote.2.max(at.id));
    }
    let mut ranked: Vec<_> = votes.into_iter().collect();
    ranked.sort_by_key(|(branch, vote)| (std::cmp::Reverse(*vote), *branch));
    ranked.into_iter().map(|(branch, _)| branch).collect()
}
