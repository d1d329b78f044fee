//! Taking the worthiest, one after the other: the more of a term is among what was taken, the less more of it counts,
//! so that the parts of a question that few messages tell of have their turn.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// After so much of a term, more of it counts less.
const ENOUGH: f64 = 2.0;
/// How much less: 0 nothing.
const LESS: f64 = 0.1;

/// What a lead is worth, in parts.
#[derive(Clone, Debug)]
pub(super) struct Worth {
    /// How much it has of each term.
    pub(super) held: Vec<f64>,
    /// What counts whatever was taken.
    pub(super) rest: f64,
    /// What all of it is multiplied by.
    pub(super) standing: f64,
    /// What is added to that, for its meaning.
    pub(super) apart: f64,
}

impl Worth {
    /// What it is worth if terms weigh so much.
    pub(super) fn at(&self, weights: &[f64]) -> f64 {
        let words: f64 = self.held.iter().zip(weights).map(|(held, weight)| held * weight).sum();
        self.standing * (words + self.rest) + self.apart
    }
}

/// Something that may be taken next, and what it was worth when so many had been taken.
struct Next {
    worth: f64,
    lead: usize,
    taken: usize,
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then(self.lead.cmp(&other.lead))
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Next {}

/// Numbers of leads in the order they are taken, and what each was worth then; of equals, the newest first.
pub(super) fn order(worths: &[Worth], weights: &[f64]) -> Vec<(usize, f64)> {
    let (mut sums, mut left) = (vec![0.0; weights.len()], weights.to_vec());
    let next = |(lead, worth): (usize, &Worth)| Next { worth: worth.at(weights), lead, taken: 0 };
    let mut heap: BinaryHeap<Next> = worths.iter().enumerate().map(next).collect();
    let mut order = Vec::with_capacity(worths.len());
    while let Some(next) = heap.pop() {
        // Nothing gains by what is taken: whoever is first with a true worth stays first.
        if next.taken < order.len() {
            heap.push(Next { worth: worths[next.lead].at(&left), taken: order.len(), ..next });
            continue;
        }
        order.push((next.lead, next.worth));
        for (term, held) in worths[next.lead].held.iter().enumerate().filter(|(_, held)| **held > 0.0) {
            sums[term] += held;
            left[term] = weights[term] * (1.0_f64 + sums[term] / ENOUGH).powf(-LESS);
        }
    }
    order
}
