//! `scrollback forget SESSION`: the only command that destroys, and only on a person's word.

use std::io::{BufRead, ErrorKind, IsTerminal};
use std::process::ExitCode;

use anyhow::ensure;
use axum::http::Method;
use clap::Args;

use super::{Desk, chat, counted, say_json, sessions, talk};
use crate::api::{Ask, Erased};

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
        let store = desk.reading().await?;
        let session = desk.session(&store, &self.session).await?;
        let title = sessions::title(desk, &store, &session).await?;
        drop(store);
        if !self.yes {
            let messages = counted(session.messages, "message");
            confirm(&format!("“{title}” ({messages}) will be erased for good"))?;
        }
        let ask = Ask::new(Method::DELETE, &["sessions", &session.id.to_string()]);
        let done: Erased = desk.asked(&ask).await?;
        // What was typed in chats may be about it, and nobody knows which lines are.
        let typed = chat::history_of(desk.settings.store.beside());
        let left = std::fs::remove_file(&typed).err().filter(|error| error.kind() != ErrorKind::NotFound);
        if desk.json {
            say_json(&done)?;
        } else {
            talk(&format!("erased {}", counted(done.erased, "message")));
        }
        if let Some(error) = left {
            let stays = format!("what was typed in chats stays in {}; remove that file", typed.display());
            return Err(anyhow::Error::new(error).context(stays));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks a person at a terminal whether something is to be erased; an error if that is not so.
pub(super) fn confirm(what: &str) -> anyhow::Result<()> {
    let (input, mut answer) = (std::io::stdin(), String::new());
    ensure!(input.is_terminal(), "nothing was erased: nobody can be asked here. With --yes, {what}");
    talk(&format!("{what}. Type yes to go on:"));
    input.lock().read_line(&mut answer)?;
    ensure!(answer.trim() == "yes", "nothing was erased: the answer was not yes");
    Ok(())
}
