//! Notes: what we write to stand for messages that are not shown.
//!
//! A note covers a stretch of a path and never replaces it: the messages stay in the log, and the note's id leads back to
//! them. A fold is the state of a path's notes after some of it went under them; undoing a fold is going back to the one before.

use serde::{Deserialize, Serialize};

use crate::ids::{Depth, MessageId};

/// What kind of note it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// The digest of a page: one turn, or a part of a long one.
    Page,
    /// The placeholder of a large tool result.
    Hold,
}

/// A stretch of a path, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Covers {
    /// The first message.
    pub first: MessageId,
    /// Its depth.
    pub from: Depth,
    /// The last message.
    pub last: MessageId,
    /// Its depth.
    pub to: Depth,
}

impl Covers {
    /// How many messages it covers.
    pub fn count(&self) -> u32 {
        self.to.0 - self.from.0 + 1
    }
}

/// A note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// What kind it is.
    pub kind: NoteKind,
    /// Its number among notes of its kind on this path.
    pub number: u32,
    /// What it covers.
    pub covers: Covers,
    /// What it is about, in a few words.
    pub title: String,
    /// What it says, a line for each message.
    pub lines: Vec<String>,
    /// The turn in which it was written.
    pub turn: u32,
    /// How often it was recalled.
    pub recalls: u32,
    /// The turn in which it was last recalled.
    pub recalled: Option<u32>,
}

impl Note {
    /// The turn in which anything last happened to it.
    pub fn touched(&self) -> u32 {
        self.recalled.unwrap_or(self.turn)
    }
}

/// What went under notes so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// The stretch under notes, from the beginning of the path on.
    pub covers: Option<Covers>,
    /// The turns in it.
    pub turns: u32,
    /// Notes written so far, which is also the number of the next.
    pub notes: u32,
    /// Those that the model sees, the oldest first.
    pub listed: Vec<Note>,
}

impl Fold {
    /// The depth of the first message that is not under a note.
    pub fn open(&self) -> Depth {
        self.covers.map_or(Depth(0), |covers| covers.to.plus(1))
    }

    /// How many notes are out of the model's sight, but found by search.
    pub fn unlisted(&self) -> u32 {
        self.notes - u32::try_from(self.listed.len()).expect("fewer notes than 2^32")
    }
}
