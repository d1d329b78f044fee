//! A window as the messages of a request.

use std::borrow::Cow;

use scrollback::window::{Block, Body, Reason, Window};
use serde_json::{Value, json};

/// The messages of a window as a JSON array, with one of ours after the instructions if there is one.
pub(crate) fn messages(window: &Window, instruction: Option<&str>) -> String {
    let blocks = window.blocks();
    let blocks: Vec<&Block> = blocks.iter().filter(|block| block.reason != Reason::LeftOut).collect();
    let instructions = blocks.iter().take_while(|block| block.reason == Reason::Instructions).count();
    let (head, tail) = blocks.split_at(instructions);
    let own = instruction.map(Cow::Borrowed);
    let texts = head.iter().map(|block| message(block)).chain(own).chain(tail.iter().map(|block| message(block)));
    let mut out = String::with_capacity(blocks.iter().map(|block| block.text().len() + 64).sum());
    for text in texts {
        out.push(if out.is_empty() { '[' } else { ',' });
        out.push_str(&text);
    }
    out.push_str(if out.is_empty() { "[]" } else { "]" });
    out
}

fn message(block: &Block) -> Cow<'_, str> {
    match &block.body {
        Body::Original(_) | Body::Whole(..) | Body::Round(_) | Body::Nothing(_) => block.text().into(),
        // A note speaks as nobody; of the roles there are, the person's has the least authority that all models accept.
        Body::Note(text) => json!({"role": "user", "content": &**text}).to_string().into(),
        Body::Held(stored, placeholder) => held(stored.raw.get(), &placeholder.text).into(),
    }
}

/// A tool's message with a placeholder for its content, and every other field as it was.
fn held(raw: &str, placeholder: &str) -> String {
    let mut message: Value = serde_json::from_str(raw).unwrap_or_else(|_| json!({"role": "tool"}));
    message["content"] = placeholder.into();
    message.to_string()
}
