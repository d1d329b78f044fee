//! A session as Markdown for people, with times in UTC: the branch that was written to last, and of others what they do
//! not share.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::beside::is_aside;
use super::whole::{Whole, in_pieces};
use crate::ids::{At, BranchId, MessageId};
use crate::message::{Part, fenced};
use crate::store::Stored;

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

impl Whole {
    /// The session as Markdown, piece by piece. Every message of a path is in it once.
    pub fn markdown(self) -> impl Iterator<Item = String> + Send {
        let whole = Arc::new(self);
        let name = whole.session.title.as_deref().or(whole.session.declared.as_deref());
        let title = format!("# {}\n", name.map_or_else(|| whole.session.id.to_string(), one_line));
        let newest = whole.newest().copied();
        let path = newest.map(|newest| whole.full_path(&newest)).unwrap_or_default();
        let shared: HashSet<MessageId> = path.iter().map(|stored| stored.id).collect();
        let others = whole
            .session
            .branches
            .clone()
            .into_iter()
            .filter(move |branch| Some(branch.id) != newest.map(|newest| newest.id));
        let others = others.flat_map(move |branch| whole.apart(branch.id, &shared));
        in_pieces(std::iter::once(title).chain(path.into_iter().map(|stored| page(&stored))).chain(others))
    }

    /// A branch without what is shared, under a heading that says what it follows.
    fn apart(&self, branch: BranchId, shared: &HashSet<MessageId>) -> Vec<String> {
        let on_it = |id: MessageId| self.find(id)?.position().filter(|position| position.branch == branch);
        let owned = |owner: &Option<MessageId>| owner.and_then(on_it).is_some();
        let is_said = |stored: &Stored| stored.position().is_some() || is_aside(stored);
        let own = self.all.iter().zip(&self.owners).filter(|(stored, owner)| owned(owner) && is_said(stored));
        let own: Vec<&Stored> = own.map(|(stored, _)| stored).filter(|stored| !shared.contains(&stored.id)).collect();
        let Some(first) = own.iter().find(|stored| stored.position().is_some()) else { return Vec::new() };
        let follows = first.parent.map_or_else(|| "from the beginning".to_owned(), |parent| format!("after {parent}"));
        let heading = format!("\n# Branch {}, {follows}\n", branch.0);
        std::iter::once(heading).chain(own.into_iter().map(page)).collect()
    }
}

fn page(stored: &Stored) -> String {
    let mut page = format!("\n## {} · {} · {}\n", stored.id, one_line(stored.role.as_str()), minute(stored.at));
    for piece in stored.message().parts().iter().map(piece).filter(|piece| !piece.trim().is_empty()) {
        let _ = write!(page, "\n{}\n", piece.trim_end_matches('\n'));
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
        Part::File(block) => {
            let words = part.plain().map(|text| fenced("", text));
            std::iter::once(mention("file", block)).chain(words).collect::<Vec<_>>().join("\n\n")
        }
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
        Some(kind) if kind.starts_with("chatgpt.") || kind.starts_with("claude-code.") => mention("file", block),
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

/// One line for what cannot be shown: what it is labelled, or else its name, its address or its type, whichever is
/// there.
pub(super) fn mention(what: &str, block: &Value) -> String {
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
    time.map_or_else(|_| at.to_string(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}
