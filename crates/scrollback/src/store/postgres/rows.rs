//! Between PostgreSQL's rows and types; what is alike for every database is in `store/row.rs`.

use std::borrow::Cow;

use tokio_postgres::Row;

use super::trouble::Fault;
use crate::error::{Error, Result};
use crate::ids::{BranchId, Depth, Hash128, MessageId, NodeId, SessionId, SessionKey};
use crate::store::row::{MessageRow, RecordRow};
use crate::store::{Position, Record, Stored};

/// The columns of a message, in the order [`stored`] reads them.
pub(super) const MESSAGE: &str = "m.no, m.depth, m.node, m.parent, m.branch, m.role, m.origin, m.at, m.vocabulary, m.tokens, m.unspaced, m.raw, m.seal";

/// The columns of a place, in the order [`position`] reads them.
pub(super) const PLACE: &str = "m.no, m.branch, m.depth, m.node";

/// A name as the database can hold it. Its text has no U+0000, so that and U+0001 are written as two characters each;
/// the order of names stays as it is.
pub(super) fn escaped(name: &str) -> Cow<'_, str> {
    if name.contains(['\0', '\u{1}']) {
        name.replace('\u{1}', "\u{1}\u{2}").replace('\0', "\u{1}\u{1}").into()
    } else {
        name.into()
    }
}

/// The name that was escaped.
pub(super) fn unescaped(text: String) -> String {
    if text.contains('\u{1}') { text.replace("\u{1}\u{1}", "\0").replace("\u{1}\u{2}", "\u{1}") } else { text }
}

/// A number as the database keeps it.
pub(super) fn number(value: u32) -> Result<i32> {
    let beyond = |_| Error::TooLarge(format!("{value} is beyond what a PostgreSQL store can count"));
    i32::try_from(value).map_err(beyond)
}

/// A number that is never negative.
fn count(row: &Row, column: usize) -> Result<u32, Fault> {
    let value: i32 = row.try_get(column)?;
    u32::try_from(value).map_err(|_| Error::Damaged(format!("a number of a row is negative: {value}")).into())
}

/// A hash.
pub(super) fn hash(row: &Row, column: usize) -> Result<Hash128, Fault> {
    let bytes: &[u8] = row.try_get(column)?;
    let hash = bytes.try_into().map_err(|_| Error::Damaged("an id of a row has not 16 bytes".into()))?;
    Ok(Hash128(hash))
}

/// Reads a place.
pub(super) fn position(row: &Row) -> Result<Position, Fault> {
    let (id, branch, depth) = (MessageId(count(row, 0)?), BranchId(count(row, 1)?), Depth(count(row, 2)?));
    Ok(Position { id, branch, depth, node: NodeId(hash(row, 3)?) })
}

/// The id of a session.
pub(super) fn session_id(row: &Row, column: usize) -> Result<SessionId, Fault> {
    hash(row, column).map(SessionId)
}

/// Reads a message's columns, and finds out whether they are what was written.
pub(super) fn read(session: &SessionKey, row: &Row) -> Result<MessageRow, Fault> {
    let small = |column: usize| row.try_get::<_, i16>(column).map(i64::from);
    let mut read = MessageRow {
        id: MessageId(count(row, 0)?),
        depth: row.try_get::<_, i32>(1)?.into(),
        node: hash(row, 2)?,
        parent: row.try_get::<_, Option<i32>>(3)?.map(i32::unsigned_abs),
        branch: count(row, 4)?,
        role: unescaped(row.try_get(5)?),
        origin: small(6)?,
        at: row.try_get(7)?,
        vocabulary: small(8)?,
        tokens: count(row, 9)?,
        unspaced: count(row, 10)?,
        raw: row.try_get(11)?,
        is_sound: true,
    };
    read.is_sound = seal(session, &read) == row.try_get::<_, i64>(12)?;
    Ok(read)
}

/// The seal of a message's row.
pub(super) fn seal(session: &SessionKey, row: &MessageRow) -> i64 {
    row.seal(i64::from(row.id.0), &[session.tenant.as_str().as_bytes(), &session.id.0.0])
}

/// Reads a message and checks its seal.
pub(super) fn stored(session: &SessionKey, row: &Row) -> Result<Stored, Fault> {
    let row = read(session, row)?;
    let id = row.id;
    let damaged = |what: &str| Error::Damaged(format!("message {id} of session {}: {what}", session.id));
    if !row.is_sound {
        return Err(damaged("its bytes are not what was written").into());
    }
    Ok(row.stored().map_err(damaged)?)
}

/// Reads a message, or what stands for one that is damaged.
pub(super) fn shown(session: &SessionKey, row: &Row) -> Result<Stored, Fault> {
    let row = read(session, row)?;
    let id = row.id;
    let shown = if row.is_sound { row.stored() } else { row.stand_in() };
    Ok(shown.map_err(|what| Error::Damaged(format!("message {id} of session {}: {what}", session.id)))?)
}

/// Reads a record (key, version, at, body, seal) and checks its seal.
pub(super) fn record(kind: &str, row: &Row) -> Result<Record, Fault> {
    let (version, at) = (row.try_get(1)?, row.try_get(2)?);
    let row = RecordRow { key: unescaped(row.try_get(0)?), version, at, body: row.try_get(3)?, seal: row.try_get(4)? };
    Ok(row.record(kind)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_keep_their_order() {
        let names =
            ["", "a", "a\0", "a\0\0", "a\0b", "a\u{1}", "a\u{1}\0", "a\u{1}\u{1}", "a\u{2}", "ab", "b\u{1}\u{2}"];
        let mut sorted = names;
        sorted.sort_unstable();
        let mut kept = sorted.map(|name| escaped(name).into_owned());
        assert!(kept.is_sorted() && kept.iter().all(|text| !text.contains('\0')));
        kept.sort_unstable();
        assert_eq!(kept.map(unescaped), sorted);
    }
}
