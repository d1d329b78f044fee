//! Reading the log: nodes and spans. What is read never changes, so that several statements see one truth without a
//! lock.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use deadpool_postgres::ClientWrapper;
use futures_util::future::try_join_all;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rows::{MESSAGE, PLACE, escaped, number, position, session_id, shown};
use super::trouble::Fault;
use crate::error::Result;
use crate::ids::{BranchId, Depth, MessageId, NodeId, SessionId, SessionKey};
use crate::store::{CHILDREN, Known, Position, Span, Stored};

/// How many nodes of a chain are looked up at once.
const PROBES: usize = 64;
/// How many nodes from the end of a chain are looked up among aliases.
const ALIASED: usize = 2_048;

/// The longest known part of a chain. A node implies its ancestors, so a few nodes at even distances say between which
/// two it ends, and again, until it is found.
pub(super) async fn prefix(
    client: &ClientWrapper,
    key: &SessionKey,
    from: Depth,
    chain: &[NodeId],
) -> Result<Option<Known>, Fault> {
    let (mut low, mut high) = (0, chain.len());
    let mut known = None;
    while low < high {
        let step = (high - low).div_ceil(PROBES);
        // The last one is among them: mostly all of it is known, or all but what is new.
        let mut probes: Vec<usize> = (low..high).rev().step_by(step).collect();
        probes.reverse();
        let found = deepest(client, key, from, probes.iter().map(|i| (*i, chain[*i]))).await?;
        let last = found.map(|at| (at.depth.0 - from.0) as usize);
        let next = probes.iter().copied().find(|probe| last.is_none_or(|last| *probe > last));
        if let (Some(at), Some(last)) = (found, last) {
            known = Some(Known { count: last + 1, session: key.id, at, aliased: false });
            low = last + 1;
        }
        high = next.unwrap_or(high).max(low);
        if next.is_none() {
            break;
        }
    }
    let count = known.map_or(0, |known| known.count);
    Ok(aliased(client, key, from, chain, count).await?.or(known))
}

/// The deepest of some nodes that is known.
async fn deepest(
    client: &ClientWrapper,
    key: &SessionKey,
    from: Depth,
    probes: impl Iterator<Item = (usize, NodeId)>,
) -> Result<Option<Position>, Fault> {
    let sql = format!(
        "SELECT {PLACE} FROM unnest($3::int[], $4::bytea[]) AS wanted (depth, node)
         JOIN message m ON m.tenant = $1 AND m.session = $2 AND m.depth = wanted.depth AND m.node = wanted.node
         ORDER BY m.depth DESC LIMIT 1"
    );
    let (depths, nodes) = chained(from, probes)?;
    let row = one(client, &sql, key, &[&depths, &nodes]).await?;
    row.as_ref().map(position).transpose()
}

/// Depths and nodes of a chain as the database has them.
fn chained(from: Depth, links: impl Iterator<Item = (usize, NodeId)>) -> Result<(Vec<i32>, Vec<Vec<u8>>)> {
    let link = |(i, node): (usize, NodeId)| Ok((number(from.plus(i).0)?, node.0.0.to_vec()));
    Ok(links.map(link).collect::<Result<Vec<_>>>()?.into_iter().unzip())
}

/// The last alias among the nodes of a chain beyond `count`.
async fn aliased(
    client: &ClientWrapper,
    key: &SessionKey,
    from: Depth,
    chain: &[NodeId],
    count: usize,
) -> Result<Option<Known>, Fault> {
    let start = count.max(chain.len().saturating_sub(ALIASED));
    if start == chain.len() {
        return Ok(None);
    }
    let sql = format!(
        "SELECT {PLACE}, a.to_session, a.depth FROM unnest($3::int[], $4::bytea[]) AS wanted (depth, node)
         JOIN alias a ON a.tenant = $1 AND a.session = $2 AND a.depth = wanted.depth AND a.node = wanted.node
         JOIN message m ON m.tenant = $1 AND m.session = a.to_session AND m.depth = a.to_depth AND m.node = a.to_node
         ORDER BY a.depth DESC LIMIT 1"
    );
    let (depths, nodes) = chained(from, (start..chain.len()).map(|i| (i, chain[i])))?;
    let Some(row) = one(client, &sql, key, &[&depths, &nodes]).await? else { return Ok(None) };
    let depth: i32 = row.try_get(5)?;
    let count = (depth.unsigned_abs() - from.0) as usize + 1;
    Ok(Some(Known { count, session: session_id(&row, 4)?, at: position(&row)?, aliased: true }))
}

async fn one(
    client: &ClientWrapper,
    sql: &str,
    key: &SessionKey,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Option<Row>, Fault> {
    Ok(all(client, sql, key, values).await?.into_iter().next())
}

/// The rows of a question about a session; its tenant and id are the first two values.
async fn all(
    client: &ClientWrapper,
    sql: &str,
    key: &SessionKey,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Fault> {
    let statement = client.prepare_cached(sql).await?;
    let (tenant, id) = (escaped(key.tenant.as_str()), key.id.0.0.as_slice());
    let whose: [&(dyn ToSql + Sync); 2] = [&tenant, &id];
    Ok(client.query(&statement, &[&whose, values].concat()).await?)
}

/// The messages of a question about a session.
async fn collect(
    client: &ClientWrapper,
    key: &SessionKey,
    rest: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Stored>, Fault> {
    let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.tenant = $1 AND m.session = $2 AND {rest}");
    all(client, &sql, key, values).await?.iter().map(|row| shown(key, row)).collect()
}

/// The messages of a span.
pub(super) async fn read(client: &ClientWrapper, key: &SessionKey, span: &Span) -> Result<Vec<Stored>, Fault> {
    match span {
        Span::Ids(ids) => with_ids(client, key, ids).await,
        Span::Arrival { from, limit } => {
            // A number beyond what can be stored is one nobody has.
            let Ok(from) = number(from.0) else { return Ok(Vec::new()) };
            let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
            collect(client, key, "m.no >= $3 ORDER BY m.no LIMIT $4", &[&from, &limit]).await
        }
        Span::Last => collect(client, key, "m.depth >= 0 ORDER BY m.no DESC LIMIT 1", &[]).await,
        Span::End(branch) => {
            let rest = format!("m.depth >= 0 AND {} ORDER BY m.depth DESC LIMIT 1", of(*branch, "$3"));
            collect(client, key, &rest, &[&number(branch.0)?]).await
        }
        Span::Forks(branch) => {
            let forks = forks(client, key, *branch).await?;
            with_ids(client, key, &forks.iter().map(|fork| fork.id).collect::<Vec<_>>()).await
        }
        Span::After(parent) => children(client, key, *parent).await,
        Span::Path { head, from, to } => path(client, key, *head, *from..=*to).await,
        Span::Depths { head, depths } => at_depths(client, key, *head, depths).await,
    }
}

async fn with_ids(client: &ClientWrapper, key: &SessionKey, ids: &[MessageId]) -> Result<Vec<Stored>, Fault> {
    let wanted: Vec<i32> = ids.iter().filter_map(|id| number(id.0).ok()).collect();
    let found = collect(client, key, "m.no = ANY($3)", &[&wanted]).await?;
    let by_id: HashMap<MessageId, Stored> = found.into_iter().map(|stored| (stored.id, stored)).collect();
    Ok(ids.iter().filter_map(|id| by_id.get(id).cloned()).collect())
}

/// The newest messages after one, oldest first: where its own branch goes on, and where others leave it.
async fn children(client: &ClientWrapper, key: &SessionKey, parent: Option<Position>) -> Result<Vec<Stored>, Fault> {
    let (fork, depth) = parent.map_or(Ok((-1, 0)), |parent| -> Result<(i32, i32)> {
        Ok((number(parent.id.0)?, number(parent.depth.0 + 1)?))
    })?;
    let own = parent.map_or(Ok(-1), |parent| number(parent.branch.0))?;
    let most = i64::try_from(CHILDREN).expect("few");
    let left =
        "SELECT b.no FROM branch b WHERE b.tenant = $1 AND b.session = $2 AND b.fork = $4 ORDER BY b.no DESC LIMIT $6";
    let rest = format!("m.depth = $3 AND m.branch = ANY (array_append(ARRAY({left}), $5)) ORDER BY m.no DESC LIMIT $6");
    let mut found = collect(client, key, &rest, &[&depth, &fork, &own, &most]).await?;
    found.reverse();
    Ok(found)
}

/// A path is a few stretches of branches, from the root to the head: each a branch, and the first and the last depth on
/// it.
async fn stretches(
    client: &ClientWrapper,
    key: &SessionKey,
    head: Position,
) -> Result<Vec<(BranchId, Depth, Depth)>, Fault> {
    let (mut start, mut stretches) = (Depth(0), Vec::new());
    for Position { branch, depth: end, .. } in forks(client, key, head.branch).await?.into_iter().rev().chain([head]) {
        stretches.push((branch, start, end));
        start = end.plus(1);
    }
    Ok(stretches)
}

/// The messages of a path within some depths. Only stretches that lie there are read.
async fn path(
    client: &ClientWrapper,
    key: &SessionKey,
    head: Position,
    wanted: RangeInclusive<Depth>,
) -> Result<Vec<Stored>, Fault> {
    let within = |(branch, first, last): (BranchId, Depth, Depth)| {
        let (first, last) = (first.max(*wanted.start()), last.min(*wanted.end()));
        (first <= last).then_some((branch, first, last))
    };
    let parts = stretches(client, key, head).await?.into_iter().filter_map(within);
    let parts = parts.map(|(branch, first, last)| async move {
        let rest = format!("m.depth BETWEEN $3 AND $4 AND {} ORDER BY m.depth", of(branch, "$5"));
        collect(client, key, &rest, &[&number(first.0)?, &number(last.0)?, &number(branch.0)?]).await
    });
    Ok(try_join_all(parts).await?.into_iter().flatten().collect())
}

/// The messages at some depths of a path.
async fn at_depths(
    client: &ClientWrapper,
    key: &SessionKey,
    head: Position,
    depths: &BTreeSet<Depth>,
) -> Result<Vec<Stored>, Fault> {
    let parts = stretches(client, key, head).await?.into_iter().filter_map(|(branch, first, last)| {
        let wanted: Vec<Depth> = depths.iter().copied().filter(|depth| (first..=last).contains(depth)).collect();
        (!wanted.is_empty()).then_some((branch, wanted))
    });
    let parts = parts.map(|(branch, wanted)| async move {
        let wanted = wanted.iter().map(|depth| number(depth.0)).collect::<Result<Vec<i32>>>()?;
        let rest = format!("m.depth = ANY($3) AND {} ORDER BY m.depth", of(branch, "$4"));
        collect(client, key, &rest, &[&wanted, &number(branch.0)?]).await
    });
    Ok(try_join_all(parts).await?.into_iter().flatten().collect())
}

/// The condition that a message is of a branch; all but the first are found by an index of their own.
fn of(branch: BranchId, value: &str) -> String {
    format!("m.branch = {value}{}", if branch.0 == 0 { "" } else { " AND m.branch > 0" })
}

/// Where the path of a branch leaves others, the nearest first.
async fn forks(client: &ClientWrapper, key: &SessionKey, branch: BranchId) -> Result<Vec<Position>, Fault> {
    // The first branch leaves none.
    if branch.0 == 0 {
        return Ok(Vec::new());
    }
    let sql = format!(
        "WITH RECURSIVE line (no, branch, depth, node) AS (
            SELECT m.no, m.branch, m.depth, m.node FROM branch b JOIN message m
                ON m.tenant = $1 AND m.session = $2 AND m.no = b.fork
            WHERE b.tenant = $1 AND b.session = $2 AND b.no = $3
          UNION ALL
            SELECT m.no, m.branch, m.depth, m.node FROM line JOIN branch b
                ON b.tenant = $1 AND b.session = $2 AND b.no = line.branch
            JOIN message m ON m.tenant = $1 AND m.session = $2 AND m.no = b.fork)
         SELECT {PLACE} FROM line m ORDER BY m.depth DESC"
    );
    all(client, &sql, key, &[&number(branch.0)?]).await?.iter().map(position).collect()
}

/// The session an id stands for, with its tenant.
pub(super) fn key_of(tenant: &crate::ids::Tenant, id: SessionId) -> SessionKey {
    SessionKey { tenant: tenant.clone(), id }
}
