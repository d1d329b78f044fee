//! Consulting: before a reply, the active topics are read against the open messages, all at once, and what matters is
//! found.
//!
//! Topics that share no telling word with the turn are passed over, unless hardly any does. One that takes too long is
//! cut off; then what was found by its words stands in. Within a turn the same finding is shown again and again, so
//! that its window only grows.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::find::{Found, Near};
use super::reader::Reader;
use super::shelf::{Shelf, Shelved};
use super::sort::Sorting;
use crate::asking;
use crate::engine::Engine;
use crate::engine::lanes::Lane;
use crate::error::Result;
use crate::ids::{Depth, MessageId, SessionKey};
use crate::search::is_unspaced;
use crate::store::Stored;
use crate::strategy::topics::activation::{self, Why};
use crate::strategy::topics::{Finding, Shown};
use crate::strategy::{Leaf, in_order, turns};
use crate::task::{self, Answered, By, ReadTopic, Route, Task};
use crate::topic::{Card, Reading, TopicId};

/// From this relevance on, what a topic holds is shown.
const SHOWN_FROM: f32 = 0.3;
/// The same when the person says that something was forgotten.
const SHOWN_DEEP: f32 = 0.15;
/// How many messages are looked at for a turn.
const HITS: usize = 40;
/// The same when the person says that something was forgotten.
const HITS_DEEP: usize = 96;
/// How much of a person's words is looked for.
const ASKED_CHARS: usize = 2_000;
/// With fewer letters than this, the words before count too.
const FEW: usize = 14;
/// Whoever asks in less than this may lean on what was said before: two or three sentences.
const BRIEF: usize = 250;
/// Whoever tells more than this of what they ask about does not: eight words.
const TOLD: usize = 40;
/// An answer is quoted with its question if it is not longer than this.
const SHORT_TOKENS: u32 = 400;
/// How many cards the index window sees.
const ROUTED: usize = 24;
/// How many topics are named when it is not clear which is meant.
const NAMED: usize = 3;

/// What was found in topics for a turn.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Consulted {
    /// The message that began the turn.
    pub(super) turn: MessageId,
    pub(super) findings: Vec<Finding>,
    /// Messages that words alone found, the worthiest first.
    pub(super) gathered: Vec<Arc<Leaf>>,
    /// How many tokens of them are quoted at most.
    pub(super) most: u32,
    /// What the model is told beside the quotes.
    pub(in crate::engine) remark: Option<String>,
    pub(super) scores: Vec<(TopicId, f32)>,
    pub(super) woken: Vec<(TopicId, Why)>,
    /// How many topics were not asked.
    pub(in crate::engine) passed_over: u32,
    pub(super) cue: bool,
    /// Whether the person asks for what is long past.
    pub(super) past: bool,
    /// Whether it was found for an earlier request of the same turn.
    pub(super) is_again: bool,
    pub(super) calls: Vec<task::Asked>,
}

impl Consulted {
    /// Nothing was found yet.
    pub(super) fn new(turn: MessageId) -> Self {
        Self {
            turn,
            findings: Vec::new(),
            gathered: Vec::new(),
            most: u32::MAX,
            remark: None,
            scores: Vec::new(),
            woken: Vec::new(),
            passed_over: 0,
            cue: false,
            past: false,
            is_again: false,
            calls: Vec::new(),
        }
    }

    /// The same, for a later request of its turn.
    pub(super) fn again(&self) -> Self {
        let (findings, gathered, remark) = (self.findings.clone(), self.gathered.clone(), self.remark.clone());
        Self { findings, gathered, remark, is_again: true, ..Self::new(self.turn) }
    }

    /// The same with nothing gathered but what was quoted, as a view tells it: later requests of the turn show no more.
    pub(in crate::engine) fn quoting(self, quoted: &[MessageId]) -> Self {
        Self { gathered: in_order(self.gathered, quoted), ..self }
    }

    /// The same without what a person has left out since.
    pub(in crate::engine) fn without(mut self, excluded: &BTreeSet<MessageId>) -> Self {
        self.gathered.retain(|leaf| !excluded.contains(&leaf.stored.id));
        for Finding { reading, quoted, .. } in &mut self.findings {
            quoted.retain(|leaf| !excluded.contains(&leaf.stored.id));
            reading.messages.retain(|id| !excluded.contains(id));
        }
        self
    }

    /// What it takes in memory, roughly.
    pub(in crate::engine) fn bytes(&self) -> usize {
        let quoted = self.findings.iter().flat_map(|finding| &finding.quoted);
        quoted.chain(&self.gathered).map(|leaf| leaf.stored.raw.get().len() + 256).sum()
    }

    /// What a view records of it.
    pub(in crate::engine) fn shown(&self) -> Vec<Shown> {
        let shown = |finding: &Finding| {
            let Finding { card, edition, reading, .. } = finding;
            Shown { topic: card.id, edition: *edition, reading: reading.clone() }
        };
        self.findings.iter().map(shown).collect()
    }
}

/// Who asks, and how deeply to look.
pub(super) struct Asking<'a> {
    pub(super) sorting: Sorting<'a>,
    pub(super) lane: &'a Lane,
    pub(super) open: Depth,
    pub(super) deep: bool,
    /// Whether archived topics count.
    pub(super) past: bool,
}

impl Asking<'_> {
    /// For whom topics are read.
    fn reader(&self) -> Reader<'_> {
        let Sorting { session, lineage, .. } = self.sorting;
        Reader { session, lineage, open: self.open, excluded: self.lane.excluded() }
    }

    /// Whether a topic counts: it is not archived, or the person asks for the past, or did so and it is still awake.
    fn sees(&self, shelf: &Shelf, shelved: &Shelved) -> bool {
        let awake = || shelf.active().any(|active| active == shelved.card.id);
        shelved.card.messages > 0 && (self.past || !shelved.archived || awake())
    }
}

impl Engine {
    /// Reads the topics of a shelf for the turn that a lane is in.
    pub(super) async fn read_topics(&self, asking: &Asking<'_>, shelf: &mut Shelf) -> Result<Consulted> {
        let open = &asking.lane.open;
        let turn = open[turns::last(open)].stored.id;
        let text = asked(asking.lane);
        let hits = if asking.deep { HITS_DEEP } else { HITS };
        let near = Near { open: asking.open, hits, own: 1 };
        let Sorting { session, lineage, .. } = asking.sorting;
        let mut found = self.by_words(session, lineage, &text, near).await?;
        self.keep_visible(asking, shelf, &mut found).await?;
        let mut consulted = Consulted { cue: asking.deep, ..Consulted::new(turn) };
        if asking.deep {
            self.route(asking, shelf, (&text, &mut found), &mut consulted).await;
        }
        let (asked, passed_over) = self.choose(shelf, &found, asking.deep);
        consulted.passed_over = passed_over;
        self.read_all(asking, shelf, (asked, &found), &mut consulted).await?;
        consulted.remark = asking.deep.then(|| remark(&consulted)).flatten();
        Ok(consulted)
    }

    /// Leaves out topics that are archived, unless the person asks for the past or they are awake.
    async fn keep_visible(&self, asking: &Asking<'_>, shelf: &mut Shelf, found: &mut Vec<Found>) -> Result<()> {
        let mut visible = Vec::with_capacity(found.len());
        for found in std::mem::take(found) {
            self.shelved(&asking.sorting, shelf, found.topic).await?;
            if shelf.cards.get(&found.topic).is_none_or(|shelved| asking.sees(shelf, shelved)) {
                visible.push(found);
            }
        }
        *found = visible;
        Ok(())
    }

    /// Lets the index window say which topics are meant, over what words led to.
    async fn route(
        &self,
        asking: &Asking<'_>,
        shelf: &Shelf,
        (text, found): (&str, &mut Vec<Found>),
        consulted: &mut Consulted,
    ) {
        let known = |topic: TopicId| shelf.cards.get(&topic).filter(|shelved| asking.sees(shelf, shelved));
        let card = |topic: TopicId| known(topic).map(|shelved| Card::clone(&shelved.card));
        let recent = shelf.progress.recent.iter().copied();
        let mut seen = HashSet::new();
        let named = found.iter().map(|found| found.topic).chain(recent).filter(|topic| seen.insert(*topic));
        let cards: Vec<Card> = named.filter_map(card).take(ROUTED).collect();
        let by_words: Vec<(TopicId, f32)> = found.iter().map(|found| (found.topic, found.relevance)).collect();
        let route = Route { asked: text, today: asking.sorting.at, cards: &cards, by_words: &by_words };
        let answered = self.in_time(&route).await;
        consulted.calls.extend(answered.calls);
        let routed: HashMap<TopicId, f32> = answered.answer.into_iter().collect();
        for found in found.iter_mut() {
            found.relevance = routed.get(&found.topic).copied().unwrap_or(0.0).max(found.relevance);
        }
        let fresh = routed.into_iter().filter(|(topic, _)| found.iter().all(|found| found.topic != *topic));
        let fresh: Vec<Found> =
            fresh.map(|(topic, relevance)| Found { topic, sorted: true, relevance, hits: Vec::new() }).collect();
        found.extend(fresh);
        found.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.topic.cmp(&b.topic)));
        let ranked: Vec<(TopicId, f32)> = found.iter().map(|found| (found.topic, found.relevance)).collect();
        let settings = &self.settings.strategies.topics.activation;
        let active = shelf.active().count();
        let asleep = |topic: &TopicId| shelf.active().all(|active| active != *topic);
        // Messages that are in no topic yet can be quoted, but there is nothing to wake.
        let sorted = |topic: &TopicId| found.iter().any(|found| found.topic == *topic && found.sorted);
        let woken = activation::deep(settings, &ranked, active).into_iter();
        let woken = woken.filter(|topic| asleep(topic) && sorted(topic));
        consulted.woken = woken.map(|topic| (topic, Why::Cue)).collect();
    }

    /// Which topics are asked: active ones that share a word with the turn, and sleeping ones that share enough. If so
    /// few share one, a helper is asked for all that are active, for the turn may tell of them in other words. Also how
    /// many are passed over.
    fn choose(&self, shelf: &Shelf, found: &[Found], deep: bool) -> (Vec<TopicId>, u32) {
        let settings = &self.settings.strategies.topics.activation;
        let active: Vec<TopicId> = shelf.active().collect();
        let shares: HashSet<TopicId> = found.iter().map(|found| found.topic).collect();
        let (mut asked, mut passed): (Vec<TopicId>, Vec<TopicId>) =
            active.iter().partition(|topic| shares.contains(topic));
        if self.tasks.has_helper() && asked.len() < settings.least {
            asked.append(&mut passed);
        }
        let floor = activation::floor(settings, active.len()) * if deep { settings.deep_share } else { 1.0 };
        let asleep = found.iter().filter(|found| !active.contains(&found.topic));
        let close = asleep.filter(|found| found.relevance >= floor.min(SHOWN_FROM));
        let woken = close.take(activation::take(settings, active.len()).max(1)).map(|found| found.topic);
        let passed = u32::try_from(passed.len()).unwrap_or(u32::MAX);
        (asked.into_iter().chain(woken).collect(), passed)
    }

    /// Asks topics, all at once.
    async fn read_all(
        &self,
        asking: &Asking<'_>,
        shelf: &mut Shelf,
        (asked, found): (Vec<TopicId>, &[Found]),
        consulted: &mut Consulted,
    ) -> Result<()> {
        let mut prepared = Vec::with_capacity(asked.len());
        for topic in asked {
            let found = found.iter().find(|found| found.topic == topic);
            let shelved = match self.shelved(&asking.sorting, shelf, topic).await? {
                Some(shelved) => shelved.clone(),
                None => loose(topic),
            };
            let by_words = self.by_words_alone(asking, found).await?;
            let whole = found.is_none_or(|found| found.sorted);
            let messages = if whole { self.prompt_of(&asking.reader(), &shelved).await? } else { Vec::new() };
            prepared.push((shelved, by_words, messages));
        }
        let open: Vec<Arc<Stored>> = asking.lane.wanted(&asking.lane.open).into_iter().map(Arc::new).collect();
        let read = prepared.iter().map(|(shelved, by_words, messages)| {
            let task = ReadTopic { card: &shelved.card, messages, open: &open, by_words };
            async move { if messages.is_empty() { offline(&task) } else { self.in_time(&task).await } }
        });
        let answers = join_all(read).await;
        let shown_from = if asking.deep { SHOWN_DEEP } else { SHOWN_FROM };
        for ((shelved, _, _), answered) in prepared.into_iter().zip(answers) {
            consulted.calls.extend(answered.calls);
            let mut reading = answered.answer;
            // Views draw their quotes from what is recorded of a reading.
            reading.messages.retain(|id| !asking.lane.excluded().contains(id));
            if shelved.edition > 0 {
                consulted.scores.push((shelved.card.id, reading.relevance));
            }
            if reading.relevance >= shown_from {
                consulted.findings.push(self.finding(asking.sorting.session, asking.open, &shelved, reading).await?);
            }
        }
        Ok(())
    }

    /// What words alone find in a topic.
    async fn by_words_alone(&self, asking: &Asking<'_>, found: Option<&Found>) -> Result<Reading> {
        let Some(found) = found else { return Ok(Reading::default()) };
        if self.quotes(asking.lane) {
            return Ok(found.reading(Vec::new()));
        }
        let quoted: Vec<&Stored> = found.quoted(asking.deep).collect();
        let (session, head) = (asking.sorting.session, asking.lane.head);
        let turns = self.with_turns(session, head, &quoted, SHORT_TOKENS).await?;
        let folded = turns.iter().filter(|stored| stored.position().is_some_and(|at| at.depth < asking.open));
        Ok(found.reading(folded.map(|stored| stored.id).collect()))
    }

    /// A reading with the messages it names.
    pub(super) async fn finding(
        &self,
        session: &SessionKey,
        open: Depth,
        shelved: &Shelved,
        reading: Reading,
    ) -> Result<Finding> {
        let quoted = self.by_number(session, reading.messages.clone()).await?;
        let folded = quoted.into_iter().filter(|stored| stored.position().is_some_and(|at| at.depth < open));
        let quoted = Leaf::all(folded, &self.settings.strategies.holds);
        self.settle_all(session, &quoted).await?;
        Ok(Finding { card: shelved.card.clone(), edition: shelved.edition, reading, quoted })
    }

    /// Answers a task that a turn waits for: if the helper takes too long, offline.
    pub(super) async fn in_time<T: Task>(&self, task: &T) -> Answered<T::Answer> {
        self.tasks.run_within(task, Some(self.deadline())).await
    }

    pub(super) fn deadline(&self) -> Duration {
        Duration::from_millis(self.settings.strategies.topics.deadline_ms)
    }
}

pub(super) fn offline<T: Task>(task: &T) -> Answered<T::Answer> {
    Answered { answer: task.offline(), by: By::Offline(task::Why::NoHelper), calls: Vec::new() }
}

/// What stands for messages that are in no topic yet.
pub(super) fn loose(topic: TopicId) -> Shelved {
    let card = Card::empty(topic, "Not sorted yet".to_owned());
    Shelved { card: Arc::new(card), edition: 0, archived: false }
}

/// What the person asks: the words of the turn, with those before if they say nothing by themselves and are not left
/// out.
pub(in crate::engine) fn asked(lane: &Lane) -> String {
    let open = &lane.open;
    let mut text = newest(open);
    let counts = |leaf: &&Arc<Leaf>| leaf.begins_turn && !lane.excluded().contains(&leaf.stored.id);
    let before = open[..turns::last(open)].iter().rev().filter(counts);
    for leaf in before.take(2) {
        if telling(&text) >= FEW {
            break;
        }
        text = format!("{text}\n{}", words_of(leaf));
    }
    text
}

/// Whether the turn leans on what was said before: it asks, in few words, and tells next to nothing of what it is
/// about.
pub(in crate::engine) fn leans(lane: &Lane) -> bool {
    let text = newest(&lane.open);
    asking::asks(&text) && telling(&text) < BRIEF && asking::told(&text).map(telling).sum::<usize>() < TOLD
}

/// The person's newest words.
pub(super) fn newest(open: &[Arc<Leaf>]) -> String {
    open.get(turns::last(open)).map(words_of).unwrap_or_default()
}

fn words_of(leaf: &Arc<Leaf>) -> String {
    leaf.stored.message().to_text().chars().take(ASKED_CHARS).collect()
}

/// How much a text says: letters, and for those of a script without spaces three times as many.
fn telling(text: &str) -> usize {
    let weight = |c: char| if is_unspaced(c) { 3 } else { usize::from(c.is_alphanumeric()) };
    text.chars().map(weight).sum()
}

/// What the model is told when it is not clear which topic is meant.
fn remark(consulted: &Consulted) -> Option<String> {
    let ranked: Vec<(TopicId, f32)> =
        consulted.findings.iter().map(|finding| (finding.card.id, finding.reading.relevance)).collect();
    if !activation::is_ambiguous(&ranked) {
        return None;
    }
    let names: Vec<String> =
        consulted.findings.iter().take(NAMED).map(|finding| format!("“{}”", finding.card.name)).collect();
    Some(format!(
        "The person refers to something said earlier; it may be in {}. If the quotes do not settle which is meant, ask: do \
         you mean …?",
        names.join(" or ")
    ))
}
