//! What the suites of recall and topics measured, as tables.

use crate::metrics::Evidence;
use crate::suite::{recall, topics};
use crate::table::{Column, Good, Line, Plot, Row, Table};

/// What our row is called in every report.
const OURS: &str = "Scrollback";

impl recall::Measured {
    /// For each size of window the mean share of the evidence, and the share of questions with all of it, in percent.
    /// Nothing where nothing is asked.
    pub fn tables(&self) -> Vec<Table> {
        let Self { dataset, conversations, tokens, questions, left_out, .. } = self;
        if *questions == 0 {
            return Vec::new();
        }
        let about = format!(
            "{questions} questions about {conversations} conversations of {tokens} tokens on average. For each size of window: the mean \
             share of the evidence that stands in it, and the share of questions all of whose evidence does (all); in percent. {left_out}"
        );
        let row = |result: &recall::Result| {
            let (name, cells) = (result.method.to_owned(), cells(&result.sizes));
            Row { name, ours: result.ours, limit: result.limit, cells }
        };
        let rows = self.results.iter().map(row).collect();
        let title = format!("Recall, {dataset}");
        vec![Table { title, about, columns: self.columns(), rows, plot: Some(self.plot()) }]
    }

    /// The same for each kind of question, under our last strategy alone.
    pub fn kinds(&self) -> Vec<Table> {
        let Some(ours) = self.results.iter().rev().find(|result| result.ours) else { return Vec::new() };
        let row = |(kind, sizes): (&String, &Vec<Evidence>)| {
            let questions = sizes.first().map_or(0, |one| one.questions);
            Row { name: format!("{kind} ({questions})"), ours: true, limit: false, cells: cells(sizes) }
        };
        let title = format!("Recall, {}, by kind of question", self.dataset);
        let about = format!("{}, for each kind of question and how many of it there are; in percent.", ours.method);
        vec![Table { title, about, columns: self.columns(), rows: ours.kinds.iter().map(row).collect(), plot: None }]
    }

    fn columns(&self) -> Vec<Column> {
        let names = self.rooms.iter().map(|room| size(*room)).flat_map(|size| [size.clone(), format!("{size}, all")]);
        names.map(|name| Column { name, good: Good::High, digits: 1 }).collect()
    }

    fn plot(&self) -> Plot {
        let line = |result: &recall::Result| {
            let points = self.rooms.iter().zip(&result.sizes);
            let mut points: Vec<(f64, f64)> =
                points.map(|(room, one)| (f64::from(*room), 100.0 * one.recall)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Line { name: result.method.to_owned(), ours: result.ours, points }
        };
        let (x, y) = ("size of the window, in tokens".into(), "evidence in the window, in percent".into());
        Plot { x, y, logarithmic: true, lines: self.results.iter().map(line).collect() }
    }
}

impl topics::Measured {
    /// The scores of each way of sorting, in percent.
    pub fn tables(&self) -> Vec<Table> {
        let Self { dataset, conversations, units, topics, results } = self;
        let about = format!(
            "{conversations} conversations, {units} units, {topics} topics as people see them; in percent. Online: each unit is sorted \
             before anything is known of the next. Otherwise a conversation is sorted as a whole, as what is folded together is."
        );
        let columns = results.first().map_or_else(Vec::new, |first| score_columns(&first.scores));
        let row = |result: &topics::Result| {
            let cells = scores(&result.scores).iter().map(|number| Some(100.0 * number)).collect();
            Row { name: result.method.to_owned(), ours: result.method.starts_with(OURS), limit: false, cells }
        };
        let rows = results.iter().map(row).collect();
        vec![Table { title: format!("Topics, {dataset}"), about, columns, rows, plot: None }]
    }
}

fn cells(sizes: &[Evidence]) -> Vec<Option<f64>> {
    sizes.iter().flat_map(|one| [Some(100.0 * one.recall), Some(100.0 * one.all)]).collect()
}

/// A number of tokens, in thousands where it is round.
fn size(tokens: u32) -> String {
    if tokens >= 1_000 && tokens.is_multiple_of(1_000) { format!("{}k", tokens / 1_000) } else { tokens.to_string() }
}

fn score_columns(scores: &topics::Scores) -> Vec<Column> {
    let column = |(name, good): &(&str, Good)| Column { name: (*name).to_owned(), good: *good, digits: 1 };
    match scores {
        topics::Scores::Groups(_) => {
            ["1−VI", "1-1", "exact F1", "ARI", "NMI"].map(|name| column(&(name, Good::High))).to_vec()
        }
        topics::Scores::Cuts(_) => {
            [("Pk", Good::Low), ("WindowDiff", Good::Low), ("F1", Good::High), ("score", Good::High)]
                .map(|one| column(&one))
                .to_vec()
        }
    }
}

fn scores(scores: &topics::Scores) -> Vec<f64> {
    match scores {
        topics::Scores::Groups(groups) => vec![groups.vi, groups.one_to_one, groups.exact, groups.ari, groups.nmi],
        topics::Scores::Cuts(cuts) => vec![cuts.pk, cuts.window_diff, cuts.f1, cuts.score],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::super::markdown;
    use super::*;
    use crate::dataset::recall::LeftOut;
    use crate::metrics::Cuts;

    #[test]
    fn windows_become_a_table_lines_and_kinds() {
        let result = |method, recall, all| {
            let sizes = vec![Evidence { questions: 2, recall, all }];
            let kinds = BTreeMap::from([("fact".to_owned(), sizes.clone())]);
            let (ours, limit) = (method == "topics", method == "oracle");
            recall::Result { method, ours, limit, sizes, kinds, mean_ms: 0.25 }
        };
        let measured = recall::Measured {
            dataset: "small".into(),
            conversations: 1,
            tokens: 90,
            questions: 2,
            left_out: LeftOut { references: 7, questions: 4 },
            rooms: vec![1_000],
            results: vec![result("BM25", 0.5, 0.5), result("oracle", 1.0, 1.0), result("topics", 0.75, 0.5)],
        };
        let table = &measured.tables()[0];
        let text = markdown::table(table);
        assert!(table.about.contains("(7)") && table.about.contains("(4)"), "{}", table.about);
        let rows = "| | 1k | 1k, all |\n|---|---:|---:|\n| BM25 | 50.0 | 50.0 |\n| oracle | 100.0 | 100.0 |\n\
            | topics | **75.0** | **50.0** |\n";
        assert!(text.starts_with("### Recall, small\n") && text.ends_with(rows), "{text}");
        let line = table.plot.as_ref().unwrap().lines.last().unwrap();
        assert_eq!((line.ours, &line.points), (true, &vec![(1_000.0, 75.0)]));
        assert_eq!(measured.kinds()[0].number("fact (2)", "1k, all"), Some(50.0));
        assert!(recall::Measured { questions: 0, ..measured }.tables().is_empty());
    }

    #[test]
    fn cuts_become_a_table_with_arrows() {
        let scores = topics::Scores::Cuts(Cuts { pk: 0.5, window_diff: 0.25, f1: 0.125, score: 1.0 });
        let results = vec![topics::Result { method: "even", scores, took: Duration::ZERO }];
        let measured = topics::Measured { dataset: "small".into(), conversations: 2, units: 9, topics: 3, results };
        let expected = "### Topics, small\n\n2 conversations, 9 units, 3 topics as people see them; in percent. Online: each unit is \
            sorted before anything is known of the next. Otherwise a conversation is sorted as a whole, as what is folded together is.\n\n\
            | | Pk ↓ | WindowDiff ↓ | F1 | score |\n|---|---:|---:|---:|---:|\n| even | 50.0 | 25.0 | 12.5 | 100.0 |\n";
        assert_eq!(markdown::table(&measured.tables()[0]), expected);
    }
}
