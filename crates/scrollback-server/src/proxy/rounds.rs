//! What an exchange remembers of its rounds: those before, how its model wants to be asked, and what was sent last.

use std::time::Instant;

use scrollback::ids::Hash128;
use serde_json::Value;

use crate::wire::Reasoning;
use crate::wire::said::Piece;

/// The rounds before the one that is under way.
#[derive(Default)]
pub(super) struct Rounds {
    pub(super) count: u32,
    /// What the client is shown of them.
    pub(super) shown: Vec<Piece>,
    /// All of their messages.
    pub(super) messages: Vec<Value>,
    /// Where the model's provider ran programs.
    pub(super) container: Option<String>,
}

/// How the model wants to be asked, as far as that is known.
pub(super) struct Manner {
    /// What of its earlier reasoning it is sent.
    pub(super) reasoning: Reasoning,
    /// Whether neighbours of one speaker are sent as one message.
    pub(super) joins: bool,
    /// Whether a smaller window was sent.
    pub(super) shrunk: bool,
}

/// What was sent last.
pub(super) struct Sent {
    pub(super) at: Instant,
    /// Whether it is not just what the client sent.
    pub(super) changed: bool,
    /// Fields of the request that were not sent.
    pub(super) gone: Vec<&'static str>,
    /// What had to be done to the window, for the view.
    pub(super) notices: Vec<String>,
    /// Whether the reply has no end.
    pub(super) partial: bool,
    /// What the reply's reasoning is bound to.
    pub(super) bound: Option<Hash128>,
}

impl Sent {
    /// Nothing was sent yet.
    pub(super) fn nothing() -> Self {
        Self { at: Instant::now(), changed: false, gone: Vec::new(), notices: Vec::new(), partial: false, bound: None }
    }
}
