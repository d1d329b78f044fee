//! `scrollback search WORDS`: messages by their words, best first.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use jiff::civil::{Date, DateTime};
use scrollback::search::{Found, Query, Reach, Snippet, find};
use scrollback::store::{Lineage, Which};
use scrollback::{At, Error, SessionId, Store};
use serde::Serialize;

use super::show::{Line, branch};
use super::{Desk, bold, local, say, say_json, sessions, talk};
use crate::api::ROLES;

#[derive(Debug, Args)]
pub(super) struct Search {
    /// The words
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this session
    #[arg(long)]
    session: Option<String>,
    /// Only on this branch of the session
    #[arg(long, requires = "session")]
    branch: Option<u32>,
    /// Only what this role said
    #[arg(long, value_parser = ROLES)]
    role: Option<String>,
    /// Only what was said since: a date such as 2026-11-15, or a time such as 2026-11-15T09:30:00Z
    #[arg(long, value_parser = moment)]
    since: Option<At>,
    /// Only what was said until the end of a date, or before a time
    #[arg(long, value_parser = end)]
    until: Option<At>,
    /// How many to show
    #[arg(long, default_value_t = 10, value_parser = limit)]
    limit: usize,
}

impl Search {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading().await?;
        let reach = self.reach(desk, &store).await?;
        let query = Query {
            text: self.words.join(" "),
            reach,
            role: self.role,
            since: self.since,
            until: self.until,
            // One more tells whether there are any.
            limit: self.limit.saturating_add(1),
        };
        let mut found = find(&store, &desk.tenant, &query).await?;
        let more = found.len() > self.limit;
        found.truncate(self.limit);
        if desk.json {
            found.iter().try_for_each(|found| say_json(&Hit::of(found)))?;
        } else {
            let names = names(desk, &store, &found).await?;
            found.iter().try_for_each(|found| print(found, &names[&found.session]))?;
        }
        if found.is_empty() {
            talk("nothing found");
        }
        if more {
            talk(&format!("there is more; --limit {} shows twice as many", self.limit.saturating_mul(2)));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn reach(&self, desk: &Desk, store: &dyn Store) -> anyhow::Result<Reach> {
        let Some(name) = &self.session else { return Ok(Reach::Everywhere) };
        let session = desk.session(store, name).await?;
        match self.branch {
            None => Ok(Reach::Session(session.id)),
            Some(number) => {
                let branch = branch(&session, Some(number))?.context("the session has no messages")?;
                Ok(Reach::Path(session.id, Lineage::of(branch.head, &session.branches)))
            }
        }
    }
}

/// How many there may be; of none there is nothing to show.
pub(super) fn limit(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "write a number from 1 on".into())
}

/// An exact time, or the midnight that a date begins with.
fn moment(text: &str) -> Result<At, String> {
    at(text, Some)
}

/// An exact time, or the midnight that a date ends with: whoever says until a day means all of it.
fn end(text: &str) -> Result<At, String> {
    at(text, |date| date.tomorrow().ok())
}

/// An exact time, or one in the person's zone: as it is said, or the midnight of a date that follows from the one that
/// is said.
fn at(text: &str, day: impl Fn(Date) -> Option<Date>) -> Result<At, String> {
    let civil = || {
        let said: DateTime = text.parse().ok()?;
        let is_date = !text.contains(['T', 't', ' ', ':']);
        let meant = if is_date { day(said.date())?.at(0, 0, 0, 0) } else { said };
        let zoned = meant.to_zoned(jiff::tz::TimeZone::system()).ok()?;
        Some(At(zoned.timestamp().as_microsecond()))
    };
    At::parse(text)
        .or_else(civil)
        .ok_or_else(|| "write a date such as 2026-11-15 or a time such as 2026-11-15T09:30:00Z".into())
}

#[derive(Serialize)]
struct Hit<'a> {
    session: String,
    score: f64,
    snippet: &'a Snippet,
    #[serde(flatten)]
    line: Line<'a>,
}

impl<'a> Hit<'a> {
    fn of(found: &'a Found) -> Self {
        let (session, line) = (found.session.to_string(), Line::of(&found.message));
        Self { session, score: found.score, snippet: &found.snippet, line }
    }
}

/// What to call the sessions in which something was found: the beginning of the id, and what they are about.
async fn names(desk: &Desk, store: &dyn Store, found: &[Found]) -> anyhow::Result<BTreeMap<SessionId, String>> {
    let mut names = BTreeMap::new();
    for id in found.iter().map(|found| found.session) {
        if let Entry::Vacant(unnamed) = names.entry(id) {
            let about = match about(desk, store, id).await {
                // What cannot be read of its name keeps nothing that was said from being found.
                Err(error) if matches!(error.downcast_ref(), Some(Error::Damaged(_))) => String::new(),
                about => about?,
            };
            unnamed.insert(format!("{} {about}", &id.to_string()[..12]).trim_end().to_owned());
        }
    }
    Ok(names)
}

/// The name of a session, if it has one, and its title, or how it begins.
async fn about(desk: &Desk, store: &dyn Store, id: SessionId) -> anyhow::Result<String> {
    let Some(session) = store.sessions(&desk.tenant, Which::Id(id)).await?.pop() else { return Ok(String::new()) };
    let (name, title) = (sessions::name(&session), sessions::title(desk, store, &session).await?);
    Ok(if name.is_empty() || name == title { title } else { format!("{name} · {title}") })
}

fn print(found: &Found, session: &str) -> anyhow::Result<()> {
    let (on, off) = bold();
    let message = &found.message;
    say(format!("{session} · {} {} · {}", message.id, message.speaker(), local(message.at)))?;
    let marks = if on.is_empty() { ("«", "»") } else { (on, off) };
    say(format!("  {}", found.snippet.marked(marks.0, marks.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_or_times() {
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(At(1_000_000)));
        assert!(moment("2026-11-15").is_ok());
        assert!(moment("yesterday").is_err());
    }

    #[test]
    fn a_day_lasts_until_the_next() {
        assert_eq!(end("2026-11-15"), moment("2026-11-16"));
        assert_eq!(end("1970-01-01T00:00:01Z"), Ok(At(1_000_000)), "a time is itself");
        let morning = moment("2026-11-15T09:30:00");
        assert_eq!((end("2026-11-15T09:30:00"), end("2026-11-15 09:30")), (morning.clone(), morning.clone()));
        assert!(moment("2026-11-15") < morning && morning < end("2026-11-15"), "also where it names no zone");
    }
}
