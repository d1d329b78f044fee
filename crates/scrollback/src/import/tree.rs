//! Branches as paths: nodes that know their parent give one path per leaf.
//!
//! Nodes that say nothing (empty roots, progress lines) are links of the chain and appear on no path. Links that run in
//! a circle are cut, so every node that says something is on at least one path, whatever the file claims.

/// Nodes by number, each with its parent.
pub(super) struct Tree {
    parents: Vec<Option<usize>>,
    says: Vec<bool>,
}

impl Tree {
    /// A tree of nodes given as their parent and whether they say something.
    pub(super) fn new(nodes: impl IntoIterator<Item = (Option<usize>, bool)>) -> Self {
        let (parents, says) = nodes.into_iter().unzip();
        let mut tree = Self { parents, says };
        tree.cut_circles();
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

    /// The nearest node above that says something.
    fn above(&self, node: usize) -> Option<usize> {
        std::iter::successors(self.parents[node], |node| self.parents[*node]).find(|node| self.says[*node])
    }

    /// The first node of the path, whether it says something or not.
    pub(super) fn root(&self, node: usize) -> usize {
        std::iter::successors(Some(node), |node| self.parents[*node]).last().unwrap_or(node)
    }

    fn path(&self, leaf: usize) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(Some(leaf), |node| self.above(*node)).collect();
        path.reverse();
        path
    }

    fn leaves(&self) -> Vec<usize> {
        let mut is_leaf = self.says.clone();
        for above in (0..self.says.len()).filter(|node| self.says[*node]).filter_map(|node| self.above(node)) {
            is_leaf[above] = false;
        }
        (0..is_leaf.len()).filter(|node| is_leaf[*node]).collect()
    }

    /// The paths to all leaves, oldest leaf first by `age`; those through the selected node come last.
    pub(super) fn paths<K: Ord>(&self, selected: Option<usize>, age: impl Fn(usize) -> K) -> Vec<Vec<usize>> {
        let selected = selected.and_then(|node| if self.says[node] { Some(node) } else { self.above(node) });
        let mut leaves = self.leaves();
        leaves.sort_by_key(|leaf| age(*leaf));
        let mut paths: Vec<Vec<usize>> = leaves.into_iter().map(|leaf| self.path(leaf)).collect();
        paths.sort_by_key(|path| selected.is_some_and(|node| path.contains(&node)));
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: &[(Option<usize>, bool)], selected: Option<usize>, paths: &[&[usize]]) {
        assert_eq!(Tree::new(nodes.iter().copied()).paths(selected, |leaf| leaf), paths);
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
}
