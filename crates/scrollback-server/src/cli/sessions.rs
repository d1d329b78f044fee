//! `scrollback sessions`: the conversations that are kept, newest first.

use std::process::ExitCode;

use clap::Args;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use scrollback::store::{Session, Span, Which};
use scrollback::{MessageId, SessionKey, Store};

use super::{Desk, counted, local, say, say_json, talk};

/// Among so many messages the first that is not an instruction is looked for.
const BEGINNING: usize = 16;
/// How much of a title is shown.
const TITLE_CHARS: usize = 48;

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
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(["session", "messages", "branches", "last", "title"]);
        for session in &sessions {
            let id = session.id.to_string();
            let title = title(desk, &store, session).await?;
            let (messages, branches) = (session.messages.to_string(), session.branches.len().to_string());
            table.add_row([id[..12].to_owned(), messages, branches, local(session.last), title]);
        }
        for numbers in [1, 2] {
            if let Some(column) = table.column_mut(numbers) {
                column.set_cell_alignment(CellAlignment::Right);
            }
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
        return Ok(shortened(title));
    }
    let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
    let first = store.read(&key, Span::Arrival { from: MessageId(0), limit: BEGINNING }).await?;
    let first = first.into_iter().find(|stored| stored.position().is_some());
    let begins = first.map(|stored| stored.message().to_text()).filter(|text| !text.trim().is_empty());
    Ok(shortened(&begins.or_else(|| session.declared.clone()).unwrap_or_default()))
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE_CHARS { line } else { line.chars().take(TITLE_CHARS - 1).chain(['…']).collect() }
}
