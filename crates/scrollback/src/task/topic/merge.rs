//! Merge: whether two topics are about the same thing, and what both are called then.
//!
//! Offline, their names and briefs have to share most of their words; in doubt they stay apart.

use std::collections::HashMap;

use super::super::alike::cosine;
use super::super::prompt::render;
use super::super::sentences::{brief, joined, shortened};
use super::super::summary::{facts, misses};
use super::super::{Question, Task};
use super::brief::{Named, brief_in, name_in, unsaid};
use super::numbers::affirmed;
use super::sheet::Sheet;
use super::tags::{self, Shape, holding, line, prose};
use super::{BRIEF_CHARS, NAME_CHARS};
use crate::quote::keys;
use crate::topic::Card;

const PROMPT: &str = include_str!("../../../prompts/topic_merge.md");
static ELEMENTS: [Shape; 4] = [line("same"), line("none"), line("name"), prose("brief")];
static SHAPE: Shape = holding("merge", &ELEMENTS);
/// What a word of a name weighs; one of a brief weighs 1.
const NAME_WEIGHT: f32 = 3.0;
/// How alike two topics are that are one.
const ALIKE: f32 = 0.6;
/// How alike they are if they have the same name.
const ALIKE_IF_NAMESAKES: f32 = 0.35;

/// Asks whether two topics are one.
#[derive(Clone, Copy, Debug)]
pub struct Merge<'a> {
    /// One topic.
    pub one: &'a Card,
    /// Another.
    pub other: &'a Card,
}

impl Task for Merge<'_> {
    type Answer = Option<Named>;

    const NAME: &'static str = "merge";

    fn question(&self) -> Question {
        let mut sheet = Sheet::default();
        sheet.cards([self.one, self.other].into_iter().map(|card| (card, "")), 4 * BRIEF_CHARS);
        let instructions = render(PROMPT, &[("name_chars", NAME_CHARS), ("brief_chars", BRIEF_CHARS)]);
        Question { task: Self::NAME, instructions, text: sheet.text(), most_tokens: 1_500, ..Question::default() }
    }

    fn read(&self, reply: &str) -> Result<Self::Answer, String> {
        tags::read(reply, &SHAPE, |merge| {
            let same = merge.tells(&["same"]).and_then(affirmed);
            if same == Some(false) || same.is_none() && merge.said("none").is_some() {
                return Ok(None);
            }
            let (name, brief) = (name_in(merge), brief_in(merge).filter(|told| !self.drops(told)));
            if same.is_none() && brief.is_none() {
                return Err("there is neither <none/> nor a <brief> of what both are about".to_owned());
            }
            let ours = self.merged();
            Ok(Some(Named { name: name.unwrap_or(ours.name), brief: brief.unwrap_or(ours.brief) }))
        })
    }

    fn offline(&self) -> Self::Answer {
        let (one, other) = (weights(self.one), weights(self.other));
        let namesakes = keys(&self.one.name) == keys(&self.other.name);
        let least = if namesakes { ALIKE_IF_NAMESAKES } else { ALIKE };
        (cosine(&one, &other) >= least).then(|| self.merged())
    }
}

impl Merge<'_> {
    /// Whether a brief drops most of what those of both tell.
    fn drops(&self, told: &str) -> bool {
        misses(&facts(&format!("{}\n{}", self.one.brief, self.other.brief)), told)
    }

    /// Both as one: the name of the larger, and the best of both briefs.
    fn merged(&self) -> Named {
        let (large, small) =
            if self.one.messages >= self.other.messages { (self.one, self.other) } else { (self.other, self.one) };
        let name = [large, small].into_iter().find(|card| !card.name.trim().is_empty()).unwrap_or(large);
        let more = brief(&unsaid(&small.brief, &large.brief), BRIEF_CHARS / 2);
        let first = brief(&large.brief, BRIEF_CHARS - more.chars().count().saturating_add(3));
        let both = joined([first, more].iter().filter(|piece| !piece.is_empty()));
        Named { name: shortened(&name.name, NAME_CHARS), brief: shortened(&both, BRIEF_CHARS) }
    }
}

/// The words of a card that can tell anything, and what they weigh.
fn weights(card: &Card) -> HashMap<String, f32> {
    let mut all: HashMap<String, f32> = keys(&card.brief).into_iter().map(|key| (key, 1.0)).collect();
    all.extend(keys(&card.name).into_iter().map(|key| (key, NAME_WEIGHT)));
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::{card, mangled};
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str =
        "<merge><same>yes</same><name>Sourdough</name><brief>Starters and when to feed them.</brief></merge>";

    fn cards() -> [Card; 4] {
        [
            card(1, "Sourdough starter", "When to feed the rye starter. It is kept in the fridge."),
            card(2, "Feeding the sourdough starter", "The rye starter is fed on Fridays. It is kept in the fridge."),
            card(3, "Linker errors", "Why the build of the tide gauge fails. It is kept in the log."),
            card(4, "Sourdough bread for the fair", "How many loaves Ann sells at the fair in May, and their price."),
        ]
    }

    fn read(reply: &str) -> Result<Option<Named>, String> {
        let [one, other, ..] = cards();
        Merge { one: &one, other: &other }.read(reply)
    }

    #[test]
    fn replies_are_read() {
        assert_eq!(read(GOOD).unwrap().unwrap().name, "Sourdough");
        assert_eq!(read(r#"<merge same="yes"/>"#).unwrap().unwrap().name, "Sourdough starter");
        for no in
            ["<none/>", "<merge><same>No, they differ</same></merge>", r#"{"same": false}"#, "<merge><none/></merge>"]
        {
            assert_eq!(read(no), Ok(None), "{no}");
        }
        assert!(read("<merge></merge>").unwrap_err().contains("<none/>"));
        assert!(read("Perhaps.").is_err());
    }

    #[test]
    fn no_reply_drops_the_briefs_of_both() {
        let one = card(1, "Gauges", "HB-22 is asked once a minute, on port 4800.");
        let other = card(2, "The gauge", "Ann Lee knows tide_gauge_7, as docs/tides.md says.");
        let read = |reply: &str| Merge { one: &one, other: &other }.read(reply);
        let kept = read("<merge><same>yes</same><brief>Sure, happy to help!</brief></merge>").unwrap().unwrap().brief;
        assert!(kept.contains("port 4800") && kept.contains("tide_gauge_7"), "{kept}");
        assert!(read("<merge><brief>Sure, happy to help!</brief></merge>").unwrap_err().contains("<brief>"));
        let whole = "HB-22 on port 4800 and tide_gauge_7, by Ann Lee.";
        assert_eq!(read(&format!("<merge><brief>{whole}</brief></merge>")).unwrap().unwrap().brief, whole);
    }

    #[test]
    fn offline_only_what_is_the_same_is_merged() {
        let [one, other, linker, fair] = cards();
        let merged = Merge { one: &one, other: &other }.offline().unwrap();
        assert_eq!(merged.name, "Sourdough starter");
        assert!(merged.brief.contains("When to feed") && merged.brief.contains("Fridays"), "{merged:?}");
        assert_eq!(merged.brief.matches("fridge").count(), 1);
        for apart in [&linker, &fair] {
            assert_eq!(Merge { one: &one, other: apart }.offline(), None, "{}", apart.name);
        }
        let chinese = [
            card(5, "酸面团酵头", "冰箱里的黑麦酵头什么时候喂。"),
            card(6, "酸面团酵头喂养", "黑麦酵头每周五喂，放在冰箱里。"),
            card(7, "链接错误", "潮位计的构建为什么失败。"),
        ];
        assert!(Merge { one: &chinese[0], other: &chinese[1] }.offline().is_some());
        assert!(Merge { one: &chinese[0], other: &chinese[2] }.offline().is_none());
        assert_eq!(Merge { one: &card(8, "", ""), other: &card(9, "", "") }.offline(), None);
    }

    proptest! {
        #[test]
        fn names_and_briefs_are_bounded(reply in mangled(GOOD)) {
            if let Ok(Some(named)) = read(&reply) {
                prop_assert!(named.name.chars().count() <= NAME_CHARS && named.brief.chars().count() <= BRIEF_CHARS);
                prop_assert!(!named.name.is_empty() && !named.brief.is_empty());
            }
        }
    }
}
