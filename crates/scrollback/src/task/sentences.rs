//! Choosing the sentences that say most, and the sources a text names.

use std::collections::HashMap;

use crate::search::terms;

/// Texts are read this far; what matters in a longer one is near its beginning or found by searching it.
const READ_CHARS: usize = 200_000;
/// Words rarer than this length carry little.
const SHORT_TERM_CHARS: usize = 2;
/// How many sources are named.
const SOURCES: usize = 3;

/// The most telling sentences of a text, in their order, in at most so many characters, on one line.
pub fn brief(text: &str, most_chars: usize) -> String {
    let flat = text.chars().take(READ_CHARS).collect::<String>();
    let whole = flat.split_whitespace().collect::<Vec<_>>().join(" ");
    if whole.chars().count() <= most_chars {
        return whole;
    }
    let sentences = sentences(&flat);
    let worth = worths(&sentences);
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    order.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]).then(a.cmp(&b)));
    let (mut chosen, mut room) = (Vec::new(), most_chars);
    for i in order {
        let length = sentences[i].chars().count() + 1;
        if length <= room {
            chosen.push(i);
            room -= length;
        }
    }
    if chosen.is_empty() {
        return whole.chars().take(most_chars - 1).chain(['…']).collect();
    }
    chosen.sort_unstable();
    chosen.iter().map(|&i| sentences[i].as_str()).collect::<Vec<_>>().join(" ")
}

/// Splits at the ends of sentences and lines.
fn sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut current = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        current.push(if c.is_whitespace() { ' ' } else { c });
        let stop = matches!(c, '\n' | '。' | '！' | '？' | '；')
            || matches!(c, '.' | '!' | '?') && chars.peek().is_none_or(|next| next.is_whitespace());
        if stop {
            push(&mut sentences, &mut current);
        }
    }
    push(&mut sentences, &mut current);
    sentences
}

fn push(sentences: &mut Vec<String>, current: &mut String) {
    let sentence = current.split_whitespace().collect::<Vec<_>>().join(" ");
    if sentence.chars().any(char::is_alphanumeric) {
        sentences.push(sentence);
    }
    current.clear();
}

/// What each sentence is worth: how much its words recur in the text, not counting those that are in every sentence; a
/// little more for the first.
#[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
fn worths(sentences: &[String]) -> Vec<f64> {
    let said: Vec<Vec<String>> = sentences.iter().map(|sentence| terms(sentence)).collect();
    let mut spread: HashMap<&str, f64> = HashMap::new();
    for term in said.iter().flatten().filter(|term| term.chars().count() >= SHORT_TERM_CHARS) {
        *spread.entry(term).or_default() += 1.0;
    }
    let count = sentences.len() as f64;
    let weight = |term: &String| {
        let in_sentences = spread.get(term.as_str()).copied().unwrap_or(0.0);
        (in_sentences * ((count + 1.0) / (in_sentences + 0.5)).ln()).max(0.0)
    };
    let worth = |(i, terms): (usize, &Vec<String>)| {
        let sum: f64 = terms.iter().map(weight).sum();
        sum / (terms.len() as f64 + 4.0).sqrt() * if i == 0 { 1.3 } else { 1.0 }
    };
    said.iter().enumerate().map(worth).collect()
}

/// Addresses and paths that a text names, the first few, each once.
pub fn sources(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '(' | ')' | '，' | '。'))
    {
        let word = word.trim_end_matches(['.', ',', ';', ':']);
        let address = word.starts_with("http://") || word.starts_with("https://");
        let path = word.contains('/') && word.rsplit('/').next().is_some_and(is_file_name);
        if (address || path) && word.len() <= 200 && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
        if found.len() == SOURCES {
            break;
        }
    }
    found
}

fn is_file_name(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(stem, ending)| (!stem.is_empty(), ending));
    ending.is_some_and(|(stem, ending)| {
        stem && (1..=5).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_quoted_whole() {
        assert_eq!(brief("One  line\nof text.", 60), "One line of text.");
        assert_eq!(brief("", 60), "");
    }

    #[test]
    fn the_subject_is_found_in_english_and_chinese() {
        let english = "Hello there. The tide gauge reports the level of the tide every minute. I had toast. \
                       When the tide gauge fails, the harbour reads the tide level by hand. Nice weather.";
        let told = brief(english, 80);
        assert!(told.contains("tide gauge"), "{told}");
        let chinese = "你好。潮位计每分钟报告一次潮位。我吃了面包。潮位计坏了的时候，港口人工读取潮位。天气不错。";
        assert!(brief(chinese, 20).contains("潮位"), "{}", brief(chinese, 20));
    }

    #[test]
    fn one_endless_sentence_is_cut() {
        let told = brief(&"word ".repeat(1000), 40);
        assert_eq!(told.chars().count(), 40);
        assert!(told.ends_with('…'));
    }

    #[test]
    fn sources_are_addresses_and_paths() {
        let text =
            "See https://example.org/a, then src/main.rs and src/main.rs; also docs/guide.md, and/or lib/x.toml.";
        assert_eq!(sources(text), ["https://example.org/a", "src/main.rs", "docs/guide.md"]);
    }
}
