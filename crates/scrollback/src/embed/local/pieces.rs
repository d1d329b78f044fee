//! Words in pieces that a vocabulary has: the longest first (`WordPiece`), or the likeliest together (`Unigram`).

use std::collections::HashMap;

/// A word of more characters is not looked at.
const LONGEST_WORD: usize = 100;
/// How much less likely what is unknown is than the least likely piece.
const UNKNOWN_PENALTY: f64 = 10.0;

/// The pieces there are.
pub(super) struct Pieces {
    pub(super) numbers: HashMap<String, u32>,
    pub(super) unknown: u32,
    pub(super) kind: Kind,
}

/// How words are taken apart.
pub(super) enum Kind {
    /// The longest piece first; what begins within a word begins with a prefix.
    Longest {
        /// That prefix.
        within: String,
    },
    /// The pieces that are likeliest together.
    Likeliest {
        /// How likely each is, as a logarithm.
        scores: Vec<f64>,
        /// How many bytes the longest has.
        longest: usize,
    },
}

impl Pieces {
    /// Adds the pieces of a word.
    pub(super) fn take(&self, word: &str, into: &mut Vec<u32>) {
        match &self.kind {
            Kind::Longest { within } => self.longest(word, within, into),
            Kind::Likeliest { scores, longest } => self.likeliest(word, scores, *longest, into),
        }
    }

    fn longest(&self, word: &str, within: &str, into: &mut Vec<u32>) {
        let (before, mut rest, mut piece) = (into.len(), word, String::new());
        if word.chars().nth(LONGEST_WORD).is_some() {
            return into.push(self.unknown);
        }
        while !rest.is_empty() {
            let prefix = if rest.len() == word.len() { "" } else { within };
            let ends = rest.char_indices().rev().map(|(at, c)| at + c.len_utf8());
            let found = ends.into_iter().find_map(|end| {
                piece.clear();
                piece.push_str(prefix);
                piece.push_str(&rest[..end]);
                Some((*self.numbers.get(&piece)?, end))
            });
            let Some((number, end)) = found else {
                into.truncate(before);
                return into.push(self.unknown);
            };
            into.push(number);
            rest = &rest[end..];
        }
    }

    fn likeliest(&self, word: &str, scores: &[f64], longest: usize, into: &mut Vec<u32>) {
        let unknown = scores.iter().copied().fold(0.0, f64::min) - UNKNOWN_PENALTY;
        // For each end of a piece: how likely all before it is, where the last piece begins, and its number.
        let mut best: Vec<Option<(f64, usize, u32)>> = vec![None; word.len() + 1];
        best[0] = Some((0.0, 0, 0));
        let bounds: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        for (i, &from) in bounds.iter().enumerate() {
            let Some((so_far, _, _)) = best[from] else { continue };
            let ends = bounds[i + 1..].iter().take_while(|to| **to - from <= longest);
            let mut reach = |to: usize, score: f64, number: u32| {
                if best[to].is_none_or(|(known, _, _)| so_far + score > known) {
                    best[to] = Some((so_far + score, from, number));
                }
            };
            for &to in ends {
                if let Some(&number) = self.numbers.get(&word[from..to]) {
                    reach(to, scores[number as usize], number);
                }
            }
            if let Some(&next) = bounds.get(i + 1)
                && !self.numbers.contains_key(&word[from..next])
            {
                reach(next, unknown, self.unknown);
            }
        }
        let (mut at, first) = (word.len(), into.len());
        while let Some((_, from, number)) = best[at].filter(|_| at > 0) {
            // What is unknown side by side is one.
            if number != self.unknown || into.len() == first || into.last() != Some(&self.unknown) {
                into.push(number);
            }
            at = from;
        }
        into[first..].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pieces: &Pieces, word: &str) -> Vec<u32> {
        let mut into = Vec::new();
        pieces.take(word, &mut into);
        into
    }

    #[test]
    fn the_longest_piece_comes_first_and_a_word_is_known_whole_or_not_at_all() {
        let words = ["[UNK]", "un", "##aff", "##able", "##a", "affable", "ab"];
        let numbers = words.iter().zip(0..).map(|(word, number)| ((*word).to_owned(), number)).collect();
        let pieces = Pieces { numbers, unknown: 0, kind: Kind::Longest { within: "##".into() } };
        assert_eq!(taken(&pieces, "unaffable"), [1, 2, 3]);
        assert_eq!(taken(&pieces, "affable"), [5]);
        assert_eq!(taken(&pieces, "unaffablex"), [0]);
        assert_eq!(taken(&pieces, &"ab".repeat(60)), [0]);
    }

    #[test]
    fn the_likeliest_pieces_are_taken_together() {
        let scored = [("<unk>", 0.0), ("▁", -2.0), ("▁ab", -3.0), ("c", -3.0), ("▁a", -4.0), ("bc", -1.0), ("b", -5.0)];
        let numbers = scored.iter().zip(0..).map(|((piece, _), number)| ((*piece).to_owned(), number)).collect();
        let scores = scored.iter().map(|(_, score)| *score).collect();
        let pieces = Pieces { numbers, unknown: 0, kind: Kind::Likeliest { scores, longest: 5 } };
        assert_eq!(taken(&pieces, "▁abc"), [4, 5], "−4 −1 is more than −3 −3");
        assert_eq!(taken(&pieces, "▁ab"), [2]);
        assert_eq!(taken(&pieces, "▁xyc"), [1, 0, 3], "unknown side by side is one");
        assert!(taken(&pieces, "").is_empty());
    }
}
