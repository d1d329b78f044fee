//! The review of a path's topics, once a day or on a person's word: what was added to is summed up, what is one topic
//! twice is merged (`merge`), what slept long and matters little is archived (`archive`). Nothing leaves the log.
//!
//! Each topic's change is one commit. What somebody else changed meanwhile is skipped and told; the next review finds
//! it.

mod archive;
mod merge;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::future::join_all;
use serde::Serialize;

use super::editions::{Edition, Editions, Mark};
use super::event::{During, Event, puts};
use super::shelf::Shelf;
use super::sort::{Sorting, discreet};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, SessionKey};
use crate::store::{Batch, Kind, Lineage, Position, Put, Stored};
use crate::task::{self, Answered, By, Review, Reviewed};
use crate::topic::TopicId;
use crate::window::fitting;

/// How many topics are summed up in one review.
const TOPICS: usize = 300;
/// How many of them at once.
const AT_ONCE: usize = 8;
/// How many of a topic's newest messages are read.
const MESSAGES: usize = 60;
/// How many tokens of them.
const TOKENS: u32 = 12_000;

/// Whether a review is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewMode {
    /// It is.
    Do,
    /// It only tells what it would do.
    Dry,
}

/// What a review comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReviewReport {
    /// What became of each topic that was looked at.
    pub verdicts: Vec<Verdict>,
    /// How many topics wait for the next review.
    pub left: u32,
}

/// What became of a topic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Which.
    pub topic: TopicId,
    /// What it is called.
    pub name: String,
    /// How many messages it holds.
    pub messages: u32,
    /// How much it matters, from 0 to 1.
    pub importance: Option<f32>,
    /// What happens to it.
    pub fate: Fate,
}

/// What happens to a topic in a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was summed up and stays.
    Kept,
    /// It became part of another.
    Merged(TopicId),
    /// It was archived.
    Archived,
    /// Somebody changed it meanwhile; the next review looks at it again.
    Skipped,
}

impl Engine {
    /// Reviews the topics of a path.
    pub fn review<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        at: At,
        mode: ReviewMode,
    ) -> BoxFuture<'a, Result<ReviewReport>> {
        Box::pin(async move {
            let mut sitting = Sitting::begin(self, session, head, at, mode).await?;
            let done = sitting.go_through().await;
            // What was asked and written until something failed stays.
            if sitting.wrote {
                self.lanes.forget(Some(session.id));
            }
            sitting.put_calls().await?;
            done?;
            Ok(ReviewReport { verdicts: sitting.verdicts.into_values().collect(), left: sitting.left })
        })
    }

    /// What a branch can see up to its last message.
    pub(super) async fn lineage_now(&self, session: &SessionKey, head: Position) -> Result<Lineage> {
        let end = self.store().end_of(session, head.branch).await?;
        self.store().lineage(session, end.unwrap_or(head)).await
    }
}

/// A review that is under way.
struct Sitting<'a> {
    engine: &'a Engine,
    session: &'a SessionKey,
    head: Position,
    lineage: Lineage,
    at: At,
    mode: ReviewMode,
    /// The topics that hold messages, as they are by now.
    open: BTreeMap<TopicId, Edition>,
    verdicts: BTreeMap<TopicId, Verdict>,
    left: u32,
    wrote: bool,
    /// What the helper was asked.
    calls: Vec<task::Asked>,
}

/// What is written together.
#[derive(Default)]
struct Ruling {
    editions: Vec<Edition>,
    events: Vec<Event>,
}

impl<'a> Sitting<'a> {
    async fn begin(
        engine: &'a Engine,
        session: &'a SessionKey,
        head: Position,
        at: At,
        mode: ReviewMode,
    ) -> Result<Self> {
        let lineage = engine.lineage_now(session, head).await?;
        let all = Editions { store: engine.store(), session, lineage: &lineage }.newest().await?;
        let open = all.into_iter().filter(Edition::is_open).map(|edition| (edition.card.id, edition)).collect();
        Ok(Self {
            engine,
            session,
            head,
            lineage,
            at,
            mode,
            open,
            verdicts: BTreeMap::new(),
            left: 0,
            wrote: false,
            calls: Vec::new(),
        })
    }

    async fn go_through(&mut self) -> Result<()> {
        let reviewed = self.sum_up().await?;
        self.merge(&reviewed).await?;
        self.archive().await
    }

    /// Sums up what was added to since it was last reviewed, what was added to longest ago first.
    async fn sum_up(&mut self) -> Result<Vec<TopicId>> {
        let mut touched: Vec<TopicId> = self.open.values().filter(|edition| is_touched(edition)).map(topic).collect();
        touched.sort_by_key(|topic| self.open.get(topic).map(|edition| edition.card.last));
        self.left = u32::try_from(touched.len().saturating_sub(TOPICS)).unwrap_or(u32::MAX);
        touched.truncate(TOPICS);
        for some in touched.chunks(AT_ONCE) {
            let answers = join_all(some.iter().map(|topic| self.asked(*topic))).await;
            self.calls.extend(answers.iter().flatten().flat_map(|answered| answered.calls.iter().cloned()));
            for (topic, answered) in some.iter().zip(answers) {
                let Some(edition) = self.open.get(topic) else { continue };
                let answered = answered?;
                let next = summed_up(edition, answered.answer, &answered.by, self.at);
                let importance = next.importance.unwrap_or_default();
                let events = vec![Event::Reviewed { topic: *topic, importance }];
                let is_kept = self.put(Ruling { editions: vec![next.clone()], events }, |_| {}).await?;
                self.rule(&next, if is_kept { Fate::Kept } else { Fate::Skipped });
            }
        }
        Ok(touched)
    }

    async fn asked(&self, topic: TopicId) -> Result<Answered<Reviewed>> {
        let messages = self.newest(topic).await?;
        let card = &self.open[&topic].card;
        Ok(self.engine.tasks.run(&Review { card, messages: &messages }).await)
    }

    /// The newest messages of a topic, as many as are read.
    async fn newest(&self, topic: TopicId) -> Result<Vec<Arc<Stored>>> {
        let members = self.editions().members(topic, Depth(u32::MAX)).await?;
        let newest = members[members.len().saturating_sub(MESSAGES)..].iter().map(|(id, _)| *id);
        let messages = self.engine.by_number(self.session, newest.collect()).await?;
        let messages = discreet(&messages, &self.engine.controls(self.session).await?.excluded);
        let fit = fitting(messages.iter().rev().map(|stored| stored.measure.tokens), TOKENS);
        let count = fit.max(1).min(messages.len());
        Ok(messages[messages.len() - count..].to_vec())
    }

    fn editions(&self) -> Editions<'_> {
        Editions { store: self.engine.store(), session: self.session, lineage: &self.lineage }
    }

    fn rule(&mut self, edition: &Edition, fate: Fate) {
        let (topic, name, messages) = (edition.card.id, edition.card.name.clone(), edition.card.messages);
        self.verdicts.insert(topic, Verdict { topic, name, messages, importance: edition.importance, fate });
    }

    /// Writes changed editions with what else changes on the shelf, unless somebody else changed them meanwhile.
    async fn put(&mut self, ruling: Ruling, change: impl FnOnce(&mut Shelf) + Send) -> Result<bool> {
        let Ruling { mut editions, events } = ruling;
        if self.mode == ReviewMode::Do {
            match self.write(&mut editions, &events, change).await {
                Ok(()) => self.wrote = true,
                Err(Error::Conflict(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        for edition in editions {
            self.open.insert(edition.card.id, edition);
        }
        self.open.retain(|_, edition| edition.is_open());
        Ok(true)
    }

    async fn write(
        &mut self,
        editions: &mut [Edition],
        events: &[Event],
        change: impl FnOnce(&mut Shelf) + Send,
    ) -> Result<()> {
        // Turns go on meanwhile: what they wrote since is read again just before it is written over.
        self.lineage = self.engine.lineage_now(self.session, self.head).await?;
        let mut shelf = self.engine.shelf(self.session, &self.lineage).await?;
        for edition in editions.iter() {
            let newest = self.editions().of(edition.card.id).await?;
            if newest.is_some_and(|newest| newest.number != edition.number) {
                return Err(Error::Conflict(format!("the topic {}", edition.card.id)));
            }
        }
        change(&mut shelf);
        let Some(first) = editions.first().map(topic) else { return Ok(()) };
        let records = puts(self.session, During::Review(first), events, self.at);
        let sorting = Sorting { session: self.session, lineage: &self.lineage, at: self.at, until: None };
        self.engine.put_editions(&sorting, &mut shelf, editions, records).await
    }

    /// Records what the helper was asked.
    async fn put_calls(&self) -> Result<()> {
        let put = |(i, asked): (usize, &task::Asked)| {
            Put::new(self.session, Kind::Ledger, format!("{:016x}-r{i:05}", self.at.0), self.at, asked)
        };
        let puts: Vec<Put> = self.calls.iter().enumerate().map(put).collect();
        if !puts.is_empty() && self.mode == ReviewMode::Do {
            self.engine.store().commit(Batch::of_records(self.session.clone(), puts)).await?;
        }
        Ok(())
    }
}

fn topic(edition: &Edition) -> TopicId {
    edition.card.id
}

/// Whether it holds other messages than when it was last reviewed.
fn is_touched(edition: &Edition) -> bool {
    edition.archived.is_none() && edition.reviewed.is_none_or(|mark| mark.messages != edition.card.messages)
}

/// The next edition of a topic that was reviewed.
fn summed_up(edition: &Edition, answer: Reviewed, by: &By, at: At) -> Edition {
    let mut next = edition.next(edition.upto);
    if !answer.brief.is_empty() {
        next.card.brief = answer.brief;
    }
    (next.summary, next.importance, next.once) = (answer.summary, Some(answer.importance), answer.once);
    next.reviewed = Some(Mark { at, messages: next.card.messages });
    next.stale &= *by != By::Helper;
    next
}
