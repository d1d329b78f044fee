//! Fitting a window: the worthiest first, whatever no longer fits is passed over.

use std::collections::BTreeMap;

use super::score::Scored;
use crate::ids::At;

/// Micros in a day.
const DAY: i64 = 24 * 3600 * 1_000_000;
/// When so many in a row do not fit, the window is full.
const MISSES: usize = 64;

/// How much may be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Tokens for all quotes together.
    pub tokens: u32,
    /// What a line costs that names a day; one stands wherever the day changes.
    pub day_tokens: u32,
}

/// Chooses, in the order of the log.
pub(super) fn pack(scored: &Scored, room: Room) -> Vec<u64> {
    let mut packed = Packed { left: room.tokens, day_tokens: room.day_tokens, days: BTreeMap::new() };
    let mut misses = 0;
    for (i, _) in scored.order() {
        let lead = &scored.leads[i];
        if packed.take(lead.place, day(lead.at), lead.tokens) {
            misses = 0;
        } else {
            misses += 1;
        }
        if misses == MISSES {
            break;
        }
    }
    packed.days.into_keys().collect()
}

/// The day something was said on, by number.
fn day(at: Option<At>) -> Option<i64> {
    at.map(|at| at.0.div_euclid(DAY))
}

struct Packed {
    left: u32,
    day_tokens: u32,
    /// What was chosen, and its day.
    days: BTreeMap<u64, Option<i64>>,
}

impl Packed {
    /// Takes a message if it fits.
    fn take(&mut self, place: u64, day: Option<i64>, tokens: u32) -> bool {
        let before = self.days.range(..place).next_back().map(|(_, day)| *day);
        let after = self.days.range(place..).next().map(|(_, day)| *day);
        let costs = |before: Option<Option<i64>>, day: Option<i64>| {
            if day.is_some() && before != Some(day) { self.day_tokens } else { 0 }
        };
        let lines = costs(before, day) + after.map_or(0, |after| costs(Some(day), after));
        let fewer = after.map_or(0, |after| costs(before, after));
        let Some(left) = (self.left + fewer).checked_sub(tokens.saturating_add(lines)) else { return false };
        self.left = left;
        self.days.insert(place, day);
        true
    }
}
