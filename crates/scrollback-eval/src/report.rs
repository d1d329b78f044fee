//! What was measured, for people: Markdown tables. For programs, everything measured serializes.

use std::fmt::Write;

use crate::suite::recall;
use crate::suite::topics::{Measured, Result, Scores};

/// A table for each dataset: the share of the evidence in the window, and the share of questions with all of it, in percent.
pub fn recall(measured: &[recall::Measured]) -> String {
    let mut text = String::new();
    for set in measured {
        let separator = if text.is_empty() { "" } else { "\n" };
        let recall::Measured { dataset, conversations, tokens, questions, rooms, results } = set;
        let rooms: Vec<String> = rooms.iter().map(|room| format!("{room} tokens")).collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{separator}**{dataset}**: {questions} questions about {conversations} conversations of {tokens} tokens\n"
        );
        let _ = writeln!(text, "| method | {} | ms |\n|---|{}---:|", rooms.join(" | "), "---:|".repeat(rooms.len()));
        for result in results {
            let cell = |one: &crate::metrics::Evidence| format!("{:.1} / {:.1}", 100.0 * one.recall, 100.0 * one.all);
            let cells: Vec<String> = result.sizes.iter().map(cell).collect();
            let _ = writeln!(text, "| {} | {} | {:.1} |", result.method, cells.join(" | "), result.mean_ms);
        }
    }
    text
}

/// A table for each dataset; numbers in percent.
pub fn markdown(measured: &[Measured]) -> String {
    let mut text = String::new();
    for set in measured {
        let separator = if text.is_empty() { "" } else { "\n" };
        let Measured { dataset, conversations, units, topics, results } = set;
        let first = results.first().map(|result| result.scores);
        let head = first.map_or("", |scores| head(&scores));
        let columns = head.matches('|').count();
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "{separator}**{dataset}**: {conversations} conversations, {units} units, {topics} topics\n");
        let _ = writeln!(text, "| method | {head}\n|---|{}", "---:|".repeat(columns));
        for result in results {
            let _ = writeln!(text, "{}", row(result));
        }
    }
    text
}

fn head(scores: &Scores) -> &'static str {
    match scores {
        Scores::Groups(_) => "1−VI | 1-1 | exact F1 | ARI | NMI |",
        Scores::Cuts(_) => "Pk ↓ | WindowDiff ↓ | F1 | score |",
    }
}

fn row(result: &Result) -> String {
    let numbers = match result.scores {
        Scores::Groups(groups) => vec![groups.vi, groups.one_to_one, groups.exact, groups.ari, groups.nmi],
        Scores::Cuts(cuts) => vec![cuts.pk, cuts.window_diff, cuts.f1, cuts.score],
    };
    let cells: Vec<String> = numbers.iter().map(|number| format!("{:.1}", 100.0 * number)).collect();
    format!("| {} | {} |", result.method, cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::Cuts;

    #[test]
    fn a_table_of_windows() {
        let sizes = vec![crate::metrics::Evidence { questions: 2, recall: 0.75, all: 0.5 }];
        let result = recall::Result { method: "BM25", sizes, kinds: std::collections::BTreeMap::new(), mean_ms: 0.25 };
        let measured = recall::Measured {
            dataset: "small".into(),
            conversations: 1,
            tokens: 90,
            questions: 2,
            rooms: vec![1_000],
            results: vec![result],
        };
        let expected = "**small**: 2 questions about 1 conversations of 90 tokens\n\n| method | 1000 tokens | ms |\n\
            |---|---:|---:|\n| BM25 | 75.0 / 50.0 | 0.2 |\n";
        assert_eq!(recall(&[measured]), expected);
    }

    #[test]
    fn a_table_and_its_json() {
        let scores = Scores::Cuts(Cuts { pk: 0.5, window_diff: 0.25, f1: 0.125, score: 1.0 });
        let results = vec![Result { method: "even", scores, took: Duration::ZERO }];
        let measured = Measured { dataset: "small".into(), conversations: 2, units: 9, topics: 3, results };
        let expected = "**small**: 2 conversations, 9 units, 3 topics\n\n| method | Pk ↓ | WindowDiff ↓ | F1 | score |\n\
            |---|---:|---:|---:|---:|\n| even | 50.0 | 25.0 | 12.5 | 100.0 |\n";
        assert_eq!(markdown(std::slice::from_ref(&measured)), expected);
        let json = serde_json::to_string(&measured).unwrap();
        assert!(json.ends_with(r#""results":[{"method":"even","pk":0.5,"window_diff":0.25,"f1":0.125,"score":1.0}]}"#));
    }
}
