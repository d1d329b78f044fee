//! Between rows and types. Every row carries a seal, a hash of what it says, which is checked whenever it is read.

use rusqlite::{Row, ToSql};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, Hash128, MessageId, NodeId, SessionId};
use crate::store::{Beside, Draft, Origin, Place, Position, Record, Stored};
use crate::tokens::{Measure, Vocabulary};

/// The columns of a message, in the order [`stored`] reads them.
pub(super) const MESSAGE: &str = "m.id, m.depth, m.node, m.parent, m.branch, m.role, m.origin, m.at, m.vocabulary, m.tokens, m.unspaced, m.raw, m.seal";

/// A session's number and a message's number within it, as one key.
pub(super) fn key_of(session_no: i64, id: MessageId) -> i64 {
    session_no << 32 | i64::from(id.0)
}

/// The session's number in a message's key.
pub(super) fn session_of(key: i64) -> i64 {
    key >> 32
}

/// The message's number in its key.
pub(super) fn id_of(key: i64) -> MessageId {
    MessageId(u32::try_from(key & 0xFFFF_FFFF).expect("masked to 32 bits"))
}

/// A message's row as columns.
pub(super) struct MessageRow {
    pub(super) key: i64,
    pub(super) depth: i64,
    pub(super) node: Hash128,
    pub(super) parent: Option<u32>,
    pub(super) branch: u32,
    role: String,
    origin: i64,
    at: i64,
    vocabulary: i64,
    tokens: u32,
    unspaced: u32,
    raw: String,
}

impl MessageRow {
    pub(super) fn new(key: i64, parent: Option<MessageId>, place: Place, draft: &Draft) -> Self {
        let (depth, branch, over) = match place {
            Place::Path(position) => (i64::from(position.depth.0), position.branch.0, None),
            Place::Beside(why) => (depth_beside(why), 0, over(why)),
        };
        Self {
            key,
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
        }
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<(Self, i64)> {
        let read = Self {
            key: row.get(0)?,
            depth: row.get(1)?,
            node: Hash128(row.get(2)?),
            parent: row.get(3)?,
            branch: row.get(4)?,
            role: row.get(5)?,
            origin: row.get(6)?,
            at: row.get(7)?,
            vocabulary: row.get(8)?,
            tokens: row.get(9)?,
            unspaced: row.get(10)?,
            raw: row.get(11)?,
        };
        Ok((read, row.get(12)?))
    }

    pub(super) fn seal(&self) -> i64 {
        let numbers = [
            self.key,
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
        Hash128::of("message", &[&numbers, &self.node.0, self.role.as_bytes(), self.raw.as_bytes()]).seal()
    }

    pub(super) fn insert(&self, connection: &rusqlite::Connection) -> rusqlite::Result<usize> {
        let values: [&dyn ToSql; 14] = [
            &self.key,
            &session_of(self.key),
            &self.depth,
            &self.node.0,
            &self.parent,
            &self.branch,
            &self.role,
            &self.origin,
            &self.at,
            &self.vocabulary,
            &self.tokens,
            &self.unspaced,
            &self.raw,
            &self.seal(),
        ];
        connection
            .prepare_cached("INSERT INTO message VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)")?
            .execute(&values[..])
    }
}

impl MessageRow {
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

    /// Writes the words of a row that is there.
    pub(super) fn replace(&self, connection: &rusqlite::Connection) -> rusqlite::Result<usize> {
        connection
            .prepare_cached(
                "UPDATE message SET origin = ?2, vocabulary = ?3, tokens = ?4, unspaced = ?5, raw = ?6, seal = ?7
                 WHERE id = ?1",
            )?
            .execute(rusqlite::params![
                self.key,
                self.origin,
                self.vocabulary,
                self.tokens,
                self.unspaced,
                self.raw,
                self.seal()
            ])
    }
}

/// Reads a message and checks its seal.
pub(super) fn stored(row: &Row<'_>) -> Result<Stored> {
    let key: i64 = row.get(0).map_err(|cause| Error::Damaged(format!("a message row is unreadable: {cause}")))?;
    let id = id_of(key);
    let damaged = |what: &str| Error::Damaged(format!("message {id} of session number {}: {what}", session_of(key)));
    let (row, seal) = MessageRow::read(row).map_err(|cause| damaged(&format!("it is unreadable: {cause}")))?;
    if row.seal() != seal {
        return Err(damaged("its bytes are not what was written"));
    }
    let place = match u32::try_from(row.depth) {
        Ok(depth) => {
            Place::Path(Position { id, branch: BranchId(row.branch), depth: Depth(depth), node: NodeId(row.node) })
        }
        Err(_) => Place::Beside(why_beside(row.depth, row.parent).ok_or_else(|| damaged("it stands nowhere"))?),
    };
    let measure = Measure {
        vocabulary: vocabulary(row.vocabulary).ok_or_else(|| damaged("unknown vocabulary"))?,
        tokens: row.tokens,
        unspaced_chars: row.unspaced,
    };
    Ok(Stored {
        id,
        parent: row.parent.filter(|_| row.depth >= 0 || row.depth == depth_beside(Beside::Aside)).map(MessageId),
        place,
        role: row.role.as_str().into(),
        at: At(row.at),
        origin: origin(row.origin).ok_or_else(|| damaged("unknown origin"))?,
        measure,
        raw: RawValue::from_string(row.raw).map_err(|_| damaged("its text is not JSON"))?.into(),
    })
}

fn origin_code(origin: Origin) -> i64 {
    match origin {
        Origin::Client => 0,
        Origin::Reply => 1,
        Origin::Import => 2,
        Origin::Erased => 3,
    }
}

fn origin(code: i64) -> Option<Origin> {
    [Origin::Client, Origin::Reply, Origin::Import, Origin::Erased]
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

/// Reads a record (key, version, at, body, seal) and checks its seal.
pub(super) fn record(kind: &str, row: &Row<'_>) -> Result<Record> {
    let read = || -> rusqlite::Result<(String, i64, i64, String, i64)> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    };
    let (key, version, at, body, seal) =
        read().map_err(|cause| Error::Damaged(format!("a {kind} is unreadable: {cause}")))?;
    let damaged = || Error::Damaged(format!("the {kind} “{key}” is not what was written"));
    let body = RawValue::from_string(body).map_err(|_| damaged())?;
    let record = Record { version: version.unsigned_abs(), at: At(at), body, key: key.clone() };
    if record_seal(kind, &record) == seal { Ok(record) } else { Err(damaged()) }
}
