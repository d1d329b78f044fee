//! Checking a whole file: SQLite's own structures, then every row against its seal and every message against its place.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::rows::{self, MESSAGE, id_of, session_of, stored};
use super::trouble::Fault;
use super::{SqliteStore, forget, words};
use crate::error::Result;
use crate::ids::{Hash128, SessionId};
use crate::store::checkup::{Checkup, Walk};

/// What is said while copies of what was erased may be left.
const UNWIPED: &str = "what was forgotten is erased, but copies of its words are left in the file: a server that runs writes over them soon, \
                       and where none does, `scrollback doctor --repair`";

/// What the tables know of each other and is not there, or not the same: the session's number, and in words what is
/// wrong.
const AMISS: &str = "
    SELECT s.no, 'it has no messages' FROM session s
    WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.id BETWEEN s.no << 32 AND s.no << 32 | 0xFFFFFFFF)
  UNION ALL
    SELECT id >> 32, 'message m' || (id & 0xFFFFFFFF) || ' is listed under another session' FROM message
    WHERE session <> id >> 32
  UNION ALL
    SELECT session, 'branch ' || branch || ' is not listed'
    FROM (SELECT id >> 32 AS session, branch FROM message WHERE depth >= 0 EXCEPT SELECT session, no FROM branch)
  UNION ALL
    SELECT session, 'the messages of branch ' || no || ' are missing'
    FROM (SELECT session, no FROM branch EXCEPT SELECT id >> 32, branch FROM message WHERE depth >= 0)
  UNION ALL
    SELECT u.session, 'message m' || u.since || ' is missing' FROM unindexed u
    WHERE u.since > (SELECT max(m.id) & 0xFFFFFFFF FROM message m
                     WHERE m.id BETWEEN u.session << 32 AND u.session << 32 | 0xFFFFFFFF)";

impl SqliteStore {
    /// Reads and verifies everything in the file. `progress` is told the number of messages seen, now and then.
    pub async fn check(&self, progress: impl Fn(u64) + Send + 'static) -> Result<Checkup> {
        self.readers
            .ask(move |connection| {
                let mut checkup = Checkup::default();
                let snapshot = connection.unchecked_transaction()?;
                pages(&snapshot, &mut checkup);
                if let Err(fault) = contents(&snapshot, &mut checkup, &progress) {
                    checkup.problem(match fault {
                        Fault::Sqlite(cause) => format!("reading stopped early: {cause}"),
                        Fault::Ours(error) => error.to_string(),
                    });
                }
                Ok(checkup)
            })
            .await
    }
}

fn pages(connection: &Connection, checkup: &mut Checkup) {
    let mut report = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let line: String = row.get(0)?;
            if line != "ok" {
                checkup.problem(format!("file structure: {line}"));
            }
        }
        Ok(())
    };
    if let Err(cause) = report() {
        checkup.problem(format!("file structure: {cause}"));
    }
}

fn contents(connection: &Connection, checkup: &mut Checkup, progress: &dyn Fn(u64)) -> Result<(), Fault> {
    let sessions = sessions(connection, checkup)?;
    let damaged = messages(connection, &sessions, checkup, progress)?;
    records(connection, checkup)?;
    if forget::is_unwiped(connection)? {
        checkup.remarks.push(UNWIPED.into());
    }
    amiss(connection, checkup)?;
    match words::lost_ends(connection) {
        Ok(ends) => {
            for (session, last) in ends {
                let session = rows::session_called(connection, session);
                checkup.problem(format!("message {last} of session {session} is missing"));
            }
        }
        Err(error) => checkup.problem(error.to_string()),
    }
    match words::first_gap(connection, &damaged) {
        Ok(None) => {}
        Ok(Some(session)) => {
            let session = rows::session_called(connection, session);
            checkup.problem(format!("the search index misses messages of session {session}"));
        }
        Err(error) => checkup.problem(error.to_string()),
    }
    match words::is_whole(connection) {
        Ok(true) => {}
        Ok(false) => checkup.problem("the search index has lost terms".into()),
        Err(error) => checkup.problem(error.to_string()),
    }
    Ok(())
}

fn sessions(connection: &Connection, checkup: &mut Checkup) -> Result<HashMap<i64, SessionId>, Fault> {
    let mut statement = connection.prepare("SELECT no, tenant, id, declared, title, born, seal FROM session")?;
    let mut rows = statement.query([])?;
    let mut sessions = HashMap::new();
    while let Some(row) = rows.next()? {
        checkup.sessions += 1;
        let (no, tenant, id): (i64, String, _) = (row.get(0)?, row.get(1)?, SessionId(Hash128(row.get(2)?)));
        let (declared, title): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
        let born = crate::ids::At(row.get(5)?);
        if rows::session_seal(&tenant, id, declared.as_deref(), title.as_deref(), born) != row.get::<_, i64>(6)? {
            checkup.problem(format!("the row of session {id} is not what was written"));
        }
        sessions.insert(no, id);
    }
    Ok(sessions)
}

/// Checks the messages; the keys of those that are damaged.
fn messages(
    connection: &Connection,
    sessions: &HashMap<i64, SessionId>,
    checkup: &mut Checkup,
    progress: &dyn Fn(u64),
) -> Result<HashSet<i64>, Fault> {
    let mut statement = connection.prepare(&format!("SELECT {MESSAGE} FROM message m ORDER BY m.id"))?;
    let mut rows = statement.query([])?;
    let (mut session, mut walk, mut damaged) = (0, Walk::default(), HashSet::new());
    while let Some(row) = rows.next()? {
        checkup.messages += 1;
        if checkup.messages.is_multiple_of(1000) {
            progress(checkup.messages);
        }
        let key: i64 = row.get(0)?;
        if session_of(key) != session {
            (session, walk) = (session_of(key), Walk::default());
        }
        if let Some(missing) = walk.reach(id_of(key)) {
            let session = rows::session_called(connection, session);
            checkup.problem(format!("message {missing} of session {session} is missing"));
        }
        match (stored(row), sessions.get(&session)) {
            (Err(damage), _) => {
                damaged.insert(key);
                checkup.problem(damage.told(connection).to_string());
            }
            (Ok(_), None) => checkup.problem(format!("message {} belongs to no session", id_of(key))),
            (Ok(message), Some(session)) => walk.place(&message, *session, checkup),
        }
    }
    progress(checkup.messages);
    Ok(damaged)
}

/// Checks that the tables agree on what there is.
fn amiss(connection: &Connection, checkup: &mut Checkup) -> Result<(), Fault> {
    let mut statement = connection.prepare(AMISS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (session, what): (i64, String) = (row.get(0)?, row.get(1)?);
        checkup.problem(format!("session {}: {what}", rows::session_called(connection, session)));
    }
    Ok(())
}

fn records(connection: &Connection, checkup: &mut Checkup) -> Result<(), Fault> {
    let mut statement = connection.prepare("SELECT key, version, at, body, seal, kind FROM record")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        checkup.records += 1;
        let kind: String = row.get(5)?;
        if let Err(error) = rows::record(&kind, row) {
            checkup.problem(error.to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{At, NodeId, SessionKey, Tenant};
    use crate::message::{Message, Role};
    use crate::store::{Batch, Draft, Origin, SqliteOptions, Store};
    use crate::tokens::Measure;

    fn said(texts: [&str; 3]) -> Batch {
        let id = SessionId(Hash128([1; 16]));
        let mut batch = Batch::new(SessionKey { tenant: Tenant::local(), id });
        let mut node = NodeId::root(id);
        for text in texts {
            let message = Message::text(&Role::User, text);
            node = node.then(message.strong());
            let measure = Measure::of(&message, "gpt-5");
            batch.path.push(Draft { message, node, at: At(0), origin: Origin::Import, measure });
        }
        batch
    }

    /// What is found in a session of two branches, m0 m1 m2 and m0 m3 m4, after somebody has been at the file.
    async fn found_after(sql: &str) -> String {
        let home = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(home.path().join("log.db"));
        let store = SqliteStore::open(&options).unwrap();
        for texts in [["one", "two", "three"], ["one", "other", "last"]] {
            store.commit(said(texts)).await.unwrap();
        }
        drop(store);
        Connection::open(&options.path).unwrap().execute_batch(sql).unwrap();
        let store = SqliteStore::open_reading(&options).unwrap();
        store.check(|_| ()).await.unwrap().problems.join("\n")
    }

    #[tokio::test]
    async fn what_one_table_knows_and_another_has_lost_is_found() {
        assert_eq!(found_after("").await, "");
        for (sql, sign) in [
            ("DELETE FROM branch", "branch 0 is not listed"),
            ("DELETE FROM branch WHERE no = 1", "branch 1 is not listed"),
            ("DELETE FROM message WHERE branch = 1", "the messages of branch 1 are missing"),
            ("DELETE FROM message WHERE id & 0xFFFFFFFF = 4", "message m4 of session"),
            ("DELETE FROM message", "it has no messages"),
            ("UPDATE message SET session = 9 WHERE id & 0xFFFFFFFF = 2", "message m2 is listed under another session"),
            ("INSERT INTO unindexed SELECT no, 5 FROM session", "message m5 is missing"),
        ] {
            let found = found_after(sql).await;
            assert!(found.contains(sign), "{sql}: {found}");
        }
    }
}
