//! A report as one page of HTML: nothing from outside, no script, by day and by night, on a phone and on paper.
//!
//! The same measurements give the same bytes.

use std::fmt::Write;

use super::{Finding, Report, head, plot, titled, won};
use crate::scorecard::Scored;
use crate::table::{Row, Table};

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub fn page(report: &Report) -> String {
    let mut page = Page { report: *report, drawn: 0, text: String::new() };
    page.opening();
    page.summary();
    page.goals();
    for findings in report.suites() {
        page.suite(findings);
    }
    page.text.push_str("</main>\n</body>\n</html>\n");
    page.text
}

/// Words that stand for themselves in HTML, in text as in attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

struct Page<'a> {
    report: Report<'a>,
    drawn: usize,
    text: String,
}

impl Page<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn opening(&mut self) {
        let Report { version, note, .. } = self.report;
        let note = note.map_or_else(String::new, |note| format!(" · {}", escaped(note)));
        // Writing to a string does not fail.
        let _ = write!(
            self.text,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>Scrollback, measured</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Scrollback, measured</h1>\n\
             <p class=\"soft\">Scrollback {}{note}</p>\n",
            escaped(version)
        );
    }

    fn summary(&mut self) {
        self.line(
            "<p>Scrollback beside simple baselines in the same run, on the same data. Numbers in bold are ours where nothing is better; \
             ↓ stands where low is good; a row in italics is a bound that nothing can pass.</p>",
        );
        self.line("<nav><ul>");
        let (met, all) = self.report.goals_met();
        if all > 0 {
            self.line(&format!("<li><a href=\"#goals\">Goals</a>: {met} of {all} met</li>"));
        }
        for findings in self.report.suites() {
            let suite = escaped(&findings[0].suite);
            let (won, columns) = won(findings);
            let best = if columns == 0 { String::new() } else { format!(", ours best in {won} of {columns} columns") };
            let count = findings.len();
            let sets = if count == 1 { "dataset" } else { "datasets" };
            self.line(&format!("<li><a href=\"#{suite}\">{}</a>: {count} {sets}{best}</li>", titled(&suite)));
        }
        self.line("</ul></nav>");
    }

    fn goals(&mut self) {
        if self.report.goals.is_empty() {
            return;
        }
        self.line("<h2 id=\"goals\">Goals</h2>\n<div class=\"wide\"><table>");
        self.line(
            "<thead><tr><th scope=\"col\">what</th><th scope=\"col\">measured</th><th scope=\"col\">wanted</th><th></th></tr></thead>\n<tbody>",
        );
        for scored in self.report.goals {
            let (goal, class) = (&scored.goal, class(scored));
            let row = if goal.row == "Scrollback" { String::new() } else { format!("{}, ", goal.row) };
            self.line(&format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"{class}\">{}&nbsp;{}</td></tr>",
                escaped(&format!("{} · {row}{}", goal.table, goal.column)),
                scored.shown(),
                scored.wanted(),
                sign(scored),
                scored.verdict
            ));
        }
        self.line("</tbody></table></div>");
    }

    fn suite(&mut self, findings: &[Finding]) {
        let suite = escaped(&findings[0].suite);
        self.line(&format!("<h2 id=\"{suite}\">{}</h2>", titled(&suite)));
        for finding in findings {
            for table in &finding.tables {
                self.table(table);
            }
            if !finding.details.is_empty() {
                self.line("<details><summary>More</summary>");
                for table in &finding.details {
                    self.table(table);
                }
                self.line("</details>");
            }
        }
    }

    fn table(&mut self, table: &Table) {
        let (title, about) = (escaped(&table.title), escaped(&table.about));
        self.line(&format!("<section>\n<h3>{title}</h3>\n<p class=\"soft\">{about}</p>"));
        if let Some(plot) = &table.plot {
            let drawing = plot::figure(plot, self.drawn, &table.title);
            self.text.push_str(&drawing);
            self.drawn += 1;
        }
        let heads = (0..table.columns.len()).map(|column| escaped(&head(table, column)));
        let heads: Vec<String> = heads.map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
        let heads = heads.concat();
        self.line(&format!("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>"));
        self.line(&format!("<thead><tr><th></th>{heads}</tr></thead>\n<tbody>"));
        for row in &table.rows {
            self.row(table, row);
        }
        self.line("</tbody></table></div>\n</section>");
    }

    fn row(&mut self, table: &Table, row: &Row) {
        let class = match (row.ours, row.limit) {
            (true, _) => " class=\"ours\"",
            (false, true) => " class=\"limit\"",
            (false, false) => "",
        };
        let cells: String = (0..table.columns.len()).map(|column| self.cell(table, row, column)).collect();
        self.line(&format!("<tr{class}><th scope=\"row\">{}</th>{cells}</tr>", escaped(&row.name)));
    }

    /// A number, and under it what was wanted of it.
    fn cell(&self, table: &Table, row: &Row, column: usize) -> String {
        let Some(number) = row.number(column) else { return "<td>–</td>".to_owned() };
        let head = &table.columns[column];
        let shown = head.shown(number);
        let shown = if table.wins(row, column) { format!("<b>{shown}</b>") } else { shown };
        let is_here = |scored: &&Scored| {
            let goal = &scored.goal;
            (&goal.table, &goal.row, &goal.column) == (&table.title, &row.name, &head.name)
        };
        let goals =
            self.report.goals.iter().filter(is_here).map(|scored| {
                format!("<small class=\"{}\">{} {}</small>", class(scored), sign(scored), scored.wanted())
            });
        format!("<td>{shown}{}</td>", goals.collect::<String>())
    }
}

fn class(scored: &Scored) -> &'static str {
    if scored.is_met() { "met" } else { "missed" }
}

/// Whether a goal was reached, for those who do not see colours.
fn sign(scored: &Scored) -> &'static str {
    if scored.is_met() { "✓" } else { "✗" }
}

#[cfg(test)]
mod tests {
    use super::super::small;
    use super::*;
    use crate::scorecard::{read, score};

    #[test]
    fn goals_stand_beside_their_numbers() {
        let findings = [small("Recall, small")];
        let goals = "[[goal]]\ntable = \"Recall, small\"\ncolumn = \"2k\"\nleast = 87\n";
        let goals = score(&read(goals).unwrap(), &findings);
        let text = page(&Report { version: "0.1.0", note: Some("commit 1"), findings: &findings, goals: &goals });
        for told in [
            "<p class=\"soft\">Scrollback 0.1.0 · commit 1</p>",
            "0 of 1 met",
            "ours best in 1 of 2 columns",
            "<td><b>80.0</b><small class=\"missed\">✗ ≥ 87</small></td>",
            "✗&nbsp;missed by 7.0",
            "<th scope=\"col\">cost ↓</th>",
        ] {
            assert!(text.contains(told), "{told}: {text}");
        }
    }

    #[test]
    fn hostile_names_are_words_and_nothing_comes_from_outside() {
        let hostile = "<script>alert(1)</script>\" onload='x' &amp;";
        let mut finding = small(hostile);
        (finding.suite, finding.dataset) = (hostile.into(), hostile.into());
        let table = &mut finding.tables[0];
        table.about = hostile.into();
        table.rows[1].name = hostile.into();
        table.columns[0].name = hostile.into();
        let plot = table.plot.as_mut().unwrap();
        (plot.x, plot.y, plot.lines[0].name) = (hostile.into(), hostile.into(), hostile.into());
        let details = vec![table.clone()];
        finding.details = details;
        let findings = [finding];
        let goals = score(
            &[crate::scorecard::Goal {
                table: hostile.into(),
                row: hostile.into(),
                column: hostile.into(),
                bound: crate::scorecard::Bound::Most(1.0),
            }],
            &findings,
        );
        let text = page(&Report { version: hostile, note: Some(hostile), findings: &findings, goals: &goals });
        assert!(!text.contains("<script") && !text.contains("\" onload") && !text.contains("onload='"), "{text}");
        assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp;amp;"), "{text}");
        assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("url("), "{text}");
    }
}
