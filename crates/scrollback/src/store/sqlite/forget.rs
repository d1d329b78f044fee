//! Erasing a session, or what tool results say, so that none of the words is left in the file, its index or its
//! journal.
//!
//! Deleting rows is not enough: the index keeps words of deleted messages until its segments are merged, freed pages
//! keep their bytes until they are reused, and the journal keeps copies of both. So all three are written anew
//! afterwards, which takes time in proportion to the file; until that is done the file says that it is not (`unwiped`).

use rusqlite::{Connection, OptionalExtension, params};

use super::query::session_no;
use super::rows::{self, MESSAGE, depth_beside, key_of, stored};
use super::trouble::Fault;
use super::words;
use crate::error::Error;
use crate::ids::{At, MessageId, SessionKey};
use crate::store::tombstone::tombstone;
use crate::store::{Beside, unkept};

/// A tenant's own records that name a session: of responses, and of work that was queued for it. Those of other
/// sessions, which are far more, are not looked at.
const NAMING: [&str; 2] = [
    "DELETE FROM record WHERE tenant = ?1 AND session = x'' AND kind = 'response' AND instr(body, ?2)",
    "DELETE FROM record WHERE tenant = ?1 AND session = x'' AND kind = 'job' AND instr(key, ?2)",
];

/// Erases a session and returns how many messages it had.
pub(super) fn forget(connection: &mut Connection, key: &SessionKey) -> Result<u32, Fault> {
    let (tenant, id) = (key.tenant.as_str(), key.id.0.0);
    let Some(no) = session_no(connection, key)? else { return forget_unsaid(connection, key) };
    let range = params![key_of(no, MessageId(0)), key_of(no, MessageId(u32::MAX))];
    let transaction = connection.transaction()?;
    transaction.execute("DELETE FROM word WHERE rowid BETWEEN ?1 AND ?2", range)?;
    let messages = transaction.execute("DELETE FROM message WHERE id BETWEEN ?1 AND ?2", range)?;
    transaction.execute("DELETE FROM branch WHERE session = ?1", [no])?;
    transaction.execute("DELETE FROM unindexed WHERE session = ?1", [no])?;
    transaction
        .execute("DELETE FROM alias WHERE tenant = ?1 AND (session = ?2 OR to_session = ?2)", params![tenant, id])?;
    transaction.execute("DELETE FROM record WHERE tenant = ?1 AND session = ?2", params![tenant, id])?;
    for naming in NAMING {
        transaction.execute(naming, params![tenant, key.id.to_string()])?;
    }
    transaction.execute("DELETE FROM session WHERE no = ?1", [no])?;
    mark(&transaction)?;
    transaction.commit()?;
    Ok(u32::try_from(messages).unwrap_or(u32::MAX))
}

/// Erases what is known of a session in which nothing was said yet.
fn forget_unsaid(connection: &mut Connection, key: &SessionKey) -> Result<u32, Fault> {
    let transaction = connection.transaction()?;
    let of_it = params![key.tenant.as_str(), key.id.0.0];
    if transaction.execute("DELETE FROM record WHERE tenant = ?1 AND session = ?2", of_it)? == 0 {
        return Err(unkept(key).into());
    }
    mark(&transaction)?;
    transaction.commit()?;
    Ok(0)
}

/// Erases what tool results say, and the client's own versions of them, and returns how many.
pub(super) fn forget_results(
    connection: &mut Connection,
    key: &SessionKey,
    results: &[MessageId],
    at: At,
) -> Result<u32, Fault> {
    let Some(no) = session_no(connection, key)? else {
        return Err(unkept(key).into());
    };
    let transaction = connection.transaction()?;
    let mut erased = 0;
    for id in results {
        erased += u32::from(erase(&transaction, key_of(no, *id), at)?);
        for overlay in overlays(&transaction, no, *id)? {
            erase(&transaction, overlay, at)?;
        }
    }
    // Nobody can tell what those quote.
    drop_damaged(&transaction, Some(key))?;
    mark(&transaction)?;
    transaction.commit()?;
    Ok(erased)
}

/// Takes out records that are not what was written, of one session or of all, and returns how many: nobody can read
/// them.
pub(super) fn drop_damaged(connection: &Connection, of: Option<&SessionKey>) -> Result<u32, Fault> {
    let whose = if of.is_some() { "tenant = ?1 AND session = ?2" } else { "?1 IS NULL AND ?2 IS NULL" };
    let sql = format!("SELECT key, version, at, body, seal, kind, rowid FROM record WHERE {whose}");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![of.map(|key| key.tenant.as_str()), of.map(|key| key.id.0.0)])?;
    let mut damaged: Vec<i64> = Vec::new();
    while let Some(row) = rows.next()? {
        let is_sound = row.get::<_, String>(5).is_ok_and(|kind| rows::record(&kind, row).is_ok());
        damaged.extend((!is_sound).then(|| row.get::<_, i64>(6)).transpose()?);
    }
    for row in &damaged {
        connection.execute("DELETE FROM record WHERE rowid = ?1", [row])?;
    }
    Ok(u32::try_from(damaged.len()).unwrap_or(u32::MAX))
}

/// Notes that something was erased whose bytes are still there.
fn mark(connection: &Connection) -> Result<(), Fault> {
    let sql = "INSERT INTO unwiped SELECT unixepoch() WHERE NOT EXISTS (SELECT 1 FROM unwiped)";
    connection.execute(sql, [])?;
    Ok(())
}

/// Puts a tombstone in the place of a message's words, in the log and in the index.
fn erase(connection: &Connection, key: i64, at: At) -> Result<bool, Fault> {
    let found = connection
        .prepare_cached(&format!("SELECT {MESSAGE} FROM message m WHERE m.id = ?1"))?
        .query_row([key], |row| Ok((rows::read(row)?, stored(row))))
        .optional()?;
    let Some((row, stored)) = found else { return Ok(false) };
    let Some(tombstone) = tombstone(&stored.map_err(|damage| damage.told(connection))?, at) else { return Ok(false) };
    rows::replace(connection, key, &row.saying(&tombstone))?;
    words::index_anew(connection, key, &tombstone.message())?;
    Ok(true)
}

/// The client's own versions of a message.
fn overlays(connection: &Connection, session: i64, over: MessageId) -> Result<Vec<i64>, Fault> {
    let depth = depth_beside(Beside::Overlay(over));
    let mut statement =
        connection.prepare_cached("SELECT id FROM message WHERE session = ?1 AND depth = ?2 AND parent = ?3")?;
    let found = statement.query_map(params![session, depth, over.0], |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Whether copies of what was erased may be left in the file.
pub(super) fn is_unwiped(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM unwiped)", [], |row| row.get(0))
}

/// Writes everything anew if something was erased since that was done last.
pub(super) fn wipe(connection: &Connection) -> Result<(), Fault> {
    if is_unwiped(connection)? { rewrite(connection) } else { Ok(()) }
}

/// Writes index, file and journal anew, so that nothing is left of what was deleted.
pub(super) fn rewrite(connection: &Connection) -> Result<(), Fault> {
    let left = "it is erased, but copies of its words are left in the file";
    let cure = "then run `scrollback doctor --repair`";
    match write_anew(connection) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let what = format!("{left}, because another process is reading it. Close that process, {cure}");
            Err(Error::Store { what, source: None }.into())
        }
        Err(cause) => {
            let what = format!("{left}. Check that the disk is neither full nor failing, {cure}");
            Err(Error::store(what, cause).into())
        }
    }
}

/// The same; whether nobody kept the journal from being emptied.
pub(super) fn write_anew(connection: &Connection) -> rusqlite::Result<bool> {
    // While somebody reads on, the journal would grow by the whole store, each time this is tried.
    if !is_emptied(connection)? {
        return Ok(false);
    }
    connection.execute_batch("INSERT INTO word (word) VALUES ('optimize'); VACUUM")?;
    let is_done = is_emptied(connection)?;
    if is_done {
        connection.execute("DELETE FROM unwiped", [])?;
    }
    Ok(is_done)
}

/// Empties the journal, unless somebody keeps it.
fn is_emptied(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
}

#[cfg(test)]
mod tests {
    use super::super::{SqliteOptions, schema};
    use super::*;

    #[test]
    fn while_somebody_reads_on_nothing_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let connection = schema::open_writing(&SqliteOptions::new(path.clone())).unwrap();
        connection.execute_batch("CREATE TABLE filler AS SELECT zeroblob(4000000) AS bytes").unwrap();
        mark(&connection).unwrap();
        let reader = schema::open_reading(&path).unwrap();
        let moment = reader.unchecked_transaction().unwrap();
        assert!(is_unwiped(&moment).unwrap());
        connection.execute_batch("CREATE TABLE later (x)").unwrap();
        let journal = || std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        let before = journal();
        assert!(!write_anew(&connection).unwrap() && is_unwiped(&connection).unwrap());
        assert!(journal() < before + 1_000_000, "{} after {before}", journal());
        drop(moment);
        assert!(write_anew(&connection).unwrap() && !is_unwiped(&connection).unwrap());
    }

    #[test]
    fn records_of_other_sessions_are_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let connection = schema::open_writing(&SqliteOptions::new(folder.path().join("store.db"))).unwrap();
        for naming in NAMING {
            let plan = format!("EXPLAIN QUERY PLAN {naming}");
            let way: String = connection.query_row(&plan, params!["local", "x"], |row| row.get(3)).unwrap();
            assert!(way.contains("(tenant=? AND session=? AND kind=?"), "{way}");
        }
    }
}
