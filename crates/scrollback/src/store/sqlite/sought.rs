//! Asking the index: which messages hold the terms of a probe.
//!
//! What is not indexed yet is looked at directly. Which messages weigh most is known from the index alone; only they
//! are read.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::fresh::{Fresh, Seen};
use super::query::session_no;
use super::rows::{MESSAGE, id_of, key_of, session_of, stored};
use super::trouble::Fault;
use super::words::{message_at, unindexed};
use crate::ids::{Hash128, MessageId, SessionId, SessionKey, Tenant};
use crate::search::{Need, Probe, Reach, Term};
use crate::store::asked::{FREQUENCY_CAP, STORE_MESSAGES};
use crate::store::{Matches, Stored};

/// Which of the columns of a message is its role.
const ROLE: usize = 5;

/// Who said the message with a key.
fn role_at(connection: &Connection, key: i64) -> Result<Option<String>, Fault> {
    let mut statement = connection.prepare_cached("SELECT role FROM message WHERE id = ?1")?;
    let mut rows = statement.query([key])?;
    Ok(rows.next()?.and_then(|row| row.get(0).ok()))
}

/// Where a probe may look: a range of message keys, up to which message of each session, and whether declared sessions
/// count.
struct Bounds {
    low: i64,
    high: i64,
    last: MessageId,
    undeclared_only: bool,
}

impl Bounds {
    fn of(connection: &Connection, tenant: &Tenant, reach: &Reach) -> Result<Option<Self>, Fault> {
        let last = reach.last();
        let all = |undeclared_only| Some(Self { low: 0, high: i64::MAX, last, undeclared_only });
        match reach {
            Reach::Everywhere | Reach::Beginnings => Ok(all(false)),
            Reach::Undeclared => Ok(all(true)),
            Reach::Session(id) | Reach::Path(id, _) | Reach::Upto(id, _) => {
                let key = SessionKey { tenant: tenant.clone(), id: *id };
                let bounds =
                    |no| Self { low: key_of(no, MessageId(0)), high: key_of(no, last), last, undeclared_only: false };
                Ok(session_no(connection, &key)?.map(bounds))
            }
        }
    }
}

/// Messages that match a probe, newest session first, newest message first.
pub(super) fn matching(
    connection: &Connection,
    fresh: &Fresh,
    tenant: &Tenant,
    probe: &Probe,
) -> Result<Matches, Fault> {
    let fresh = fresh.seen();
    let snapshot = connection.unchecked_transaction()?;
    let mut matches = Matches { frequencies: vec![0; probe.terms.len()], ..Matches::default() };
    let Some(bounds) = Bounds::of(&snapshot, tenant, &probe.reach)? else { return Ok(matches) };
    matches.total = total(&snapshot, &bounds)?;
    let search = Search { connection: &snapshot, tenant, probe, bounds: &bounds };
    let waiting = search.unindexed_hits(&fresh, &mut matches.frequencies)?;
    let found = if probe.weights.is_some() {
        search.read_best(&waiting)?
    } else {
        for (term, frequency) in probe.terms.iter().zip(&mut matches.frequencies) {
            *frequency = (*frequency + frequency_of(&snapshot, term, &bounds)?).min(FREQUENCY_CAP);
        }
        let mut found = Vec::new();
        for one in probe.by_role() {
            found.extend(Search { probe: &one, ..search }.read_newest(&waiting)?);
        }
        found
    };
    matches.messages = found.into_iter().map(|(_, session, message)| (session, message)).collect();
    Ok(matches)
}

type Keyed = (i64, SessionId, Stored);

fn total(connection: &Connection, bounds: &Bounds) -> Result<u64, Fault> {
    if bounds.high == i64::MAX {
        return Ok(STORE_MESSAGES);
    }
    let last = last_key(connection, session_of(bounds.low))?.min(bounds.high);
    Ok(if last < bounds.low { 0 } else { u64::from(id_of(last).0) + 1 })
}

/// The key of a session's last message, or one before all of them.
fn last_key(connection: &Connection, session: i64) -> Result<i64, Fault> {
    let keys = [key_of(session, MessageId(0)), key_of(session, MessageId(u32::MAX))];
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(id) FROM message WHERE id BETWEEN ?1 AND ?2")?
        .query_row(keys, |row| row.get(0))?;
    Ok(last.unwrap_or(keys[0] - 1))
}

/// A message that is not indexed yet and holds enough terms.
struct Waiting {
    key: i64,
    session: SessionId,
    hits: Vec<bool>,
}

/// A probe, as the index is asked.
#[derive(Clone, Copy)]
struct Search<'a> {
    connection: &'a Connection,
    tenant: &'a Tenant,
    probe: &'a Probe,
    bounds: &'a Bounds,
}

impl Search<'_> {
    /// What is not indexed yet and holds enough terms. Adds how often each term occurs there to `frequencies`.
    fn unindexed_hits(&self, fresh: &Seen<'_>, frequencies: &mut [u32]) -> Result<Vec<Waiting>, Fault> {
        let Self { connection, tenant, probe, bounds } = *self;
        let mut found = Vec::new();
        let unindexed = unindexed(connection)?;
        fresh.forget_indexed(&unindexed);
        for (no, since) in unindexed {
            let outside = no < session_of(bounds.low) || no > session_of(bounds.high);
            let Some(session) = (if outside { None } else { visible(connection, tenant, no, bounds)? }) else {
                continue;
            };
            let keys = key_of(no, since)..=last_key(connection, no)?.min(key_of(no, bounds.last));
            for (key, hits) in fresh.hits(connection, keys, probe)? {
                frequencies.iter_mut().zip(&hits).for_each(|(count, hit)| *count += u32::from(*hit));
                if probe.suffices(&hits) {
                    found.push(Waiting { key, session, hits });
                }
            }
        }
        Ok(found)
    }

    /// The newest messages that hold enough terms.
    fn read_newest(&self, waiting: &[Waiting]) -> Result<Vec<Keyed>, Fault> {
        let Self { connection, probe, .. } = *self;
        if probe.terms.is_empty() || probe.limit == 0 {
            return Ok(Vec::new());
        }
        let mut found = self.read_indexed()?;
        for one in waiting {
            let message = message_at(connection, one.key)?.filter(|message| probe.admits(message));
            found.extend(message.map(|message| (one.key, one.session, message)));
        }
        found.sort_by_key(|(key, _, _)| std::cmp::Reverse(*key));
        found.truncate(probe.limit);
        Ok(found)
    }

    /// The messages whose terms weigh most. Which those are is known from the index alone; only they are read.
    fn read_best(&self, waiting: &[Waiting]) -> Result<Vec<Keyed>, Fault> {
        let Self { connection, tenant, probe, bounds } = *self;
        let mut scores: HashMap<i64, f64> = waiting.iter().map(|one| (one.key, probe.weight(&one.hits))).collect();
        for (i, (term, weight)) in probe.terms.iter().zip(probe.weights.iter().flatten()).enumerate() {
            // What is not indexed yet is newer, and takes its part of the cap: the same is found however far the index
            // is.
            let newer = waiting.iter().filter(|one| one.hits[i]).count();
            let most = FREQUENCY_CAP.saturating_sub(u32::try_from(newer).unwrap_or(u32::MAX));
            for key in keys_of(connection, term, bounds, most)? {
                *scores.entry(key).or_default() += weight;
            }
        }
        let mut best: Vec<(i64, f64)> = scores.into_iter().collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        let mut found: Vec<(Probe, Vec<Keyed>)> = probe.by_role().into_iter().map(|one| (one, Vec::new())).collect();
        let mut sessions = HashMap::new();
        for (key, _) in best {
            let mut open = found.iter_mut().filter(|(one, found)| found.len() < one.limit).peekable();
            if open.peek().is_none() {
                break;
            }
            // Who said it stands before its words, which may be many.
            let role = if probe.roles.is_empty() { None } else { role_at(connection, key)? };
            let admits = |one: &Probe| one.roles.is_empty() || role.as_ref().is_some_and(|role| one.admits_role(role));
            let Some((one, found)) = open.find(|(one, _)| admits(one)) else { continue };
            let no = session_of(key);
            let session = match sessions.get(&no) {
                Some(known) => *known,
                None => *sessions.entry(no).or_insert(visible(connection, tenant, no, bounds)?),
            };
            let message = message_at(connection, key)?.filter(|message| one.admits(message));
            found.extend(session.zip(message).map(|(session, message)| (key, session, message)));
        }
        Ok(found.into_iter().flat_map(|(_, found)| found).collect())
    }

    fn read_indexed(&self) -> Result<Vec<Keyed>, Fault> {
        let Self { connection, tenant, probe, bounds } = *self;
        let sql = format!(
            "SELECT {MESSAGE}, s.id FROM word w JOIN message m ON m.id = w.rowid JOIN session s ON s.no = m.session
         WHERE w.word MATCH ?1 AND w.rowid BETWEEN ?2 AND ?3 AND w.rowid & 4294967295 <= ?8
         AND s.tenant = ?4 AND (NOT ?5 OR s.declared IS NULL)
         AND (?6 IS NULL OR m.at >= ?6) AND (?7 IS NULL OR m.at < ?7)
         ORDER BY w.rowid DESC"
        );
        // When it was said stands before its words: of what is too old or too new they are not read.
        let [since, until] = [probe.since, probe.until].map(|at| at.map(|at| at.0));
        let mut statement = connection.prepare_cached(&sql)?;
        let joint = match probe.need {
            Need::All => " AND ",
            Need::Any => " OR ",
        };
        let expression = probe.terms.iter().map(written).collect::<Vec<_>>().join(joint);
        let Bounds { low, high, last, undeclared_only } = bounds;
        let values = params![expression, low, high, tenant.as_str(), undeclared_only, since, until, last.0];
        let mut rows = statement.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            // Most messages need not be read where few are asked for.
            if !probe.admits_role(row.get_ref(ROLE)?.as_str().unwrap_or_default()) {
                continue;
            }
            // As in the index: one damaged message must not hide the others.
            let Ok(message) = stored(row) else { continue };
            if probe.admits(&message) {
                found.push((row.get(0)?, SessionId(Hash128(row.get(13)?)), message));
            }
            if found.len() >= probe.limit {
                break;
            }
        }
        Ok(found)
    }
}

/// The keys of indexed messages that hold a term, the newest first.
fn keys_of(connection: &Connection, term: &Term, bounds: &Bounds, most: u32) -> Result<Vec<i64>, Fault> {
    let sql = "SELECT rowid FROM word WHERE word MATCH ?1 AND rowid BETWEEN ?2 AND ?3 AND rowid & 4294967295 <= ?5
         ORDER BY rowid DESC LIMIT ?4";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![written(term), bounds.low, bounds.high, most, bounds.last.0];
    let keys = statement.query_map(values, |row| row.get(0))?;
    Ok(keys.collect::<rusqlite::Result<_>>()?)
}

/// In how many indexed messages a term occurs, up to the cap.
fn frequency_of(connection: &Connection, term: &Term, bounds: &Bounds) -> Result<u32, Fault> {
    Ok(connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT rowid FROM word WHERE word MATCH ?1 AND rowid BETWEEN ?2 AND ?3
             AND rowid & 4294967295 <= ?5 LIMIT ?4)",
        )?
        .query_row(params![written(term), bounds.low, bounds.high, FREQUENCY_CAP, bounds.last.0], |row| row.get(0))?)
}

/// The id of a session, if the tenant owns it and the probe may see it.
fn visible(connection: &Connection, tenant: &Tenant, no: i64, bounds: &Bounds) -> Result<Option<SessionId>, Fault> {
    let found: Result<[u8; 16], _> = connection
        .prepare_cached("SELECT id FROM session WHERE no = ?1 AND tenant = ?2 AND (NOT ?3 OR declared IS NULL)")?
        .query_row(params![no, tenant.as_str(), bounds.undeclared_only], |row| row.get(0));
    match found {
        Ok(id) => Ok(Some(SessionId(Hash128(id)))),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(cause) => Err(cause.into()),
    }
}

/// A term in the index's query language.
fn written(term: &Term) -> String {
    let quoted = |text: &String| format!("\"{}\"", text.replace('"', ""));
    let first = format!("{}{}", quoted(&term.text), if term.prefix { "*" } else { "" });
    if term.forms.is_empty() {
        return first;
    }
    let all: Vec<String> = std::iter::once(first).chain(term.forms.iter().map(quoted)).collect();
    format!("({})", all.join(" OR "))
}
