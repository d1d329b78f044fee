//! Route: which topics a question is about, from their cards alone.

use super::super::prompt::render;
use super::super::sentences::excerpt;
use super::super::{Question, Task};
use super::numbers::degree;
use super::sheet::Sheet;
use super::tags::{self, Element, Shape, holding, line};
use crate::ids::At;
use crate::topic::{Card, TopicId};

const PROMPT: &str = include_str!("../../../prompts/topic_route.md");
static ELEMENTS: [Shape; 2] = [line("topic"), line("none")];
static SHAPE: Shape = holding("route", &ELEMENTS);
/// How much of the cards the helper is shown.
const CARDS_CHARS: usize = 200_000;
/// How much of the question.
const ASKED_CHARS: usize = 8_000;
/// A topic that is named without a word on how much it matters.
const UNSAID: f32 = 0.6;

/// Asks which topics a question is about.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// What is looked for: words, or the newest messages.
    pub asked: &'a str,
    /// The day on which it is looked for, by which last week can be told.
    pub today: At,
    /// The topics it may be about.
    pub cards: &'a [Card],
    /// What a search by words found, best first, for when there is no model.
    pub by_words: &'a [(TopicId, f32)],
}

impl Task for Route<'_> {
    type Answer = Vec<(TopicId, f32)>;

    const NAME: &'static str = "route";

    fn question(&self) -> Question {
        let mut sheet = Sheet::default();
        sheet.cards(self.cards.iter().map(|card| (card, "")), CARDS_CHARS);
        let today = if self.today.0 > 0 { format!("today=\"{}\"", self.today.day()) } else { String::new() };
        sheet.add("asked", today, excerpt(self.asked, ASKED_CHARS));
        Question {
            task: Self::NAME,
            instructions: render(PROMPT, &[]),
            text: sheet.text(),
            most_tokens: 1_500,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<Self::Answer, String> {
        tags::read(reply, &SHAPE, |route| {
            let mut found: Vec<(TopicId, f32)> = Vec::new();
            for (topic, relevance) in route.all("topic").filter_map(|topic| self.topic_in(topic)) {
                match found.iter_mut().find(|(known, _)| *known == topic) {
                    Some((_, known)) => *known = known.max(relevance),
                    None => found.push((topic, relevance)),
                }
            }
            let none = route.said("none").is_some() || !found.is_empty();
            found.retain(|(_, relevance)| *relevance > 0.0);
            found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            if none {
                Ok(found)
            } else {
                Err("there is neither a <topic> with an id of the list nor <none/>".to_owned())
            }
        })
    }

    fn offline(&self) -> Self::Answer {
        self.by_words.to_vec()
    }
}

impl Route<'_> {
    /// A topic of the list and how much it matters.
    fn topic_in(&self, topic: &Element) -> Option<(TopicId, f32)> {
        let id = topic.tells(&["id", "topic"]).or_else(|| topic.text.split_whitespace().next())?;
        let digits: String = id.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        let id: TopicId = digits.parse().ok()?;
        let relevance = topic.tells(&["relevance", "score"]).and_then(degree).unwrap_or(UNSAID);
        self.cards.iter().any(|card| card.id == id).then_some((id, relevance))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{card, mangled};
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"<route><topic id="t12" relevance="low">why</topic><topic relevance=0.95 id='t13'>it is</topic><topic id="t99" relevance="high"/></route>"#;

    fn read(reply: &str) -> Result<Vec<(u32, f32)>, String> {
        let cards = [card(12, "Linker", "Why builds fail."), card(13, "Tides", "")];
        let found = Route { asked: "tides?", today: At(0), cards: &cards, by_words: &[] }.read(reply)?;
        Ok(found.into_iter().map(|(topic, relevance)| (topic.0.0, relevance)).collect())
    }

    #[test]
    fn replies_are_read_best_first() {
        assert_eq!(read(GOOD).unwrap(), [(13, 0.95), (12, 0.3)]);
        assert_eq!(read("<topic id=12><topic id=12 relevance=高>").unwrap(), [(12, 0.9)]);
        assert_eq!(read(r#"{"route": [{"id": "t13", "relevance": "40%"}]}"#).unwrap(), [(13, 0.4)]);
        for none in [
            "<none/>",
            "<route><none></none></route>",
            "<route><none>new</route>",
            "<topic id=t12 relevance=none>",
            r#"{"none": true}"#,
        ] {
            assert_eq!(read(none).unwrap(), [], "{none}");
        }
        for nonsense in ["<topic id=t99 relevance=high>", "<route></route>", "Nothing."] {
            assert!(read(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn a_thousand_cards_are_one_bounded_question() {
        let brief = "What the gauge says at noon. ".repeat(40);
        let cards: Vec<Card> = (0..1_000).map(|number| card(number, "Gauge", &brief)).collect();
        let by_words = [(cards[3].id, 0.5)];
        let route = Route {
            asked: "When is noon?",
            today: At::parse("2026-11-17T09:30:00Z").unwrap(),
            cards: &cards,
            by_words: &by_words,
        };
        let text = route.question().text;
        assert!(text.contains(" today=\"2026-11-17\">"));
        assert!(text.len() < CARDS_CHARS * 2 && text.contains("When is noon?") && text.contains("id=\"t999\""));
        assert_eq!(route.offline(), by_words);
    }

    proptest! {
        #[test]
        fn only_topics_of_the_list_are_found(reply in mangled(GOOD)) {
            for (topic, relevance) in read(&reply).unwrap_or_default() {
                prop_assert!([12, 13].contains(&topic) && (0.0..=1.0).contains(&relevance));
            }
        }
    }
}
