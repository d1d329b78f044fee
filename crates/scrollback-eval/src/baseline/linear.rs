//! Baselines for talk in which one topic follows another.

use std::collections::HashMap;

use scrollback::search::each_term;
use scrollback::search::gather::stems;
use scrollback::task::Unit;

/// How long an even segment is.
const EVEN_UNITS: usize = 5;

type Words = HashMap<String, f64>;

/// How `TextTiling` looks for valleys.
#[derive(Clone, Copy)]
pub(super) struct Tiles {
    words: fn(&str) -> Words,
    /// How many units on either side are compared.
    block_units: usize,
    /// How many deviations above the mean a valley must be deep.
    deep: f64,
}

/// Over all words, as they stand.
pub(super) const PLAIN: Tiles = Tiles { words: all_words, block_units: 2, deep: 0.5 };
/// Over the stems of words that tell something, like the baselines of recall.
pub(super) const STEMMED: Tiles = Tiles { words: telling_words, block_units: 4, deep: 1.0 };

/// Cuts at even distances.
pub(super) fn even(count: usize) -> Vec<usize> {
    (0..count).map(|i| i / EVEN_UNITS).collect()
}

/// Hearst's `TextTiling`: cuts in the deep valleys of the likeness between the words before and after.
pub(super) fn text_tiling(units: &[Unit], tiles: Tiles) -> Vec<usize> {
    let words: Vec<Words> = units.iter().map(|unit| (tiles.words)(&unit.text)).collect();
    let likeness: Vec<f64> = (1..units.len()).map(|at| around(&words, at, tiles.block_units)).collect();
    let depths: Vec<f64> = (0..likeness.len()).map(|i| depth(&likeness, i)).collect();
    let least = threshold(&depths, tiles.deep);
    let mut topic = 0;
    let mut sorted = vec![0; units.len()];
    for (i, &depth) in depths.iter().enumerate() {
        topic += usize::from(depth > least && depth > 0.0);
        sorted[i + 1] = topic;
    }
    sorted
}

fn all_words(text: &str) -> Words {
    let mut words = Words::new();
    each_term(text, |term| *words.entry(term.to_owned()).or_default() += 1.0);
    words
}

fn telling_words(text: &str) -> Words {
    let mut words = Words::new();
    for stem in stems(text) {
        *words.entry(stem).or_default() += 1.0;
    }
    words
}

fn around(words: &[Words], at: usize, block_units: usize) -> f64 {
    let before = sum(&words[at.saturating_sub(block_units)..at]);
    let after = sum(&words[at..(at + block_units).min(words.len())]);
    let length = |words: &Words| words.values().map(|count| count * count).sum::<f64>().sqrt();
    let shared: f64 = before.iter().map(|(word, count)| count * after.get(word).unwrap_or(&0.0)).sum();
    let lengths = length(&before) * length(&after);
    if lengths > 0.0 { shared / lengths } else { 0.0 }
}

fn sum(blocks: &[Words]) -> Words {
    let mut sum = Words::new();
    for (word, count) in blocks.iter().flatten() {
        *sum.entry(word.clone()).or_default() += count;
    }
    sum
}

/// How far the likeness rises on both sides of a place.
fn depth(likeness: &[f64], at: usize) -> f64 {
    let here = likeness[at];
    let climb = |likeness: &mut dyn Iterator<Item = f64>| {
        let mut top = here;
        for value in likeness {
            if value < top {
                break;
            }
            top = value;
        }
        top - here
    };
    climb(&mut likeness[..at].iter().rev().copied()) + climb(&mut likeness[at + 1..].iter().copied())
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are small")]
fn threshold(depths: &[f64], deep: f64) -> f64 {
    let count = depths.len().max(1) as f64;
    let mean = depths.iter().sum::<f64>() / count;
    let spread = depths.iter().map(|depth| (depth - mean).powi(2)).sum::<f64>() / count;
    mean + deep * spread.sqrt()
}

#[cfg(test)]
mod tests {
    use scrollback::At;

    use super::*;

    fn units(lines: &[&str]) -> Vec<Unit> {
        lines.iter().map(|line| Unit { text: (*line).into(), speaker: None, at: At(0) }).collect()
    }

    #[test]
    fn words_change_where_the_topic_does() {
        let lines = units(&["red fox", "red fox runs", "fox runs", "blue whale", "blue whale sings", "whale sings"]);
        for tiles in [PLAIN, STEMMED] {
            assert_eq!(text_tiling(&lines, tiles), [0, 0, 0, 1, 1, 1]);
            assert_eq!(text_tiling(&[], tiles), Vec::<usize>::new());
        }
    }

    #[test]
    fn words_of_grammar_and_endings_hide_no_change() {
        let foxes = ["Do foxes bark?", "A fox barked.", "Was it barking?", "It was the fox."];
        let whales = ["Do whales dive?", "A whale dived.", "Was it diving?", "It was the whale."];
        let lines = units(&[foxes, whales].concat());
        assert_eq!(text_tiling(&lines, STEMMED), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(text_tiling(&lines, PLAIN), [0, 0, 0, 0, 1, 1, 2, 2], "“was” and “it” are words");
    }

    #[test]
    fn even_is_even() {
        assert_eq!(even(7), [0, 0, 0, 0, 0, 1, 1]);
    }
}
