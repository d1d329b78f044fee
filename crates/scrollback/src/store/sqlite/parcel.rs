//! Moving a file's contents to another store, or another store's into a file.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};

use super::query::session_no;
use super::rows::{self, MESSAGE, key_of, record_seal, session_seal};
use super::trouble::Fault;
use super::{SqliteStore, words};
use crate::error::{Error, Result};
use crate::ids::{At, Depth, Hash128, MessageId, NodeId, SessionId, SessionKey, Tenant};
use crate::store::parcel::{Head, Label, Moving, Parcel, Sorted};
use crate::store::{Alias, NodeRef, Record};

#[async_trait]
impl Moving for SqliteStore {
    async fn labels(&self) -> Result<Vec<Label>> {
        self.readers.ask(labels).await
    }

    async fn pack(&self, label: &Label) -> Result<Option<Parcel>> {
        let label = label.clone();
        self.readers.ask(move |connection| pack(connection, label)).await
    }

    async fn unpack(&self, parcel: Parcel) -> Result<()> {
        self.writer()?.run(Box::new(move |connection| unpack(connection, &parcel).map(|()| 0))).await.map(drop)
    }
}

fn labels(connection: &Connection) -> Result<Vec<Label>, Fault> {
    let mut owners = connection.prepare("SELECT DISTINCT tenant FROM record WHERE session = x'' ORDER BY tenant")?;
    let owner =
        owners.query_map([], |row| Ok(Label { tenant: Tenant::new(&row.get::<_, String>(0)?), session: None }))?;
    let mut labels: Vec<Label> = owner.collect::<rusqlite::Result<_>>()?;
    // Records need no log, so that a session may have none.
    let sql = "SELECT tenant, id, no FROM session UNION ALL
               SELECT DISTINCT tenant, session, 9223372036854775807 FROM record r WHERE session <> x''
               AND NOT EXISTS (SELECT 1 FROM session s WHERE s.tenant = r.tenant AND s.id = r.session) ORDER BY 3, 1, 2";
    let mut sessions = connection.prepare(sql)?;
    let session = sessions.query_map([], |row| {
        let tenant = Tenant::new(&row.get::<_, String>(0)?);
        Ok(Label { tenant, session: Some(SessionId(Hash128(row.get(1)?))) })
    })?;
    labels.extend(session.collect::<rusqlite::Result<Vec<_>>>()?);
    Ok(labels)
}

fn pack(connection: &Connection, label: Label) -> Result<Option<Parcel>, Fault> {
    let snapshot = connection.unchecked_transaction()?;
    let (records, left_behind) = records(&snapshot, &label)?;
    let (mut head, mut messages, mut branches, mut aliases) = Default::default();
    if let Some(id) = label.session {
        let key = SessionKey { tenant: label.tenant.clone(), id };
        if let Some(no) = session_no(&snapshot, &key)? {
            head = Some(read_head(&snapshot, &key)?);
            messages = read_messages(&snapshot, no)?;
            let mut forks = snapshot.prepare_cached("SELECT no, fork FROM branch WHERE session = ?1 ORDER BY no")?;
            let fork = forks.query_map([no], |row| Ok((row.get(0)?, row.get(1)?)))?;
            branches = fork.collect::<rusqlite::Result<Vec<(u32, Option<u32>)>>>()?;
        }
        aliases = read_aliases(&snapshot, &key)?;
    }
    let parcel = Parcel { label, head, messages, branches, aliases, records, left_behind }.sorted();
    Ok((!parcel.is_empty()).then_some(parcel))
}

fn read_head(connection: &Connection, key: &SessionKey) -> Result<Head, Fault> {
    let sql = "SELECT declared, title, born, seal FROM session WHERE tenant = ?1 AND id = ?2";
    let (declared, title, born, seal): (Option<String>, Option<String>, i64, i64) =
        connection.prepare_cached(sql)?.query_row(params![key.tenant.as_str(), key.id.0.0], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    if session_seal(key.tenant.as_str(), key.id, declared.as_deref(), title.as_deref(), At(born)) != seal {
        return Err(Error::Damaged(format!("the row of session {} is not what was written", key.id)).into());
    }
    Ok(Head { declared, title, born: At(born) })
}

fn read_messages(connection: &Connection, no: i64) -> Result<Vec<rows::MessageRow>, Fault> {
    let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([key_of(no, MessageId(0)), key_of(no, MessageId(u32::MAX))])?;
    let mut messages = Vec::new();
    while let Some(row) = found.next()? {
        messages.push(rows::read(row)?);
    }
    Ok(messages)
}

fn read_aliases(connection: &Connection, key: &SessionKey) -> Result<Vec<Alias>, Fault> {
    let sql = "SELECT depth, node, to_session, to_depth, to_node FROM alias WHERE tenant = ?1 AND session = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let alias = statement.query_map(params![key.tenant.as_str(), key.id.0.0], |row| {
        let from = NodeRef { depth: Depth(row.get(0)?), node: NodeId(Hash128(row.get(1)?)) };
        let to = NodeRef { depth: Depth(row.get(3)?), node: NodeId(Hash128(row.get(4)?)) };
        Ok(Alias { session: key.id, from, to_session: SessionId(Hash128(row.get(2)?)), to })
    })?;
    Ok(alias.collect::<rusqlite::Result<_>>()?)
}

/// The session part of a record's key.
fn session_bytes(label: &Label) -> Vec<u8> {
    label.session.map_or_else(Vec::new, |id| id.0.0.to_vec())
}

/// The records, and in words which are damaged.
fn records(connection: &Connection, label: &Label) -> Result<Sorted, Fault> {
    let sql = "SELECT key, version, at, body, seal, kind FROM record WHERE tenant = ?1 AND session = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params![label.tenant.as_str(), session_bytes(label)])?;
    let (mut records, mut damaged) = (Vec::new(), Vec::new());
    while let Some(row) = found.next()? {
        let kind: String = row.get(5)?;
        match rows::record(&kind, row) {
            Ok(record) => records.push((kind, record)),
            Err(error) => damaged.push(error.to_string()),
        }
    }
    Ok((records, damaged))
}

fn unpack(connection: &mut Connection, parcel: &Parcel) -> Result<(), Fault> {
    let transaction = connection.transaction()?;
    if let (Some(head), Some(id)) = (&parcel.head, parcel.label.session) {
        let key = SessionKey { tenant: parcel.label.tenant.clone(), id };
        if session_no(&transaction, &key)?.is_some() {
            return Err(Error::Conflict(format!("the session {id}")).into());
        }
        let no = write_head(&transaction, &key, head, parcel.minute())?;
        for row in &parcel.messages {
            rows::insert(&transaction, no, row)?;
        }
        for (branch, fork) in &parcel.branches {
            transaction
                .prepare_cached("INSERT INTO branch (session, no, fork) VALUES (?1, ?2, ?3)")?
                .execute(params![no, branch, fork])?;
        }
        if !parcel.messages.is_empty() {
            words::mark_unindexed(&transaction, no, MessageId(0))?;
        }
    }
    for alias in &parcel.aliases {
        super::append::put_alias(&transaction, parcel.label.tenant.as_str(), alias)?;
    }
    for (kind, record) in &parcel.records {
        write_record(&transaction, &parcel.label, kind, record)?;
    }
    transaction.commit()?;
    Ok(())
}

fn write_head(connection: &Connection, key: &SessionKey, head: &Head, minute: i64) -> Result<i64, Fault> {
    let Head { declared, title, born } = head;
    let seal = session_seal(key.tenant.as_str(), key.id, declared.as_deref(), title.as_deref(), *born);
    connection
        .prepare_cached(
            "INSERT INTO session (tenant, id, declared, title, born, seal, minute) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![key.tenant.as_str(), key.id.0.0, declared, title, born.0, seal, minute])?;
    Ok(connection.last_insert_rowid())
}

/// Writes a record where there is none; the same one may be there.
fn write_record(connection: &Connection, label: &Label, kind: &str, record: &Record) -> Result<(), Fault> {
    let seal = record_seal(kind, record);
    let known: Option<i64> = connection
        .prepare_cached("SELECT seal FROM record WHERE tenant = ?1 AND session = ?2 AND kind = ?3 AND key = ?4")?
        .query_row(params![label.tenant.as_str(), session_bytes(label), kind, record.key], |row| row.get(0))
        .optional()?;
    match known {
        Some(known) if known == seal => return Ok(()),
        Some(_) => return Err(Error::Conflict(format!("the {kind} “{}”", record.key)).into()),
        None => {}
    }
    let (tenant, session) = (label.tenant.as_str(), session_bytes(label));
    connection.prepare_cached("INSERT INTO record VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(params![
        tenant,
        session,
        kind,
        record.key,
        record.version,
        record.at.0,
        record.body.get(),
        seal
    ])?;
    Ok(())
}
