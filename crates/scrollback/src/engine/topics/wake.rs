//! Waking: what a model that asks for a topic is shown. Only what it asks for is read; what was quoted before stays.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures_util::future::join_all;

use super::consult::{Consulted, offline};
use super::editions::{Edition, Editions};
use super::event::Event;
use super::find::{Found, Near};
use super::reader::{Reader, pointer};
use super::shelf::Shelved;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::store::{Lineage, Position, Span, Stored};
use crate::strategy::topics::Finding;
use crate::strategy::topics::activation::{self, Why};
use crate::task::{self, Answered, ReadTopic, Route};
use crate::topic::{Reading, TopicId};
use crate::window::tokens_of;

/// How many messages are looked at.
const HITS: usize = 64;
/// How many topics are shown at once.
const SHOWN: usize = 3;
/// How many parts of a divided topic are shown at once.
const PARTS: usize = 6;
/// How many cards the index window sees.
const ROUTED: usize = 24;
/// How many messages of a topic are shown when no words say which matter.
const NEWEST: usize = 8;
/// What the line on the rest of a topic costs at most.
const POINTER: u32 = 160;
/// What a topic counts for that only the day it was spoken of leads to.
const DATED: f32 = 0.5;

/// What a model asks for.
pub(in crate::engine) struct Wanted<'a> {
    pub(in crate::engine) session: &'a SessionKey,
    pub(in crate::engine) head: Position,
    pub(in crate::engine) open: Depth,
    pub(in crate::engine) words: &'a str,
    pub(in crate::engine) since: Option<At>,
    pub(in crate::engine) until: Option<At>,
    /// What a person wants left out.
    pub(in crate::engine) excluded: &'a BTreeSet<MessageId>,
}

/// What it is shown.
pub(in crate::engine) struct Woken {
    pub(in crate::engine) text: String,
    /// Those that wake.
    pub(in crate::engine) topics: Vec<(TopicId, f32)>,
}

impl Wanted<'_> {
    /// For whom topics are read.
    fn reader<'a>(&'a self, lineage: &'a Lineage) -> Reader<'a> {
        Reader { session: self.session, lineage, open: self.open, excluded: self.excluded }
    }

    /// Whether a day was named: then the past is asked for, archived or not.
    fn is_dated(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    fn admits(&self, shelved: &Shelved) -> bool {
        let card = &shelved.card;
        let in_time =
            self.since.is_none_or(|since| card.last >= since) && self.until.is_none_or(|until| card.first < until);
        in_time && (self.is_dated() || !shelved.archived)
    }
}

impl Engine {
    /// Brings topics back by id, by words or by days. Notes what the helper was asked, also if nothing comes of it.
    pub(in crate::engine) async fn wake(
        &self,
        wanted: &Wanted<'_>,
        room: u32,
        asked: &mut Vec<task::Asked>,
    ) -> Result<Woken> {
        let lineage = self.store().lineage(wanted.session, wanted.head).await?;
        let reader = wanted.reader(&lineage);
        let by_id = match named(wanted.words) {
            Some(topic) => self.one(&reader, topic).await?,
            None => Vec::new(),
        };
        // What reads like an id may be what something is called.
        let chosen = if by_id.is_empty() { self.some(wanted, &reader, asked).await? } else { by_id };
        if chosen.is_empty() {
            let words = super::super::recall::shown_words(wanted.words);
            return Err(Error::NotFound(format!(
                "No topic matches “{words}”. Try other words, or search_history(words); for archived topics, name a day."
            )));
        }
        let findings = self.read_chosen(wanted, &reader, chosen, asked).await?;
        let (mut topics, mut held) = (Vec::new(), Vec::new());
        // What is in no topic yet can be shown, but has none to wake.
        for finding in findings.iter().filter(|finding| finding.edition > 0) {
            topics.push((finding.card.id, finding.reading.relevance));
            held.push((finding.card.id, self.held_by(&reader, finding.card.id).await?));
        }
        let consulted = Consulted { findings, ..Consulted::new(wanted.head.id) };
        let none = || Error::NotFound("There is no room left in the window to show this topic.".into());
        let text = self.with_onward(&consulted, &held, room).ok_or_else(none)?;
        Ok(Woken { text, topics })
    }

    /// What is quoted, and how to go on in each topic, as far as there is room.
    fn with_onward(&self, consulted: &Consulted, held: &[(TopicId, Vec<MessageId>)], room: u32) -> Option<String> {
        let onward = u32::try_from(held.len()).unwrap_or(u32::MAX).saturating_mul(POINTER).min(room / 4);
        let excerpt = self.excerpt_within(consulted, room - onward)?;
        let mut left = room.saturating_sub(excerpt.tokens);
        let fits = |line: &String| {
            let rest = left.checked_sub(tokens_of(line));
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let onward = held.iter().filter_map(|(topic, held)| pointer(*topic, held, &excerpt.quoted)).filter(fits);
        Some(std::iter::once(excerpt.text.to_string()).chain(onward).collect::<Vec<_>>().join("\n"))
    }

    /// A topic by its id: its newest messages, or those of what it became.
    async fn one(&self, reader: &Reader<'_>, topic: TopicId) -> Result<Vec<(Shelved, Reading)>> {
        let editions = Editions { store: self.store(), session: reader.session, lineage: reader.lineage };
        let mut found = Vec::new();
        for edition in turned_into(&editions, topic).await? {
            found.push((Shelved::of(&edition), self.newest_of(reader, &edition, 1.0).await?));
        }
        Ok(found)
    }

    /// What is shown of a topic when no words say what of it matters.
    async fn newest_of(&self, reader: &Reader<'_>, edition: &Edition, relevance: f32) -> Result<Reading> {
        let held = self.held_by(reader, edition.card.id).await?;
        let messages = held[held.len().saturating_sub(NEWEST)..].to_vec();
        Ok(Reading { relevance, messages, summary: edition.summary.clone() })
    }

    /// Topics by words and days: those that the index window picks of what search finds, of recent ones and of those
    /// days.
    async fn some(
        &self,
        wanted: &Wanted<'_>,
        reader: &Reader<'_>,
        asked: &mut Vec<task::Asked>,
    ) -> Result<Vec<(Shelved, Reading)>> {
        let known = self.indexed(wanted, reader).await?;
        if known.is_empty() {
            return Ok(Vec::new());
        }
        let cards: Vec<_> = known.iter().map(|(shelved, _)| (*shelved.card).clone()).collect();
        let by_words = known.iter().map(|(shelved, found)| (shelved.card.id, found.relevance));
        let by_words: Vec<_> = by_words.filter(|(_, relevance)| *relevance > 0.0).collect();
        let today = self.by_number(wanted.session, vec![wanted.head.id]).await?;
        let today = today.first().map_or_else(At::default, |stored| stored.at);
        let route = Route { asked: wanted.words, today, cards: &cards, by_words: &by_words };
        let Answered { answer: routed, calls, .. } = self.in_time(&route).await;
        asked.extend(calls);
        let settings = &self.settings.strategies.topics.activation;
        let best = activation::deep(settings, &routed, 0);
        let best: Vec<TopicId> = if best.is_empty() { routed.iter().map(|(topic, _)| *topic).collect() } else { best };
        let mut chosen = Vec::new();
        for topic in best.into_iter().take(SHOWN) {
            let Some((shelved, found)) = known.iter().find(|(shelved, _)| shelved.card.id == topic) else { continue };
            let relevance = routed.iter().find(|(id, _)| *id == topic).map_or(0.0, |(_, relevance)| *relevance);
            chosen.push((shelved.clone(), self.by_finds(wanted, reader, found, relevance).await?));
        }
        Ok(chosen)
    }

    /// What words find in a topic, or its newest messages if they find nothing.
    async fn by_finds(
        &self,
        wanted: &Wanted<'_>,
        reader: &Reader<'_>,
        found: &Found,
        relevance: f32,
    ) -> Result<Reading> {
        if found.hits.is_empty() {
            let editions = Editions { store: self.store(), session: reader.session, lineage: reader.lineage };
            let Some(edition) = editions.of(found.topic).await? else { return Ok(Reading::default()) };
            return self.newest_of(reader, &edition, relevance).await;
        }
        let quoted: Vec<&Stored> = found.quoted(true).collect();
        let turns = self.with_turns(wanted.session, wanted.head, &quoted, u32::MAX).await?;
        let shown = turns.iter().map(|stored| stored.id).filter(|id| !wanted.excluded.contains(id));
        Ok(found.reading(shown.collect()))
    }

    /// The cards that the index window sees: what words lead to; of the days that are named all, or else, where a
    /// helper can tell what words do not, those that were added to last.
    async fn indexed(&self, wanted: &Wanted<'_>, reader: &Reader<'_>) -> Result<Vec<(Shelved, Found)>> {
        let near = Near { open: wanted.open, hits: HITS, own: 0 };
        let found = self.by_words(wanted.session, reader.lineage, wanted.words, near).await?;
        let editions = Editions { store: self.store(), session: wanted.session, lineage: reader.lineage };
        let mut known: Vec<(Shelved, Found)> = Vec::new();
        for found in found.into_iter().take(ROUTED) {
            let edition = if found.sorted { editions.of(found.topic).await? } else { None };
            let shelved = edition.as_ref().map_or_else(|| super::consult::loose(found.topic), Shelved::of);
            if !found.sorted || wanted.admits(&shelved) {
                known.push((shelved, found));
            }
        }
        let led = known.len();
        for edition in self.beside(wanted, &editions).await? {
            let (topic, shelved) = (edition.card.id, Shelved::of(&edition));
            let is_new = known.iter().all(|(known, _)| known.card.id != topic);
            if known.len() < ROUTED && is_new && edition.is_open() && wanted.admits(&shelved) {
                // A day that is named says enough where no word does; those of it that were spoken of last come first.
                let alone = wanted.is_dated() && led == 0;
                let place = u8::try_from(known.len()).unwrap_or(u8::MAX);
                let relevance = if alone { DATED - f32::from(place) / 1_000.0 } else { 0.0 };
                known.push((shelved, Found { topic, sorted: true, relevance, hits: Vec::new() }));
            }
        }
        Ok(known)
    }

    /// Topics that words need not lead to, the last one first.
    async fn beside(&self, wanted: &Wanted<'_>, editions: &Editions<'_>) -> Result<Vec<Edition>> {
        let mut found = Vec::new();
        if wanted.is_dated() {
            found = editions.newest().await?;
            found.sort_by_key(|edition| std::cmp::Reverse((edition.card.last, edition.card.id)));
        } else if self.tasks.has_helper() {
            for topic in self.shelf(wanted.session, editions.lineage).await?.progress.recent {
                found.extend(editions.of(topic).await?);
            }
        }
        Ok(found)
    }

    /// Reads what was chosen against the open messages, all at once. What a helper does not tell, words do.
    async fn read_chosen(
        &self,
        wanted: &Wanted<'_>,
        reader: &Reader<'_>,
        chosen: Vec<(Shelved, Reading)>,
        asked: &mut Vec<task::Asked>,
    ) -> Result<Vec<Finding>> {
        let (mut prompts, mut open) = (Vec::new(), Vec::new());
        for (shelved, _) in &chosen {
            prompts.push(self.prompt_of(reader, shelved).await?);
        }
        if prompts.iter().any(|messages| !messages.is_empty()) {
            let span = Span::Path { head: wanted.head, from: wanted.open, to: wanted.head.depth };
            let shown = self.store().read(wanted.session, span).await?.into_iter();
            open.extend(shown.filter(|stored| !wanted.excluded.contains(&stored.id)).map(Arc::new));
        }
        let read = chosen.iter().zip(&prompts).map(|((shelved, by_words), messages)| {
            let task = ReadTopic { card: &shelved.card, messages, open: &open, by_words };
            async move { if messages.is_empty() { offline(&task) } else { self.in_time(&task).await } }
        });
        let mut findings = Vec::new();
        for (mut answered, (shelved, by_words)) in join_all(read).await.into_iter().zip(&chosen) {
            asked.append(&mut answered.calls);
            let Reading { relevance, messages, summary } = answered.answer;
            let messages = if messages.is_empty() { by_words.messages.clone() } else { messages };
            let summary = if summary.is_empty() { by_words.summary.clone() } else { summary };
            let reading = Reading { relevance: relevance.max(by_words.relevance), messages, summary };
            findings.push(self.finding(wanted.session, wanted.open, shelved, reading).await?);
        }
        Ok(findings)
    }
}

/// What a topic is by now: itself, the one it became part of, or its parts, those that were added to last first.
async fn turned_into(editions: &Editions<'_>, topic: TopicId) -> Result<Vec<Edition>> {
    let (mut waiting, mut seen, mut found) = (vec![topic], HashSet::new(), Vec::new());
    while let Some(topic) = waiting.pop() {
        // Each message of a divided topic leads to its part, which is read once.
        if !seen.insert(topic) {
            continue;
        }
        let Some(edition) = editions.of(topic).await? else { continue };
        match edition.merged {
            Some(into) => waiting.push(into),
            None if edition.is_open() => found.push(edition),
            None => waiting.extend(editions.all(topic).await?.iter().flat_map(|one| &one.moved).map(|(_, to)| *to)),
        }
    }
    found.sort_by_key(|edition| std::cmp::Reverse((edition.card.last, edition.card.id)));
    found.truncate(PARTS);
    Ok(found)
}

/// The topic that words name by its id.
fn named(words: &str) -> Option<TopicId> {
    let word = words.trim().trim_matches(['[', ']', '"', '“', '”']);
    let digits = word.strip_prefix(['t', 'T'])?;
    digits.parse().ok().map(|number| TopicId(MessageId(number)))
}

/// What is recorded of a topic that was asked for.
pub(in crate::engine) fn recorded(words: &str, woken: &Woken) -> (Event, Vec<(TopicId, Why)>) {
    let topics: Vec<TopicId> = woken.topics.iter().map(|(topic, _)| *topic).collect();
    let why = topics.iter().map(|topic| (*topic, Why::Asked)).collect();
    (Event::Activated { words: words.to_owned(), topics }, why)
}
