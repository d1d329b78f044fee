//! Searching for what is out of sight, by words and by meaning: what is asked for may have been said in other words.

use std::collections::{HashMap, HashSet};

use super::{FINDS, Sight};
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{Depth, MessageId};
use crate::search::gather::Near;
use crate::search::{Found, Need, Query, Reach, find};
use crate::store::Lineage;

/// How soon a place further down counts little; as is usual where ranks are joined.
const SMOOTHING: f64 = 60.0;

impl Engine {
    /// What a query finds that its window lacks. Where what it shows takes every place, what is folded is searched by
    /// itself: nobody is told that there is nothing for that.
    pub(super) async fn out_of_sight(&self, sight: &Sight<'_>, query: &Query, lineage: &Lineage) -> Result<Vec<Found>> {
        let mut found = self.sought(sight, query, lineage).await?;
        let is_crowded = found.len() >= query.limit;
        found.retain(|found| sight.lacks(found.message.id));
        let folded = sight.fold.open().0.checked_sub(1).map(Depth);
        if let Some(last) = folded.filter(|_| is_crowded && found.len() < FINDS) {
            let path = Lineage(lineage.0.iter().map(|(branch, depth)| (*branch, last.min(*depth))).collect());
            let query = Query { reach: Reach::Path(sight.session.id, path.clone()), ..query.clone() };
            let known: HashSet<MessageId> = found.iter().map(|found| found.message.id).collect();
            let more = self.sought(sight, &query, &path).await?.into_iter();
            found.extend(more.filter(|found| sight.lacks(found.message.id) && !known.contains(&found.message.id)));
        }
        Ok(found)
    }

    async fn sought(&self, sight: &Sight<'_>, query: &Query, lineage: &Lineage) -> Result<Vec<Found>> {
        let by_words = find(self.store(), &sight.session.tenant, query).await?;
        self.meant(sight, query, lineage, by_words).await
    }

    /// What words found and what means the same, by the ranks of both. Without embeddings, and if they are late, words
    /// alone decide.
    async fn meant(
        &self,
        sight: &Sight<'_>,
        query: &Query,
        lineage: &Lineage,
        by_words: Vec<Found>,
    ) -> Result<Vec<Found>> {
        let Some(similar) = self.similar(sight.session, lineage, &query.text).await else { return Ok(by_words) };
        let near = Near::new(similar);
        let places = near.nearest();
        let mut by_meaning = self.at_places(sight.session, sight.head, &places, sight.head.depth).await?;
        let nearness = |depth: Option<Depth>| depth.map_or(0.0, |depth| near.at(u64::from(depth.0)));
        let filters = query.probe(Vec::new(), Need::Any);
        by_meaning.retain(|stored| filters.admits(stored));
        by_meaning.sort_by(|a, b| {
            let [a, b] = [a, b].map(|stored| nearness(stored.position().map(|at| at.depth)));
            b.total_cmp(&a)
        });
        let by_meaning = by_meaning.into_iter().map(|stored| Found::other(sight.session.id, stored, query)).collect();
        Ok(joined([by_words, by_meaning], query.limit))
    }
}

/// Finds by the sum of what their ranks are worth; of equals, those of the first list first.
fn joined(lists: [Vec<Found>; 2], limit: usize) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    let mut known: HashMap<MessageId, usize> = HashMap::new();
    for list in lists {
        for (mut found, rank) in list.into_iter().zip(0_u16..) {
            found.score = 1.0 / (SMOOTHING + f64::from(rank));
            let place = *known.entry(found.message.id).or_insert(all.len());
            if place == all.len() {
                all.push(found);
            } else {
                all[place].score += found.score;
            }
        }
    }
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all.truncate(limit);
    all
}
