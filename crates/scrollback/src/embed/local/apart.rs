//! How much tokens look at each other by how far apart they are, which `MPNet` learns beside their places.
//!
//! Distances are put into baskets, half of them for what comes later: one for each small distance, and ever wider ones
//! up to 128 tokens. A basket has a number for every head, the same in all layers.

use ndarray::Array2;

use super::weights::Weights;
use crate::error::Result;

/// From this distance on all are far.
const FAR: f32 = 128.0;
/// With so many baskets every distance up to there would have one of its own.
const MOST_BASKETS: usize = 512;

/// A number for each basket and head.
pub(super) struct Apart(Array2<f32>);

impl Apart {
    pub(super) fn read(weights: &Weights, name: &str) -> Result<Self> {
        Ok(Self(weights.matrix(name)?))
    }

    /// Whether there is a number for each head, two baskets each way, and some of them for more than one distance.
    pub(super) fn fits(&self, heads: usize) -> bool {
        let baskets = self.0.nrows();
        self.0.ncols() == heads && (4..MOST_BASKETS).contains(&baskets) && baskets.is_multiple_of(4)
    }

    /// Adds what distances count for a head to how tokens (rows) look at tokens (columns).
    pub(super) fn add(&self, head: usize, scores: &mut Array2<f32>) {
        let count = scores.nrows();
        let mut by_distance = Vec::with_capacity(2 * count);
        // From the first token seen by the last to the last seen by the first.
        by_distance.extend((0..count).rev().map(|back| self.0[[self.basket(back, false), head]]));
        by_distance.extend((1..count).map(|ahead| self.0[[self.basket(ahead, true), head]]));
        for (row, mut seen) in scores.rows_mut().into_iter().enumerate() {
            for (score, number) in seen.iter_mut().zip(&by_distance[count - 1 - row..]) {
                *score += number;
            }
        }
    }

    /// The basket of a distance.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "there are few baskets, and texts are short"
    )]
    fn basket(&self, distance: usize, is_ahead: bool) -> usize {
        let each_way = self.0.nrows() / 2;
        let single = each_way / 2;
        let basket = if distance < single {
            distance
        } else {
            let share = (distance as f32 / single as f32).ln() / (FAR / single as f32).ln();
            (single + (share * (each_way - single) as f32) as usize).min(each_way - 1)
        };
        basket + if is_ahead { each_way } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_distances_have_baskets_of_their_own_and_far_ones_share_theirs() {
        let apart = Apart(Array2::zeros((32, 1)));
        let baskets = [0, 1, 7, 8, 11, 12, 16, 64, 90, 91, 127, 128, 500].map(|distance| apart.basket(distance, false));
        assert_eq!(baskets, [0, 1, 7, 8, 8, 9, 10, 14, 14, 15, 15, 15, 15]);
        assert_eq!([1, 8, 500].map(|distance| apart.basket(distance, true)), [17, 24, 31]);
    }

    #[test]
    fn baskets_that_make_no_sense_do_not_fit() {
        let fits = |baskets, heads| Apart(Array2::zeros((baskets, heads))).fits(2);
        assert!(fits(32, 2) && fits(4, 2) && fits(508, 2));
        assert!(!fits(32, 3) && !fits(0, 2) && !fits(6, 2) && !fits(512, 2));
    }

    #[test]
    fn each_token_gets_what_its_distance_counts() {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let apart = Apart(Array2::from_shape_fn((32, 2), |(basket, head)| (100 * head + basket) as f32));
        let mut scores = Array2::zeros((3, 3));
        apart.add(1, &mut scores);
        assert_eq!(scores, ndarray::array![[100.0, 117.0, 118.0], [101.0, 100.0, 117.0], [102.0, 101.0, 100.0]]);
    }
}
