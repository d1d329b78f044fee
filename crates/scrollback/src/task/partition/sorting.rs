//! Goes through units in order and lets topics compete for each.

use std::collections::HashMap;

use super::index::Index;
use super::people::{People, Person};
use super::reading::{Reader, Readings, read};
use super::signals::{Signals, Talk};
use super::{Known, Unit};

/// How many units back topics are considered whatever their words.
const RECENT_UNITS: usize = 60;
/// How many topics are considered for their words.
pub(super) const BY_WORDS: usize = 6;

/// A topic while units are sorted.
#[derive(Default)]
pub(super) struct Topic {
    /// When it was last spoken of.
    pub(super) at: i64,
    /// Its last unit.
    pub(super) last: Option<usize>,
    /// The one before that.
    pub(super) earlier: Option<usize>,
    /// When each person last spoke there, by unit.
    pub(super) spoke: HashMap<Person, usize>,
    /// Who asked there last, while nobody else has spoken.
    pub(super) asked: Option<Person>,
}

/// What a person did last.
#[derive(Clone, Copy, Default)]
pub(super) struct Habit {
    /// The last unit of theirs, and its topic.
    pub(super) spoke: Option<(usize, usize)>,
    /// The last unit addressed to them, and its topic.
    pub(super) called: Option<(usize, usize)>,
    /// Whom they last addressed.
    pub(super) partner: Option<Person>,
}

/// Units that are being sorted.
pub(super) struct Sorting<'a> {
    pub(super) units: &'a [Unit],
    pub(super) readings: Readings,
    pub(super) talk: Talk,
    pub(super) topics: Vec<Topic>,
    pub(super) index: Index,
    pub(super) habits: Vec<Habit>,
    /// The topics of the units so far, and whether each is one that speaks.
    sorted: Vec<(usize, bool)>,
    /// The unit before, notices aside.
    pub(super) before: Option<usize>,
    /// How many in a row were of its topic.
    pub(super) run: u32,
    /// For each topic, what the words it shares with a unit weigh; all zero between units.
    pub(super) shared: Vec<f64>,
    /// The topics that share most with the unit, and how much.
    pub(super) leaders: Vec<(usize, f64)>,
}

/// A topic that competes.
pub(super) struct Rival {
    /// Which; the next number is a new one.
    pub(super) topic: usize,
    pub(super) signals: Signals,
}

impl<'a> Sorting<'a> {
    pub(super) fn new(units: &'a [Unit], known: &[Known]) -> Self {
        let people = People::of(units);
        let readings = read(units, known, &people);
        let mut sorting = Self {
            units,
            talk: talk(units),
            topics: Vec::new(),
            index: Index::new(readings.shares.len()),
            habits: vec![Habit::default(); people.count()],
            sorted: Vec::with_capacity(units.len()),
            before: None,
            run: 0,
            shared: Vec::new(),
            leaders: Vec::new(),
            readings,
        };
        for (known, reading) in known.iter().zip(std::mem::take(&mut sorting.readings.known)) {
            let topic = sorting.topics.len();
            sorting.topics.push(Topic { at: known.last.0, ..Topic::default() });
            sorting.index.learn(topic, &reading);
        }
        sorting
    }

    /// The topic of each unit, chosen before the next is known.
    pub(super) fn online(units: &'a [Unit]) -> Vec<usize> {
        let (mut reader, mut people) = (Reader::default(), People::default());
        let mut sorting = Self { units, ..Self::new(&[], &[]) };
        for (i, unit) in units.iter().enumerate() {
            people.meet(unit);
            reader.read(unit, &people, &mut sorting.readings);
            sorting.talk = talk(&units[..=i]);
            sorting.index.grow(sorting.readings.shares.len());
            sorting.habits.resize(people.count(), Habit::default());
            let topic = sorting.choose(i);
            sorting.take(i, topic);
        }
        sorting.topics_of_units()
    }

    /// The topic of each unit; known ones first, then new ones in the order of their first units.
    pub(super) fn run(mut self) -> Vec<usize> {
        for unit in 0..self.units.len() {
            let topic = self.choose(unit);
            self.take(unit, topic);
        }
        self.topics_of_units()
    }

    fn topics_of_units(self) -> Vec<usize> {
        self.sorted.into_iter().map(|(topic, _)| topic).collect()
    }

    /// The topic with the highest score; of equals, the first that was considered.
    fn choose(&mut self, unit: usize) -> usize {
        if self.is_notice(unit) {
            return self.topics.len();
        }
        let rivals = self.rivals(unit);
        let scored = rivals.into_iter().map(|rival| (rival.topic, rival.signals.worth(self.talk)));
        let best = scored.reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.map_or(self.topics.len(), |(topic, _)| topic)
    }

    pub(super) fn is_notice(&self, unit: usize) -> bool {
        self.talk == Talk::AmongSeveral && self.readings.units[unit].speaker.is_none()
    }

    /// Every topic that competes for a unit, a new one among them.
    pub(super) fn rivals(&mut self, unit: usize) -> Vec<Rival> {
        let touched = self.index.share(&self.readings, unit, &mut self.shared);
        let mut topics = self.recent();
        let by_words = self.by_words(&touched);
        self.leaders = by_words.iter().map(|&topic| (topic, self.shared[topic])).collect();
        topics.extend(by_words);
        topics.extend(self.by_people(unit));
        let mut seen = std::collections::HashSet::new();
        topics.retain(|topic| seen.insert(*topic));
        let mut rivals: Vec<Rival> = topics.iter().map(|&topic| self.old(unit, topic)).collect();
        rivals.push(Rival { topic: self.topics.len(), signals: self.fresh(unit) });
        for topic in touched {
            self.shared[topic] = 0.0;
        }
        rivals
    }

    /// The topics of the last units, newest first.
    fn recent(&self) -> Vec<usize> {
        let recent = self.sorted.iter().rev().take(RECENT_UNITS);
        recent.filter(|(_, speaks)| *speaks).map(|(topic, _)| *topic).collect()
    }

    /// The topics that share most.
    fn by_words(&self, touched: &[usize]) -> Vec<usize> {
        let mut best = touched.to_vec();
        best.sort_by(|&a, &b| self.shared[b].total_cmp(&self.shared[a]).then(a.cmp(&b)));
        best.dedup();
        best.truncate(BY_WORDS);
        best
    }

    /// The topics where those concerned spoke last.
    fn by_people(&self, unit: usize) -> Vec<usize> {
        let reading = &self.readings.units[unit];
        let people = reading.speaker.iter().chain(&reading.to).chain(&reading.mentions);
        let habits = people.flat_map(|&person| [self.habits[person].spoke, self.habits[person].called]);
        habits.flatten().map(|(_, topic)| topic).collect()
    }

    /// Puts a unit into a topic.
    pub(super) fn take(&mut self, unit: usize, number: usize) {
        if number == self.topics.len() {
            self.topics.push(Topic::default());
        }
        let speaks = !self.is_notice(unit);
        self.sorted.push((number, speaks));
        if !speaks {
            return;
        }
        let same = self.before.is_some_and(|before| self.sorted[before].0 == number);
        self.run = if same { self.run + 1 } else { 1 };
        self.before = Some(unit);
        let topic = &mut self.topics[number];
        topic.earlier = topic.last.replace(unit);
        topic.at = self.units[unit].at.0;
        self.index.learn(number, &self.readings.units[unit]);
        self.meet(unit, number);
    }

    /// Notes who spoke to whom.
    fn meet(&mut self, unit: usize, number: usize) {
        let reading = &self.readings.units[unit];
        let Some(speaker) = reading.speaker else { return };
        let topic = &mut self.topics[number];
        topic.spoke.insert(speaker, unit);
        if reading.asks && reading.to.is_none() {
            topic.asked = Some(speaker);
        } else if topic.asked.is_some_and(|asker| asker != speaker) {
            topic.asked = None;
        }
        self.habits[speaker].spoke = Some((unit, number));
        if let Some(to) = reading.to {
            self.habits[speaker].partner = Some(to);
        }
        for &person in reading.to.iter().chain(&reading.mentions) {
            self.habits[person].called = Some((unit, number));
        }
    }
}

fn talk(units: &[Unit]) -> Talk {
    let spoken = units.iter().filter(|unit| unit.speaker.is_some()).count();
    if 2 * spoken > units.len() { Talk::AmongSeveral } else { Talk::OfTwo }
}
