//! Subdivide: a topic that grew too large becomes several, each a part of it.
//!
//! A reply that leaves nearly everything together is nonsense: it would be asked again next turn. Offline it is always
//! divided (`dividing`).

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::super::prompt::render;
use super::super::{Question, Task};
use super::dividing::{MOST_GROUPS, divided, fault};
use super::placing::{Group, Place, Sorted, Talk, tell_apart};
use super::sheet::Sheet;
use super::split::{SHAPE, named_group, nothing_placed};
use super::tags;
use super::{BRIEF_CHARS, NAME_CHARS};
use crate::store::Stored;
use crate::topic::Card;

const PROMPT: &str = include_str!("../../../prompts/topic_subdivide.md");
/// How much of the messages the helper is shown.
const QUESTION_CHARS: usize = 160_000;

/// Asks how to divide a topic.
#[derive(Clone, Copy, Debug)]
pub struct Subdivide<'a> {
    /// The topic.
    pub card: &'a Card,
    /// Its messages.
    pub messages: &'a [Arc<Stored>],
    /// Ranges of them that may not be parted.
    pub units: &'a [Range<usize>],
}

impl Task for Subdivide<'_> {
    type Answer = Sorted;

    const NAME: &'static str = "subdivide";

    fn question(&self) -> Question {
        let mut sheet = Sheet::default();
        sheet.cards(std::iter::once((self.card, "")), BRIEF_CHARS);
        sheet.messages(self.messages, QUESTION_CHARS);
        let values = [("name_chars", NAME_CHARS), ("brief_chars", BRIEF_CHARS), ("most", MOST_GROUPS)];
        Question {
            task: Self::NAME,
            instructions: render(PROMPT, &values),
            text: sheet.text(),
            most_tokens: 6_000,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<Sorted, String> {
        if self.units.is_empty() {
            return Ok(Sorted::default());
        }
        let offline = OnceCell::new();
        let divided = || divided(self.talk()).into_iter().map(Place::Fresh).collect::<Vec<_>>();
        tags::read(reply, &SHAPE, |split| {
            let groups: Vec<Group> = split.all("topic").filter_map(named_group).collect();
            let sorted = self.talk().sorted(&groups, || offline.get_or_init(divided));
            let sorted = sorted.ok_or_else(|| nothing_placed(self.messages))?;
            match fault(self.talk(), &numbers(&sorted.places)) {
                Some(fault) => Err(fault),
                None => Ok(sorted),
            }
        })
    }

    fn offline(&self) -> Sorted {
        let groups: Vec<Option<usize>> = divided(self.talk()).into_iter().map(Some).collect();
        let (places, mut fresh) = self.talk().fresh(&groups);
        tell_apart(&mut fresh);
        Sorted { places: places.into_iter().map(|place| Place::Fresh(place.unwrap_or_default())).collect(), fresh }
    }
}

impl<'a> Subdivide<'a> {
    fn talk(&self) -> Talk<'a> {
        Talk { messages: self.messages, units: self.units }
    }
}

fn numbers(places: &[Place]) -> Vec<usize> {
    let number = |place: &Place| match place {
        Place::Fresh(number) => *number,
        Place::Known(_) => 0,
    };
    places.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{card, mangled, said};
    use super::*;
    use proptest::prelude::*;

    const TALK: [(&str, &str); 6] = [
        ("user", "When do I feed the starter?"),
        ("assistant", "Every morning."),
        ("user", "Which flour is best for the crust?"),
        ("assistant", "Rye, with a little spelt."),
        ("user", "And the starter in winter?"),
        ("assistant", "Feed it twice a week."),
    ];
    const UNITS: [Range<usize>; 3] = [0..2, 2..4, 4..6];
    const GOOD: &str = r#"<split><topic new="Feeding">m101 m102 m105</topic><topic new="Flour">m103-m104<brief>Rye.</brief></topic></split>"#;

    fn read(reply: &str) -> Result<Sorted, String> {
        Subdivide { card: &card(101, "Bread", ""), messages: &said(&TALK), units: &UNITS }.read(reply)
    }

    #[test]
    fn replies_are_read() {
        let sorted = read(GOOD).unwrap();
        assert_eq!(sorted.places, [Place::Fresh(0), Place::Fresh(1), Place::Fresh(0)]);
        assert_eq!((sorted.fresh[0].name.as_str(), sorted.fresh[1].brief.as_str()), ("Feeding", "Rye."));
        assert!(sorted.fresh[0].brief.contains("starter"));
    }

    #[test]
    fn what_does_not_divide_is_nonsense() {
        assert!(read("<topic new=All>m101-m106").unwrap_err().contains("two"));
        assert!(read("<split></split>").unwrap_err().contains("m101"));
    }

    #[test]
    fn offline_it_is_always_divided() {
        for count in 0..=UNITS.len() {
            let messages = said(&TALK[..2 * count]);
            let sorted =
                Subdivide { card: &card(101, "Bread", ""), messages: &messages, units: &UNITS[..count] }.offline();
            assert_eq!(sorted.places.len(), count);
            assert!(sorted.fresh.len() >= count.min(2), "{sorted:?}");
        }
    }

    proptest! {
        #[test]
        fn no_reply_loses_a_unit(reply in mangled(GOOD)) {
            if let Ok(sorted) = read(&reply) {
                prop_assert_eq!(sorted.places.len(), UNITS.len());
                prop_assert!((2..=3).contains(&sorted.fresh.len()));
                prop_assert!(numbers(&sorted.places).iter().all(|number| *number < sorted.fresh.len()));
            }
        }
    }
}
