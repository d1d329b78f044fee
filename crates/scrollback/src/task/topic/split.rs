//! Split: each unit of what was said goes to a topic that is there, awake or asleep, or to a new one.
//!
//! A question and its answer are one unit and stay together. Topics a model names that are not there are new ones; what
//! it forgets is sorted offline (`placing`), by words, time and who speaks (`partition`).

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::partition::{Choice, Known, partition};
use super::super::prompt::render;
use super::super::{Question, Task};
use super::brief::{brief_in, name_in};
use super::numbers::spans;
use super::placing::{Group, Place, Sorted, Talk, Target, tell_apart};
use super::sheet::Sheet;
use super::tags::{self, Element, Shape, holding, line, prose};
use super::{BRIEF_CHARS, NAME_CHARS};
use crate::search::folded;
use crate::store::Stored;
use crate::topic::{Card, TopicId};

const PROMPT: &str = include_str!("../../../prompts/topic_split.md");
static ELEMENTS: [Shape; 3] = [line("messages"), line("name"), prose("brief")];
static TOPICS: [Shape; 1] = [holding("topic", &ELEMENTS)];
/// How topics are told apart in a reply.
pub(super) static SHAPE: Shape = holding("split", &TOPICS);
/// How much of the messages the helper is shown.
const QUESTION_CHARS: usize = 160_000;
/// How much of the topics that are there.
const CARDS_CHARS: usize = 40_000;

/// Asks where messages belong.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    /// The messages to be sorted.
    pub messages: &'a [Arc<Stored>],
    /// Ranges of them that may not be parted: a question, its calls and results, its answer.
    pub units: &'a [Range<usize>],
    /// The topics that are there.
    pub known: &'a [(Card, Standing)],
}

/// Whether a topic is asked every turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is.
    Active,
    /// It sleeps, and a message wakes it.
    Dormant,
}

impl Task for Split<'_> {
    type Answer = Sorted;

    const NAME: &'static str = "split";

    fn question(&self) -> Question {
        let mut sheet = Sheet::default();
        let standing = |standing: Standing| match standing {
            Standing::Active => "state=\"active\"",
            Standing::Dormant => "state=\"dormant\"",
        };
        sheet.cards(self.known.iter().map(|(card, is)| (card, standing(*is))), CARDS_CHARS);
        sheet.messages(self.messages, QUESTION_CHARS);
        Question {
            task: Self::NAME,
            instructions: render(PROMPT, &[("name_chars", NAME_CHARS), ("brief_chars", BRIEF_CHARS)]),
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
        tags::read(reply, &SHAPE, |split| {
            let groups: Vec<Group> = split.all("topic").filter_map(|topic| self.group(topic)).collect();
            let sorted = self.talk().sorted(&groups, || offline.get_or_init(|| self.chosen()));
            sorted.ok_or_else(|| nothing_placed(self.messages))
        })
    }

    fn offline(&self) -> Sorted {
        let chosen = self.chosen();
        let new = |place: &Place| match place {
            Place::Known(_) => None,
            Place::Fresh(number) => Some(*number),
        };
        let (places, mut fresh) = self.talk().fresh(&chosen.iter().map(new).collect::<Vec<_>>());
        tell_apart(&mut fresh);
        let place = |(place, fresh): (&Place, Option<usize>)| fresh.map_or(*place, Place::Fresh);
        Sorted { places: chosen.iter().zip(places).map(place).collect(), fresh }
    }
}

impl<'a> Split<'a> {
    fn talk(&self) -> Talk<'a> {
        Talk { messages: self.messages, units: self.units }
    }

    /// The place of each unit by its words; new topics have any number.
    fn chosen(&self) -> Vec<Place> {
        let known =
            |(card, _): &(Card, Standing)| Known { text: format!("{}\n{}", card.name, card.brief), last: card.last };
        let known: Vec<Known> = self.known.iter().map(known).collect();
        let mut choices = partition(&self.talk().units(), &known);
        choices.resize(self.units.len(), Choice::Fresh(0));
        let place = |choice: Choice| match choice {
            Choice::Known(number) => {
                self.known.get(number).map_or(Place::Fresh(usize::MAX), |(card, _)| Place::Known(card.id))
            }
            Choice::Fresh(number) => Place::Fresh(number),
        };
        choices.into_iter().map(place).collect()
    }

    /// What a model puts together, if it says where.
    fn group(&self, topic: &Element) -> Option<Group> {
        let named = named_group(topic);
        let by_id = topic.tells(&["id", "topic"]).and_then(|id| self.known_as(id));
        let by_name = || {
            named.as_ref().and_then(|group| match &group.target {
                Target::New { name: Some(name), .. } => self.known_by(name),
                Target::New { name: None, .. } | Target::Known(_) => None,
            })
        };
        match by_id.or_else(by_name) {
            Some(known) => Some(Group { target: Target::Known(known), spans: ids(topic) }),
            None => named,
        }
    }

    fn known_as(&self, id: &str) -> Option<TopicId> {
        let known = |topic: &TopicId| self.known.iter().any(|(card, _)| card.id == *topic);
        let written = id
            .trim_matches(|c: char| !c.is_alphanumeric())
            .trim_start_matches("topic")
            .trim_start_matches(['-', '_', ' ']);
        written.parse().ok().filter(known).or_else(|| self.known_by(id))
    }

    fn known_by(&self, name: &str) -> Option<TopicId> {
        let name = folded(name.trim());
        self.known.iter().find(|(card, _)| folded(card.name.trim()) == name).map(|(card, _)| card.id)
    }
}

/// What a model puts together under a new name; nothing if it does not say that it is new.
pub(super) fn named_group(topic: &Element) -> Option<Group> {
    let (name, brief) = (name_in(topic), brief_in(topic));
    let is_new = name.is_some() || brief.is_some() || topic.said("new").is_some();
    is_new.then(|| Group { target: Target::New { name, brief }, spans: ids(topic) })
}

fn ids(topic: &Element) -> super::numbers::Spans {
    spans(&format!("{}\n{}", topic.text, topic.said("messages").unwrap_or_default()))
}

/// The complaint about a reply that puts no message anywhere.
pub(super) fn nothing_placed(messages: &[Arc<Stored>]) -> String {
    let ids: Vec<String> = messages.iter().take(4).map(|stored| stored.id.to_string()).collect();
    format!("no <topic> with an id of the list or with new=\"…\" holds any of the messages ({} …)", ids.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{card, mangled, said};
    use super::*;
    use proptest::prelude::*;

    const TALK: [(&str, &str); 6] = [
        ("user", "When do I feed the sourdough starter?"),
        ("assistant", "Every morning."),
        ("user", "Why does the linker fail?"),
        ("assistant", "A symbol is missing: tide_gauge."),
        ("user", "And the sourdough in winter?"),
        ("assistant", "Feed the sourdough twice a week."),
    ];
    const UNITS: [Range<usize>; 3] = [0..2, 2..4, 4..6];
    const GOOD: &str = r#"<split><topic id="t12">m103 m104</topic><topic new="Sourdough schedule">m101, m102 m105-m106<brief>When to feed `<topic>` starters.</brief></topic></split>"#;

    fn with<T>(read: impl FnOnce(Split<'_>) -> T) -> T {
        let known =
            [(card(12, "Linker", "Why builds fail."), Standing::Active), (card(13, "Tides", ""), Standing::Dormant)];
        read(Split { messages: &said(&TALK), units: &UNITS, known: &known })
    }

    fn places(reply: &str) -> Result<String, String> {
        with(|split| split.read(reply)).map(|sorted| {
            let told = |place: &Place| match place {
                Place::Known(topic) => topic.to_string(),
                Place::Fresh(number) => sorted.fresh[*number].name.clone(),
            };
            sorted.places.iter().map(told).collect::<Vec<_>>().join("|")
        })
    }

    #[test]
    fn replies_are_read() {
        let sorted = with(|split| split.read(GOOD)).unwrap();
        assert_eq!(sorted.places, [Place::Fresh(0), Place::Known(TopicId(crate::ids::MessageId(12))), Place::Fresh(0)]);
        assert_eq!(sorted.fresh[0].brief, "When to feed `<topic>` starters.");
        for reply in [
            "<topic id=12>[m103]</topic><topic name='Bread' new>m101-102, msg 105",
            r#"{"split": {"topics": [{"id": "t12", "messages": ["m103"]}, {"new": "Bread", "messages": "m101 m105"}]}}"#,
            "<SPLIT><TOPIC ID=\"topic-12\"><MESSAGES>103</MESSAGES></TOPIC><TOPIC ID=\"t99\" NAME=\"Bread\">m101 m105</TOPIC></SPLIT>",
            "<topic new=linker>m104</topic><topic id='new' name='Bread'>m101 m105",
        ] {
            assert_eq!(places(reply).as_deref(), Ok("Bread|t12|Bread"), "{reply}");
        }
    }

    #[test]
    fn nonsense_is_complained_about() {
        for reply in [
            "<split></split>",
            "<topic id=t99>m101</topic>",
            "<topic new=A>m999</topic>",
            "<split><topic id=t12></topic>",
        ] {
            assert!(places(reply).unwrap_err().contains("m101 m102"), "{reply}");
        }
        assert!(places("No.").unwrap_err().contains("<split>"));
    }

    #[test]
    fn every_unit_has_a_place_offline() {
        let sorted = with(|split| split.offline());
        assert_eq!(sorted.places.len(), 3);
        assert!(!sorted.fresh.is_empty() && sorted.fresh[0].name.contains("sourdough"), "{sorted:?}");
        let empty = Split { messages: &[], units: &[], known: &[] };
        assert_eq!((empty.offline(), empty.read("")), (Sorted::default(), Ok(Sorted::default())));
    }

    #[test]
    fn the_question_shows_topics_and_messages() {
        let question = with(|split| split.question());
        assert!(
            question.text.contains("id=\"t13\" state=\"dormant\"")
                && question.text.contains("id=\"m106\" role=\"assistant\"")
        );
        assert!(!question.instructions.contains("{{"));
    }

    proptest! {
        #[test]
        fn no_reply_loses_a_unit(reply in mangled(GOOD)) {
            with(|split| {
                let Ok(sorted) = split.read(&reply) else { return Ok(()) };
                prop_assert_eq!(sorted.places.len(), UNITS.len());
                for place in &sorted.places {
                    match place {
                        Place::Known(topic) => prop_assert!(split.known.iter().any(|(card, _)| card.id == *topic)),
                        Place::Fresh(number) => prop_assert!(*number < sorted.fresh.len()),
                    }
                }
                for number in 0..sorted.fresh.len() {
                    prop_assert!(sorted.places.contains(&Place::Fresh(number)), "an empty topic");
                }
                Ok(())
            })?;
        }
    }
}
