//! Between SQLite's rows and types; what is alike for every database is in `store/row.rs`.

use rusqlite::{Connection, Row, ToSql};

pub(super) use crate::store::row::{MessageRow, RecordRow, depth_beside, record_seal, session_seal};

use crate::error::{Error, Result};
use crate::ids::{Hash128, MessageId, SessionId};
use crate::store::session::called;
use crate::store::{Record, Stored};

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

/// Reads a message's columns as far as they can be read, and finds out whether they are what was written. Where it is
/// has to be legible.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<MessageRow> {
    let key = row.get(0)?;
    let mut read = MessageRow {
        id: id_of(key),
        depth: row.get(1)?,
        node: Hash128(row.get(2)?),
        parent: row.get(3).unwrap_or_default(),
        branch: row.get(4)?,
        role: text(row, 5),
        origin: row.get(6).unwrap_or_default(),
        at: row.get(7).unwrap_or_default(),
        vocabulary: row.get(8).unwrap_or_default(),
        tokens: row.get(9).unwrap_or_default(),
        unspaced: row.get(10).unwrap_or_default(),
        raw: text(row, 11),
        is_sound: true,
    };
    read.is_sound = row.get(12).is_ok_and(|written: i64| read.seal(key, &[]) == written);
    if !read.is_sound {
        // No other database could hold it.
        read.raw = read.raw.replace('\0', "\u{fffd}");
    }
    Ok(read)
}

/// The text of a column, with a sign for each piece that is none.
fn text(row: &Row<'_>, column: usize) -> String {
    let bytes = row.get_ref(column).ok().and_then(|value| value.as_bytes().ok()).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a new row.
pub(super) fn insert(connection: &Connection, session: i64, row: &MessageRow) -> rusqlite::Result<usize> {
    let key = key_of(session, row.id);
    let values: [&dyn ToSql; 14] = [
        &key,
        &session,
        &row.depth,
        &row.node.0,
        &row.parent,
        &row.branch,
        &row.role,
        &row.origin,
        &row.at,
        &row.vocabulary,
        &row.tokens,
        &row.unspaced,
        &row.raw,
        &row.seal(key, &[]),
    ];
    connection
        .prepare_cached("INSERT INTO message VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)")?
        .execute(&values[..])
}

/// Writes a row that is there anew.
pub(super) fn replace(connection: &Connection, key: i64, row: &MessageRow) -> rusqlite::Result<usize> {
    let values: [&dyn ToSql; 13] = [
        &key,
        &row.depth,
        &row.node.0,
        &row.parent,
        &row.branch,
        &row.role,
        &row.origin,
        &row.at,
        &row.vocabulary,
        &row.tokens,
        &row.unspaced,
        &row.raw,
        &row.seal(key, &[]),
    ];
    connection
        .prepare_cached(
            "UPDATE message SET depth = ?2, node = ?3, parent = ?4, branch = ?5, role = ?6, origin = ?7, at = ?8,
                                vocabulary = ?9, tokens = ?10, unspaced = ?11, raw = ?12, seal = ?13 WHERE id = ?1",
        )?
        .execute(&values[..])
}

/// A message that is not what was written.
#[derive(Debug)]
pub(super) struct Damage {
    /// Its key, if that can be read.
    key: Option<i64>,
    what: String,
}

impl Damage {
    /// The same for people. Only now is it asked what its session is called: a number in this file tells them nothing.
    pub(super) fn told(self, connection: &Connection) -> Error {
        let whose =
            |key| format!("message {} of session {}: ", id_of(key), session_called(connection, session_of(key)));
        Error::Damaged(self.key.map(whose).unwrap_or_default() + &self.what)
    }
}

/// What people call a session, by its number in this file.
pub(super) fn session_called(connection: &Connection, no: i64) -> String {
    let name = connection.query_row("SELECT id, declared, title FROM session WHERE no = ?1", [no], |row| {
        let (declared, title): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
        Ok(called(SessionId(Hash128(row.get(0)?)), declared.as_deref(), title.as_deref()))
    });
    name.unwrap_or_else(|_| format!("number {no}, whose row cannot be read"))
}

/// Reads a message and checks its seal.
pub(super) fn stored(row: &Row<'_>) -> Result<Stored, Damage> {
    let (key, row) = legible(row)?;
    let damaged = |what: &str| Damage { key: Some(key), what: what.to_owned() };
    if !row.is_sound {
        return Err(damaged("its bytes are not what was written"));
    }
    row.stored().map_err(damaged)
}

/// Reads a message, or what stands for one that is damaged.
pub(super) fn shown(row: &Row<'_>) -> Result<Stored, Damage> {
    let (key, row) = legible(row)?;
    let shown = if row.is_sound { row.stored() } else { row.stand_in() };
    shown.map_err(|what| Damage { key: Some(key), what: what.to_owned() })
}

/// A message's key and its row, as far as they can be read.
fn legible(row: &Row<'_>) -> Result<(i64, MessageRow), Damage> {
    let key: i64 =
        row.get(0).map_err(|cause| Damage { key: None, what: format!("a message row is unreadable: {cause}") })?;
    let read = read(row).map_err(|cause| Damage { key: Some(key), what: format!("it is unreadable: {cause}") })?;
    Ok((key, read))
}

/// Reads a record (key, version, at, body, seal) and checks its seal.
pub(super) fn record(kind: &str, row: &Row<'_>) -> Result<Record> {
    let read = || -> rusqlite::Result<RecordRow> {
        let (key, version, at) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(RecordRow { key, version, at, body: row.get(3)?, seal: row.get(4)? })
    };
    read().map_err(|cause| Error::Damaged(format!("a {kind} is unreadable: {cause}")))?.record(kind)
}
