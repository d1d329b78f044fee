//! A message: the exact JSON it came as, beside a typed reading of it.
//!
//! The reading is tolerant: OpenAI chat messages, OpenAI Responses items and Anthropic messages are all understood, and
//! what is not understood is kept whole as [`Part::Other`]. Nothing is ever written back from the reading; bytes that
//! leave are the bytes that came. See `read` for the shapes, `chatgpt` for those of ChatGPT's exports, and
//! `fingerprint` for when two messages count as the same.

mod chatgpt;
mod fingerprint;
mod read;
mod reworded;
mod told;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::ids::Fingerprint;

pub use reworded::reworded;

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Standing instructions; `developer` in newer OpenAI requests is [`Role::Other`] with the same place.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
    /// Any other role, as written.
    Other(Box<str>),
}

impl Role {
    /// The role as APIs write it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other(name) => name,
        }
    }

    /// Whether messages of this role at the head of a conversation are its standing instructions. Items that have a
    /// type in place of a role count as well: tools that are added, settings that change, what only the provider can
    /// read.
    pub fn instructs(&self) -> bool {
        let name = self.as_str();
        matches!(name, "system" | "developer" | "additional_tools" | "configuration_update" | "compaction")
    }
}

impl From<&str> for Role {
    fn from(name: &str) -> Self {
        match name {
            "system" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Words.
    Text(String),
    /// A picture, as its block stands; of one that an export only points to, what it is called.
    Image(Value),
    /// A document or a sound, likewise.
    File(Value),
    /// The model calls a tool.
    Call {
        /// The call's id, unique wherever a client gives one.
        id: Option<String>,
        /// The tool.
        name: String,
        /// The arguments; text that is not JSON is kept as a JSON string.
        arguments: Value,
    },
    /// A tool answers.
    Result {
        /// The id of the call it answers.
        call: Option<String>,
        /// Its words.
        text: String,
        /// Blocks of it that are not words.
        other: Vec<Value>,
    },
    /// The model's reasoning, readable or encrypted.
    Thinking(String),
    /// Anything else, kept whole.
    Other(Value),
}

impl Part {
    /// Everything in it that a person could search for or a model would read, one piece after another.
    pub(crate) fn words(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Text(text) | Self::Thinking(text) => vec![text.into()],
            Self::Call { name, arguments, .. } => vec![name.into(), text_of(arguments)],
            Self::Result { text, other, .. } => {
                let pointed = |block| if chatgpt::kind(block).is_some() { caption_of(block) } else { text_of(block) };
                std::iter::once(text.into()).chain(other.iter().map(pointed)).collect()
            }
            Self::Image(block) => vec![caption_of(block)],
            Self::File(block) => std::iter::once(caption_of(block)).chain(self.plain().map(Cow::from)).collect(),
            Self::Other(block) => vec![text_of(block)],
        }
    }

    /// The words of a document that is plain text.
    pub(crate) fn plain(&self) -> Option<&str> {
        if let Self::File(block) = self { read::plain(block) } else { None }
    }

    /// How many pictures and documents it holds, those that a tool returned included.
    pub(crate) fn attachments(&self) -> usize {
        match self {
            // Of what an export only points to there is nothing but its name.
            Self::Image(block) | Self::File(block) => usize::from(chatgpt::kind(block).is_none()),
            Self::Result { other, .. } => other.iter().filter(|block| read::is_attachment(block)).count(),
            Self::Other(block) => usize::from(read::is_attachment(block)),
            Self::Text(_) | Self::Thinking(_) | Self::Call { .. } => 0,
        }
    }

    /// What a model reads that is no language: data among the arguments of a call.
    pub(crate) fn data(&self) -> Vec<&str> {
        match self {
            Self::Call { arguments, .. } => read::blobs(arguments),
            Self::Text(_)
            | Self::Thinking(_)
            | Self::Image(_)
            | Self::File(_)
            | Self::Result { .. }
            | Self::Other(_) => Vec::new(),
        }
    }
}

/// A message as received, and what it says.
#[derive(Clone, Debug)]
pub struct Message {
    raw: Arc<RawValue>,
    role: Role,
    name: Option<Box<str>>,
    /// The id of a sound that it says, by which alone clients send it back.
    sound: Option<Box<str>>,
    parts: Vec<Part>,
    strong: Fingerprint,
    /// Whether it has blocks that only ChatGPT's exports have.
    is_exported: bool,
}

impl Message {
    /// Reads a message from its exact JSON. Only text that is not JSON at all is refused.
    pub fn from_json(json: &str) -> Result<Self> {
        let raw: Box<RawValue> = serde_json::from_str(json)
            .map_err(|cause| Error::Invalid(format!("a message must be a JSON value: {cause}")))?;
        Ok(Self::new(raw))
    }

    /// Reads a message. A value that cannot be understood is one part, [`Part::Other`], and is kept whole.
    pub fn new(raw: impl Into<Arc<RawValue>>) -> Self {
        let raw = raw.into();
        // What cannot be read even so (JSON nested too deeply, numbers beyond all size) is kept as it stands.
        let value = value_of(raw.get()).unwrap_or_else(|_| Value::String(raw.get().to_owned()));
        let (role, parts) = read::message(&value);
        let (name, strong) = (read::name(&value, &role), fingerprint::strong(&value));
        let (sound, is_exported) = (read::sound(&value), chatgpt::is_in(&value));
        Self { raw, role, name, sound, parts, strong, is_exported }
    }

    /// A plain message of our own making.
    pub fn text(role: &Role, text: &str) -> Self {
        let json = serde_json::json!({"role": role.as_str(), "content": text});
        Self::new(serde_json::value::to_raw_value(&json).expect("a JSON value is valid JSON"))
    }

    /// The bytes it came as.
    pub fn raw(&self) -> &Arc<RawValue> {
        &self.raw
    }

    /// Who speaks.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// The name of who speaks, where several people or models do.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What it says, piece by piece.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// What it says, apart from how its JSON is written: two messages with the same strong fingerprint are the same
    /// message.
    pub fn strong(&self) -> Fingerprint {
        self.strong
    }

    /// Its words alone, without ids, spacing and unknown fields. Good only for aligning a history that a client has
    /// rewritten.
    pub fn weak(&self) -> Fingerprint {
        fingerprint::weak(self)
    }

    /// The same without the blocks that cannot be read; `None` if there are no others.
    pub(crate) fn spoken(&self) -> Option<Fingerprint> {
        fingerprint::spoken(self)
    }

    /// The ids of the tool calls it makes or answers.
    pub fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call { id, .. } => id.as_deref(),
            Part::Result { call, .. } => call.as_deref(),
            Part::Text(_) | Part::Image(_) | Part::File(_) | Part::Thinking(_) | Part::Other(_) => None,
        })
    }

    /// Whether a person speaks in it, which begins a turn: what tools return may stand in the same role.
    pub(crate) fn begins_turn(&self) -> bool {
        self.role == Role::User && !self.parts.iter().any(|part| matches!(part, Part::Result { .. }))
    }

    /// Whether it holds what tools returned and nothing else.
    pub(crate) fn is_results(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| matches!(part, Part::Result { .. }))
    }

    /// Whether it calls a tool.
    pub fn makes_call(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    }

    /// Whether it holds reasoning and nothing else. Clients drop such messages at will, so they stand beside the path.
    /// No client sends those of an export; they stay on the path where they have always been.
    pub fn is_aside(&self) -> bool {
        !self.is_exported && !self.parts.is_empty() && self.parts.iter().all(|part| matches!(part, Part::Thinking(_)))
    }

    /// How many bytes of reasoning it holds that only its provider can read.
    pub(crate) fn encrypted_bytes(&self) -> usize {
        #[derive(serde::Deserialize)]
        struct Item<'a> {
            #[serde(borrow)]
            encrypted_content: Option<Cow<'a, str>>,
        }
        let item = self.is_aside().then(|| serde_json::from_str::<Item<'_>>(self.raw.get()).ok()).flatten();
        item.and_then(|item| item.encrypted_content).map_or(0, |content| content.len())
    }

    /// Everything in it that a person could search for or a model would read, one piece after another.
    pub fn words(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.parts.iter().flat_map(Part::words)
    }

    /// Its words as one text, pieces on lines of their own.
    pub fn to_text(&self) -> String {
        self.words().filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// The value of some JSON, with a mark for every half of a character that is written in two escapes: clients leave one
/// where they cut a text.
pub fn value_of<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|_| serde_json::from_str(&read::mended(json)))
}

/// Whether two texts are the same JSON, however it is written. What cannot be read is the same as nothing else.
pub(crate) fn is_same_json(one: &str, other: &str) -> bool {
    let read = |text: &str| value_of::<Value>(text).ok();
    one == other || read(one).is_some_and(|one| Some(one) == read(other))
}

/// The words in a JSON value: its strings, without what is clearly not language (long encoded blobs).
fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) if read::is_blob(text) => Cow::Borrowed(""),
        Value::String(text) => text.into(),
        Value::Null => Cow::Borrowed(""),
        Value::Bool(_) | Value::Number(_) => value.to_string().into(),
        Value::Array(items) => joined(items.iter().map(text_of)),
        Value::Object(fields) => joined(fields.iter().flat_map(|(key, value)| [key.into(), text_of(value)])),
    }
}

/// What can be said about an attachment: where it is and what it is called, not how its block is built.
fn caption_of(block: &Value) -> Cow<'_, str> {
    match block {
        Value::Object(fields) => {
            let telling =
                fields.iter().filter(|(key, _)| !["type", "detail", "media_type", "data"].contains(&key.as_str()));
            joined(telling.map(|(_, value)| caption_of(value)))
        }
        // The thing itself, however small it is.
        Value::String(text) if text.starts_with("data:") => Cow::Borrowed(""),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => text_of(block),
    }
}

/// A fenced block of Markdown whose fence is longer than any run of backticks inside.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

fn joined<'a>(pieces: impl Iterator<Item = Cow<'a, str>>) -> Cow<'static, str> {
    pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join(" ").into()
}
