//! What sentences are worth, in any language.
//!
//! In prose a sentence is worth what its words are: those that recur, but not everywhere; words already quoted count
//! for less, so nothing is said twice. In logs and other repetitive texts it is the other way round: what is rare
//! stands out, and lines that differ only in numbers are one.

use std::collections::HashMap;

use crate::search::each_term;

/// Words shorter than this carry little.
const SHORT_TERM_CHARS: usize = 2;
/// What stands between two quoted sentences at most.
const BETWEEN_CHARS: usize = 3;
/// After so many sentences, what was said is no longer taken into account.
const ROUNDS: usize = 24;
/// What a word is still worth once it was said.
const SAID_AGAIN: f64 = 0.25;
/// How many lines a text has before it can be called repetitive.
const MANY: usize = 8;
/// A sentence that is worth less than this part of the best is not quoted.
const LEAST_PART: f64 = 0.25;
/// A sentence is cut only if at least this part of the room is left for it.
const LEFT_PART: usize = 3;
/// A line with fewer letters than this says little.
const FEW_LETTERS: usize = 10;
/// Words that matter most in a log.
const ERRORS: [&str; 11] =
    ["error", "fail", "panic", "exception", "fatal", "denied", "timed out", "错误", "失败", "异常", "拒绝"];
/// Words that matter too.
const WARNINGS: [&str; 4] = ["warn", "timeout", "警告", "超时"];
/// What lines of code that end in a bracket and define nothing begin with.
const CONTROLS: [&str; 7] = ["if ", "for ", "while ", "match ", "switch ", "else", "}"];

/// A sentence to be quoted, and how many characters of it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quote {
    pub(super) sentence: usize,
    pub(super) most_chars: usize,
}

/// Which sentences to quote in at most so many characters, in their order. One that does not fit is cut if much room is
/// left.
pub(super) fn choose(sentences: &[String], most_chars: usize) -> Vec<Quote> {
    let lines = distinct(sentences, str::to_lowercase);
    let templates = distinct(sentences, template);
    let repetitive = sentences.len() >= MANY && 2 * templates.len() <= sentences.len();
    let chars = sentences.iter().map(|sentence| sentence.chars().count()).collect();
    let mut quoting = Quoting { chars, chosen: Vec::new(), room: most_chars + BETWEEN_CHARS };
    let mut scale = if repetitive { Scale::of_lines(sentences) } else { Scale::of_words(sentences) };
    if repetitive {
        quoting.fill(&templates, &mut scale);
    }
    // Where all lines are of a few kinds, as in tables, more of them say more.
    if !repetitive || quoting.room > most_chars / 2 {
        quoting.fill(&lines, &mut scale);
    }
    let cut = quoting.cut(&lines, &scale, most_chars / LEFT_PART);
    let whole = quoting.chosen.iter().map(|&sentence| Quote { sentence, most_chars });
    let mut quotes: Vec<Quote> = whole.chain(cut).collect();
    quotes.sort_unstable();
    quotes
}

/// Sentences chosen so far.
struct Quoting {
    /// How long each sentence is.
    chars: Vec<usize>,
    chosen: Vec<usize>,
    room: usize,
}

impl Quoting {
    /// Takes the best that fits, until nothing does or the rest is not worth it.
    fn fill(&mut self, among: &[usize], scale: &mut Scale) {
        let mut rest: Vec<usize> = among.iter().copied().filter(|i| !self.chosen.contains(i)).collect();
        let least = scale.best(&rest).map_or(0.0, |best| scale.worth(best)) * LEAST_PART;
        rest.retain(|&i| scale.worth(i) >= least);
        loop {
            rest.retain(|&i| self.chars[i] + BETWEEN_CHARS <= self.room);
            let Some(best) = scale.best(&rest) else { break };
            rest.retain(|&i| i != best);
            self.room -= self.chars[best] + BETWEEN_CHARS;
            self.chosen.push(best);
            if self.chosen.len() <= ROUNDS {
                scale.was_said(best);
            }
        }
    }

    /// The best of the sentences that do not fit, for the room that is left.
    fn cut(&self, among: &[usize], scale: &Scale, least_chars: usize) -> Option<Quote> {
        let long = |i: &usize| self.chars[*i] + BETWEEN_CHARS > self.room && !self.chosen.contains(i);
        let sentence = scale.best(&among.iter().copied().filter(long).collect::<Vec<_>>())?;
        let most_chars = self.room.checked_sub(BETWEEN_CHARS)?;
        (most_chars >= least_chars).then_some(Quote { sentence, most_chars })
    }
}

/// The first of all sentences that are alike.
fn distinct(sentences: &[String], key: impl Fn(&str) -> String) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    (0..sentences.len()).filter(|&i| seen.insert(key(&sentences[i]))).collect()
}

/// A line without what changes from one to the next: words with digits in them.
fn template(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '.' && c != ':' && c != '-');
    let steady = words.filter(|word| !word.is_empty() && !word.contains(|c: char| c.is_ascii_digit()));
    steady.collect::<Vec<_>>().join(" ")
}

/// The words of each sentence and what they weigh.
struct Scale {
    /// The words of each sentence, by number.
    words: Vec<Vec<usize>>,
    weights: Vec<f64>,
    /// What else counts for or against a sentence.
    favour: Vec<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
impl Scale {
    fn of_words(sentences: &[String]) -> Self {
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut spread: Vec<f64> = Vec::new();
        let mut words = Vec::with_capacity(sentences.len());
        for sentence in sentences {
            let mut said = Vec::new();
            each_term(sentence, |term| said.extend(number(&mut numbers, term)));
            said.sort_unstable();
            said.dedup();
            spread.resize(numbers.len(), 0.0);
            for &word in &said {
                spread[word] += 1.0;
            }
            words.push(said);
        }
        let count = sentences.len() as f64;
        let weight = |within: f64| (within * ((count + 1.0) / (within + 0.5)).ln()).max(0.0);
        Self { words, weights: spread.into_iter().map(weight).collect(), favour: favours(sentences) }
    }

    /// Every line is one word: the rarer, the heavier.
    fn of_lines(lines: &[String]) -> Self {
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut spread: Vec<f64> = Vec::new();
        let mut words = Vec::with_capacity(lines.len());
        for line in lines {
            let next = numbers.len();
            let word = *numbers.entry(template(line)).or_insert(next);
            spread.resize(numbers.len(), 0.0);
            spread[word] += 1.0;
            words.push(vec![word]);
        }
        let count = lines.len() as f64;
        let mut favour: Vec<f64> = lines.iter().map(|line| alarm(line)).collect();
        favour.iter_mut().take(1).for_each(|first| *first = first.max(4.0));
        Self { words, weights: spread.iter().map(|within| 1.0 + (count / within).ln()).collect(), favour }
    }

    fn worth(&self, i: usize) -> f64 {
        let sum: f64 = self.words[i].iter().map(|&word| self.weights[word]).sum();
        sum / (self.words[i].len() as f64 + 4.0).sqrt() * self.favour[i]
    }

    fn best(&self, among: &[usize]) -> Option<usize> {
        let worths = among.iter().map(|&i| (i, self.worth(i)));
        worths.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(i, _)| i)
    }

    fn was_said(&mut self, i: usize) {
        for &word in &self.words[i] {
            self.weights[word] *= SAID_AGAIN;
        }
    }
}

fn number(numbers: &mut HashMap<String, usize>, term: &str) -> Option<usize> {
    if term.chars().take(SHORT_TERM_CHARS).count() < SHORT_TERM_CHARS {
        return None;
    }
    if let Some(&known) = numbers.get(term) {
        return Some(known);
    }
    let next = numbers.len();
    numbers.insert(term.to_owned(), next);
    Some(next)
}

/// How much a line of a log should be noticed for its words.
fn alarm(line: &str) -> f64 {
    let folded = line.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| folded.contains(word));
    let scant = line.chars().filter(|c| c.is_alphabetic()).take(FEW_LETTERS).count() < FEW_LETTERS;
    let loud = if says(&ERRORS) {
        5.0
    } else if says(&WARNINGS) {
        3.0
    } else {
        1.0
    };
    if scant { loud / 2.0 } else { loud }
}

/// More for how a text begins and for what code defines; less for what stands in the midst of code.
fn favours(sentences: &[String]) -> Vec<f64> {
    let heading = sentences.iter().position(|sentence| sentence.starts_with("# "));
    let favour = |(i, sentence): (usize, &String)| {
        let starts = |words: &[&str]| words.iter().any(|word| sentence.starts_with(word));
        let opens = sentence.ends_with('{') && !starts(&CONTROLS);
        let defines = opens || sentence.ends_with(':') && starts(&["def ", "class "]);
        let inside = sentence.ends_with([';', ',', '=']) || starts(&["import ", "from "]);
        let first = if heading == Some(i) && i < 3 {
            4.0
        } else if i == 0 {
            1.3
        } else {
            1.0
        };
        first
            * if defines {
                1.5
            } else if inside {
                0.5
            } else {
                1.0
            }
    };
    sentences.iter().enumerate().map(favour).collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(lines: &[&str], most_chars: usize) -> Vec<usize> {
        let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        choose(&lines, most_chars).into_iter().map(|quote| quote.sentence).collect()
    }

    #[test]
    fn tables_show_their_head_and_first_rows() {
        let rows: Vec<String> = (0..40).map(|i| format!("NB-{i},2026-03-01,{}", 200 + i)).collect();
        let table: Vec<&str> = std::iter::once("station,date,level").chain(rows.iter().map(String::as_str)).collect();
        assert_eq!(chosen(&table, 70), [0, 1, 2]);
    }

    #[test]
    fn errors_come_before_warnings_and_before_the_first_line() {
        let mut log = vec!["run 7 begins on host a"; 1];
        log.extend(["poll 1 was good", "poll 2 was good"].repeat(10));
        log.extend(["warning: clock is behind", "error: gauge 2 is silent"]);
        assert_eq!(chosen(&log, 30), [22]);
        assert_eq!(chosen(&log, 55), [0, 22]);
        assert_eq!(chosen(&log, 80), [0, 21, 22]);
    }

    #[test]
    fn scraps_are_left_out() {
        let talk = [
            "The export of the tide table stops at noon without any error.",
            "The tide table has two million rows.",
            "Bye now.",
        ];
        assert_eq!(chosen(&talk, 120), [0, 1]);
        assert!(chosen(&[], 10).is_empty());
    }
}
