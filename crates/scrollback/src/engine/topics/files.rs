//! Topics as lines of files: each message of a topic with its id, then what the topic is. Nothing here touches a disk.
//!
//! An archived topic keeps what it came to and the ids of its messages; their words are in the log.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::list::{TopicLine, TopicState};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionId, SessionKey};
use crate::store::{Position, Span, Stored};
use crate::topic::TopicId;

/// A topic as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicFile {
    /// Which topic.
    pub topic: TopicId,
    /// Where it is written, under a folder of the person's choice.
    pub path: String,
    /// Its lines: messages, then what the topic is.
    pub lines: Vec<String>,
    /// The days on which it was spoken of.
    pub days: BTreeSet<String>,
    /// The session it is of, if the file says so.
    pub session: Option<String>,
}

/// A message in a file.
#[derive(Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) id: String,
    pub(super) role: String,
    pub(super) at: At,
    pub(super) message: Box<RawValue>,
}

/// What a topic is: the last line of its file.
#[derive(Serialize, Deserialize)]
pub(super) struct Closing {
    pub(super) topic: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) parent: Option<String>,
    #[serde(default)]
    pub(super) brief: String,
    #[serde(default)]
    pub(super) summary: String,
    #[serde(default)]
    pub(super) state: String,
    #[serde(default)]
    pub(super) importance: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) archived: Option<At>,
    #[serde(default)]
    pub(super) refers: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The messages of an archived topic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) messages: Vec<String>,
}

/// The topics of a day.
#[derive(Serialize)]
struct Day<'a> {
    day: &'a str,
    topics: Vec<String>,
}

impl TopicFile {
    /// Reads a file that was written before, and perhaps edited since.
    pub fn read(path: &str, text: &str) -> Result<Self> {
        let lines: Vec<String> = text.lines().filter(|line| !line.trim().is_empty()).map(ToOwned::to_owned).collect();
        let (topic, path, days) = (TopicId(MessageId(0)), path.to_owned(), BTreeSet::new());
        let mut file = Self { topic, path, lines, days, session: None };
        let closing = file.closing()?;
        (file.topic, file.session) = (closing.topic.parse()?, closing.session);
        Ok(file)
    }

    pub(super) fn closing(&self) -> Result<Closing> {
        let last = self.lines.last().map_or("", String::as_str);
        serde_json::from_str(last).map_err(|cause| self.bad("its last line says what the topic is", &cause))
    }

    pub(super) fn said(&self) -> Result<Vec<Said>> {
        let lines = self.lines[..self.lines.len().saturating_sub(1)].iter();
        let read = |line: &String| {
            serde_json::from_str(line).map_err(|cause| self.bad("each line but the last is a message", &cause))
        };
        lines.map(read).collect()
    }

    fn bad(&self, what: &str, cause: &serde_json::Error) -> Error {
        Error::Invalid(format!("{} is no topic file ({what}): {cause}", self.path))
    }
}

/// When which topics were spoken of, a line for each day.
pub fn day_index(files: &[TopicFile]) -> Vec<String> {
    let mut days: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files {
        file.days.iter().for_each(|day| days.entry(day).or_default().push(file.topic.to_string()));
    }
    days.into_iter().map(|(day, topics)| json(&Day { day, topics })).collect()
}

impl Engine {
    /// The topics of a path as files.
    pub fn topic_files<'a>(&'a self, session: &'a SessionKey, head: Position) -> BoxFuture<'a, Result<Vec<TopicFile>>> {
        Box::pin(async move {
            let mut files = Vec::new();
            for line in self.topics(session, head).await? {
                let ids = self.topic_messages(session, head, line.card.id).await?;
                let messages = self.store().read(session, Span::Ids(ids)).await?;
                files.push(file(session.id, &line, &messages));
            }
            Ok(files)
        })
    }
}

fn file(session: SessionId, line: &TopicLine, messages: &[Stored]) -> TopicFile {
    let days = messages.iter().map(|stored| day(stored.at)).collect();
    let archived = line.archived.filter(|_| line.state == TopicState::Archived);
    let ids = || messages.iter().map(|stored| stored.id.to_string()).collect();
    let closing = closing(session, line, if archived.is_some() { ids() } else { Vec::new() });
    let said = messages.iter().filter(|_| archived.is_none()).map(said);
    let lines = said.chain([json(&closing)]).collect();
    let path = match archived {
        Some(at) => line.card.file().replacen("topics/", &format!("topics/archived/{}/", &day(at)[..7]), 1),
        None => line.card.file(),
    };
    TopicFile { topic: line.card.id, path, lines, days, session: Some(session.to_string()) }
}

fn said(stored: &Stored) -> String {
    let (id, role) = (stored.id.to_string(), stored.role.as_str().to_owned());
    json(&Said { id, role, at: stored.at, message: (*stored.raw).to_owned() })
}

fn closing(session: SessionId, line: &TopicLine, messages: Vec<String>) -> Closing {
    let card = &line.card;
    Closing {
        topic: card.id.to_string(),
        name: card.name.clone(),
        parent: card.parent.map(|parent| parent.to_string()),
        brief: card.brief.clone(),
        summary: line.summary.clone(),
        state: line.state.as_str().to_owned(),
        importance: line.importance,
        archived: line.archived,
        refers: card.refers.iter().map(ToString::to_string).collect(),
        session: Some(session.to_string()),
        messages,
    }
}

fn day(at: At) -> String {
    at.to_string().chars().take(10).collect()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our own types are valid JSON")
}
