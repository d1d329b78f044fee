//! The digest of a hold: what a large tool result says in brief, and where it is from.
//!
//! However large the result, the question is bounded: its beginning, its end, and the most telling sentences between.
//! Sources a model names count only if they stand in the result.

use serde::Serialize;
use serde_json::Value;

use super::prompt::{fence, render};
use super::sentences::{brief, excerpt, shortened};
use super::sources::{SOURCES, occurs, sources};
use super::{Question, Task, reply};

const PROMPT: &str = include_str!("../../prompts/hold_digest.md");
/// How much of a result the helper is shown.
const QUESTION_CHARS: usize = 16_000;
/// How much of a query it is shown.
const QUERY_CHARS: usize = 500;
/// A brief of less than this part of what it may have says nothing.
const LEAST_PART: usize = 16;

/// Asks for the digest of a large tool result.
#[derive(Clone, Copy, Debug)]
pub struct HoldDigest<'a> {
    /// The tool that returned it, if known.
    pub tool: Option<&'a str>,
    /// What the tool was asked, if known.
    pub query: Option<&'a str>,
    /// The result.
    pub text: &'a str,
    /// How long the brief may be.
    pub most_chars: usize,
}

/// What a large tool result says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HoldBrief {
    /// In brief.
    pub brief: String,
    /// Where it is from: addresses, paths or titles that stand in it.
    pub sources: Vec<String>,
}

impl Task for HoldDigest<'_> {
    type Answer = HoldBrief;

    const NAME: &'static str = "hold_digest";

    fn question(&self) -> Question {
        let tool = self.tool.map(|tool| format!("Tool: {}\n", shortened(tool, QUERY_CHARS)));
        let query = self.query.map(|query| format!("Asked: {}\n", shortened(query, QUERY_CHARS)));
        let (tool, query) = (tool.unwrap_or_default(), query.unwrap_or_default());
        let text = format!("{tool}{query}\n{}", excerpt(self.text, QUESTION_CHARS));
        let fence = fence(&text);
        let (least, most) = (self.most_chars / 2, self.most_chars);
        Question {
            task: Self::NAME,
            instructions: render(PROMPT, &[("least_chars", least), ("most_chars", most), ("sources", SOURCES)]),
            text: format!("<result-{fence}>\n{text}\n</result-{fence}>"),
            most_tokens: 1_500,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<HoldBrief, String> {
        reply::json(reply, |value| {
            let brief = value.get("brief").and_then(Value::as_str).ok_or("“brief” is missing: a text")?;
            let brief = shortened(brief, self.most_chars);
            if brief.chars().count() < self.most_chars / LEAST_PART {
                return Err(format!("“brief” is too short: {} characters are wanted", self.most_chars / 2));
            }
            Ok(HoldBrief { brief, sources: self.sources_in(value) })
        })
    }

    fn offline(&self) -> HoldBrief {
        HoldBrief { brief: brief(self.text, self.most_chars), sources: sources(self.text) }
    }
}

impl HoldDigest<'_> {
    /// The sources that stand in the result, each once; the offline ones if there are none.
    fn sources_in(&self, value: &Value) -> Vec<String> {
        let named = value.get("sources").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut found: Vec<String> = Vec::new();
        for source in named.iter().filter_map(Value::as_str).map(str::trim).take(4 * SOURCES) {
            if found.len() < SOURCES && !found.iter().any(|known| known == source) && occurs(self.text, source) {
                found.push(source.to_owned());
            }
        }
        if found.is_empty() { sources(self.text) } else { found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "The harbour report, from https://example.org/report and docs/tides.md. High water was at nine.";

    fn hold(text: &str) -> HoldDigest<'_> {
        HoldDigest { tool: Some("fetch"), query: Some("tides"), text, most_chars: 200 }
    }

    #[test]
    fn sources_that_are_not_in_the_result_are_dropped() {
        let reply =
            r#"{"brief": "A report on tides at the harbour.", "sources": ["docs/tides.md", "https://example.com", 3]}"#;
        let read = hold(TEXT).read(reply).unwrap();
        assert_eq!(read.brief, "A report on tides at the harbour.");
        assert_eq!(read.sources, ["docs/tides.md"]);
        let none =
            hold(TEXT).read(r#"{"brief": "A report on tides at the harbour.", "sources": ["made up"]}"#).unwrap();
        assert_eq!(none.sources, ["https://example.org/report", "docs/tides.md"]);
    }

    #[test]
    fn briefs_are_cut_or_complained_about() {
        let long = serde_json::json!({"brief": "High water was at nine. ".repeat(50)}).to_string();
        let brief = hold(TEXT).read(&long).unwrap().brief;
        assert!(brief.chars().count() <= 200 && brief.ends_with("nine."), "{brief}");
        assert!(hold(TEXT).read(r#"{"brief": "Tides."}"#).unwrap_err().contains("too short"));
        assert!(hold(TEXT).read(r#"{"summary": "Tides."}"#).unwrap_err().contains("“brief” is missing"));
    }

    #[test]
    fn five_megabytes_are_one_bounded_question() {
        let text = "High water was at nine. 高潮在九点。\n".repeat(100_000);
        let question = hold(&text).question();
        assert!(question.text.chars().count() < QUESTION_CHARS * 11 / 10);
        assert!(question.text.contains("Tool: fetch\nAsked: tides\n") && !question.instructions.contains("{{"));
        assert_eq!(hold(TEXT).offline().sources.len(), 2);
    }
}
