//! The index from terms to messages.
//!
//! Messages are indexed in groups after they are stored, not with them: an index change costs many pages, a group of
//! them hardly more. What is not indexed yet is read directly, so a search always sees everything.

use std::collections::HashSet;

use rusqlite::{Connection, ErrorCode, params};

use super::rows::{MESSAGE, id_of, key_of, session_of, stored};
use super::trouble::Fault;
use crate::error::Error;
use crate::ids::MessageId;
use crate::message::Message;
use crate::search::{ANCHOR, index_terms};
use crate::store::Stored;

/// How many messages one transaction indexes at most, and about how many bytes of them: whoever writes waits for it.
const INDEX_ROWS: usize = 512;
const INDEX_BYTES: usize = 256 << 10;

/// Notes that a session has unindexed messages from a number on.
pub(super) fn mark_unindexed(connection: &Connection, session: i64, since: MessageId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO unindexed (session, since) VALUES (?1, ?2)")?
        .execute(params![session, since.0])?;
    Ok(())
}

/// Sessions with unindexed messages, and the number of the first.
pub(super) fn unindexed(connection: &Connection) -> rusqlite::Result<Vec<(i64, MessageId)>> {
    let mut statement = connection.prepare_cached("SELECT session, since FROM unindexed ORDER BY session")?;
    statement.query_map([], |row| Ok((row.get(0)?, MessageId(row.get(1)?))))?.collect()
}

/// How many messages are not indexed yet.
pub(super) fn unindexed_count(connection: &Connection) -> rusqlite::Result<usize> {
    connection.query_row(
        // `u.` matters: a bare `session` would be the message's own.
        "SELECT ifnull(sum((SELECT max(id) & 0xFFFFFFFF FROM message
                            WHERE id BETWEEN u.session << 32 AND u.session << 32 | 0xFFFFFFFF)
                           - u.since + 1), 0) FROM unindexed u",
        [],
        |row| row.get(0),
    )
}

/// What one transaction indexed.
#[derive(Debug, Default)]
pub(super) struct Indexed {
    pub(super) messages: usize,
    /// Sessions with nothing left to be indexed.
    pub(super) whole: Vec<i64>,
}

/// How much more one transaction indexes.
struct Room {
    rows: usize,
    bytes: usize,
}

/// Indexes a group of messages in one transaction, at least one if there is any.
pub(super) fn index_some(connection: &Connection) -> Result<Indexed, Fault> {
    let transaction = connection.unchecked_transaction()?;
    let (mut indexed, mut room) = (Indexed::default(), Room { rows: INDEX_ROWS, bytes: INDEX_BYTES });
    for (session, since) in unindexed(&transaction)? {
        let (count, is_whole) = index_session(&transaction, session, since, &mut room)?;
        indexed.messages += count as usize;
        if !is_whole {
            let next = since.0 + count;
            transaction.execute("UPDATE unindexed SET since = ?2 WHERE session = ?1", params![session, next])?;
            break;
        }
        transaction.execute("DELETE FROM unindexed WHERE session = ?1", [session])?;
        indexed.whole.push(session);
    }
    transaction.commit()?;
    Ok(indexed)
}

/// Indexes messages of a session from a number on, as far as there is room: how many, and whether those were all.
fn index_session(
    connection: &Connection,
    session: i64,
    since: MessageId,
    room: &mut Room,
) -> Result<(u32, bool), Fault> {
    let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![key_of(session, since), key_of(session, MessageId(u32::MAX))])?;
    let mut insert = connection.prepare_cached("INSERT INTO word (rowid, terms) VALUES (?1, ?2)")?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        if room.rows == 0 || room.bytes == 0 {
            return Ok((count, false));
        }
        (count, room.rows) = (count + 1, room.rows - 1);
        // A damaged row is for `doctor` to report; it must not keep the others from being found.
        let Ok(message) = stored(row) else { continue };
        room.bytes = room.bytes.saturating_sub(message.raw.get().len());
        insert.execute(params![row.get::<_, i64>(0)?, index_terms(&message.message()).join(" ")])?;
    }
    Ok((count, true))
}

/// Indexes a message that says something else now, unless it is yet to be indexed.
pub(super) fn index_anew(connection: &Connection, key: i64, message: &Message) -> rusqlite::Result<()> {
    let waits = "SELECT EXISTS (SELECT 1 FROM unindexed WHERE session = ?1 AND since <= ?2)";
    if !connection.query_row(waits, params![session_of(key), id_of(key).0], |row| row.get::<_, bool>(0))? {
        connection.execute("DELETE FROM word WHERE rowid = ?1", [key])?;
        let terms = index_terms(message).join(" ");
        connection.execute("INSERT INTO word (rowid, terms) VALUES (?1, ?2)", params![key, terms])?;
    }
    Ok(())
}

/// A message by its key; `None` if there is none, or it is damaged.
pub(super) fn message_at(connection: &Connection, key: i64) -> Result<Option<Stored>, Fault> {
    let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([key])?;
    Ok(rows.next()?.and_then(|row| stored(row).ok()))
}

/// Forgets the whole index and marks everything unindexed, so that it is built anew.
pub(super) fn rebuild(connection: &Connection) -> Result<(), Fault> {
    let is_abandoned = match renew(connection, "DROP TABLE word") {
        Err(Fault::Sqlite(cause)) if cause.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            let renewed = renew(connection, ABANDON);
            connection.execute_batch("PRAGMA writable_schema = RESET")?;
            renewed?;
            true
        }
        renewed => {
            renewed?;
            false
        }
    };
    loop {
        let Indexed { messages, whole } = index_some(connection)?;
        if messages == 0 && whole.is_empty() {
            break;
        }
    }
    if is_abandoned {
        connection.execute_batch("VACUUM")?;
    }
    Ok(())
}

/// Takes the index's tables out of the schema without a look at their pages, which cannot be read: they stay where they
/// are until the file is written afresh.
const ABANDON: &str = "PRAGMA writable_schema = ON;
    DELETE FROM sqlite_schema WHERE name IN ('word', 'word_data', 'word_idx', 'word_docsize', 'word_config');
    PRAGMA writable_schema = RESET;";

/// Makes the index's tables anew, once they were taken away as `sql` does, and marks everything unindexed.
fn renew(connection: &Connection, sql: &str) -> Result<(), Fault> {
    let transaction = connection.unchecked_transaction()?;
    let table: String =
        transaction.query_row("SELECT sql FROM sqlite_schema WHERE name = 'word'", [], |row| row.get(0))?;
    transaction.execute_batch(sql)?;
    transaction.execute_batch(&table)?;
    transaction.execute_batch("DELETE FROM unindexed; INSERT INTO unindexed SELECT no, 0 FROM session;")?;
    transaction.commit()?;
    Ok(())
}

/// Whether the index finds as many messages as it lists: each is under exactly one anchor of its words.
pub(super) fn is_whole(connection: &Connection) -> Result<bool, Error> {
    let count = || -> rusqlite::Result<bool> {
        connection.execute_batch("CREATE VIRTUAL TABLE IF NOT EXISTS temp.term USING fts5vocab (main, word, row)")?;
        let (first, beyond) = (format!("{ANCHOR}w"), format!("{ANCHOR}x"));
        connection.query_row(
            "SELECT (SELECT ifnull(sum(doc), 0) FROM temp.term WHERE term >= ?1 AND term < ?2)
                    = (SELECT count(*) FROM word_docsize)",
            [first, beyond],
            |row| row.get(0),
        )
    };
    count().map_err(|cause| Error::Damaged(format!("the search index cannot be read: {cause}")))
}

/// Whether every message is in the index or marked as not yet there; the number of the first session where it is not.
/// Those that are `damaged` have no words to be found by.
pub(super) fn first_gap(connection: &Connection, damaged: &HashSet<i64>) -> Result<Option<i64>, Error> {
    let gap = || -> rusqlite::Result<Option<i64>> {
        let mut statement = connection.prepare(
            "SELECT m.id FROM message m LEFT JOIN unindexed u ON u.session = m.session
             WHERE (u.since IS NULL OR m.id & 0xFFFFFFFF < u.since) AND m.id NOT IN (SELECT rowid FROM word)",
        )?;
        let mut gaps = statement.query_map([], |row| row.get(0))?;
        gaps.find(|gap| gap.as_ref().map_or(true, |key| !damaged.contains(key))).transpose()
    };
    let gap = gap().map_err(|cause| Error::Damaged(format!("the search index cannot be read: {cause}")))?;
    Ok(gap.map(session_of))
}

/// Sessions whose log ends before the last message that the index knows, and that message.
pub(super) fn lost_ends(connection: &Connection) -> Result<Vec<(i64, MessageId)>, Error> {
    let ends = || -> rusqlite::Result<Vec<(i64, MessageId)>> {
        let mut statement = connection.prepare(
            "SELECT max(d.id) AS last FROM word_docsize d GROUP BY d.id >> 32 HAVING last > ifnull(
               (SELECT max(m.id) FROM message m
                WHERE m.id BETWEEN last >> 32 << 32 AND last >> 32 << 32 | 0xFFFFFFFF), -1)",
        )?;
        let ends = statement.query_map([], |row| row.get::<_, i64>(0))?;
        ends.map(|key| key.map(|key| (session_of(key), id_of(key)))).collect()
    };
    ends().map_err(|cause| Error::Damaged(format!("the search index cannot be read: {cause}")))
}
