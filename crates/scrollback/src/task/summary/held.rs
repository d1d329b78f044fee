//! Which facts a text still holds, however it writes them: capitals, widths, spaces and thousands separators do not
//! matter.

use std::collections::HashSet;

use super::facts::{Fact, FactKind};
use super::figures::figures;
use crate::quote::keys;
use crate::search::{folded, is_unspaced};

/// Fewer facts prove nothing.
pub(in crate::task) const PROOF: usize = 4;

/// The facts that a text does not hold, the most telling first.
pub fn lost(facts: &[Fact], held: &str) -> Vec<Fact> {
    let held = Held::new(held);
    let mut lost: Vec<Fact> = facts.iter().filter(|fact| !held.has(fact)).cloned().collect();
    lost.sort_by_key(|fact| fact.kind);
    lost
}

/// Whether so much of something is missing that the rest can hardly be about it.
pub(in crate::task) fn is_most(missing: usize, of: usize) -> bool {
    missing * 4 > of * 3
}

/// Whether a text holds so little of some facts that it can hardly be about them; a few facts prove nothing.
pub(in crate::task) fn misses(facts: &[Fact], held: &str) -> bool {
    facts.len() >= PROOF && is_most(lost(facts, held).len(), facts.len())
}

struct Held {
    /// All of it, folded, on one line.
    text: String,
    figures: HashSet<String>,
    keys: HashSet<String>,
}

impl Held {
    fn new(text: &str) -> Self {
        let text = flat(text);
        Self { figures: figures(&text).into_iter().collect(), keys: keys(&text).into_iter().collect(), text }
    }

    fn has(&self, fact: &Fact) -> bool {
        let wanted = flat(&fact.text);
        match fact.kind {
            FactKind::Constraint | FactKind::Decision | FactKind::Task => self.tells(&wanted),
            FactKind::Number => figures(&wanted).iter().all(|figure| self.figures.contains(figure)),
            FactKind::Name if wanted.contains(is_unspaced) => self.text.contains(&wanted),
            FactKind::Name => wanted.split(' ').all(|word| self.stands(word)),
            FactKind::Code | FactKind::Path | FactKind::Url | FactKind::Identifier => {
                self.stands(wanted.trim_end_matches("()"))
            }
        }
    }

    /// Whether most of what a sentence is about is told.
    fn tells(&self, sentence: &str) -> bool {
        let keys = keys(sentence);
        let told = keys.iter().filter(|key| self.keys.contains(*key)).count();
        // Pairs of characters overlap, so that one other word takes several of them away.
        let (part, whole) = if sentence.contains(is_unspaced) { (2, 5) } else { (1, 2) };
        keys.is_empty() || told * whole >= keys.len() * part
    }

    /// Whether words stand in it, not as part of longer ones.
    fn stands(&self, words: &str) -> bool {
        let joins = |outside: Option<char>, inside: Option<char>| {
            [outside, inside].iter().all(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()))
        };
        let whole = |at: usize| {
            let (before, after) = (&self.text[..at], &self.text[at + words.len()..]);
            !joins(before.chars().next_back(), words.chars().next())
                && !joins(after.chars().next(), words.chars().next_back())
        };
        words.is_empty() || self.text.match_indices(words).any(|(at, _)| whole(at))
    }
}

fn flat(text: &str) -> String {
    folded(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::facts::facts;
    use super::*;

    fn lost_of(text: &str, held: &str) -> Vec<String> {
        lost(&facts(text), held).into_iter().map(|fact| fact.text).collect()
    }

    #[test]
    fn what_is_written_otherwise_is_held() {
        for (text, held) in [
            ("It costs us $1,200.50 with Ann Lee.", "ann and LEE: 1200.50 dollars"),
            ("The budget is 12000 euros.", "Budget: 12,000 €"),
            ("It ends on 2026-11-05.", "It ends 5.11.: on 11/5/2026."),
            ("The file is `src/Main.rs` of HB-22.", "See src/main.rs; hb-22."),
            ("编号ＨＢ-22，费用８４００元。", "hb-22 8400"),
            ("We decided to use the second gauge in the harbour.", "Decision: the second harbour gauge is used [m3]."),
            ("我们决定改用第二台潮位计。", "决定：改用第二台潮位计。"),
            ("Call restart() now.", "restart is called"),
        ] {
            assert_eq!(lost_of(text, held), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_lost_the_most_telling_first() {
        let text = "I met Ann there, at 09:30, with tide_gauge. We decided on the red paint for the boat. \
                    The boat must be dry before winter.";
        let expected = [
            "The boat must be dry before winter.",
            "We decided on the red paint for the boat.",
            "tide_gauge",
            "09:30",
            "Ann",
        ];
        assert_eq!(lost_of(text, "They planned at 9:31, with a tide_gauges boat."), expected);
    }
}
