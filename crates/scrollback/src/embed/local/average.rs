//! Static models (model2vec): a vector for each token, and a text is the mean of its tokens. Fast, and knows nothing of
//! their order.

use ndarray::{Array1, Array2};

use super::bert::normalised;
use super::weights::Weights;
use crate::error::{Error, Result};

/// A vector for each token.
pub(super) struct Table {
    vectors: Array2<f32>,
    /// How much each counts, where they do not count alike.
    weights: Option<Array1<f32>>,
}

impl Table {
    pub(super) fn new(weights: &Weights) -> Result<Self> {
        if weights.has("mapping") {
            return Err(Error::Invalid("the static model shares vectors between tokens, which cannot be read".into()));
        }
        let vectors = weights.matrix("embeddings")?;
        let weights = if weights.has("weights") { Some(weights.row("weights")?) } else { None };
        Ok(Self { vectors, weights })
    }

    /// The vector of a text, of length one; all zeros if it has no token that is known.
    pub(super) fn embed(&self, tokens: &[u32]) -> Vec<f32> {
        let mut sum = Array1::zeros(self.vectors.ncols());
        for token in tokens.iter().map(|token| *token as usize).filter(|token| *token < self.vectors.nrows()) {
            let weight = self.weights.as_ref().and_then(|weights| weights.get(token)).copied().unwrap_or(1.0);
            sum.scaled_add(weight, &self.vectors.row(token));
        }
        normalised(&sum)
    }
}
