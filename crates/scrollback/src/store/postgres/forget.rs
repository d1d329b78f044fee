//! Erasing a session, or what tool results say. The rows are gone at once; the bytes of old rows, and the journal, go
//! when PostgreSQL reuses them (see docs/operating.md).

use std::sync::OnceLock;

use deadpool_postgres::{ClientWrapper, Transaction};

use super::append::touch;
use super::rows::{self, MESSAGE, escaped, number, stored};
use super::trouble::Fault;
use super::words::{self, Place};
use super::write;
use crate::ids::{At, MessageId, SessionKey};
use crate::store::row::depth_beside;
use crate::store::tombstone::tombstone;
use crate::store::{Beside, unkept};

/// What is kept of a session beside its own row.
const OF_SESSION: [&str; 4] = ["word", "message", "branch", "record"];

/// How many records are read at once.
const ROWS: i32 = 100;

/// Erases a session and returns how many messages it had. What is to be erased is noted in `erasing`: whoever tries
/// again because the connection broke, and finds nothing, has erased it.
pub(super) async fn forget(
    client: &mut ClientWrapper,
    key: &SessionKey,
    erasing: &OnceLock<u32>,
) -> Result<u32, Fault> {
    let transaction = client.transaction().await?;
    let tenant = escaped(key.tenant.as_str());
    let id = key.id.0.0.as_slice();
    let sql = "DELETE FROM session WHERE tenant = $1 AND session = $2 RETURNING messages";
    let Some(gone) = transaction.query_opt(sql, &[&tenant, &id]).await? else {
        // Nothing may have been said in it yet.
        let records = "DELETE FROM record WHERE tenant = $1 AND session = $2";
        if transaction.execute(records, &[&tenant, &id]).await? > 0 {
            erasing.get_or_init(|| 0);
            transaction.commit().await?;
        }
        return erasing.get().copied().ok_or_else(|| unkept(key).into());
    };
    for table in OF_SESSION {
        let sql = format!("DELETE FROM {table} WHERE tenant = $1 AND session = $2");
        transaction.execute(&sql, &[&tenant, &id]).await?;
    }
    let aliases = "DELETE FROM alias WHERE tenant = $1 AND (session = $2 OR to_session = $2)";
    transaction.execute(aliases, &[&tenant, &id]).await?;
    // The tenant's own records that name it: of responses, and of work that was queued for it.
    let naming = "DELETE FROM record WHERE tenant = $1 AND session = ''::bytea
                  AND (kind = 'response' AND strpos(body, $2) > 0 OR kind = 'job' AND strpos(key, $2) > 0)";
    transaction.execute(naming, &[&tenant, &key.id.to_string()]).await?;
    let messages = gone.try_get::<_, i32>(0)?.unsigned_abs();
    let messages = *erasing.get_or_init(|| messages);
    transaction.commit().await?;
    Ok(messages)
}

/// Erases what tool results say, and the client's own versions of them, and returns how many; `erasing` is as above.
pub(super) async fn forget_results(
    client: &mut ClientWrapper,
    (key, writer): (&SessionKey, i64),
    (results, erasing): (&[MessageId], &OnceLock<u32>),
    at: At,
) -> Result<u32, Fault> {
    let transaction = client.transaction().await?;
    let tenant = escaped(key.tenant.as_str());
    let id = key.id.0.0.as_slice();
    // Other nodes have to read the session anew.
    touch(&transaction, key, writer).await?;
    let sql = "SELECT declared IS NOT NULL, arrived FROM session WHERE tenant = $1 AND session = $2";
    let Some(row) = transaction.query_opt(sql, &[&tenant, &id]).await? else { return Err(unkept(key).into()) };
    let place = Place { session: key, declared: row.try_get(0)?, arrived: row.try_get(1)? };
    let wanted: Vec<i32> = results.iter().filter_map(|id| number(id.0).ok()).collect();
    let overlays = i32::try_from(depth_beside(Beside::Overlay(MessageId(0)))).expect("a small number");
    let sql = format!(
        "SELECT {MESSAGE} FROM message m WHERE m.tenant = $1 AND m.session = $2
         AND (m.no = ANY($3) OR m.depth = $4 AND m.parent = ANY($3)) ORDER BY m.no"
    );
    let mut erased = 0;
    for row in transaction.query(&sql, &[&tenant, &id, &wanted, &overlays]).await? {
        let meant = results.contains(&MessageId(row.try_get::<_, i32>(0)?.unsigned_abs()));
        erased += u32::from(erase(&transaction, &place, &row, at).await? && meant);
    }
    // Nobody can tell what those quote.
    drop_damaged(&transaction, Some(key)).await?;
    let erased = *erasing.get_or_init(|| erased);
    transaction.commit().await?;
    Ok(erased)
}

/// Takes out records that are not what was written, of one session or of all, and returns how many: nobody can read
/// them.
pub(super) async fn drop_damaged(transaction: &Transaction<'_>, of: Option<&SessionKey>) -> Result<u32, Fault> {
    let whose = if of.is_some() { "tenant = $1 AND session = $2" } else { "$1::text IS NULL AND $2::bytea IS NULL" };
    let sql = format!("SELECT key, version, at, body, seal, kind, tenant, session FROM record WHERE {whose}");
    let (tenant, session) = (of.map(|key| escaped(key.tenant.as_str())), of.map(|key| key.id.0.0));
    let portal = transaction.bind(&sql, &[&tenant, &session.as_ref().map(<[u8; 16]>::as_slice)]).await?;
    let mut damaged = 0;
    loop {
        let rows = transaction.query_portal(&portal, ROWS).await?;
        if rows.is_empty() {
            return Ok(damaged);
        }
        for row in rows {
            let (kind, tenant): (String, String) = (row.try_get(5)?, row.try_get(6)?);
            if rows::record(&kind, &row).is_err() {
                let address = (tenant, row.try_get::<_, &[u8]>(7)?, kind, row.try_get::<_, String>(0)?);
                damaged += 1;
                drop_record(transaction, (&address.0, address.1, &address.2, &address.3)).await?;
            }
        }
    }
}

/// Takes out a record, by its tenant, session, kind and key as the database has them.
pub(super) async fn drop_record(
    transaction: &Transaction<'_>,
    (tenant, session, kind, key): (&str, &[u8], &str, &str),
) -> Result<(), Fault> {
    let sql = "DELETE FROM record WHERE tenant = $1 AND session = $2 AND kind = $3 AND key = $4";
    transaction.execute(sql, &[&tenant, &session, &kind, &key]).await?;
    Ok(())
}

/// Puts a tombstone in the place of a message's words, in the log and in the index.
async fn erase(
    transaction: &Transaction<'_>,
    place: &Place<'_>,
    row: &tokio_postgres::Row,
    at: At,
) -> Result<bool, Fault> {
    let key = place.session;
    let Some(tombstone) = tombstone(&stored(key, row)?, at) else { return Ok(false) };
    let changed = rows::read(key, row)?.saying(&tombstone);
    write::replace(transaction, key, &changed).await?;
    words::unindex(transaction, key, tombstone.id).await?;
    words::index(transaction, place, &[(tombstone.id, &tombstone.message())]).await?;
    Ok(true)
}
