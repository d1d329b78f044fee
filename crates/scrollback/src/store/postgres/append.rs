//! Writing one batch in one short transaction. Whoever writes to a session holds the lock of its row until it commits.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::{ClientWrapper, Transaction};
use tokio_postgres::Row;

use super::forget::drop_record;
use super::rows::{self, MESSAGE, PLACE, escaped, number, unescaped};
use super::trouble::Fault;
use super::{plan, words, write};
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, MessageId, SessionKey};
use crate::message::Message;
use crate::store::row::{MessageRow, session_seal};
use crate::store::{Batch, Committed, Position, Put, Stint, unkept};
use plan::{Known, Plan};

/// A session's row, which is locked.
pub(super) struct Opened {
    pub(super) declared: Option<String>,
    pub(super) title: Option<String>,
    pub(super) born: At,
    /// When it came into being, by the database's clock.
    pub(super) arrived: i64,
    /// How many messages it has.
    pub(super) messages: MessageId,
    /// How many branches.
    pub(super) branches: BranchId,
    pub(super) stint: Stint,
}

/// Writes a batch.
pub(super) async fn commit(client: &mut ClientWrapper, batch: &Batch, writer: i64) -> Result<Committed, Fault> {
    let transaction = client.transaction().await?;
    let committed = apply(&transaction, batch, writer).await?;
    transaction
        .commit()
        .await
        .map_err(|cause| if cause.code().is_none() { Fault::Unsure(cause) } else { cause.into() })?;
    Ok(committed)
}

async fn apply(transaction: &Transaction<'_>, batch: &Batch, writer: i64) -> Result<Committed, Fault> {
    if let Some(title) = batch.title.as_deref().filter(|_| !batch.grows()) {
        write::entitle(transaction, &batch.session, title).await?;
    }
    let (opened, told) = open_all(transaction, batch, writer).await?;
    let versions = versions(transaction, &batch.records);
    let (versions, plan) = match &opened {
        None => (versions.await?, None),
        Some(opened) => {
            let (versions, plan) =
                futures_util::future::try_join(versions, planned(transaction, batch, opened)).await?;
            (versions, Some((opened, plan)))
        }
    };
    let records = write::Records::of(&batch.records, &versions)?;
    let messages = async {
        match &plan {
            Some((opened, plan)) => write::messages(transaction, batch, opened, plan).await,
            None => Ok(()),
        }
    };
    let aliases = write::aliases(transaction, &batch.session.tenant, &batch.aliases);
    futures_util::future::try_join3(messages, aliases, records.write(transaction)).await?;
    let committed = plan.map(|(_, plan)| plan.committed).unwrap_or_default();
    Ok(Committed { stint: told.stint, arrived: told.arrived, ..committed })
}

/// What the row of a session tells of it.
#[derive(Clone, Copy)]
pub(super) struct Told {
    stint: Stint,
    arrived: i64,
}

impl Told {
    /// Of a session that is not there.
    const NOTHING: Self = Self { stint: Stint::Unknown, arrived: 0 };
}

/// Locks every session that a batch changes, in one order for all writers. Returns the row of the session whose log
/// grows, and what that of the batch's session tells.
async fn open_all(transaction: &Transaction<'_>, batch: &Batch, writer: i64) -> Result<(Option<Opened>, Told), Fault> {
    let (needed, grows) = (batch.needs(), batch.grows());
    let mut changed: BTreeSet<&SessionKey> = batch.records.iter().filter_map(|put| put.scope.session()).collect();
    if grows || !batch.aliases.is_empty() {
        changed.insert(&batch.session);
    }
    let (mut own, mut told) = (None, Told::NOTHING);
    for session in changed {
        if grows && *session == batch.session {
            let opened = open(transaction, batch, writer).await?;
            told = Told { stint: opened.stint, arrived: opened.arrived };
            own = Some(opened);
        } else {
            let touched = touch(transaction, session, writer).await?;
            if touched.stint == Stint::Unknown && needed.contains(session) {
                return Err(unkept(session).into());
            }
            told = if *session == batch.session { touched } else { told };
        }
    }
    Ok((own, told))
}

/// How a session's row notes that it was changed: once more, by whom, and since when by nobody else.
const CHANGED: &str = "version = s.version + 1, writer = $3,
    stint = CASE WHEN s.writer = $3 THEN s.stint ELSE s.version + 1 END";

/// Locks the row of a session whose records or aliases change, if there is one.
pub(super) async fn touch(transaction: &Transaction<'_>, session: &SessionKey, writer: i64) -> Result<Told, Fault> {
    let sql =
        format!("UPDATE session s SET {CHANGED} WHERE s.tenant = $1 AND s.session = $2 RETURNING s.stint, s.arrived");
    let statement = transaction.prepare_cached(&sql).await?;
    let tenant = escaped(session.tenant.as_str());
    let row = transaction.query_opt(&statement, &[&tenant, &session.id.0.0.as_slice(), &writer]).await?;
    row.map_or(Ok(Told::NOTHING), |row| Ok(Told { stint: since(&row, 0)?, arrived: row.try_get(1)? }))
}

/// The unbroken run of changes that a row tells of.
fn since(row: &Row, column: usize) -> Result<Stint, Fault> {
    Ok(Stint::Since(row.try_get::<_, i64>(column)?.unsigned_abs()))
}

/// The database's clock in µs. Versions begin with it, so that those of a session that was erased never come back.
const NOW: &str = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint";

/// Locks the row of the session whose log grows; the session begins to exist if need be.
async fn open(transaction: &Transaction<'_>, batch: &Batch, writer: i64) -> Result<Opened, Fault> {
    let sql = format!(
        "INSERT INTO session AS s (tenant, session, writer, declared, title, born, seal,
                                   arrived, minute, messages, branches, version, stint)
         VALUES ($1, $2, $3, $4, $5, $6, $7, {NOW}, 0, 0, 0, {NOW}, {NOW})
         ON CONFLICT (tenant, session) DO UPDATE SET {CHANGED}
         RETURNING declared, title, born, arrived, messages, branches, stint"
    );
    let key = &batch.session;
    let first = batch.path.first().or(batch.beside.first().map(|sidelong| &sidelong.draft));
    let born = first.map(|draft| draft.at).unwrap_or_default();
    let seal = session_seal(key.tenant.as_str(), key.id, batch.declared.as_deref(), batch.title.as_deref(), born);
    let [declared, title] = [&batch.declared, &batch.title].map(|name| name.as_deref().map(escaped));
    let statement = transaction.prepare_cached(&sql).await?;
    let id = key.id.0.0.as_slice();
    let tenant = escaped(key.tenant.as_str());
    let row = transaction.query_one(&statement, &[&tenant, &id, &writer, &declared, &title, &born.0, &seal]).await?;
    let name = |column: usize| row.try_get::<_, Option<String>>(column).map(|name| name.map(unescaped));
    Ok(Opened {
        declared: name(0)?,
        title: name(1)?,
        born: At(row.try_get(2)?),
        arrived: row.try_get(3)?,
        messages: MessageId(row.try_get::<_, i32>(4)?.unsigned_abs()),
        branches: BranchId(row.try_get::<_, i32>(5)?.unsigned_abs()),
        stint: since(&row, 6)?,
    })
}

/// What is known of a batch's messages, and so what is to be written.
async fn planned(transaction: &Transaction<'_>, batch: &Batch, opened: &Opened) -> Result<Plan, Fault> {
    let known = if opened.messages == MessageId(0) {
        Known::default()
    } else {
        let ends = batch.after.into_iter().map(|after| (i64::from(after.depth.0), after.node.0));
        let places: Vec<plan::Spot> = ends.chain(plan::places(batch)).collect();
        find(transaction, &batch.session, &places).await?
    };
    let start = plan::Start::of(batch, &known)?;
    let continues = match start.fresh_after() {
        Some(parent) => ends_branch(transaction, &batch.session, parent).await?,
        None => false,
    };
    let mut plan = start.plan(batch, opened, continues);
    batch.branching.allow(plan.fork.is_some() && opened.branches > BranchId(0))?;
    plan.committed.mended = mend(transaction, &batch.session, opened, &plan.known).await?;
    Ok(plan)
}

/// Writes the rows of known messages anew that are damaged: what arrived is what they said. Returns how many were.
async fn mend(
    transaction: &Transaction<'_>,
    session: &SessionKey,
    opened: &Opened,
    known: &[(MessageRow, Message)],
) -> Result<usize, Fault> {
    if known.is_empty() {
        return Ok(0);
    }
    let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.tenant = $1 AND m.session = $2 AND m.no = ANY($3)");
    let statement = transaction.prepare_cached(&sql).await?;
    let numbers = known.iter().map(|(row, _)| number(row.id.0)).collect::<Result<Vec<i32>>>()?;
    let (tenant, id) = (escaped(session.tenant.as_str()), session.id.0.0.as_slice());
    let mut mended = 0;
    for row in transaction.query(&statement, &[&tenant, &id, &numbers]).await? {
        let found = rows::read(session, &row)?;
        let Some(one) = known.iter().find(|(row, _)| row.id == found.id && found.wants_mending()) else { continue };
        write::replace(transaction, session, &one.0).await?;
        words::unindex(transaction, session, found.id).await?;
        words::insert(transaction, session, opened, std::slice::from_ref(one)).await?;
        mended += 1;
    }
    Ok(mended)
}

/// Which of some nodes are known, by depth and hash.
async fn find(transaction: &Transaction<'_>, session: &SessionKey, places: &[plan::Spot]) -> Result<Known, Fault> {
    let sql = format!(
        "SELECT {PLACE} FROM unnest($3::int[], $4::bytea[]) AS wanted (depth, node)
         JOIN message m ON m.tenant = $1 AND m.session = $2 AND m.depth = wanted.depth AND m.node = wanted.node"
    );
    let depths = places.iter().map(|(depth, _)| i32::try_from(*depth)).collect::<Result<Vec<i32>, _>>();
    let depths = depths.map_err(|_| Error::TooLarge("a path this long cannot be kept".into()))?;
    let nodes: Vec<&[u8]> = places.iter().map(|(_, node)| node.0.as_slice()).collect();
    let statement = transaction.prepare_cached(&sql).await?;
    let tenant = escaped(session.tenant.as_str());
    let rows = transaction.query(&statement, &[&tenant, &session.id.0.0.as_slice(), &depths, &nodes]).await?;
    rows.iter().map(plan::known).collect()
}

/// Whether a message ends its branch, so that what follows it goes on there.
async fn ends_branch(transaction: &Transaction<'_>, session: &SessionKey, at: Position) -> Result<bool, Fault> {
    let statement = transaction
        .prepare_cached(
            "SELECT NOT EXISTS (SELECT 1 FROM branch WHERE tenant = $1 AND session = $2 AND fork = $3)
                AND NOT EXISTS (SELECT 1 FROM message WHERE tenant = $1 AND session = $2 AND depth = $4 AND branch = $5)",
        )
        .await?;
    let (no, next, branch) = (number(at.id.0)?, number(at.depth.0 + 1)?, number(at.branch.0)?);
    let tenant = escaped(session.tenant.as_str());
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&tenant, &session.id.0.0.as_slice(), &no, &next, &branch];
    Ok(transaction.query_one(&statement, &values).await?.try_get(0)?)
}

/// How a record is addressed: tenant, session, kind, key, as the database has them.
pub(super) type Address = (String, Vec<u8>, &'static str, String);

/// The address of a record to be written.
pub(super) fn address(put: &Put) -> Address {
    let tenant = escaped(put.scope.tenant().as_str()).into_owned();
    (tenant, put.scope.session_bytes(), put.kind.as_str(), escaped(&put.key).into_owned())
}

/// The versions of records that are about to be written over, which are locked. Those that are not there are not
/// listed. One that is damaged stands in nobody's way: it is taken out.
async fn versions(transaction: &Transaction<'_>, puts: &[Put]) -> Result<BTreeMap<usize, u64>, Fault> {
    if puts.is_empty() {
        return Ok(BTreeMap::new());
    }
    let statement = transaction
        .prepare_cached(
            "SELECT r.key, r.version, r.at, CASE WHEN wanted.version IN (-1, r.version) THEN NULL ELSE r.body END, r.seal, wanted.i
             FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bigint[])
                  WITH ORDINALITY AS wanted (tenant, session, kind, key, version, i)
             JOIN record r ON r.tenant = wanted.tenant AND r.session = wanted.session
                          AND r.kind = wanted.kind AND r.key = wanted.key
             ORDER BY r.tenant, r.session, r.kind, r.key FOR UPDATE OF r",
        )
        .await?;
    let all: Vec<Address> = puts.iter().map(address).collect();
    let tenants: Vec<&str> = all.iter().map(|one| one.0.as_str()).collect();
    let sessions: Vec<&[u8]> = all.iter().map(|one| one.1.as_slice()).collect();
    let kinds: Vec<&str> = all.iter().map(|one| one.2).collect();
    let keys: Vec<&str> = all.iter().map(|one| one.3.as_str()).collect();
    let expected: Vec<i64> = puts.iter().map(|put| put.expect.version()).collect();
    let mut versions = BTreeMap::new();
    for row in transaction.query(&statement, &[&tenants, &sessions, &kinds, &keys, &expected]).await? {
        let i = usize::try_from(row.try_get::<_, i64>(5)? - 1).unwrap_or_default();
        let (tenant, session, kind, key) = &all[i];
        // The body is asked for where it would be refused to write over it.
        let is_suspect = row.try_get::<_, Option<&str>>(3)?.is_some();
        if is_suspect && rows::record(kind, &row).is_err() {
            drop_record(transaction, (tenant, session, kind, key)).await?;
        } else {
            versions.insert(i, row.try_get::<_, i64>(1)?.unsigned_abs());
        }
    }
    Ok(versions)
}

/// What a batch that changes nothing tells: whether the place it follows is there, and whether anybody else wrote
/// meanwhile.
pub(super) async fn verify(client: &ClientWrapper, batch: &Batch, writer: i64) -> Result<Committed, Fault> {
    let statement = client
        .prepare_cached(
            "SELECT s.stint, s.writer = $3, EXISTS (SELECT 1 FROM message m WHERE m.tenant = $1 AND m.session = $2
                                                    AND m.depth = $4 AND m.node = $5), s.arrived
             FROM session s WHERE s.tenant = $1 AND s.session = $2",
        )
        .await?;
    let depth = batch.after.map_or(Ok(0), |after| number(after.depth.0))?;
    let node = batch.after.map(|after| after.node.0.0).unwrap_or_default();
    let tenant = escaped(batch.session.tenant.as_str());
    let id = batch.session.id.0.0;
    let row = client.query_opt(&statement, &[&tenant, &id.as_slice(), &writer, &depth, &node.as_slice()]).await?;
    let (told, is_there) = match row {
        None => (Told::NOTHING, false),
        Some(row) => {
            let stint = if row.try_get(1)? { since(&row, 0)? } else { Stint::Unknown };
            (Told { stint, arrived: row.try_get(3)? }, row.try_get(2)?)
        }
    };
    if batch.after.is_some() && !is_there {
        return Err(plan::nowhere().into());
    }
    Ok(Committed { stint: told.stint, arrived: told.arrived, ..Committed::default() })
}
