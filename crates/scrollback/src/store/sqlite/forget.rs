//! Erasing a session so that none of its words is left in the file, its index or its journal.

use rusqlite::{Connection, params};

use super::query::session_no;
use super::rows::key_of;
use super::trouble::Fault;
use crate::error::Error;
use crate::ids::{MessageId, SessionKey};

/// Erases a session and returns how many messages it had.
///
/// Deleting rows is not enough: the index keeps words of deleted messages until its segments are merged, freed pages keep
/// their bytes until they are reused, and the journal keeps copies of both. So all three are written anew, which takes
/// time in proportion to the file.
pub(super) fn forget(connection: &mut Connection, key: &SessionKey) -> Result<u32, Fault> {
    let Some(no) = session_no(connection, key)? else {
        return Err(Error::NotFound(format!("there is no session {}", key.id)).into());
    };
    let (tenant, id) = (key.tenant.as_str(), key.id.0.0);
    let range = params![key_of(no, MessageId(0)), key_of(no, MessageId(u32::MAX))];
    let transaction = connection.transaction()?;
    transaction.execute("DELETE FROM word WHERE rowid BETWEEN ?1 AND ?2", range)?;
    let messages = transaction.execute("DELETE FROM message WHERE id BETWEEN ?1 AND ?2", range)?;
    transaction.execute("DELETE FROM branch WHERE session = ?1", [no])?;
    transaction.execute("DELETE FROM unindexed WHERE session = ?1", [no])?;
    transaction
        .execute("DELETE FROM alias WHERE tenant = ?1 AND (session = ?2 OR to_session = ?2)", params![tenant, id])?;
    transaction.execute(
        "DELETE FROM record WHERE tenant = ?1 AND (session = ?2 OR kind = 'response' AND instr(body, ?3))",
        params![tenant, id, key.id.to_string()],
    )?;
    transaction.execute("DELETE FROM session WHERE no = ?1", [no])?;
    transaction.execute("INSERT INTO word (word) VALUES ('optimize')", [])?;
    transaction.commit()?;
    wipe(connection)?;
    Ok(u32::try_from(messages).unwrap_or(u32::MAX))
}

/// Writes file and journal anew, so that nothing is left of what was deleted.
pub(super) fn wipe(connection: &Connection) -> Result<(), Fault> {
    let written = || -> rusqlite::Result<i64> {
        connection.execute_batch("VACUUM")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
    };
    let left = "the session is erased, but copies of its words are left in the file";
    let cure = "then run `scrollback doctor --repair`";
    match written() {
        Ok(0) => Ok(()),
        Ok(_) => {
            let what = format!("{left}, because another process is reading it. Close that process, {cure}");
            Err(Error::Store { what, source: None }.into())
        }
        Err(cause) => {
            let what = format!("{left}. Check that the disk is neither full nor failing, {cure}");
            Err(Error::store(what, cause).into())
        }
    }
}
