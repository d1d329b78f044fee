//! Moving a database's contents to another store, or another store's into a database.

use async_trait::async_trait;
use deadpool_postgres::{ClientWrapper, Transaction};
use tokio_postgres::types::ToSql;

use super::append::Opened;
use super::attempt::Repeat;
use super::pieces::pieces;
use super::rows::{self, MESSAGE, escaped, number, session_id, unescaped};
use super::trouble::Fault;
use super::{PostgresStore, words, write};
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, MessageId, NodeId, SessionKey, Tenant};
use crate::message::Message;
use crate::store::parcel::{Head, Label, Moving, Parcel, Sorted};
use crate::store::row::{MessageRow, record_seal, session_seal};
use crate::store::{Alias, NodeRef, Record, Stint};

/// Whoever moves a store reads all of it, however long that takes.
const AT_LENGTH: Repeat = Repeat::FREELY.without_end();

#[async_trait]
impl Moving for PostgresStore {
    async fn labels(&self) -> Result<Vec<Label>> {
        self.attempt(
            |mut client| async move {
                let found = labels(&mut client).await;
                client.back(found)
            },
            AT_LENGTH,
        )
        .await
    }

    async fn pack(&self, label: &Label) -> Result<Option<Parcel>> {
        self.attempt(
            |mut client| async move {
                let found = pack(&mut client, label).await;
                client.back(found)
            },
            AT_LENGTH,
        )
        .await
    }

    async fn unpack(&self, parcel: Parcel) -> Result<()> {
        let (writer, parcel) = (self.writer()?, &parcel);
        let size = messages(parcel).count() + records_of(parcel).count() + pieces(&parcel.branches, |_| 0).count();
        self.attempt(
            |mut client| async move {
                let done = unpack(&mut client, parcel, writer).await;
                client.back(done)
            },
            Repeat::IF_UNDONE.in_pieces(size),
        )
        .await
    }
}

async fn labels(client: &mut ClientWrapper) -> Result<Vec<Label>, Fault> {
    let snapshot = snapshot(client).await?;
    // Records need no log, so that a session may have none.
    let sql = "SELECT DISTINCT tenant, NULL::bytea, -1::bigint FROM record WHERE session = ''::bytea UNION ALL
               SELECT tenant, session, arrived FROM session UNION ALL
               SELECT DISTINCT tenant, session, 9223372036854775807 FROM record r WHERE session <> ''::bytea
               AND NOT EXISTS (SELECT 1 FROM session s WHERE s.tenant = r.tenant AND s.session = r.session)
               ORDER BY 3, 1, 2";
    let label = |row: &tokio_postgres::Row| {
        let tenant = Tenant::new(&unescaped(row.try_get(0)?));
        let named = row.try_get::<_, Option<&[u8]>>(1)?.is_some();
        Ok(Label { tenant, session: if named { Some(session_id(row, 1)?) } else { None } })
    };
    snapshot.query(sql, &[]).await?.iter().map(label).collect()
}

/// The database as it is at one moment, whose statements may take any time.
async fn snapshot(client: &mut ClientWrapper) -> Result<Transaction<'_>, Fault> {
    let level = tokio_postgres::IsolationLevel::RepeatableRead;
    let snapshot = client.build_transaction().isolation_level(level).read_only(true).start().await?;
    snapshot.batch_execute("SET LOCAL statement_timeout = 0").await?;
    Ok(snapshot)
}

async fn pack(client: &mut ClientWrapper, label: &Label) -> Result<Option<Parcel>, Fault> {
    let snapshot = snapshot(client).await?;
    let (records, left_behind) = records(&snapshot, label).await?;
    let (mut head, mut messages, mut branches, mut aliases) = Default::default();
    if let Some(id) = label.session {
        let key = SessionKey { tenant: label.tenant.clone(), id };
        head = read_head(&snapshot, &key).await?;
        messages = read_messages(&snapshot, &key).await?;
        branches = read_branches(&snapshot, &key).await?;
        aliases = read_aliases(&snapshot, &key).await?;
    }
    let parcel = Parcel { label: label.clone(), head, messages, branches, aliases, records, left_behind }.sorted();
    Ok((!parcel.is_empty()).then_some(parcel))
}

async fn of_session(
    snapshot: &Transaction<'_>,
    sql: &str,
    key: &SessionKey,
) -> Result<Vec<tokio_postgres::Row>, Fault> {
    let statement = snapshot.prepare_cached(sql).await?;
    Ok(snapshot.query(&statement, &[&escaped(key.tenant.as_str()), &key.id.0.0.as_slice()]).await?)
}

async fn read_head(snapshot: &Transaction<'_>, key: &SessionKey) -> Result<Option<Head>, Fault> {
    let sql = "SELECT declared, title, born, seal FROM session WHERE tenant = $1 AND session = $2";
    let Some(row) = of_session(snapshot, sql, key).await?.pop() else { return Ok(None) };
    let name = |column: usize| row.try_get::<_, Option<String>>(column).map(|name| name.map(unescaped));
    let head = Head { declared: name(0)?, title: name(1)?, born: At(row.try_get(2)?) };
    let (declared, title) = (head.declared.as_deref(), head.title.as_deref());
    if session_seal(key.tenant.as_str(), key.id, declared, title, head.born) != row.try_get::<_, i64>(3)? {
        return Err(Error::Damaged(format!("the row of session {} is not what was written", key.id)).into());
    }
    Ok(Some(head))
}

async fn read_messages(snapshot: &Transaction<'_>, key: &SessionKey) -> Result<Vec<MessageRow>, Fault> {
    let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.tenant = $1 AND m.session = $2 ORDER BY m.no");
    of_session(snapshot, &sql, key).await?.iter().map(|row| rows::read(key, row)).collect()
}

async fn read_branches(snapshot: &Transaction<'_>, key: &SessionKey) -> Result<Vec<(u32, Option<u32>)>, Fault> {
    let sql = "SELECT no, fork FROM branch WHERE tenant = $1 AND session = $2 ORDER BY no";
    let branch = |row: &tokio_postgres::Row| {
        let (no, fork): (i32, i32) = (row.try_get(0)?, row.try_get(1)?);
        Ok((no.unsigned_abs(), u32::try_from(fork).ok()))
    };
    of_session(snapshot, sql, key).await?.iter().map(branch).collect()
}

async fn read_aliases(snapshot: &Transaction<'_>, key: &SessionKey) -> Result<Vec<Alias>, Fault> {
    let sql = "SELECT depth, node, to_session, to_depth, to_node FROM alias WHERE tenant = $1 AND session = $2";
    let alias = |row: &tokio_postgres::Row| {
        let at = |depth: usize, node: usize| -> Result<NodeRef, Fault> {
            let depth = Depth(row.try_get::<_, i32>(depth)?.unsigned_abs());
            Ok(NodeRef { depth, node: NodeId(rows::hash(row, node)?) })
        };
        Ok(Alias { session: key.id, from: at(0, 1)?, to_session: session_id(row, 2)?, to: at(3, 4)? })
    };
    of_session(snapshot, sql, key).await?.iter().map(alias).collect()
}

/// The session part of a record's key.
fn session_bytes(label: &Label) -> Vec<u8> {
    label.session.map_or_else(Vec::new, |id| id.0.0.to_vec())
}

/// The records, and in words which are damaged.
async fn records(snapshot: &Transaction<'_>, label: &Label) -> Result<Sorted, Fault> {
    let sql = "SELECT key, version, at, body, seal, kind FROM record WHERE tenant = $1 AND session = $2";
    let statement = snapshot.prepare_cached(sql).await?;
    let found = snapshot.query(&statement, &[&escaped(label.tenant.as_str()), &session_bytes(label)]).await?;
    let (mut records, mut damaged) = (Vec::new(), Vec::new());
    for row in &found {
        let kind: String = row.try_get(5)?;
        match rows::record(&kind, row) {
            Ok(record) => records.push((kind, record)),
            Err(Fault::Ours(error)) => damaged.push(error.to_string()),
            Err(fault) => return Err(fault),
        }
    }
    Ok((records, damaged))
}

/// A parcel's messages, as many at once as are written at once.
fn messages(parcel: &Parcel) -> impl Iterator<Item = &[MessageRow]> {
    pieces(&parcel.messages, |row| row.raw.len())
}

fn records_of(parcel: &Parcel) -> impl Iterator<Item = &[(String, Record)]> {
    pieces(&parcel.records, |(_, record)| record.body.get().len())
}

async fn unpack(client: &mut ClientWrapper, parcel: &Parcel, writer: i64) -> Result<(), Fault> {
    let transaction = client.transaction().await?;
    if let (Some(head), Some(id)) = (&parcel.head, parcel.label.session) {
        let key = SessionKey { tenant: parcel.label.tenant.clone(), id };
        let opened = write_head(&transaction, &key, head, parcel, writer).await?;
        for rows in messages(parcel) {
            let all: Vec<&MessageRow> = rows.iter().collect();
            write::insert(&transaction, &key, &all).await?;
            let read = |row: &MessageRow| Some((row.id, Message::from_json(&row.raw).ok()?));
            let sound = rows.iter().filter(|row| row.is_sound);
            let messages: Vec<(MessageId, Message)> = sound.filter_map(read).collect();
            let messages: Vec<(MessageId, &Message)> = messages.iter().map(|(id, message)| (*id, message)).collect();
            let place = words::Place { session: &key, declared: opened.declared.is_some(), arrived: opened.arrived };
            words::index(&transaction, &place, &messages).await?;
        }
        for (branch, fork) in &parcel.branches {
            write::fork(&transaction, &key, BranchId(*branch), fork.map(MessageId)).await?;
        }
    }
    write::aliases(&transaction, &parcel.label.tenant, &parcel.aliases).await?;
    for records in records_of(parcel) {
        write_records(&transaction, &parcel.label, records).await?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn write_head(
    transaction: &Transaction<'_>,
    key: &SessionKey,
    head: &Head,
    parcel: &Parcel,
    writer: i64,
) -> Result<Opened, Fault> {
    let sql = "INSERT INTO session (tenant, session, declared, title, born, seal, minute, messages, branches, writer,
                                    arrived, version, stint)
               SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now, now, now
               FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) AS clock
               ON CONFLICT DO NOTHING RETURNING arrived";
    let statement = transaction.prepare_cached(sql).await?;
    let seal = session_seal(key.tenant.as_str(), key.id, head.declared.as_deref(), head.title.as_deref(), head.born);
    let count = |len: usize| number(u32::try_from(len).unwrap_or(u32::MAX));
    let (messages, branches) = (count(parcel.messages.len())?, count(parcel.branches.len())?);
    let [declared, title] = [&head.declared, &head.title].map(|name| name.as_deref().map(escaped));
    let (tenant, id, minute) = (escaped(key.tenant.as_str()), key.id.0.0.as_slice(), parcel.minute());
    let values: [&(dyn ToSql + Sync); 10] =
        [&tenant, &id, &declared, &title, &head.born.0, &seal, &minute, &messages, &branches, &writer];
    let Some(row) = transaction.query_opt(&statement, &values).await? else {
        return Err(Error::Conflict(format!("the session {}", key.id)).into());
    };
    Ok(Opened {
        declared: head.declared.clone(),
        title: head.title.clone(),
        born: head.born,
        arrived: row.try_get(0)?,
        messages: MessageId(messages.unsigned_abs()),
        branches: BranchId(branches.unsigned_abs()),
        stint: Stint::Unknown,
    })
}

/// Writes records where there are none; the same ones may be there.
async fn write_records(
    transaction: &Transaction<'_>,
    label: &Label,
    records: &[(String, Record)],
) -> Result<(), Fault> {
    let sql = "INSERT INTO record AS r (tenant, session, kind, key, version, at, body, seal)
               SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[])
               ON CONFLICT (tenant, session, kind, key) DO UPDATE SET seal = r.seal WHERE r.seal = excluded.seal";
    let statement = transaction.prepare_cached(sql).await?;
    let kinds: Vec<&str> = records.iter().map(|(kind, _)| kind.as_str()).collect();
    let keys: Vec<_> = records.iter().map(|(_, record)| escaped(&record.key)).collect();
    let versions: Vec<i64> = records.iter().map(|(_, record)| record.version.cast_signed()).collect();
    let times: Vec<i64> = records.iter().map(|(_, record)| record.at.0).collect();
    let bodies: Vec<&str> = records.iter().map(|(_, record)| record.body.get()).collect();
    let seals: Vec<i64> = records.iter().map(|(kind, record)| record_seal(kind, record)).collect();
    let (tenant, session) = (escaped(label.tenant.as_str()), session_bytes(label));
    let values: [&(dyn ToSql + Sync); 8] = [&tenant, &session, &kinds, &keys, &versions, &times, &bodies, &seals];
    let written = transaction.execute(&statement, &values).await?;
    if written == records.len() as u64 {
        return Ok(());
    }
    Err(Error::Conflict("a record".into()).into())
}
