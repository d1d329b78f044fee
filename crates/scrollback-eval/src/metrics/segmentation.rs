//! How well cuts are placed, where one topic follows another.
//!
//! Pk and `WindowDiff` slide a window of half a mean gold segment over a conversation and count the places where gold
//! and ours disagree on whether, or how often, it is cut. Both and F1 are means over conversations, the score is the
//! one of `SuperDialseg`.

use serde::Serialize;

/// The narrowest window.
const LEAST_WINDOW: usize = 2;

/// How well conversations were cut; `pk` and `window_diff` are errors, the less the better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cuts {
    /// How often the ends of a window are wrongly held for one topic, or for two.
    pub pk: f64,
    /// How often the number of cuts in a window is wrong.
    pub window_diff: f64,
    /// F1 of cuts at exactly the right place.
    pub f1: f64,
    /// (2·F1 + (1 − Pk) + (1 − `WindowDiff`)) / 4.
    pub score: f64,
}

/// Scores the cuts of conversations: for each, the gold labels and ours.
#[expect(clippy::cast_precision_loss, reason = "counts of messages are small")]
pub fn cuts(pairs: &[(Vec<usize>, Vec<usize>)]) -> Cuts {
    let mut sum = Cuts::default();
    for (gold, ours) in pairs {
        let (gold, ours) = (cut(gold), cut(ours));
        let (pk, window_diff) = windows(&gold, &ours);
        sum.pk += pk;
        sum.window_diff += window_diff;
        sum.f1 += f1(&gold, &ours);
    }
    let count = pairs.len().max(1) as f64;
    let (pk, window_diff, f1) = (sum.pk / count, sum.window_diff / count, sum.f1 / count);
    Cuts { pk, window_diff, f1, score: (2.0 * f1 + (1.0 - pk) + (1.0 - window_diff)) / 4.0 }
}

/// Where the topic changes: one for each pair of neighbours.
fn cut(labels: &[usize]) -> Vec<bool> {
    labels.windows(2).map(|pair| pair[0] != pair[1]).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are small")]
fn windows(gold: &[bool], ours: &[bool]) -> (f64, f64) {
    let count = |cuts: &[bool]| cuts.iter().filter(|&&cut| cut).count();
    let (messages, segments) = (gold.len() + 1, count(gold) + 1);
    // Half of the mean segment, rounded.
    let width = ((messages + segments) / (2 * segments)).max(LEAST_WINDOW);
    let both = gold.windows(width).zip(ours.windows(width));
    let (mut places, mut apart, mut amount) = (0, 0, 0);
    for (gold, ours) in both.map(|(gold, ours)| (count(gold), count(ours))) {
        places += 1;
        apart += usize::from((gold > 0) != (ours > 0));
        amount += usize::from(gold != ours);
    }
    let places = f64::from(places.max(1));
    (apart as f64 / places, amount as f64 / places)
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are small")]
fn f1(gold: &[bool], ours: &[bool]) -> f64 {
    let hits = gold.iter().zip(ours).filter(|&(&gold, &ours)| gold && ours).count();
    let both = gold.iter().chain(ours).filter(|&&cut| cut).count();
    if both == 0 { 1.0 } else { 2.0 * hits as f64 / both as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(gold: &[usize], ours: &[usize], expected: [f64; 4]) {
        let Cuts { pk, window_diff, f1, score } = cuts(&[(gold.to_vec(), ours.to_vec())]);
        for (got, expected) in [pk, window_diff, f1, score].into_iter().zip(expected) {
            assert!((got - expected).abs() < 1e-9, "{ours:?}: {got} is not {expected}");
        }
    }

    /// Eight messages in two segments of four: windows span two neighbours, there are six.
    const GOLD: [usize; 8] = [0, 0, 0, 0, 1, 1, 1, 1];

    #[test]
    fn right_is_right_whatever_it_is_called() {
        check(&GOLD, &[4, 4, 4, 4, 2, 2, 2, 2], [0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn computed_by_hand() {
        // Two of six windows hold the cut that is missed.
        check(&GOLD, &[0; 8], [2.0 / 6.0, 2.0 / 6.0, 0.0, (4.0 / 6.0 * 2.0) / 4.0]);
        // One place too late: the windows before and after it are wrong, the one with both is not.
        check(&GOLD, &[0, 0, 0, 0, 0, 1, 1, 1], [2.0 / 6.0, 2.0 / 6.0, 0.0, (4.0 / 6.0 * 2.0) / 4.0]);
        // Cut everywhere: four windows are wrong for Pk, all for WindowDiff; 1 of 1 and 7 cuts, F1 = 2 / 8.
        check(&GOLD, &[0, 1, 2, 3, 4, 5, 6, 7], [4.0 / 6.0, 1.0, 0.25, (0.5 + 2.0 / 6.0) / 4.0]);
    }

    #[test]
    fn one_segment_needs_no_cut() {
        check(&[0, 0, 0], &[0, 0, 0], [0.0, 0.0, 1.0, 1.0]);
    }
}
