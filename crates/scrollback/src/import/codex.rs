//! Codex's rollout files: a line each for what happened; the items sent to and from the model are the messages.
//!
//! Items keep their bytes. Files of early versions have bare items below a first line with the session's id.

use serde_json::value::RawValue;

use super::entries::{Entry, Fields, lines};
use super::{Conversation, Import};
use crate::ids::At;

pub(super) fn read(text: &str) -> Import {
    let entries = lines(text);
    let mut rollout = Rollout { skipped: entries.skipped, ..Rollout::default() };
    for entry in &entries.read {
        match entry.fields() {
            Some(fields) => rollout.take(entry, &fields),
            None => rollout.skipped.push(entry.complaint("is not an object")),
        }
    }
    rollout.finish()
}

/// A rollout, as far as it has been read.
#[derive(Default)]
struct Rollout {
    declared: Option<String>,
    began: Option<At>,
    model: Option<String>,
    messages: Vec<(Box<RawValue>, Option<At>)>,
    skipped: Vec<String>,
}

impl Rollout {
    fn take(&mut self, entry: &Entry<'_>, line: &Fields<'_>) {
        let at = line.text("timestamp").and_then(|time| At::parse(&time));
        let kind = line.text("type").unwrap_or_default();
        match (kind.as_str(), line.object("payload")) {
            ("session_meta", Some(meta)) => self.begin(&meta, at),
            ("response_item", Some(_)) => self.messages.extend(line.raw("payload").map(|raw| (raw.to_owned(), at))),
            ("turn_context", Some(turn)) => self.model = turn.text("model").or(self.model.take()),
            ("event_msg" | "compacted" | "turn_context", _) => {}
            ("", None) if line.has("record_type") => {}
            ("", None) if line.has("id") => self.begin(line, at),
            ("", _) => self.skipped.push(entry.complaint("has no “type”")),
            (_, None) if !line.has("payload") => self.messages.push((entry.raw.to_owned(), at.or(self.began))),
            (kind, _) => self.skipped.push(entry.complaint(format!("of type “{kind}” is not known"))),
        }
    }

    /// The first line names the session; a fork repeats its parent's further on.
    fn begin(&mut self, meta: &Fields<'_>, at: Option<At>) {
        if self.declared.is_none() {
            self.declared = meta.text("id");
            self.began = at;
        }
    }

    fn finish(self) -> Import {
        let conversation =
            Conversation { declared: self.declared, title: None, model: self.model, messages: self.messages };
        let found = (!conversation.messages.is_empty()).then_some(conversation);
        Import { conversations: found.into_iter().collect(), skipped: self.skipped, ..Import::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_files_have_bare_items() {
        let text = concat!(
            "{\"id\":\"s1\",\"timestamp\":\"2025-06-01T10:00:00Z\",\"instructions\":null}\n",
            "{\"record_type\":\"state\"}\n",
            "{\"type\":\"message\", \"role\":\"user\",\"content\":[]}\n",
            "{\"type\":\"function_call\",\"call_id\":\"c\"}\n",
            "{\"odd\":1}\n",
        );
        let import = read(text);
        let [one] = &import.conversations[..] else { panic!("{import:?}") };
        assert_eq!(one.declared.as_deref(), Some("s1"));
        assert_eq!(one.messages[0].0.get(), "{\"type\":\"message\", \"role\":\"user\",\"content\":[]}");
        assert_eq!(one.messages[1].1, At::parse("2025-06-01T10:00:00Z"));
        assert_eq!(import.skipped, ["line 5 has no “type”"]);
    }
}
