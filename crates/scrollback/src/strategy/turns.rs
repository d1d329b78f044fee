//! How a path falls into pieces that may not be parted: a call and its results, a turn, a page.

use crate::message::{Part, Role};
use crate::note::Covers;
use crate::store::Stored;

/// Whether a message answers calls of the message before it.
fn answers(stored: &Stored) -> bool {
    // Reading every message takes long; one that nowhere says "result" or "output" holds none.
    let may = || ["result", "output"].iter().any(|word| stored.raw.get().contains(word));
    let holds = || stored.message().parts().iter().any(|part| matches!(part, Part::Result { .. }));
    stored.role == Role::Tool || may() && holds()
}

/// Whether a message begins a turn: a person speaks.
fn begins_turn(stored: &Stored) -> bool {
    stored.role == Role::User && !answers(stored)
}

/// How many turns begin in a stretch.
pub(super) fn count(messages: &[Stored]) -> u32 {
    u32::try_from(messages.iter().filter(|stored| begins_turn(stored)).count()).expect("fewer turns than 2^32")
}

/// Where the last turn begins; 0 if none does.
pub(super) fn last(messages: &[Stored]) -> usize {
    messages.iter().rposition(begins_turn).unwrap_or(0)
}

/// The pages of a stretch as ranges: one for each turn, several for a turn of more than `most` tokens. A call is never
/// parted from its results.
pub(super) fn pages(messages: &[Stored], most: u32) -> Vec<std::ops::Range<usize>> {
    let mut pages: Vec<std::ops::Range<usize>> = Vec::new();
    let mut tokens = 0_u32;
    for (i, stored) in messages.iter().enumerate() {
        let full = tokens.saturating_add(stored.measure.tokens) > most && !answers(stored);
        match pages.last_mut() {
            Some(page) if !begins_turn(stored) && !full => page.end = i + 1,
            _ => {
                pages.push(i..i + 1);
                tokens = 0;
            }
        }
        tokens = tokens.saturating_add(stored.measure.tokens);
    }
    pages
}

/// What a range of messages covers.
pub(super) fn covers(messages: &[Stored], range: &std::ops::Range<usize>) -> Option<Covers> {
    let (first, last) = (messages[range.start].position()?, messages[range.end - 1].position()?);
    Some(Covers { first: first.id, from: first.depth, last: last.id, to: last.depth })
}
