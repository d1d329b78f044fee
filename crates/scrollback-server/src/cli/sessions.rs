//! `scrollback sessions`: the conversations that are kept, newest first.

use std::process::ExitCode;

use clap::Args;
use scrollback::Store;
use scrollback::store::{Session, Which};

use super::{Desk, counted, local, say, say_json, shortened, table, talk};
use crate::api::title_of;

/// How many columns of a title are shown.
const TITLE_COLUMNS: usize = 48;
/// How many columns of the name that a client gave it.
const NAME_COLUMNS: usize = 24;

#[derive(Debug, Args)]
pub(super) struct Sessions {
    /// How many to list
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// How many to pass over
    #[arg(long, default_value_t = 0)]
    skip: usize,
}

impl Sessions {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading().await?;
        let sessions = store.sessions(&desk.tenant, Which::Page { skip: self.skip, limit: self.limit }).await?;
        if desk.json {
            sessions.iter().try_for_each(say_json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = table(&["session", "name", "messages", "branches", "last", "title"], &[2, 3]);
        for session in &sessions {
            let (id, name) = (session.id.to_string(), name(session));
            let title = title(desk, &store, session).await?;
            let (messages, branches) = (session.messages.to_string(), session.branches.len().to_string());
            table.add_row([id[..12].to_owned(), name, messages, branches, local(session.last), title]);
        }
        say(table.trim_fmt())?;
        if sessions.len() == self.limit {
            talk(&format!(
                "{} shown; --skip {} goes on",
                counted(self.limit as u64, "session"),
                self.skip + self.limit
            ));
        }
        Ok(ExitCode::SUCCESS)
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
