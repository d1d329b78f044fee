//! Whether a window holds what answers a question, word for word.

use std::collections::BTreeMap;

use serde::Serialize;

/// How much of the evidence is in the window, over many questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// How many questions.
    pub questions: usize,
    /// The mean share of the evidence that is in the window.
    pub recall: f64,
    /// The share of questions all of whose evidence is.
    pub all: f64,
}

/// Adds up evidence, by group and in all.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    groups: BTreeMap<String, (usize, f64, usize)>,
}

impl Tally {
    /// Counts a window for a question of a group. Both lists are in order.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    pub fn count(&mut self, group: &str, window: &[usize], evidence: &[usize]) {
        let held = evidence.iter().filter(|place| window.binary_search(place).is_ok()).count();
        let sums = self.groups.entry(group.to_owned()).or_default();
        sums.0 += 1;
        sums.1 += held as f64 / evidence.len().max(1) as f64;
        sums.2 += usize::from(held == evidence.len());
    }

    /// Over all groups.
    pub fn total(&self) -> Evidence {
        evidence(self.groups.values().fold((0, 0.0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2)))
    }

    /// Group by group.
    pub fn by_group(&self) -> BTreeMap<String, Evidence> {
        self.groups.iter().map(|(group, sums)| (group.clone(), evidence(*sums))).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn evidence((questions, recall, all): (usize, f64, usize)) -> Evidence {
    let count = questions.max(1) as f64;
    Evidence { questions, recall: recall / count, all: all as f64 / count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_wholes() {
        let mut tally = Tally::default();
        tally.count("one", &[1, 2, 5], &[1, 5]);
        tally.count("two", &[1, 2, 5], &[1, 4]);
        assert_eq!(tally.total(), Evidence { questions: 2, recall: 0.75, all: 0.5 });
        assert_eq!(tally.by_group()["two"], Evidence { questions: 1, recall: 0.5, all: 0.0 });
    }
}
