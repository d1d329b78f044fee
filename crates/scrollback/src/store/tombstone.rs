//! What stands in the place of a tool result that its owner had erased: the same role and the same call, and a
//! sentence.

use serde_json::{Map, Value, json};

use super::{Origin, Stored};
use crate::ids::At;
use crate::message::{Message, value_of};
use crate::tokens::Measure;

/// A message without what its tool results said; `None` if it holds none, or is a tombstone already.
pub(super) fn tombstone(stored: &Stored, at: At) -> Option<Stored> {
    if stored.origin == Origin::Erased {
        return None;
    }
    let words = format!("[This tool result was erased for good by its owner, on request, {at}.]");
    let message = results_saying(stored.raw.get(), &words)?;
    let measure = Measure::with(&message, stored.measure.vocabulary);
    Some(Stored { origin: Origin::Erased, measure, raw: message.raw().clone(), ..stored.clone() })
}

/// The same message with other words in its tool results; `None` if it has none.
pub(super) fn results_saying(raw: &str, words: &str) -> Option<Message> {
    let mut value: Value = value_of(raw).ok()?;
    let words = Value::from(words);
    let fields = value.as_object_mut()?;
    let named = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default();
    let is_item = named("type").ends_with("_call_output");
    let is_message = matches!(named("role"), "tool" | "function");
    if is_item {
        only(fields, &["type", "id", "call_id", "role", "status"], "output", words);
    } else if is_message {
        only(fields, &["role", "tool_call_id", "name"], "content", words);
    } else {
        in_parts(fields.get_mut("content")?.as_array_mut()?, &words)?;
    }
    Message::from_json(&value.to_string()).ok()
}

/// Keeps some fields and puts words into one.
fn only(fields: &mut Map<String, Value>, kept: &[&str], field: &str, words: Value) {
    fields.retain(|name, _| kept.contains(&name.as_str()));
    fields.insert(field.to_owned(), words);
}

/// Results that are parts of a message; its other parts stay.
fn in_parts(parts: &mut [Value], words: &Value) -> Option<()> {
    let mut results = parts.iter_mut().filter(|part| part["type"] == "tool_result").peekable();
    results.peek()?;
    results
        .for_each(|part| *part = json!({"type": "tool_result", "tool_use_id": part["tool_use_id"], "content": words}));
    Some(())
}
