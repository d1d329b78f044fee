//! `scrollback sessions`: the conversations that are kept, newest first.

use std::process::ExitCode;

use clap::Args;
use comfy_table::Table;
use scrollback::Store;
use scrollback::store::Session;

use super::search::limit;
use super::{Desk, columns, counted, local, say, say_json, shortened, table, talk};
use crate::api::chat::is_drawn;
use crate::api::title_of;
use crate::salvage;

/// How many columns of a title are shown.
const TITLE_COLUMNS: usize = 48;
/// How many columns of the name that a client gave it.
const NAME_COLUMNS: usize = 24;
/// What the other columns take, with the space around each.
const REST: usize = 12 + NAME_COLUMNS + 8 + 8 + 16 + 12;
/// A terminal that is less wide shows fewer columns, with a shorter name.
const WIDE: usize = 100;
const NARROW_NAME: usize = 16;
const NARROW_REST: usize = 12 + NARROW_NAME + 8 + 8;
/// However little is left for it, so much of a title is shown.
const LEAST_TITLE: usize = 8;

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
        let mut listed = Listed::new(columns());
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

/// The list, a line for each session; where there is little room, only of what sessions are found by.
struct Listed {
    table: Table,
    is_narrow: bool,
    /// How many columns of a title there is room for.
    room: usize,
}

impl Listed {
    fn new(columns: Option<usize>) -> Self {
        let is_narrow = columns.is_some_and(|columns| columns < WIDE);
        let table = if is_narrow {
            table(&["session", "name", "messages", "title"], &[2])
        } else {
            table(&["session", "name", "messages", "branches", "last", "title"], &[2, 3])
        };
        let rest = if is_narrow { NARROW_REST } else { REST };
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(rest).max(LEAST_TITLE));
        Self { table, is_narrow, room }
    }

    fn add(&mut self, session: &Session, title: &str) {
        let (id, name, messages) =
            (session.id.to_string()[..12].to_owned(), name(session), session.messages.to_string());
        let title = shortened(title, self.room);
        if self.is_narrow {
            self.table.add_row([id, shortened(&name, NARROW_NAME), messages, title]);
        } else {
            let branches = session.branches.len().to_string();
            self.table.add_row([id, name, messages, branches, local(session.last), title]);
        }
    }
}

/// What clients call a session, in a few columns; nothing if they do not.
pub(super) fn name(session: &Session) -> String {
    shortened(session.declared.as_deref().filter(|name| !is_drawn(name)).unwrap_or_default(), NAME_COLUMNS)
}

/// What a session is about, in a few columns.
pub(super) async fn title(desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<String> {
    Ok(shortened(&title_of(store, &desk.tenant, session).await?, TITLE_COLUMNS))
}

/// What a session is called, in full: its title, its name and its id.
pub(super) async fn heading(desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<String> {
    let title = title(desk, store, session).await?;
    let name = Some(name(session)).filter(|name| !name.is_empty()).map(|name| format!("{name} · "));
    Ok(format!("{title} · {}{}", name.unwrap_or_default(), session.id))
}

#[cfg(test)]
mod tests {
    use scrollback::import::{self, Format};
    use scrollback::store::Which;
    use scrollback::{At, Log, MemoryStore, Tenant};

    use super::*;
    use crate::cli::columns_of;

    #[tokio::test]
    async fn a_session_takes_one_line_however_wide_the_terminal_is() {
        let (store, tenant) = (std::sync::Arc::new(MemoryStore::default()), Tenant::local());
        let log = Log::new(store.clone());
        for name in ["a-name-that-is-longer-than-any-column", "chat-0123456789abcdef0123"] {
            let text = format!(r#"{{"id":"{name}","messages":[{{"role":"user","content":"hi"}}]}}"#);
            let read = import::read(Format::OpenAi, &text).unwrap().conversations.remove(0);
            import::store(&log, &tenant, &read, At(0)).await.unwrap();
        }
        let sessions = store.sessions(&tenant, Which::Page { skip: 0, limit: 9 }).await.unwrap();
        for columns in [60, 80, 99, 100, 120, 128, 200] {
            let mut listed = Listed::new(Some(columns));
            for session in &sessions {
                listed.add(session, &shortened(&"刷墙 the gauge ".repeat(9), TITLE_COLUMNS));
            }
            let lines = listed.table.trim_fmt();
            let widest = lines.lines().map(|line| line.chars().map(columns_of).sum::<usize>()).max();
            assert!(widest <= Some(columns), "{columns}: {lines}");
            assert!(lines.contains("刷墙") && !lines.contains("chat-"), "{lines}");
        }
    }
}
