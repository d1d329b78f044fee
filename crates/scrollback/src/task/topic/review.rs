//! Review: what a topic comes to, how much it matters in the long run, and whether it was a question for once.
//!
//! Offline, the summary quotes, and what counts is how long and how often it was spoken of and how much was settled in
//! it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::prompt::render;
use super::super::sentences::brief;
use super::super::{Question, Task};
use super::brief::{WriteBrief, brief_in, quoted, unsaid};
use super::numbers::{affirmed, degree};
use super::read::summary_in;
use super::sheet::{Sheet, words};
use super::tags::{self, Shape, holding, line, prose};
use super::{BRIEF_CHARS, SUMMARY_CHARS};
use crate::store::Stored;
use crate::topic::Card;

const PROMPT: &str = include_str!("../../../prompts/topic_review.md");
static ELEMENTS: [Shape; 4] = [prose("summary"), prose("brief"), line("importance"), line("once")];
static SHAPE: Shape = holding("review", &ELEMENTS);
/// How much of the messages the helper is shown.
const QUESTION_CHARS: usize = 60_000;
/// After so many questions a topic is half as important as by number it can be.
const TURNS: f32 = 6.0;
/// The same of its size.
const TOKENS: f32 = 6_000.0;
/// The same of the days between its first and its last message.
const DAYS: f32 = 3.0;
/// A topic of more tokens than this is no question for once.
const ONCE_TOKENS: u32 = 1_500;
/// Nor is one of more messages.
const ONCE_MESSAGES: u32 = 4;
const MICROSECONDS_A_DAY: f32 = 86_400e6;
/// Words by which something is settled that lasts.
const SETTLED: [&str; 26] = [
    "decid",
    "agreed",
    "must",
    "never",
    "always",
    "deadline",
    "remember",
    "prefer",
    "from now on",
    "we will",
    "i will",
    "plan",
    "promise",
    "决定",
    "必须",
    "不要",
    "记住",
    "截止",
    "总是",
    "以后",
    "计划",
    "约定",
    "偏好",
    "同意",
    "打算",
    "务必",
];

/// Asks what a topic comes to.
#[derive(Clone, Copy, Debug)]
pub struct Review<'a> {
    /// The topic.
    pub card: &'a Card,
    /// Its messages, of a long topic only the newest.
    pub messages: &'a [Arc<Stored>],
}

/// What a topic comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reviewed {
    /// What was said, at most 2,000 characters.
    pub summary: String,
    /// What tells whether it matters.
    pub brief: String,
    /// How much it will matter, from 0 to 1.
    pub importance: f32,
    /// Whether it was a question and its answer that nobody needs again.
    pub once: bool,
}

impl Task for Review<'_> {
    type Answer = Reviewed;

    const NAME: &'static str = "review";

    fn question(&self) -> Question {
        let mut sheet = Sheet::default();
        sheet.cards(std::iter::once((self.card, "")), BRIEF_CHARS);
        sheet.messages(self.messages, QUESTION_CHARS);
        Question {
            task: Self::NAME,
            instructions: render(PROMPT, &[("summary_chars", SUMMARY_CHARS), ("brief_chars", BRIEF_CHARS)]),
            text: sheet.text(),
            most_tokens: 2_500,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<Reviewed, String> {
        tags::read(reply, &SHAPE, |review| {
            let summary = summary_in(review);
            if summary.is_empty() {
                return Err("<summary> is missing or empty".to_owned());
            }
            let brief = match brief_in(review) {
                Some(told) => WriteBrief { card: Some(self.card), messages: self.messages }.kept("", told)?,
                None => self.brief(),
            };
            Ok(Reviewed {
                summary,
                brief,
                importance: review.tells(&["importance"]).and_then(degree).unwrap_or_else(|| self.importance()),
                once: review.tells(&["once"]).and_then(affirmed).unwrap_or_else(|| self.is_once()),
            })
        })
    }

    fn offline(&self) -> Reviewed {
        let (person, others) = words(self.messages);
        let (mine, theirs) = quoted(&unsaid(&person, ""), &unsaid(&others, ""), SUMMARY_CHARS);
        let summary = [mine, theirs].iter().filter(|piece| !piece.is_empty()).cloned().collect::<Vec<_>>().join("\n");
        Reviewed { summary, brief: self.brief(), importance: self.importance(), once: self.is_once() }
    }
}

impl Review<'_> {
    /// The brief it has, otherwise one of its messages.
    fn brief(&self) -> String {
        let old = brief(&self.card.brief, BRIEF_CHARS);
        if old.is_empty() { WriteBrief { card: None, messages: self.messages }.offline().brief } else { old }
    }

    /// How many questions there are in what is shown.
    fn turns(&self) -> usize {
        self.messages.iter().filter(|stored| stored.begins_turn()).count()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and days are small, and no digit of them matters")]
    fn importance(&self) -> f32 {
        let half = |value: f32, at: f32| value.max(0.0) / (value.max(0.0) + at);
        let shown = self.messages.len().max(1) as f32;
        let turns = self.turns() as f32 * (self.card.messages as f32 / shown).max(1.0);
        let days = self.card.last.0.saturating_sub(self.card.first.0) as f32 / MICROSECONDS_A_DAY;
        let settled = self.settled() as f32 / shown;
        let weight = 0.35 * half(turns - 1.0, TURNS)
            + 0.2 * half(self.card.tokens as f32, TOKENS)
            + 0.2 * half(days, DAYS)
            + 0.25 * half(settled, 0.5);
        weight.clamp(0.0, 1.0)
    }

    /// In how many messages something is settled, or there are numbers and names of things.
    fn settled(&self) -> usize {
        let settles = |stored: &&Arc<Stored>| {
            let (person, others) = words(std::slice::from_ref(*stored));
            let lower = (person + &others).to_lowercase();
            SETTLED.iter().any(|word| lower.contains(word)) || lower.chars().filter(char::is_ascii_digit).count() > 3
        };
        self.messages.iter().filter(settles).count()
    }

    /// One short question and its answer in which nothing was settled.
    fn is_once(&self) -> bool {
        let (person, _) = words(self.messages);
        let lower = person.to_lowercase();
        let small = self.card.messages <= ONCE_MESSAGES && self.card.tokens <= ONCE_TOKENS;
        small && self.turns() <= 1 && !SETTLED.iter().any(|word| lower.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{card, mangled, said};
    use super::*;
    use crate::ids::At;
    use proptest::prelude::*;

    const GOOD: &str = "<review><summary>Fed daily.</summary><brief>A starter.</brief><importance>0.7</importance><once>no</once></review>";

    fn review(texts: &[(&str, &str)], days: i64) -> Reviewed {
        let messages = said(texts);
        let mut card = card(101, "Bread", "");
        card.messages = u32::try_from(texts.len()).unwrap();
        card.tokens = messages.iter().map(|stored| stored.measure.tokens).sum();
        card.last = At(card.first.0 + days * 86_400_000_000);
        Review { card: &card, messages: &messages }.offline()
    }

    fn read(reply: &str) -> Result<Reviewed, String> {
        Review { card: &card(1, "Bread", "A starter."), messages: &said(&[("user", "When?")]) }.read(reply)
    }

    #[test]
    fn replies_are_read() {
        let told = read(GOOD).unwrap();
        assert_eq!((told.summary.as_str(), told.brief.as_str(), told.once), ("Fed daily.", "A starter.", false));
        assert!((told.importance - 0.7).abs() < 1e-4);
        let bare = read("<summary>Fed daily.").unwrap();
        assert!(bare.once && bare.brief == "A starter.");
        assert!(read("<review><importance>1</importance></review>").unwrap_err().contains("<summary>"));
    }

    #[test]
    fn no_review_drops_the_brief_before_it() {
        let old = "HB-22 is asked once a minute, on port 4800. · Ann Lee knows tide_gauge_7.";
        let (card, messages) = (card(1, "Gauges", old), said(&[("user", "Paint it red.")]));
        let brief = |told: &str| {
            let reply = format!("<review><summary>It is painted red.</summary><brief>{told}</brief></review>");
            Review { card: &card, messages: &messages }.read(&reply).map(|told| told.brief)
        };
        assert!(brief("Sure, happy to help!").unwrap_err().contains("drops most"));
        let short = brief("All about gauges.").unwrap();
        assert!(
            short.starts_with("All about gauges.") && short.contains("4800") && short.contains("Ann Lee"),
            "{short}"
        );
        let whole = "HB-22 on port 4800, tide_gauge_7, Ann Lee; painted red.";
        assert_eq!(brief(whole).as_deref(), Ok(whole));
    }

    #[test]
    fn a_word_asked_for_once_matters_less_than_a_plan() {
        let word = review(&[("user", "What does “ebb” mean?"), ("assistant", "The tide going out.")], 0);
        assert!(word.once && word.importance < 0.2, "{word:?}");
        assert_eq!(word.summary, "What does “ebb” mean?\nThe tide going out.");
        let plan: Vec<(&str, &str)> =
            [("user", "We decided to launch on 2026-05-01. 以后必须先测试。"), ("assistant", "Noted: 12,000 units.")]
                .repeat(8);
        let plan = review(&plan, 9);
        assert!(!plan.once && plan.importance > 0.5, "{plan:?}");
        let wish = review(&[("user", "Remember that I never eat nuts."), ("assistant", "I will.")], 0);
        assert!(!wish.once);
    }

    #[test]
    fn long_topics_are_summed_up_in_bounds() {
        let long = "The gauge failed at noon and was mended by Ann. ".repeat(400) + "It cost 40 euros.";
        let told = review(&[("user", long.as_str()), ("assistant", long.as_str())].repeat(30), 1);
        assert!(told.summary.chars().count() <= SUMMARY_CHARS && told.brief.chars().count() <= BRIEF_CHARS);
        assert_eq!(review(&[], 0).summary, "");
    }

    proptest! {
        #[test]
        fn readings_are_bounded(reply in mangled(GOOD)) {
            if let Ok(told) = read(&reply) {
                prop_assert!((0.0..=1.0).contains(&told.importance) && !told.summary.is_empty() && !told.brief.is_empty());
            }
        }
    }
}
