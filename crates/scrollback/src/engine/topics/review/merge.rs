//! Merging: of two topics that are about the same thing, the older takes in the messages of the newer.
//!
//! Which may be the same, search says: each topic is compared with the few whose messages answer to its name and brief,
//! never with all others.

use std::collections::HashSet;

use futures_util::future::join_all;

use super::{AT_ONCE, Fate, Ruling, Sitting};
use crate::engine::topics::editions::Edition;
use crate::engine::topics::event::Event;
use crate::engine::topics::find::Near;
use crate::engine::topics::shelf::Shelf;
use crate::error::Result;
use crate::ids::Depth;
use crate::strategy::topics::activation::Trail;
use crate::task::{Answered, Merge, Named};
use crate::topic::TopicId;

/// How many messages are looked at for a topic.
const HITS: usize = 24;
/// With how many others it is compared.
const EACH: usize = 3;
/// How many pairs are compared in one review.
const PAIRS: usize = 200;
/// How many topics a merged one refers to.
const REFERS: usize = 8;

impl Sitting<'_> {
    /// Merges topics that were just summed up with those that are about the same thing.
    pub(super) async fn merge(&mut self, reviewed: &[TopicId]) -> Result<()> {
        let mut left = self.pairs(reviewed).await?;
        while !left.is_empty() {
            let some: Vec<(TopicId, TopicId)> = left.drain(..left.len().min(AT_ONCE)).collect();
            let compared = self.compared(&some).await;
            self.calls.extend(compared.iter().flat_map(|(_, _, answered)| answered.calls.iter().cloned()));
            let mut grown = HashSet::new();
            for (one, other, answered) in compared {
                let Some(named) = answered.answer else { continue };
                if grown.contains(&one) || grown.contains(&other) {
                    // What both were called then does not tell of what one of them has taken in since.
                    left.push((one, other));
                } else if self.join(one, other, named).await? {
                    grown.extend([one, other]);
                }
            }
        }
        Ok(())
    }

    /// Asks of some pairs whether they are the same, all at once.
    async fn compared(&self, pairs: &[(TopicId, TopicId)]) -> Vec<(TopicId, TopicId, Answered<Option<Named>>)> {
        let known = pairs.iter().filter_map(|(one, other)| Some((self.open.get(one)?, self.open.get(other)?)));
        let tasks = known.map(|(one, other)| async {
            let (one, other) = (&one.card, &other.card);
            (one.id, other.id, self.engine.tasks.run(&Merge { one, other }).await)
        });
        join_all(tasks).await
    }

    /// Topics that may be the same, each pair once.
    async fn pairs(&self, reviewed: &[TopicId]) -> Result<Vec<(TopicId, TopicId)>> {
        let mut pairs = Vec::new();
        let mut seen = HashSet::new();
        let reviewed: Vec<&Edition> = reviewed.iter().filter_map(|topic| self.open.get(topic)).collect();
        let text = |edition: &&Edition| format!("{}\n{}", edition.card.name, edition.card.brief);
        let texts: Vec<String> = reviewed.iter().map(text).collect();
        let near = Near { open: Depth(u32::MAX), hits: HITS, own: 0 };
        let found = self.engine.by_each(self.session, &self.lineage, &texts, near).await?;
        for (edition, found) in reviewed.into_iter().zip(found) {
            let others = found.iter().filter_map(|found| self.open.get(&found.topic));
            for other in others.filter(|other| self.may_join(edition, other)).take(EACH) {
                let (one, other) = (edition.card.id, other.card.id);
                if seen.insert((one.min(other), one.max(other))) {
                    pairs.push((one, other));
                }
            }
        }
        pairs.truncate(PAIRS);
        Ok(pairs)
    }

    /// Whether two topics could be one: neither is archived or part of the other, and together they are not too large.
    fn may_join(&self, one: &Edition, other: &Edition) -> bool {
        let related = one.card.parent == Some(other.card.id) || other.card.parent == Some(one.card.id);
        let limit = self.engine.settings.strategies.topics.topic_tokens;
        one.card.id != other.card.id
            && !related
            && one.archived.is_none()
            && other.archived.is_none()
            && one.card.tokens.saturating_add(other.card.tokens) <= limit
    }

    /// Makes one topic of two; whether they are one now.
    async fn join(&mut self, one: TopicId, other: TopicId, named: Named) -> Result<bool> {
        let (Some(one), Some(other)) = (self.open.get(&one), self.open.get(&other)) else { return Ok(false) };
        if !self.may_join(one, other) {
            return Ok(false);
        }
        let is_older = (one.card.first, one.card.id) < (other.card.first, other.card.id);
        let (older, newer) = if is_older { (one.clone(), other.clone()) } else { (other.clone(), one.clone()) };
        let mut whole = joined(&older, &newer, named);
        whole.added = self.editions().members(newer.card.id, Depth(u32::MAX)).await?;
        let mut rest = newer.next(whole.upto);
        (rest.merged, rest.card.messages, rest.card.tokens) = (Some(older.card.id), 0, 0);
        let (topic, into) = (newer.card.id, older.card.id);
        let ruling = Ruling { editions: vec![whole, rest], events: vec![Event::Merged { topic, into }] };
        let is_put = self.put(ruling, move |shelf| join_trails(shelf, topic, into)).await?;
        self.rule(&newer, if is_put { Fate::Merged(into) } else { Fate::Skipped });
        if let Some(whole) = self.open.get(&into).cloned().filter(|_| is_put) {
            self.rule(&whole, Fate::Kept);
        }
        Ok(is_put)
    }
}

/// Both as one; a path sees the change of both or of neither.
fn joined(older: &Edition, newer: &Edition, named: Named) -> Edition {
    let mut whole = older.next(older.upto.max(newer.upto));
    let card = &mut whole.card;
    (card.name, card.brief) = (named.name, named.brief);
    card.messages = card.messages.saturating_add(newer.card.messages);
    card.tokens = card.tokens.saturating_add(newer.card.tokens);
    (card.first, card.last) = (card.first.min(newer.card.first), card.last.max(newer.card.last));
    let ours = [older.card.id, newer.card.id];
    let refers = older.card.refers.iter().chain(&newer.card.refers).copied();
    let mut seen = HashSet::new();
    card.refers = refers.filter(|topic| !ours.contains(topic) && seen.insert(*topic)).take(REFERS).collect();
    let summaries = [&older.summary, &newer.summary].into_iter().filter(|text| !text.is_empty());
    whole.summary = summaries.cloned().collect::<Vec<_>>().join("\n");
    whole.importance = older.importance.into_iter().chain(newer.importance).reduce(f32::max);
    whole.once = older.once && newer.once;
    whole.stale = older.stale || newer.stale;
    whole
}

/// One topic stands where both stood: as awake as the more awake of them.
fn join_trails(shelf: &mut Shelf, from: TopicId, into: TopicId) {
    let trails = &mut shelf.activity.trails;
    let (ours, others): (Vec<Trail>, Vec<Trail>) =
        std::mem::take(trails).into_iter().partition(|trail| trail.topic == from || trail.topic == into);
    *trails = others;
    let best = ours.into_iter().min_by_key(|trail| (!trail.active, trail.idle, trail.topic != into));
    trails.extend(best.map(|trail| Trail { topic: into, ..trail }));
    trails.sort_by_key(|trail| trail.topic);
    shelf.progress.recent.retain(|topic| *topic != from);
    shelf.progress.count = shelf.progress.count.saturating_sub(1).max(1);
}
