//! What is wanted of the numbers, and whether it was reached.
//!
//! Goals are read from TOML, one `[[goal]]` each: a table by its title, a row (ours if none is said), a column, and a
//! bound: `least`, `most`, or `near` with `within`: at most so much worse than the same row and column of another
//! table.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::report::Finding;
use crate::table::{Good, Table};

/// Why goals could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not TOML, or has other fields.
    #[error("the goals cannot be read")]
    Malformed(#[from] toml::de::Error),
    /// None or more than one bound.
    #[error("the goal for {column} of {table} needs one of least, most, or near and within")]
    Unbounded {
        /// The table it is for.
        table: String,
        /// The column it is for.
        column: String,
    },
}

/// A goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// The title of the table.
    pub table: String,
    /// The name of the row.
    pub row: String,
    /// The name of the column.
    pub column: String,
    /// What the number there should be.
    pub bound: Bound,
}

/// What a number should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// At least this.
    Least(f64),
    /// At most this.
    Most(f64),
    /// At most so much worse than the number at the same place in another table.
    Near {
        /// The title of the other table.
        table: String,
        /// How much worse it may be.
        within: f64,
    },
}

/// A goal and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// What was wanted.
    pub goal: Goal,
    /// What was measured, if it was.
    pub measured: Option<f64>,
    /// How many digits are shown.
    #[serde(skip)]
    digits: usize,
    /// What the number had to be; where it depends on another, as far as that was measured.
    pub limit: Option<Limit>,
    /// Whether it was reached.
    pub verdict: Verdict,
}

/// A bound in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// At least this.
    Least(f64),
    /// At most this.
    Most(f64),
}

/// Whether a goal was reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was.
    Met,
    /// It was missed by so much.
    Missed(f64),
    /// There is no such number.
    Unmeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met => f.write_str("met"),
            Self::Missed(by) if *by < 0.1 => write!(f, "missed by {by:.4}"),
            Self::Missed(by) => write!(f, "missed by {by:.1}"),
            Self::Unmeasured => f.write_str("not measured"),
        }
    }
}

impl Scored {
    /// Whether the goal was reached.
    pub fn is_met(&self) -> bool {
        self.verdict == Verdict::Met
    }

    /// The number that was measured.
    pub fn shown(&self) -> String {
        self.measured.map_or_else(|| "–".to_owned(), |number| format!("{number:.*}", self.digits))
    }

    /// What was wanted, in signs.
    pub fn wanted(&self) -> String {
        match self.limit {
            Some(Limit::Least(least)) => format!("≥ {}", trimmed(least)),
            Some(Limit::Most(most)) => format!("≤ {}", trimmed(most)),
            None => "–".to_owned(),
        }
    }
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    goal: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    table: String,
    #[serde(default = "ours")]
    row: String,
    column: String,
    least: Option<f64>,
    most: Option<f64>,
    near: Option<String>,
    within: Option<f64>,
}

fn ours() -> String {
    "Scrollback".to_owned()
}

impl Written {
    fn goal(self) -> Result<Goal, Error> {
        let Self { table, row, column, .. } = self;
        let bound = match (self.least, self.most, self.near, self.within) {
            (Some(least), None, None, None) => Bound::Least(least),
            (None, Some(most), None, None) => Bound::Most(most),
            (None, None, Some(table), Some(within)) => Bound::Near { table, within },
            (_, _, _, _) => return Err(Error::Unbounded { table, column }),
        };
        Ok(Goal { table, row, column, bound })
    }
}

/// Reads goals written in TOML.
pub fn read(text: &str) -> Result<Vec<Goal>, Error> {
    toml::from_str::<File>(text)?.goal.into_iter().map(Written::goal).collect()
}

/// Holds goals against what was measured, in their order.
pub fn score(goals: &[Goal], findings: &[Finding]) -> Vec<Scored> {
    goals.iter().map(|goal| scored(goal, findings)).collect()
}

fn scored(goal: &Goal, findings: &[Finding]) -> Scored {
    let column =
        table(findings, &goal.table).and_then(|table| table.columns.iter().find(|column| column.name == goal.column));
    let measured = number(findings, &goal.table, goal);
    let limit = limit(goal, findings, column.map_or(Good::High, |column| column.good));
    let verdict = match (measured, limit) {
        (Some(number), Some(Limit::Least(least))) => verdict(least - number),
        (Some(number), Some(Limit::Most(most))) => verdict(number - most),
        (_, None) | (None, _) => Verdict::Unmeasured,
    };
    Scored { goal: goal.clone(), measured, digits: column.map_or(1, |column| column.digits), limit, verdict }
}

fn limit(goal: &Goal, findings: &[Finding], good: Good) -> Option<Limit> {
    match &goal.bound {
        Bound::Least(least) => Some(Limit::Least(*least)),
        Bound::Most(most) => Some(Limit::Most(*most)),
        Bound::Near { table, within } => {
            let other = number(findings, table, goal)?;
            Some(if good == Good::Low { Limit::Most(other + within) } else { Limit::Least(other - within) })
        }
    }
}

fn verdict(missing: f64) -> Verdict {
    if missing > 0.0 { Verdict::Missed(missing) } else { Verdict::Met }
}

fn table<'a>(findings: &'a [Finding], title: &str) -> Option<&'a Table> {
    let tables = findings.iter().flat_map(|finding| finding.tables.iter().chain(&finding.details));
    tables.into_iter().find(|table| table.title == title)
}

fn number(findings: &[Finding], title: &str, goal: &Goal) -> Option<f64> {
    table(findings, title)?.number(&goal.row, &goal.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::small;

    fn verdicts(goals: &str) -> Vec<(String, String)> {
        let mut other = small("Recall, small, pooled");
        other.tables[0].rows[1].cells = vec![Some(77.5), Some(2.5)];
        let scored = score(&read(goals).unwrap(), &[small("Recall, small"), other]);
        scored.iter().map(|one| (one.wanted(), one.verdict.to_string())).collect()
    }

    fn check(bound: &str, wanted: &str, verdict: &str) {
        let goal = format!("[[goal]]\ntable = \"Recall, small\"\n{bound}\n");
        assert_eq!(verdicts(&goal), [(wanted.to_owned(), verdict.to_owned())], "{bound}");
    }

    #[test]
    fn goals_are_met_or_missed_by_so_much() {
        check("column = \"2k\"\nleast = 80", "≥ 80", "met");
        check("column = \"2k\"\nleast = 82.5", "≥ 82.5", "missed by 2.5");
        check("column = \"2k\"\nleast = 80.04", "≥ 80.04", "missed by 0.0400");
        check("column = \"cost\"\nmost = 2", "≤ 2", "met");
        check("column = \"cost\"\nrow = \"BM25\"\nmost = 0.5", "≤ 0.5", "missed by 0.5");
        check("column = \"4k\"\nleast = 80", "≥ 80", "not measured");
    }

    #[test]
    fn a_number_may_be_held_against_another() {
        let near = |column: &str, within: f64| {
            format!(
                "[[goal]]\ntable = \"Recall, small, pooled\"\ncolumn = \"{column}\"\nnear = \"Recall, small\"\nwithin = {within}\n"
            )
        };
        assert_eq!(verdicts(&near("2k", 2.0)), [("≥ 78".into(), "missed by 0.5".into())]);
        assert_eq!(verdicts(&near("cost", 0.5)), [("≤ 2.5".into(), "met".into())]);
        assert_eq!(
            verdicts(&near("cost", 0.5).replace("\"Recall, small\"", "\"none\"")),
            [("–".into(), "not measured".into())]
        );
    }

    #[test]
    fn goals_without_a_bound_are_refused() {
        for bound in ["", "least = 1\nmost = 2", "near = \"x\"", "lest = 1"] {
            assert!(read(&format!("[[goal]]\ntable = \"t\"\ncolumn = \"c\"\n{bound}\n")).is_err(), "{bound}");
        }
    }

    #[test]
    fn the_shipped_goals_can_be_read() {
        assert!(!read(include_str!("../../../docs/goals.toml")).unwrap().is_empty());
    }
}
