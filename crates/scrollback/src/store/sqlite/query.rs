//! Reading the log: nodes, spans, sessions and records.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows::{self, MESSAGE, id_of, key_of};
use super::trouble::Fault;
use crate::error::Error;
use crate::ids::{At, BranchId, Depth, Hash128, MessageId, NodeId, SessionId, SessionKey, Tenant};
use crate::store::{
    Branch, CHILDREN, Keys, Kind, Known, Mark, NodeRef, Position, Record, Scope, Session, Span, Stored, Which,
};

/// At how many depths near the end of a chain aliases are looked up before the history is aligned anew.
const ALIASED_DEPTHS_TRIED: usize = 64;

/// A session's number in this file.
pub(super) fn session_no(connection: &Connection, key: &SessionKey) -> Result<Option<i64>, Fault> {
    Ok(connection
        .prepare_cached("SELECT no FROM session WHERE tenant = ?1 AND id = ?2")?
        .query_row(params![key.tenant.as_str(), key.id.0.0], |row| row.get(0))
        .optional()?)
}

/// A node's position, if it is known.
pub(super) fn position_at(connection: &Connection, session: i64, at: NodeRef) -> Result<Option<Position>, Fault> {
    Ok(connection
        .prepare_cached("SELECT id, branch, depth, node FROM message WHERE session = ?1 AND depth = ?2 AND node = ?3")?
        .query_row(params![session, at.depth.0, at.node.0.0], position)
        .optional()?)
}

/// Where a branch is at a depth, if it is that long.
pub(super) fn on_branch(
    connection: &Connection,
    session: i64,
    branch: BranchId,
    depth: Depth,
) -> Result<Option<Position>, Fault> {
    let sql =
        format!("SELECT id, branch, depth, node FROM message WHERE session = ?1 AND depth = ?2 AND {}", of(branch));
    Ok(connection.prepare_cached(&sql)?.query_row(params![session, depth.0, branch.0], position).optional()?)
}

/// The condition that a message is of a branch, number ?3; all but the first are found by an index of their own.
fn of(branch: BranchId) -> &'static str {
    if branch.0 == 0 { "branch = ?3" } else { "branch = ?3 AND branch > 0" }
}

fn position(row: &Row<'_>) -> rusqlite::Result<Position> {
    let (key, branch, depth) = (row.get(0)?, row.get(1)?, row.get(2)?);
    Ok(Position { id: id_of(key), branch: BranchId(branch), depth: Depth(depth), node: NodeId(Hash128(row.get(3)?)) })
}

/// The longest known part of a chain. A node implies its ancestors, so the end of the known part is found by bisection.
pub(super) fn prefix(
    connection: &Connection,
    key: &SessionKey,
    from: Depth,
    chain: &[NodeId],
) -> Result<Option<Known>, Fault> {
    let mut known = None;
    if let Some(session) = session_no(connection, key)? {
        let (mut low, mut high) = (0, chain.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match position_at(connection, session, NodeRef { depth: from.plus(middle), node: chain[middle] })? {
                Some(at) => {
                    known = Some(Known { count: middle + 1, session: key.id, at, aliased: false });
                    low = middle + 1;
                }
                None => high = middle,
            }
        }
    }
    let count = known.map_or(0, |known| known.count);
    Ok(aliased(connection, key, from, chain, count)?.or(known))
}

/// The last alias among the nodes of the chain beyond `count`: depth by depth from the end, where there are aliases at
/// all.
fn aliased(
    connection: &Connection,
    key: &SessionKey,
    from: Depth,
    chain: &[NodeId],
    count: usize,
) -> Result<Option<Known>, Fault> {
    let mut deepest = connection.prepare_cached(
        "SELECT max(depth) FROM alias WHERE tenant = ?1 AND session = ?2 AND depth >= ?3 AND depth < ?4",
    )?;
    let (low, mut end) = (from.plus(count).0, from.plus(chain.len()).0);
    for _ in 0..ALIASED_DEPTHS_TRIED {
        let found = deepest.query_row(params![key.tenant.as_str(), key.id.0.0, low, end], |row| row.get(0))?;
        let Some(depth) = found else { break };
        let i = (depth - from.0) as usize;
        if let Some((session, at)) = alias_at(connection, key, NodeRef { depth: Depth(depth), node: chain[i] })? {
            return Ok(Some(Known { count: i + 1, session, at, aliased: true }));
        }
        end = depth;
    }
    Ok(None)
}

/// The place a node of a rewritten history stands for.
fn alias_at(connection: &Connection, key: &SessionKey, at: NodeRef) -> Result<Option<(SessionId, Position)>, Fault> {
    let target = connection
        .prepare_cached(
            "SELECT to_session, to_depth, to_node FROM alias
             WHERE tenant = ?1 AND session = ?2 AND depth = ?3 AND node = ?4",
        )?
        .query_row(params![key.tenant.as_str(), key.id.0.0, at.depth.0, at.node.0.0], |row| {
            let to = NodeRef { depth: Depth(row.get(1)?), node: NodeId(Hash128(row.get(2)?)) };
            Ok((SessionId(Hash128(row.get(0)?)), to))
        })
        .optional()?;
    let Some((session, to)) = target else { return Ok(None) };
    let Some(no) = session_no(connection, &SessionKey { tenant: key.tenant.clone(), id: session })? else {
        return Ok(None);
    };
    Ok(position_at(connection, no, to)?.map(|position| (session, position)))
}

/// The messages of a span.
pub(super) fn read(connection: &Connection, key: &SessionKey, span: &Span) -> Result<Vec<Stored>, Fault> {
    let Some(session) = session_no(connection, key)? else { return Ok(Vec::new()) };
    let (first, last) = (key_of(session, MessageId(0)), key_of(session, MessageId(u32::MAX)));
    let select = |rest: &str| format!("SELECT {MESSAGE} FROM message m WHERE {rest}");
    match span {
        Span::Ids(ids) => {
            let sql = select("m.id = ?1");
            let one = |id: &MessageId| collect(connection, &sql, params![key_of(session, *id)]);
            Ok(ids.iter().map(one).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        }
        Span::Arrival { from, limit } => {
            let sql = select("m.id BETWEEN ?1 AND ?2 ORDER BY m.id LIMIT ?3");
            collect(connection, &sql, params![key_of(session, *from), last, most(*limit)])
        }
        Span::Last => {
            let sql = select("m.id BETWEEN ?1 AND ?2 AND m.depth >= 0 ORDER BY m.id DESC LIMIT 1");
            collect(connection, &sql, params![first, last])
        }
        Span::End(branch) => {
            let Some(branch) = branches(connection, session, Some(*branch))?.pop() else { return Ok(Vec::new()) };
            at(connection, session, [head(connection, session, &branch)?])
        }
        Span::Forks(branch) => at(connection, session, forks(connection, session, *branch)?),
        Span::After(parent) => at(connection, session, children(connection, session, *parent)?),
        Span::Path { head, from, to } => path(connection, session, *head, *from..=*to),
        Span::Depths { head, depths } => at_depths(connection, session, *head, depths),
    }
}

/// The messages at some places.
fn at(connection: &Connection, session: i64, places: impl IntoIterator<Item = Position>) -> Result<Vec<Stored>, Fault> {
    let sql = format!("SELECT {MESSAGE} FROM message m WHERE m.id = ?1");
    let one = |place: Position| collect(connection, &sql, params![key_of(session, place.id)]);
    Ok(places.into_iter().map(one).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// The newest messages after one: where its own branch goes on, and where others leave it.
fn children(connection: &Connection, session: i64, parent: Option<Position>) -> Result<Vec<Position>, Fault> {
    let mut statement = connection
        .prepare_cached("SELECT no FROM branch WHERE session = ?1 AND fork IS ?2 ORDER BY no DESC LIMIT ?3")?;
    let values = params![session, parent.map(|parent| parent.id.0), CHILDREN];
    let left = statement.query_map(values, |row| Ok(BranchId(row.get(0)?)))?.collect::<Result<Vec<_>, _>>()?;
    let depth = parent.map_or(Depth(0), |parent| parent.depth.plus(1));
    let branches = left.into_iter().chain(parent.map(|parent| parent.branch));
    let mut children = Vec::new();
    for branch in branches.take(CHILDREN) {
        children.extend(on_branch(connection, session, branch, depth)?);
    }
    children.sort_by_key(|child| child.id);
    Ok(children)
}

/// Where the path of a branch leaves others, the nearest first.
fn forks(connection: &Connection, session: i64, mut branch: BranchId) -> Result<Vec<Position>, Fault> {
    let mut fork = connection.prepare_cached(
        "SELECT m.id, m.branch, m.depth, m.node FROM branch b JOIN message m ON m.id = (b.session << 32 | b.fork)
         WHERE b.session = ?1 AND b.no = ?2",
    )?;
    let mut forks = Vec::new();
    while let Some(left) = fork.query_row(params![session, branch.0], position).optional()? {
        forks.push(left);
        branch = left.branch;
    }
    Ok(forks)
}

/// A path is a few stretches of branches, from the root to the head: each a branch, and the first and the last depth on
/// it.
fn stretches(connection: &Connection, session: i64, head: Position) -> Result<Vec<(BranchId, Depth, Depth)>, Fault> {
    let (mut start, mut stretches) = (Depth(0), Vec::new());
    for Position { branch, depth: end, .. } in forks(connection, session, head.branch)?.into_iter().rev().chain([head])
    {
        stretches.push((branch, start, end));
        start = end.plus(1);
    }
    Ok(stretches)
}

/// The messages of a stretch.
fn stretch(
    connection: &Connection,
    session: i64,
    branch: BranchId,
    first: Depth,
    last: Depth,
) -> Result<Vec<Stored>, Fault> {
    let sql = format!(
        "SELECT {MESSAGE} FROM message m WHERE session = ?1 AND depth BETWEEN ?2 AND ?4 AND {} ORDER BY depth",
        of(branch)
    );
    collect(connection, &sql, params![session, first.0, branch.0, last.0])
}

/// The messages at some depths of a path.
fn at_depths(
    connection: &Connection,
    session: i64,
    head: Position,
    depths: &BTreeSet<Depth>,
) -> Result<Vec<Stored>, Fault> {
    let stretches = stretches(connection, session, head)?;
    let mut messages = Vec::new();
    for depth in depths.iter().take_while(|depth| **depth <= head.depth) {
        let (branch, ..) = stretches[stretches.partition_point(|(_, _, last)| last < depth)];
        messages.extend(stretch(connection, session, branch, *depth, *depth)?);
    }
    Ok(messages)
}

/// The messages of a path within some depths. Only stretches that lie there are read.
fn path(
    connection: &Connection,
    session: i64,
    head: Position,
    wanted: RangeInclusive<Depth>,
) -> Result<Vec<Stored>, Fault> {
    let mut messages = Vec::new();
    for (branch, first, last) in stretches(connection, session, head)? {
        let (first, last) = (first.max(*wanted.start()), last.min(*wanted.end()));
        if first <= last {
            messages.extend(stretch(connection, session, branch, first, last)?);
        }
    }
    Ok(messages)
}

fn collect(connection: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Stored>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(rows::shown(row).map_err(|damage| damage.told(connection))?);
    }
    Ok(messages)
}

/// The branches of a session, or one, with the place each leaves another at, but not yet their true heads.
fn branches(connection: &Connection, session: i64, only: Option<BranchId>) -> Result<Vec<Branch>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT m.id, m.branch, m.depth, m.node, b.no FROM branch b LEFT JOIN message m ON m.id = (b.session << 32 | b.fork)
         WHERE b.session = ?1 AND b.no BETWEEN ?2 AND ?3 ORDER BY b.no",
    )?;
    let (first, last) = only.map_or((0, u32::MAX), |only| (only.0, only.0));
    let root = Position { id: MessageId(0), branch: BranchId(0), depth: Depth(0), node: NodeId(Hash128::default()) };
    let rows = statement.query_map(params![session, first, last], |row| {
        let fork = row.get::<_, Option<i64>>(0)?.map(|_| position(row)).transpose()?;
        Ok(Branch { id: BranchId(row.get(4)?), fork, head: fork.unwrap_or(root) })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The deepest message of a branch. A branch holds consecutive depths, so its end is found by bisection.
fn head(connection: &Connection, session: i64, branch: &Branch) -> Result<Position, Fault> {
    let deepest: u32 = connection
        .prepare_cached("SELECT ifnull(max(depth), 0) FROM message WHERE session = ?1 AND depth >= 0")?
        .query_row([session], |row| row.get(0))?;
    let mut low = branch.fork.map_or(0, |fork| fork.depth.0 + 1);
    let (mut high, mut found) = (deepest + 1, None);
    while low < high {
        let middle = u32::midpoint(low, high);
        match on_branch(connection, session, branch.id, Depth(middle))? {
            Some(position) => {
                found = Some(position);
                low = middle + 1;
            }
            None => high = middle,
        }
    }
    let whose = || rows::session_called(connection, session);
    found.ok_or_else(|| Error::Damaged(format!("branch {} of session {} is empty", branch.id.0, whose())).into())
}

/// Sessions as listed.
pub(super) fn sessions(connection: &Connection, tenant: &Tenant, which: &Which) -> Result<Vec<Session>, Fault> {
    let columns = "SELECT no, id, declared, title, born, seal, minute FROM session WHERE tenant = ?1";
    let tenant_name = tenant.as_str();
    match which {
        Which::Id(id) => {
            let sql = format!("{columns} AND id = ?2");
            listed(connection, tenant, &sql, params![tenant_name, id.0.0])
        }
        Which::Named { name, skip, limit } => {
            let sql = format!("{columns} AND ({}) ORDER BY minute DESC, no DESC LIMIT ?3 OFFSET ?4", named());
            let name = name.to_ascii_lowercase().into_bytes();
            listed(connection, tenant, &sql, params![tenant_name, name, most(*limit), most(*skip)])
        }
        Which::Titled { text, after, limit } => {
            let has = format!("{} OR instr(CAST(lower(title) AS BLOB), ?2) > 0", named());
            let sql =
                format!("{columns} AND ({has}) AND (minute, no) < (?4, ?5) ORDER BY minute DESC, no DESC LIMIT ?3");
            let (text, Mark { minute, number }) =
                (text.to_ascii_lowercase().into_bytes(), after.unwrap_or(Mark::START));
            listed(connection, tenant, &sql, params![tenant_name, text, most(*limit), minute, number])
        }
        Which::Page { skip, limit } => {
            let sql = format!("{columns} ORDER BY minute DESC, no DESC LIMIT ?2 OFFSET ?3");
            listed(connection, tenant, &sql, params![tenant_name, most(*limit), most(*skip)])
        }
    }
}

/// The condition of what begins with the second parameter. Compared as bytes: patterns may not be long, and text ends at
/// a zero. Only ASCII letters have a lower case here.
fn named() -> String {
    let begins = |column: &str| format!("substr(CAST(lower({column}) AS BLOB), 1, length(?2)) = ?2");
    ["hex(id)", "declared", "title"].map(begins).join(" OR ")
}

/// A count as the database takes it; there is nothing beyond.
fn most(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn listed(
    connection: &Connection,
    tenant: &Tenant,
    sql: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<Session>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        let (no, id, born) = (row.get(0)?, SessionId(Hash128(row.get(1)?)), At(row.get(4)?));
        let (declared, title): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
        let seal: i64 = row.get(5)?;
        if rows::session_seal(tenant.as_str(), id, declared.as_deref(), title.as_deref(), born) != seal {
            return Err(Error::Damaged(format!("the row of session {id} is not what was written")).into());
        }
        let mark = Mark { minute: row.get(6)?, number: no };
        let (messages, last) = extent(connection, no)?;
        let branches = branches(connection, no, None)?
            .into_iter()
            .map(|branch| Ok(Branch { head: head(connection, no, &branch)?, ..branch }))
            .collect::<Result<_, Fault>>()?;
        sessions.push(Session { id, declared, title, born, last: last.unwrap_or(born), messages, branches, mark });
    }
    Ok(sessions)
}

/// How many messages a session has, and when the last was said.
fn extent(connection: &Connection, session: i64) -> Result<(u32, Option<At>), Fault> {
    let range = params![key_of(session, MessageId(0)), key_of(session, MessageId(u32::MAX))];
    let newest: Option<(i64, i64)> = connection
        .prepare_cached("SELECT id, at FROM message WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1")?
        .query_row(range, |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(newest.map_or((0, None), |(key, at)| (id_of(key).0 + 1, Some(At(at)))))
}

/// Records of one kind, in the order that is asked for. One that is not what was written is as good as not there: it is
/// derived, and `doctor` tells of it.
pub(super) fn records(connection: &Connection, scope: &Scope, kind: Kind, keys: &Keys) -> Result<Vec<Record>, Fault> {
    let (condition, key, limit) = match keys {
        Keys::One(key) => ("= ?4 ORDER BY key", key, 1),
        // No key holds the last of all characters.
        Keys::Under(key) => (">= ?4 AND key < ?4 || char(1114111) ORDER BY key", key, usize::MAX),
        Keys::After(key, limit) => ("> ?4 ORDER BY key", key, *limit),
        // Every key is greater than the empty one, so that it stands for no bound here.
        Keys::Before(key, limit) if key.is_empty() => ("> ?4 ORDER BY key DESC", key, *limit),
        Keys::Before(key, limit) => ("< ?4 ORDER BY key DESC", key, *limit),
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT key, version, at, body, seal FROM record
         WHERE tenant = ?1 AND session = ?2 AND kind = ?3 AND key {condition}",
    ))?;
    let (tenant, kind) = (scope.tenant().as_str(), kind.as_str());
    let mut rows = statement.query(params![tenant, scope.session_bytes(), kind, key])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()?.filter(|_| records.len() < limit) {
        records.extend(rows::record(kind, row).ok());
    }
    Ok(records)
}
