//! A block of a window as it is told.

use schemars::JsonSchema;
use scrollback::MessageId;
use scrollback::note::Covers;
use scrollback::sketch::caption;
use scrollback::view::{View, reason_word};
use scrollback::window::{self, Body, Ours, Reason, Tells, Window};
use serde::Serialize;

/// A block.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct Block {
    /// The message it shows.
    message: Option<MessageId>,
    /// The first and last message it stands for.
    covers: Option<[MessageId; 2]>,
    speaker: String,
    reason: Reason,
    /// Why it is there, in words.
    why: String,
    tokens: u32,
    /// A line of it.
    line: String,
    /// What stands there in the place of messages, counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    tells: Option<Counted>,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// What the line of such a block says, for whoever says it in other words.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Counted {
    Pages { pages: usize },
    Topics { topics: u32 },
    Documents { documents: u32 },
    Summary { last: MessageId },
    Kept { rules: usize, pins: usize, earlier: usize },
    Quotes { topics: usize, messages: usize },
    Held { hold: String, tokens: u32 },
}

impl Counted {
    fn of(block: &window::Block) -> Option<Self> {
        match &block.body {
            Body::Note(Ours { tells, .. }) => Some(Self::in_note(tells)),
            Body::Held(stored, _) => {
                Some(Self::Held { hold: format!("h{}", stored.id.0), tokens: stored.measure.tokens })
            }
            Body::Original(_) | Body::Whole(..) | Body::Round(_) | Body::Nothing(_) => None,
        }
    }

    fn in_note(tells: &Tells) -> Self {
        match tells {
            Tells::Pages(pages) => Self::Pages { pages: *pages },
            Tells::Topics(topics) => Self::Topics { topics: *topics },
            Tells::Documents(documents) => Self::Documents { documents: *documents },
            Tells::Summary(last) => Self::Summary { last: *last },
            Tells::Kept(words) => {
                Self::Kept { rules: words.rules.len(), pins: words.pinned.len(), earlier: words.earlier.len() }
            }
            Tells::Quotes { topics, messages } => Self::Quotes { topics: *topics, messages: *messages },
        }
    }
}

impl Block {
    pub(super) fn of(block: &window::Block, with_text: bool) -> Self {
        let message = match &block.body {
            Body::Nothing(stored) => Some(stored.id),
            Body::Original(_) | Body::Held(..) | Body::Whole(..) | Body::Round(_) | Body::Note(_) => {
                block.message().map(|stored| stored.id)
            }
        };
        Self {
            message,
            covers: block.covers.map(Covers::ends),
            speaker: block.speaker().to_owned(),
            reason: block.reason,
            why: reason_word(block.reason).to_owned(),
            tokens: block.tokens,
            line: caption(block),
            tells: Counted::of(block),
            text: with_text.then(|| said(block)),
        }
    }

    /// What was recalled on the way, which only the view knows.
    fn recalled(view: &View) -> Self {
        Self {
            message: None,
            covers: None,
            speaker: "recalled".into(),
            reason: Reason::Recalled,
            why: reason_word(Reason::Recalled).to_owned(),
            tokens: view.recalled_tokens,
            line: view.recalls.join(", "),
            tells: None,
            text: None,
        }
    }
}

/// What a block says.
fn said(block: &window::Block) -> String {
    match &block.body {
        Body::Held(..) | Body::Note(_) => block.text().to_owned(),
        Body::Original(stored) | Body::Whole(stored, _) => stored.message().to_text(),
        Body::Nothing(_) => String::new(),
        Body::Round(raw) => scrollback::Message::new(raw.clone()).to_text(),
    }
}

/// The blocks of a view.
pub(super) fn all(window: &Window, view: &View, with_text: bool) -> Vec<Block> {
    let shown = window.blocks().iter().map(|block| Block::of(block, with_text));
    shown.chain((view.recalled_tokens > 0).then(|| Block::recalled(view))).collect()
}
