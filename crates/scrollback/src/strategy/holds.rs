//! Holds: a large tool result is kept whole and shown as a placeholder, under every strategy.
//!
//! The placeholder tells what was asked, how much came back, what it says in brief and where it is from, and how to load it.
//! In the turn it arrives in a result is shown whole, unless it is to be held on arrival; afterwards it is held, so the change
//! falls into the part of the window that was new anyway.

use super::leaf::Asked;
use crate::store::Stored;
use crate::task;

/// How every placeholder begins; its id follows.
pub(crate) const HELD: &str = "[Tool result h";

/// When results are held.
#[derive(Clone, Debug)]
pub struct HoldSettings {
    /// Results with more characters than this are held.
    pub over_chars: usize,
    /// How long the digest in a placeholder may be.
    pub digest_chars: usize,
    /// From when on.
    pub from: HeldFrom,
}

/// From when on a result is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldFrom {
    /// From the turn after it arrived.
    AfterTurn,
    /// From the start, which is kinder to a provider's cache.
    OnArrival,
}

impl Default for HoldSettings {
    fn default() -> Self {
        Self { over_chars: 10_000, digest_chars: 400, from: HeldFrom::AfterTurn }
    }
}

impl HoldSettings {
    /// The placeholder's text, made without a model.
    pub(super) fn text(&self, stored: &Stored, asked: &Asked) -> String {
        placeholder(stored, asked, &self.told(&super::leaf::result_of(&stored.message())))
    }

    /// What can be told of a result without a model.
    pub(crate) fn told(&self, text: &str) -> Told {
        let brief = task::brief(text, self.digest_chars);
        Told { chars: text.chars().count(), brief, sources: task::sources(text) }
    }
}

/// What a placeholder tells of a result.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Told {
    /// How long it is.
    pub chars: usize,
    /// What it says, in brief.
    pub brief: String,
    /// Where it is from.
    pub sources: Vec<String>,
}

/// The text that stands for a large result.
pub fn placeholder(stored: &Stored, asked: &Asked, told: &Told) -> String {
    let (number, chars) = (stored.id.0, told.chars);
    let mut lines = vec![format!("{HELD}{number} is kept, not shown. {chars} characters, {}.]", stored.at)];
    let query = asked.query.as_deref().unwrap_or_default();
    lines.extend(asked.tool.as_ref().map(|tool| format!("Tool: {tool} {query}")));
    lines.push(format!("In brief: {}", told.brief));
    if !told.sources.is_empty() {
        lines.push(format!("Sources: {}", told.sources.join(", ")));
    }
    lines.push(format!("To read it: load_tool_history(id = \"h{number}\"), with part = lines or words to look for."));
    lines.join("\n")
}
