//! Erasing a session, or what tool results say. The rows are gone at once; the bytes of old rows, and the journal, go
//! when PostgreSQL reuses them (see docs/operating.md).

use std::sync::OnceLock;

use deadpool_postgres::{ClientWrapper, Transaction};

use super::append::touch;
use super::rows::{self, MESSAGE, escaped, number, stored};
use super::trouble::Fault;
use super::words::{self, Place};
use crate::ids::{At, MessageId, SessionKey};
use crate::store::row::depth_beside;
use crate::store::tombstone::tombstone;
use crate::store::{Beside, unkept};

/// What is kept of a session beside its own row.
const OF_SESSION: [&str; 4] = ["word", "message", "branch", "record"];

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
    let erased = *erasing.get_or_init(|| erased);
    transaction.commit().await?;
    Ok(erased)
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
    let changed = rows::read(row)?.0.saying(&tombstone);
    let tenant = escaped(key.tenant.as_str());
    let id = key.id.0.0.as_slice();
    let small = |code: i64| i16::try_from(code).expect("codes are small");
    let (no, tokens, unspaced) = (number(changed.id.0)?, number(changed.tokens)?, number(changed.unspaced)?);
    let sql = "UPDATE message SET origin = $4, vocabulary = $5, tokens = $6, unspaced = $7, raw = $8, seal = $9
               WHERE tenant = $1 AND session = $2 AND no = $3";
    let (origin, vocabulary, seal) = (small(changed.origin), small(changed.vocabulary), rows::seal(key, &changed));
    transaction
        .execute(sql, &[&tenant, &id, &no, &origin, &vocabulary, &tokens, &unspaced, &changed.raw, &seal])
        .await?;
    let unindex = "DELETE FROM word WHERE tenant = $1 AND session = $2 AND no = $3";
    transaction.execute(unindex, &[&tenant, &id, &no]).await?;
    words::index(transaction, place, &[(tombstone.id, &tombstone.message())]).await?;
    Ok(true)
}
