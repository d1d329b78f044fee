//! A window as the messages of a request.

use std::borrow::Cow;

use scrollback::window::{Block, Reason};
use serde_json::{Value, json};

use super::results;
use crate::wire::Dress;
use crate::wire::edit::{addressing, array};
use crate::wire::foreign::{Answered, Foreign, Saying, Words, shape};

/// The messages of a window as a JSON array, with one of ours after the instructions if there is one.
pub(super) fn messages(dress: &Dress<'_>) -> String {
    let foreign = Foreign::read(dress, &shape::CHAT);
    let blocks: Vec<&Block> = dress.turn.window().sent().collect();
    let instructions = blocks.iter().take_while(|block| block.reason == Reason::Instructions).count();
    let (head, tail) = blocks.split_at(instructions);
    // What the client calls its instructions: some models take those of one role alone.
    let role = head.last().and_then(|block| block.message()).map(|stored| stored.role.as_str());
    let role = role.filter(|role| *role == "developer").unwrap_or("system");
    let own = dress.instruction.map(|text| json!({"role": role, "content": text}).to_string().into());
    let head: Vec<Cow<'_, str>> = head.iter().flat_map(|block| written(block, &foreign, dress.handle)).collect();
    let tail = tail.iter().flat_map(|block| written(block, &foreign, dress.handle)).collect();
    array(head.into_iter().chain(own).chain(results::gathered(tail)))
}

fn written<'b>(block: &'b Block, foreign: &Foreign, handle: Option<&str>) -> Vec<Cow<'b, str>> {
    match foreign.sayings(block) {
        Some(sayings) => sayings.iter().flat_map(said).map(|message| message.to_string().into()).collect(),
        None => vec![block.as_chat(handle.map(addressing).as_deref())],
    }
}

/// Something that was imported as messages: the results of its calls follow it.
fn said(saying: &Saying) -> Vec<Value> {
    let block = |words: &Words| match words {
        Words::Text(text) => json!({"type": "text", "text": text}),
        Words::Picture(url) => json!({"type": "image_url", "image_url": {"url": url}}),
    };
    let content = match saying.text() {
        Some(text) if text.is_empty() => Value::Null,
        Some(text) => text.into(),
        None => saying.words.iter().map(block).collect(),
    };
    let mut message = json!({"role": saying.speaker.as_str(), "content": content});
    if !saying.calls.is_empty() {
        message["tool_calls"] = saying.calls.iter().map(call).collect();
    }
    let result = |call: &Answered| json!({"role": "tool", "tool_call_id": call.id, "content": call.result});
    std::iter::once(message).chain(saying.calls.iter().map(result)).collect()
}

fn call(call: &Answered) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments.to_string()}})
}
