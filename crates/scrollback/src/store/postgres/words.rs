//! The index from terms to messages: the same terms as in every store, as vectors under a GIN index.
//!
//! Each message is indexed in the transaction that stores it. Beside its terms a vector holds marks of its tenant and session,
//! so that the index alone finds what a session, a tenant or its undeclared sessions say.

use std::collections::HashMap;

use deadpool_postgres::{ClientWrapper, Transaction};
use tokio_postgres::types::ToSql;

use super::append::{Opened, touch};
use super::query::key_of;
use super::rows::{MESSAGE, escaped, number, session_id, stored, unescaped};
use super::trouble::Fault;
use crate::error::Result;
use crate::ids::{Hash128, MessageId, SessionId, SessionKey, Tenant};
use crate::message::Message;
use crate::search::{ANCHOR, Need, Probe, Reach, Term, index_terms};
use crate::store::asked::{FREQUENCY_CAP, STORE_MESSAGES};
use crate::store::row::MessageRow;
use crate::store::{Matches, Stored};

/// How many bytes of terms one vector holds at most; PostgreSQL allows a megabyte, with some room for each term.
const PART_BYTES: usize = 400_000;

/// The marks of where a message is.
struct Marks {
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
    fn split() -> String {
        format!("{ANCHOR}p")
    }

    /// The mark that everything within a reach has.
    fn reaching(tenant: &Tenant, reach: &Reach) -> String {
        match reach {
            Reach::Everywhere => Self::of(tenant, SessionId(Hash128::default())).tenant,
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
    (session, opened): (&SessionKey, &Opened),
    rows: &[(MessageRow, Message)],
) -> Result<(), Fault> {
    let messages: Vec<(MessageId, &Message)> = rows.iter().map(|(row, message)| (row.id, message)).collect();
    let place = Place { session, declared: opened.declared.is_some(), arrived: opened.arrived };
    index(transaction, &place, &messages).await
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

/// A term in the index's query language.
fn written(term: &Term) -> String {
    let first = format!("{}{}", quoted(&term.text), if term.prefix { ":*" } else { "" });
    let forms = term.forms.iter().map(|form| quoted(form));
    format!("({})", std::iter::once(first).chain(forms).collect::<Vec<_>>().join(" | "))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\\', "\\\\").replace('\'', "''"))
}

/// Terms within a reach, in the index's query language.
fn expression(terms: &[Term], need: Need, mark: &str) -> String {
    let joint = match need {
        Need::All => " & ",
        Need::Any => " | ",
    };
    let terms = terms.iter().map(written).collect::<Vec<_>>().join(joint);
    format!("({terms}) & {}", quoted(mark))
}

/// Messages that match a probe: the newest, or those whose terms weigh most.
pub(super) async fn matching(client: &ClientWrapper, tenant: &Tenant, probe: &Probe) -> Result<Matches, Fault> {
    let mut matches = Matches { frequencies: vec![0; probe.terms.len()], ..Matches::default() };
    matches.total = total(client, tenant, &probe.reach).await?;
    if probe.terms.is_empty() || matches.total == 0 {
        return Ok(matches);
    }
    let mark = Marks::reaching(tenant, &probe.reach);
    if let Some(weights) = &probe.weights {
        for one in probe.by_role() {
            matches.messages.extend(best(client, (tenant, &one, &mark), weights).await?);
        }
        return Ok(matches);
    }
    matches.frequencies = frequencies(client, tenant, probe, &mark).await?;
    for one in probe.by_role().iter().filter(|one| one.limit > 0) {
        matches.messages.extend(newest(client, tenant, one, &mark).await?);
    }
    Ok(matches)
}

async fn total(client: &ClientWrapper, tenant: &Tenant, reach: &Reach) -> Result<u64, Fault> {
    let id = match reach {
        Reach::Everywhere | Reach::Undeclared => return Ok(STORE_MESSAGES),
        Reach::Session(id) | Reach::Path(id, _) | Reach::Upto(id, _) => id,
    };
    let sql = "SELECT messages FROM session WHERE tenant = $1 AND session = $2";
    let statement = client.prepare_cached(sql).await?;
    let row = client.query_opt(&statement, &[&escaped(tenant.as_str()), &id.0.0.as_slice()]).await?;
    let count = row.map(|row| row.try_get::<_, i32>(0)).transpose()?.unwrap_or(0);
    Ok(u64::from(count.unsigned_abs()).min(u64::from(reach.last().0) + 1))
}

/// In how many messages each term occurs, up to the cap.
async fn frequencies(client: &ClientWrapper, tenant: &Tenant, probe: &Probe, mark: &str) -> Result<Vec<u32>, Fault> {
    let statement = client
        .prepare_cached(
            "SELECT (SELECT count(*) FROM (SELECT DISTINCT w.session, w.no FROM word w
                     WHERE w.tenant = $1 AND w.terms @@ term.query::tsquery AND w.no <= $4 LIMIT $3) AS held)
             FROM unnest($2::text[]) WITH ORDINALITY AS term (query, i) ORDER BY term.i",
        )
        .await?;
    let one = |term: &Term| expression(std::slice::from_ref(term), Need::Any, mark);
    let terms: Vec<String> = probe.terms.iter().map(one).collect();
    let last = i32::try_from(probe.reach.last().0).unwrap_or(i32::MAX);
    let values: [&(dyn ToSql + Sync); 4] = [&escaped(tenant.as_str()), &terms, &i64::from(FREQUENCY_CAP), &last];
    let rows = client.query(&statement, &values).await?;
    let count = |row: &tokio_postgres::Row| -> Result<u32, Fault> {
        Ok(u32::try_from(row.try_get::<_, i64>(0)?).unwrap_or(FREQUENCY_CAP))
    };
    rows.iter().map(count).collect()
}

/// The filters of a probe, as a condition on messages and its values, which are numbered from `first` on.
struct Filters {
    condition: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Filters {
    fn of(probe: &Probe, first: usize) -> Result<Self> {
        let mut filters = Self { condition: String::new(), values: Vec::new() };
        let mut add = |condition: &str, value: Box<dyn ToSql + Sync + Send>| {
            let number = first + filters.values.len();
            filters.condition += " AND ";
            filters.condition += &condition.replace('?', &format!("${number}"));
            filters.values.push(value);
        };
        if !probe.roles.is_empty() {
            let roles: Vec<String> = probe.roles.iter().map(|(role, _)| escaped(role).into_owned()).collect();
            add("m.role = ANY(?)", Box::new(roles));
        }
        if let Some(since) = probe.since {
            add("m.at >= ?", Box::new(since.0));
        }
        if let Some(until) = probe.until {
            add("m.at < ?", Box::new(until.0));
        }
        if let Reach::Upto(_, last) = &probe.reach {
            add("m.no <= ?", Box::new(number(last.0)?));
        }
        if let Reach::Path(_, lineage) = &probe.reach {
            // Each stretch as one number: the branch, then the depth it reaches.
            let stretch = |(branch, depth): &(crate::ids::BranchId, crate::ids::Depth)| {
                Ok(i64::from(number(branch.0)?) << 32 | i64::from(number(depth.0)?))
            };
            let stretches = lineage.0.iter().map(stretch).collect::<Result<Vec<i64>>>()?;
            add(
                "m.depth >= 0 AND EXISTS (SELECT 1 FROM unnest(?::bigint[]) AS line (stretch)
                  WHERE line.stretch >> 32 = m.branch AND m.depth <= line.stretch & 4294967295)",
                Box::new(stretches),
            );
        }
        Ok(filters)
    }
}

/// Messages by a question about the index, which names their keys as `found (arrived, session, no)` beside a score.
async fn read(
    client: &ClientWrapper,
    (tenant, probe): (&Tenant, &Probe),
    found: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<(SessionId, Stored)>, Fault> {
    let filters = Filters::of(probe, 3 + values.len())?;
    let sql = format!(
        "SELECT {MESSAGE}, m.session FROM ({found}) AS found
         JOIN message m ON m.tenant = $1 AND m.session = found.session AND m.no = found.no
         WHERE true{} ORDER BY found.score DESC, found.arrived DESC, found.no DESC LIMIT $2",
        filters.condition
    );
    let statement = client.prepare_cached(&sql).await?;
    let name = escaped(tenant.as_str());
    let limit = i64::try_from(probe.limit).unwrap_or(i64::MAX);
    let whose: [&(dyn ToSql + Sync); 2] = [&name, &limit];
    let filtered: Vec<&(dyn ToSql + Sync)> = filters.values.iter().map(|value| &**value as _).collect();
    let rows = client.query(&statement, &[&whose[..], values, &filtered].concat()).await?;
    let message = |row: &tokio_postgres::Row| {
        let id = session_id(row, 13)?;
        // One damaged message must not hide the others; `doctor` reports it.
        Ok(stored(&key_of(tenant, id), row).ok().map(|message| (id, message)))
    };
    rows.iter().filter_map(|row| message(row).transpose()).collect()
}

/// The newest messages that hold enough terms.
async fn newest(
    client: &ClientWrapper,
    tenant: &Tenant,
    probe: &Probe,
    mark: &str,
) -> Result<Vec<(SessionId, Stored)>, Fault> {
    let query = expression(&probe.terms, probe.need, mark);
    let found = "SELECT DISTINCT w.arrived, w.session, w.no, 0 AS score FROM word w
                 WHERE w.tenant = $1 AND w.terms @@ $3::text::tsquery";
    let whole = read(client, (tenant, probe), found, &[&query]).await?;
    if probe.need == Need::Any || probe.terms.len() < 2 {
        return Ok(whole);
    }
    // The terms of a very long message may be in different parts of it.
    let any = expression(&probe.terms, Need::Any, mark);
    let split = format!("{any} & {}", quoted(&Marks::split()));
    let parted = read(client, (tenant, probe), found, &[&split]).await?;
    if parted.is_empty() { Ok(whole) } else { Ok(joined(probe, whole, parted)) }
}

/// Very long messages among the others, as far as they hold all terms in all their parts together.
fn joined(
    probe: &Probe,
    whole: Vec<(SessionId, Stored)>,
    parted: Vec<(SessionId, Stored)>,
) -> Vec<(SessionId, Stored)> {
    let suffices = |stored: &Stored| probe.suffices(&probe.hits(&index_terms(&stored.message())));
    let mut all: HashMap<(SessionId, MessageId), Stored> = HashMap::new();
    let long = parted.into_iter().filter(|(_, stored)| suffices(stored));
    all.extend(whole.into_iter().chain(long).map(|(session, stored)| ((session, stored.id), stored)));
    let mut all: Vec<(SessionId, Stored)> = all.into_iter().map(|((session, _), stored)| (session, stored)).collect();
    all.sort_by_key(|(session, stored)| (std::cmp::Reverse(stored.at), *session, std::cmp::Reverse(stored.id)));
    all.truncate(probe.limit);
    all
}

/// The messages whose terms weigh most. Which those are is known from the index alone; only they are read.
async fn best(
    client: &ClientWrapper,
    (tenant, probe, mark): (&Tenant, &Probe, &str),
    weights: &[f64],
) -> Result<Vec<(SessionId, Stored)>, Fault> {
    let one = |term: &Term| expression(std::slice::from_ref(term), Need::Any, mark);
    let terms: Vec<String> = probe.terms.iter().take(weights.len()).map(one).collect();
    let weights = &weights[..terms.len()];
    let found = "SELECT held.arrived, held.session, held.no, sum(term.weight) AS score
        FROM unnest($3::text[], $4::float8[]) AS term (query, weight)
        CROSS JOIN LATERAL (SELECT DISTINCT w.arrived, w.session, w.no FROM word w
            WHERE w.tenant = $1 AND w.terms @@ term.query::tsquery
            ORDER BY w.arrived DESC, w.no DESC LIMIT $5) AS held
        GROUP BY held.arrived, held.session, held.no";
    read(client, (tenant, probe), found, &[&terms, &weights, &i64::from(FREQUENCY_CAP)]).await
}

/// A session that has messages which are not in the index.
pub(super) async fn first_gap(snapshot: &Transaction<'_>) -> Result<Option<SessionId>, Fault> {
    let sql = "SELECT m.session FROM message m WHERE NOT EXISTS (SELECT 1 FROM word w
               WHERE w.tenant = m.tenant AND w.session = m.session AND w.no = m.no) LIMIT 1";
    snapshot.query_opt(sql, &[]).await?.map(|row| session_id(&row, 0)).transpose()
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
