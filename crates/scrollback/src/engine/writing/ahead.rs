//! Writing ahead of need: once a window is well filled, the helper begins with what the next fold will need, piece by
//! piece, and every piece is kept as soon as it is there. What was written after a fold that no longer counts is never
//! used.

use std::sync::Arc;

use super::archive::archive;
use super::{Ahead, Written};
use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::engine::tidy::Upkeep;
use crate::error::Result;
use crate::ids::{BranchId, MessageId, SessionKey};
use crate::store::{Batch, Kind, Put, Scope};
use crate::strategy::{Leaf, Scene, StrategyName, turns};
use crate::task;
use crate::window::Budget;

/// On so many of the newest branches of a path it is looked for: some clients make one with every turn.
const LOOKED_ON: usize = 8;

impl Engine {
    /// What was written for the next fold of a lane, if anything was: on its branch, or on one that it left since.
    pub(super) async fn ahead(&self, session: &SessionKey, lane: &Lane) -> Result<Option<Ahead>> {
        let lineage = self.store().lineage(session, lane.head).await?;
        for branch in std::iter::once(lane.head.branch).chain(lineage.left().map(|(branch, _)| branch)).take(LOOKED_ON)
        {
            let found = self.ahead_on(session, lane, branch).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    async fn ahead_on(&self, session: &SessionKey, lane: &Lane, branch: BranchId) -> Result<Option<Ahead>> {
        let record = self.store().record(Scope::Session(session.clone()), Kind::Note, key(lane, branch)).await?;
        let ahead = record.and_then(|record| serde_json::from_str::<Ahead>(record.body.get()).ok());
        let first = lane.open.first().and_then(|leaf| leaf.stored.position());
        let is_ours = |ahead: &Ahead| {
            let same = first.is_some_and(|first| first.id == ahead.covers.first && first.depth == ahead.covers.from);
            let last = ahead.covers.to.0.checked_sub(ahead.covers.from.0).and_then(|at| lane.open.get(at as usize));
            let ends = last.is_some_and(|leaf| leaf.stored.id == ahead.covers.last);
            let told = || left_out(lane, &lane.open[..ahead.covers.count() as usize]) == ahead.left_out;
            ahead.base == lane.folded.id && same && ends && told()
        };
        Ok(ahead.filter(is_ours))
    }

    /// Whether a lane is so well filled that the next fold should be written, and how far it will reach.
    pub(in crate::engine) fn is_near(&self, lane: &Lane, budget: Budget) -> bool {
        let strategies = &self.settings.strategies;
        match lane.strategy {
            StrategyName::Summary => {
                let kept = lane.kept_over(&lane.folded.fold, budget);
                let scene = Scene { kept: kept.as_ref(), ..lane.scene(budget) };
                strategies.summary.is_near(&scene, &strategies.holds)
            }
            StrategyName::Artifacts => self.next_archived(lane, budget) > 0,
            StrategyName::Pages | StrategyName::Topics | StrategyName::Truncate | StrategyName::Passthrough => false,
        }
    }

    /// Writes what the next fold of a lane will need. Notes what the helper was asked, also if something fails.
    pub(in crate::engine) async fn write_ahead(
        &self,
        upkeep: &Upkeep<'_>,
        forced: bool,
        asked: &mut Vec<task::Asked>,
    ) -> Result<()> {
        let Upkeep { lane, budget, .. } = *upkeep;
        let scene = Scene { forced: true, undone: false, ..lane.scene(budget) };
        let stretch = self.strategy(lane.strategy).fold(&scene).pop();
        let folded = stretch.map_or(0, |stretch| stretch.covers.count() as usize).min(lane.open.len());
        match lane.strategy {
            StrategyName::Summary => self.sum_ahead(upkeep, &lane.open[..folded], forced, asked).await,
            StrategyName::Artifacts => {
                let count = if forced { folded } else { self.next_archived(lane, budget) };
                self.archive_ahead(upkeep, &lane.open[..count], forced, asked).await
            }
            StrategyName::Pages | StrategyName::Topics | StrategyName::Truncate | StrategyName::Passthrough => Ok(()),
        }
    }

    /// How many messages the next archiving will take, once it is near.
    fn next_archived(&self, lane: &Lane, budget: Budget) -> usize {
        let strategies = &self.settings.strategies;
        let kept = lane.kept_over(&lane.folded.fold, budget);
        let scene = Scene { kept: kept.as_ref(), undone: false, ..lane.scene(budget) };
        strategies.artifacts.next(&scene, &strategies.holds)
    }

    /// Goes on with the summary, segment by segment. What is no segment yet waits for more, unless all is wanted now:
    /// each time, the helper reads and writes all of the summary.
    async fn sum_ahead(
        &self,
        upkeep: &Upkeep<'_>,
        leaves: &[Arc<Leaf>],
        forced: bool,
        asked: &mut Vec<task::Asked>,
    ) -> Result<()> {
        let Upkeep { session, lane, .. } = *upkeep;
        let settings = &self.settings.strategies.summary;
        let segment = settings.of(&lane.model).segment.unwrap_or(settings.segment).max(1);
        let ready = self.ahead(session, lane).await?;
        let mut done = ready.as_ref().map_or(0, |ready| ready.covers.count() as usize);
        let mut summary = match ready.map(|ready| ready.written) {
            Some(Written::Summary(summary)) => Some(summary),
            Some(Written::Artifacts(_)) | None => {
                lane.folded.fold.summary.clone().map(|summary| super::without(summary, lane))
            }
        };
        let tokens = |leaves: &[Arc<Leaf>]| leaves.iter().map(|leaf| leaf.tokens()).sum::<u32>();
        let mut original = lane.folded.fold.original_tokens + tokens(&leaves[..done.min(leaves.len())]);
        let least = if forced { 1 } else { segment };
        while done + least <= leaves.len() {
            let end = segment_end(leaves, done, segment);
            original += tokens(&leaves[done..end]);
            let Some((next, calls)) = self.sum_next(lane, summary.as_ref(), &leaves[done..end], original).await else {
                break;
            };
            asked.extend(calls);
            done = end;
            self.keep_ahead(upkeep, &leaves[..done], Written::Summary(next.clone())).await?;
            summary = Some(next);
        }
        Ok(())
    }

    /// Archives the next stretch, if that has not been done. How far it reaches moves with the budget: wherever it ended
    /// when it was archived, the fold will end, unless that is too far or all is wanted now.
    async fn archive_ahead(
        &self,
        upkeep: &Upkeep<'_>,
        leaves: &[Arc<Leaf>],
        forced: bool,
        asked: &mut Vec<task::Asked>,
    ) -> Result<()> {
        let Upkeep { session, lane, .. } = *upkeep;
        let ready = self.ahead(session, lane).await?;
        let enough = if forced { leaves.len() } else { 1 };
        let most = leaves.len().max(turns::last(&lane.open));
        if leaves.is_empty() || ready.is_some_and(|ready| (enough..=most).contains(&(ready.covers.count() as usize))) {
            return Ok(());
        }
        let (changed, calls) = archive(&self.tasks, lane, leaves).await;
        asked.extend(calls);
        self.keep_ahead(upkeep, leaves, Written::Artifacts(changed)).await
    }

    async fn keep_ahead(&self, upkeep: &Upkeep<'_>, leaves: &[Arc<Leaf>], written: Written) -> Result<()> {
        let Upkeep { session, lane, at, .. } = *upkeep;
        let Some(covers) = turns::covers(leaves, &(0..leaves.len())) else { return Ok(()) };
        let ahead = Ahead { base: lane.folded.id, covers, left_out: left_out(lane, leaves), written };
        let put = Put::new(session, Kind::Note, key(lane, lane.head.branch), at, &ahead);
        self.store().commit(Batch::of_records(session.clone(), vec![put])).await.map(drop)
    }
}

/// What a person wants left out of some open messages.
fn left_out(lane: &Lane, leaves: &[Arc<Leaf>]) -> Vec<MessageId> {
    let ids = leaves.iter().map(|leaf| leaf.stored.id);
    ids.filter(|id| lane.excluded().contains(id)).collect()
}

/// Where a segment of about so many messages ends: a call is never parted from its results.
pub(super) fn segment_end(leaves: &[Arc<Leaf>], from: usize, segment: usize) -> usize {
    let least = (from + segment).min(leaves.len());
    (least..leaves.len()).find(|end| !leaves[*end].belongs()).unwrap_or(leaves.len())
}

fn key(lane: &Lane, branch: BranchId) -> String {
    format!("ahead/{}/{:06}", lane.layout, branch.0)
}
