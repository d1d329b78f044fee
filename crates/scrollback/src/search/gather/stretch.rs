//! Stretches of talk: what is said between two pauses.

use super::Lead;

/// Shorter silences are no pause.
const PAUSE_MICROS: i64 = 4 * 3600 * 1_000_000;
/// A pause is so many times as long as what is usual.
const UNUSUAL: i64 = 4;

/// The stretch of talk each lead belongs to: a new one begins after a pause, and where the clock goes back.
pub(super) fn stretches(leads: &[Lead]) -> Vec<usize> {
    let mut usual: Vec<i64> =
        leads.windows(2).filter(|pair| pair[1].place - pair[0].place == 1).filter_map(silence).collect();
    usual.sort_unstable();
    let usual = usual.get(usual.len() / 2).copied().unwrap_or(0);
    let mut number = 0;
    let begins = |pair: &[Lead]| {
        let steps = i64::try_from(pair[1].place - pair[0].place).unwrap_or(i64::MAX);
        let most = PAUSE_MICROS.max(usual.saturating_mul(UNUSUAL).saturating_mul(steps));
        silence(pair).is_some_and(|silence| silence < 0 || silence > most)
    };
    let mut numbers = Vec::with_capacity(leads.len());
    numbers.extend(leads.first().map(|_| 0));
    for pair in leads.windows(2) {
        number += usize::from(begins(pair));
        numbers.push(number);
    }
    numbers
}

/// How long nothing was said between two leads.
fn silence(pair: &[Lead]) -> Option<i64> {
    Some(pair[1].at?.0 - pair[0].at?.0)
}
