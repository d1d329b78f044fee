//! What a text asks, and what it tells beside that.

use crate::search::is_unspaced;

/// How an English clause begins that asks, if more than a clause beside another can begin so.
const QUESTION_WORDS: &str = " what whats when where which who whom whose why how ";
/// How it begins if it can hardly be anything else.
const VERBS: &str = " do does did is are was were can could would will has have had should ";
/// How a sentence begins that wants to be told something.
const REQUESTS: &str = " tell show find list remind quote recall explain summarise summarize repeat give search ";
/// What follows a question word where no sign tells that it asks.
const AFTER: &str = " many much long often far old else about ";
/// What may stand before a question word.
const PREPOSITIONS: &str = " in on at for with by from to of about around after before during since until under over ";
/// How a turn begins that goes on from the one before.
const GOING_ON: &str = " so and but or then also ok okay hmm hm oh ";
/// The same in Chinese.
const GOING_ON_PHRASES: [&str; 8] = ["那么", "然后", "所以", "但是", "而且", "还有", "好的", "嗯"];
/// What else may stand before a clause and changes nothing.
const BEGINNINGS: &str = " now well hey hi just please ";
/// Chinese words that ask, wherever they stand.
const ASKING_PHRASES: [&str; 26] = [
    "什么",
    "怎么",
    "怎样",
    "多少",
    "哪",
    "谁",
    "几个",
    "几点",
    "几号",
    "几次",
    "吗",
    "是否",
    "如何",
    "为何",
    "有没有",
    "是不是",
    "告诉我",
    "查一下",
    "查找",
    "找一下",
    "列出",
    "回忆",
    "复述",
    "总结",
    "还记得",
    "提醒我",
];

/// Whether a text wants an answer.
pub(crate) fn asks(text: &str) -> bool {
    let text = text.trim();
    let first = words(text).next().unwrap_or_default();
    text.contains(['?', '？'])
        || [QUESTION_WORDS, VERBS, REQUESTS].iter().any(|list| has(list, &first))
        || text.to_ascii_lowercase().starts_with("please ")
        || asks_in_chinese(text)
}

/// Whether a text goes on from what was just said.
pub(crate) fn goes_on(text: &str) -> bool {
    let text = text.trim_start();
    words(text).next().is_some_and(|first| has(GOING_ON, &first))
        || GOING_ON_PHRASES.iter().any(|phrase| text.starts_with(phrase))
}

/// What a text tells: its sentences that do not ask, and of those that do what stands before the clause that asks.
pub(crate) fn told(text: &str) -> impl Iterator<Item = &str> {
    let sentences = text.split_inclusive(['!', '?', '。', '！', '？', '\n']);
    let clauses = sentences.flat_map(|part| part.split_inclusive(". ")).flat_map(told_in);
    clauses.filter(|clause| words(clause).any(|word| !begins(&word)))
}

/// What a sentence tells. Where no clause of it is known to ask, a question asks as a whole.
fn told_in(sentence: &str) -> Vec<&str> {
    let is_question = sentence.trim_end().ends_with(['?', '？']);
    let clauses = sentence.split_inclusive([',', ';', ':', '，', '；', '：', '—', '–']);
    let mut clauses: Vec<&str> = clauses.flat_map(|clause| clause.split_inclusive(" - ")).collect();
    let asks = clauses.iter().position(|clause| clause_asks(clause, is_question));
    clauses.truncate(asks.unwrap_or(if is_question { 0 } else { clauses.len() }));
    clauses
}

/// Whether a clause asks, in a sentence that is a question by its sign or not.
fn clause_asks(clause: &str, is_question: bool) -> bool {
    let mut words = words(clause).skip_while(|word| begins(word));
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let asks = if has(REQUESTS, &first) {
        true
    } else if has(VERBS, &first) {
        is_question || second == "you"
    } else if has(QUESTION_WORDS, &first) {
        is_question || has(VERBS, &second) || has(AFTER, &second)
    } else {
        is_question && has(PREPOSITIONS, &first) && has(QUESTION_WORDS, &second)
    };
    asks || asks_in_chinese(clause)
}

fn asks_in_chinese(text: &str) -> bool {
    let end = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    text.contains(is_unspaced) && (end.ends_with('呢') || ASKING_PHRASES.iter().any(|phrase| text.contains(phrase)))
}

/// The words of a text in small letters; what is short for two words is one.
fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’')).filter(|word| !word.is_empty());
    parts.map(|word| word.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_ascii_lowercase())
}

/// Whether a word may stand before a clause and changes nothing.
fn begins(word: &str) -> bool {
    has(GOING_ON, word) || has(BEGINNINGS, word)
}

/// Whether a list has a word.
fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.contains(&format!(" {word} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_from_statements() {
        for question in [
            "What is it?",
            "when did we paint",
            "Tell me the offset",
            "刷墙报价多少",
            "还记得颜色吗",
            "颜色呢",
            "Please repeat it.",
        ] {
            assert!(asks(question), "{question}");
        }
        for statement in ["The offset is 33 cm.", "刷墙定在二十三号。", "Thanks", "whatever you like", ""] {
            assert!(!asks(statement), "{statement}");
        }
    }

    #[test]
    fn what_only_asks_tells_nothing() {
        for question in [
            "What's the offset?",
            "Hmm, so when did we paint the boat, and who helped?",
            "when did we paint",
            "In which harbour did we spend the winter?",
            "Tell me which colour we chose, please.",
            "Welche Farbe hat das Boot?",
            "我们上次刷的是什么颜色？",
            "刷墙的报价一共多少",
            "",
        ] {
            assert_eq!(told(question).collect::<String>(), "", "{question}");
        }
    }

    #[test]
    fn what_goes_on_says_so_first() {
        for text in ["hmm, what about the rope?", "So which one?", "And the mast?", "那么多少钱？", " okay, when?"]
        {
            assert!(goes_on(text), "{text}");
        }
        for text in ["Some day, what about the rope?", "What about the rope, and the mast?", "那年花了多少钱？", ""]
        {
            assert!(!goes_on(text), "{text}");
        }
    }

    #[test]
    fn what_stands_beside_a_question_is_told() {
        let told = |text: &str| told(text).collect::<String>();
        assert_eq!(
            told("I've painted the boat, but it still leaks, can you help me with that?"),
            "I've painted the boat, but it still leaks,"
        );
        assert_eq!(told("The mast is 3.5 m. How long must the rope be?"), "The mast is 3.5 m. ");
        assert_eq!(told("When I was in the harbour, I saw her."), "When I was in the harbour, I saw her.");
        assert_eq!(told("I need a rope - what would you take?"), "I need a rope - ");
        assert_eq!(told("Write a song about the sea."), "Write a song about the sea.");
        assert_eq!(told("船漏水了，我该怎么办？"), "船漏水了，");
    }
}
