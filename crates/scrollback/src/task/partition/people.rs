//! Who speaks, and to whom.

use std::collections::HashMap;

use super::Unit;
use crate::search::{folded, is_unspaced};

/// Names shorter than this are met in other words too often.
const SHORT_NAME_CHARS: usize = 3;
/// What may stand around a name.
const AROUND: [char; 14] = [':', ',', '.', '?', '!', ';', '(', ')', '"', '\'', '@', '：', '，', '。'];

/// A person by the order in which they first speak.
pub(super) type Person = usize;

/// Everyone who speaks.
#[derive(Default)]
pub(super) struct People {
    numbers: HashMap<String, Person>,
    /// Those whose name is written without spaces around it.
    unspaced: Vec<(String, Person)>,
}

impl People {
    /// Everyone who speaks in these units.
    pub(super) fn of(units: &[Unit]) -> Self {
        let mut people = Self::default();
        for unit in units {
            people.meet(unit);
        }
        people
    }

    /// Whoever speaks in a unit is there from now on.
    pub(super) fn meet(&mut self, unit: &Unit) {
        let Some(name) = unit.speaker.as_deref().map(folded) else { return };
        let next = self.numbers.len();
        self.numbers.entry(name.clone()).or_insert_with(|| {
            if name.contains(is_unspaced) {
                self.unspaced.push((name, next));
            }
            next
        });
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Who has this name.
    pub(super) fn number(&self, name: &str) -> Option<Person> {
        self.numbers.get(&folded(name)).copied()
    }

    /// Whom a folded text is addressed to by its beginning, if it names anyone there.
    pub(super) fn addressed(&self, text: &str) -> Option<Person> {
        let first = text.split_whitespace().next()?;
        let name = first.trim_start_matches('@').trim_end_matches(AROUND);
        let marked = first.starts_with('@') || first.ends_with([':', ',', '，', '：']);
        let spaced = self.numbers.get(name).filter(|_| marked || name.chars().count() > SHORT_NAME_CHARS);
        let begins =
            |name: &str| text.trim_start_matches('@').strip_prefix(name).is_some_and(|rest| rest.starts_with(AROUND));
        spaced.copied().or_else(|| self.unspaced.iter().find(|(name, _)| begins(name)).map(|(_, person)| *person))
    }

    /// Whom a folded text names.
    pub(super) fn mentioned(&self, text: &str) -> Vec<Person> {
        let words = text.split_whitespace().map(|word| word.trim_matches(AROUND));
        let long = words.filter(|word| word.chars().count() >= SHORT_NAME_CHARS);
        let spaced = long.filter_map(|word| self.numbers.get(word).copied());
        let unspaced = self.unspaced.iter().filter(|(name, _)| text.contains(name.as_str())).map(|(_, person)| *person);
        spaced.chain(unspaced).collect()
    }
}
