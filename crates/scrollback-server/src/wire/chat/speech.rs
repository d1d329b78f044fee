//! Replies as whole bodies.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::relay::Chunks;
use super::reply::Gathered;
use super::{answer, back};
use crate::wire::edit::{add_counts, openai_error};
use crate::wire::said::{Piece, Said};
use crate::wire::{ErrorKind, Output, Own, Relay, Speech};

/// How replies are read and written here.
pub(super) struct Completions;

impl Speech for Completions {
    fn read(&self, body: &[u8]) -> Option<Said> {
        Gathered::whole(body).map(Gathered::said)
    }

    fn edited(&self, body: &[u8], said: &Said, earlier: Output) -> Bytes {
        let Ok(mut reply) = serde_json::from_slice::<Value>(body) else { return Bytes::copy_from_slice(body) };
        let choice = &mut reply["choices"][0];
        choice["message"] = message(said);
        if choice["finish_reason"] == "tool_calls" && said.calls().next().is_none() {
            choice["finish_reason"] = "stop".into();
        }
        add_output(&mut reply, earlier);
        reply.to_string().into()
    }

    fn messages(&self, said: &Said) -> Vec<Value> {
        vec![message(said)]
    }

    fn own(&self, own: &Own<'_>) -> Bytes {
        answer::written(own)
    }

    fn error(&self, kind: ErrorKind, code: &str, what: &str) -> Value {
        openai_error(kind, code, what)
    }

    fn relay(&self, hides_markers: bool) -> Box<dyn Relay> {
        Box::new(Chunks::new(hides_markers))
    }
}

/// One message: the fields of the last round, the words and thoughts of all, the calls.
fn message(said: &Said) -> Value {
    let (mut fields, mut calls) = (Map::new(), Vec::new());
    for piece in &said.pieces {
        match piece {
            Piece::Words { value, .. } | Piece::Other(value) => fields = thought_on(&fields, value),
            Piece::Call(call) => calls.push(call.value.clone()),
        }
    }
    let text = said.text();
    // Some servers leave the role open in all of a stream.
    if fields.get("role").and_then(Value::as_str).is_none_or(str::is_empty) {
        fields.insert("role".into(), "assistant".into());
    }
    let content = fields.entry("content").or_insert(Value::Null);
    if let Some(parts) = parts(said) {
        *content = parts;
    } else if content.as_str().unwrap_or_default() != text {
        *content = text.into();
    }
    if !calls.is_empty() {
        fields.insert("tool_calls".into(), calls.into());
    }
    back::worded(&mut fields);
    fields.into()
}

/// What all rounds said in parts, if one of them said more than words.
fn parts(said: &Said) -> Option<Value> {
    let mut lists = false;
    let mut parts = Vec::new();
    for piece in &said.pieces {
        let Piece::Words { text, value } = piece else { continue };
        parts.extend((!text.is_empty()).then(|| json!({"type": "text", "text": text})));
        if let Some(list) = value["content"].as_array() {
            lists = true;
            parts.extend(list.iter().cloned());
        }
    }
    lists.then(|| parts.into())
}

/// The fields of a round, with what was thought before it in front of its own thoughts.
fn thought_on(earlier: &Map<String, Value>, value: &Value) -> Map<String, Value> {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    for name in ["reasoning_content", "reasoning"] {
        if let Some(Value::String(before)) = earlier.get(name) {
            let all = format!("{before}{}", fields.get(name).and_then(Value::as_str).unwrap_or_default());
            fields.insert(name.into(), all.into());
        }
    }
    fields
}

/// Adds the output of earlier rounds to reported usage; their input is not, as clients size their window by it.
pub(super) fn add_output(reply: &mut Value, earlier: Output) {
    let counts = [
        ("/usage/completion_tokens", earlier.tokens),
        ("/usage/total_tokens", earlier.tokens),
        ("/usage/completion_tokens_details/reasoning_tokens", earlier.reasoning),
    ];
    add_counts(reply, &counts);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::said::Called;

    fn words(text: &str, value: Value) -> Piece {
        Piece::Words { text: text.into(), value }
    }

    fn check(pieces: Vec<Piece>, expected: &Value) {
        assert_eq!(message(&Said { pieces, ..Said::default() }), *expected);
    }

    #[test]
    fn a_reply_whose_role_is_left_open_is_the_assistants() {
        for role in [Value::Null, json!("")] {
            let value = json!({"role": role, "content": "Red."});
            check(vec![words("Red.", value)], &json!({"role": "assistant", "content": "Red."}));
        }
        check(vec![words("Red.", json!({"content": "Red."}))], &json!({"role": "assistant", "content": "Red."}));
        let other = json!({"role": "model", "content": "Red."});
        check(vec![words("Red.", other.clone())], &other);
    }

    #[test]
    fn a_reply_of_nothing_is_an_empty_text() {
        let silent = json!({"role": "assistant", "content": ""});
        check(vec![words("", json!({"role": "assistant", "content": null}))], &silent);
        check(vec![], &silent);
        let refused = json!({"role": "assistant", "content": null, "refusal": "No."});
        check(vec![words("", refused.clone())], &refused);
        let value = json!({"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}});
        let called = Called { id: "a".into(), name: "look".into(), arguments: "{}".into(), value: value.clone() };
        let calls = json!({"role": "assistant", "content": null, "tool_calls": [value]});
        check(vec![words("", json!({"role": "assistant", "content": null})), Piece::Call(called)], &calls);
    }

    #[test]
    fn parts_stand_beside_the_words_of_other_rounds() {
        let part = json!({"type": "image_url", "image_url": {"url": "data:,"}});
        let list = || words("", json!({"role": "assistant", "content": [part]}));
        let text = |text: &str| words(text, json!({"role": "assistant", "content": text}));
        let said = |content: Value| json!({"role": "assistant", "content": content});
        let spoken = |text: &str| json!({"type": "text", "text": text});
        check(vec![list()], &said(json!([part])));
        check(vec![text("Let me see. "), list()], &said(json!([spoken("Let me see. "), part])));
        check(vec![list(), text("There.")], &said(json!([part, spoken("There.")])));
        check(vec![text("Let me see. "), text("There.")], &said(json!("Let me see. There.")));
    }
}
