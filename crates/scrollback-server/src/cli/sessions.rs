//! `scrollback sessions`: the conversations that are kept, newest first.

use std::process::ExitCode;

use clap::Args;
use comfy_table::Table;
use scrollback::Store;
use scrollback::store::Session;

use super::search::limit;
use super::{Desk, columns, counted, local, say, say_json, shortened, table, talk};
use crate::api::title_of;
use crate::salvage;

/// How many columns of a title are shown.
const TITLE_COLUMNS: usize = 48;
/// How many columns of the name that a client gave it.
const NAME_COLUMNS: usize = 24;
/// A terminal that is less wide shows fewer columns, with a shorter name,
const WIDE: usize = 100;
const NARROW_NAME: usize = 16;
/// and a title in what is left, but never less than this.
const NARROW_REST: usize = 12 + NARROW_NAME + 8 + 8;
const NARROW_TITLE: usize = 8;

#[derive(Debug, Args)]
pub(super) struct Sessions {
    /// How many to list
    #[arg(long, default_value_t = 50, value_parser = limit)]
    limit: usize,
    /// How many to pass over
    #[arg(long, default_value_t = 0)]
    skip: usize,
}

impl Sessions {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading().await?;
        let (sessions, damaged) = salvage::page(&store, &desk.tenant, (self.skip, self.limit)).await?;
        if desk.json {
            sessions.iter().try_for_each(say_json)?;
            return Ok(ended(&damaged));
        }
        let mut listed = Listed::new(columns().filter(|columns| *columns < WIDE));
        for session in &sessions {
            listed.add(session, &title(desk, &store, session).await?);
        }
        say(listed.table.trim_fmt())?;
        if sessions.len() + damaged.len() == self.limit {
            talk(&format!(
                "{} shown; --skip {} goes on",
                counted(sessions.len() as u64, "session"),
                self.skip + self.limit
            ));
        }
        Ok(ended(&damaged))
    }
}

/// Says what is not listed because it is damaged, and whether all was well.
fn ended(damaged: &[String]) -> ExitCode {
    for what in damaged {
        talk(&format!("not listed: {what}"));
    }
    if damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The list; where there is little room, only of what sessions are found by.
struct Listed {
    table: Table,
    narrow: Option<usize>,
}

impl Listed {
    fn new(narrow: Option<usize>) -> Self {
        let table = match narrow {
            None => table(&["session", "name", "messages", "branches", "last", "title"], &[2, 3]),
            Some(_) => table(&["session", "name", "messages", "title"], &[2]),
        };
        Self { table, narrow }
    }

    fn add(&mut self, session: &Session, title: &str) {
        let (id, name, messages) =
            (session.id.to_string()[..12].to_owned(), name(session), session.messages.to_string());
        match self.narrow {
            None => {
                let branches = session.branches.len().to_string();
                self.table.add_row([id, name, messages, branches, local(session.last), title.to_owned()])
            }
            Some(columns) => {
                let title = shortened(title, columns.saturating_sub(NARROW_REST).max(NARROW_TITLE));
                self.table.add_row([id, shortened(&name, NARROW_NAME), messages, title])
            }
        };
    }
}

/// What clients call a session, in a few columns; nothing if they do not.
pub(super) fn name(session: &Session) -> String {
    shortened(session.declared.as_deref().unwrap_or_default(), NAME_COLUMNS)
}

/// What a session is about, in a few columns.
pub(super) async fn title(desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<String> {
    Ok(shortened(&title_of(store, &desk.tenant, session).await?, TITLE_COLUMNS))
}

/// What a session is called, in full: its title, its name and its id.
pub(super) async fn heading(desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<String> {
    let title = title(desk, store, session).await?;
    let name = session.declared.as_ref().map(|_| format!("{} · ", name(session))).unwrap_or_default();
    Ok(format!("{title} · {name}{}", session.id))
}
