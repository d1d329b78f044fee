//! Checking a whole database: every row against its seal, every message against its place, and the index against the
//! log.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{Client, Transaction};
use futures_util::future::BoxFuture;
use tokio_postgres::Row;

use super::rows::{self, MESSAGE, session_id, stored, unescaped};
use super::trouble::Fault;
use super::{PostgresStore, forget, words};
use crate::error::Result;
use crate::ids::{At, MessageId, SessionKey, Tenant};
use crate::store::checkup::{Checkup, Walk};
use crate::store::row::session_seal;

/// How many rows are read at once.
const ROWS: i32 = 1_000;

/// Branches that only the messages know, or only their own table: the session's key, and in words what is wrong.
const AMISS: &str = "
    SELECT tenant, session, 'branch ' || branch || ' is not listed'
    FROM (SELECT tenant, session, branch FROM message WHERE depth >= 0
          EXCEPT SELECT tenant, session, no FROM branch) AS unlisted
  UNION ALL
    SELECT tenant, session, 'the messages of branch ' || no || ' are missing'
    FROM (SELECT tenant, session, no FROM branch
          EXCEPT SELECT tenant, session, branch FROM message WHERE depth >= 0) AS bare";

impl PostgresStore {
    /// Reads and verifies everything in the database, as it is at one moment. `progress` is told the number of messages
    /// seen, now and then.
    pub async fn check(&self, progress: impl Fn(u64) + Send + Sync) -> Result<Checkup> {
        let mut checkup = Checkup::default();
        let mut client = self.patient().await?;
        if let Err(fault) = contents(&mut client, &mut checkup, &progress).await {
            let Fault::Ours(error) = fault else { return Err(fault.told(self.place())) };
            checkup.problem(error.to_string());
        }
        Ok(checkup)
    }

    /// Builds the search index anew, session by session, while others go on.
    pub fn reindex(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let writer = self.writer()?;
            let mut client = self.patient().await?;
            words::rebuild(&mut client, writer).await.map_err(|fault| fault.told(self.place()))
        })
    }

    /// Takes out derived records that are not what was written, and returns how many.
    pub fn drop_damaged(&self) -> BoxFuture<'_, Result<u32>> {
        Box::pin(async move {
            self.writer()?;
            let mut client = self.patient().await?;
            let drop = async {
                let transaction = client.transaction().await?;
                let dropped = forget::drop_damaged(&transaction, None).await?;
                transaction.commit().await?;
                Ok::<_, Fault>(dropped)
            };
            drop.await.map_err(|fault| fault.told(self.place()))
        })
    }

    /// A connection for work that may take long. It is not given back, as others must not have its limits.
    async fn patient(&self) -> Result<deadpool_postgres::ClientWrapper> {
        let take = async {
            let client: Client = self.pool.get().await?;
            let client = Client::take(client);
            client.batch_execute("SET statement_timeout = 0").await?;
            Ok::<_, Fault>(client)
        };
        take.await.map_err(|fault| fault.told(self.place()))
    }
}

async fn contents(
    client: &mut deadpool_postgres::ClientWrapper,
    checkup: &mut Checkup,
    progress: &(dyn Fn(u64) + Send + Sync),
) -> Result<(), Fault> {
    let snapshot = client
        .build_transaction()
        .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    let sessions = sessions(&snapshot, checkup).await?;
    let damaged = messages(&snapshot, &sessions, checkup, progress).await?;
    records(&snapshot, checkup).await?;
    each(&snapshot, AMISS, |row| {
        let what: String = row.try_get(2)?;
        checkup.problem(format!("session {}: {what}", key(row)?.id));
        Ok(())
    })
    .await?;
    if let Some(session) = words::first_gap(&snapshot, &damaged).await? {
        checkup.problem(format!("the search index misses messages of session {session}"));
    }
    Ok(())
}

/// Calls `take` with each row of a question.
async fn each(
    snapshot: &Transaction<'_>,
    sql: &str,
    mut take: impl FnMut(&Row) -> Result<(), Fault> + Send,
) -> Result<(), Fault> {
    let portal = snapshot.bind(sql, &[]).await?;
    loop {
        let rows = snapshot.query_portal(&portal, ROWS).await?;
        if rows.is_empty() {
            return Ok(());
        }
        rows.iter().try_for_each(&mut take)?;
    }
}

/// The key of a session's row, in its first two columns.
fn key(row: &Row) -> Result<SessionKey, Fault> {
    let tenant: String = row.try_get(0)?;
    Ok(SessionKey { tenant: Tenant::new(&unescaped(tenant)), id: session_id(row, 1)? })
}

/// How many messages each session says it has.
async fn sessions(snapshot: &Transaction<'_>, checkup: &mut Checkup) -> Result<HashMap<SessionKey, u32>, Fault> {
    let mut sessions = HashMap::new();
    let sql = "SELECT tenant, session, declared, title, born, seal, messages FROM session";
    each(snapshot, sql, |row| {
        checkup.sessions += 1;
        let key = key(row)?;
        let name = |column: usize| row.try_get::<_, Option<String>>(column).map(|name| name.map(unescaped));
        let (declared, title, born) = (name(2)?, name(3)?, At(row.try_get(4)?));
        let seal = session_seal(key.tenant.as_str(), key.id, declared.as_deref(), title.as_deref(), born);
        if seal != row.try_get::<_, i64>(5)? {
            checkup.problem(format!("the row of session {} is not what was written", key.id));
        }
        sessions.insert(key, row.try_get::<_, i32>(6)?.unsigned_abs());
        Ok(())
    })
    .await?;
    Ok(sessions)
}

/// Checks the messages; those that are damaged.
async fn messages(
    snapshot: &Transaction<'_>,
    sessions: &HashMap<SessionKey, u32>,
    checkup: &mut Checkup,
    progress: &(dyn Fn(u64) + Send + Sync),
) -> Result<HashSet<(SessionKey, MessageId)>, Fault> {
    let sql = format!("SELECT {MESSAGE}, m.tenant, m.session FROM message m ORDER BY m.tenant, m.session, m.no");
    let (mut current, mut walk): (Option<SessionKey>, Walk) = Default::default();
    let mut counted: HashMap<SessionKey, u32> = HashMap::new();
    let mut damaged = HashSet::new();
    each(snapshot, &sql, |row| {
        checkup.messages += 1;
        if checkup.messages.is_multiple_of(1000) {
            progress(checkup.messages);
        }
        let tenant: String = row.try_get(13)?;
        let key = SessionKey { tenant: Tenant::new(&unescaped(tenant)), id: session_id(row, 14)? };
        if current.as_ref() != Some(&key) {
            counted.extend(current.replace(key.clone()).map(|before| (before, walk.reached())));
            walk = Walk::default();
        }
        let id = MessageId(row.try_get::<_, i32>(0)?.unsigned_abs());
        if let Some(missing) = walk.reach(id) {
            checkup.problem(format!("session {}: message {missing} is missing", key.id));
        }
        match (stored(&key, row), sessions.contains_key(&key)) {
            (Err(Fault::Ours(error)), _) => {
                checkup.problem(error.to_string());
                damaged.insert((key, id));
            }
            (Err(fault), _) => return Err(fault),
            (Ok(_), false) => checkup.problem(format!("message {id} belongs to no session")),
            (Ok(message), true) => walk.place(&message, key.id, checkup),
        }
        Ok(())
    })
    .await?;
    counted.extend(current.map(|last| (last, walk.reached())));
    for (key, expected) in sessions {
        if counted.get(key).copied().unwrap_or(0) != *expected {
            checkup.problem(format!("session {} should have {expected} messages", key.id));
        }
    }
    progress(checkup.messages);
    Ok(damaged)
}

async fn records(snapshot: &Transaction<'_>, checkup: &mut Checkup) -> Result<(), Fault> {
    each(snapshot, "SELECT key, version, at, body, seal, kind FROM record", |row| {
        checkup.records += 1;
        let kind: String = row.try_get(5)?;
        match rows::record(&kind, row) {
            Ok(_) => {}
            Err(Fault::Ours(error)) => checkup.problem(error.to_string()),
            Err(fault) => return Err(fault),
        }
        Ok(())
    })
    .await
}
