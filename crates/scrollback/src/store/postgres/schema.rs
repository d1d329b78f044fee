//! Migrations forward from any released version. Several nodes may start at once: one migrates, the others wait for it.

use deadpool_postgres::{ClientWrapper, Transaction};

use super::trouble::Fault;
use crate::error::Error;

/// Every migration, in order; a released one never changes.
const MIGRATIONS: [&str; 1] = [include_str!("../../../migrations/postgres/0001_log.sql")];

/// Who migrates holds this lock of the database ("Scrb").
const LOCK: i64 = 0x5363_7262;

/// Brings the tables up to date, and gives this process its number as a writer.
pub(super) async fn migrate(client: &mut ClientWrapper) -> Result<i64, Fault> {
    let transaction = client.transaction().await?;
    transaction.query_one("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let done = version(&transaction).await?;
    for (number, sql) in MIGRATIONS.iter().enumerate().skip(done) {
        transaction.batch_execute(sql).await?;
        let number = i32::try_from(number + 1).expect("few migrations");
        transaction.execute("INSERT INTO scrollback_migration (number) VALUES ($1)", &[&number]).await?;
    }
    let writer = transaction.query_one("SELECT nextval('writer')", &[]).await?.try_get(0)?;
    transaction.commit().await?;
    Ok(writer)
}

/// Checks that the tables are up to date, for those who only read.
pub(super) async fn check(client: &mut ClientWrapper) -> Result<(), Fault> {
    let client = client.transaction().await?;
    if !exists(&client, "scrollback_migration").await? {
        return Err(Error::NotFound("there is no store in this database yet".into()).into());
    }
    let done = count(client.query_one("SELECT count(*) FROM scrollback_migration", &[]).await?.try_get(0)?)?;
    if done < MIGRATIONS.len() {
        return Err(Error::Invalid(format!("the database has an older layout ({done}). Any command that writes, such as `scrollback doctor --repair`, brings it up to date")).into());
    }
    Ok(())
}

/// The number of migrations the database has had.
async fn version(transaction: &Transaction<'_>) -> Result<usize, Fault> {
    if !exists(transaction, "scrollback_migration").await? {
        if exists(transaction, "message").await? || exists(transaction, "session").await? {
            let what = "the database has tables of another program (message, session). Give Scrollback a database or a schema of its own";
            return Err(Error::Invalid(what.into()).into());
        }
        let table =
            "CREATE TABLE scrollback_migration (number integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())";
        transaction.batch_execute(table).await?;
    }
    count(transaction.query_one("SELECT count(*) FROM scrollback_migration", &[]).await?.try_get(0)?)
}

fn count(done: i64) -> Result<usize, Fault> {
    let newer = || Error::Invalid("the database was set up by a newer Scrollback; update this one".into());
    usize::try_from(done).ok().filter(|done| *done <= MIGRATIONS.len()).ok_or_else(|| newer().into())
}

/// Whether there is a table of this name where ours are.
async fn exists(client: &Transaction<'_>, table: &str) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1)";
    Ok(client.query_one(sql, &[&table]).await?.try_get(0)?)
}
