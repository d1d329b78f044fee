//! Reading sessions as they are listed, and records.

use std::collections::HashMap;

use deadpool_postgres::ClientWrapper;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rows::{self, escaped, position, session_id, unescaped};
use super::trouble::Fault;
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, SessionId, Tenant};
use crate::store::row::session_seal;
use crate::store::{Branch, Keys, Kind, Mark, Position, Record, Scope, Session, Which};

const COLUMNS: &str = "SELECT s.session, s.declared, s.title, s.born, s.seal, s.messages,
    coalesce((SELECT m.at FROM message m WHERE m.tenant = s.tenant AND m.session = s.session ORDER BY m.no DESC LIMIT 1), s.born),
    s.minute, s.arrived
    FROM session s WHERE s.tenant = $1";

/// Sessions as listed.
pub(super) async fn sessions(client: &ClientWrapper, tenant: &Tenant, which: &Which) -> Result<Vec<Session>, Fault> {
    let order = "ORDER BY s.minute DESC, s.arrived DESC LIMIT $2 OFFSET $3";
    let most = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
    match which {
        Which::Id(id) => listed(client, tenant, &format!("{COLUMNS} AND s.session = $2"), &[&id.0.0.as_slice()]).await,
        Which::Page { skip, limit } => {
            listed(client, tenant, &format!("{COLUMNS} {order}"), &[&most(*limit), &most(*skip)]).await
        }
        Which::Named { name, skip, limit } => {
            let sql = format!("{COLUMNS} AND ({}) {order}", like(""));
            listed(client, tenant, &sql, &[&most(*limit), &most(*skip), &pattern(name)]).await
        }
        Which::Titled { text, after, limit } => {
            let has = like("'%' || ");
            let sql = format!(
                "{COLUMNS} AND ({has}) AND (s.minute, s.arrived) < ($3::bigint, $5::bigint)
                 ORDER BY s.minute DESC, s.arrived DESC LIMIT $2"
            );
            let Mark { minute, number } = after.unwrap_or(Mark::START);
            listed(client, tenant, &sql, &[&most(*limit), &minute, &pattern(text), &number]).await
        }
    }
}

/// The condition of what begins as the fourth parameter says; a title may have something before that. In this collation
/// only ASCII letters have a lower case.
fn like(before: &str) -> String {
    let like =
        |(column, before): (&str, &str)| format!("lower({column} COLLATE \"C\") LIKE {before}$4::text ESCAPE '\\'");
    [("encode(s.session, 'hex')", ""), ("s.declared", ""), ("s.title", before)].map(like).join(" OR ")
}

/// What begins with a text.
fn pattern(text: &str) -> String {
    format!("{}%", literal(&escaped(&text.to_ascii_lowercase())))
}

/// A text that stands for itself in a pattern.
fn literal(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '%' | '_' | '\\') { format!("\\{c}") } else { c.to_string() }).collect()
}

async fn listed(
    client: &ClientWrapper,
    tenant: &Tenant,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Session>, Fault> {
    let statement = client.prepare_cached(sql).await?;
    let name = escaped(tenant.as_str());
    let whose: [&(dyn ToSql + Sync); 1] = [&name];
    let rows = client.query(&statement, &[&whose, values].concat()).await?;
    let mut sessions = rows.iter().map(|row| session(tenant, row)).collect::<Result<Vec<Session>, Fault>>()?;
    let ids: Vec<&[u8]> = sessions.iter().map(|session| session.id.0.0.as_slice()).collect();
    let mut branches = branches(client, &name, &ids).await?;
    for session in &mut sessions {
        session.branches = branches.remove(&session.id).unwrap_or_default();
    }
    Ok(sessions)
}

/// Reads a session and checks its seal.
fn session(tenant: &Tenant, row: &Row) -> Result<Session, Fault> {
    let id = session_id(row, 0)?;
    let name = |column: usize| row.try_get::<_, Option<String>>(column).map(|name| name.map(unescaped));
    let (declared, title, born) = (name(1)?, name(2)?, At(row.try_get(3)?));
    if session_seal(tenant.as_str(), id, declared.as_deref(), title.as_deref(), born) != row.try_get::<_, i64>(4)? {
        return Err(Error::Damaged(format!("the row of session {id} is not what was written")).into());
    }
    let (messages, last) = (row.try_get::<_, i32>(5)?.unsigned_abs(), At(row.try_get(6)?));
    let mark = Mark { minute: row.try_get(7)?, number: row.try_get(8)? };
    Ok(Session { id, declared, title, born, last, messages, branches: Vec::new(), mark })
}

/// The branches of some sessions, each with where it leaves another and where it ends.
async fn branches(
    client: &ClientWrapper,
    tenant: &str,
    sessions: &[&[u8]],
) -> Result<HashMap<SessionId, Vec<Branch>>, Fault> {
    let head = |of: &str| {
        format!(
            "SELECT m.no, m.branch, m.depth, m.node FROM message m WHERE m.tenant = b.tenant AND m.session = b.session
             AND m.depth >= 0 AND m.branch = {of} ORDER BY m.depth DESC LIMIT 1"
        )
    };
    // All branches but the first are found by an index of their own.
    let sql = format!(
        "SELECT h.no, h.branch, h.depth, h.node, f.no, f.branch, f.depth, f.node, b.session, b.no FROM branch b
         LEFT JOIN LATERAL (({}) UNION ALL ({})) h ON true
         LEFT JOIN message f ON f.tenant = b.tenant AND f.session = b.session AND f.no = b.fork AND b.fork >= 0
         WHERE b.tenant = $1 AND b.session = ANY($2) ORDER BY b.session, b.no",
        head("0 AND b.no = 0"),
        head("b.no AND m.branch > 0"),
    );
    let statement = client.prepare_cached(&sql).await?;
    let mut branches: HashMap<SessionId, Vec<Branch>> = HashMap::new();
    for row in client.query(&statement, &[&tenant, &sessions]).await? {
        let session = session_id(&row, 8)?;
        let (id, fork) = (BranchId(row.try_get::<_, i32>(9)?.unsigned_abs()), fork(&row)?);
        if row.try_get::<_, Option<i32>>(0)?.is_none() {
            return Err(Error::Damaged(format!("branch {} of session {session} is empty", id.0)).into());
        }
        branches.entry(session).or_default().push(Branch { id, fork, head: position(&row)? });
    }
    Ok(branches)
}

/// The place where a branch leaves another, in the columns after its head.
fn fork(row: &Row) -> Result<Option<Position>, Fault> {
    let Some(no) = row.try_get::<_, Option<i32>>(4)? else { return Ok(None) };
    let (branch, depth): (i32, i32) = (row.try_get(5)?, row.try_get(6)?);
    Ok(Some(Position {
        id: crate::ids::MessageId(no.unsigned_abs()),
        branch: BranchId(branch.unsigned_abs()),
        depth: crate::ids::Depth(depth.unsigned_abs()),
        node: crate::ids::NodeId(rows::hash(row, 7)?),
    }))
}

/// Records of one kind, in the order that is asked for.
pub(super) async fn records(
    client: &ClientWrapper,
    scope: &Scope,
    kind: Kind,
    keys: &Keys,
) -> Result<Vec<Record>, Fault> {
    let (condition, key, limit) = match keys {
        Keys::One(key) => ("= $4 ORDER BY key", key, 1),
        // No key holds the last of all characters.
        Keys::Under(key) => (">= $4 AND key < $4 || chr(1114111) ORDER BY key", key, usize::MAX >> 1),
        Keys::After(key, limit) => ("> $4 ORDER BY key", key, *limit),
        // Every key is greater than the empty one, so that it stands for no bound here.
        Keys::Before(key, limit) if key.is_empty() => ("> $4 ORDER BY key DESC", key, *limit),
        Keys::Before(key, limit) => ("< $4 ORDER BY key DESC", key, *limit),
    };
    let sql = format!(
        "SELECT key, version, at, body, seal FROM record
         WHERE tenant = $1 AND session = $2 AND kind = $3 AND key {condition} LIMIT $5"
    );
    let statement = client.prepare_cached(&sql).await?;
    let (tenant, key) = (escaped(scope.tenant().as_str()), escaped(key));
    let mut asked = limit;
    loop {
        let most = i64::try_from(asked).unwrap_or(i64::MAX);
        let rows = client.query(&statement, &[&tenant, &scope.session_bytes(), &kind.as_str(), &key, &most]).await?;
        let read = rows.iter().map(|row| rows::record(kind.as_str(), row));
        let sound: Vec<Record> = read.filter(|record| !is_damaged(record)).collect::<Result<_, Fault>>()?;
        // As many more may stand behind those that are damaged.
        if sound.len() == limit || rows.len() < asked {
            return Ok(sound);
        }
        asked += limit - sound.len();
    }
}

fn is_damaged(record: &Result<Record, Fault>) -> bool {
    matches!(record, Err(Fault::Ours(Error::Damaged(_))))
}
