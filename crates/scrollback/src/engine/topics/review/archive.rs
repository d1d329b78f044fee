//! Archiving: a topic that slept for days and matters little is shown no more, unless somebody asks for the past.
//!
//! What matters goes on sleeping, however long.

use std::collections::HashSet;

use super::{Fate, Ruling, Sitting};
use crate::engine::topics::editions::Edition;
use crate::engine::topics::event::Event;
use crate::error::Result;
use crate::ids::At;
use crate::store::{Keys, Kind, Scope};
use crate::topic::TopicId;

/// What matters less than this may be archived.
const LITTLE: f32 = 0.5;
/// How many events are read at once.
const READ: usize = 512;
const DAY_MICROSECONDS: i64 = 86_400_000_000;

impl Sitting<'_> {
    /// Archives what slept long enough and matters little.
    pub(super) async fn archive(&mut self) -> Result<()> {
        let days = i64::from(self.engine.settings.strategies.topics.archive_days);
        let since = At(self.at.0.saturating_sub(days.saturating_mul(DAY_MICROSECONDS)).max(0));
        let old = |edition: &&Edition| edition.archived.is_none() && edition.card.last < since;
        let little = |edition: &&Edition| edition.once || edition.importance.is_some_and(|degree| degree < LITTLE);
        let mut asleep: Vec<TopicId> =
            self.open.values().filter(old).filter(little).map(|edition| edition.card.id).collect();
        if !asleep.is_empty() {
            let stirred = self.stirred(since).await?;
            asleep.retain(|topic| !stirred.contains(topic));
        }
        for topic in asleep {
            self.shelve_away(topic).await?;
        }
        Ok(())
    }

    async fn shelve_away(&mut self, topic: TopicId) -> Result<()> {
        let Some(edition) = self.open.get(&topic) else { return Ok(()) };
        let next = Edition { archived: Some(self.at), ..edition.next(edition.upto) };
        let ruling = Ruling { editions: vec![next.clone()], events: vec![Event::Archived { topic }] };
        let is_put = self.put(ruling, move |shelf| {
            shelf.activity.trails.retain(|trail| trail.topic != topic);
            shelf.progress.recent.retain(|recent| *recent != topic);
        });
        let fate = if is_put.await? { Fate::Archived } else { Fate::Skipped };
        self.rule(&next, fate);
        Ok(())
    }

    /// Topics that are awake, or woke, slept or were asked for since a time.
    async fn stirred(&self, since: At) -> Result<HashSet<TopicId>> {
        let shelf = self.engine.shelf(self.session, &self.lineage).await?;
        let mut stirred: HashSet<TopicId> = shelf.active().collect();
        let scope = Scope::Session(self.session.clone());
        let mut after = format!("{:016x}", since.0);
        loop {
            let keys = Keys::After(after.clone(), READ);
            let records = self.engine.store().records(&scope, Kind::Event, keys).await?;
            for record in &records {
                stirred.extend(topics_in(&record.read()?));
            }
            match records.last() {
                Some(last) if records.len() == READ => after.clone_from(&last.key),
                _ => return Ok(stirred),
            }
        }
    }
}

/// The topics that an event keeps from being archived.
fn topics_in(event: &Event) -> Vec<TopicId> {
    match event {
        Event::Changed(change) => vec![change.topic],
        Event::Cue { topics, .. } | Event::Activated { topics, .. } => topics.clone(),
        Event::Sorted { topic, .. } | Event::Imported { topic, .. } => vec![*topic],
        Event::Scored { .. }
        | Event::Divided { .. }
        | Event::Merged { .. }
        | Event::Reviewed { .. }
        | Event::Archived { .. } => Vec::new(),
    }
}
