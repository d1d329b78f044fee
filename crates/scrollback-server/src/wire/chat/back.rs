//! What of a reply goes back to its provider. Replies may hold more than requests may: where something was searched,
//! pictures, sounds. Clients do not send that back, and some providers refuse it.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use scrollback::message::value_of;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::wire::request::Request;

/// What requests may hold in a reply, beside reasoning.
const TAKEN: [&str; 10] = [
    "role",
    "content",
    "name",
    "tool_calls",
    "function_call",
    "refusal",
    "audio",
    "prefix",
    "extra_content",
    "thinking_blocks",
];
/// What may stand in the place of words.
const INSTEAD: [&str; 4] = ["tool_calls", "function_call", "refusal", "audio"];
/// How the names of fields begin in which servers tell reasoning.
const REASONING: &str = "reasoning";
/// What stands for a sound, which its provider has.
const ID: &str = "id";

/// What goes back with the requests of a client.
pub(super) struct Back<'a> {
    request: &'a Request,
    /// The fields of the replies that the client sends, once somebody asks.
    sent: OnceCell<HashSet<String>>,
}

impl<'a> Back<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        Self { request, sent: OnceCell::new() }
    }

    /// A reply as it goes back; `None` if that is as it came. A field that the client itself sends in some reply is
    /// one that its provider takes.
    pub(super) fn written(&self, reply: &str) -> Option<String> {
        let mut fields: Map<String, Value> = value_of(reply).ok()?;
        if fields.get("role")? != "assistant" {
            return None;
        }
        let whole = fields.len();
        fields.retain(|name, _| is_taken(name) || self.sent().contains(name));
        let sound = fields.get_mut("audio").and_then(Value::as_object_mut).filter(|sound| sound.contains_key(ID));
        let is_cut = sound.is_some_and(cut);
        let is_less = fields.len() < whole;
        let is_mute = worded(&mut fields);
        (is_cut || is_less || is_mute).then(|| Value::Object(fields).to_string())
    }

    fn sent(&self) -> &HashSet<String> {
        let read = || {
            let messages = self.request.raw("messages").and_then(|all| serde_json::from_str(all).ok());
            let messages: Vec<&RawValue> = messages.unwrap_or_default();
            let replies = messages.iter().filter(|message| message.get().contains("\"assistant\""));
            let fields = replies.filter_map(|reply| serde_json::from_str(reply.get()).ok());
            fields.flat_map(HashMap::<String, &RawValue>::into_keys).collect()
        };
        self.sent.get_or_init(read)
    }
}

/// Writes an empty text into a reply that says nothing, and whether it did: providers refuse a null that stands beside
/// nothing else.
pub(super) fn worded(fields: &mut Map<String, Value>) -> bool {
    let says = |value: &Value| !value.is_null() && value.as_array().is_none_or(|parts| !parts.is_empty());
    let has = |name: &str| fields.get(name).is_some_and(says);
    let is_mute = !has("content") && !INSTEAD.into_iter().any(has);
    if is_mute {
        fields.insert("content".into(), "".into());
    }
    is_mute
}

fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name) || name.starts_with(REASONING)
}

/// Leaves nothing of a sound but its id; whether there was more.
fn cut(sound: &mut Map<String, Value>) -> bool {
    let whole = sound.len();
    sound.retain(|name, _| name == ID);
    sound.len() < whole
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    fn check(history: &Value, reply: &Value, expect: Option<&Value>) {
        let body = Bytes::from(json!({"messages": history}).to_string());
        let request = Request::found(&body, "messages").unwrap();
        let written = Back::of(&request).written(&reply.to_string());
        let written: Option<Value> = written.map(|written| serde_json::from_str(&written).unwrap());
        assert_eq!(written.as_ref(), expect, "{reply}");
    }

    #[test]
    fn what_requests_do_not_hold_does_not_go_back() {
        let nothing = json!([{"role": "user", "content": "Go on."}]);
        let call = json!({"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}, "extra_content": {"google": 1}});
        let plain = json!({"role": "assistant", "content": "Red.", "refusal": null, "name": "ann", "tool_calls": [call],
            "reasoning": "hm", "reasoning_details": [{"type": "reasoning.text"}], "reasoning_opaque": "x"});
        check(&nothing, &plain, None);
        let mut more = plain.clone();
        for name in ["executed_tools", "images", "annotations", "citations", "search_results"] {
            more[name] = json!([{"url": "data:,"}]);
        }
        check(&nothing, &more, Some(&plain));
        let said = |audio: Value| json!({"role": "assistant", "content": null, "audio": audio});
        let id = json!({"id": "audio_1"});
        check(&nothing, &said(json!({"id": "audio_1", "data": "QUJD", "transcript": "Red."})), Some(&said(id.clone())));
        check(&nothing, &said(id), None);
        check(&nothing, &json!({"role": "tool", "content": "a boat", "x": 1}), None);
    }

    #[test]
    fn a_reply_of_nothing_goes_back_as_an_empty_text() {
        let nothing = json!([{"role": "user", "content": "Go on."}]);
        let said = |content: Value| json!({"role": "assistant", "content": content, "audio": null});
        let silent = json!({"role": "assistant", "content": "", "audio": null});
        check(&nothing, &said(Value::Null), Some(&silent));
        check(&nothing, &said(json!([])), Some(&silent));
        check(&nothing, &silent, None);
        let none = json!({"role": "assistant", "content": null, "tool_calls": [], "reasoning": "hm"});
        let mut written = none.clone();
        written["content"] = json!("");
        check(&nothing, &none, Some(&written));
        let calls = json!([{"id": "a"}]);
        for (name, value) in [("refusal", json!("No.")), ("tool_calls", calls), ("function_call", json!({}))] {
            let mut instead = json!({"role": "assistant", "content": null});
            instead[name] = value;
            check(&nothing, &instead, None);
        }
    }

    #[test]
    fn what_the_client_sends_back_itself_is_taken() {
        let drawn = json!({"role": "assistant", "content": "A boat.", "images": [{"type": "image_url"}]});
        let echo = json!([{"role": "user", "content": "Draw.", "x": 1}, drawn]);
        check(&echo, &drawn, None);
        let mut searched = drawn.clone();
        (searched["citations"], searched["x"]) = (json!(["a"]), json!(1));
        check(&echo, &searched, Some(&drawn));
    }
}
