//! The words of a conversation, by message: what a store's index would tell, in memory.

use std::collections::{BTreeSet, HashMap};

use scrollback::search::gather::stems;

use crate::dataset::recall::Talk;

const K1: f64 = 1.5;
const B: f64 = 0.75;

/// Which messages hold which term, and how often.
pub struct Index {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean: f64,
}

impl Index {
    /// The index of a conversation; the name of a speaker is a word of what they say.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    pub fn of(talk: &Talk) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::with_capacity(talk.messages.len());
        for (place, said) in talk.messages.iter().enumerate() {
            let words = stems(&said.text);
            lengths.push(words.len() as f64);
            for term in said.name().map(stems).unwrap_or_default().into_iter().collect::<BTreeSet<_>>() {
                postings.entry(term).or_default().push((place, 0.0));
            }
            for term in words {
                let places = postings.entry(term).or_default();
                match places.last_mut().filter(|(last, _)| *last == place) {
                    Some((_, count)) => *count += 1.0,
                    None => places.push((place, 1.0)),
                }
            }
        }
        let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self { postings, lengths, mean }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The messages that hold a term, as text or as the name of their speaker, and how often the text does.
    pub fn postings(&self, term: &str) -> &[(usize, f64)] {
        self.postings.get(term).map_or(&[], Vec::as_slice)
    }

    /// What each message scores for a question, by BM25 over its text.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    pub fn bm25(&self, question: &str) -> Vec<f64> {
        let mut scores = vec![0.0; self.len()];
        for term in stems(question).into_iter().collect::<BTreeSet<_>>() {
            let postings = self.postings(&term);
            let held = postings.iter().filter(|(_, count)| *count > 0.0).count() as f64;
            let rarity = (1.0 + (self.len() as f64 - held + 0.5) / (held + 0.5)).ln();
            for &(place, count) in postings {
                let long = K1 * (1.0 - B + B * self.lengths[place] / self.mean);
                scores[place] += rarity * count * (K1 + 1.0) / (count + long);
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::recall::Said;

    #[test]
    fn rare_words_count_most() {
        let said = |speaker: &str, text: &str| Said {
            is_reply: false,
            voice: scrollback::search::gather::Voice::Person,
            speaker: speaker.into(),
            is_named: true,
            at: None,
            session: 0,
            text: text.into(),
            tokens: 1,
        };
        let messages = vec![said("Ann", "the boiler leaks"), said("Ben", "a boiler"), said("Ann", "Ann's valve")];
        let index = Index::of(&Talk { messages, questions: Vec::new() });
        let scores = index.bm25("boiler valves");
        assert!(scores[2] > scores[1] && scores[1] > scores[0]);
        assert_eq!(index.postings("ann"), [(0, 0.0), (2, 1.0)]);
    }
}
