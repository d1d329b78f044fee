//! Names: words that are written with a capital where none is due, and what stands between the marks for names in
//! Chinese.

use std::collections::{HashMap, HashSet};

use super::words::Word;
use crate::quote::keys;
use crate::search::is_unspaced;

/// A name has at most so many words.
const NAME_WORDS: usize = 4;
/// A word of a name has at most so many characters, and a name between marks.
const NAME_CHARS: usize = 30;
/// How often a word must begin a sentence with a capital to be a name, if it is never written without.
const TIMES: u32 = 2;
/// Marks around names; double quotes count only around scripts without spaces.
const MARKS: [(char, char); 5] = [('《', '》'), ('「', '」'), ('『', '』'), ('【', '】'), ('“', '”')];
/// What the last word of a sentence ends with, or what stands before the first.
const BEGINS: [char; 15] = ['.', '!', '?', ':', '"', '“', '(', '-', '*', '#', '>', '|', '。', '：', '—'];

/// The names heard so far.
#[derive(Default)]
pub(super) struct Names<'a> {
    found: Vec<String>,
    /// Words with a capital that begin sentences, and how often.
    starts: Vec<&'a str>,
    counts: HashMap<&'a str, u32>,
    /// Words that are also written without a capital.
    small: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    /// Hears the words of a line.
    pub(super) fn hear(&mut self, line: &'a str, words: &[Word<'a>]) {
        self.found.extend(marked(line));
        let mut name: Vec<&str> = Vec::new();
        let (mut end, mut lettered) = (0, false);
        for word in words {
            let begins =
                !lettered || line[..word.start].trim_end().chars().next_back().is_none_or(|c| BEGINS.contains(&c));
            let joins = !begins && line[end..word.start] == *" " && name.len() < NAME_WORDS;
            end = word.start + word.text.len();
            lettered |= word.text.contains(char::is_alphabetic);
            if !joins || !is_capital(word.text) {
                self.take(&mut name);
            }
            match is_capital(word.text) {
                true if begins => self.begins(word.text),
                true => name.push(word.text),
                false if word.text.starts_with(char::is_lowercase) => drop(self.small.insert(word.text)),
                false => {}
            }
        }
        self.take(&mut name);
    }

    fn take(&mut self, name: &mut Vec<&str>) {
        if !name.is_empty() {
            self.found.push(name.join(" "));
            name.clear();
        }
    }

    fn begins(&mut self, word: &'a str) {
        let count = self.counts.entry(word).or_default();
        *count += 1;
        if *count == TIMES {
            self.starts.push(word);
        }
    }

    /// The names, in the order in which they were found; words that only ever begin sentences last.
    pub(super) fn found(self) -> impl Iterator<Item = String> {
        let Self { found, starts, small, .. } = self;
        let alone = starts.into_iter().filter(move |word| !small.contains(word.to_lowercase().as_str()));
        found.into_iter().chain(alone.map(str::to_owned))
    }
}

/// Whether a word has a capital that is not the sentence's, and says something.
fn is_capital(word: &str) -> bool {
    let lower = word.chars().skip(1).any(char::is_lowercase);
    let letters = word.chars().all(|c| c.is_alphabetic() || c == '-');
    let short = word.len() <= 4 * NAME_CHARS && word.chars().count() <= NAME_CHARS;
    short && lower && letters && word.starts_with(char::is_uppercase) && !keys(word).is_empty()
}

/// What stands between marks for names.
fn marked(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in MARKS.into_iter().filter(|(open, _)| line.contains(*open)) {
        for piece in line.split(open).skip(1) {
            let Some((name, _)) = piece.split_once(close) else { continue };
            let short = name.chars().nth(NAME_CHARS).is_none();
            if short && name.contains(is_unspaced) && !name.contains(['。', '？', '！', '，']) {
                found.push(name.trim().to_owned());
            }
        }
    }
    found
}
