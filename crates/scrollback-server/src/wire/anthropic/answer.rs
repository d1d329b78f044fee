//! A reply that no model made, in the shape of those that models make.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::wire::Own;
use crate::wire::said::Called;
use crate::wire::sse::event_of;

/// The body: one piece, or the events of a stream.
pub(super) fn written(own: &Own<'_>) -> Bytes {
    if own.streams { streamed(own) } else { message(own, &blocks(own), Some(stop(own))).to_string().into() }
}

fn blocks(own: &Own<'_>) -> Vec<Value> {
    let words = (!own.text.is_empty()).then(|| json!({"type": "text", "text": own.text}));
    words.into_iter().chain(own.calls.iter().map(call)).collect()
}

fn call(call: &Called) -> Value {
    let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn stop(own: &Own<'_>) -> &'static str {
    if own.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn message(own: &Own<'_>, content: &[Value], stop: Option<&str>) -> Value {
    json!({"id": own.id, "type": "message", "role": "assistant", "model": own.model, "content": content,
           "stop_reason": stop, "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0}})
}

fn streamed(own: &Own<'_>) -> Bytes {
    let mut events = vec![json!({"type": "message_start", "message": message(own, &[], None)})];
    for (index, block) in blocks(own).into_iter().enumerate() {
        let (start, delta) = begun(block);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let end = json!({"stop_reason": stop(own), "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 0}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(event_of).collect::<Vec<_>>().concat().into()
}

/// A block as it begins, and all that follows at once.
fn begun(mut block: Value) -> (Value, Value) {
    if block["type"] == "text" {
        let text = std::mem::replace(&mut block["text"], "".into());
        return (block, json!({"type": "text_delta", "text": text}));
    }
    let input = std::mem::replace(&mut block["input"], json!({}));
    (block, json!({"type": "input_json_delta", "partial_json": input.to_string()}))
}
