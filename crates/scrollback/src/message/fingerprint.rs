//! When two messages count as the same.
//!
//! *Strong*: everything but what clients are known to add, drop or move between two sendings of one message (cache
//! markers, item ids, statuses, nulls, reasoning), with JSON in canonical order. *Weak*: the words alone. Strong
//! equality decides what is already in the log; weak equality only helps to align a history that a client has
//! rewritten.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use super::{Message, Part, Role, read};
use crate::ids::{Fingerprint, Hash128};

/// Fields of messages and blocks that say nothing about what was said.
const VOLATILE: [&str; 6] = ["cache_control", "prompt_cache_breakpoint", "status", "annotations", "logprobs", "index"];
/// Fields of messages that carry reasoning.
const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_details", "thinking"];
/// Fields that say what a block among a tool's results says.
const TELLING: [&str; 6] = ["text", "title", "url", "content", "name", "file_path"];

pub(super) fn strong(message: &Value) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"strong");
    match message {
        Value::Object(fields) => feed_message(&mut hasher, fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            feed(&mut hasher, message);
        }
    }
    Fingerprint(Hash128::finish(&hasher))
}

fn feed_message(hasher: &mut blake3::Hasher, fields: &Map<String, Value>) {
    // An id says nothing beside words; where it stands alone, as in a reference to an earlier item, it is all that is
    // said.
    let is_reference = fields.keys().all(|key| key == "id" || key == "type");
    let kept = fields.iter().filter(|(key, value)| match key.as_str() {
        "id" => is_reference,
        "type" => value.as_str() != Some("message"),
        key => !REASONING.contains(&key),
    });
    feed_fields(hasher, kept);
}

/// The fields of a message or a block: sorted, without what is volatile or absent.
fn feed_fields<'a>(hasher: &mut blake3::Hasher, fields: impl Iterator<Item = (&'a String, &'a Value)>) {
    let mut kept: Vec<_> =
        fields.filter(|(key, value)| !VOLATILE.contains(&key.as_str()) && !is_absent(value)).collect();
    kept.sort_unstable_by_key(|(key, _)| *key);
    hasher.update(b"{");
    for (key, value) in kept {
        feed_bytes(hasher, b'k', key.as_bytes());
        feed_field(hasher, key, value);
    }
    hasher.update(b"}");
}

fn feed_field(hasher: &mut blake3::Hasher, key: &str, value: &Value) {
    match (key, value) {
        ("content" | "output", Value::String(text)) => {
            hasher.update(b"[{");
            feed_bytes(hasher, b'k', b"text");
            feed_bytes(hasher, b's', text.as_bytes());
            feed_bytes(hasher, b'k', b"type");
            feed_bytes(hasher, b's', b"text");
            hasher.update(b"}]");
        }
        ("content" | "output" | "tool_calls", Value::Array(items)) => feed_blocks(hasher, items),
        ("function", Value::Object(fields)) => feed_fields(hasher, fields.iter()),
        ("arguments", _) => feed(hasher, &read::unfolded(value)),
        ("type", Value::String(kind)) if matches!(kind.as_str(), "input_text" | "output_text") => {
            feed_bytes(hasher, b's', b"text");
        }
        _ => feed(hasher, value),
    }
}

fn feed_blocks(hasher: &mut blake3::Hasher, items: &[Value]) {
    hasher.update(b"[");
    for item in items.iter().filter(|item| !is_silent(item)) {
        match item.as_object() {
            Some(fields) => feed_fields(hasher, fields.iter()),
            None => feed(hasher, item),
        }
    }
    hasher.update(b"]");
}

/// Blocks that clients drop: reasoning and empty text.
fn is_silent(block: &Value) -> bool {
    match block.get("type").and_then(Value::as_str) {
        Some("thinking" | "redacted_thinking" | "reasoning") => true,
        Some("text" | "input_text" | "output_text") => block.get("text").and_then(Value::as_str) == Some(""),
        _ => false,
    }
}

fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_silent),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Any JSON value in canonical order, nothing left out.
fn feed(hasher: &mut blake3::Hasher, value: &Value) {
    match value {
        Value::Null => drop(hasher.update(b"0")),
        Value::Bool(true) => drop(hasher.update(b"t")),
        Value::Bool(false) => drop(hasher.update(b"f")),
        Value::Number(number) => feed_bytes(hasher, b'n', number.to_string().as_bytes()),
        Value::String(text) => feed_bytes(hasher, b's', text.as_bytes()),
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                feed(hasher, item);
            }
            hasher.update(b"]");
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            hasher.update(b"{");
            for (key, value) in sorted {
                feed_bytes(hasher, b'k', key.as_bytes());
                feed(hasher, value);
            }
            hasher.update(b"}");
        }
    }
}

fn feed_bytes(hasher: &mut blake3::Hasher, tag: u8, bytes: &[u8]) {
    hasher.update(&[tag]);
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

pub(super) fn weak(message: &Message) -> Fingerprint {
    if message.is_exported {
        // No client rewrites it, and what is read of it may become more: it is itself or another.
        return weak_by(message.role(), b'e', &message.strong().0.0);
    }
    // Where there are words, a client may send them back without the sound.
    let is_silent = message.parts().iter().all(|part| matches!(part, Part::Thinking(_)));
    match message.sound.as_deref().filter(|_| is_silent) {
        Some(id) => weak_by(message.role(), b'a', id.as_bytes()),
        None => weak_of(message.role(), message.parts().iter()),
    }
}

/// The weak fingerprint of a message that something else than its words tells from others.
fn weak_by(role: &Role, tag: u8, bytes: &[u8]) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"weak");
    feed_bytes(&mut hasher, b'r', role.as_str().as_bytes());
    feed_bytes(&mut hasher, tag, bytes);
    Fingerprint(Hash128::finish(&hasher))
}

/// The weak fingerprint of what can be read of a message, but for pictures and files that it only points to; `None` if
/// that is nothing. Reasoning counts where there is nothing else.
pub(super) fn spoken(message: &Message) -> Option<Fingerprint> {
    let is_read = |part: &&Part| match part {
        Part::Other(_) | Part::Thinking(_) => false,
        Part::Image(_) | Part::File(_) => part.attachments() > 0,
        Part::Text(_) | Part::Call { .. } | Part::Result { .. } => true,
    };
    let thoughts: Vec<&str> = message.parts().iter().filter_map(thought).collect();
    let read: Vec<Part> = message.parts().iter().filter(is_read).map(without_particulars).collect();
    match (read.is_empty(), thoughts.concat().trim()) {
        (true, "") => None,
        (true, _) => Some(weak_by(message.role(), b't', thoughts.join("\n").as_bytes())),
        (false, _) => Some(weak_of(message.role(), read.iter())),
    }
}

fn thought(part: &Part) -> Option<&str> {
    if let Part::Thinking(words) = part { Some(words) } else { None }
}

/// A result with the words alone of what it holds beside words: pages that were found, say. What a program tells of
/// them besides changes from one edition of its file to the next.
fn without_particulars(part: &Part) -> Part {
    let Part::Result { call, text, other } = part else { return part.clone() };
    let telling = |block: &Value| {
        let fields = block.as_object().into_iter().flatten().filter(|(key, _)| TELLING.contains(&key.as_str()));
        let told: Map<String, Value> = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
        if told.is_empty() { block.clone() } else { Value::Object(told) }
    };
    Part::Result { call: call.clone(), text: text.clone(), other: other.iter().map(telling).collect() }
}

fn weak_of<'a>(role: &Role, parts: impl Iterator<Item = &'a Part>) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"weak");
    feed_bytes(&mut hasher, b'r', role.as_str().as_bytes());
    for part in parts {
        match part {
            Part::Call { name, arguments, .. } => {
                feed_bytes(&mut hasher, b'c', name.as_bytes());
                feed(&mut hasher, arguments);
            }
            Part::Text(text) => feed_words(&mut hasher, text),
            Part::Result { text, other, .. } => {
                feed_words(&mut hasher, text);
                for block in other {
                    feed(&mut hasher, block);
                }
            }
            // What we cannot read may be all a message says: two that differ in it must not count as one.
            Part::Image(block) | Part::File(block) | Part::Other(block) => feed(&mut hasher, block),
            Part::Thinking(_) => {}
        }
    }
    Fingerprint(Hash128::finish(&hasher))
}

fn feed_words(hasher: &mut blake3::Hasher, text: &str) {
    for word in text.split_whitespace() {
        if word.is_ascii() {
            hasher.update(word.as_bytes());
        } else {
            hasher.update(word.nfc().collect::<String>().as_bytes());
        }
        hasher.update(b" ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(json: &str) -> Message {
        Message::from_json(json).unwrap()
    }

    fn same(a: &str, b: &str) {
        assert_eq!(message(a).strong(), message(b).strong(), "{a} and {b} should be one message");
    }

    fn different(a: &str, b: &str) {
        assert_ne!(message(a).strong(), message(b).strong(), "{a} and {b} should be two messages");
    }

    #[test]
    fn writing_and_volatile_fields_do_not_matter() {
        same(r#"{"role":"user","content":"hi"}"#, r#"{ "content" : "hi", "role": "user" }"#);
        same(r#"{"role":"user","content":"hi"}"#, r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#);
        same(
            r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#,
            r#"{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"hi","cache_control":{"type":"ephemeral"}}],"status":"completed"}"#,
        );
        same(
            r#"{"role":"assistant","content":"a"}"#,
            r#"{"role":"assistant","content":"a","refusal":null,"annotations":[],"tool_calls":[],"reasoning_content":"hm"}"#,
        );
        same(
            r#"{"role":"assistant","content":[{"type":"text","text":"a"}]}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"},{"type":"text","text":"a"},{"type":"text","text":""}]}"#,
        );
        same(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1,\"b\":2}"}}]}"#,
            r#"{"role":"assistant","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{ \"b\":2, \"a\":1 }"}}]}"#,
        );
    }

    #[test]
    fn what_was_said_matters() {
        different(r#"{"role":"user","content":"hi"}"#, r#"{"role":"user","content":"hi "}"#);
        different(r#"{"role":"user","content":"hi"}"#, r#"{"role":"assistant","content":"hi"}"#);
        different(
            r#"{"role":"tool","tool_call_id":"a","content":"x"}"#,
            r#"{"role":"tool","tool_call_id":"b","content":"x"}"#,
        );
        different(
            r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"status\":1}"}}]}"#,
            r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"status\":2}"}}]}"#,
        );
        different(r#"{"type":"item_reference","id":"msg_1"}"#, r#"{"type":"item_reference","id":"msg_2"}"#);
        different(r#"{"role":"user","content":"hi","name":"ann"}"#, r#"{"role":"user","content":"hi","name":"bob"}"#);
        different(
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:a"}}]}"#,
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:b"}}]}"#,
        );
    }

    #[test]
    fn weak_ignores_ids_and_spacing() {
        let a = message(
            r#"{"role":"assistant","content":"an  answer\n","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}"#,
        );
        let b = message(
            r#"{"role":"assistant","content":"an answer","tool_calls":[{"id":"zz","function":{"name":"f","arguments":"{}"}}]}"#,
        );
        assert_ne!(a.strong(), b.strong());
        assert_eq!(a.weak(), b.weak());
        assert_ne!(a.weak(), message(r#"{"role":"assistant","content":"an other answer"}"#).weak());
    }

    #[test]
    fn weak_tells_apart_what_only_unknown_blocks_and_pictures_say() {
        let said = |kind: &str, block: &str| message(&format!(r#"{{"role":"{kind}","content":[{block}]}}"#)).weak();
        for role in ["assistant", "tool"] {
            assert_ne!(said(role, r#"{"type":"hologram","of":"a"}"#), said(role, r#"{"type":"hologram","of":"b"}"#));
        }
        let shot = |picture: &str| {
            said(
                "user",
                &format!(
                    r#"{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"image","source":"{picture}"}}]}}"#
                ),
            )
        };
        assert_ne!(shot("a"), shot("b"));
    }

    #[test]
    fn weak_knows_a_sound_by_its_id() {
        let sound = |fields: &str, id: &str| {
            message(&format!(r#"{{"role":"assistant",{fields}"audio":{{"id":"{id}"}}}}"#)).weak()
        };
        let whole = message(
            r#"{"role":"assistant","content":null,"audio":{"id":"a","data":"AAAA","expires_at":7,"transcript":"Hello."}}"#,
        );
        assert_eq!(whole.weak(), sound("", "a"));
        assert_ne!(whole.weak(), sound("", "b"));
        let words = message(r#"{"role":"assistant","content":"Hello."}"#).weak();
        assert_eq!(sound(r#""content":"Hello.","#, "a"), words, "words are enough");
    }
}
