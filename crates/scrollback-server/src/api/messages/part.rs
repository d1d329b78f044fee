//! The pieces of a message as they are told, whatever dialect it came in. What is not understood is told as the JSON it
//! is.

use schemars::JsonSchema;
use scrollback::{Message, Part as Read};
use serde::Serialize;
use serde_json::{Value, json};

use super::told::{How, Names};
use crate::api::markdown::html;

/// Pictures in lists are left out if their address is longer: it holds the picture itself.
const PICTURE_CHARS: usize = 400_000;
/// Where files say what they are called.
const FILE_NAMES: [&str; 7] =
    ["/file_name", "/filename", "/file/filename", "/input_file/filename", "/title", "/name", "/label"];

/// A piece of a message.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(in crate::api) enum Part {
    /// Words.
    Text {
        text: String,
        /// The same as harmless HTML.
        #[serde(skip_serializing_if = "Option::is_none")]
        html: Option<String>,
        /// Whether it goes on.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// The model's reasoning; empty if only its provider can read it.
    Thinking {
        text: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// A call of a tool.
    Call {
        id: Option<String>,
        name: String,
        arguments: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// What a tool answered.
    Result {
        /// The id of the call.
        call: Option<String>,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        text: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// How long it is.
        chars: usize,
    },
    /// A picture.
    Image {
        /// What it is called, or what it was made from, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime: Option<String>,
        /// Where it is: `https:`, or `data:` with the picture itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// Whether its address is too long for a list.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// A document or a sound.
    File {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Anything else.
    Other {
        json: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
}

/// What a message says, piece by piece.
pub(super) fn parts(message: &Message, names: &Names, how: How) -> Vec<Part> {
    message.parts().iter().flat_map(|part| told(part, names, how)).collect()
}

/// A result may bring pictures; they are pieces of their own.
fn told(part: &Read, names: &Names, how: How) -> Vec<Part> {
    let one = match part {
        Read::Text(text) => {
            let (text, cut) = how.cut(text);
            Part::Text { html: how.html.then(|| html(&text)), text, cut }
        }
        Read::Thinking(text) => {
            let (text, cut) = how.cut(text);
            Part::Thinking { text, cut }
        }
        Read::Call { id, name, arguments } => {
            let (arguments, cut) = how.cut(&written(arguments));
            Part::Call { id: id.clone(), name: name.clone(), arguments, cut }
        }
        Read::Result { call, text, other } => {
            let name = call.as_ref().and_then(|call| names.get(call)).cloned();
            let (chars, (text, cut)) = (text.chars().count(), how.cut(text));
            let result = Part::Result { call: call.clone(), name, text, cut, chars };
            return std::iter::once(result).chain(other.iter().flat_map(|block| brought(block, how))).collect();
        }
        Read::Image(block) => picture(block, how),
        Read::File(block) => {
            let name = FILE_NAMES.iter().find_map(|at| block.pointer(at)?.as_str());
            Part::File { name: name.map(str::to_owned) }
        }
        Read::Other(block) => {
            let (json, cut) = how.cut(&block.to_string());
            Part::Other { json, cut }
        }
    };
    vec![one]
}

/// A block that came with a result.
fn brought(block: &Value, how: How) -> Vec<Part> {
    let alone = json!({"role": "user", "content": [block]}).to_string();
    Message::from_json(&alone).map(|message| parts(&message, &Names::new(), how)).unwrap_or_default()
}

/// Arguments that are text as they are, others as JSON.
fn written(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

fn picture(block: &Value, how: How) -> Part {
    let text = |at: &str| block.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let encoded = || {
        let (mime, bytes) = (text("/source/media_type")?, text("/source/data")?);
        Some(format!("data:{mime};base64,{bytes}"))
    };
    let url = text("/image_url/url").or_else(|| text("/image_url")).or_else(|| text("/source/url")).or_else(encoded);
    let url = url.filter(|url| ["https:", "http:", "data:image/"].iter().any(|scheme| begins(url, scheme)));
    let held = || url.as_ref()?.strip_prefix("data:")?.split([';', ',']).next().map(str::to_owned);
    let mime = text("/source/media_type").or_else(held);
    let cut = how.most_chars.is_some() && url.as_ref().is_some_and(|url| url.len() > PICTURE_CHARS);
    let name = text("/file_name").or_else(|| text("/caption"));
    Part::Image { name, mime, url: url.filter(|_| !cut), cut }
}

fn begins(url: &str, scheme: &str) -> bool {
    url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

impl How {
    /// As much of a text as there may be, and whether it goes on.
    fn cut(self, text: &str) -> (String, bool) {
        match self.most_chars.and_then(|most| text.char_indices().nth(most)) {
            Some((at, _)) => (text[..at].to_owned(), true),
            None => (text.to_owned(), false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &Value, expected: &Value) {
        let names = Names::from([("c1".to_owned(), "read_gauge".to_owned())]);
        let how = How { html: false, most_chars: Some(10) };
        let message = Message::from_json(&message.to_string()).unwrap();
        assert_eq!(json!(parts(&message, &names, how)), *expected, "{}", message.raw());
    }

    #[test]
    fn chat_messages() {
        check(&json!({"role": "user", "content": "0123456789"}), &json!([{"kind": "text", "text": "0123456789"}]));
        check(
            &json!({"role": "user", "content": "港口港口港口港口港口!"}),
            &json!([{"kind": "text", "text": "港口港口港口港口港口", "cut": true}]),
        );
        let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}});
        check(
            &json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [call]}),
            &json!([{"kind": "thinking", "text": "hm"}, {"kind": "call", "id": "c1", "name": "f", "arguments": "{\"a\":1}"}]),
        );
        check(
            &json!({"role": "tool", "tool_call_id": "c1", "content": "417 cm above"}),
            &json!([{"kind": "result", "call": "c1", "name": "read_gauge", "text": "417 cm abo", "cut": true, "chars": 12}]),
        );
        let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        let file = json!({"type": "file", "file": {"filename": "tides.pdf", "file_data": "AAAA"}});
        check(
            &json!({"role": "user", "content": [picture, file, {"type": "hologram"}]}),
            &json!([
                {"kind": "image", "mime": "image/png", "url": "data:image/png;base64,AAAA"},
                {"kind": "file", "name": "tides.pdf"}, {"kind": "other", "json": "{\"type\":\"h", "cut": true}
            ]),
        );
    }

    #[test]
    fn messages_of_other_dialects() {
        let picture =
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}});
        check(
            &json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "here"}, picture]}]}),
            &json!([
                {"kind": "result", "call": "t1", "text": "here", "chars": 4},
                {"kind": "image", "mime": "image/jpeg", "url": "data:image/jpeg;base64,AAAA"}
            ]),
        );
        check(
            &json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}),
            &json!([{"kind": "thinking", "text": "hm"}, {"kind": "call", "id": "t1", "name": "f", "arguments": "{}"}]),
        );
        check(
            &json!({"type": "function_call_output", "call_id": "c1", "output": "5"}),
            &json!([{"kind": "result", "call": "c1", "name": "read_gauge", "text": "5", "chars": 1}]),
        );
        check(
            &json!({"role": "user", "content": [{"type": "input_image", "image_url": "https://example.com/a.png"}]}),
            &json!([{"kind": "image", "url": "https://example.com/a.png"}]),
        );
    }

    #[test]
    fn what_exports_only_point_to_is_named() {
        let boat = json!({"type": "chatgpt.image_asset_pointer", "asset_pointer": "sediment://file_abc"});
        let name = json!({"type": "chatgpt.attachment", "id": "file_abc", "name": "boat.jpg"});
        check(&json!({"role": "user", "content": [boat, name]}), &json!([{"kind": "image", "name": "boat.jpg"}]));
        let sound = json!({"type": "chatgpt.audio_asset_pointer", "metadata": {"start": 0, "end": 2}});
        check(&json!({"role": "user", "content": [sound]}), &json!([{"kind": "file", "name": "audio 2.0 s"}]));
        let made = json!({"type": "chatgpt.image_asset_pointer", "metadata": {"dalle": {"prompt": "a red boat"}}});
        check(
            &json!({"role": "tool", "name": "dalle", "content": [made]}),
            &json!([{"kind": "result", "call": null, "text": "", "chars": 0}, {"kind": "image", "name": "a red boat"}]),
        );
    }

    #[test]
    fn pictures_lead_nowhere_else() {
        for url in ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", ""] {
            let message = json!({"role": "user", "content": [{"type": "input_image", "image_url": url}]});
            check(&message, &json!([{"kind": "image"}]));
        }
    }
}
