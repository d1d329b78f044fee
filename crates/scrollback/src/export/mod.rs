//! Conversations for elsewhere: one path as a line of JSON that can be imported again, as OpenAI chat messages, or as Markdown
//! for people.
//!
//! All take the messages of one path, oldest first, and return text; where it goes is the caller's business.

mod openai;

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::ids::{At, MessageId};
use crate::message::{Part, fenced};
use crate::store::{Beside, Place, Session, Stored};

pub use openai::{is_chat, openai};

/// Where pictures and files say what they are, the most telling first.
const PLACES: [&str; 14] = [
    "/file_name",
    "/filename",
    "/file/filename",
    "/title",
    "/name",
    "/caption",
    "/source/url",
    "/image_url/url",
    "/image_url",
    "/asset_pointer",
    "/file_id",
    "/source/file_id",
    "/source/media_type",
    "/input_audio/format",
];

/// A path as one line: the messages byte for byte, and beside them what else [`crate::import`] needs.
pub fn jsonl(session: &Session, messages: &[Stored]) -> String {
    // A line break in valid JSON is always space between tokens; inside a string it is written as an escape.
    let raws: Vec<String> = messages.iter().map(|stored| stored.raw.get().replace(['\n', '\r'], " ")).collect();
    let ours = json!({
        "session": session.id.to_string(),
        "declared": session.declared,
        "title": session.title,
        "branch": messages.last().and_then(Stored::position).map(|head| head.branch),
        "times": messages.iter().map(|stored| stored.at).collect::<Vec<_>>(),
    });
    format!("{{\"messages\":[{}],\"scrollback\":{ours}}}\n", raws.join(","))
}

/// A path with what stands beside it where it was said: the instructions it began with, and reasoning. `all` is the whole
/// session in order of arrival.
pub fn with_beside(path: Vec<Stored>, all: &[Stored]) -> Vec<Stored> {
    let Some(first) = path.first().map(|stored| stored.id) else { return path };
    // By its number, not by its place: of a damaged store some may be missing.
    let before_it = &all[..all.partition_point(|stored| stored.id < first)];
    let instructs = |stored: &&Stored| stored.place == Place::Beside(Beside::Preamble);
    let mut whole: Vec<Stored> = before_it.iter().rev().take_while(instructs).cloned().collect();
    // Reasoning belongs to the path whose message came just before it.
    let on_path: HashSet<MessageId> = path.iter().map(|stored| stored.id).collect();
    let mut before = false;
    for stored in all {
        match stored.place {
            Place::Path(_) => before = on_path.contains(&stored.id),
            Place::Beside(Beside::Aside) if before => whole.push(stored.clone()),
            Place::Beside(_) => {}
        }
    }
    whole.extend(path);
    whole.sort_by_key(|stored| stored.id);
    whole
}

/// A path as Markdown, with times in UTC.
pub fn markdown(session: &Session, messages: &[Stored]) -> String {
    let name = session.title.as_deref().or(session.declared.as_deref());
    let mut page = format!("# {}\n", name.map_or_else(|| session.id.to_string(), one_line));
    for stored in messages {
        let _ = write!(page, "\n## {} · {} · {}\n", stored.id, one_line(stored.role.as_str()), minute(stored.at));
        for piece in stored.message().parts().iter().map(piece).filter(|piece| !piece.trim().is_empty()) {
            let _ = write!(page, "\n{}\n", piece.trim_end_matches('\n'));
        }
    }
    page
}

/// One piece of a message in Markdown; what cannot be shown is mentioned.
pub fn piece(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking(text) if text.is_empty() => "> (thinking that cannot be read)".to_owned(),
        Part::Thinking(text) => format!("> {}", text.trim_end().replace('\n', "\n> ")),
        Part::Image(block) => mention("image", block),
        Part::File(block) => mention("file", block),
        Part::Call { name, arguments, .. } => format!("Calls {}:\n\n{}", one_line(name), fenced_value(arguments)),
        Part::Result { text, other, .. } => {
            let words = (!text.is_empty() || other.is_empty()).then(|| fenced("", text));
            let others = other.iter().map(other_piece);
            format!("Result:\n\n{}", words.into_iter().chain(others).collect::<Vec<_>>().join("\n\n"))
        }
        Part::Other(block) => other_piece(block),
    }
}

/// A block that is not words in Markdown: pictures and files are mentioned, anything else is the JSON it is.
pub fn other_piece(block: &Value) -> String {
    match kind(block) {
        Some("image" | "image_url" | "input_image" | "chatgpt.image_asset_pointer") => mention("image", block),
        Some("file" | "document" | "input_file" | "input_audio" | "claude.file") => mention("file", block),
        Some(kind) if kind.starts_with("chatgpt.") => mention("file", block),
        Some(_) | None => fenced_value(block),
    }
}

/// Where a picture is, however its block is written: an address, or `data:` with the picture itself.
pub fn picture(block: &Value) -> Option<String> {
    let source = &block["source"];
    let data = || Some(format!("data:{};base64,{}", source["media_type"].as_str()?, source["data"].as_str()?));
    let named = [&block["image_url"]["url"], &block["image_url"], &source["url"]].into_iter().find_map(Value::as_str);
    named.map(str::to_owned).or_else(data)
}

fn kind(block: &Value) -> Option<&str> {
    block.get("type")?.as_str()
}

/// One line for what cannot be shown: what it is labelled, or else its name, its address or its type, whichever is there.
fn mention(what: &str, block: &Value) -> String {
    if let Some(label) = block["label"].as_str() {
        return format!("[{}]", one_line(label));
    }
    let texts = PLACES.iter().filter_map(|place| block.pointer(place)?.as_str());
    match texts.filter(|text| !text.is_empty() && !text.starts_with("data:")).map(one_line).next() {
        Some(text) => format!("[{what}: {text}]"),
        None => format!("[{what}]"),
    }
}

fn fenced_value(value: &Value) -> String {
    match value {
        Value::String(text) => fenced("", text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            fenced("json", &serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string()))
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A time to the minute, in UTC.
fn minute(at: At) -> String {
    let time = jiff::Timestamp::from_microsecond(at.0);
    time.map_or_else(|_| at.to_string(), |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}
