//! Finding topics by words: the index names messages, and where they were sorted to names their topics. What a turn
//! costs here depends on how many messages share its rare words, not on how many topics or messages there are.

use std::collections::{HashMap, HashSet};

use super::editions::Editions;
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{Depth, MessageId, SessionKey};
use crate::search::{Reach, Related, related};
use crate::store::{Lineage, Position, Span, Stored};
use crate::topic::{Reading, TopicId};

/// How much a second find in the same topic adds.
const SECOND: f64 = 0.2;
/// How close to the best find of its topic a message must be to be quoted, and how many are.
const QUOTED: (f64, usize) = (0.5, 6);
/// How close what others than the person said must be, because it is long.
const QUOTED_OTHERS: f64 = 0.8;
/// The same when the person says that something was forgotten.
const QUOTED_DEEP: (f64, usize) = (0.3, 12);

/// What the best topic counts for at least, unless it is poor.
const GOOD: f64 = 0.6;
/// How much a poor one is raised at most.
const MOST_SCALE: f64 = 2.0;

/// Where it is looked for.
#[derive(Clone, Copy)]
pub(super) struct Near {
    /// Only messages before this depth.
    pub(super) open: Depth,
    /// How many messages are looked at.
    pub(super) hits: usize,
    /// How often the text itself is in the log: once, unless a model wrote it.
    pub(super) own: u32,
}

/// A topic that words led to.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) topic: TopicId,
    /// Whether its messages were sorted; those of a long history that came at once may not be yet.
    pub(super) sorted: bool,
    pub(super) relevance: f32,
    /// The messages, the closest first.
    pub(super) hits: Vec<Related>,
}

impl Found {
    /// The messages worth quoting, the closest first.
    pub(super) fn quoted(&self, deep: bool) -> impl Iterator<Item = &Stored> {
        let (share, count) = if deep { QUOTED_DEEP } else { QUOTED };
        let best = self.hits.first().map_or(0.0, |best| best.share);
        let wanted = move |hit: &&Related| {
            let share = if hit.message.role == crate::Role::User { share } else { share.max(QUOTED_OTHERS) };
            hit.share >= best * share
        };
        self.hits.iter().take(count).filter(wanted).map(|hit| &hit.message)
    }

    /// What can be said of it without reading it.
    pub(super) fn reading(&self, messages: Vec<MessageId>) -> Reading {
        Reading { relevance: self.relevance, messages, summary: String::new() }
    }
}

impl Engine {
    /// Topics whose messages have to do with a text, the closest first.
    pub(super) async fn by_words(
        &self,
        session: &SessionKey,
        lineage: &Lineage,
        text: &str,
        near: Near,
    ) -> Result<Vec<Found>> {
        Ok(self.by_each(session, lineage, &[text], near).await?.pop().unwrap_or_default())
    }

    /// The same for each of some texts.
    pub(super) async fn by_each<T: AsRef<str>>(
        &self,
        session: &SessionKey,
        lineage: &Lineage,
        texts: &[T],
        near: Near,
    ) -> Result<Vec<Vec<Found>>> {
        let Some(last) = near.open.0.checked_sub(1).map(Depth) else { return Ok(vec![Vec::new(); texts.len()]) };
        let path = Lineage(lineage.0.iter().map(|(branch, depth)| (*branch, last.min(*depth))).collect());
        let reach = Reach::Path(session.id, path);
        let related = related(self.store(), &session.tenant, (texts, near.own), (reach, near.hits)).await?;
        let editions = Editions { store: self.store(), session, lineage };
        let (mut found, mut places) = (Vec::with_capacity(texts.len()), HashMap::new());
        for hits in related {
            found.push(sorted(&editions, hits, &mut places).await?);
        }
        Ok(found)
    }

    /// Messages with those they belong to: an answer with its question, a question with its answer if that is short.
    pub(super) async fn with_turns(
        &self,
        session: &SessionKey,
        head: Position,
        quoted: &[&Stored],
        short_tokens: u32,
    ) -> Result<Vec<Stored>> {
        let mut all: HashMap<MessageId, Stored> =
            quoted.iter().map(|stored| (stored.id, Stored::clone(stored))).collect();
        let wanted: HashSet<Depth> = quoted.iter().filter_map(|stored| Some(stored.position()?.depth)).collect();
        let beside = |stored: &Stored| {
            let at = stored.position()?.depth.0;
            let beside = if stored.role == crate::Role::User { at.checked_add(1) } else { at.checked_sub(1) };
            beside.map(Depth).filter(|depth| !wanted.contains(depth))
        };
        let depths = quoted.iter().filter_map(|stored| beside(stored)).collect();
        let partners = self.store().read(session, Span::Depths { head, depths }).await?;
        for stored in quoted {
            let depth = beside(stored);
            let is_it = |partner: &&Stored| partner.position().map(|at| at.depth) == depth;
            let partner = partners.iter().find(is_it).cloned();
            let belongs = |partner: &Stored| match (&stored.role, &partner.role) {
                (crate::Role::User, crate::Role::Assistant) => partner.measure.tokens <= short_tokens,
                (crate::Role::Assistant, crate::Role::User) => true,
                _ => false,
            };
            all.extend(partner.filter(belongs).map(|partner| (partner.id, partner)));
        }
        let mut all: Vec<Stored> = all.into_values().collect();
        all.sort_by_key(|stored| stored.position().map(|position| position.depth));
        Ok(all)
    }
}

/// The topics of some messages; where each is sorted to is looked up once.
async fn sorted(
    editions: &Editions<'_>,
    hits: Vec<Related>,
    places: &mut HashMap<MessageId, Option<TopicId>>,
) -> Result<Vec<Found>> {
    let mut found: HashMap<TopicId, Found> = HashMap::new();
    for hit in hits {
        let Some(position) = hit.message.position() else { continue };
        let sorted = match places.get(&position.id) {
            Some(known) => *known,
            None => *places.entry(position.id).or_insert(editions.topic_of(position).await?),
        };
        let topic = sorted.unwrap_or(TopicId(position.id));
        let (sorted, relevance, hits) = (sorted.is_some(), 0.0, Vec::new());
        found.entry(topic).or_insert(Found { topic, sorted, relevance, hits }).hits.push(hit);
    }
    Ok(ranked(found.into_values().collect()))
}

/// Topics by how much they have to do with the text. How much of a text can be found at all differs from text to text,
/// so the best of them counts as a good one unless it is poor.
fn ranked(mut found: Vec<Found>) -> Vec<Found> {
    let share = |topic: &Found, i: usize| topic.hits.get(i).map_or(0.0, |hit| hit.share);
    let alone = |topic: &Found| share(topic, 0) + SECOND * share(topic, 1);
    let best = found.iter().map(alone).fold(0.0, f64::max);
    let scale = (GOOD / best.max(f64::MIN_POSITIVE)).clamp(1.0, MOST_SCALE);
    for topic in &mut found {
        #[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1")]
        let relevance = (alone(topic) * scale).min(1.0) as f32;
        topic.relevance = relevance;
    }
    found.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.topic.cmp(&b.topic)));
    found
}
