//! How rules are put: phrases in English and Chinese, in the small language of `phrase`.
//!
//! Ordinary uses of the same words ("never mind", "it must be late") are crossed out first. Some phrases say by
//! themselves that something holds from now on; others may be a request for this once, and count unless something says
//! that they are.

use std::sync::LazyLock;

use super::wording::{EXPLICIT, LEADS, NOUNS, NOW, ORDERS, ORDINARY, STANDING, TAKEN_BACK, VERBS};
use crate::phrase::{Phrases, words};

/// What stands for words that were crossed out.
const CROSSED: &str = "`";

/// The phrases that are listened for.
struct Cues {
    explicit: Phrases,
    taken_back: Phrases,
    ordinary: Phrases,
    standing: Phrases,
    orders: Phrases,
    now: Phrases,
}

static CUES: LazyLock<Cues> = LazyLock::new(|| Cues {
    explicit: phrases(EXPLICIT),
    taken_back: phrases(TAKEN_BACK),
    ordinary: phrases(ORDINARY),
    standing: phrases(STANDING),
    orders: phrases(ORDERS),
    now: phrases(NOW),
});

fn phrases(said: &[&str]) -> Phrases {
    let whole = |said: &&str| said.replace("{lead}", LEADS).replace("{verb}", VERBS).replace("{noun}", NOUNS);
    Phrases::read(said.iter().map(whole))
}

/// Whether a sentence tells its reader to keep to something from then on, or no longer.
pub(super) fn is_rule(sentence: &str) -> bool {
    let mut words = words(&sentence.replace('\n', " "));
    if CUES.explicit.are_in(&words) || !is_question(&words) && CUES.taken_back.are_in(&words) {
        return true;
    }
    CUES.ordinary.cross_out(&mut words, CROSSED);
    let orders = || CUES.orders.are_in(&words) && !CUES.now.are_in(&words);
    !is_question(&words) && (CUES.standing.are_in(&words) || orders())
}

/// Whether words end in a question. 么 asks by itself, not in 什么 or 怎么, with which an order may end.
fn is_question(words: &[String]) -> bool {
    let mut ends = words.iter().map(String::as_str).rev().filter(|word| *word != ".");
    match ends.next() {
        Some("么") => !matches!(ends.next(), Some("什" | "怎" | "这" | "那")),
        last => matches!(last, Some("?" | "吗" | "呢" | "嘛")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each clause may begin a hundred phrases; trying them all would take a turn seconds for a long list.
    #[test]
    fn next_to_no_phrase_is_tried_on_ordinary_words() {
        for said in ["Row 7, the tide gauge shows 3.2 m.", "第7行，潮位是三米。", "error: cannot find value `x` here"]
        {
            let words = words(said);
            let all = [&CUES.explicit, &CUES.taken_back, &CUES.ordinary, &CUES.standing, &CUES.orders, &CUES.now];
            let possible: Vec<bool> = all.iter().flat_map(|phrases| phrases.possible(&words)).collect();
            let count = possible.iter().filter(|possible| **possible).count();
            assert!(count * 20 <= possible.len(), "{count} of {} for {said}", possible.len());
        }
    }
}
