//! Holds: a large tool result is kept whole and shown as a placeholder, under every strategy.
//!
//! The placeholder tells what was asked, how much came back, what it says in brief and where it is from, and how to load it.
//! In the turn it arrives in a result is shown whole; afterwards it is held, so the change falls into the part of the window
//! that was new anyway.

use crate::message::{Message, Part};
use crate::store::Stored;
use crate::task;

/// When results are held.
#[derive(Clone, Debug)]
pub struct HoldSettings {
    /// Results with more characters than this are held.
    pub over_chars: usize,
    /// How long the digest in a placeholder may be.
    pub digest_chars: usize,
}

impl Default for HoldSettings {
    fn default() -> Self {
        Self { over_chars: 10_000, digest_chars: 400 }
    }
}

impl HoldSettings {
    /// The placeholder of a message, if it holds a result that is too large.
    pub(super) fn placeholder(&self, stored: &Stored, before: &[Stored]) -> Option<String> {
        if stored.raw.get().len() <= self.over_chars {
            return None;
        }
        let message = stored.message();
        let large = |part: &&Part| matches!(part, Part::Result { text, .. } if text.chars().count() > self.over_chars);
        let Some(Part::Result { call, text, .. }) = message.parts().iter().find(large) else { return None };
        let asked = call.as_deref().and_then(|id| asked(id, before));
        let chars = text.chars().count();
        let brief = task::brief(text, self.digest_chars);
        let mut lines =
            vec![format!("[Tool result h{} is kept, not shown. {chars} characters, {}.]", stored.id.0, stored.at)];
        lines.extend(asked.map(|(tool, query)| format!("Tool: {tool} {query}")));
        lines.push(format!("In brief: {brief}"));
        let sources = task::sources(text);
        if !sources.is_empty() {
            lines.push(format!("Sources: {}", sources.join(", ")));
        }
        lines.push(format!(
            "To read it: load_tool_history(id = \"h{}\"), with part = lines or words to look for.",
            stored.id.0
        ));
        Some(lines.join("\n"))
    }
}

/// The tool and the arguments of a call.
fn asked(id: &str, before: &[Stored]) -> Option<(String, String)> {
    before.iter().rev().take(16).find_map(|stored| call_in(&stored.message(), id))
}

fn call_in(message: &Message, wanted: &str) -> Option<(String, String)> {
    message.parts().iter().find_map(|part| match part {
        Part::Call { id: Some(id), name, arguments } if id == wanted => {
            Some((name.clone(), arguments.to_string().chars().take(200).collect()))
        }
        Part::Call { .. }
        | Part::Text(_)
        | Part::Image(_)
        | Part::File(_)
        | Part::Result { .. }
        | Part::Thinking(_)
        | Part::Other(_) => None,
    })
}
