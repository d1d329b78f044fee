//! What was imported in another shape, as messages.

use serde_json::{Value, json};

use crate::wire::foreign::{Answered, Saying, Speaker, Words};

/// Something said as messages: the results of its calls are one of the person's.
pub(super) fn messages(saying: &Saying) -> Vec<Value> {
    // Instructions in the middle of a conversation are taken by few models; the person's words are by all.
    let role = if saying.speaker == Speaker::System { Speaker::User } else { saying.speaker }.as_str();
    let content: Vec<Value> = blocks(saying).chain(saying.calls.iter().map(call)).collect();
    let said = json!({"role": role, "content": content});
    let results: Vec<Value> = saying.calls.iter().map(result).collect();
    let results = (!results.is_empty()).then(|| json!({"role": "user", "content": results}));
    std::iter::once(said).chain(results).collect()
}

/// Instructions at the head of a conversation.
pub(super) fn head(saying: &Saying) -> Value {
    json!({"role": "system", "content": blocks(saying).collect::<Vec<Value>>()})
}

fn blocks(saying: &Saying) -> impl Iterator<Item = Value> {
    saying.words.iter().map(|words| match words {
        Words::Text(text) => json!({"type": "text", "text": text}),
        Words::Picture(url) => json!({"type": "image", "source": source(url)}),
    })
}

/// Where a picture is: elsewhere, or in its address.
fn source(url: &str) -> Value {
    let held = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    match held {
        Some((kind, data)) => json!({"type": "base64", "media_type": kind, "data": data}),
        None => json!({"type": "url", "url": url}),
    }
}

fn call(call: &Answered) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
}

fn result(call: &Answered) -> Value {
    json!({"type": "tool_result", "tool_use_id": call.id, "content": call.result})
}
