//! Which words of a call's output were said before, and where.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::dataset::traces::Thread;

/// How many words in a row are a quotation.
const RUN: usize = 8;

/// For each call, what its output quotes.
pub(super) struct Words {
    /// For each call and each of its runs that was said before: where. The number of the run comes first.
    quoted: Vec<Vec<(u64, Vec<usize>)>>,
}

impl Words {
    /// Looks through a thread.
    pub(super) fn of(thread: &Thread) -> Self {
        let wanted: HashSet<u64> = thread.calls.iter().flat_map(|call| runs(&call.output)).collect();
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        for (place, step) in thread.steps.iter().enumerate() {
            for run in runs(&step.text()).into_iter().filter(|run| wanted.contains(run)) {
                let places = places.entry(run).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        let quoted = thread.calls.iter().map(|call| {
            let before = |run: u64| {
                let said = places.get(&run)?.iter().copied().take_while(|place| *place < call.shown);
                let said: Vec<usize> = said.collect();
                (!said.is_empty()).then_some((run, said))
            };
            runs(&call.output).into_iter().filter_map(before).collect()
        });
        Self { quoted: quoted.collect() }
    }

    /// Whether a call quotes something that is in no message that is shown, nor in a note.
    pub(super) fn misses(&self, call: usize, is_shown: impl Fn(usize) -> bool, notes: &[&str]) -> bool {
        let hidden = self.quoted[call].iter().filter(|(_, said)| !said.iter().any(|place| is_shown(*place)));
        let hidden: Vec<u64> = hidden.map(|(run, _)| *run).collect();
        if hidden.is_empty() {
            return false;
        }
        let told: HashSet<u64> = notes.iter().flat_map(|note| runs(note)).collect();
        hidden.iter().any(|run| !told.contains(run))
    }
}

/// A number for every run of words.
fn runs(text: &str) -> Vec<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |run: &[&str]| {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        hasher.finish()
    };
    words.windows(RUN).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_missed_unless_it_stands_somewhere() {
        let thread = super::super::sample();
        let (words, last) = (Words::of(&thread), thread.calls.len() - 1);
        assert!(!words.misses(last, |_| true, &[]));
        assert!(!words.misses(last, |place| place == 5, &[]));
        assert!(words.misses(last, |place| place != 5, &[]));
        let note = "In short: the seventh valve of the old boiler leaks when it is cold.";
        assert!(words.misses(last, |place| place != 5, &["In short: a valve leaks."]));
        assert!(!words.misses(last, |place| place != 5, &[note]), "{note}");
        assert!(!words.misses(0, |_| false, &[]), "nothing was quoted");
    }
}
