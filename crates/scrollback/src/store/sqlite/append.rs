//! Writing one batch inside a transaction that somebody else begins and commits.

use rusqlite::{Connection, OptionalExtension, params};

use super::query::{on_branch, position_at, session_no};
use super::rows::{MESSAGE, MessageRow, depth_beside, insert, key_of, read, record_seal, session_seal};
use super::trouble::Fault;
use super::words;
use crate::error::Error;
use crate::ids::{At, BranchId, Depth, MessageId, SessionKey};
use crate::store::{Alias, Batch, Beside, Branching, Committed, Draft, Place, Position, Put, Record, Sidelong, unkept};

/// What a batch changed, for the writer's own book-keeping.
pub(super) struct Applied {
    pub(super) committed: Committed,
    /// The session that now has messages to be indexed, and the number of the first.
    pub(super) unindexed: Option<(i64, MessageId)>,
}

/// Applies a batch. On an error the caller rolls back to where it began.
pub(super) fn apply(connection: &Connection, batch: &Batch) -> Result<Applied, Fault> {
    let mut applied = Applied { committed: Committed::default(), unindexed: None };
    if batch.grows() {
        let session = open_session(connection, batch)?;
        let first = next_id(connection, session)?;
        let mut next = first;
        append_all(connection, session, batch, &mut next, &mut applied.committed)?;
        applied.committed.added = (next.0 - first.0) as usize;
        applied.unindexed = (next > first).then_some((session, first));
        if next > first {
            touch(connection, session, batch)?;
        }
    } else if let Some(title) = &batch.title
        && let Some(no) = session_no(connection, &batch.session)?
    {
        entitle(connection, no, &batch.session, title)?;
    }
    for alias in &batch.aliases {
        put_alias(connection, batch.session.tenant.as_str(), alias)?;
    }
    for session in batch.needs() {
        session_no(connection, session)?.ok_or_else(|| unkept(session))?;
    }
    for put in &batch.records {
        put_record(connection, put)?;
    }
    Ok(applied)
}

/// The session's number; the session begins to exist if need be.
fn open_session(connection: &Connection, batch: &Batch) -> Result<i64, Fault> {
    if let Some(no) = session_no(connection, &batch.session)? {
        if let Some(title) = &batch.title {
            entitle(connection, no, &batch.session, title)?;
        }
        return Ok(no);
    }
    let key = &batch.session;
    let born = batch
        .path
        .first()
        .or(batch.beside.first().map(|sidelong| &sidelong.draft))
        .map(|draft| draft.at)
        .unwrap_or_default();
    let seal = session_seal(key.tenant.as_str(), key.id, batch.declared.as_deref(), batch.title.as_deref(), born);
    connection
        .prepare_cached(
            "INSERT INTO session (tenant, id, declared, title, born, seal) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![key.tenant.as_str(), key.id.0.0, batch.declared, batch.title, born.0, seal])?;
    Ok(connection.last_insert_rowid())
}

/// Gives a session a title, unless it has that one.
fn entitle(connection: &Connection, no: i64, key: &SessionKey, title: &str) -> Result<(), Fault> {
    let untitled: Option<(Option<String>, i64)> = connection
        .prepare_cached("SELECT declared, born FROM session WHERE no = ?1 AND title IS NOT ?2")?
        .query_row(params![no, title], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((declared, born)) = untitled {
        let seal = session_seal(key.tenant.as_str(), key.id, declared.as_deref(), Some(title), At(born));
        connection
            .prepare_cached("UPDATE session SET title = ?2, seal = ?3 WHERE no = ?1")?
            .execute(params![no, title, seal])?;
    }
    Ok(())
}

/// Notes when something was said last; most messages come within a minute of others and write nothing here.
fn touch(connection: &Connection, session: i64, batch: &Batch) -> Result<(), Fault> {
    let said =
        batch.path.iter().chain(batch.beside.iter().map(|sidelong| &sidelong.draft)).map(|draft| draft.at.minute());
    connection
        .prepare_cached("UPDATE session SET minute = ?2 WHERE no = ?1 AND minute < ?2")?
        .execute(params![session, said.max().unwrap_or_default()])?;
    Ok(())
}

fn next_id(connection: &Connection, session: i64) -> Result<MessageId, Fault> {
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(id) FROM message WHERE id BETWEEN ?1 AND ?2")?
        .query_row(params![key_of(session, MessageId(0)), key_of(session, MessageId(u32::MAX))], |row| row.get(0))?;
    Ok(last.map_or(MessageId(0), |key| MessageId(super::rows::id_of(key).0 + 1)))
}

/// Writes the messages of a batch in the order they were said.
fn append_all(
    connection: &Connection,
    session: i64,
    batch: &Batch,
    next: &mut MessageId,
    committed: &mut Committed,
) -> Result<(), Fault> {
    let mut parent = match batch.after {
        None => None,
        Some(after) => Some(position_at(connection, session, after)?.ok_or_else(|| {
            Error::NotFound("the message to continue from is not in the log; send the whole history again".into())
        })?),
    };
    let mut fresh_parent = false;
    let mut beside = batch.beside.iter().peekable();
    for (i, draft) in batch.path.iter().enumerate() {
        let depth = parent.map_or(Depth(0), |parent| parent.depth.plus(1));
        let at = crate::store::NodeRef { depth, node: draft.node };
        // Below a node that was just written nothing can be known.
        let known = if fresh_parent { None } else { position_at(connection, session, at)? };
        let follows = parent.filter(|_| known.is_none()).map(|parent| parent.id);
        while let Some(sidelong) = beside.next_if(|sidelong| sidelong.before <= i) {
            append_beside(connection, session, sidelong, follows, (next, committed))?;
        }
        let position = if let Some(known) = known {
            let row = || MessageRow::new(known.id, parent.map(|parent| parent.id), Place::Path(known), draft);
            committed.mended += mend(connection, session, known.id, draft, row)?;
            known
        } else {
            let branch = match parent {
                Some(parent) if fresh_parent => parent.branch,
                parent => branch_for(connection, session, parent, batch.branching)?,
            };
            let position = Position { id: *next, branch, depth, node: draft.node };
            let row = MessageRow::new(*next, parent.map(|parent| parent.id), Place::Path(position), draft);
            insert(connection, session, &row)?;
            next.0 += 1;
            fresh_parent = true;
            position
        };
        committed.path.push(position);
        parent = Some(position);
    }
    for sidelong in beside {
        append_beside(connection, session, sidelong, None, (next, committed))?;
    }
    Ok(())
}

/// Writes the row of a known message anew if it is damaged: what arrived is what it said. How many were.
fn mend(
    connection: &Connection,
    session: i64,
    id: MessageId,
    draft: &Draft,
    row: impl Fn() -> MessageRow,
) -> Result<usize, Fault> {
    let key = key_of(session, id);
    let wants_mending = connection
        .prepare_cached(&format!("SELECT {MESSAGE} FROM message m WHERE m.id = ?1"))?
        .query_row([key], |row| Ok(read(row).is_ok_and(|row| row.wants_mending())))?;
    if !wants_mending {
        return Ok(0);
    }
    super::rows::replace(connection, key, &row())?;
    words::index_anew(connection, key, &draft.message)?;
    Ok(1)
}

/// The parent's branch if the parent is its head; otherwise a new one.
fn branch_for(
    connection: &Connection,
    session: i64,
    parent: Option<Position>,
    branching: Branching,
) -> Result<BranchId, Fault> {
    if let Some(parent) = parent {
        // Where one branch leaves, the message goes on in its own already.
        let left: bool = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM branch WHERE session = ?1 AND fork = ?2)")?
            .query_row(params![session, parent.id.0], |row| row.get(0))?;
        if !left && on_branch(connection, session, parent.branch, parent.depth.plus(1))?.is_none() {
            return Ok(parent.branch);
        }
    }
    let no: u32 = connection
        .prepare_cached("SELECT ifnull(max(no) + 1, 0) FROM branch WHERE session = ?1")?
        .query_row([session], |row| row.get(0))?;
    branching.allow(no > 0)?;
    connection.prepare_cached("INSERT INTO branch (session, no, fork) VALUES (?1, ?2, ?3)")?.execute(params![
        session,
        no,
        parent.map(|parent| parent.id.0)
    ])?;
    Ok(BranchId(no))
}

fn append_beside(
    connection: &Connection,
    session: i64,
    sidelong: &Sidelong,
    follows: Option<MessageId>,
    (next, committed): (&mut MessageId, &mut Committed),
) -> Result<(), Fault> {
    let Sidelong { why, draft, .. } = sidelong;
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM message WHERE session = ?1 AND depth = ?2 AND node = ?3")?
        .query_row(params![session, depth_beside(*why), draft.node.0.0], |row| row.get(0))
        .optional()?;
    let id = known.map_or(*next, super::rows::id_of);
    let follows = follows.filter(|_| *why == Beside::Aside);
    let row = || MessageRow::new(id, follows, Place::Beside(*why), draft);
    if known.is_some() {
        committed.mended += mend(connection, session, id, draft, row)?;
    } else {
        insert(connection, session, &row())?;
        next.0 += 1;
    }
    committed.beside.push(id);
    Ok(())
}

pub(super) fn put_alias(connection: &Connection, tenant: &str, alias: &Alias) -> Result<(), Fault> {
    connection.prepare_cached("INSERT OR REPLACE INTO alias VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(params![
        tenant,
        alias.session.0.0,
        alias.from.depth.0,
        alias.from.node.0.0,
        alias.to_session.0.0,
        alias.to.depth.0,
        alias.to.node.0.0
    ])?;
    Ok(())
}

fn put_record(connection: &Connection, put: &Put) -> Result<(), Fault> {
    let (tenant, session, kind) = (put.scope.tenant().as_str(), put.scope.session_bytes(), put.kind.as_str());
    let before = connection
        .prepare_cached(
            "SELECT key, version, at, body, seal FROM record
             WHERE tenant = ?1 AND session = ?2 AND kind = ?3 AND key = ?4",
        )?
        .query_row(params![tenant, session, kind, put.key], |row| Ok(super::rows::record(kind, row)))
        .optional()?;
    // One that is damaged stands in nobody's way: nobody could read it.
    let before = before.and_then(Result::ok).map_or(0, |record| record.version);
    if !put.expect.allows(before) {
        return Err(Error::Conflict(format!("the {kind} “{}”", put.key)).into());
    }
    let record = Record { key: put.key.clone(), version: before + 1, at: put.at, body: put.body.clone() };
    let seal = record_seal(kind, &record);
    connection
        .prepare_cached("INSERT OR REPLACE INTO record VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
        .execute(params![tenant, session, kind, record.key, record.version, record.at.0, record.body.get(), seal])?;
    Ok(())
}
