//! `scrollback forget SESSION`: the only command that destroys, and only on a person's word.

use std::io::{BufRead, ErrorKind, IsTerminal};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use axum::http::Method;
use clap::Args;
use scrollback::Store;
use scrollback::store::Session;
use serde_json::json;

use super::{Desk, chat, counted, say_json, sessions, talk};
use crate::api::{Ask, Erased};

#[derive(Debug, Args)]
pub(super) struct Forget {
    /// The session: its name, its title or its id, or the beginning of one of them
    session: String,
    /// Do not ask; then its name or title has to be whole, or its id (8 digits of it are enough)
    #[arg(long)]
    yes: bool,
}

impl Forget {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading().await?;
        let session = self.session(desk, &store).await?;
        let (title, heading) =
            (sessions::title(desk, &store, &session).await?, sessions::heading(desk, &store, &session).await?);
        drop(store);
        // What was typed in chats may be about it, and nobody knows which lines are.
        let typed = chat::history_of(desk.settings.store.beside());
        let was_typed = typed.exists();
        if !self.yes {
            let messages = counted(session.messages, "message");
            let too = if was_typed { ", and with it what was typed in all chats in the terminal" } else { "" };
            confirm(&format!("“{title}” ({messages}, {}) will be erased for good{too}", session.id))?;
        }
        let ask = Ask::new(Method::DELETE, &["sessions", &session.id.to_string()]);
        let done: Erased = desk.asked(&ask).await?;
        let left = std::fs::remove_file(&typed).err().filter(|error| error.kind() != ErrorKind::NotFound);
        if desk.json {
            say_json(&json!({"session": done.session, "title": title, "erased": done.erased}))?;
        } else {
            talk(&format!("erased {}: {heading}", counted(done.erased, "message")));
        }
        if was_typed && left.is_none() {
            talk("erased what was typed in all chats in the terminal");
        }
        if let Some(error) = left {
            let stays = format!("what was typed in chats stays in {}; remove that file", typed.display());
            return Err(anyhow::Error::new(error).context(stays));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What is to be erased: where nobody is asked, it has to be named whole.
    async fn session(&self, desk: &Desk, store: &dyn Store) -> anyhow::Result<Session> {
        if self.yes {
            return desk.whole_session(store, &self.session).await.context("nothing was erased");
        }
        desk.session(store, &self.session).await
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
