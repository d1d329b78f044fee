//! One message of a window on its way to be sent: as it came, until something has to be changed in it.

use std::borrow::Cow;
use std::cell::OnceCell;

use scrollback::ids::{Hash128, MessageId};
use scrollback::message::value_of;
use scrollback::window::Reason;
use serde_json::{Value, json};

use super::canonical::Piece;

/// Where a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The log.
    Said(MessageId),
    /// A call of ours or its result, which the client never saw.
    Round,
    /// The same in this very request, under the window as it is.
    Own,
    /// We wrote it.
    Note,
}

/// A message, and what has become of it.
#[derive(Clone, Debug)]
pub(super) struct Line<'w> {
    text: Cow<'w, str>,
    /// What the text says, once somebody asked; null if it cannot be read.
    value: OnceCell<Value>,
    /// What is known of it without reading it.
    piece: OnceCell<Piece>,
    changed: bool,
    pub(super) source: Source,
    pub(super) reason: Reason,
}

impl<'w> Line<'w> {
    pub(super) fn new(text: impl Into<Cow<'w, str>>, source: Source, reason: Reason) -> Self {
        Self { text: text.into(), value: OnceCell::new(), piece: OnceCell::new(), changed: false, source, reason }
    }

    /// The same as said in this very request, under the window as it is.
    pub(super) fn of_now(self) -> Self {
        Self { source: Source::Own, ..self }
    }

    /// Whether its blocks are no longer those of its text.
    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    pub(super) fn role(&self) -> &str {
        self.value()["role"].as_str().unwrap_or_default()
    }

    /// What it says; null if it cannot be read.
    pub(super) fn value(&self) -> &Value {
        self.value.get_or_init(|| value_of(&self.text).unwrap_or_default())
    }

    /// The same, to be changed.
    fn value_mut(&mut self) -> &mut Value {
        self.value();
        self.changed = true;
        self.piece.take();
        self.value.get_mut().expect("it was read above")
    }

    fn piece(&self) -> &Piece {
        let read = || if self.changed { Piece::read(&self.text, self.value()) } else { Piece::of(&self.text) };
        self.piece.get_or_init(read)
    }

    /// The hash of what it says, in whatever way it is written; `None` if there is nothing in it.
    pub(super) fn hash(&self) -> Option<Hash128> {
        self.piece().hash
    }

    /// Whether there is reasoning in it.
    pub(super) fn thinks(&self) -> bool {
        self.piece().thinks
    }

    /// Its blocks; none if its content is a text.
    pub(super) fn blocks(&self) -> &[Value] {
        self.value()["content"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether it has a block of a kind.
    pub(super) fn has(&self, kind: &str) -> bool {
        self.blocks().iter().any(|block| block["type"] == kind)
    }

    /// The ids of the calls it makes.
    pub(super) fn calls(&self) -> Vec<String> {
        let calls = self.blocks().iter().filter(|block| block["type"] == "tool_use");
        calls.filter_map(|call| call["id"].as_str().map(str::to_owned)).collect()
    }

    /// The message of the log it is.
    pub(super) fn id(&self) -> Option<MessageId> {
        match self.source {
            Source::Said(id) => Some(id),
            Source::Round | Source::Own | Source::Note => None,
        }
    }

    /// Whether a person begins a turn with it, unless results stand before it.
    fn begins_turn(&self) -> bool {
        self.id().is_some() && self.reason != Reason::Kept && self.role() == "user" && !self.has("tool_result")
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.hash().is_none()
    }

    /// Takes blank words out of what a model said, where it said no others: its provider makes them before calls, and
    /// refuses them when they come back.
    pub(super) fn without_blanks(mut self) -> Self {
        let words = || self.blocks().iter().filter(|block| is_words(block));
        let says = words().any(|block| block["text"].as_str().is_none_or(|text| !text.trim().is_empty()));
        if says || words().next().is_none() || self.role() != "assistant" {
            return self;
        }
        let rest = self.blocks().iter().filter(|block| !is_words(block)).cloned().collect();
        self.rewrite(rest);
        self
    }

    /// Gives it other blocks.
    pub(super) fn rewrite(&mut self, blocks: Vec<Value>) {
        self.value_mut()["content"] = blocks.into();
    }

    /// Its blocks, to be changed; a content that is a text becomes one block.
    pub(super) fn blocks_mut(&mut self) -> Option<&mut Vec<Value>> {
        if !self.value().is_object() {
            return None;
        }
        let content = &mut self.value_mut()["content"];
        if let Value::String(text) = content {
            *content = json!([{"type": "text", "text": text}]);
        }
        content.as_array_mut()
    }

    /// As it is sent.
    pub(super) fn into_text(self) -> Cow<'w, str> {
        if self.changed { self.value().to_string().into() } else { self.text }
    }

    /// The text it came as.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

fn is_words(block: &Value) -> bool {
    block["type"] == "text"
}

/// Where the last turn begins. What the person's role says right behind results goes on with theirs: to its provider,
/// both are one message.
pub(super) fn last_turn(lines: &[Line<'_>]) -> Option<usize> {
    let begins = |at: &usize| lines[*at].begins_turn() && !follows_results(&lines[..*at]);
    (0..lines.len()).rev().find(begins)
}

fn follows_results(before: &[Line<'_>]) -> bool {
    before.iter().rev().take_while(|line| line.role() == "user").any(|line| line.has("tool_result"))
}

/// Whether a block is reasoning, which is sent as it was made or not at all.
pub(super) fn is_thinking(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}
