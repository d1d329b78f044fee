//! `scrollback sessions`: the conversations that are kept, newest first.

use std::process::ExitCode;

use clap::Args;
use scrollback::Store;
use scrollback::store::{Session, Which};

use super::{Desk, counted, local, say, say_json, shortened, table, talk};
use crate::api::title_of;

/// How many columns of a title are shown.
const TITLE_COLUMNS: usize = 48;

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
        let mut table = table(&["session", "messages", "branches", "last", "title"], &[1, 2]);
        for session in &sessions {
            let id = session.id.to_string();
            let title = title(desk, &store, session).await?;
            let (messages, branches) = (session.messages.to_string(), session.branches.len().to_string());
            table.add_row([id[..12].to_owned(), messages, branches, local(session.last), title]);
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

/// What a session is called, in a few columns.
pub(super) async fn title(desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<String> {
    Ok(shortened(&title_of(store, &desk.tenant, session).await?, TITLE_COLUMNS))
}
