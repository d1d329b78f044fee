//! Tables as Markdown.

use super::{Finding, Report, head, titled};
use crate::scorecard::Scored;
use crate::table::{Row, Table};

/// Everything: what was wanted first, then each suite and its tables.
pub fn report(report: &Report) -> String {
    let mut parts = Vec::new();
    if !report.goals.is_empty() {
        parts.push(goals(report));
    }
    for findings in report.suites() {
        parts.push(format!("## {}\n", escaped(&titled(&findings[0].suite))));
        parts.extend(findings.iter().flat_map(|Finding { tables, .. }| tables).map(table));
    }
    parts.join("\n")
}

/// What was wanted, beside what was measured.
fn goals(report: &Report) -> String {
    let (met, all) = report.goals_met();
    let rows: String = report.goals.iter().map(goal).collect();
    format!(
        "## Goals\n\n{met} of {all} met.\n\n| what | row | column | measured | wanted | |\n|---|---|---|---:|---:|---|\n{rows}"
    )
}

fn goal(scored: &Scored) -> String {
    let goal = &scored.goal;
    let [table, row, column] = [&goal.table, &goal.row, &goal.column].map(|name| escaped(name));
    format!("| {table} | {row} | {column} | {} | {} | {} |\n", scored.shown(), scored.wanted(), scored.verdict)
}

/// One table under its title: ours bold where it is best, an arrow where low is good.
pub fn table(table: &Table) -> String {
    let Table { title, about, columns, rows, .. } = table;
    let heads: Vec<String> = (0..columns.len()).map(|column| escaped(&head(table, column))).collect();
    let rule = "---:|".repeat(columns.len());
    let rows: String = rows.iter().map(|one| row(table, one)).collect();
    let about = if about.is_empty() { String::new() } else { format!("{}\n\n", escaped(about)) };
    format!("### {}\n\n{about}| | {} |\n|---|{rule}\n{rows}", escaped(title), heads.join(" | "))
}

fn row(table: &Table, row: &Row) -> String {
    let cell = |column: usize| match row.number(column) {
        None => "–".to_owned(),
        Some(number) if table.wins(row, column) => format!("**{}**", table.columns[column].shown(number)),
        Some(number) => table.columns[column].shown(number),
    };
    let cells: Vec<String> = (0..table.columns.len()).map(cell).collect();
    format!("| {} | {} |\n", escaped(&row.name), cells.join(" | "))
}

/// Words that stand for themselves: on one line, and nothing in them means anything to Markdown.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_[]<>|".contains(c) {
            safe.push('\\');
        }
        safe.push(if c.is_control() { ' ' } else { c });
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::small;
    use super::*;

    #[test]
    fn a_table_with_ours_bold_where_it_is_best() {
        let expected = "### Recall, small\n\nTwo questions.\n\n| | 2k | cost ↓ |\n|---|---:|---:|\n\
            | BM25 | 60.0 | 1.0 |\n| Scrollback | **80.0** | 2.0 |\n";
        assert_eq!(table(&small("Recall, small").tables[0]), expected);
    }

    #[test]
    fn hostile_names_stay_in_their_cells() {
        let mut finding = small("a | b\n# <script>");
        finding.tables[0].rows[1].name = "*x* | `y`".into();
        finding.tables[0].rows[1].cells[1] = None;
        let text = table(&finding.tables[0]);
        assert!(text.starts_with("### a \\| b # \\<script\\>\n"), "{text}");
        assert!(text.ends_with("| \\*x\\* \\| \\`y\\` | **80.0** | – |\n"), "{text}");
    }

    #[test]
    fn suites_stand_apart() {
        let mut other = small("Topics, small");
        other.suite = "topics".into();
        let findings = [small("Recall, small"), other];
        let text = report(&Report { version: "1", note: None, findings: &findings, goals: &[] });
        assert!(text.starts_with("## Recall\n\n### Recall, small\n"), "{text}");
        assert!(text.contains("2.0 |\n\n## Topics\n\n### Topics, small\n"), "{text}");
    }
}
