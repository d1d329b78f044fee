//! Which words of a question are about something, and what they are compared by.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::search::{folded, is_term_char, is_unspaced};

/// English words that say how something is asked, not what about.
const STOP_WORDS: &str = "a about after again all also am an and any are as at be been before but by can could did do does \
    earlier exactly find for from give had has have he her him his how i if in into is it its just list many me mine much my \
    no not of on or our please quote recall remember remind said say says shall she should show so some tell than that the \
    their them then there these they this those to told up us was we were what whats when where which who whom whose why \
    will with word would you your yours";
static STOPS: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
/// Chinese words that do the same; the longer ones first.
const STOP_PHRASES: [&str; 33] = [
    "为什么",
    "什么时候",
    "有没有",
    "是不是",
    "是什么",
    "什么",
    "怎么样",
    "怎么",
    "怎样",
    "多少",
    "哪一个",
    "哪个",
    "哪些",
    "哪里",
    "哪天",
    "几个",
    "几点",
    "几号",
    "几次",
    "是否",
    "如何",
    "告诉",
    "请问",
    "之前",
    "以前",
    "说过",
    "提到",
    "我们",
    "你们",
    "他们",
    "还记得",
    "记得",
    "一下",
];
const STOP_CHARS: &str = "的了吗呢吧啊我你他她它是在把被请谁就也都和与";

/// Whether a sentence is itself a question.
pub(super) fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches([' ', '"', '”', '」', ')', '）', '*']).ends_with(['?', '？', '吗', '呢'])
}

/// Whether the answer should hold a number.
pub(super) fn wants_number(question: &str) -> bool {
    let lower = question.to_lowercase();
    let marks =
        ["how many", "how much", "how long", "how old", "how far", "when ", "what time", "what date", "多少", "几"];
    marks.iter().any(|mark| lower.contains(mark)) || lower.contains("多久") || lower.contains("什么时候")
}

/// The words a question is about, in order, each once.
pub(super) fn content(question: &str) -> Vec<String> {
    let mut spaced = question.to_owned();
    for phrase in STOP_PHRASES {
        spaced = spaced.replace(phrase, " ");
    }
    let parted: String = spaced.chars().map(|c| if STOP_CHARS.contains(c) { ' ' } else { c }).collect();
    let (mut words, mut seen): (Vec<String>, HashSet<&str>) = Default::default();
    for word in parted.split(|c: char| !is_term_char(c) && !matches!(c, '-' | '_' | '.' | ':' | '/' | '\'')) {
        let word = word.trim_matches(|c: char| !is_term_char(c));
        let word = word.strip_suffix("'s").unwrap_or(word);
        let telling = is_telling(&folded(word)) || word.starts_with(is_unspaced);
        if telling && seen.insert(word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// Words that must be found as they stand: names and numbers made of several terms, and lone characters.
pub(super) fn phrases(content: &[String]) -> Vec<String> {
    let is_phrase = |word: &&String| {
        let lone = word.starts_with(is_unspaced) && word.chars().count() == 1;
        lone || word.is_ascii() && word.contains(|c: char| !c.is_ascii_alphanumeric())
    };
    content.iter().filter(is_phrase).map(|word| folded(word)).collect()
}

/// The form in which two terms are compared: English endings are taken off.
pub(super) fn key(term: &str) -> &str {
    if !term.is_ascii() {
        return term;
    }
    let stem = ["ing", "ed", "es", "s", "ly"].iter().find_map(|ending| term.strip_suffix(ending));
    let stem = stem.filter(|stem| stem.len() >= 3 && stem.chars().all(|c| c.is_ascii_alphabetic())).unwrap_or(term);
    stem.strip_suffix('e').filter(|short| short.len() >= 3).unwrap_or(stem)
}

/// The keys of a text that can tell anything, each once.
pub(crate) fn keys(text: &str) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    crate::search::each_term(text, |term| {
        if is_telling(term) {
            keys.push(key(term).to_owned());
        }
    });
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn is_telling(term: &str) -> bool {
    let mut chars = term.chars();
    let lone = chars.next().filter(|_| chars.next().is_none());
    !term.is_empty() && !STOPS.contains(term) && lone.is_none_or(|c| !is_unspaced(c) && !c.is_ascii_alphabetic())
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn what_a_question_is_about() {
        assert_eq!(content("What was the painter's quote for the two-room flat?"), ["painter", "two-room", "flat"]);
        assert_eq!(content("刷墙的师傅报价多少？"), ["刷墙", "师傅报价"]);
        assert_eq!(content("船的名字"), ["船", "名字"]);
        assert_eq!(phrases(&content("船 at 09:30 in HB-22 名字")), ["船", "09:30", "hb-22"]);
        assert_eq!(content("กุญแจอยู่ที่ไหน नमस्ते?"), ["กุญแจอยู่ที่ไหน", "नमस्ते"]);
        assert_eq!(content("Where is it?"), Vec::<String>::new());
        assert_eq!(keys("Painted painting paints"), ["paint"]);
    }
}
