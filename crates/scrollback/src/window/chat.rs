//! A window as messages of OpenAI Chat Completions, which most servers take.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Block, Body, Reason, Window};
use crate::message::{reworded, value_of};

impl Window {
    /// The blocks that are sent, in order.
    pub fn sent(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.reason != Reason::LeftOut)
    }

    /// The messages to send, for a conversation that is held in this dialect: what was said as it came, notes and
    /// quotes as messages of the person.
    pub fn chat_messages(&self) -> Vec<Box<RawValue>> {
        let raw =
            |block: &Block| RawValue::from_string(block.as_chat(None).into_owned()).expect("a message is valid JSON");
        self.sent().map(raw).collect()
    }
}

impl Block {
    /// It as one message; a remark may stand under a text of ours.
    pub fn as_chat(&self, remark: Option<&str>) -> Cow<'_, str> {
        let told = |text: &str| remark.map_or_else(|| text.to_owned(), |remark| format!("{text}\n{remark}"));
        match &self.body {
            Body::Original(_) | Body::Whole(..) | Body::Round(_) | Body::Nothing(_) => self.text().into(),
            // A note speaks as nobody; of the roles there are, the person's has the least authority that all models
            // accept.
            Body::Note(ours) => json!({"role": "user", "content": told(&ours.text)}).to_string().into(),
            Body::Held(stored, placeholder) => held(stored.raw.get(), &told(&placeholder.text)).into(),
        }
    }
}

/// A tool's message with a placeholder for its words, and every other field as it was.
fn held(raw: &str, placeholder: &str) -> String {
    let mut message: Value = value_of(raw).unwrap_or_else(|_| json!({"role": "tool"}));
    message["content"] = reworded(&message["content"], placeholder);
    message.to_string()
}
