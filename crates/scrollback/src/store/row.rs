//! Messages, sessions and records as rows of a database, alike for every one: how types become columns and back, and
//! the seal of each row, a hash of what it says, which is checked whenever it is read.

use serde_json::value::RawValue;

use super::tombstone::results_saying;
use super::{Beside, Draft, Origin, Place, Position, Record, Stored};
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, Hash128, MessageId, NodeId, SessionId};
use crate::message::{Message, Role};
use crate::tokens::{Measure, Vocabulary};

/// A message's row as columns.
pub(super) struct MessageRow {
    pub(super) id: MessageId,
    pub(super) depth: i64,
    pub(super) node: Hash128,
    pub(super) parent: Option<u32>,
    pub(super) branch: u32,
    pub(super) role: String,
    pub(super) origin: i64,
    pub(super) at: i64,
    pub(super) vocabulary: i64,
    pub(super) tokens: u32,
    pub(super) unspaced: u32,
    pub(super) raw: String,
    /// Whether it is what was written. One that is not stays so wherever it is moved: its seal is a wrong one.
    pub(super) is_sound: bool,
}

impl MessageRow {
    pub(super) fn new(id: MessageId, parent: Option<MessageId>, place: Place, draft: &Draft) -> Self {
        let (depth, branch, over) = match place {
            Place::Path(position) => (i64::from(position.depth.0), position.branch.0, None),
            Place::Beside(why) => (depth_beside(why), 0, over(why)),
        };
        Self {
            id,
            depth,
            node: draft.node.0,
            parent: parent.or(over).map(|id| id.0),
            branch,
            role: draft.message.role().as_str().to_owned(),
            origin: origin_code(draft.origin),
            at: draft.at.0,
            vocabulary: vocabulary_code(draft.measure.vocabulary),
            tokens: draft.measure.tokens,
            unspaced: draft.measure.unspaced_chars,
            raw: draft.message.raw().get().to_owned(),
            is_sound: true,
        }
    }

    /// The seal of the row under the key it has in its database, and whose it is, as far as the key does not say.
    pub(super) fn seal(&self, key: i64, whose: &[&[u8]]) -> i64 {
        let numbers = [
            key,
            self.depth,
            self.parent.map_or(-1, i64::from),
            i64::from(self.branch),
            self.origin,
            self.at,
            self.vocabulary,
            i64::from(self.tokens),
            i64::from(self.unspaced),
        ];
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let own: [&[u8]; 4] = [&numbers, &self.node.0, self.role.as_bytes(), self.raw.as_bytes()];
        let seal = Hash128::of("message", &[whose, &own].concat()).seal();
        if self.is_sound { seal } else { !seal }
    }

    /// Whether it is damaged and may be what it was again. What its owner had erased comes back for nobody.
    pub(super) fn wants_mending(&self) -> bool {
        !self.is_sound && self.origin != origin_code(Origin::Erased)
    }

    /// The same row with other words.
    pub(super) fn saying(self, stored: &Stored) -> Self {
        Self {
            origin: origin_code(stored.origin),
            vocabulary: vocabulary_code(stored.measure.vocabulary),
            tokens: stored.measure.tokens,
            unspaced: stored.measure.unspaced_chars,
            raw: stored.raw.get().to_owned(),
            ..self
        }
    }

    /// What stands for a message that is not what was written: a sentence that says so, at its place and in its role.
    /// The calls that results belong to are named as far as that can be read.
    pub(super) fn stand_in(self) -> Result<Stored, &'static str> {
        let words = format!("[{} cannot be read: its bytes in the store are not what was written.]", self.id);
        let role = Role::from(self.role.as_str());
        let role = if role.instructs() || role == Role::Assistant { role } else { Role::User };
        let message = results_saying(&self.raw, &words).unwrap_or_else(|| Message::text(&role, &words));
        let vocabulary = Vocabulary::O200k;
        let Measure { tokens, unspaced_chars, .. } = Measure::with(&message, vocabulary);
        let row = Self {
            role: message.role().as_str().to_owned(),
            origin: origin_code(Origin::Damaged),
            vocabulary: vocabulary_code(vocabulary),
            tokens,
            unspaced: unspaced_chars,
            raw: message.raw().get().to_owned(),
            ..self
        };
        row.stored()
    }

    /// The message, as far as the columns make sense; what does not is told in words.
    pub(super) fn stored(self) -> Result<Stored, &'static str> {
        let place = match u32::try_from(self.depth) {
            Ok(depth) => Place::Path(Position {
                id: self.id,
                branch: BranchId(self.branch),
                depth: Depth(depth),
                node: NodeId(self.node),
            }),
            Err(_) => Place::Beside(why_beside(self.depth, self.parent).ok_or("it stands nowhere")?),
        };
        let measure = Measure {
            vocabulary: vocabulary(self.vocabulary).ok_or("unknown vocabulary")?,
            tokens: self.tokens,
            unspaced_chars: self.unspaced,
        };
        let follows = self.depth >= 0 || self.depth == depth_beside(Beside::Aside);
        Ok(Stored {
            id: self.id,
            parent: self.parent.filter(|_| follows).map(MessageId),
            place,
            role: self.role.as_str().into(),
            at: At(self.at),
            origin: origin(self.origin).ok_or("unknown origin")?,
            measure,
            raw: RawValue::from_string(self.raw).map_err(|_| "its text is not JSON")?.into(),
        })
    }
}

fn origin_code(origin: Origin) -> i64 {
    match origin {
        Origin::Client => 0,
        Origin::Reply => 1,
        Origin::Import => 2,
        Origin::Erased => 3,
        // Never written.
        Origin::Damaged => 4,
    }
}

fn origin(code: i64) -> Option<Origin> {
    [Origin::Client, Origin::Reply, Origin::Import, Origin::Erased, Origin::Damaged]
        .into_iter()
        .find(|origin| origin_code(*origin) == code)
}

fn vocabulary_code(vocabulary: Vocabulary) -> i64 {
    match vocabulary {
        Vocabulary::O200k => 0,
        Vocabulary::Cl100k => 1,
    }
}

fn vocabulary(code: i64) -> Option<Vocabulary> {
    [Vocabulary::O200k, Vocabulary::Cl100k].into_iter().find(|vocabulary| vocabulary_code(*vocabulary) == code)
}

/// Messages beside the path have negative depths, one for each reason, so that one unique index serves all.
pub(super) fn depth_beside(why: Beside) -> i64 {
    match why {
        Beside::Preamble => -1,
        Beside::Overlay(_) => -2,
        Beside::Insert => -3,
        Beside::Aside => -4,
    }
}

fn why_beside(depth: i64, over: Option<u32>) -> Option<Beside> {
    match (depth, over) {
        (-1, _) => Some(Beside::Preamble),
        (-2, Some(over)) => Some(Beside::Overlay(MessageId(over))),
        (-3, _) => Some(Beside::Insert),
        (-4, _) => Some(Beside::Aside),
        _ => None,
    }
}

fn over(why: Beside) -> Option<MessageId> {
    match why {
        Beside::Overlay(id) => Some(id),
        Beside::Preamble | Beside::Insert | Beside::Aside => None,
    }
}

/// The seal of a session's row.
pub(super) fn session_seal(tenant: &str, id: SessionId, declared: Option<&str>, title: Option<&str>, born: At) -> i64 {
    let optional = |text: Option<&str>| text.map_or_else(Vec::new, |text| [b"+", text.as_bytes()].concat());
    let parts = [tenant.as_bytes(), &id.0.0, &optional(declared), &optional(title), &born.0.to_le_bytes()];
    Hash128::of("session", &parts).seal()
}

/// The seal of a record's row.
pub(super) fn record_seal(kind: &str, record: &Record) -> i64 {
    let numbers = [record.version.to_le_bytes(), record.at.0.to_le_bytes()].concat();
    Hash128::of("record", &[kind.as_bytes(), record.key.as_bytes(), &numbers, record.body.get().as_bytes()]).seal()
}

/// A record's row as columns.
pub(super) struct RecordRow {
    pub(super) key: String,
    pub(super) version: i64,
    pub(super) at: i64,
    pub(super) body: String,
    pub(super) seal: i64,
}

impl RecordRow {
    /// The record, if it is what was written.
    pub(super) fn record(self, kind: &str) -> Result<Record> {
        let damaged = || Error::Damaged(format!("the {kind} “{}” is not what was written", self.key));
        let body = RawValue::from_string(self.body).map_err(|_| damaged())?;
        let record = Record { version: self.version.unsigned_abs(), at: At(self.at), body, key: self.key.clone() };
        if record_seal(kind, &record) == self.seal { Ok(record) } else { Err(damaged()) }
    }
}
