//! One place for each unit, whatever a model said.
//!
//! A unit goes where its first message went that the model placed. Units it forgot go where the offline answer puts
//! them: to the nearest unit of the model's that it puts them together with, otherwise to a topic of their own.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::partition::Unit;
use super::super::sentences::shortened;
use super::super::{Named, Task};
use super::numbers::Spans;
use super::sheet::{speaker, words};
use super::{NAME_CHARS, WriteBrief};
use crate::search::folded;
use crate::store::Stored;
use crate::topic::TopicId;

/// How much of an answer counts when its turn is sorted.
const ANSWER_CHARS: usize = 400;

/// How much room is left in a name to tell it from another.
const NUMBER_CHARS: usize = 6;

/// Where each unit belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sorted {
    /// One for each unit.
    pub places: Vec<Place>,
    /// The new topics, none of them empty.
    pub fresh: Vec<Named>,
}

/// Where a unit belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// To a topic that is there.
    Known(TopicId),
    /// To a new one, by its place among them.
    Fresh(usize),
}

/// Messages that a model puts together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) target: Target,
    pub(super) spans: Spans,
}

/// Where it puts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Known(TopicId),
    New { name: Option<String>, brief: Option<String> },
}

/// What there is to sort.
#[derive(Clone, Copy)]
pub(super) struct Talk<'a> {
    pub(super) messages: &'a [Arc<Stored>],
    pub(super) units: &'a [Range<usize>],
}

impl<'a> Talk<'a> {
    /// The messages of a unit.
    pub(super) fn unit(&self, unit: usize) -> &'a [Arc<Stored>] {
        self.units.get(unit).and_then(|range| self.messages.get(range.clone())).unwrap_or_default()
    }

    /// The units as words: the person's, and how the answer begins, because answers are long and hold a little of
    /// everything.
    pub(super) fn units(&self) -> Vec<Unit> {
        let unit = |unit: usize| {
            let messages = self.unit(unit);
            let (person, others) = words(messages);
            let at = messages.first().map(|stored| stored.at).unwrap_or_default();
            let text = person + &others.chars().take(ANSWER_CHARS).collect::<String>();
            Unit { text, speaker: messages.first().and_then(|stored| speaker(stored)), at }
        };
        (0..self.units.len()).map(unit).collect()
    }

    /// What units come to, in tokens, at least one.
    pub(super) fn tokens(&self, unit: usize) -> u64 {
        self.unit(unit).iter().map(|stored| u64::from(stored.measure.tokens)).sum::<u64>().max(1)
    }

    /// New topics for units with the same key, in the order of their first units; units without a key are elsewhere.
    pub(super) fn fresh<K: Hash + Eq>(&self, keys: &[Option<K>]) -> (Vec<Option<usize>>, Vec<Named>) {
        let mut numbers: HashMap<&K, usize> = HashMap::new();
        let mut groups: Vec<Vec<Arc<Stored>>> = Vec::new();
        let mut places = Vec::with_capacity(keys.len());
        for (unit, key) in keys.iter().enumerate() {
            places.push(key.as_ref().map(|key| {
                let number = *numbers.entry(key).or_insert(groups.len());
                groups.resize(groups.len().max(number + 1), Vec::new());
                groups[number].extend_from_slice(self.unit(unit));
                number
            }));
        }
        let name = |messages: &Vec<Arc<Stored>>| WriteBrief { card: None, messages }.offline();
        (places, groups.iter().map(name).collect())
    }

    /// What a model said, completed by the offline answer; nothing if it placed nothing.
    pub(super) fn sorted<P: AsRef<[Place]>>(&self, groups: &[Group], offline: impl FnOnce() -> P) -> Option<Sorted> {
        let told: Vec<Option<usize>> = (0..self.units.len()).map(|unit| self.told(unit, groups)).collect();
        told.iter().any(Option::is_some).then_some(())?;
        let told = alike(&told, groups);
        let keys = if told.contains(&None) {
            completed(&told, offline().as_ref())
        } else {
            told.into_iter().flatten().map(Key::Told).collect()
        };
        Some(self.placed(&keys, groups))
    }

    /// Topics for keys, called what the model calls them.
    fn placed(&self, keys: &[Key], groups: &[Group]) -> Sorted {
        let new: Vec<Option<Key>> =
            keys.iter().map(|key| Some(*key).filter(|key| key.known(groups).is_none())).collect();
        let (places, mut fresh) = self.fresh(&new);
        for (key, place) in new.iter().zip(&places) {
            if let (Some(Key::Told(group)), Some(place)) = (key, place) {
                called(&mut fresh[*place], &groups[*group].target);
            }
        }
        tell_apart(&mut fresh);
        let place = |(key, place): (&Key, Option<usize>)| match key.known(groups) {
            Some(topic) => Place::Known(topic),
            None => Place::Fresh(place.unwrap_or_default()),
        };
        Sorted { places: keys.iter().zip(places).map(place).collect(), fresh }
    }

    /// The group that has the first of a unit's messages that any group has.
    fn told(&self, unit: usize, groups: &[Group]) -> Option<usize> {
        let group = |stored: &Arc<Stored>| groups.iter().position(|group| group.spans.contains(stored.id));
        self.unit(unit).iter().find_map(group)
    }
}

/// Why a unit is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// The model's group.
    Told(usize),
    Offline(Place),
}

impl Key {
    /// The topic that is there already, if it leads to one.
    fn known(self, groups: &[Group]) -> Option<TopicId> {
        match self {
            Self::Told(group) => match groups[group].target {
                Target::Known(topic) => Some(topic),
                Target::New { .. } => None,
            },
            Self::Offline(Place::Known(topic)) => Some(topic),
            Self::Offline(Place::Fresh(_)) => None,
        }
    }
}

/// The same with groups that have the same target made one.
fn alike(told: &[Option<usize>], groups: &[Group]) -> Vec<Option<usize>> {
    let mut firsts: HashMap<(Option<TopicId>, String), usize> = HashMap::new();
    let first = |(number, group): (usize, &Group)| match &group.target {
        Target::Known(topic) => *firsts.entry((Some(*topic), String::new())).or_insert(number),
        Target::New { name: Some(name), .. } => *firsts.entry((None, folded(name))).or_insert(number),
        Target::New { name: None, .. } => number,
    };
    let firsts: Vec<usize> = groups.iter().enumerate().map(first).collect();
    told.iter().map(|group| group.map(|group| firsts[group])).collect()
}

/// A key for each unit: those the model forgot go with the nearest it placed that the offline answer puts together with
/// them.
fn completed(told: &[Option<usize>], offline: &[Place]) -> Vec<Key> {
    let mut placed: HashMap<Place, Vec<usize>> = HashMap::new();
    for (unit, place) in offline.iter().enumerate().filter(|(unit, _)| told.get(*unit).is_some_and(Option::is_some)) {
        placed.entry(*place).or_default().push(unit);
    }
    let nearest = |unit: usize, place: Place| {
        let with = placed.get(&place)?;
        let after = with.partition_point(|other| *other < unit);
        let around = with[..after].last().into_iter().chain(with.get(after));
        told[*around.min_by_key(|other| other.abs_diff(unit))?]
    };
    let key = |(unit, group): (usize, &Option<usize>)| {
        let place = offline.get(unit).copied().unwrap_or(Place::Fresh(0));
        group.or_else(|| nearest(unit, place)).map_or(Key::Offline(place), Key::Told)
    };
    told.iter().enumerate().map(key).collect()
}

/// Calls a topic what the model calls it, where it does.
fn called(named: &mut Named, target: &Target) {
    let Target::New { name, brief } = target else { return };
    if let Some(name) = name {
        named.name.clone_from(name);
    }
    if let Some(brief) = brief {
        named.brief.clone_from(brief);
    }
}

/// Numbers topics that have the same name.
pub(super) fn tell_apart(fresh: &mut [Named]) {
    let mut seen: HashSet<String> = HashSet::new();
    for named in fresh {
        let base = shortened(&named.name, NAME_CHARS - NUMBER_CHARS);
        let mut number = 2;
        while !seen.insert(folded(&named.name)) {
            named.name = format!("{base} ({number})");
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::spans;
    use super::super::testing::said;
    use super::*;
    use crate::ids::MessageId;

    const KNOWN: TopicId = TopicId(MessageId(7));

    fn group(target: Target, ids: &str) -> Group {
        Group { target, spans: spans(ids) }
    }

    fn new(name: &str) -> Target {
        Target::New { name: Some(name.into()), brief: None }
    }

    fn check(groups: &[Group], offline: &[usize], expected: &str) {
        let messages = said(&[
            ("user", "a?"),
            ("assistant", "b."),
            ("user", "c?"),
            ("assistant", "d."),
            ("user", "e?"),
            ("user", "f?"),
        ]);
        let talk = Talk { messages: &messages, units: &[0..2, 2..4, 4..5, 5..6] };
        let sorted = talk.sorted(groups, || offline.iter().map(|&number| Place::Fresh(number)).collect::<Vec<_>>());
        let told = |place: &Place, fresh: &[Named]| match place {
            Place::Known(topic) => topic.to_string(),
            Place::Fresh(number) => fresh[*number].name.clone(),
        };
        let told = sorted
            .map(|sorted| sorted.places.iter().map(|place| told(place, &sorted.fresh)).collect::<Vec<_>>().join(" "));
        assert_eq!(told.as_deref().unwrap_or("nothing"), expected);
    }

    #[test]
    fn units_are_never_parted_and_never_lost() {
        check(&[group(Target::Known(KNOWN), "m101"), group(new("New"), "m102 m103-m106")], &[0; 4], "t7 New New New");
        check(&[group(new("A"), "m104"), group(new("a"), "m101 m105 m106")], &[0; 4], "A A A A");
        check(&[group(new("A"), "m999")], &[0; 4], "nothing");
        check(&[], &[0; 4], "nothing");
    }

    #[test]
    fn forgotten_units_follow_the_offline_answer() {
        check(&[group(new("A"), "m101"), group(Target::Known(KNOWN), "m105")], &[0, 0, 1, 1], "A A t7 t7");
        check(&[group(new("A"), "m101")], &[0, 1, 1, 0], "A c? c? A");
        check(&[group(new("c?"), "m101")], &[0, 1, 2, 2], "c? c? (2) e? e?");
        check(&[group(new("A"), "m101")], &[], "A c? c? c?");
    }

    #[test]
    fn names_are_told_apart() {
        let long = "x".repeat(NAME_CHARS);
        let mut fresh: Vec<Named> = ["a", "A", "a (2)", &long, &long]
            .iter()
            .map(|name| Named { name: (*name).into(), ..Named::default() })
            .collect();
        tell_apart(&mut fresh);
        assert_eq!(fresh[1].name, "a (2)".replace('a', "A"));
        let all: HashSet<String> = fresh.iter().map(|named| folded(&named.name)).collect();
        assert_eq!(all.len(), 5);
        assert!(fresh.iter().all(|named| named.name.chars().count() <= NAME_CHARS));
    }
}
