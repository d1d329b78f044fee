//! Tasks: typed questions about messages, each with an answer that needs no model.
//!
//! The offline answers are extractive: they quote, and never invent. A sentence is worth what its words are worth in the text
//! it stands in, in any language.

mod sentences;

pub use sentences::{brief, sources};

use crate::message::{Part, Role};
use crate::store::Stored;

/// How long a title may be.
const TITLE_CHARS: usize = 60;
/// How long a message's line may be.
const LINE_CHARS: usize = 140;
/// How many messages of a page have a line of their own.
const LINES: usize = 12;

/// What a page is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// In a few words.
    pub title: String,
    /// A line for each message.
    pub lines: Vec<String>,
}

/// The offline digest of a page: its question is its title, and each message is quoted by its most telling sentence.
pub fn digest(messages: &[Stored]) -> Digest {
    let asked = messages.iter().find(|stored| stored.role == Role::User).or(messages.first());
    let title = asked.map(|stored| brief(&stored.message().to_text(), TITLE_CHARS)).unwrap_or_default();
    let mut lines: Vec<String> = messages.iter().take(LINES).map(line).collect();
    if messages.len() > LINES {
        lines.push(format!("and {} more messages", messages.len() - LINES));
    }
    Digest { title, lines }
}

fn line(stored: &Stored) -> String {
    let message = stored.message();
    let said = message.parts().iter().find_map(|part| match part {
        Part::Text(text) if !text.trim().is_empty() => Some(brief(text, LINE_CHARS)),
        Part::Call { name, arguments, .. } => {
            Some(format!("calls {name} {}", brief(&arguments.to_string(), LINE_CHARS / 2)))
        }
        Part::Result { text, .. } => Some(brief(text, LINE_CHARS)),
        Part::Text(_) | Part::Image(_) | Part::File(_) | Part::Thinking(_) | Part::Other(_) => None,
    });
    format!("{} {}: {}", stored.id, stored.role, said.unwrap_or_else(|| brief(&message.to_text(), LINE_CHARS)))
}
