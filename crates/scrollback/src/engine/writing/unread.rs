//! Stretches that nobody has read when they were folded, as of an imported past: told later, as queued work or when a
//! person wants a fold.
//!
//! What comes of them is a fold like any other, which covers no more than the one before and tells more.

use std::sync::Arc;

use super::archive::archive;
use super::sum::{Manner, with_earlier};
use crate::engine::Engine;
use crate::engine::control::Folding;
use crate::engine::lanes::Lane;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, SessionKey};
use crate::note::{Covers, Fold};
use crate::store::Span;
use crate::strategy::{Leaf, Scene, StrategyName};
use crate::summary::Summary;
use crate::task::{self, Tasks};

/// How many messages are read at once.
const AT_ONCE: u32 = 24;
/// How many are worked into documents before those are kept.
const TOGETHER: u32 = 20 * AT_ONCE;
/// Of more messages than this the helper is not asked: nobody waits for it, but somebody pays.
const HELPED: u32 = 600;
/// No summary of what was unread is shorter than this may be.
const LEAST_TOKENS: u32 = 100;

impl Engine {
    /// Reads what the fold of a path tells nothing of, and lets it tell that as well. What the helper was asked is in
    /// the ledger, whether that can be kept or somebody else has folded meanwhile.
    pub(in crate::engine) async fn tell_unread(&self, folding: Folding<'_>, at: At) -> Result<()> {
        let mut asked = Vec::new();
        let told = self.tell_all(folding, &mut asked, at).await;
        self.keep_asked(folding.session, &asked, at).await?;
        told
    }

    async fn tell_all(&self, folding: Folding<'_>, asked: &mut Vec<task::Asked>, at: At) -> Result<()> {
        let mut lane = self.lane_at(folding, at).await?;
        let unread: u32 = lane.folded.fold.untold.iter().map(Covers::count).sum();
        let helped = unread <= HELPED;
        while !lane.folded.fold.untold.is_empty() {
            let mut fold = Fold::clone(&lane.folded.fold);
            if lane.strategy == StrategyName::Artifacts {
                let part = self.next_unread(folding.session, &lane, &mut fold.untold).await?;
                asked.extend(self.archive_unread(folding.session, &mut lane, part, helped).await?);
            } else {
                let unread = std::mem::take(&mut fold.untold);
                let (earlier, calls) = self.sum_unread(folding.session, &lane, &unread, helped).await?;
                asked.extend(calls);
                fold.summary = fold.summary.zip(earlier).map(|(told, earlier)| with_earlier(told, &earlier));
            }
            let kept = lane.kept_over(&fold, folding.budget);
            let scene = Scene { kept: kept.as_ref(), fold: &fold, ..lane.scene(folding.budget) };
            let told = self.strategy(lane.strategy).file(&scene, Vec::new()).knowing(&fold);
            self.put_fold(folding.session, &mut lane, told, at).await?;
        }
        self.lanes.forget(Some(folding.session.id));
        Ok(())
    }

    /// A summary of stretches, from the first on.
    async fn sum_unread(
        &self,
        session: &SessionKey,
        lane: &Lane,
        unread: &[Covers],
        helped: bool,
    ) -> Result<(Option<Summary>, Vec<task::Asked>)> {
        let settings = &self.settings.strategies.summary;
        let own = settings.of(&lane.model).prompt.unwrap_or_else(|| settings.prompt.clone());
        let most_tokens = (lane.limit_tokens() / 400 * settings.share).max(LEAST_TOKENS);
        let manner = Manner { model: &lane.model, prompt: &own, most_tokens };
        let (mut earlier, mut asked) = (None::<Summary>, Vec::new());
        for part in unread.iter().flat_map(parts) {
            let leaves = self.read_part(session, lane, part).await?;
            let wanted = lane.wanted(&leaves);
            earlier = if helped {
                let next = self.sum_segment(manner, earlier.as_ref(), &leaves, &wanted).await;
                asked.extend(next.iter().flat_map(|(_, calls)| calls.iter().cloned()));
                next.map(|(summary, _)| summary)
            } else {
                let covers = earlier.as_ref().map(|earlier| earlier.covers);
                Some(self.sum_within(most_tokens, lane, (earlier.as_ref(), covers), &leaves))
            };
        }
        Ok((earlier, asked))
    }

    /// Works a stretch into a lane's artifacts.
    async fn archive_unread(
        &self,
        session: &SessionKey,
        lane: &mut Lane,
        stretch: Covers,
        helped: bool,
    ) -> Result<Vec<task::Asked>> {
        let (mut asked, offline) = (Vec::new(), Tasks::offline());
        for part in parts(&stretch) {
            let leaves = self.read_part(session, lane, part).await?;
            let (changed, calls) = archive(if helped { &self.tasks } else { &offline }, lane, &leaves).await;
            asked.extend(calls);
            lane.artifacts = self.filed_with(session, lane, changed).await?;
        }
        Ok(asked)
    }

    /// The beginning of the first of some stretches, which is then no longer one of them.
    async fn next_unread(&self, session: &SessionKey, lane: &Lane, untold: &mut Vec<Covers>) -> Result<Covers> {
        let first = untold.remove(0);
        let next = Depth(first.from.0 + TOGETHER);
        let span = Span::Path { head: lane.head, from: next, to: next };
        let rest = if next <= first.to { self.store().read(session, span).await?.pop() } else { None };
        let Some(rest) = rest.and_then(|stored| stored.position()) else { return Ok(first) };
        untold.insert(0, Covers { first: rest.id, from: rest.depth, ..first });
        Ok(Covers { to: Depth(next.0 - 1), ..first })
    }

    async fn read_part(&self, session: &SessionKey, lane: &Lane, (from, to): (Depth, Depth)) -> Result<Vec<Arc<Leaf>>> {
        let stored = self.store().read(session, Span::Path { head: lane.head, from, to }).await?;
        if stored.is_empty() {
            return Err(Error::NotFound("the conversation was erased meanwhile".to_owned()));
        }
        self.leaves(session, stored).await
    }
}

/// A stretch in parts that are read at once.
fn parts(stretch: &Covers) -> impl Iterator<Item = (Depth, Depth)> + use<> {
    let to = stretch.to;
    let starts = (stretch.from.0..=to.0).step_by(AT_ONCE as usize);
    starts.map(move |from| (Depth(from), Depth(from + AT_ONCE - 1).min(to)))
}
