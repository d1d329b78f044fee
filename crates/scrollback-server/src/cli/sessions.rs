//! `scrollback sessions`: the conversations that are kept, newest first.

use std::process::ExitCode;

use clap::Args;
use scrollback::store::{Session, Span, Which};
use scrollback::{MessageId, SessionKey, Store};

use super::{Desk, counted, local, say, say_json, shortened, table, talk};

/// Among so many messages the first that is not an instruction is looked for.
const BEGINNING: usize = 16;
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
        let store = desk.reading()?;
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

/// What a session is called: its title, else how it begins, else its declared name.
pub(super) async fn title(desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<String> {
    if let Some(title) = session.title.as_ref().filter(|title| !title.is_empty()) {
        return Ok(shortened(title, TITLE_COLUMNS));
    }
    let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
    let first = store.read(&key, Span::Arrival { from: MessageId(0), limit: BEGINNING }).await?;
    let first = first.into_iter().find(|stored| stored.position().is_some());
    let begins = first.map(|stored| stored.message().to_text()).filter(|text| !text.trim().is_empty());
    Ok(shortened(&begins.or_else(|| session.declared.clone()).unwrap_or_default(), TITLE_COLUMNS))
}
