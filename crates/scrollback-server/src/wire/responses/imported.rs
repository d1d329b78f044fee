//! What was imported in another shape, as items.

use serde_json::{Value, json};

use crate::wire::foreign::{Answered, Saying, Speaker, Words};

/// Something said as items: a message, then calls, then their results.
pub(super) fn items(saying: &Saying) -> Vec<Value> {
    let said = (!saying.words.is_empty()).then(|| message(saying));
    let calls = saying.calls.iter().map(call);
    said.into_iter().chain(calls).chain(saying.calls.iter().map(result)).collect()
}

fn message(saying: &Saying) -> Value {
    let part = |words: &Words| match words {
        Words::Text(text) => json!({"type": "input_text", "text": text}),
        Words::Picture(url) => json!({"type": "input_image", "image_url": url}),
    };
    let content: Value = match saying.text().filter(|_| saying.speaker == Speaker::Assistant) {
        Some(text) => text.into(),
        None => saying.words.iter().map(part).collect(),
    };
    json!({"type": "message", "role": saying.speaker.as_str(), "content": content})
}

fn call(call: &Answered) -> Value {
    json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments.to_string()})
}

fn result(call: &Answered) -> Value {
    json!({"type": "function_call_output", "call_id": call.id, "output": call.result})
}
