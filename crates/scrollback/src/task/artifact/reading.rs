//! Reading the document a model answers with: Markdown, also in a fence, or JSON with the same in it.
//!
//! What a model says before its document is left out. A document that cites no message at all is no answer.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::reply;
use super::super::sentences::shortened;
use super::{HEADING_CHARS, SUMMARY_CHARS, TITLE_CHARS};
use crate::artifact::{Document, Section, ids};
use crate::ids::MessageId;

/// How long what is said before a document is, if it is not part of it.
const CHATTER_CHARS: usize = 400;

/// What a model wrote. Sections have words, and known sources or none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Its title, if it has one.
    pub(super) title: Option<String>,
    /// Its summary, if it has one.
    pub(super) summary: Option<String>,
    /// Its sections; at least one has a source.
    pub(super) sections: Vec<Section>,
}

/// The document in a reply; otherwise a complaint.
pub(super) fn written(reply: &str, known: &BTreeSet<MessageId>) -> Result<Written, String> {
    reply::spoken(reply, |text| {
        let begin = text.trim_start().trim_start_matches('`').trim_start_matches("json").trim_start();
        let json = |text: &str| reply::json(text, |value| in_json(value, known));
        let markdown = |text: &str| checked(in_markdown(text, known), known);
        if begin.starts_with('{') {
            json(text).or_else(|complaint| markdown(text).map_err(|_| complaint))
        } else {
            markdown(text).or_else(|complaint| json(text).map_err(|_| complaint))
        }
    })
}

fn in_markdown(text: &str, known: &BTreeSet<MessageId>) -> Written {
    let document = Document::read(text, known);
    let alone = document.sections.is_empty() && document.title.is_none();
    let belongs = |lead: &Section| alone || !lead.sources.is_empty() || lead.text.chars().count() > CHATTER_CHARS;
    let lead = document.lead.filter(belongs);
    Written {
        title: document.title.and_then(|title| line(&title, TITLE_CHARS)),
        summary: line(&document.summary, SUMMARY_CHARS),
        sections: lead.into_iter().chain(document.sections).filter_map(tidy).collect(),
    }
}

fn in_json(value: &Value, known: &BTreeSet<MessageId>) -> Result<Written, String> {
    let said = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_str());
    let mut written = match said(&["artifact", "markdown", "content", "document"]) {
        Some(markdown) => in_markdown(markdown, known),
        None => Written::default(),
    };
    let sections = value.get("sections").and_then(Value::as_array);
    written.sections.extend(sections.into_iter().flatten().filter_map(|value| section(value, known)));
    written.title = said(&["title"]).and_then(|title| line(title, TITLE_CHARS)).or(written.title);
    written.summary = said(&["summary"]).and_then(|summary| line(summary, SUMMARY_CHARS)).or(written.summary);
    checked(written, known)
}

fn section(value: &Value, known: &BTreeSet<MessageId>) -> Option<Section> {
    let said = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_str()).unwrap_or_default();
    let sources = value.get("sources").or_else(|| value.get("source")).map(Value::to_string).unwrap_or_default();
    tidy(Section::new(said(&["heading", "title"]), said(&["text", "content"]), ids(&sources, known)))
}

/// A section with a heading of the right length; nothing if it says nothing.
fn tidy(section: Section) -> Option<Section> {
    let says = section.text.chars().any(char::is_alphanumeric);
    let first = || section.text.lines().find_map(|text| line(text, TITLE_CHARS));
    let heading = line(&section.heading, HEADING_CHARS).or_else(first).unwrap_or_default();
    says.then(|| Section::new(&heading, &section.text, section.sources))
}

/// Words on one line, if there are any.
fn line(text: &str, most_chars: usize) -> Option<String> {
    text.chars().any(char::is_alphanumeric).then(|| shortened(text, most_chars))
}

fn checked(written: Written, known: &BTreeSet<MessageId>) -> Result<Written, String> {
    let cites = written.sections.iter().any(|section| !section.sources.is_empty());
    let first = known.first().map(MessageId::to_string).unwrap_or_default();
    if written.sections.is_empty() {
        Err("there are no sections: write “## Heading <!-- sources: m12, m13 -->” and text under it".to_owned())
    } else if !cites && !known.is_empty() {
        Err(format!("no section names a message that was shown, such as “## Heading <!-- sources: {first} -->”"))
    } else {
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reply: &str) -> Result<Written, String> {
        written(reply, &(11..15).map(MessageId).collect())
    }

    #[test]
    fn documents_are_found_wherever_they_stand() {
        for reply in [
            "# T\n\nS.\n\n## A <!-- sources: m11 -->\nText.\n## B <!-- sources: m12 -->\nMore.",
            "<think># no\n## X <!-- sources: m14 -->\nx</think>Here you are:\n\n# T\nS.\n## A\n<!-- source: 11 -->\nText.\n### B <!-- sources: m12, m99 -->\nMore.",
            "```md\n# T\nS.\n## A <!-- sources: m11 -->\nText.\n## Empty\n## B <!-- sources: m12 -->\nMore.\n```",
            r##"{"title": "T", "summary": "S.", "artifact": "# U\n\n## A <!-- sources: m11 -->\nText.\n\n## B <!-- sources: m12 -->\nMore."}"##,
            "```json\n{\"title\": \"T\", \"summary\": \"S.\", \"sections\": [{\"heading\": \"A\", \"text\": \"Text.\", \"sources\": [\"m11\"]}, {\"title\": \"B\", \"content\": \"More.\", \"sources\": \"12\"},]}\n```",
        ] {
            let found = read(reply).unwrap();
            assert_eq!((found.title.as_deref(), found.summary.as_deref()), (Some("T"), Some("S.")), "{reply}");
            let [a, b] = found.sections.as_slice() else { panic!("{found:?}") };
            assert_eq!(
                (a, b),
                (&Section::new("A", "Text.", [MessageId(11)]), &Section::new("B", "More.", [MessageId(12)]))
            );
        }
    }

    #[test]
    fn complaints_name_what_is_missing() {
        for (reply, complaint) in [
            ("", "no sections"),
            ("# T\n\nS.", "no sections"),
            ("I would rather not.", "sources: m11"),
            ("## A <!-- sources: m99 -->\nText.", "sources: m11"),
            ("{\"title\": \"T\"}", "no sections"),
            ("<think>hm", "only reasoning"),
        ] {
            let told = read(reply).unwrap_err();
            assert!(told.contains(complaint), "{reply}: {told}");
        }
        let plain = read("Just words. <!-- sources: m11 -->").unwrap();
        assert_eq!(plain.sections[0].heading, "Just words.");
    }
}
