//! What happens to topics, as it is recorded: it can be listed and plotted, and the review tells from it which topics
//! slept long.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::store::{Kind, Put};
use crate::strategy::topics::activation::Change;
use crate::topic::TopicId;

/// Something that happened to topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Messages were sorted into a topic.
    Sorted {
        /// Which.
        topic: TopicId,
        /// What it is called.
        name: String,
        /// How many messages.
        messages: u32,
        /// Whether it is new.
        fresh: bool,
    },
    /// It woke or fell asleep.
    Changed(Change),
    /// Topics were read for a turn.
    Scored {
        /// The message that was answered.
        turn: MessageId,
        /// How much each matters.
        scores: Vec<(TopicId, f32)>,
        /// How many share no word with the turn and were not asked.
        passed_over: u32,
    },
    /// The person implied that something was forgotten.
    Cue {
        /// The message that says so.
        turn: MessageId,
        /// What was brought back.
        topics: Vec<TopicId>,
    },
    /// The model asked for a topic.
    Activated {
        /// As it asked.
        words: String,
        /// What was brought back.
        topics: Vec<TopicId>,
    },
    /// It grew too large and was divided.
    Divided {
        /// Which.
        topic: TopicId,
        /// Its parts.
        into: Vec<TopicId>,
    },
    /// It became part of another.
    Merged {
        /// Which.
        topic: TopicId,
        /// The other.
        into: TopicId,
    },
    /// It was reviewed.
    Reviewed {
        /// Which.
        topic: TopicId,
        /// How much it matters.
        importance: f32,
    },
    /// It was archived.
    Archived {
        /// Which.
        topic: TopicId,
    },
    /// It was read back from a file.
    Imported {
        /// Which.
        topic: TopicId,
        /// How many messages were added.
        messages: u32,
    },
}

impl Event {
    /// What happened, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sorted { .. } => "sorted",
            Self::Changed(_) => "changed",
            Self::Scored { .. } => "scored",
            Self::Cue { .. } => "cue",
            Self::Activated { .. } => "activated",
            Self::Divided { .. } => "divided",
            Self::Merged { .. } => "merged",
            Self::Reviewed { .. } => "reviewed",
            Self::Archived { .. } => "archived",
            Self::Imported { .. } => "imported",
        }
    }

    /// The topics it is about.
    pub fn topics(&self) -> Vec<TopicId> {
        match self {
            Self::Sorted { topic, .. }
            | Self::Reviewed { topic, .. }
            | Self::Archived { topic }
            | Self::Imported { topic, .. } => vec![*topic],
            Self::Changed(change) => vec![change.topic],
            Self::Scored { scores, .. } => scores.iter().map(|(topic, _)| *topic).collect(),
            Self::Cue { topics, .. } | Self::Activated { topics, .. } => topics.clone(),
            Self::Divided { topic, into } => std::iter::once(*topic).chain(into.iter().copied()).collect(),
            Self::Merged { topic, into } => vec![*topic, *into],
        }
    }
}

/// In a sentence, for people.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |topics: &[TopicId]| topics.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Sorted { topic, name, messages, fresh } => {
                let new = if *fresh { "new: " } else { "" };
                write!(f, "{topic} {new}“{name}”, {messages} messages sorted in")
            }
            Self::Changed(change) => write!(f, "{} {} ({:.2})", change.topic, change.became, change.average),
            Self::Scored { turn, scores, passed_over } => {
                let told: Vec<String> = scores.iter().map(|(topic, score)| format!("{topic} {score:.2}")).collect();
                write!(f, "{turn}: {}; {passed_over} passed over", told.join(", "))
            }
            Self::Cue { turn, topics } => write!(f, "{turn} says that something was forgotten: {}", list(topics)),
            Self::Activated { words, topics } => write!(f, "the model asked for “{words}”: {}", list(topics)),
            Self::Divided { topic, into } => write!(f, "{topic} divided into {}", list(into)),
            Self::Merged { topic, into } => write!(f, "{topic} became part of {into}"),
            Self::Reviewed { topic, importance } => write!(f, "{topic} reviewed, importance {importance:.2}"),
            Self::Archived { topic } => write!(f, "{topic} archived"),
            Self::Imported { topic, messages } => write!(f, "{topic} read from a file, {messages} messages added"),
        }
    }
}

/// What made events happen; things that happen at the same time are kept apart by it.
#[derive(Clone, Copy)]
pub(super) enum During {
    /// Sorting up to a depth.
    Sorting(Depth),
    /// The turn that answers a message.
    Turn(MessageId),
    Dividing(TopicId),
    Review(TopicId),
    Import(TopicId),
}

/// The records of events.
pub(super) fn puts(session: &SessionKey, during: During, events: &[Event], at: At) -> Vec<Put> {
    let (letter, number) = match during {
        During::Sorting(depth) => ('a', depth.0),
        During::Turn(message) => ('b', message.0),
        During::Dividing(topic) => ('c', topic.0.0),
        During::Review(topic) => ('d', topic.0.0),
        During::Import(topic) => ('e', topic.0.0),
    };
    let key = |i: usize| format!("{:016x}-{letter}{number:010}-{i:04}", at.0);
    events.iter().enumerate().map(|(i, event)| Put::new(session, Kind::Event, key(i), at, event)).collect()
}
