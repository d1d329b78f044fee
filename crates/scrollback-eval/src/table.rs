//! What a suite measured, in the one shape that every report shows: tables of numbers, and lines to draw.

use std::cmp::Ordering;

use scrollback::window::grouped;
use serde::{Deserialize, Serialize};

/// A table of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What was measured, of what.
    pub title: String,
    /// What there is to know to read it, in a sentence or two.
    pub about: String,
    /// What stands over its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// What may be drawn of it.
    pub plot: Option<Plot>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// What stands over it.
    pub name: String,
    /// Which numbers are good.
    pub good: Good,
    /// How many digits stand after the point.
    pub digits: usize,
}

/// Which numbers of a column are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Good {
    /// Large ones.
    High,
    /// Small ones.
    Low,
    /// They are neither good nor bad.
    Neither,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// Whether it is Scrollback, and no baseline.
    pub ours: bool,
    /// Whether it is a bound that nothing can pass, and no contender: what is best is best without it.
    #[serde(default)]
    pub limit: bool,
    /// A number for each column, as far as there is one.
    pub cells: Vec<Option<f64>>,
}

impl Table {
    /// The best number of a column, bounds aside; none where numbers are neither good nor bad, or where nothing is
    /// compared with us.
    pub fn best(&self, column: usize) -> Option<f64> {
        let numbers = || self.rows.iter().filter(|row| !row.limit).filter_map(|row| row.number(column));
        let best = match self.columns.get(column)?.good {
            Good::High => numbers().max_by(f64::total_cmp),
            Good::Low => numbers().min_by(f64::total_cmp),
            Good::Neither => None,
        };
        let is_other = |row: &Row| !row.ours && !row.limit && row.number(column).is_some();
        best.filter(|_| self.rows.iter().any(is_other))
    }

    /// Whether a row is Scrollback's and as good in a column as any, as far as digits are shown.
    pub fn wins(&self, row: &Row, column: usize) -> bool {
        let (Some(best), Some(number), Some(head)) = (self.best(column), row.number(column), self.columns.get(column))
        else {
            return false;
        };
        row.ours && head.shown(best) == head.shown(number)
    }

    /// The number in a row and a column, by their names.
    pub fn number(&self, row: &str, column: &str) -> Option<f64> {
        let column = self.columns.iter().position(|one| one.name == column)?;
        self.rows.iter().find(|one| one.name == row)?.number(column)
    }
}

impl Column {
    /// A number as it stands in this column: large ones in groups of three digits.
    pub fn shown(&self, number: f64) -> String {
        let plain = format!("{number:.*}", self.digits);
        let (sign, rest) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
        let (whole, tail) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
        match (whole.len().cmp(&4), whole.parse::<u64>()) {
            (Ordering::Greater, Ok(whole)) => format!("{sign}{}{tail}", grouped(whole)),
            _ => plain,
        }
    }
}

impl Row {
    /// The number in a column.
    pub fn number(&self, column: usize) -> Option<f64> {
        self.cells.get(column).copied().flatten().filter(|number| number.is_finite())
    }
}

/// A drawing: a line for each row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// What runs to the right.
    pub x: String,
    /// What rises.
    pub y: String,
    /// Whether each step to the right is a multiple of the one before.
    pub logarithmic: bool,
    /// The lines, in the order of the rows.
    pub lines: Vec<Line>,
}

/// A line of a drawing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Whose it is.
    pub name: String,
    /// Whether it is Scrollback's.
    pub ours: bool,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(good: Good) -> Table {
        let row = |name: &str, number| Row {
            name: name.into(),
            ours: name == "ours",
            limit: name == "bound",
            cells: vec![Some(number)],
        };
        let rows = vec![row("other", 81.0), row("bound", 100.0), row("ours", 84.04), row("close", 84.0)];
        let columns = vec![Column { name: "2k".into(), good, digits: 1 }];
        Table { title: "t".into(), about: String::new(), columns, rows, plot: None }
    }

    #[test]
    fn the_best_is_best_without_bounds() {
        assert_eq!((table(Good::High).best(0), table(Good::Low).best(0)), (Some(84.04), Some(81.0)));
        assert_eq!((table(Good::Neither).best(0), table(Good::High).best(1)), (None, None));
        let won = |table: &Table| table.rows.iter().map(|row| table.wins(row, 0)).collect::<Vec<_>>();
        assert_eq!(won(&table(Good::High)), [false, false, true, false]);
        assert_eq!(won(&table(Good::Low)), [false; 4]);
        let mut alone = table(Good::High);
        alone.rows.retain(|row| row.ours || row.limit);
        assert_eq!(alone.best(0), None);
        assert_eq!(table(Good::Low).number("close", "2k"), Some(84.0));
    }

    #[test]
    fn numbers_are_shown_with_their_digits() {
        let column = |digits| Column { name: String::new(), good: Good::High, digits };
        assert_eq!(column(1).shown(84.04), "84.0");
        assert_eq!(column(0).shown(10_000_000.0), "10,000,000");
        assert_eq!(column(1).shown(-12_345.67), "-12,345.7");
    }
}
