//! What the blocks say that only ChatGPT's exports have, such as `chatgpt.thoughts`. They are kept whole; this is how
//! they are read.
//!
//! Some mean something only beside others of their message: a picture is called what its attachment is, and a sound is
//! told of only where nobody wrote down what was said.

use serde_json::{Map, Value};

use super::{Part, fenced, read};

const PREFIX: &str = "chatgpt.";
const PICTURE: &str = "chatgpt.image_asset_pointer";
const SPOKEN: &str = "chatgpt.audio_transcription";
/// Fields that say what a block is, not what it says.
const KINDS: [&str; 3] = ["type", "content_type", "original_type"];

/// What a block is, if it is one of those.
pub(super) fn kind(block: &Value) -> Option<&str> {
    block.get("type")?.as_str()?.strip_prefix(PREFIX)
}

/// Whether a message has such blocks.
pub(super) fn is_in(message: &Value) -> bool {
    message.get("content").and_then(Value::as_array).is_some_and(|blocks| blocks.iter().any(|it| kind(it).is_some()))
}

/// What a block says among all of its message; `None` if that is nothing.
pub(super) fn part(kind: &str, block: &Value, all: &[Value]) -> Option<Part> {
    let text = |key: &str| text(block, key);
    match kind {
        "audio_transcription" => words(text("text").to_owned()),
        "thoughts" => Some(Part::Thinking(thoughts(block))),
        "reasoning_recap" => Some(Part::Thinking(text("content").to_owned())),
        "code" => words(code(text("language"), text("text"))),
        "execution_output" => Some(result(text("text").to_owned())),
        "system_error" => Some(result(joined(&[text("name"), text("text")], ": "))),
        "tether_browsing_display" => {
            let told = if text("result").is_empty() { text("summary") } else { text("result") };
            Some(result(told.to_owned()))
        }
        "tether_quote" | "sonic_webpage" => Some(result(joined(&[text("title"), text("url"), text("text")], "\n"))),
        "user_editable_context" => words(joined(&[text("user_profile"), text("user_instructions")], "\n")),
        "model_editable_context" => words(text("model_set_context").to_owned()),
        "image_asset_pointer" => Some(Part::Image(picture(block, all))),
        "attachment" => attachment(block, all).map(Part::File),
        kind if kind.contains("audio") || kind.contains("video") => sound(kind, block, all).map(Part::File),
        _ => words(strings(block).join("\n")),
    }
}

fn text<'a>(block: &'a Value, key: &str) -> &'a str {
    block.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn words(text: String) -> Option<Part> {
    (!text.trim().is_empty()).then_some(Part::Text(text))
}

/// Code as it stands. JSON whose strings are written with escapes, as of documents that the model writes, is read as
/// those strings: their lines would be run together, and their words not be found.
fn code(language: &str, text: &str) -> String {
    let unfolded = text.contains('\\').then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    match unfolded.filter(|value| value.is_object() || value.is_array()) {
        Some(value) => strings(&value).join("\n\n"),
        None => fenced(Some(language).filter(|name| *name != "unknown").unwrap_or(""), text),
    }
}

fn result(text: String) -> Part {
    Part::Result { call: None, text, other: Vec::new() }
}

/// Texts that are not empty, with something between them.
fn joined(texts: &[&str], between: &str) -> String {
    texts.iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join(between)
}

fn thoughts(block: &Value) -> String {
    let thoughts = block.get("thoughts").and_then(Value::as_array).into_iter().flatten();
    let told = thoughts.map(|thought| joined(&[text(thought, "summary"), text(thought, "content")], "\n"));
    told.filter(|told| !told.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// A picture: what it is called and what was asked for, else where ChatGPT had it. Nothing more of it is in the file.
fn picture(block: &Value, all: &[Value]) -> Value {
    let pointer = text(block, "asset_pointer");
    let attached = all.iter().find(|other| is_attachment_of(other, pointer));
    let name = attached.map_or_else(|| text(block, "file_name"), |attached| text(attached, "name"));
    let asked = block.pointer("/metadata/dalle/prompt").and_then(Value::as_str);
    let caption = asked.unwrap_or_else(|| text(block, "caption"));
    let pointer = if name.is_empty() && caption.is_empty() { pointer } else { "" };
    told(PICTURE, &[("file_name", name), ("caption", caption), ("asset_pointer", pointer)])
}

/// An attached file by its name, unless it is a picture that is shown.
fn attachment(block: &Value, all: &[Value]) -> Option<Value> {
    let is_shown = |other: &Value| is_picture(other) && is_attachment_of(block, text(other, "asset_pointer"));
    let name = if text(block, "name").is_empty() { text(block, "id") } else { text(block, "name") };
    (!all.iter().any(is_shown)).then(|| told("chatgpt.attachment", &[("name", name)]))
}

fn is_picture(block: &Value) -> bool {
    text(block, "type") == PICTURE
}

fn is_attachment_of(block: &Value, pointer: &str) -> bool {
    let id = text(block, "id");
    kind(block) == Some("attachment") && !id.is_empty() && pointer.ends_with(&format!("//{id}"))
}

/// A sound or a film by its length, unless what was said stands beside it.
fn sound(kind: &str, block: &Value, all: &[Value]) -> Option<Value> {
    if all.iter().any(|other| text(other, "type") == SPOKEN) {
        return None;
    }
    let sound = block.get("audio_asset_pointer").filter(|inner| inner.is_object()).unwrap_or(block);
    let second = |key: &str| sound.pointer(&format!("/metadata/{key}")).and_then(Value::as_f64);
    let films = kind.starts_with("video") || block.get("video_container_asset_pointer").is_some_and(Value::is_object);
    let what = if films { "video" } else { "audio" };
    let label = match second("start").zip(second("end")).map(|(start, end)| end - start) {
        Some(length) if length > 0.0 => format!("{what} {length:.1} s"),
        Some(_) | None => what.to_owned(),
    };
    let label = if text(block, "label").is_empty() { &label } else { text(block, "label") };
    Some(told("chatgpt.audio_asset_pointer", &[("label", label)]))
}

/// A block with the fields that say something.
fn told(kind: &str, fields: &[(&str, &str)]) -> Value {
    let said = fields.iter().filter(|(_, value)| !value.is_empty());
    let said = said.map(|(key, value)| ((*key).to_owned(), Value::from(*value)));
    Value::Object(std::iter::once(("type".to_owned(), kind.into())).chain(said).collect::<Map<_, _>>())
}

/// The words in a block that is not known, without the names of its fields.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) if read::is_blob(text) || text.is_empty() => Vec::new(),
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => {
            let said = fields.iter().filter(|(key, _)| !KINDS.contains(&key.as_str()));
            said.flat_map(|(_, value)| strings(value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::Message;

    fn read(role: &str, blocks: &Value) -> Vec<Part> {
        let message = json!({"role": role, "name": "tool", "content": blocks}).to_string();
        Message::from_json(&message).unwrap().parts().to_vec()
    }

    /// What one block says, alone.
    fn check(block: &Value, expected: &[Part]) {
        assert_eq!(read("assistant", &json!([block])), expected, "{block}");
    }

    fn says(text: &str) -> Part {
        Part::Text(text.into())
    }

    #[test]
    fn words_thoughts_and_code() {
        check(&json!({"type": "chatgpt.audio_transcription", "text": "hello", "direction": "in"}), &[says("hello")]);
        let thoughts =
            json!([{"summary": "Plan", "content": "A sieve.", "chunks": []}, {"summary": "Go", "content": ""}]);
        check(
            &json!({"type": "chatgpt.thoughts", "thoughts": thoughts, "source_analysis_msg_id": "x"}),
            &[Part::Thinking("Plan\nA sieve.\n\nGo".into())],
        );
        check(
            &json!({"type": "chatgpt.reasoning_recap", "content": "Thought for 12 s"}),
            &[Part::Thinking("Thought for 12 s".into())],
        );
        check(&json!({"type": "chatgpt.code", "language": "python", "text": "1+1"}), &[says("```python\n1+1\n```")]);
        check(&json!({"type": "chatgpt.code", "language": "unknown", "text": "{}"}), &[says("```\n{}\n```")]);
    }

    #[test]
    fn what_is_written_inside_of_json_is_read() {
        let canvas = json!({"name": "tides", "type": "document", "content": "# Tides\nHigh at \"six\"."}).to_string();
        check(
            &json!({"type": "chatgpt.code", "language": "json", "text": canvas}),
            &[says("tides\n\n# Tides\nHigh at \"six\".")],
        );
        let edits = r#"{"updates":[{"pattern":"\\d+","multiple":true,"replacement":"\u6f6e\u6c50"}]}"#;
        check(&json!({"type": "chatgpt.code", "text": edits}), &[says("\\d+\n\n潮汐")]);
        let plain = r#"print("a\nb")"#;
        check(&json!({"type": "chatgpt.code", "text": plain}), &[says("```\nprint(\"a\\nb\")\n```")]);
    }

    #[test]
    fn results_are_words_of_tools() {
        let check = |block: Value, expected: &str| assert_eq!(read("tool", &json!([block])), [result(expected.into())]);
        check(json!({"type": "chatgpt.execution_output", "text": "45"}), "45");
        check(json!({"type": "chatgpt.system_error", "name": "tool_error", "text": "failed"}), "tool_error: failed");
        check(json!({"type": "chatgpt.tether_browsing_display", "result": "", "summary": "short"}), "short");
        check(json!({"type": "chatgpt.tether_browsing_display", "result": "# News", "summary": "short"}), "# News");
        check(
            json!({"type": "chatgpt.tether_quote", "url": "https://e.org", "domain": "e.org", "title": "T", "text": "x"}),
            "T\nhttps://e.org\nx",
        );
        check(json!({"type": "chatgpt.sonic_webpage", "url": "https://e.org", "text": "x"}), "https://e.org\nx");
    }

    #[test]
    fn pictures_are_called_what_they_were_attached_as() {
        let pointer = json!({"type": "chatgpt.image_asset_pointer", "asset_pointer": "sediment://file_abc", "width": 640,
                             "metadata": {"dalle": null}});
        let boat = json!({"type": "chatgpt.attachment", "id": "file_abc", "name": "boat.jpg", "size": 5});
        let tides = json!({"type": "chatgpt.attachment", "id": "file_pdf", "name": "tides.pdf"});
        let named = json!({"type": "chatgpt.image_asset_pointer", "file_name": "boat.jpg"});
        let shown =
            [Part::Image(named), says("what?"), Part::File(json!({"type": "chatgpt.attachment", "name": "tides.pdf"}))];
        assert_eq!(read("user", &json!([pointer, {"type": "text", "text": "what?"}, boat, tides])), shown);
        let alone = json!({"type": "chatgpt.image_asset_pointer", "asset_pointer": "sediment://file_abc"});
        check(&pointer, &[Part::Image(alone)]);
        let made = json!({"type": "chatgpt.image_asset_pointer", "asset_pointer": "x", "metadata": {"dalle": {"prompt": "a red boat"}}});
        let captioned = json!({"type": "chatgpt.image_asset_pointer", "caption": "a red boat"});
        check(&made, &[Part::Image(captioned.clone())]);
        check(&captioned, &[Part::Image(captioned.clone())]);
    }

    #[test]
    fn sounds_are_told_of_where_nobody_wrote_them_down() {
        let sound = json!({"type": "chatgpt.audio_asset_pointer", "metadata": {"start": 0, "end": 1.24}});
        let label = |label: &str| Part::File(json!({"type": "chatgpt.audio_asset_pointer", "label": label}));
        check(&sound, &[label("audio 1.2 s")]);
        let film = json!({"type": "chatgpt.real_time_user_audio_video_asset_pointer", "video_container_asset_pointer": {"a": 1},
                          "audio_asset_pointer": sound});
        check(&film, &[label("video 1.2 s")]);
        check(&json!({"type": "chatgpt.audio_asset_pointer", "metadata": {}}), &[label("audio")]);
        let spoken = json!({"type": "chatgpt.audio_transcription", "text": "hello"});
        assert_eq!(read("user", &json!([film, spoken])), [says("hello")]);
    }

    #[test]
    fn what_stands_for_all_conversations_and_what_is_unknown() {
        let context = json!({"type": "chatgpt.user_editable_context", "user_profile": "I sail.", "user_instructions": "Be brief."});
        check(&context, &[says("I sail.\nBe brief.")]);
        check(&json!({"type": "chatgpt.model_editable_context", "model_set_context": "", "repository": null}), &[]);
        let odd = json!({"type": "chatgpt.app_pairing", "content_type": "app_pairing", "list": [{"name": "Notes", "n": 1}, "draft"]});
        check(&odd, &[says("Notes\ndraft")]);
    }

    #[test]
    fn they_stay_on_their_path_and_are_told_apart() {
        let thought = |text: &str| {
            let blocks = json!([{"type": "chatgpt.thoughts", "thoughts": [{"summary": text}]}]);
            Message::from_json(&json!({"role": "assistant", "content": blocks}).to_string()).unwrap()
        };
        assert!(!thought("a").is_aside(), "as it was kept before anybody could read it");
        assert_ne!(thought("a").weak(), thought("b").weak());
        assert_eq!(thought("a").weak(), thought("a").weak());
    }
}
