//! The best one-to-one assignment of rows to columns, exactly.

/// The largest sum of weights in which every row and every column is used at most once.
///
/// The Hungarian method with potentials, on costs `-weight`; a missing cell weighs nothing.
pub(super) fn largest(weights: &[Vec<i64>]) -> i64 {
    let columns = weights.iter().map(Vec::len).max().unwrap_or(0);
    let size = weights.len().max(columns);
    let mut search = Search::new(size);
    for row in 1..=size {
        search.place(row, |row, column| weights.get(row - 1).and_then(|row| row.get(column - 1)).map_or(0, |w| -w));
    }
    let taken = (1..=size).map(|column| (search.row_of[column], column));
    taken.map(|(row, column)| weights.get(row - 1).and_then(|row| row.get(column - 1)).copied().unwrap_or(0)).sum()
}

/// Rows and columns are numbered from 1; 0 is the row being placed.
struct Search {
    size: usize,
    row_price: Vec<i64>,
    column_price: Vec<i64>,
    row_of: Vec<usize>,
}

impl Search {
    fn new(size: usize) -> Self {
        Self { size, row_price: vec![0; size + 1], column_price: vec![0; size + 1], row_of: vec![0; size + 1] }
    }

    /// Gives a row a column, moving others along the cheapest path.
    fn place(&mut self, row: usize, cost: impl Fn(usize, usize) -> i64) {
        self.row_of[0] = row;
        let mut slack = vec![i64::MAX; self.size + 1];
        let mut came_from = vec![0; self.size + 1];
        let mut seen = vec![false; self.size + 1];
        let mut column = 0;
        while self.row_of[column] != 0 {
            seen[column] = true;
            let row = self.row_of[column];
            for other in (1..=self.size).filter(|&other| !seen[other]) {
                let reduced = cost(row, other) - self.row_price[row] - self.column_price[other];
                if reduced < slack[other] {
                    slack[other] = reduced;
                    came_from[other] = column;
                }
            }
            let nearest = (1..=self.size).filter(|&other| !seen[other]).min_by_key(|&other| slack[other]);
            let nearest = nearest.expect("there are as many columns as rows");
            let by = slack[nearest];
            self.reprice(&mut slack, &seen, by);
            column = nearest;
        }
        while column != 0 {
            self.row_of[column] = self.row_of[came_from[column]];
            column = came_from[column];
        }
    }

    fn reprice(&mut self, slack: &mut [i64], seen: &[bool], by: i64) {
        for column in 0..=self.size {
            if seen[column] {
                self.row_price[self.row_of[column]] += by;
                self.column_price[column] -= by;
            } else if slack[column] != i64::MAX {
                slack[column] -= by;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greed_is_not_enough() {
        assert_eq!(largest(&[vec![9, 8], vec![8, 1]]), 16);
        assert_eq!(largest(&[vec![3, 0, 0], vec![2, 1, 0]]), 4);
        assert_eq!(largest(&[vec![1], vec![5], vec![2]]), 5);
        assert_eq!(largest(&[]), 0);
    }

    #[test]
    fn it_is_the_best_of_all_orders() {
        let mut seed = 7_i64;
        for _ in 0..50 {
            let mut next = || {
                seed = (seed * 48271) % 2_147_483_647;
                seed % 10
            };
            let weights: Vec<Vec<i64>> = (0..5).map(|_| (0..5).map(|_| next()).collect()).collect();
            assert_eq!(largest(&weights), best(&weights, 0, &mut [false; 5]));
        }
    }

    fn best(weights: &[Vec<i64>], row: usize, used: &mut [bool; 5]) -> i64 {
        let Some(cells) = weights.get(row) else { return 0 };
        let mut most = 0;
        for column in 0..5 {
            if !used[column] {
                used[column] = true;
                most = most.max(cells[column] + best(weights, row + 1, used));
                used[column] = false;
            }
        }
        most
    }
}
