//! Waking: what a model that asks for a topic is shown. Only what it asks for is read; what was quoted before stays.

use std::collections::{BTreeSet, HashSet};

use super::consult::Consulted;
use super::editions::{Edition, Editions};
use super::event::Event;
use super::find::Words;
use super::shelf::Shelved;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::store::{Lineage, Position, Stored};
use crate::strategy::topics::Finding;
use crate::strategy::topics::activation::{self, Why};
use crate::task::{self, Answered, Route};
use crate::topic::{Reading, TopicId};

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
    /// What the helper was asked for it.
    pub(in crate::engine) calls: Vec<task::Asked>,
}

impl Wanted<'_> {
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
    /// Brings topics back by id or by words.
    pub(in crate::engine) async fn wake(&self, wanted: &Wanted<'_>, room: u32) -> Result<Woken> {
        let lineage = self.store().lineage(wanted.session, wanted.head).await?;
        let named = named(wanted.words);
        let (mut found, calls) = match named {
            Some(topic) => (self.one(wanted, &lineage, topic).await?, Vec::new()),
            None => self.some(wanted, &lineage).await?,
        };
        for finding in &mut found {
            finding.quoted.retain(|leaf| !wanted.excluded.contains(&leaf.stored.id));
        }
        if found.is_empty() {
            let words = super::super::recall::shown_words(wanted.words);
            return Err(Error::NotFound(format!(
                "No topic matches “{words}”. Try other words, or search_history(words); for archived topics, name a day."
            )));
        }
        // What is in no topic yet can be shown, but has none to wake.
        let sorted = found.iter().filter(|finding| finding.edition > 0);
        let topics = sorted.map(|finding| (finding.card.id, finding.reading.relevance)).collect();
        let consulted = Consulted { findings: found, ..Consulted::new(wanted.head.id) };
        let excerpt = self.excerpt_within(&consulted, room);
        let text = excerpt.map(|excerpt| excerpt.text.to_string());
        let none = || Error::NotFound("There is no room left in the window to show this topic.".into());
        Ok(Woken { text: text.ok_or_else(none)?, topics, calls })
    }

    /// A topic by its id: its newest messages, or those of what it became.
    async fn one(&self, wanted: &Wanted<'_>, lineage: &Lineage, topic: TopicId) -> Result<Vec<Finding>> {
        let editions = Editions { store: self.store(), session: wanted.session, lineage };
        let mut findings = Vec::new();
        for edition in turned_into(&editions, topic).await? {
            let members = editions.members(edition.card.id, wanted.open).await?;
            let newest = members.iter().rev().take(NEWEST).rev().map(|(id, _)| *id);
            let (messages, summary) = (newest.collect(), edition.summary.clone());
            let reading = Reading { relevance: 1.0, messages, summary };
            findings.push(self.finding(wanted.session, wanted.open, &Shelved::of(&edition), reading).await?);
        }
        Ok(findings)
    }

    /// Topics by words: those that the index window picks of what search finds.
    async fn some(&self, wanted: &Wanted<'_>, lineage: &Lineage) -> Result<(Vec<Finding>, Vec<task::Asked>)> {
        let words = Words { text: wanted.words, open: wanted.open, hits: HITS, own: 0 };
        let found = self.by_words(wanted.session, lineage, words).await?;
        let editions = Editions { store: self.store(), session: wanted.session, lineage };
        let mut known = Vec::new();
        for found in found.into_iter().take(ROUTED) {
            let edition = if found.sorted { editions.of(found.topic).await? } else { None };
            let shelved = edition.as_ref().map_or_else(|| super::consult::loose(found.topic), Shelved::of);
            if !found.sorted || wanted.admits(&shelved) {
                known.push((shelved, found));
            }
        }
        let cards: Vec<_> = known.iter().map(|(shelved, _)| (*shelved.card).clone()).collect();
        let by_words: Vec<_> = known.iter().map(|(shelved, found)| (shelved.card.id, found.relevance)).collect();
        let route = Route { asked: wanted.words, cards: &cards, by_words: &by_words };
        let Answered { answer: routed, calls, .. } = self.in_time(&route).await;
        let settings = &self.settings.strategies.topics.activation;
        let best = activation::deep(settings, &routed, 0);
        let best: Vec<TopicId> = if best.is_empty() { routed.iter().map(|(topic, _)| *topic).collect() } else { best };
        let mut findings = Vec::new();
        for topic in best.into_iter().take(SHOWN) {
            let Some((shelved, found)) = known.iter().find(|(shelved, _)| shelved.card.id == topic) else { continue };
            let quoted: Vec<&Stored> = found.quoted(true).collect();
            let turns = self.with_turns(wanted.session, wanted.head, &quoted, u32::MAX).await?;
            let reading = found.reading(turns.iter().map(|stored| stored.id).collect());
            findings.push(self.finding(wanted.session, wanted.open, shelved, reading).await?);
        }
        Ok((findings, calls))
    }
}

/// What a topic is by now: itself, the one it became part of, or its parts, those that were added to last first.
async fn turned_into(editions: &Editions<'_>, topic: TopicId) -> Result<Vec<Edition>> {
    let (mut waiting, mut seen, mut found) = (vec![topic], HashSet::new(), Vec::new());
    while let Some(topic) = waiting.pop() {
        let Some(edition) = editions.of(topic).await?.filter(|_| seen.insert(topic)) else { continue };
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
