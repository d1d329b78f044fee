//! What was measured, for people: Markdown, and a page of HTML. For programs, everything measured serializes.
//!
//! Every suite hands back tables; what they say is told here, once for all of them. `tables` turns what the older
//! suites measured into tables.

pub mod html;
pub mod markdown;
mod plot;
mod tables;

use serde::{Deserialize, Serialize};

use crate::scorecard::Scored;
use crate::table::{Good, Table};

/// What one suite measured on one dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The suite, by the word that runs it.
    pub suite: String,
    /// The name of the dataset.
    pub dataset: String,
    /// What was measured.
    pub tables: Vec<Table>,
    /// What else was, for those who look closer.
    #[serde(default)]
    pub details: Vec<Table>,
}

/// Everything a report tells.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The program that was measured.
    pub version: &'a str,
    /// What a person wants to have said about it: when, where, of which commit.
    pub note: Option<&'a str>,
    /// What was measured; those of one suite follow one another.
    pub findings: &'a [Finding],
    /// What was wanted, and whether it was reached.
    pub goals: &'a [Scored],
}

impl<'a> Report<'a> {
    /// The findings, suite by suite.
    fn suites(&self) -> impl Iterator<Item = &'a [Finding]> + use<'a> {
        self.findings.chunk_by(|a, b| a.suite == b.suite)
    }

    /// How many goals were reached, of how many.
    fn goals_met(&self) -> (usize, usize) {
        (self.goals.iter().filter(|goal| goal.is_met()).count(), self.goals.len())
    }
}

/// In how many columns Scrollback is best or as good as any, of how many where that can be said.
fn won(findings: &[Finding]) -> (usize, usize) {
    let (mut won, mut all) = (0, 0);
    for table in findings.iter().flat_map(|finding| &finding.tables) {
        let compared = |column: &usize| table.best(*column).is_some() && table.rows.iter().any(|row| row.ours);
        for column in (0..table.columns.len()).filter(compared) {
            all += 1;
            won += usize::from(table.rows.iter().any(|row| table.wins(row, column)));
        }
    }
    (won, all)
}

/// What stands over a column, with an arrow where low numbers are good.
fn head(table: &Table, column: usize) -> String {
    let column = &table.columns[column];
    match column.good {
        Good::Low => format!("{} ↓", column.name),
        Good::High | Good::Neither => column.name.clone(),
    }
}

/// A word with its first letter large.
fn titled(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A table for tests: ours beside a baseline.
#[cfg(test)]
pub(crate) fn small(title: &str) -> Finding {
    use crate::table::{Column, Line, Plot, Row};
    let column = |name: &str, good| Column { name: name.into(), good, digits: 1 };
    let row = |name: &str, ours, cells: [f64; 2]| Row {
        name: name.into(),
        ours,
        limit: false,
        cells: cells.map(Some).to_vec(),
    };
    let line = |name: &str, ours, y| Line { name: name.into(), ours, points: vec![(1_000.0, y), (2_000.0, y + 10.0)] };
    let plot = Plot {
        x: "tokens".into(),
        y: "percent".into(),
        logarithmic: true,
        lines: vec![line("BM25", false, 50.0), line("Scrollback", true, 70.0)],
    };
    let table = Table {
        title: title.into(),
        about: "Two questions.".into(),
        columns: vec![column("2k", Good::High), column("cost", Good::Low)],
        rows: vec![row("BM25", false, [60.0, 1.0]), row("Scrollback", true, [80.0, 2.0])],
        plot: Some(plot),
    };
    Finding { suite: "recall".into(), dataset: "small".into(), tables: vec![table], details: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_that_can_be_won() {
        assert_eq!(won(&[small("a"), small("b")]), (2, 4));
        let mut alone = small("a");
        alone.tables[0].rows.remove(0);
        assert_eq!(won(&[alone]), (0, 0));
    }
}
