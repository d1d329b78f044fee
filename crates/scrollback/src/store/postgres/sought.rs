//! Asking the index: which messages hold the terms of a probe.
//!
//! How many messages hold a term is counted first, up to a cap. What fewer hold is looked up; what more hold is common,
//! and within a session its newest are found by going back from the end. So the rows that are looked at are bounded
//! however long a session is; only the index's own list of a common term grows with it. A search of everything for a
//! common word looks at every row that holds it.

use std::collections::HashMap;

use deadpool_postgres::ClientWrapper;
use tokio_postgres::types::ToSql;

use super::query::key_of;
use super::rows::{MESSAGE, escaped, number, session_id, stored};
use super::trouble::Fault;
use super::words::Marks;
use crate::error::Result;
use crate::ids::{MessageId, SessionId, Tenant};
use crate::search::{Need, Probe, Reach, Term, index_terms, roles_of};
use crate::store::asked::{FREQUENCY_CAP, STORE_MESSAGES};
use crate::store::{Matches, Stored};

/// So many messages are read at most to find those of one speaker: which those are, only the messages tell.
const HEARD: usize = 4_096;
/// Where a probe has filters, so many times as many messages as it asks for are looked at first.
const SPARE: usize = 8;

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
    // Where all is searched, nothing is found by going back: then it does not matter what is common.
    let counted = match (&probe.weights, session_of(&probe.reach)) {
        (Some(_), None) => vec![FREQUENCY_CAP; probe.terms.len()],
        _ => frequencies(client, tenant, probe, &mark).await?,
    };
    for one in probe.by_role().iter().filter(|one| one.limit > 0) {
        let search = Search { client, tenant, probe: one, mark: &mark };
        let found = match &probe.weights {
            Some(weights) => search.best(weights, &counted).await?,
            None => search.newest(&counted).await?,
        };
        matches.messages.extend(found);
    }
    if probe.weights.is_none() {
        matches.frequencies = counted;
    }
    Ok(matches)
}

/// The session that a reach lies in, if it is one.
fn session_of(reach: &Reach) -> Option<SessionId> {
    match reach {
        Reach::Everywhere | Reach::Beginnings | Reach::Undeclared => None,
        Reach::Session(id) | Reach::Path(id, _) | Reach::Upto(id, _) => Some(*id),
    }
}

/// How the messages that hold something are found, the newest first.
#[derive(Clone, Copy)]
enum Way {
    /// By the index of terms: right for what is rare.
    Index,
    /// By going back from the end of a session, which is the value with this number: right for what is common.
    Back(u8),
}

/// Keys of messages that hold what a query asks for. One with several parts counts once.
fn keys(query: &str, way: Way, limit: &str) -> String {
    let holds = format!("w.terms @@ {query}::tsquery");
    // A case is not looked up, and is taken to be true for every other row.
    let (holds, order) = match way {
        Way::Index => (holds, "ORDER BY w.arrived DESC, w.no DESC".to_owned()),
        Way::Back(session) => (
            format!("CASE WHEN {holds} THEN true ELSE false END"),
            format!("AND w.session = ${session} ORDER BY w.no DESC"),
        ),
    };
    format!(
        "SELECT w.arrived, w.session, w.no FROM word w WHERE w.tenant = $1 AND {holds} AND {} {order} LIMIT {limit}",
        once(query)
    )
}

/// The condition that no earlier part of the same message holds it as well.
fn once(query: &str) -> String {
    format!(
        "(w.part = 0 OR NOT EXISTS (SELECT 1 FROM word e WHERE e.tenant = w.tenant AND e.session = w.session
            AND e.no = w.no AND e.part < w.part AND e.terms @@ {query}::tsquery))"
    )
}

async fn total(client: &ClientWrapper, tenant: &Tenant, reach: &Reach) -> Result<u64, Fault> {
    let Some(id) = session_of(reach) else { return Ok(STORE_MESSAGES) };
    let sql = "SELECT messages FROM session WHERE tenant = $1 AND session = $2";
    let statement = client.prepare_cached(sql).await?;
    let row = client.query_opt(&statement, &[&escaped(tenant.as_str()), &id.0.0.as_slice()]).await?;
    let count = row.map(|row| row.try_get::<_, i32>(0)).transpose()?.unwrap_or(0);
    Ok(u64::from(count.unsigned_abs()).min(u64::from(reach.last().0) + 1))
}

/// In how many messages each term occurs, up to the cap.
async fn frequencies(client: &ClientWrapper, tenant: &Tenant, probe: &Probe, mark: &str) -> Result<Vec<u32>, Fault> {
    let sql = format!(
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM word w WHERE w.tenant = $1
                 AND w.terms @@ term.query::tsquery AND w.no <= $4 AND {} LIMIT $3) AS held)
         FROM unnest($2::text[]) WITH ORDINALITY AS term (query, i) ORDER BY term.i",
        once("term.query")
    );
    let statement = client.prepare_cached(&sql).await?;
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
        if let Some(speaker) = &probe.speaker {
            let roles: Vec<String> = roles_of(speaker).into_iter().map(|role| escaped(role).into_owned()).collect();
            add("m.role = ANY(?)", Box::new(roles));
        }
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
        if matches!(probe.reach, Reach::Upto(..) | Reach::Beginnings) {
            add("m.no <= ?", Box::new(number(probe.reach.last().0)?));
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

/// A probe, as the index is asked.
struct Search<'a> {
    client: &'a ClientWrapper,
    tenant: &'a Tenant,
    probe: &'a Probe,
    /// What is within its reach, in the index's words.
    mark: &'a str,
}

impl Search<'_> {
    /// The newest messages that hold enough terms, given how many hold each.
    async fn newest(&self, counted: &[u32]) -> Result<Vec<(SessionId, Stored)>, Fault> {
        let Self { probe, mark, .. } = *self;
        let query = expression(&probe.terms, probe.need, mark);
        let held = match probe.need {
            Need::All => counted.iter().copied().min(),
            Need::Any => counted.iter().copied().reduce(u32::saturating_add),
        };
        let whole = self.latest(&query, held.unwrap_or(0)).await?;
        if probe.need == Need::Any || probe.terms.len() < 2 {
            return Ok(whole);
        }
        // The terms of a very long message may be in different parts of it.
        let any = expression(&probe.terms, Need::Any, mark);
        let split = format!("{any} & {}", quoted(&Marks::split()));
        let parted = self.latest(&split, FREQUENCY_CAP - 1).await?;
        if parted.is_empty() { Ok(whole) } else { Ok(joined(probe, whole, parted)) }
    }

    /// The newest messages that a query finds, given how many it finds, up to the cap.
    async fn latest(&self, query: &str, held: u32) -> Result<Vec<(SessionId, Stored)>, Fault> {
        let found = |way| format!("SELECT held.*, 0 AS score FROM ({}) AS held", keys("$4::text", way, "$3"));
        match session_of(&self.probe.reach).filter(|_| held >= FREQUENCY_CAP) {
            None => self.read(&found(Way::Index), &[&query], held).await,
            Some(id) => self.read(&found(Way::Back(5)), &[&query, &id.0.0.as_slice()], held).await,
        }
    }

    /// The messages whose terms weigh most, given how many hold each. Which those are is known from the index alone;
    /// only they are read.
    async fn best(&self, weights: &[f64], counted: &[u32]) -> Result<Vec<(SessionId, Stored)>, Fault> {
        let Self { probe, mark, .. } = *self;
        let session = session_of(&probe.reach);
        let (mut rare, mut common) = (Weighed::default(), Weighed::default());
        for ((term, weight), count) in probe.terms.iter().zip(weights).zip(counted) {
            let is_common = session.is_some() && *count >= FREQUENCY_CAP;
            let one = if is_common { &mut common } else { &mut rare };
            one.queries.push(expression(std::slice::from_ref(term), Need::Any, mark));
            one.weights.push(*weight);
        }
        let holding = |terms: &str, way| {
            let held = keys("term.query", way, "$8");
            format!(
                "SELECT held.*, term.weight FROM unnest({terms}) AS term (query, weight)
                 CROSS JOIN LATERAL ({held}) AS held"
            )
        };
        let found = format!(
            "SELECT arrived, session, no, sum(weight) AS score FROM ({} UNION ALL {}) AS held
             GROUP BY arrived, session, no ORDER BY score DESC, arrived DESC, no DESC LIMIT $3",
            holding("$4::text[], $5::float8[]", Way::Index),
            holding("$6::text[], $7::float8[]", Way::Back(9))
        );
        let (cap, id) = (i64::from(FREQUENCY_CAP), session.map_or([0; 16], |id| id.0.0));
        let values: [&(dyn ToSql + Sync); 6] =
            [&rare.queries, &rare.weights, &common.queries, &common.weights, &cap, &id.as_slice()];
        let held = counted.iter().copied().fold(0, u32::saturating_add);
        self.read(&found, &values, held).await
    }

    /// Messages by a question about the index, which names at most `$3` of their keys as `found (arrived, session, no)`
    /// beside a score. So many are settled before any is read. Filters are of messages, so that with them it takes some
    /// more; and all, where those do not suffice and more than a few are known to be there, as `held` tells.
    async fn read(
        &self,
        found: &str,
        values: &[&(dyn ToSql + Sync)],
        held: u32,
    ) -> Result<Vec<(SessionId, Stored)>, Fault> {
        let probe = self.probe;
        let filters = Filters::of(probe, 4 + values.len())?;
        let is_filtered = !filters.values.is_empty();
        let most = if is_filtered { probe.limit.saturating_mul(SPARE) } else { probe.limit };
        let first = self.read_most(&filters, most, found, values).await?;
        if !is_filtered || first.len() >= probe.limit || (held as usize) <= most {
            return Ok(first);
        }
        self.read_most(&filters, usize::MAX, found, values).await
    }

    async fn read_most(
        &self,
        filters: &Filters,
        most: usize,
        found: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<(SessionId, Stored)>, Fault> {
        let Self { client, tenant, probe, .. } = *self;
        let sql = format!(
            "SELECT {MESSAGE}, m.session FROM ({found}) AS found
         JOIN message m ON m.tenant = $1 AND m.session = found.session AND m.no = found.no
         WHERE true{} ORDER BY found.score DESC, found.arrived DESC, found.no DESC LIMIT $2",
            filters.condition
        );
        let statement = client.prepare_cached(&sql).await?;
        let name = escaped(tenant.as_str());
        let read = if probe.speaker.is_some() { HEARD.max(probe.limit) } else { probe.limit };
        let [limit, most] = [read, most].map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let whose: [&(dyn ToSql + Sync); 3] = [&name, &limit, &most];
        let filtered: Vec<&(dyn ToSql + Sync)> = filters.values.iter().map(|value| &**value as _).collect();
        let rows = client.query(&statement, &[&whose[..], values, &filtered].concat()).await?;
        let message = |row: &tokio_postgres::Row| {
            let id = session_id(row, 13)?;
            // One damaged message must not hide the others; `doctor` reports it.
            Ok(stored(&key_of(tenant, id), row).ok().map(|message| (id, message)))
        };
        let read = rows.iter().filter_map(|row| message(row).transpose());
        read.filter(|read| read.as_ref().map_or(true, |(_, message)| probe.hears(message))).take(probe.limit).collect()
    }
}

/// Very long messages among the others, as far as they hold all terms in all their parts together.
fn joined(
    probe: &Probe,
    whole: Vec<(SessionId, Stored)>,
    parted: Vec<(SessionId, Stored)>,
) -> Vec<(SessionId, Stored)> {
    let hits_among = probe.hits();
    let suffices = |stored: &Stored| probe.suffices(&hits_among(&index_terms(&stored.message())));
    let mut all: HashMap<(SessionId, MessageId), Stored> = HashMap::new();
    let long = parted.into_iter().filter(|(_, stored)| suffices(stored));
    all.extend(whole.into_iter().chain(long).map(|(session, stored)| ((session, stored.id), stored)));
    let mut all: Vec<(SessionId, Stored)> = all.into_iter().map(|((session, _), stored)| (session, stored)).collect();
    all.sort_by_key(|(session, stored)| (std::cmp::Reverse(stored.at), *session, std::cmp::Reverse(stored.id)));
    all.truncate(probe.limit);
    all
}

/// Terms in the index's query language, and what they weigh.
#[derive(Default)]
struct Weighed {
    queries: Vec<String>,
    weights: Vec<f64>,
}
