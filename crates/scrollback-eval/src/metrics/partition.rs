//! How alike two groupings are.
//!
//! As in the paper on untangling chat channels (Kummerfeld and others, ACL 2019): variation of information scaled by
//! its largest value, one-to-one overlap under the best assignment, and exact threads, where threads of one message do
//! not count. Beside them the adjusted Rand index and mutual information. Conversations are pooled: no group spans two.

use std::collections::HashMap;

use serde::Serialize;

use super::assignment::largest;

/// How far our groups are those of the gold; every number is between 0 and 1, except that `ari` can be below 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// 1 − variation of information, scaled.
    pub vi: f64,
    /// The share of messages in the overlaps of the best one-to-one assignment of groups.
    pub one_to_one: f64,
    /// F1 of groups that are found exactly, those of one message aside.
    pub exact: f64,
    /// The adjusted Rand index.
    pub ari: f64,
    /// Normalised mutual information, by the mean of both entropies.
    pub nmi: f64,
}

/// Compares the groups of conversations: for each, the gold labels and ours.
pub fn agreement(pairs: &[(Vec<usize>, Vec<usize>)]) -> Agreement {
    let table = Table::of(pairs);
    Agreement {
        vi: table.vi(),
        one_to_one: table.one_to_one(),
        exact: table.exact(),
        ari: table.ari(),
        nmi: table.nmi(),
    }
}

/// How many messages each pair of groups shares; a group is a conversation and a label.
struct Table {
    cells: HashMap<(usize, usize, usize), usize>,
    gold: HashMap<(usize, usize), usize>,
    ours: HashMap<(usize, usize), usize>,
    total: usize,
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are small")]
impl Table {
    fn of(pairs: &[(Vec<usize>, Vec<usize>)]) -> Self {
        let mut table = Self { cells: HashMap::new(), gold: HashMap::new(), ours: HashMap::new(), total: 0 };
        for (i, (gold, ours)) in pairs.iter().enumerate() {
            for (&g, &o) in gold.iter().zip(ours) {
                *table.cells.entry((i, g, o)).or_default() += 1;
                *table.gold.entry((i, g)).or_default() += 1;
                *table.ours.entry((i, o)).or_default() += 1;
                table.total += 1;
            }
        }
        table
    }

    /// The entropy of groups of these sizes, in bits.
    fn entropy<'a>(&self, sizes: impl Iterator<Item = &'a usize>) -> f64 {
        let total = self.total as f64;
        // Sorted, so that sums do not depend on the order of a hash map.
        let mut sizes: Vec<usize> = sizes.copied().collect();
        sizes.sort_unstable();
        sizes.iter().map(|&size| -(size as f64 / total) * (size as f64 / total).log2()).sum()
    }

    fn entropies(&self) -> (f64, f64, f64) {
        (self.entropy(self.gold.values()), self.entropy(self.ours.values()), self.entropy(self.cells.values()))
    }

    fn vi(&self) -> f64 {
        let (gold, ours, both) = self.entropies();
        let most = (self.total as f64).log2();
        if most > 0.0 { 1.0 - (2.0 * both - gold - ours) / most } else { 1.0 }
    }

    fn nmi(&self) -> f64 {
        let (gold, ours, both) = self.entropies();
        if gold + ours > 0.0 { 2.0 * (gold + ours - both) / (gold + ours) } else { 1.0 }
    }

    fn one_to_one(&self) -> f64 {
        let mut conversations: HashMap<usize, Vec<(usize, usize, usize)>> = HashMap::new();
        for (&(i, gold, ours), &count) in &self.cells {
            conversations.entry(i).or_default().push((gold, ours, count));
        }
        let overlap: i64 = conversations.values().map(|cells| overlap(cells)).sum();
        overlap as f64 / self.total.max(1) as f64
    }

    fn exact(&self) -> f64 {
        let several = |groups: &HashMap<(usize, usize), usize>| groups.values().filter(|&&size| size > 1).count();
        let found = self.cells.iter().filter(|&(&(i, gold, ours), &count)| {
            count > 1 && self.gold[&(i, gold)] == count && self.ours[&(i, ours)] == count
        });
        let both = several(&self.gold) + several(&self.ours);
        if both == 0 { 1.0 } else { 2.0 * found.count() as f64 / both as f64 }
    }

    fn ari(&self) -> f64 {
        let pairs = |size: &usize| (size * size.saturating_sub(1) / 2) as f64;
        let (both, all) = (self.cells.values().map(pairs).sum::<f64>(), pairs(&self.total));
        let (gold, ours) = (self.gold.values().map(pairs).sum::<f64>(), self.ours.values().map(pairs).sum::<f64>());
        let chance = if all > 0.0 { gold * ours / all } else { 0.0 };
        let most = f64::midpoint(gold, ours);
        if most > chance { (both - chance) / (most - chance) } else { 1.0 }
    }
}

/// The largest overlap of groups in one conversation, each used once.
fn overlap(cells: &[(usize, usize, usize)]) -> i64 {
    let place = |label: fn(&(usize, usize, usize)) -> usize| {
        let mut labels: Vec<usize> = cells.iter().map(label).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    };
    let (gold, ours) = (place(|cell| cell.0), place(|cell| cell.1));
    let mut weights = vec![vec![0; ours.len()]; gold.len()];
    for cell in cells {
        if let (Ok(row), Ok(column)) = (gold.binary_search(&cell.0), ours.binary_search(&cell.1)) {
            weights[row][column] = i64::try_from(cell.2).unwrap_or(i64::MAX);
        }
    }
    largest(&weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(gold: &[usize], ours: &[usize], expected: [f64; 5]) {
        let Agreement { vi, one_to_one, exact, ari, nmi } = agreement(&[(gold.to_vec(), ours.to_vec())]);
        for (got, expected) in [vi, one_to_one, exact, ari, nmi].into_iter().zip(expected) {
            assert!((got - expected).abs() < 5e-4, "{gold:?} {ours:?}: {got} is not {expected}");
        }
    }

    #[test]
    fn the_same_groups_under_other_names() {
        check(&[0, 0, 1, 2], &[7, 7, 3, 5], [1.0; 5]);
    }

    #[test]
    fn computed_by_hand() {
        // Entropies: gold 1, ours 0, both 1; VI = 1 of at most 2.
        check(&[0, 0, 1, 1], &[0, 0, 0, 0], [0.5, 0.5, 0.0, 0.0, 0.0]);
        // Entropies: gold 1, ours 2, both 2; VI = 1 of at most 2; mutual information 1 of a mean of 1.5.
        check(&[0, 0, 1, 1], &[0, 1, 2, 3], [0.5, 0.5, 0.0, 0.0, 2.0 / 3.0]);
        // One message of four is misplaced: gold 1, ours 0.8113, both 1.5; pairs 1 of 2 and 3, chance 1.
        check(&[0, 0, 1, 1], &[0, 0, 0, 1], [0.4056, 0.75, 0.0, 0.0, 0.3437]);
    }

    #[test]
    fn exact_threads_leave_single_messages_out() {
        // Two of two gold threads are found; we have three: F1 = 2·2 / (2 + 3).
        check_exact(&[0, 0, 1, 1, 2, 3], &[0, 0, 1, 1, 2, 2], 0.8);
        check_exact(&[0, 1, 2], &[0, 1, 2], 1.0);
    }

    fn check_exact(gold: &[usize], ours: &[usize], expected: f64) {
        assert!((agreement(&[(gold.to_vec(), ours.to_vec())]).exact - expected).abs() < 1e-9);
    }

    #[test]
    fn conversations_do_not_share_groups() {
        let pairs = [(vec![0, 0], vec![0, 0]), (vec![0, 0], vec![0, 0])];
        assert!((agreement(&pairs).one_to_one - 1.0).abs() < 1e-9);
        assert!((agreement(&pairs).exact - 1.0).abs() < 1e-9);
    }
}
