//! A reply that no model made, in the shape of those that models make.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::wire::Own;
use crate::wire::said::Called;
use crate::wire::sse::event_of;

/// The body: one piece, or the events of a stream.
pub(super) fn written(own: &Own<'_>) -> Bytes {
    if own.streams { streamed(own) } else { response(own, "completed", &items(own)).to_string().into() }
}

/// The whole response.
fn response(own: &Own<'_>, status: &str, output: &[Value]) -> Value {
    let usage = json!({"input_tokens": 0, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 0,
                       "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0});
    let usage = if own.tells_usage && status == "completed" { usage } else { Value::Null };
    json!({"id": own.id, "object": "response", "created_at": 0, "status": status, "error": null,
           "incomplete_details": null, "instructions": null, "metadata": {}, "model": own.model, "output": output,
           "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
           "usage": usage})
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn items(own: &Own<'_>) -> Vec<Value> {
    let words = json!({"id": format!("msg_{}", own.id), "type": "message", "status": "completed", "role": "assistant",
                       "content": [part(own.text)]});
    let call = |call: &Called| {
        json!({"id": format!("fc_{}", call.id), "type": "function_call", "status": "completed", "call_id": call.id,
               "name": call.name, "arguments": call.arguments})
    };
    let speaks = !own.text.is_empty() || own.calls.is_empty();
    speaks.then_some(words).into_iter().chain(own.calls.iter().map(call)).collect()
}

fn streamed(own: &Own<'_>) -> Bytes {
    let items = items(own);
    let mut events = vec![
        json!({"type": "response.created", "response": response(own, "in_progress", &[])}),
        json!({"type": "response.in_progress", "response": response(own, "in_progress", &[])}),
    ];
    for (index, item) in items.iter().enumerate() {
        events.extend(if item["type"] == "message" { spoken(index, item, own.text) } else { called(index, item) });
    }
    events.push(json!({"type": "response.completed", "response": response(own, "completed", &items)}));
    let numbered = events.into_iter().enumerate().map(|(number, mut value)| {
        value["sequence_number"] = number.into();
        event_of(&value)
    });
    numbered.collect::<Vec<_>>().concat().into()
}

/// An item that has only begun.
fn begun(item: &Value, field: &str, empty: Value) -> Value {
    let mut begun = item.clone();
    (begun["status"], begun[field]) = ("in_progress".into(), empty);
    begun
}

fn spoken(index: usize, item: &Value, text: &str) -> Vec<Value> {
    let at = |kind: &str, name: &str, value: Value| json!({"type": kind, "item_id": item["id"], "output_index": index, "content_index": 0, name: value});
    let mut told = vec![
        json!({"type": "response.output_item.added", "output_index": index, "item": begun(item, "content", json!([]))}),
        at("response.content_part.added", "part", part("")),
        at("response.output_text.delta", "delta", text.into()),
        at("response.output_text.done", "text", text.into()),
        at("response.content_part.done", "part", part(text)),
        json!({"type": "response.output_item.done", "output_index": index, "item": item}),
    ];
    for told in &mut told[2..4] {
        told["logprobs"] = json!([]);
    }
    told
}

fn called(index: usize, item: &Value) -> Vec<Value> {
    let at = |kind: &str, name: &str| json!({"type": kind, "item_id": item["id"], "output_index": index, name: item["arguments"]});
    let mut done = at("response.function_call_arguments.done", "arguments");
    done["name"] = item["name"].clone();
    vec![
        json!({"type": "response.output_item.added", "output_index": index, "item": begun(item, "arguments", "".into())}),
        at("response.function_call_arguments.delta", "delta"),
        done,
        json!({"type": "response.output_item.done", "output_index": index, "item": item}),
    ]
}
