//! Branches as paths: nodes that know their parent give one path per leaf.
//!
//! Nodes that say nothing (empty roots, progress lines) are links of the chain and appear on no path. Links that run in
//! a circle are cut, so every node that says something is on at least one path, whatever the file claims.
//! Only of a tree with very many branches the oldest are left out: each repeats what is above it, so that a small file
//! could fill all memory.

/// The paths to all leaves have at most so many times as many nodes as there are: a tree with at most so many leaves
/// loses none.
const REPEATED: usize = 100;
/// Nor does one whose paths have at most so many nodes together.
const FEW: usize = 200_000;

/// Nodes by number, each with its parent.
pub(super) struct Tree {
    parents: Vec<Option<usize>>,
    says: Vec<bool>,
    /// All nodes, each after its parent.
    order: Vec<usize>,
    /// The nearest node above each that says something.
    above: Vec<Option<usize>>,
    /// The first node above each, or itself.
    roots: Vec<usize>,
    /// How many nodes the path to each has.
    lengths: Vec<usize>,
}

/// The paths to the leaves of a tree.
pub(super) struct Paths {
    /// From the first node to the leaf each.
    pub(super) kept: Vec<Vec<usize>>,
    /// How many others there would be.
    pub(super) left_out: usize,
}

impl Paths {
    /// What is told of those that were left out.
    pub(super) fn told(&self) -> Option<String> {
        let count = self.left_out;
        (count > 0).then(|| format!("has too many branches to read them all: the oldest are left out, {count} of them"))
    }
}

impl Tree {
    /// A tree of nodes given as their parent and whether they say something.
    pub(super) fn new(nodes: impl IntoIterator<Item = (Option<usize>, bool)>) -> Self {
        let (parents, says): (Vec<Option<usize>>, Vec<bool>) = nodes.into_iter().unzip();
        let (above, roots, lengths) = (vec![None; says.len()], (0..says.len()).collect(), vec![1; says.len()]);
        let mut tree = Self { parents, says, order: Vec::new(), above, roots, lengths };
        tree.cut_circles();
        tree.order = tree.ordered();
        tree.look_up();
        tree
    }

    fn cut_circles(&mut self) {
        let mut visit = vec![usize::MAX; self.parents.len()];
        for start in 0..self.parents.len() {
            let mut node = start;
            visit[node] = visit[node].min(start);
            while let Some(parent) = self.parents[node].filter(|_| visit[node] == start) {
                if visit[parent] == start {
                    self.parents[node] = None;
                } else {
                    visit[parent] = visit[parent].min(start);
                    node = parent;
                }
            }
        }
    }

    /// All nodes, each after its parent.
    fn ordered(&self) -> Vec<usize> {
        let (mut order, mut is_there) = (Vec::with_capacity(self.parents.len()), vec![false; self.parents.len()]);
        for start in 0..self.parents.len() {
            let begin = order.len();
            let mut node = Some(start);
            while let Some(next) = node.filter(|node| !is_there[*node]) {
                is_there[next] = true;
                order.push(next);
                node = self.parents[next];
            }
            order[begin..].reverse();
        }
        order
    }

    /// Finds what is above each node, once for all of them.
    fn look_up(&mut self) {
        for &node in &self.order {
            let Some(parent) = self.parents[node] else { continue };
            self.roots[node] = self.roots[parent];
            self.above[node] = if self.says[parent] { Some(parent) } else { self.above[parent] };
            self.lengths[node] += self.above[node].map_or(0, |above| self.lengths[above]);
        }
    }

    /// The first node of the path, whether it says something or not.
    pub(super) fn root(&self, node: usize) -> usize {
        self.roots[node]
    }

    fn path(&self, leaf: usize) -> Vec<usize> {
        let mut path = Vec::with_capacity(self.lengths[leaf]);
        path.extend(std::iter::successors(Some(leaf), |node| self.above[*node]));
        path.reverse();
        path
    }

    fn leaves(&self) -> Vec<usize> {
        let mut is_leaf = self.says.clone();
        for above in (0..self.says.len()).filter(|node| self.says[*node]).filter_map(|node| self.above[node]) {
            is_leaf[above] = false;
        }
        (0..is_leaf.len()).filter(|node| is_leaf[*node]).collect()
    }

    /// Which nodes have a node on their path.
    fn through(&self, node: Option<usize>) -> Vec<bool> {
        let mut through = vec![false; self.says.len()];
        for &next in &self.order {
            through[next] = node == Some(next) || self.above[next].is_some_and(|above| through[above]);
        }
        through
    }

    /// The paths to the leaves, oldest leaf first by `age`; those through the selected node come last. Of too many the
    /// first are left out.
    pub(super) fn paths<K: Ord>(&self, selected: Option<usize>, age: impl Fn(usize) -> K) -> Paths {
        let selected = selected.and_then(|node| if self.says[node] { Some(node) } else { self.above[node] });
        let through = self.through(selected);
        let mut leaves = self.leaves();
        leaves.sort_by_key(|leaf| (through[*leaf], age(*leaf)));
        let mut room = self.says.len().saturating_mul(REPEATED).max(FEW);
        let fits = |leaf: &&usize| {
            let left = room.checked_sub(self.lengths[**leaf]);
            room = left.unwrap_or(0);
            left.is_some()
        };
        let left_out = leaves.len() - leaves.iter().rev().take_while(fits).count();
        Paths { kept: leaves[left_out..].iter().map(|leaf| self.path(*leaf)).collect(), left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: &[(Option<usize>, bool)], selected: Option<usize>, paths: &[&[usize]]) {
        let found = Tree::new(nodes.iter().copied()).paths(selected, |leaf| leaf);
        assert_eq!(found.told(), None);
        assert_eq!(found.kept, paths);
    }

    #[test]
    fn one_path_per_leaf_the_selected_last() {
        let nodes = [(None, false), (Some(0), true), (Some(1), true), (Some(1), true), (Some(2), false)];
        check(&nodes, None, &[&[1, 2], &[1, 3]]);
        check(&nodes, Some(2), &[&[1, 3], &[1, 2]]);
        check(&nodes, Some(4), &[&[1, 3], &[1, 2]]);
    }

    #[test]
    fn silent_nodes_are_links_and_no_leaves() {
        check(&[(None, true), (Some(0), false), (Some(1), true), (Some(2), false)], None, &[&[0, 2]]);
        check(&[(None, false)], None, &[]);
    }

    #[test]
    fn circles_are_cut() {
        check(&[(Some(1), true), (Some(2), true), (Some(0), true)], None, &[&[2, 1, 0]]);
        check(&[(Some(0), true), (Some(0), true)], None, &[&[0, 1]]);
        check(&[(Some(1), true), (Some(2), true), (Some(1), true)], None, &[&[2, 1, 0]]);
    }

    /// So many nodes in a row, each with one more leaf that nothing follows: first the row, then the leaves.
    fn comb(teeth: usize) -> Tree {
        let row = (0..teeth).map(|node| (node.checked_sub(1), true));
        Tree::new(row.chain((0..teeth).map(|node| (Some(node), true))))
    }

    #[test]
    fn of_too_many_branches_the_newest_are_kept_and_that_which_is_selected() {
        let (teeth, selected) = (1000, 1003);
        let tree = comb(teeth);
        let paths = tree.paths(Some(selected), |leaf| leaf);
        let nodes: usize = paths.kept.iter().map(Vec::len).sum();
        assert!(nodes <= 2 * teeth * REPEATED && nodes > 2 * teeth * (REPEATED - 1), "{nodes}");
        let leaves: Vec<usize> = paths.kept.iter().map(|path| path[path.len() - 1]).collect();
        let newest = 2 * teeth - (leaves.len() - 1)..2 * teeth;
        assert_eq!(leaves, newest.chain([selected]).collect::<Vec<_>>());
        assert_eq!(paths.left_out + leaves.len(), teeth);
        let told = paths.told().unwrap();
        assert!(told.contains(&format!("{} of them", paths.left_out)), "{told}");
        assert_eq!(comb(REPEATED).paths(None, |leaf| leaf).left_out, 0);
    }

    #[test]
    fn a_long_row_of_nodes_without_words_is_walked_once() {
        let silent = 50_000_usize;
        let row = (0..silent).map(|node| (node.checked_sub(1), node == 0));
        let tree = Tree::new(row.chain((0..silent).map(|_| (Some(silent - 1), true))));
        let paths = tree.paths(None, |leaf| leaf);
        assert_eq!((paths.kept.len(), paths.left_out), (silent, 0));
        assert!(paths.kept.iter().all(|path| path[0] == 0 && tree.root(path[1]) == 0));
    }
}
