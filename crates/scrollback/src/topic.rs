//! Topics: notes that cover what belongs together, however far apart it was said.
//!
//! A topic is named after its first message, like a page: t42 begins with m42. What it holds is on its path's log; a
//! card says what it is about, and a reading what of it matters to the messages that are open now.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::ids::{At, MessageId};

/// A topic, by its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicId(pub MessageId);

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0.0)
    }
}

impl FromStr for TopicId {
    type Err = Error;

    /// Reads `t42`, and `42` as models write it.
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Invalid(format!("“{text}” is no topic: they are written t42"));
        let digits = text.trim().trim_start_matches(['t', 'T']);
        digits.parse().map(|number| Self(MessageId(number))).map_err(|_| bad())
    }
}

impl Serialize for TopicId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TopicId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What is known of a topic without its messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Which.
    pub id: TopicId,
    /// The topic it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TopicId>,
    /// What it is called.
    pub name: String,
    /// What tells whether it matters now, about a thousand characters.
    pub brief: String,
    /// How many messages it holds.
    pub messages: u32,
    /// What they cost.
    pub tokens: u32,
    /// When its first message was said.
    pub first: At,
    /// When its last one was.
    pub last: At,
    /// Topics it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refers: Vec<TopicId>,
}

impl Card {
    /// The card of a topic that holds no message yet.
    pub(crate) fn empty(id: TopicId, name: String) -> Self {
        Self {
            id,
            parent: None,
            name,
            brief: String::new(),
            messages: 0,
            tokens: 0,
            first: At::default(),
            last: At::default(),
            refers: Vec::new(),
        }
    }

    /// The file it is written to when topics are written to files.
    pub fn file(&self) -> String {
        format!("topics/topic-{}.jsonl", self.id.0.0)
    }
}

/// What of a topic matters to the open messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// How much it matters, from 0 to 1.
    pub relevance: f32,
    /// The messages that matter, in the order they were said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageId>,
    /// What they come to; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_written_after_their_first_message() {
        let topic = TopicId(MessageId(42));
        assert_eq!(topic.to_string(), "t42");
        for text in ["t42", "42", " T42 "] {
            assert_eq!(text.parse::<TopicId>().ok(), Some(topic), "{text}");
        }
        assert!("forty".parse::<TopicId>().is_err());
    }
}
