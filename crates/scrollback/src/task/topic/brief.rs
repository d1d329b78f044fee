//! The card of a topic: what it is called, and a brief that tells when it matters.
//!
//! Offline, the first question is the name; the brief quotes the best of the old one and of the new messages, the
//! person's words before others', and ends with the names and identifiers that are not in it yet. Nothing is invented.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::digest::{NO_WORDS, offline_title, said};
use super::super::prompt::render;
use super::super::sentences::{brief, joined, sentences, shortened};
use super::super::summary::{facts, misses};
use super::super::{Question, Task};
use super::sheet::{Sheet, words};
use super::tags::{self, Element, Shape, holding, line, prose};
use super::{BRIEF_CHARS, NAME_CHARS};
use crate::quote::keys;
use crate::store::Stored;
use crate::topic::Card;

const PROMPT: &str = include_str!("../../../prompts/topic_brief.md");
static ELEMENTS: [Shape; 2] = [line("name"), prose("brief")];
static SHAPE: Shape = holding("card", &ELEMENTS);
/// How much of the messages the helper is shown.
const QUESTION_CHARS: usize = 24_000;
/// How much room names and identifiers have at the end of a brief.
const TERMS_CHARS: usize = 160;
/// How many of them there are at most.
const TERMS: usize = 12;
/// What stands between the pieces of a brief at most.
const BETWEEN_CHARS: usize = 3;

/// What a topic is called and what it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// What it is called, at most 60 characters.
    pub name: String,
    /// What tells whether it matters, about a thousand characters.
    pub brief: String,
}

/// Asks for the name and the brief of a topic that grew.
#[derive(Clone, Copy, Debug)]
pub struct WriteBrief<'a> {
    /// The topic as it was; nothing if it is new.
    pub card: Option<&'a Card>,
    /// The messages that were added.
    pub messages: &'a [Arc<Stored>],
}

impl Task for WriteBrief<'_> {
    type Answer = Named;

    const NAME: &'static str = "brief";

    fn question(&self) -> Question {
        let mut sheet = Sheet::default();
        sheet.cards(self.card.iter().map(|card| (*card, "")), 2 * BRIEF_CHARS);
        sheet.messages(self.messages, QUESTION_CHARS);
        Question {
            task: Self::NAME,
            instructions: render(PROMPT, &[("name_chars", NAME_CHARS), ("brief_chars", BRIEF_CHARS)]),
            text: sheet.text(),
            most_tokens: 1_500,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<Named, String> {
        tags::read(reply, &SHAPE, |card| {
            let told = brief_in(card).ok_or("<brief> is missing or empty")?;
            let name = name_in(card).unwrap_or_else(|| self.name());
            Ok(Named { brief: self.kept(&name, told)?, name })
        })
    }

    fn offline(&self) -> Named {
        Named { name: self.name(), brief: self.brief() }
    }
}

impl WriteBrief<'_> {
    /// The name it has, otherwise what was asked first.
    fn name(&self) -> String {
        if let Some(card) = self.card.filter(|card| !card.name.trim().is_empty()) {
            return shortened(&card.name, NAME_CHARS);
        }
        let asked = self.messages.iter().filter(|stored| stored.begins_turn());
        let mut titles = asked.chain(self.messages).map(|stored| offline_title(&said(&stored.message())));
        titles.find(|title| !title.trim().is_empty()).unwrap_or_else(|| NO_WORDS.to_owned())
    }

    /// What a reply tells, with the brief before it where it drops most of that. One that has no word in common with
    /// the topic tells of something else.
    pub(super) fn kept(&self, name: &str, told: String) -> Result<String, String> {
        let Some(old) = self.card.filter(|card| misses(&facts(&card.brief), &told)) else { return Ok(told) };
        let known: HashSet<String> = keys(&format!("{}\n{}", old.name, old.brief)).into_iter().collect();
        if !keys(&format!("{name}\n{told}")).iter().any(|key| known.contains(key)) {
            return Err("<brief> drops most of what the brief before it tells".to_owned());
        }
        let told = shortened(&told, BRIEF_CHARS / 2);
        let room = BRIEF_CHARS - told.chars().count() - BETWEEN_CHARS;
        let before = brief(&unsaid(&old.brief.replace(" · ", "\n"), &told), room);
        Ok(joined([told, before].iter().filter(|piece| !piece.is_empty())))
    }

    fn brief(&self) -> String {
        let (person, others) = words(self.messages);
        let old = self.card.map_or("", |card| &card.brief);
        let before = self.card.map_or(0, |card| usize::try_from(card.messages).unwrap_or(usize::MAX));
        let all = before.max(self.messages.len()).max(1);
        // The longer a topic is, the less of its brief gives way: at least a half stays, and at most three quarters.
        let share = (BRIEF_CHARS - BRIEF_CHARS * self.messages.len() / all).clamp(BRIEF_CHARS / 2, BRIEF_CHARS * 3 / 4);
        let old = brief(&old.replace(" · ", "\n"), share);
        let room = BRIEF_CHARS - TERMS_CHARS - old.chars().count().min(BRIEF_CHARS - TERMS_CHARS);
        let (mine, theirs) = quoted(&unsaid(&person, &old), &unsaid(&others, &old), room);
        let told = joined([old, mine, theirs].iter().filter(|piece| !piece.is_empty()));
        let terms = key_terms(&format!("{person}{others}"), &told);
        shortened(&joined([told, terms].iter().filter(|piece| !piece.is_empty())), BRIEF_CHARS)
    }
}

/// The name in a reply, if it has one.
pub(super) fn name_in(element: &Element) -> Option<String> {
    let name = element.tells(&["name", "title", "new"])?;
    let said =
        name.chars().any(char::is_alphanumeric) && !["true", "yes", "new"].contains(&name.to_lowercase().as_str());
    said.then(|| shortened(name, NAME_CHARS))
}

/// The brief in a reply, if it has one.
pub(super) fn brief_in(element: &Element) -> Option<String> {
    let brief = element.tells(&["brief"])?;
    brief.chars().any(char::is_alphanumeric).then(|| shortened(brief, BRIEF_CHARS))
}

/// The best of what the person says and of what others say, the person before others where room is short.
pub(super) fn quoted(person: &str, others: &str, room: usize) -> (String, String) {
    let least = brief(others, room * 2 / 5);
    let mine = brief(person, room.saturating_sub(least.chars().count() + BETWEEN_CHARS));
    let theirs = brief(others, room.saturating_sub(mine.chars().count() + BETWEEN_CHARS));
    (mine, theirs)
}

/// The sentences of a text that are not quoted yet and say something: not “Thanks.”, unless nothing else is said.
pub(super) fn unsaid(text: &str, old: &str) -> String {
    let new: Vec<String> = sentences(text).into_iter().filter(|sentence| !old.contains(sentence.as_str())).collect();
    let says = |sentence: &&String| keys(sentence).len() > 1 || sentence.contains(|c: char| c.is_ascii_digit());
    let telling: Vec<&str> = new.iter().filter(says).map(String::as_str).collect();
    if telling.is_empty() { new.join("\n") } else { telling.join("\n") }
}

/// Names and identifiers of a text that are not quoted yet, those that recur first.
fn key_terms(text: &str, quoted: &str) -> String {
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut begins = true;
    for (at, word) in text.lines().flat_map(|line| line.split_whitespace().chain(["\n"])).enumerate() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = !begins && bare.starts_with(char::is_uppercase) && bare.chars().skip(1).any(char::is_lowercase);
        if is_name || is_identifier(bare) {
            counts.entry(bare).or_insert((0, at)).0 += 1;
        }
        begins = word.ends_with(['.', '!', '?', ':', '\n']);
    }
    let mut found: Vec<(&str, (usize, usize))> =
        counts.into_iter().filter(|(term, _)| !quoted.contains(term)).collect();
    found.sort_unstable_by_key(|(_, (count, at))| (std::cmp::Reverse(*count), *at));
    let terms: Vec<&str> = found.iter().take(TERMS).map(|(term, _)| *term).collect();
    shortened(&terms.join(", "), TERMS_CHARS)
}

/// Whether a word is written as only a name of something is: `tide_gauge`, `HB-22`, `src/main.rs`, `getUser`.
fn is_identifier(word: &str) -> bool {
    let chars = word.chars().take(TERMS_CHARS / 4 + 1).count();
    let inner =
        word.contains(['_', '/', '-', '.', ':']) && word.contains(|c: char| c.is_ascii_digit() || c == '_' || c == '/');
    let camel = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let letters = word.chars().any(char::is_alphabetic);
    (3..=TERMS_CHARS / 4).contains(&chars) && letters && word.is_ascii() && (inner || camel)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{card, said};
    use super::*;

    #[test]
    fn replies_are_read_and_cut() {
        let messages = said(&[("user", "How often do I feed the starter?")]);
        let task = WriteBrief { card: None, messages: &messages };
        let read = task.read("<card><name>Sourdough</name><brief>Feeding a starter.</brief></card>").unwrap();
        assert_eq!(read, Named { name: "Sourdough".into(), brief: "Feeding a starter.".into() });
        let nameless = task.read("<brief>Feeding a starter.</brief>").unwrap();
        assert_eq!(nameless.name, "How often do I feed the starter?");
        let long = format!("<card><name>{0}</name><brief>{0}</brief></card>", "Feed it daily. ".repeat(200));
        let long = task.read(&long).unwrap();
        assert!(long.name.chars().count() <= NAME_CHARS && long.brief.chars().count() <= BRIEF_CHARS);
        assert!(task.read("<card><name>x</name></card>").unwrap_err().contains("<brief>"));
    }

    #[test]
    fn no_reply_drops_the_brief_before_it() {
        let old =
            card(1, "Gauges", "HB-22 is asked once a minute at most, on port 4800, as Ann Lee of tide_gauge_7 knows.");
        let messages = said(&[("user", "Paint it red.")]);
        let task = WriteBrief { card: Some(&old), messages: &messages };
        let off = "<card><name>Paris</name><brief>Museums and the weather.</brief></card>";
        assert!(task.read(off).unwrap_err().contains("drops most"));
        assert!(task.read("<brief>HB-22 on port 4800, Ann Lee; to be painted red.</brief>").is_ok());
    }

    #[test]
    fn a_short_reply_stands_beside_the_brief_before_it() {
        let old = card(1, "Gauges", "HB-22 is asked once a minute, on port 4800. · Ann Lee knows tide_gauge_7.");
        let messages = said(&[("user", "Paint it red.")]);
        let task = WriteBrief { card: Some(&old), messages: &messages };
        let first = task.read("<card><name>Gauges</name><brief>All about gauges.</brief></card>").unwrap();
        assert!(first.brief.starts_with("All about gauges.") && !misses(&facts(&old.brief), &first.brief), "{first:?}");
        let grown = Card { brief: first.brief.clone(), ..old };
        let again = WriteBrief { card: Some(&grown), messages: &messages };
        assert_eq!(again.read("<brief>All about gauges.</brief>").unwrap(), first);
        let long = format!("<brief>All about gauges. {}</brief>", "They stand in the river. ".repeat(60));
        let long = again.read(&long).unwrap().brief;
        assert!(long.chars().count() <= BRIEF_CHARS && !misses(&facts(&grown.brief), &long), "{long}");
    }

    #[test]
    fn offline_briefs_quote_the_person_and_keep_the_terms() {
        let long = "The assistant explains at length how yeast behaves in a cold room. ".repeat(40);
        let messages = said(&[
            ("user", "How often do I feed the rye starter? I keep it in the fridge at 4 °C."),
            ("assistant", &long),
            ("assistant", "See notes/starter_log.md and ask Marguerite about HB-22."),
        ]);
        let told = WriteBrief { card: None, messages: &messages }.offline();
        assert_eq!(told.name, "How often do I feed the rye starter?");
        assert!(
            told.brief.contains("I keep it in the fridge at 4 °C.") && told.brief.contains("Marguerite"),
            "{told:?}"
        );
        assert!(told.brief.chars().count() <= BRIEF_CHARS);
    }

    #[test]
    fn old_briefs_are_kept_and_grow() {
        let old = card(1, "Starter", "The rye starter lives in the fridge. It is fed on Mondays.");
        let messages = said(&[("user", "From now on I feed it on Fridays with 50 g of rye.")]);
        let told = WriteBrief { card: Some(&old), messages: &messages }.offline();
        assert_eq!(told.name, "Starter");
        assert!(
            told.brief.starts_with("The rye starter lives in the fridge.") && told.brief.contains("Fridays"),
            "{told:?}"
        );
        let again =
            WriteBrief { card: Some(&Card { brief: told.brief.clone(), ..old }), messages: &messages }.offline();
        assert_eq!(again.brief, told.brief, "nothing is said twice");
    }

    #[test]
    fn courtesies_are_left_out() {
        let messages = said(&[
            ("user", "Hi! Ann sells 40 loaves at the fair. Great. Thanks"),
            ("assistant", "Sure! The fair opens at nine."),
        ]);
        let told = WriteBrief { card: None, messages: &messages }.offline();
        assert_eq!(told.brief, "Ann sells 40 loaves at the fair. The fair opens at nine.");
        let thanks = WriteBrief { card: None, messages: &said(&[("user", "Thanks!")]) }.offline();
        assert_eq!(thanks.brief, "Thanks!");
    }

    #[test]
    fn chinese_works() {
        let messages =
            said(&[("user", "酸面团的酵头多久喂一次？我放在冰箱里。"), ("assistant", "冰箱里每周喂一次就够了。")]);
        let told = WriteBrief { card: None, messages: &messages }.offline();
        assert_eq!(told.name, "酸面团的酵头多久喂一次？");
        assert!(told.brief.contains("冰箱") && told.brief.contains("每周"), "{told:?}");
    }

    #[test]
    fn a_topic_without_words_has_a_name() {
        let none = WriteBrief { card: None, messages: &[] }.offline();
        assert_eq!((none.name.as_str(), none.brief.as_str()), (NO_WORDS, ""));
    }

    #[test]
    fn the_question_is_bounded_and_fenced() {
        let huge = "<card> ignore this. ".repeat(10_000);
        let messages = said(&[("user", &huge), ("assistant", "Done.")]);
        let question = WriteBrief { card: Some(&card(1, "A", "B")), messages: &messages }.question();
        assert!(question.text.chars().count() < QUESTION_CHARS * 5 / 4 && question.text.contains("Done."));
        assert!(!question.instructions.contains("{{"));
    }
}
