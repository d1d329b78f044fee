//! The statements that write what was decided: messages, the branch they begin, their terms, aliases and records.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use futures_util::future::{try_join, try_join3};
use tokio_postgres::types::ToSql;

use super::append::{Address, Opened, address};
use super::pieces::pieces;
use super::plan::Plan;
use super::rows::{escaped, number, seal, unescaped};
use super::trouble::Fault;
use super::words;
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, MessageId, SessionKey, Tenant};
use crate::store::row::{MessageRow, record_seal, session_seal};
use crate::store::{Alias, Batch, Put, Record};

/// Writes what is new in a session's log.
pub(super) async fn messages(
    transaction: &Transaction<'_>,
    batch: &Batch,
    opened: &Opened,
    plan: &Plan,
) -> Result<(), Fault> {
    let session = &batch.session;
    let told = async {
        for piece in pieces(&plan.rows, |(row, _)| row.raw.len()) {
            let rows: Vec<&MessageRow> = piece.iter().map(|(row, _)| row).collect();
            let indexed = words::insert(transaction, session, opened, piece);
            try_join(insert(transaction, session, &rows), indexed).await?;
        }
        Ok(())
    };
    try_join3(told, begun(transaction, session, plan), grow(transaction, batch, opened, plan)).await?;
    Ok(())
}

pub(super) async fn insert(
    transaction: &Transaction<'_>,
    session: &SessionKey,
    rows: &[&MessageRow],
) -> Result<(), Fault> {
    if rows.is_empty() {
        return Ok(());
    }
    let statement = transaction
        .prepare_cached(
            "INSERT INTO message (tenant, session, no, depth, branch, parent, at, seal, tokens, unspaced, origin, vocabulary,
                                  node, role, raw)
             SELECT $1, $2, * FROM unnest($3::int[], $4::int[], $5::int[], $6::int[], $7::bigint[], $8::bigint[],
                $9::int[], $10::int[], $11::smallint[], $12::smallint[], $13::bytea[], $14::text[], $15::text[])",
        )
        .await?;
    let numbers = |of: fn(&MessageRow) -> u32| rows.iter().map(|row| number(of(row))).collect::<Result<Vec<i32>>>();
    let small = |of: fn(&MessageRow) -> i64| -> Vec<i16> {
        rows.iter().map(|row| i16::try_from(of(row)).expect("codes are small")).collect()
    };
    let depths = rows.iter().map(|row| i32::try_from(row.depth)).collect::<Result<Vec<i32>, _>>();
    let depths = depths.map_err(|_| Error::TooLarge("a path this long cannot be kept".into()))?;
    let parents = rows.iter().map(|row| row.parent.map(number).transpose()).collect::<Result<Vec<Option<i32>>>>()?;
    let (numbered, branches) = (numbers(|row| row.id.0)?, numbers(|row| row.branch)?);
    let (tokens, unspaced) = (numbers(|row| row.tokens)?, numbers(|row| row.unspaced)?);
    let (origins, vocabularies) = (small(|row| row.origin), small(|row| row.vocabulary));
    let times: Vec<i64> = rows.iter().map(|row| row.at).collect();
    let seals: Vec<i64> = rows.iter().map(|row| seal(session, row)).collect();
    let nodes: Vec<&[u8]> = rows.iter().map(|row| row.node.0.as_slice()).collect();
    let roles: Vec<_> = rows.iter().map(|row| escaped(&row.role)).collect();
    let raws: Vec<&str> = rows.iter().map(|row| row.raw.as_str()).collect();
    let (tenant, id) = (escaped(session.tenant.as_str()), session.id.0.0.as_slice());
    let values: [&(dyn ToSql + Sync); 15] = [
        &tenant,
        &id,
        &numbered,
        &depths,
        &branches,
        &parents,
        &times,
        &seals,
        &tokens,
        &unspaced,
        &origins,
        &vocabularies,
        &nodes,
        &roles,
        &raws,
    ];
    transaction.execute(&statement, &values).await?;
    Ok(())
}

/// Writes a row that is there anew.
pub(super) async fn replace(
    transaction: &Transaction<'_>,
    session: &SessionKey,
    row: &MessageRow,
) -> Result<(), Fault> {
    let statement = transaction
        .prepare_cached(
            "UPDATE message SET parent = $4, role = $5, origin = $6, at = $7, vocabulary = $8, tokens = $9, unspaced = $10,
                                raw = $11, seal = $12
             WHERE tenant = $1 AND session = $2 AND no = $3",
        )
        .await?;
    let small = |code: i64| i16::try_from(code).expect("codes are small");
    let (tenant, id, no) = (escaped(session.tenant.as_str()), session.id.0.0.as_slice(), number(row.id.0)?);
    let (parent, role, origin) = (row.parent.map(number).transpose()?, escaped(&row.role), small(row.origin));
    let (tokens, unspaced, vocabulary) = (number(row.tokens)?, number(row.unspaced)?, small(row.vocabulary));
    let values: [&(dyn ToSql + Sync); 12] = [
        &tenant,
        &id,
        &no,
        &parent,
        &role,
        &origin,
        &row.at,
        &vocabulary,
        &tokens,
        &unspaced,
        &row.raw,
        &seal(session, row),
    ];
    transaction.execute(&statement, &values).await?;
    Ok(())
}

async fn begun(transaction: &Transaction<'_>, session: &SessionKey, plan: &Plan) -> Result<(), Fault> {
    match plan.fork {
        Some((branch, left)) => fork(transaction, session, branch, left).await,
        None => Ok(()),
    }
}

/// Notes a branch that begins, and the message that it leaves another branch at.
pub(super) async fn fork(
    transaction: &Transaction<'_>,
    session: &SessionKey,
    branch: BranchId,
    left: Option<MessageId>,
) -> Result<(), Fault> {
    let statement =
        transaction.prepare_cached("INSERT INTO branch (tenant, session, no, fork) VALUES ($1, $2, $3, $4)").await?;
    let (no, fork) = (number(branch.0)?, left.map_or(Ok(-1), |left| number(left.0))?);
    let tenant = escaped(session.tenant.as_str());
    transaction.execute(&statement, &[&tenant, &session.id.0.0.as_slice(), &no, &fork]).await?;
    Ok(())
}

/// Notes in the session's row how much there is now, when something was said last, and a title that came.
async fn grow(transaction: &Transaction<'_>, batch: &Batch, opened: &Opened, plan: &Plan) -> Result<(), Fault> {
    let key = &batch.session;
    let title = batch.title.as_deref().or(opened.title.as_deref());
    if plan.rows.is_empty() && title == opened.title.as_deref() {
        return Ok(());
    }
    let statement = transaction
        .prepare_cached(
            "UPDATE session SET messages = $3, branches = $4, minute = greatest(minute, $5), title = $6, seal = $7
             WHERE tenant = $1 AND session = $2",
        )
        .await?;
    let said = if plan.rows.is_empty() { None } else { drafts(batch).map(At::minute).max() };
    let seal = session_seal(key.tenant.as_str(), key.id, opened.declared.as_deref(), title, opened.born);
    let branches = opened.branches.0 + u32::from(plan.fork.is_some());
    let (messages, branches) = (number(plan.next.0)?, number(branches)?);
    let (tenant, title) = (escaped(key.tenant.as_str()), title.map(escaped));
    let (id, minute) = (key.id.0.0.as_slice(), said.unwrap_or_default());
    let values: [&(dyn ToSql + Sync); 7] = [&tenant, &id, &messages, &branches, &minute, &title, &seal];
    transaction.execute(&statement, &values).await?;
    Ok(())
}

/// Gives a session that is there a title, unless it has that one.
pub(super) async fn entitle(transaction: &Transaction<'_>, key: &SessionKey, title: &str) -> Result<(), Fault> {
    let sql = "SELECT declared, born FROM session
               WHERE tenant = $1 AND session = $2 AND title IS DISTINCT FROM $3 FOR UPDATE";
    let statement = transaction.prepare_cached(sql).await?;
    let (tenant, id, escaped_title) = (escaped(key.tenant.as_str()), key.id.0.0.as_slice(), escaped(title));
    let Some(row) = transaction.query_opt(&statement, &[&tenant, &id, &escaped_title]).await? else { return Ok(()) };
    let declared = row.try_get::<_, Option<String>>(0)?.map(unescaped);
    let seal = session_seal(key.tenant.as_str(), key.id, declared.as_deref(), Some(title), At(row.try_get(1)?));
    let sql = "UPDATE session SET title = $3, seal = $4 WHERE tenant = $1 AND session = $2";
    transaction.execute(sql, &[&tenant, &id, &escaped_title, &seal]).await?;
    Ok(())
}

/// When the messages of a batch were said.
fn drafts(batch: &Batch) -> impl Iterator<Item = At> {
    batch.path.iter().chain(batch.beside.iter().map(|sidelong| &sidelong.draft)).map(|draft| draft.at)
}

/// Writes other names of places.
pub(super) async fn aliases(transaction: &Transaction<'_>, tenant: &Tenant, aliases: &[Alias]) -> Result<(), Fault> {
    // One statement must not write a row twice; the last one counts.
    let last: BTreeMap<_, &Alias> =
        aliases.iter().map(|alias| ((alias.session, alias.from.depth, alias.from.node), alias)).collect();
    if last.is_empty() {
        return Ok(());
    }
    let statement = transaction
        .prepare_cached(
            "INSERT INTO alias (tenant, session, depth, node, to_session, to_depth, to_node)
             SELECT $1, * FROM unnest($2::bytea[], $3::int[], $4::bytea[], $5::bytea[], $6::int[], $7::bytea[])
             ON CONFLICT (tenant, session, depth, node) DO UPDATE
             SET to_session = excluded.to_session, to_depth = excluded.to_depth, to_node = excluded.to_node",
        )
        .await?;
    let all: Vec<&Alias> = last.into_values().collect();
    let bytes = |of: fn(&Alias) -> &[u8]| all.iter().map(|alias| of(alias)).collect::<Vec<&[u8]>>();
    let depths = |of: fn(&Alias) -> u32| all.iter().map(|alias| number(of(alias))).collect::<Result<Vec<i32>>>();
    let (sessions, nodes) = (bytes(|alias| &alias.session.0.0), bytes(|alias| &alias.from.node.0.0));
    let (to_sessions, to_nodes) = (bytes(|alias| &alias.to_session.0.0), bytes(|alias| &alias.to.node.0.0));
    let (from, to) = (depths(|alias| alias.from.depth.0)?, depths(|alias| alias.to.depth.0)?);
    let tenant = escaped(tenant.as_str());
    let values: [&(dyn ToSql + Sync); 7] = [&tenant, &sessions, &from, &nodes, &to_sessions, &to, &to_nodes];
    transaction.execute(&statement, &values).await?;
    Ok(())
}

/// Records as they are to be written, in one order for all writers.
pub(super) struct Records(BTreeMap<Address, Record>);

impl Records {
    /// What becomes of records at these versions, by their numbers in the batch; or whoever was there first.
    pub(super) fn of(puts: &[Put], versions: &BTreeMap<usize, u64>) -> Result<Self> {
        let mut records = BTreeMap::new();
        for (i, put) in puts.iter().enumerate() {
            let before = versions.get(&i).copied().unwrap_or(0);
            if !put.expect.allows(before) {
                return Err(Error::Conflict(format!("the {} “{}”", put.kind.as_str(), put.key)));
            }
            let record = Record { key: put.key.clone(), version: before + 1, at: put.at, body: put.body.clone() };
            records.insert(address(put), record);
        }
        Ok(Self(records))
    }

    /// Writes them. A record that came into being meanwhile was not locked: then all is tried again.
    pub(super) async fn write(&self, transaction: &Transaction<'_>) -> Result<(), Fault> {
        if self.0.is_empty() {
            return Ok(());
        }
        let statement = transaction
            .prepare_cached(
                "INSERT INTO record AS r (tenant, session, kind, key, version, at, body, seal)
                 SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
                                      $7::text[], $8::bigint[])
                 ON CONFLICT (tenant, session, kind, key) DO UPDATE
                 SET version = excluded.version, at = excluded.at, body = excluded.body, seal = excluded.seal
                 WHERE r.version = excluded.version - 1",
            )
            .await?;
        let tenants: Vec<&str> = self.0.keys().map(|key| key.0.as_str()).collect();
        let sessions: Vec<&[u8]> = self.0.keys().map(|key| key.1.as_slice()).collect();
        let kinds: Vec<&str> = self.0.keys().map(|key| key.2).collect();
        let keys: Vec<&str> = self.0.keys().map(|key| key.3.as_str()).collect();
        let versions: Vec<i64> = self.0.values().map(|record| record.version.cast_signed()).collect();
        let times: Vec<i64> = self.0.values().map(|record| record.at.0).collect();
        let bodies: Vec<&str> = self.0.values().map(|record| record.body.get()).collect();
        let seals: Vec<i64> = self.0.iter().map(|(key, record)| record_seal(key.2, record)).collect();
        let values: [&(dyn ToSql + Sync); 8] = [&tenants, &sessions, &kinds, &keys, &versions, &times, &bodies, &seals];
        let written = transaction.execute(&statement, &values).await?;
        if written == self.0.len() as u64 { Ok(()) } else { Err(Fault::Overtaken) }
    }
}
