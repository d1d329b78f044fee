//! Notes: what we write to stand for messages that are not shown.
//!
//! A note covers a stretch of a path and never replaces it: the messages stay in the log, and the note's number leads
//! back to them. A fold is the state of a path's notes after some of it went under them; undoing a fold is going back
//! to the one before.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactId;
use crate::ids::{BranchId, Depth, MessageId};
use crate::summary::Summary;

/// How many stretches a fold knows apart of which nothing is told.
const UNTOLD: usize = 4;

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
    /// The first and the last message.
    pub fn ends(self) -> [MessageId; 2] {
        [self.first, self.last]
    }

    /// Its ends, as a model reads them: m0–m12.
    pub(crate) fn named(&self) -> String {
        if self.first == self.last { self.first.to_string() } else { format!("{}–{}", self.first, self.last) }
    }

    /// How many messages it covers.
    pub fn count(&self) -> u32 {
        self.to.0 - self.from.0 + 1
    }

    /// Whether a depth of its path is in it.
    pub fn holds(&self, depth: Depth) -> bool {
        (self.from..=self.to).contains(&depth)
    }
}

/// Who wrote a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The helper model.
    Helper,
    /// Nobody: it quotes what was said.
    #[default]
    Offline,
    /// A person. What is written later is made from it, as a version of its own.
    Person,
}

impl Author {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_offline(&self) -> bool {
        *self == Self::Offline
    }
}

/// The note of a page: one turn, or a part of a long one. It is named after its first message: page #42 begins with
/// m42.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// What it covers.
    pub covers: Covers,
    /// What it is about, in a few words.
    pub title: String,
    /// What it says, a line for each message.
    pub lines: Vec<String>,
    /// The turn it covers, or the last one.
    pub turn: u32,
    /// How often it was recalled.
    pub recalls: u32,
    /// The turn in which it was last recalled.
    pub recalled: Option<u32>,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Author::is_offline")]
    pub by: Author,
}

impl Note {
    /// The number people and models call it by.
    pub fn number(&self) -> u32 {
        self.covers.first.0
    }

    /// The turn in which anything last happened to it.
    pub fn touched(&self) -> u32 {
        self.recalled.unwrap_or(self.turn)
    }
}

/// What the text of a fold lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lists {
    /// The notes it has.
    #[default]
    Pages,
    /// So many topics.
    Topics(u32),
    /// So many documents, whole or by what they are about.
    Documents(u32),
}

impl Lists {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_pages(&self) -> bool {
        *self == Self::Pages
    }
}

/// What went under notes so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// The stretch under notes, from the beginning of the path on.
    pub covers: Option<Covers>,
    /// The turns in it, as far as they were counted.
    pub turns: u32,
    /// The notes that the model sees, the oldest first.
    pub listed: Vec<Note>,
    /// What stands for all of it in the window, word for word until the next fold.
    pub text: String,
    /// What that text costs.
    pub tokens: u32,
    /// What that text lists.
    #[serde(default, skip_serializing_if = "Lists::is_pages")]
    pub lists: Lists,
    /// What the messages under it cost, as far as they were counted.
    #[serde(default)]
    pub original_tokens: u32,
    /// What the window might cost that it was made for; 0 where nobody noted it. What is kept beside it is measured by
    /// that until the next fold.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub budget: u32,
    /// Instructions among the messages under it, as far as they were read: they hold however old they are. Of equal
    /// ones the last is named, of very many the first and the newest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<MessageId>,
    /// The message that began the turn which goes on after it: what is being worked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<MessageId>,
    /// The newest messages of that turn in which the person spoke again, beside results or right behind them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said_since: Vec<MessageId>,
    /// What tells all of it, if it is summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The documents it was worked into, those changed last first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Edition>,
    /// Stretches of it that nobody has read: its summary or its documents tell nothing of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<Covers>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Which version of an artifact: versions belong to the branch they were made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Edition {
    /// The artifact.
    pub id: ArtifactId,
    /// The branch this version was made on.
    pub branch: BranchId,
    /// Its number.
    pub version: u32,
}

impl Fold {
    /// The same with what is known of the messages under it, whoever laid out its text.
    #[must_use]
    pub(crate) fn knowing(self, known: &Self) -> Self {
        let (original_tokens, budget, question) = (known.original_tokens, known.budget, known.question);
        let (instructions, untold) = (known.instructions.clone(), known.untold.clone());
        let said_since = known.said_since.clone();
        Self { original_tokens, budget, instructions, question, said_since, untold, ..self }
    }

    /// The same with one more stretch of which nothing is told. Those that meet are one, and so are the last of very
    /// many.
    #[must_use]
    pub(crate) fn not_telling(mut self, covers: Covers) -> Self {
        let many = self.untold.len() >= UNTOLD;
        match self.untold.last_mut() {
            Some(last) if many || last.to.plus(1) == covers.from => (last.last, last.to) = (covers.last, covers.to),
            Some(_) | None => self.untold.push(covers),
        }
        self
    }

    /// The versions of artifacts that it has and an earlier one had not.
    pub fn newer_than<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Edition> {
        let had: HashSet<&Edition> = before.artifacts.iter().collect();
        self.artifacts.iter().filter(move |edition| !had.contains(edition))
    }

    /// The depth of the first message that is not under a note.
    pub fn open(&self) -> Depth {
        self.covers.map_or(Depth(0), |covers| covers.to.plus(1))
    }

    /// How many messages are out of the model's sight, but found by search.
    pub fn unlisted(&self) -> u32 {
        let covered = self.covers.map_or(0, |covers| covers.count());
        covered - self.listed.iter().map(|note| note.covers.count()).sum::<u32>()
    }
}
