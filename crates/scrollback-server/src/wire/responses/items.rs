//! What an item is: words, a call, or something else that is carried as it stands.

use serde_json::{Value, json};

use crate::wire::Output;
use crate::wire::edit::add_counts;
use crate::wire::said::{Called, Piece};

/// The items of a reply as its pieces. A call whose result is among them was carried out by the provider and waits for
/// nobody.
pub(super) fn pieces(items: &[Value]) -> Vec<Piece> {
    let results = items.iter().filter(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output")));
    let answered: Vec<&str> = results.filter_map(|item| item["call_id"].as_str()).collect();
    let is_answered = |item: &Value| item["call_id"].as_str().is_some_and(|id| answered.contains(&id));
    let read = |item: &Value| if is_answered(item) { Piece::Other(item.clone()) } else { piece(item) };
    items.iter().map(read).collect()
}

/// An item of a reply as a piece of it.
pub(super) fn piece(item: &Value) -> Piece {
    match item["type"].as_str().unwrap_or_default() {
        "message" => Piece::Words { text: text(item), value: item.clone() },
        "function_call" => Piece::Call(called(item)),
        kind if is_left_to_the_client(kind, item) => Piece::Call(Called { name: kind.to_owned(), ..called(item) }),
        _ => Piece::Other(item.clone()),
    }
}

/// Whether an item waits for something of the client: the result of a tool that is no function, or a permission.
/// Without such an id the provider runs a tool by itself.
fn is_left_to_the_client(kind: &str, item: &Value) -> bool {
    kind.ends_with("_call") && item["call_id"].is_string() || kind == "mcp_approval_request"
}

/// A piece of a reply as an item; none if it has no words left.
pub(super) fn item(piece: &Piece) -> Option<Value> {
    match piece {
        Piece::Words { text: said, value } if *said == text(value) => Some(value.clone()),
        Piece::Words { text, value } => (!text.is_empty()).then(|| saying(value.clone(), text)),
        Piece::Call(call) => Some(call.value.clone()),
        Piece::Other(value) => Some(value.clone()),
    }
}

/// The words of a message.
pub(super) fn text(item: &Value) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    parts.filter(|part| is_words(part)).filter_map(|part| part["text"].as_str()).collect()
}

/// Whether a part of a message holds words.
pub(super) fn is_words(part: &Value) -> bool {
    part["type"] == "output_text"
}

fn called(item: &Value) -> Called {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let namespace = text("namespace");
    // A tool in a namespace is the client's, whatever its name.
    let name = if namespace.is_empty() { text("name") } else { format!("{namespace}__{}", text("name")) };
    Called { id: text("call_id"), name, arguments: text("arguments"), value: item.clone() }
}

/// A message that says something else: in its first part of words, the others are gone.
fn saying(mut item: Value, text: &str) -> Value {
    let mut text = Some(text);
    let parts = item["content"].as_array().cloned().unwrap_or_default();
    let said = |mut part: Value| {
        if is_words(&part) {
            part["text"] = text.take()?.into();
        }
        Some(part)
    };
    item["content"] = parts.into_iter().filter_map(said).collect();
    item
}

/// Adds the output of earlier rounds to the usage that a response reports.
pub(super) fn add_output(response: &mut Value, earlier: Output) {
    let counts = [
        ("/usage/output_tokens", earlier.tokens),
        ("/usage/total_tokens", earlier.tokens),
        ("/usage/output_tokens_details/reasoning_tokens", earlier.reasoning),
    ];
    add_counts(response, &counts);
}

/// A message of ours.
pub(super) fn message(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}
