//! A window as the messages of a request.

use std::borrow::Cow;

use scrollback::window::{Block, Body, Reason, Window};
use serde_json::{Value, json};

use crate::wire::edit::{addressed, array, sent};

/// The messages of a window as a JSON array, with one of ours after the instructions if there is one.
pub(super) fn messages(window: &Window, instruction: Option<&str>, handle: Option<&str>) -> String {
    let blocks: Vec<&Block> = sent(window).collect();
    let instructions = blocks.iter().take_while(|block| block.reason == Reason::Instructions).count();
    let (head, tail) = blocks.split_at(instructions);
    let own = instruction.map(|text| json!({"role": "system", "content": text}).to_string().into());
    let head = head.iter().map(|block| message(block, handle));
    array(head.chain(own).chain(tail.iter().map(|block| message(block, handle))))
}

fn message<'b>(block: &'b Block, handle: Option<&str>) -> Cow<'b, str> {
    match &block.body {
        Body::Original(_) | Body::Whole(..) | Body::Round(_) | Body::Nothing(_) => block.text().into(),
        // A note speaks as nobody; of the roles there are, the person's has the least authority that all models accept.
        Body::Note(text) => json!({"role": "user", "content": addressed(text, handle)}).to_string().into(),
        Body::Held(stored, placeholder) => held(stored.raw.get(), &addressed(&placeholder.text, handle)).into(),
    }
}

/// A tool's message with a placeholder for its content, and every other field as it was.
fn held(raw: &str, placeholder: &str) -> String {
    let mut message: Value = serde_json::from_str(raw).unwrap_or_else(|_| json!({"role": "tool"}));
    message["content"] = placeholder.into();
    message.to_string()
}
