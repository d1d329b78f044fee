//! From JSON to role and parts: one tolerant reader for the shapes of OpenAI chat, OpenAI Responses and Anthropic.
//!
//! The shapes do not clash, so no dialect has to be named: content is a string or blocks, blocks say their `type`, chat
//! messages carry `tool_calls`, Responses items have a `type` and often no role.

use serde_json::{Map, Value};

use super::{Part, Role, chatgpt};

/// Strings in this form and over this length are encoded bytes, not language.
const BLOB_MIN_BYTES: usize = 256;

pub(super) fn message(value: &Value) -> (Role, Vec<Part>) {
    let Value::Object(fields) = value else {
        return (Role::Other("".into()), vec![Part::Other(value.clone())]);
    };
    let kind = string(fields, "type").unwrap_or("message");
    match string(fields, "role") {
        // An item that is no message may have a role all the same.
        Some(role) if kind != "message" && !fields.contains_key("content") => (role.into(), vec![block(value)]),
        Some(role) => (role.into(), parts_of_message(fields, role)),
        None => (role_of_item(kind), vec![block(value)]),
    }
}

/// The name a message gives its speaker; in calls and results it would be a tool's.
pub(super) fn name(value: &Value, role: &Role) -> Option<Box<str>> {
    let speaks = matches!(role, Role::User | Role::Assistant) && value.get("role").is_some();
    value.get("name").filter(|_| speaks)?.as_str().filter(|name| !name.is_empty()).map(Into::into)
}

/// The id of the sound that a chat message says beside its content.
pub(super) fn sound(value: &Value) -> Option<Box<str>> {
    value.get("audio").filter(|_| value.get("role").is_some())?.get("id")?.as_str().map(Into::into)
}

fn role_of_item(kind: &str) -> Role {
    if kind.ends_with("_output") {
        Role::Tool
    } else if kind == "reasoning" || kind.ends_with("_call") {
        Role::Assistant
    } else {
        Role::Other(kind.into())
    }
}

fn parts_of_message(fields: &Map<String, Value>, role: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for key in ["reasoning_content", "reasoning", "thinking"] {
        parts.extend(string(fields, key).filter(|text| !text.is_empty()).map(|text| Part::Thinking(text.to_owned())));
    }
    let content = fields.get("content").unwrap_or(&Value::Null);
    if role == "tool" || role == "function" {
        // A tool's name is no id: it would link every result of one tool to every other.
        parts.push(result(string(fields, "tool_call_id"), content));
    } else {
        parts.extend(blocks(content));
    }
    parts.extend(string(fields, "refusal").map(|text| Part::Text(text.to_owned())));
    parts.extend(array(fields, "tool_calls").iter().map(block));
    parts.extend(fields.get("function_call").filter(|call| call.is_object()).map(|call| chat_call(None, call)));
    parts
}

/// Types of blocks that are words.
const WORDS: [&str; 3] = ["text", "input_text", "output_text"];
/// Types of blocks that are pictures.
const IMAGES: [&str; 3] = ["image", "image_url", "input_image"];
/// What a computer shows, in the result of a call alone.
const SCREENSHOT: &str = "computer_screenshot";
/// Types of blocks that are documents or sounds.
const FILES: [&str; 5] = ["file", "document", "input_file", "input_audio", "container_upload"];

fn blocks(content: &Value) -> Vec<Part> {
    match content {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Part::Text(text.clone())],
        Value::Array(items) => items.iter().filter_map(|item| block_among(item, items)).collect(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![Part::Other(content.clone())],
    }
}

fn block_among(value: &Value, all: &[Value]) -> Option<Part> {
    match chatgpt::kind(value) {
        Some(kind) => chatgpt::part(kind, value, all),
        None => Some(block(value)),
    }
}

fn block(value: &Value) -> Part {
    let Value::Object(fields) = value else {
        return value.as_str().map_or_else(|| Part::Other(value.clone()), |text| Part::Text(text.to_owned()));
    };
    let id = string(fields, "id").map(str::to_owned);
    match string(fields, "type").unwrap_or_default() {
        kind if WORDS.contains(&kind) => Part::Text(string(fields, "text").unwrap_or_default().to_owned()),
        kind if IMAGES.contains(&kind) => Part::Image(value.clone()),
        kind if FILES.contains(&kind) => Part::File(value.clone()),
        "thinking" => Part::Thinking(string(fields, "thinking").unwrap_or_default().to_owned()),
        "redacted_thinking" => Part::Thinking(String::new()),
        "reasoning" => Part::Thinking(reasoning_text(fields)),
        "tool_use" => call(id, fields, "input"),
        "function_call" => call(string(fields, "call_id").map(str::to_owned), fields, "arguments"),
        "custom_tool_call" => call(string(fields, "call_id").map(str::to_owned), fields, "input"),
        "tool_result" => result(string(fields, "tool_use_id"), fields.get("content").unwrap_or(&Value::Null)),
        // Tools of which the item's type is the name: a shell, a computer. Without such an id the provider runs it by
        // itself.
        kind if kind.ends_with("_call") && fields.contains_key("call_id") => {
            let id = string(fields, "call_id").map(str::to_owned);
            Part::Call { id, name: kind.to_owned(), arguments: value.clone() }
        }
        kind if kind.ends_with("_call_output") => {
            let output = fields.get("output").unwrap_or(&Value::Null);
            result(string(fields, "call_id"), shell_output(output).as_ref().unwrap_or(output))
        }
        _ => match (fields.get("function"), fields.get("custom")) {
            (Some(function), _) => chat_call(id, function),
            (None, Some(Value::Object(custom))) => call(id, custom, "input"),
            (None, _) => Part::Other(value.clone()),
        },
    }
}

/// Whether a block holds words and nothing else.
pub(super) fn is_words(block: &Value) -> bool {
    block.get("type").and_then(Value::as_str).is_some_and(|kind| WORDS.contains(&kind))
}

/// What a document says that is plain text, as Anthropic's may be: a model reads it like any other words.
pub(super) fn plain(document: &Value) -> Option<&str> {
    let source = document.get("source").filter(|source| source["type"] == "text")?;
    source.get("data")?.as_str()
}

/// Whether a block that is not words is a picture or a document, by its type or by what it carries.
pub(super) fn is_attachment(block: &Value) -> bool {
    attached(block).is_some()
}

/// What a block is that is a picture or a document: "image" or "file".
pub(super) fn attached(block: &Value) -> Option<&'static str> {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    if IMAGES.contains(&kind) || kind == SCREENSHOT {
        Some("image")
    } else {
        (FILES.contains(&kind) || !blobs(block).is_empty()).then_some("file")
    }
}

/// The strings in a value that are clearly not language.
pub(super) fn blobs(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) if is_blob(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(blobs).collect(),
        Value::Object(fields) => fields.values().flat_map(blobs).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn chat_call(id: Option<String>, function: &Value) -> Part {
    match function {
        Value::Object(fields) => call(id, fields, "arguments"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Part::Other(function.clone())
        }
    }
}

fn call(id: Option<String>, fields: &Map<String, Value>, arguments: &str) -> Part {
    let name = string(fields, "name").unwrap_or_default().to_owned();
    Part::Call { id, name, arguments: fields.get(arguments).map_or(Value::Null, unfolded) }
}

fn result(call: Option<&str>, content: &Value) -> Part {
    let (mut texts, mut other) = (Vec::new(), Vec::new());
    for part in blocks(content) {
        match part {
            Part::Image(block) | Part::File(block) | Part::Other(block) => other.push(block),
            Part::Text(text) | Part::Thinking(text) => texts.push(text),
            Part::Call { arguments, .. } => other.push(arguments),
            Part::Result { text, other: nested, .. } => {
                texts.push(text);
                other.extend(nested);
            }
        }
    }
    Part::Result { call: call.map(str::to_owned), text: texts.join("\n"), other }
}

/// What a command printed where Codex wrote that as JSON inside of a string, beside how the command ended.
fn shell_output(output: &Value) -> Option<Value> {
    let text = output.as_str().filter(|text| text.starts_with('{') && text.contains("\"metadata\""))?;
    let Value::Object(mut fields) = serde_json::from_str(text).ok()? else { return None };
    let printed = fields.remove("output").filter(Value::is_string)?;
    fields.keys().all(|key| key == "metadata").then_some(printed)
}

fn reasoning_text(fields: &Map<String, Value>) -> String {
    let texts = ["summary", "content"].iter().flat_map(|key| array(fields, key));
    texts.filter_map(|item| item.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
}

/// JSON that travels inside a string, as call arguments do, opened up; any other value as it is.
pub(super) fn unfolded(value: &Value) -> Value {
    match value {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.clone(),
    }
}

/// JSON with a mark in place of every half of a surrogate pair, which clients leave when they cut a text inside an
/// emoji.
pub(super) fn mended(json: &str) -> String {
    let (mut mended, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        let (taken, half) = match (code_unit(escape), escape.get(6..).and_then(code_unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, false),
            (Some(0xD800..=0xDFFF), _) => (6, true),
            (Some(_), _) => (6, false),
            (None, _) => (2, false),
        };
        let (escape, after) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        mended.push_str(before);
        mended.push_str(if half { "\\ufffd" } else { escape });
        rest = after;
    }
    mended.push_str(rest);
    mended
}

/// The code of an escape such as `\ud83d` that a text begins with.
fn code_unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// Whether a string is encoded bytes (a data URL, base64, a signature) rather than language.
pub(super) fn is_blob(text: &str) -> bool {
    text.len() >= BLOB_MIN_BYTES
        && (is_data_url(text)
            || text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')))
}

/// Whether a text begins as a data URL does: before its comma it says in one piece what it holds. Settings and lines of
/// a stream begin with `data:`, too.
fn is_data_url(text: &str) -> bool {
    let kind = text.strip_prefix("data:").and_then(|rest| rest.split_once(','));
    let is_of_kind = |byte: u8| byte.is_ascii_alphanumeric() || b"/;=+.-_".contains(&byte);
    kind.is_some_and(|(kind, _)| kind.bytes().all(is_of_kind))
}

fn string<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key)?.as_str()
}

fn array<'a>(fields: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    fields.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: &Value, role: &str, parts: &[Part]) {
        assert_eq!(message(value), (role.into(), parts.to_vec()));
    }

    fn text(words: &str) -> Part {
        Part::Text(words.into())
    }

    #[test]
    fn chat_messages() {
        check(&json!({"role": "user", "content": "hi"}), "user", &[text("hi")]);
        check(&json!({"role": "assistant", "content": null, "refusal": "no"}), "assistant", &[text("no")]);
        check(
            &json!({"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\"/\"}"}},
                {"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]}),
            "assistant",
            &[
                Part::Thinking("hm".into()),
                Part::Call { id: Some("c1".into()), name: "ls".into(), arguments: json!({"path": "/"}) },
                Part::Call { id: Some("c2".into()), name: "sh".into(), arguments: json!("ls") },
            ],
        );
        check(
            &json!({"role": "tool", "tool_call_id": "c1", "content": "a\nb"}),
            "tool",
            &[Part::Result { call: Some("c1".into()), text: "a\nb".into(), other: vec![] }],
        );
        check(
            &json!({"role": "function", "name": "ls", "content": "a"}),
            "function",
            &[Part::Result { call: None, text: "a".into(), other: vec![] }],
        );
    }

    #[test]
    fn anthropic_messages() {
        let image = json!({"type": "image", "source": {"type": "base64", "data": "AAAA"}});
        check(
            &json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "out"}, image]},
                {"type": "text", "text": "go on"}]}),
            "user",
            &[Part::Result { call: Some("t1".into()), text: "out".into(), other: vec![image] }, text("go on")],
        );
        check(
            &json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "/"}}]}),
            "assistant",
            &[
                Part::Thinking("hm".into()),
                Part::Call { id: Some("t1".into()), name: "ls".into(), arguments: json!({"path": "/"}) },
            ],
        );
    }

    #[test]
    fn responses_items() {
        check(
            &json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
            "user",
            &[text("hi")],
        );
        check(
            &json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": "{}"}),
            "assistant",
            &[Part::Call { id: Some("c1".into()), name: "ls".into(), arguments: json!({}) }],
        );
        check(
            &json!({"type": "function_call_output", "call_id": "c1", "output": "x"}),
            "tool",
            &[Part::Result { call: Some("c1".into()), text: "x".into(), other: vec![] }],
        );
    }

    #[test]
    fn what_a_command_printed_is_read_out_of_its_json() {
        let printed = |output: &str| {
            let item = json!({"type": "function_call_output", "call_id": "c1", "output": output});
            message(&item).1[0].words()[0].to_string()
        };
        assert_eq!(printed(r#"{"output":"pier two\nclosed\n","metadata":{"exit_code":0}}"#), "pier two\nclosed\n");
        for other in [r#"{"output":"a","more":"b","metadata":{}}"#, r#"{"metadata":{}}"#, r#"{"output":"a"}"#, "{"] {
            assert_eq!(printed(other), other, "it may be the tool's own");
        }
    }

    #[test]
    fn what_only_begins_like_a_data_url_is_language() {
        let long = "the ferry leaves at nine, ".repeat(20);
        for text in ["data:\n  note: ", "data: ", "data:{\"text\":\"", "data:"] {
            assert!(!is_blob(&format!("{text}{long}")), "{text}");
        }
        for kind in ["image/png;base64", "text/plain;charset=utf-8", ""] {
            assert!(is_blob(&format!("data:{kind},{long}")), "{kind}");
        }
        let arguments = json!({"path": "config.yaml", "content": format!("data:\n  note: {long}")});
        let call = json!({"type": "tool_use", "id": "t1", "name": "write", "input": arguments});
        let said = json!({"role": "assistant", "content": [call]});
        assert!(message(&said).1[0].words().iter().any(|words| words.contains("ferry")));
    }

    #[test]
    fn halves_of_surrogate_pairs_are_marked() {
        let check = |json: &str, expected: &str| assert_eq!(mended(json), expected);
        check(r#""\ud83d\ude00 \u00e9 \n""#, r#""\ud83d\ude00 \u00e9 \n""#);
        check(r#""cut \ud83d""#, r#""cut \ufffd""#);
        check(r#""\ude00\ud83d\ud83d\ude00""#, r#""\ufffd\ufffd\ud83d\ude00""#);
        check(r#""\\ud83d is typed""#, r#""\\ud83d is typed""#);
    }

    #[test]
    fn what_is_unknown_is_kept_whole() {
        let strange = json!({"type": "hologram", "data": [1, 2]});
        check(&json!({"role": "user", "content": [strange]}), "user", &[Part::Other(strange)]);
        check(
            &json!({"type": "compaction", "encrypted_content": "x"}),
            "compaction",
            &[Part::Other(json!({"type": "compaction", "encrypted_content": "x"}))],
        );
        check(&json!("bare"), "", &[Part::Other(json!("bare"))]);
    }
}
