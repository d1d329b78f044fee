//! The index from terms to messages: the same terms as in every store, as vectors under a GIN index.
//!
//! Each message is indexed in the transaction that stores it. Beside its terms a vector holds marks of its tenant and
//! session, so that the index alone finds what a session, a tenant or its undeclared sessions say. `sought` asks it.

use std::collections::HashSet;

use deadpool_postgres::{ClientWrapper, Transaction};
use tokio_postgres::types::ToSql;

use super::append::{Opened, touch};
use super::query::key_of;
use super::rows::{MESSAGE, escaped, number, session_id, stored, unescaped};
use super::trouble::Fault;
use crate::error::Result;
use crate::ids::{Hash128, MessageId, SessionId, SessionKey, Tenant};
use crate::message::Message;
use crate::search::{ANCHOR, Reach, index_terms};
use crate::store::row::MessageRow;

/// How many bytes of terms one vector holds at most; PostgreSQL allows a megabyte, with some room for each term.
const PART_BYTES: usize = 400_000;

/// The marks of where a message is.
pub(super) struct Marks {
    tenant: String,
    session: String,
    undeclared: String,
}

impl Marks {
    fn of(tenant: &Tenant, session: SessionId) -> Self {
        let short = |tag: &str, parts: &[&[u8]]| format!("{ANCHOR}{tag}{:016x}", Hash128::of("mark", parts).seal());
        let name = tenant.as_str().as_bytes();
        Self {
            tenant: short("t", &[name]),
            session: short("s", &[name, &session.0.0]),
            undeclared: short("u", &[name]),
        }
    }

    /// The mark of a message that has more terms than one vector holds.
    pub(super) fn split() -> String {
        format!("{ANCHOR}p")
    }

    /// The mark that everything within a reach has.
    pub(super) fn reaching(tenant: &Tenant, reach: &Reach) -> String {
        match reach {
            Reach::Everywhere | Reach::Beginnings => Self::of(tenant, SessionId(Hash128::default())).tenant,
            Reach::Undeclared => Self::of(tenant, SessionId(Hash128::default())).undeclared,
            Reach::Session(id) | Reach::Path(id, _) | Reach::Upto(id, _) => Self::of(tenant, *id).session,
        }
    }
}

/// Vectors of a message, as terms parted by spaces.
fn vectors(message: &Message, marks: &[&str]) -> Vec<String> {
    let mut parts = vec![Vec::new()];
    let mut bytes = 0;
    for term in index_terms(message) {
        if bytes + term.len() > PART_BYTES {
            parts.push(Vec::new());
            bytes = 0;
        }
        bytes += term.len();
        parts.last_mut().expect("one at least").push(term);
    }
    let split = (parts.len() > 1).then(Marks::split);
    let marked = |part: Vec<String>| {
        let marks = marks.iter().copied().chain(split.as_deref());
        part.iter().map(String::as_str).chain(marks).collect::<Vec<_>>().join(" ")
    };
    parts.into_iter().map(marked).collect()
}

/// Indexes messages.
pub(super) async fn insert(
    transaction: &Transaction<'_>,
    session: &SessionKey,
    opened: &Opened,
    rows: &[(MessageRow, Message)],
) -> Result<(), Fault> {
    let messages: Vec<(MessageId, &Message)> = rows.iter().map(|(row, message)| (row.id, message)).collect();
    let place = Place { session, declared: opened.declared.is_some(), arrived: opened.arrived };
    index(transaction, &place, &messages).await
}

/// Takes a message out of the index.
pub(super) async fn unindex(transaction: &Transaction<'_>, session: &SessionKey, id: MessageId) -> Result<(), Fault> {
    let sql = "DELETE FROM word WHERE tenant = $1 AND session = $2 AND no = $3";
    let tenant = escaped(session.tenant.as_str());
    transaction.execute(sql, &[&tenant, &session.id.0.0.as_slice(), &number(id.0)?]).await?;
    Ok(())
}

/// What the index has to know of a session.
pub(super) struct Place<'s> {
    pub(super) session: &'s SessionKey,
    pub(super) declared: bool,
    pub(super) arrived: i64,
}

/// Indexes messages that are not indexed.
pub(super) async fn index(
    transaction: &Transaction<'_>,
    place: &Place<'_>,
    messages: &[(MessageId, &Message)],
) -> Result<(), Fault> {
    if messages.is_empty() {
        return Ok(());
    }
    let Place { session, declared, arrived } = place;
    let marks = Marks::of(&session.tenant, session.id);
    let undeclared = (!declared).then_some(marks.undeclared.as_str());
    let marks: Vec<&str> = [marks.tenant.as_str(), marks.session.as_str()].into_iter().chain(undeclared).collect();
    let (mut numbers, mut parts, mut terms) = (Vec::new(), Vec::new(), Vec::new());
    for (id, message) in messages {
        for (part, vector) in (0_i16..).zip(vectors(message, &marks)) {
            numbers.push(number(id.0)?);
            parts.push(part);
            terms.push(vector);
        }
    }
    let statement = transaction
        .prepare_cached(
            "INSERT INTO word (tenant, session, arrived, no, part, terms)
             SELECT $1, $2, $3, no, part, array_to_tsvector(string_to_array(terms, ' '))
             FROM unnest($4::int[], $5::smallint[], $6::text[]) AS indexed (no, part, terms)",
        )
        .await?;
    let (tenant, id) = (escaped(session.tenant.as_str()), session.id.0.0.as_slice());
    let values: [&(dyn ToSql + Sync); 6] = [&tenant, &id, &arrived, &numbers, &parts, &terms];
    transaction.execute(&statement, &values).await?;
    Ok(())
}

/// A session that has messages which are not in the index; those that are `damaged` have no words to be found by.
pub(super) async fn first_gap(
    snapshot: &Transaction<'_>,
    damaged: &HashSet<(SessionKey, MessageId)>,
) -> Result<Option<SessionId>, Fault> {
    let sql = "SELECT m.tenant, m.session, m.no FROM message m WHERE NOT EXISTS (SELECT 1 FROM word w
               WHERE w.tenant = m.tenant AND w.session = m.session AND w.no = m.no) LIMIT $1";
    // One more than may be missing rightly tells whether there is another.
    let limit = i64::try_from(damaged.len() + 1).unwrap_or(i64::MAX);
    for row in snapshot.query(sql, &[&limit]).await? {
        let key = key_of(&Tenant::new(&unescaped(row.try_get(0)?)), session_id(&row, 1)?);
        let id = MessageId(row.try_get::<_, i32>(2)?.unsigned_abs());
        if !damaged.contains(&(key.clone(), id)) {
            return Ok(Some(key.id));
        }
    }
    Ok(None)
}

/// Builds the index anew, one session at a time, each under the lock of its row.
pub(super) async fn rebuild(client: &mut ClientWrapper, writer: i64) -> Result<(), Fault> {
    let rows = client.query("SELECT tenant, session, declared IS NOT NULL, arrived FROM session", &[]).await?;
    for row in rows {
        let tenant: String = row.try_get(0)?;
        let session = key_of(&Tenant::new(&unescaped(tenant)), session_id(&row, 1)?);
        let place = Place { session: &session, declared: row.try_get(2)?, arrived: row.try_get(3)? };
        let transaction = client.transaction().await?;
        touch(&transaction, &session, writer).await?;
        let (tenant, id) = (escaped(session.tenant.as_str()), session.id.0.0.as_slice());
        let unindex = "DELETE FROM word WHERE tenant = $1 AND session = $2";
        transaction.execute(unindex, &[&tenant, &id]).await?;
        let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.tenant = $1 AND m.session = $2 ORDER BY m.no");
        let portal = transaction.bind(&sql, &[&tenant, &id]).await?;
        loop {
            let rows = transaction.query_portal(&portal, 500).await?;
            if rows.is_empty() {
                break;
            }
            // A damaged row is for `doctor` to report; it must not keep the others from being found.
            let messages = rows.iter().filter_map(|row| stored(&session, row).ok()).map(|row| (row.id, row.message()));
            let messages: Vec<(MessageId, Message)> = messages.collect();
            let messages: Vec<(MessageId, &Message)> = messages.iter().map(|(id, message)| (*id, message)).collect();
            index(&transaction, &place, &messages).await?;
        }
        transaction.commit().await?;
    }
    Ok(())
}
