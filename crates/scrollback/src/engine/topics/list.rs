//! Topics as people look at them: all that a path sees, how awake they are, what they hold, and what happened to them.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::editions::{Edition, Editions};
use super::event::Event;
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::store::{Keys, Kind, Position, Record, Scope};
use crate::strategy::topics::activation::{self, Trail};
use crate::topic::{Card, TopicId};

/// How awake a topic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TopicState {
    /// It is read before each reply.
    Active,
    /// It sleeps.
    Dormant,
    /// It is found only when somebody asks for the past.
    Archived,
    /// Its messages went into its parts.
    Divided,
}

impl TopicState {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Dormant => "dormant",
            Self::Archived => "archived",
            Self::Divided => "divided",
        }
    }
}

/// A topic of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicLine {
    /// What it is about.
    pub card: Card,
    /// How awake it is.
    pub state: TopicState,
    /// The average of its last scores; `None` if it has none.
    pub average: Option<f32>,
    /// Its last scores, newest last.
    pub scores: Vec<f32>,
    /// What it came to when it was last reviewed.
    pub summary: String,
    /// How much it mattered then, from 0 to 1.
    pub importance: Option<f32>,
    /// When that was.
    pub reviewed: Option<At>,
    /// Since when it is archived.
    pub archived: Option<At>,
}

/// Something that happened to topics, as it is on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// Where it stands among what happened; what was before is read from here.
    pub key: String,
    /// When.
    pub at: At,
    /// What.
    pub event: Event,
}

impl Engine {
    /// Every topic that a path sees, in the order they began; those that became part of another are left out.
    pub fn topics<'a>(&'a self, session: &'a SessionKey, head: Position) -> BoxFuture<'a, Result<Vec<TopicLine>>> {
        Box::pin(async move {
            let lineage = self.store().lineage(session, head).await?;
            let all = Editions { store: self.store(), session, lineage: &lineage }.newest().await?;
            let shelf = self.shelf(session, &lineage).await?;
            let merged = merged_into(&all);
            let trails: HashMap<TopicId, &Trail> =
                shelf.activity.trails.iter().map(|trail| (trail.topic, trail)).collect();
            let own = all.into_iter().filter(|edition| edition.merged.is_none());
            Ok(own.map(|edition| self.line(edition, &merged, &trails)).collect())
        })
    }

    fn line(
        &self,
        edition: Edition,
        merged: &HashMap<TopicId, TopicId>,
        trails: &HashMap<TopicId, &Trail>,
    ) -> TopicLine {
        let Edition { mut card, archived, summary, importance, reviewed, .. } = edition;
        let now = |topic: TopicId| followed(merged, topic);
        let id = card.id;
        card.parent = card.parent.map(now).filter(|parent| *parent != id);
        card.refers = card.refers.iter().map(|topic| now(*topic)).filter(|topic| *topic != id).collect();
        let scores = trails.get(&id).map(|trail| trail.scores.clone()).unwrap_or_default();
        let settings = &self.settings.strategies.topics.activation;
        let average = (!scores.is_empty()).then(|| activation::average(settings, &scores));
        let state = if card.messages == 0 {
            TopicState::Divided
        } else if archived.is_some() {
            TopicState::Archived
        } else if trails.get(&id).is_some_and(|trail| trail.active) {
            TopicState::Active
        } else {
            TopicState::Dormant
        };
        let reviewed = reviewed.map(|mark| mark.at);
        TopicLine { card, state, average, scores, summary, importance, reviewed, archived }
    }

    /// The messages of a topic of a path, in the order they were said.
    pub fn topic_messages<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        topic: TopicId,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(async move {
            let lineage = self.store().lineage(session, head).await?;
            let editions = Editions { store: self.store(), session, lineage: &lineage };
            Ok(editions.members(topic, Depth(u32::MAX)).await?.into_iter().map(|(id, _)| id).collect())
        })
    }

    /// A page of what happened to the topics of a session before something (`key`; the empty one is after all), newest
    /// first.
    pub fn events_before<'a>(
        &'a self,
        session: &'a SessionKey,
        key: &'a str,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Happened>>> {
        Box::pin(async move {
            let (scope, keys) = (Scope::Session(session.clone()), Keys::Before(key.to_owned(), count));
            let records = self.store().records(&scope, Kind::Event, keys).await?;
            let happened =
                |record: &Record| Ok(Happened { key: record.key.clone(), at: record.at, event: record.read()? });
            records.iter().map(happened).collect()
        })
    }

    /// What happened to the topics of a session, oldest first.
    pub fn events<'a>(&'a self, session: &'a SessionKey) -> BoxFuture<'a, Result<Vec<(At, Event)>>> {
        Box::pin(async move {
            let keys = Keys::After(String::new(), usize::MAX >> 1);
            let records = self.store().records(&Scope::Session(session.clone()), Kind::Event, keys).await?;
            records.iter().map(|record| Ok((record.at, record.read()?))).collect()
        })
    }
}

/// What has become part of what.
pub(super) fn merged_into(all: &[Edition]) -> HashMap<TopicId, TopicId> {
    all.iter().filter_map(|edition| Some((edition.card.id, edition.merged?))).collect()
}

/// The topic that one has become a part of by now.
pub(super) fn followed(merged: &HashMap<TopicId, TopicId>, mut topic: TopicId) -> TopicId {
    for _ in 0..merged.len() {
        match merged.get(&topic) {
            Some(into) => topic = *into,
            None => break,
        }
    }
    topic
}
