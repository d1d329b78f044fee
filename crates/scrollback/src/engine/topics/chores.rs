//! What can wait: sorting a backlog, sorting ahead of need, briefs that the helper has not written yet, topics that are
//! too large. What is not done is found undone after the next turn.

use std::sync::Arc;

use super::editions::{Edition, Editions, put};
use super::shelf::Shelf;
use super::sort::Sorting;
use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::engine::tidy::Upkeep;
use crate::error::{Error, Result};
use crate::ids::Depth;
use crate::store::{Batch, Span};
use crate::strategy::{Leaf, turns};
use crate::task::{self, WriteBrief};
use crate::topic::TopicId;

/// How many messages of a backlog are sorted after one turn.
const BACKLOG: u32 = 512;
/// How many of a topic's newest messages the helper writes a brief from.
const BRIEFED: usize = 40;
/// With a helper, messages are sorted ahead of need once the window is so full, in hundredths of where it is folded.
const AHEAD: u32 = 80;
/// A topic is divided once it has grown to so much of its limit, in hundredths.
const NEAR: u32 = 80;

impl Engine {
    /// Does what can wait for the topics of a lane. Notes what the helper was asked, also if something fails.
    pub(in crate::engine) async fn tidy_topics(&self, upkeep: &Upkeep<'_>, calls: &mut Vec<task::Asked>) -> Result<()> {
        let Upkeep { session, lane, at, .. } = *upkeep;
        let lineage = self.store().lineage(session, lane.head).await?;
        let mut shelf = Shelf::clone(&lane.shelf);
        if !shelf.is_of(lane.head.branch) || !self.is_current(session, &mut shelf).await? {
            shelf = self.shelf(session, &lineage).await?;
        }
        let sorting = Sorting { session, lineage: &lineage, at, until: None };
        if !shelf.is_whole() {
            return Ok(());
        }
        let tidied = async {
            let mut done = self.sort_backlog(&sorting, lane, &mut shelf, calls).await?;
            done |= self.sort_ahead(&sorting, upkeep, &mut shelf, calls).await?;
            done |= self.brief_stale(&sorting, &mut shelf, calls).await?;
            done |= self.divide_large(&sorting, &mut shelf, calls).await?;
            Ok::<bool, Error>(done)
        };
        match tidied.await {
            Ok(false) => {}
            // Somebody else has sorted meanwhile: what is left is done after the next turn.
            Ok(true) | Err(Error::Conflict(_)) => self.lanes.forget(Some(session.id)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sorts a part of a long history that came at once.
    async fn sort_backlog(
        &self,
        sorting: &Sorting<'_>,
        lane: &Lane,
        shelf: &mut Shelf,
        calls: &mut Vec<task::Asked>,
    ) -> Result<bool> {
        shelf.progress.skip_to(lane.folded.fold.open());
        let Some(&(from, end)) = shelf.progress.backlog.first() else { return Ok(false) };
        let to = Depth((from.0 + BACKLOG).min(end.0) - 1);
        let read = self.store().read(sorting.session, Span::Path { head: lane.head, from, to }).await?;
        let leaves = Leaf::all(read.into_iter().map(Arc::new), &self.settings.strategies.holds);
        // The last turn may go on behind what was read.
        let whole = if to.0 + 1 < end.0 { turns::last(&leaves) } else { leaves.len() };
        let leaves = if whole == 0 { &leaves[..] } else { &leaves[..whole] };
        self.sort(sorting, shelf, leaves, calls).await?;
        Ok(true)
    }

    /// Lets the helper sort what will be folded before long, so that no turn has to wait for it.
    async fn sort_ahead(
        &self,
        sorting: &Sorting<'_>,
        upkeep: &Upkeep<'_>,
        shelf: &mut Shelf,
        calls: &mut Vec<task::Asked>,
    ) -> Result<bool> {
        let Upkeep { lane, budget, .. } = *upkeep;
        let settings = &self.settings.strategies.topics;
        let tokens: u32 = lane.open.iter().map(|leaf| leaf.tokens()).fold(0, u32::saturating_add);
        let kept = settings.keep_messages.min(lane.open.len());
        let full = tokens > budget.share(settings.fold_over * AHEAD / 100);
        if !self.tasks.has_helper() || !full {
            return Ok(false);
        }
        let older = &lane.open[..lane.open.len() - kept];
        let unsorted = |leaf: &&Arc<Leaf>| leaf.stored.position().is_some_and(|at| at.depth >= shelf.progress.frontier);
        let leaves: Vec<_> = older[..turns::last(older)].iter().filter(unsorted).cloned().collect();
        if leaves.is_empty() {
            return Ok(false);
        }
        self.sort(sorting, shelf, &leaves, calls).await?;
        Ok(true)
    }

    /// Lets the helper write the briefs that were written without it.
    async fn brief_stale(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        calls: &mut Vec<task::Asked>,
    ) -> Result<bool> {
        if !self.tasks.has_helper() {
            return Ok(false);
        }
        let (mut done, recent) = (false, shelf.progress.recent.clone());
        for topic in recent {
            let Some(edition) = self.edition(sorting, topic).await?.filter(|edition| edition.stale) else { continue };
            let messages = self.newest(sorting, topic).await?;
            let answered = self.tasks.run(&WriteBrief { card: Some(&edition.card), messages: &messages }).await;
            // A helper that makes nothing of it is asked again once more is said there; one that was not there, each time.
            let is_lost_on_it = answered.calls.iter().any(task::Asked::was_in_vain);
            calls.extend(answered.calls);
            let mut next = edition.next(edition.upto);
            (next.card.name, next.card.brief) = (answered.answer.name, answered.answer.brief);
            next.stale = answered.by != task::By::Helper && !is_lost_on_it;
            if !next.stale {
                self.put_brief(sorting, shelf, next).await?;
                done = true;
            }
        }
        Ok(done)
    }

    /// Writes a card anew. A turn that sorts at the same time is not disturbed: only who has cards in mind is told.
    async fn put_brief(&self, sorting: &Sorting<'_>, shelf: &mut Shelf, mut edition: Edition) -> Result<()> {
        let Some(branch) = shelf.branch else { return Ok(()) };
        edition.number += 1;
        shelf.activity = self.latest_activity(sorting.session, shelf).await?;
        shelf.activity.rewritten += 1;
        shelf.cards.insert(edition.card.id, super::shelf::Shelved::of(&edition));
        let records =
            vec![put(sorting.session, branch, &edition, sorting.at), shelf.scored(sorting.session, branch, sorting.at)];
        self.store().commit(Batch::of_records(sorting.session.clone(), records)).await?;
        Ok(())
    }

    async fn newest(&self, sorting: &Sorting<'_>, topic: TopicId) -> Result<Vec<Arc<crate::store::Stored>>> {
        let Sorting { session, lineage, .. } = *sorting;
        let members = Editions { store: self.store(), session, lineage }.members(topic, Depth(u32::MAX)).await?;
        let excluded = self.controls(session).await?.excluded;
        let told = members.iter().map(|(id, _)| *id).filter(|id| !excluded.contains(id)).collect::<Vec<_>>();
        let newest = told.into_iter().rev().take(BRIEFED).rev();
        self.by_number(session, newest.collect()).await
    }

    /// Divides topics that near their own limit.
    async fn divide_large(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        calls: &mut Vec<task::Asked>,
    ) -> Result<bool> {
        let limit = u64::from(self.settings.strategies.topics.topic_tokens) * u64::from(NEAR) / 100;
        let large = |topic: &TopicId| shelf.cards.get(topic).is_some_and(|known| u64::from(known.card.tokens) > limit);
        let large: Vec<TopicId> = shelf.progress.recent.iter().copied().filter(large).collect();
        let mut done = false;
        for topic in large {
            done |= self.divide(sorting, shelf, topic, calls).await?;
        }
        Ok(done)
    }

    /// Writes editions, numbered anew, with other records in one commit.
    pub(super) async fn put_editions(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        editions: &mut [Edition],
        mut records: Vec<crate::store::Put>,
    ) -> Result<()> {
        let Some(branch) = shelf.branch else { return Ok(()) };
        for edition in editions.iter_mut() {
            edition.number += 1;
            records.push(put(sorting.session, branch, edition, sorting.at));
            shelf.progress.archived |= edition.archived.is_some();
            shelf.cards.insert(edition.card.id, super::shelf::Shelved::of(edition));
        }
        shelf.relist();
        records.extend(shelf.sorted(sorting.session, branch, sorting.at));
        self.store().commit(Batch::of_records(sorting.session.clone(), records)).await?;
        shelf.was_written();
        Ok(())
    }
}
