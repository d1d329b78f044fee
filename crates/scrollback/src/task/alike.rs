//! How alike two texts are, by the words they share and what those weigh.

use std::collections::HashMap;

/// The cosine of two texts' weights: 1 where they have the same words, 0 where they share none.
pub(super) fn cosine(one: &HashMap<String, f32>, other: &HashMap<String, f32>) -> f32 {
    let shared: f32 = one.iter().filter_map(|(key, weight)| Some(weight * other.get(key)?)).sum();
    let length = |all: &HashMap<String, f32>| all.values().map(|weight| weight * weight).sum::<f32>().sqrt();
    let lengths = length(one) * length(other);
    if lengths > 0.0 { shared / lengths } else { 0.0 }
}
