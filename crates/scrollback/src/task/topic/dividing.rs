//! Dividing units that are too many for one topic: by words first, then where talk paused or turned to something else.

use std::collections::HashSet;

use super::super::partition::{Choice, Unit, partition};
use super::placing::Talk;
use crate::quote::keys;

/// How many topics one is divided into at most.
pub(super) const MOST_GROUPS: usize = 8;
/// No group has more than so many of ten tokens, if that can be avoided.
pub(super) const TENTHS: u64 = 7;
/// How many units on each side of a cut are compared.
const NEAR: usize = 3;

/// A group for each unit, at least two of them if there are two units.
pub(super) fn divided(talk: Talk<'_>) -> Vec<usize> {
    let units = talk.units();
    let choices = partition(&units, &[]);
    divided_further(talk, &units, &choices)
}

/// The same, of what is sorted already.
fn divided_further(talk: Talk<'_>, units: &[Unit], choices: &[Choice]) -> Vec<usize> {
    let mut dividing = Dividing::new(talk, units, choices);
    dividing.cut();
    dividing.join();
    let mut groups = vec![0; dividing.units.len()];
    for (number, piece) in dividing.pieces.iter().enumerate() {
        for unit in piece {
            groups[*unit] = number;
        }
    }
    groups
}

/// What is wrong with a division; nothing if it divides.
pub(super) fn fault(talk: Talk<'_>, groups: &[usize]) -> Option<String> {
    let mut sizes: Vec<u64> = Vec::new();
    for (unit, group) in groups.iter().enumerate() {
        sizes.resize(sizes.len().max(group + 1), 0);
        sizes[*group] += talk.tokens(unit);
    }
    let total: u64 = sizes.iter().sum();
    let too_large = |size: u64| size * 10 > total * TENTHS;
    let avoidable = !(0..groups.len()).any(|unit| too_large(talk.tokens(unit)));
    if sizes.len() < 2 && groups.len() > 1 {
        Some("everything is in one <topic>: at least two are wanted".to_owned())
    } else if sizes.len() > MOST_GROUPS {
        Some(format!("there are {} topics: at most {MOST_GROUPS} are wanted", sizes.len()))
    } else if avoidable && sizes.into_iter().any(too_large) {
        Some("one <topic> has nearly everything: divide that one too".to_owned())
    } else {
        None
    }
}

/// A unit, as far as it matters here.
struct Said {
    tokens: u64,
    keys: HashSet<String>,
    at: i64,
}

struct Dividing {
    units: Vec<Said>,
    /// Units by their numbers, in order.
    pieces: Vec<Vec<usize>>,
    total: u64,
}

impl Dividing {
    fn new(talk: Talk<'_>, words: &[Unit], choices: &[Choice]) -> Self {
        let said = |(unit, words): (usize, &Unit)| Said {
            tokens: talk.tokens(unit),
            keys: keys(&words.text).into_iter().collect(),
            at: words.at.0,
        };
        let units: Vec<Said> = words.iter().enumerate().map(said).collect();
        let mut pieces: Vec<Vec<usize>> = vec![Vec::new(); units.len()];
        for unit in 0..units.len() {
            let group = match choices.get(unit) {
                Some(Choice::Fresh(group)) => (*group).min(units.len() - 1),
                Some(Choice::Known(_)) | None => 0,
            };
            pieces[group].push(unit);
        }
        pieces.retain(|piece| !piece.is_empty());
        let total = units.iter().map(|unit| unit.tokens).sum();
        Self { units, pieces, total }
    }

    fn tokens(&self, piece: &[usize]) -> u64 {
        piece.iter().map(|unit| self.units[*unit].tokens).sum()
    }

    fn is_too_large(&self, tokens: u64) -> bool {
        tokens * 10 > self.total * TENTHS
    }

    /// Cuts pieces that are too large until none is, or they are single units.
    fn cut(&mut self) {
        let is_large =
            |dividing: &Self, piece: &[usize]| piece.len() > 1 && dividing.is_too_large(dividing.tokens(piece));
        while let Some(at) = self.pieces.iter().position(|piece| is_large(self, piece)) {
            let place = self.best_cut(&self.pieces[at]);
            let rest = self.pieces[at].split_off(place);
            self.pieces.push(rest);
        }
    }

    /// Where a piece falls apart best: neither side too large, a long pause, other words.
    fn best_cut(&self, piece: &[usize]) -> usize {
        let whole = self.tokens(piece);
        let pause = |at: usize| self.units[piece[at]].at.saturating_sub(self.units[piece[at - 1]].at).max(0);
        let longest = (1..piece.len()).map(pause).max().unwrap_or(0);
        let mut left = 0;
        let mut best = (1, f64::MIN);
        for at in 1..piece.len() {
            left += self.units[piece[at - 1]].tokens;
            let larger = left.max(whole - left);
            let penalty = if self.is_too_large(larger) { 10.0 * part(larger, self.total) } else { 0.0 };
            let paused = scaled(pause(at)) / scaled(longest).max(1.0);
            let score = paused + self.change(piece, at) + (1.0 - part(larger, whole)) - penalty;
            if score > best.1 {
                best = (at, score);
            }
        }
        best.0
    }

    /// How much the words change at a place, from 0 to 1.
    fn change(&self, piece: &[usize], at: usize) -> f64 {
        let words = |units: &[usize]| -> HashSet<&str> {
            units.iter().flat_map(|unit| self.units[*unit].keys.iter().map(String::as_str)).collect()
        };
        let before = words(&piece[at.saturating_sub(NEAR)..at]);
        let after = words(&piece[at..(at + NEAR).min(piece.len())]);
        let fewer = before.len().min(after.len()) as u64;
        1.0 - part(before.intersection(&after).count() as u64, fewer.max(1))
    }

    /// Joins the smallest pieces until there are few enough; two of nine are never too large.
    fn join(&mut self) {
        while self.pieces.len() > MOST_GROUPS {
            let Some(small) = self.smallest() else { return };
            let small = self.pieces.swap_remove(small);
            let Some(beside) = self.beside(&small).or_else(|| self.smallest()) else { return };
            self.pieces[beside].extend(small);
            self.pieces[beside].sort_unstable();
        }
        self.pieces.sort_by_key(|piece| piece.first().copied());
    }

    fn smallest(&self) -> Option<usize> {
        (0..self.pieces.len()).min_by_key(|piece| self.tokens(&self.pieces[*piece]))
    }

    /// The piece that was spoken of just before, if both together stay small.
    fn beside(&self, small: &[usize]) -> Option<usize> {
        let before = small.first()?.checked_sub(1)?;
        let beside = self.pieces.iter().position(|piece| piece.contains(&before))?;
        let both = self.tokens(small) + self.tokens(&self.pieces[beside]);
        (both * 2 <= self.total).then_some(beside)
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares need no digits beyond these")]
fn part(some: u64, of: u64) -> f64 {
    some as f64 / of.max(1) as f64
}

/// A pause, so that hours count more than minutes but not sixty times as much.
#[expect(clippy::cast_precision_loss, reason = "pauses need no digits beyond these")]
fn scaled(pause: i64) -> f64 {
    (1.0 + pause as f64 / 60e6).ln()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Arc;

    use super::super::testing::said;
    use super::*;
    use crate::store::Stored;
    use proptest::prelude::*;

    /// What becomes of units that are alike.
    fn cut(messages: &[Arc<Stored>], units: &[Range<usize>]) -> Vec<usize> {
        let talk = Talk { messages, units };
        divided_further(talk, &talk.units(), &vec![Choice::Fresh(0); units.len()])
    }

    #[test]
    fn talk_is_cut_where_it_turns_or_pauses() {
        let bread = ("user", "How long does the sourdough bread rise in the oven?");
        let link = ("user", "Why does the linker fail with a missing symbol?");
        let mut messages = said(&[bread, bread, bread, link, link, link]);
        let units: Vec<Range<usize>> = (0..6).map(|at| at..at + 1).collect();
        assert_eq!(cut(&messages, &units), [0, 0, 0, 1, 1, 1]);
        messages = said(&[bread; 6]);
        for stored in &mut messages[2..] {
            Arc::make_mut(stored).at.0 += 3_600_000_000 * 24;
        }
        assert_eq!(cut(&messages, &units), [0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn faults_are_named() {
        let messages = said(&[("user", "a b c"); 10]);
        let units: Vec<Range<usize>> = (0..10).map(|at| at..at + 1).collect();
        let talk = Talk { messages: &messages, units: &units };
        assert!(fault(talk, &[0; 10]).unwrap().contains("two"));
        assert!(fault(talk, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 8]).unwrap().contains('9'));
        assert!(fault(talk, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]).unwrap().contains("nearly"));
        assert_eq!(fault(talk, &[0, 0, 0, 0, 0, 0, 0, 1, 1, 1]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn whatever_is_divided_is_divided(sizes in prop::collection::vec(0_u32..200, 0..30)) {
            let mut messages = said(&vec![("user", "The gauge fails."); sizes.len()]);
            for (stored, size) in messages.iter_mut().zip(&sizes) {
                Arc::make_mut(stored).measure.tokens = *size;
            }
            let units: Vec<Range<usize>> = (0..sizes.len()).map(|at| at..at + 1).collect();
            let talk = Talk { messages: &messages, units: &units };
            let groups = divided(talk);
            prop_assert_eq!(groups.len(), sizes.len());
            prop_assert_eq!(fault(talk, &groups), None);
            prop_assert_eq!(fault(talk, &cut(&messages, &units)), None);
            let many: Vec<Choice> = (0..sizes.len()).map(Choice::Fresh).collect();
            prop_assert_eq!(fault(talk, &divided_further(talk, &talk.units(), &many)), None);
        }
    }
}
