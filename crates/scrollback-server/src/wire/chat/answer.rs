//! A reply that no model made, in the shape of those that models make.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::wire::Own;
use crate::wire::said::Called;
use crate::wire::sse;

/// The body: one piece, or the events of a stream.
pub(super) fn written(own: &Own<'_>) -> Bytes {
    if own.streams { streamed(own) } else { plain(own) }
}

fn message(own: &Own<'_>) -> Value {
    let call = |(index, call): (usize, &Called)| {
        json!({"index": index, "id": call.id, "type": "function",
               "function": {"name": call.name, "arguments": call.arguments}})
    };
    let calls: Vec<Value> = own.calls.iter().enumerate().map(call).collect();
    let mut message = json!({"role": "assistant", "content": own.text});
    if !calls.is_empty() {
        if own.text.is_empty() {
            message["content"] = Value::Null;
        }
        message["tool_calls"] = calls.into();
    }
    message
}

fn finish(own: &Own<'_>) -> &'static str {
    if own.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage() -> Value {
    json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
}

fn plain(own: &Own<'_>) -> Bytes {
    let choice = json!({"index": 0, "message": message(own), "finish_reason": finish(own)});
    let mut body = envelope(own, "chat.completion", &json!([choice]));
    if own.tells_usage {
        body["usage"] = usage();
    }
    body.to_string().into()
}

fn streamed(own: &Own<'_>) -> Bytes {
    let chunk = |delta: &Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        envelope(own, "chat.completion.chunk", &json!([choice]))
    };
    let mut chunks = vec![chunk(&message(own), None), chunk(&json!({}), Some(finish(own)))];
    if own.tells_usage {
        let mut last = envelope(own, "chat.completion.chunk", &json!([]));
        last["usage"] = usage();
        chunks.push(last);
    }
    let events = chunks.iter().map(|chunk| sse::written(&chunk.to_string())).chain([sse::written("[DONE]")]);
    events.collect::<Vec<_>>().concat().into()
}

fn envelope(own: &Own<'_>, object: &str, choices: &Value) -> Value {
    json!({"id": own.id, "object": object, "created": 0, "model": own.model, "choices": choices})
}
