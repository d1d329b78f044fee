//! The index from terms to messages.
//!
//! Messages are indexed in groups after they are stored, not with them: an index change costs many pages, a group of
//! them hardly more. What is not indexed yet is read directly, so a search always sees everything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, params};

use super::rows::{MESSAGE, key_of, stored};
use super::trouble::Fault;
use crate::error::Error;
use crate::ids::MessageId;
use crate::search::{ANCHOR, index_terms};
use crate::store::Stored;

/// How many messages one transaction indexes at most.
const INDEX_ROWS: usize = 4096;
/// How many messages' terms are kept in mind until they are indexed.
const FRESH: usize = 2_048;

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

/// Indexes a group of messages in one transaction. Returns how many.
pub(super) fn index_some(connection: &Connection) -> Result<usize, Fault> {
    let transaction = connection.unchecked_transaction()?;
    let mut room = INDEX_ROWS;
    for (session, since) in unindexed(&transaction)? {
        let done = index_session(&transaction, session, since, room)?;
        room -= done;
        if room == 0 {
            let next = since.0 + u32::try_from(done).expect("at most INDEX_ROWS");
            transaction.execute("UPDATE unindexed SET since = ?2 WHERE session = ?1", params![session, next])?;
            break;
        }
        transaction.execute("DELETE FROM unindexed WHERE session = ?1", [session])?;
    }
    transaction.commit()?;
    Ok(INDEX_ROWS - room)
}

fn index_session(connection: &Connection, session: i64, since: MessageId, limit: usize) -> Result<usize, Fault> {
    let mut insert = connection.prepare_cached("INSERT INTO word (rowid, terms) VALUES (?1, ?2)")?;
    let mut count = 0;
    each_from(connection, session, since, limit, |key, message| {
        count += 1;
        // A damaged row is for `doctor` to report; it must not keep the others from being found.
        if let Some(message) = message {
            insert.execute(params![key, index_terms(&message.message()).join(" ")])?;
        }
        Ok(())
    })?;
    Ok(count)
}

/// Calls `take` with each message of a session from a number on; damaged ones as `None`.
fn each_from(
    connection: &Connection,
    session: i64,
    since: MessageId,
    limit: usize,
    mut take: impl FnMut(i64, Option<Stored>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id LIMIT ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![key_of(session, since), key_of(session, MessageId(u32::MAX)), limit])?;
    while let Some(row) = rows.next()? {
        take(row.get(0)?, stored(row).ok())?;
    }
    Ok(())
}

/// The terms of messages that are not indexed yet, by their keys, made once: until they are indexed, every search looks at
/// them.
#[derive(Debug, Default)]
pub(super) struct Fresh(Mutex<HashMap<i64, Arc<[String]>>>);

impl Fresh {
    /// The terms of a message; `None` if there is none with this key, or it is damaged.
    pub(super) fn terms(&self, connection: &Connection, key: i64) -> Result<Option<Arc<[String]>>, Fault> {
        if let Some(known) = self.lock().get(&key) {
            return Ok(Some(known.clone()));
        }
        let Some(message) = message_at(connection, key)? else { return Ok(None) };
        let terms: Arc<[String]> = index_terms(&message.message()).into();
        let mut all = self.lock();
        if all.len() >= FRESH {
            all.clear();
        }
        all.insert(key, terms.clone());
        Ok(Some(terms))
    }

    /// Forgets them; needed after something was erased.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Arc<[String]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(
        "INSERT INTO word (word) VALUES ('delete-all'); DELETE FROM unindexed; INSERT INTO unindexed SELECT no, 0 FROM session;",
    )?;
    transaction.commit()?;
    while index_some(connection)? > 0 {}
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
pub(super) fn first_gap(connection: &Connection) -> Result<Option<i64>, Error> {
    let gap = connection.query_row(
        "SELECT m.session FROM message m LEFT JOIN unindexed u ON u.session = m.session
         WHERE (u.since IS NULL OR m.id & 0xFFFFFFFF < u.since) AND m.id NOT IN (SELECT rowid FROM word) LIMIT 1",
        [],
        |row| row.get(0),
    );
    match gap {
        Ok(session) => Ok(Some(session)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(cause) => Err(Error::Damaged(format!("the search index cannot be read: {cause}"))),
    }
}
