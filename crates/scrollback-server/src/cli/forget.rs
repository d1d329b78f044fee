//! `scrollback forget SESSION`: the only command that destroys, and only on a person's word.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use scrollback::{Forget as _, SessionKey};

use super::{Desk, chat, counted, say_json, sessions, talk};

#[derive(Debug, Args)]
pub(super) struct Forget {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Forget {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.changing().await?;
        let session = desk.session(&*store, &self.session).await?;
        let title = sessions::title(desk, &*store, &session).await?;
        if !self.yes {
            talk(&format!(
                "“{title}” ({}) will be erased for good. Type yes to go on:",
                counted(session.messages, "message")
            ));
            if !confirmed()? {
                bail!("nothing was erased; without a terminal, --yes is needed");
            }
        }
        let erased = store.forget(&SessionKey { tenant: desk.tenant.clone(), id: session.id }).await?;
        // What was typed in chats may be about it, and nobody knows which lines are.
        let _ = std::fs::remove_file(chat::history_of(desk.settings.store.beside()));
        if desk.json {
            say_json(&serde_json::json!({"session": session.id, "erased": erased}))?;
        } else {
            talk(&format!("erased {}", counted(erased, "message")));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether a person at a terminal says yes.
pub(super) fn confirmed() -> anyhow::Result<bool> {
    let mut answer = String::new();
    let input = std::io::stdin();
    if input.is_terminal() {
        input.lock().read_line(&mut answer)?;
    }
    Ok(answer.trim() == "yes")
}
