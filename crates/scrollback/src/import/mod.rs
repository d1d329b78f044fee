//! Conversations from elsewhere: the files of ChatGPT, DeepSeek, Claude, Claude Code, Codex and anything that speaks
//! OpenAI's JSON.
//!
//! [`open`] turns a file's bytes into [`Conversation`]s, each one path from the first message to a leaf; [`store`]
//! feeds one to the log. A source with branches gives one conversation per leaf: the log is addressed by content, so
//! what they share is stored once, and importing a file twice adds nothing. No file is opened here. The way back is
//! [`crate::export`], whose lines hold whole sessions.

mod chatgpt;
mod claude;
mod claude_code;
mod codex;
mod deepseek;
mod entries;
mod follow;
mod guess;
mod open;
mod openai;
mod ours;
mod text;
mod tree;
mod zip;

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::ids::{At, Hash128, SessionId, SessionKey, Tenant};
use crate::log::{Arrival, History, Log, Received, array_of};
use crate::store::{Origin, Span};

pub use open::{KNOWN, Opened, open, open_among};
pub use ours::Places;

/// The kinds of files that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Lines or arrays of OpenAI messages, our own export among them.
    OpenAi,
    /// `conversations.json` of a ChatGPT or DeepSeek export.
    ChatGpt,
    /// `conversations.json` of a Claude export.
    Claude,
    /// A session file of Claude Code.
    ClaudeCode,
    /// A rollout file of Codex.
    Codex,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::OpenAi, Self::ChatGpt, Self::Claude, Self::ClaudeCode, Self::Codex];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::ChatGpt => "chatgpt",
            Self::Claude => "claude",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// The format of a text, judged by what is in it.
    pub fn guess(text: &str) -> Option<Self> {
        guess::format_of(text)
    }

    /// What a file of this format looks like, for whoever gave another.
    fn looks_like(self) -> &'static str {
        match self {
            Self::OpenAi => "JSON lines with “messages” arrays, arrays of messages, or one message a line",
            Self::ChatGpt => {
                "the conversations.json of a ChatGPT or DeepSeek export, an array of conversations with a “mapping”"
            }
            Self::Claude => "the conversations.json of a Claude export, an array of conversations with “chat_messages”",
            Self::ClaudeCode => "a Claude Code session, JSON lines with “uuid”, “parentUuid” and “message”",
            Self::Codex => "a Codex rollout, JSON lines with “timestamp”, “type” and “payload”",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let names = Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|format| format.as_str() == name);
        found.ok_or_else(|| Error::Invalid(format!("“{name}” is not a format that can be read; there are {names}")))
    }
}

/// A message of a file, and when it was said if that is known. Paths that share a message share its bytes.
pub type Timed = (Arc<RawValue>, Option<At>);

/// The bytes of other files, where they are at hand: rollouts of Codex, by the id that ends their names.
pub type Others<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// One path of a conversation, from its first message to its last; or all of it, with [`Places`].
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// The session it belongs to; branches of one conversation share it.
    pub declared: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// When it was last changed where it is from, if its file tells.
    pub updated: Option<At>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The messages, and when each was said if that is known.
    pub messages: Vec<Timed>,
    /// The sessions that it may go on from, the likeliest first, if what came before is not in its file.
    pub follows: Vec<String>,
    /// Where they stood, if they are not one path but all that there is, in order of arrival: our own export.
    pub places: Option<Places>,
}

impl Conversation {
    /// What is told of it where the store cannot take it; the error if others would fare no better.
    pub fn skipped(&self, error: Error) -> Result<String> {
        if !matches!(error, Error::Damaged(_) | Error::Invalid(_)) {
            return Err(error);
        }
        Ok(format!("“{}”: {error}", self.name()))
    }

    /// What is told of it where messages were damaged in the store and are put back.
    pub fn mended(&self, received: &Received) -> Option<String> {
        let name = self.name();
        (received.mended > 0).then(|| format!("“{name}”: {} damaged in the store, put back", received.mended))
    }

    /// What is told of it where messages are damaged in the store that it does not have.
    pub fn damaged(&self, received: &Received) -> Option<String> {
        let ids = received.damaged.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        (!ids.is_empty()).then(|| format!("“{}”: {ids} damaged in the store, and not the same here", self.name()))
    }

    fn name(&self) -> &str {
        self.title.as_deref().or(self.declared.as_deref()).unwrap_or("a conversation without a title")
    }

    /// When each message was said: an unknown time is that of the message before, at the head that of the first known
    /// one.
    fn times(&self, otherwise: At) -> Vec<At> {
        let first = self.messages.iter().find_map(|(_, at)| *at).unwrap_or(otherwise);
        let before = self.messages.iter().scan(first, |before, (_, at)| {
            *before = at.unwrap_or(*before);
            Some(*before)
        });
        before.collect()
    }

    /// What tells each message from others: what was said before it, and what it says.
    fn nodes(&self, whose: Hash128) -> Vec<Hash128> {
        if let Some(places) = &self.places {
            return places.nodes(whose, &self.messages);
        }
        let nodes = self.messages.iter().scan(whose, |node, (raw, _)| {
            *node = Hash128::of("import", &[&node.0, raw.get().as_bytes()]);
            Some(*node)
        });
        nodes.collect()
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// Its conversations. Of several branches of one, that which was in use comes last.
    pub conversations: Vec<Conversation>,
    /// What could not be understood, in words, with the number of its line or entry.
    pub skipped: Vec<String>,
    /// What holds nothing to keep, was left out on purpose, or is to be known besides, in words.
    pub remarks: Vec<String>,
}

/// How much a file holds. What branches of a conversation share is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The conversations.
    pub conversations: usize,
    /// Their branches, at least one each.
    pub branches: usize,
    /// Their messages.
    pub messages: usize,
}

impl Import {
    /// The same with the name of its file in what is told of it.
    fn within(mut self, name: &str) -> Self {
        for told in self.skipped.iter_mut().chain(&mut self.remarks) {
            *told = format!("{name}: {told}");
        }
        self
    }

    fn extend(&mut self, other: Self) {
        self.conversations.extend(other.conversations);
        self.skipped.extend(other.skipped);
        self.remarks.extend(other.remarks);
    }

    /// Why nothing was found.
    fn refusal(&self, format: Format) -> String {
        let expected = format.looks_like();
        let why = self.skipped.iter().chain(&self.remarks).next().map_or("it is empty", String::as_str);
        format!("no conversation found; expected {expected}, but {why}")
    }

    /// Itself, if it holds a conversation.
    fn or_refused(self, format: Format) -> Result<Self> {
        if self.conversations.is_empty() { Err(Error::Invalid(self.refusal(format))) } else { Ok(self) }
    }

    /// How much was read. As in the log, a message is told from others by what was said before it.
    pub fn extent(&self) -> Extent {
        let (mut conversations, mut messages, mut branches) = (HashSet::new(), HashSet::new(), 0);
        for conversation in &self.conversations {
            let declared = conversation.declared.as_deref();
            let whose = Hash128::of("import", &[declared.unwrap_or_default().as_bytes()]);
            let nodes = conversation.nodes(whose);
            branches += conversation.places.as_ref().map_or(1, Places::branches);
            conversations.insert(declared.map(|_| whose).or_else(|| nodes.first().copied()));
            messages.extend(nodes);
        }
        Extent { conversations: conversations.len(), branches, messages: messages.len() }
    }
}

/// Reads the text of a file. What cannot be understood is listed; only a text without any conversation is an error.
pub fn read(format: Format, text: &str) -> Result<Import> {
    parsed(format, text.trim_start_matches('\u{feff}'), &|_| None).or_refused(format)
}

fn parsed(format: Format, text: &str, others: Others<'_>) -> Import {
    match format {
        Format::OpenAi => openai::read(text),
        Format::ChatGpt => chatgpt::read(text),
        Format::Claude => claude::read(text),
        Format::ClaudeCode => claude_code::read(text),
        Format::Codex => codex::read(text, others),
    }
}

/// Stores one conversation; `at` stands for times that the file does not tell.
pub fn store<'a>(
    log: &'a Log,
    tenant: &'a Tenant,
    conversation: &'a Conversation,
    at: At,
) -> BoxFuture<'a, Result<Received>> {
    Box::pin(async move {
        if !conversation.follows.is_empty() {
            let messages = follow::whole(log, tenant, conversation).await?;
            let whole = Conversation { messages, follows: Vec::new(), ..conversation.clone() };
            return stored(log, tenant, &whole, at).await;
        }
        stored(log, tenant, conversation, at).await
    })
}

async fn stored(log: &Log, tenant: &Tenant, conversation: &Conversation, at: At) -> Result<Received> {
    let times = conversation.times(at);
    let model = conversation.model.as_deref().unwrap_or_default();
    let began = times.first().copied().unwrap_or(at);
    let is_older = is_older(log, tenant, conversation, &times).await?;
    let arrival = Arrival {
        title: conversation.title.as_deref().filter(|_| !is_older),
        origin: Origin::Import,
        times: Some(&times),
        ..Arrival::new(tenant, conversation.declared.as_deref(), model, began)
    };
    if let Some(places) = &conversation.places {
        return ours::store(log, arrival, conversation, places, at).await;
    }
    let text = array_of(conversation.messages.iter().map(|(raw, _)| &**raw));
    let history = History::parse(&text)?;
    let mut received = log.receive(arrival, &history).await?;
    let (mended, damaged) = log.mend(arrival, &history, &received).await?;
    received.mended += mended;
    received.damaged = damaged;
    Ok(received)
}

/// Whether more was said in a conversation's session since it was written to its file: then its title may be an old one.
async fn is_older(log: &Log, tenant: &Tenant, conversation: &Conversation, times: &[At]) -> Result<bool> {
    let Some(name) = &conversation.declared else { return Ok(false) };
    let key = SessionKey { tenant: tenant.clone(), id: SessionId::declared(tenant, name) };
    let last = log.store().read(&key, Span::Last).await?.pop();
    let written = times.iter().copied().chain(conversation.updated).max();
    Ok(last.zip(written).is_some_and(|(last, written)| last.at > written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_read_back_their_names() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        let error = "word".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("“word”") && error.contains("claude-code"), "{error}");
    }

    #[test]
    fn a_text_without_conversations_is_refused_with_what_was_expected() {
        for format in Format::ALL {
            for text in ["", " \n", "{}", "[]", "[[]]", "null", "Dear diary,\nnothing happened.", "\u{feff}[{\"a\":"] {
                let error = read(format, text).unwrap_err().to_string();
                assert!(error.contains(format.looks_like()), "{format}: {error}");
            }
        }
    }

    #[test]
    fn branches_share_what_was_said_before_them() {
        let path = |declared: Option<&str>, said: &[&str]| {
            let raw = |said: &&str| (RawValue::from_string(format!("\"{said}\"")).unwrap().into(), None);
            let (declared, messages) = (declared.map(str::to_owned), said.iter().map(raw).collect());
            Conversation { declared, messages, ..Conversation::default() }
        };
        let conversations = vec![
            path(Some("tea"), &["a", "b", "c"]),
            path(Some("tea"), &["a", "b", "d", "e"]),
            path(Some("key"), &["a", "a"]),
            path(None, &["a", "b"]),
            path(None, &["a", "c"]),
            path(None, &["b"]),
        ];
        let import = Import { conversations, ..Import::default() };
        assert_eq!(import.extent(), Extent { conversations: 4, branches: 6, messages: 5 + 2 + 3 + 1 });
    }

    #[test]
    fn unknown_times_are_those_of_the_neighbour() {
        let message = |at| (RawValue::from_string("{}".into()).unwrap().into(), at);
        let times = |messages| Conversation { messages, ..Conversation::default() }.times(At(9));
        let known = vec![message(None), message(Some(At(5))), message(None), message(Some(At(7)))];
        assert_eq!(times(known), [At(5), At(5), At(5), At(7)]);
        assert_eq!(times(vec![message(None)]), [At(9)]);
    }
}
