//! `scrollback chat [SESSION] [MESSAGE]`: a conversation in the terminal, or one message and its answer for pipes.
//!
//! `server` is whom it asks, `reply` reads what comes back, `turn` plays one message and its answer, `screen` and
//! `status` show it, `editor` is the line a person writes on, `commands` what they may write to the chat itself,
//! `steer` does it. `quoted` says why there is no model.

mod commands;
mod editor;
mod quoted;
mod reply;
mod screen;
mod server;
mod status;
mod steer;
mod turn;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use axum::http::Method;
use clap::Args;
use scrollback::Error;
use serde_json::json;

use super::serve::Outside;
use super::terminal::is_coloured;
use super::{Desk, log_to_stderr, say_json, talk};
use crate::api::Ask;
use commands::Place;
use editor::Editor;
pub(super) use editor::history_of;
use screen::{Audience, Screen};
use server::Server;

/// What stands for a new conversation on the command line.
const NEW: &str = "-";

#[derive(Debug, Args)]
pub(super) struct Chat {
    /// The session to go on with: its name, its id, or the beginning of either; a new one if not given, or -
    session: Option<String>,
    /// What to say, once; standard input is added to it, unless that is a terminal
    message: Option<String>,
    /// How windows are laid out: pages, topics, summary, artifacts, truncate, passthrough
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// The model that answers
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The upstream it is asked at: one from the settings, or quote
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,
    /// Which branch of the session to go on with; the newest if not given
    #[arg(long, value_name = "NUMBER", requires = "session")]
    branch: Option<u32>,
    /// What a new session begins with
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// Do not remember what was written for the arrow keys
    #[arg(long)]
    no_history: bool,
}

/// How a process ends that was told to, as shells know it.
const TOLD_TO_END: i32 = 128 + 15;

/// As much of a session's id as people are shown.
const SHOWN_ID: usize = 12;

/// Who answers, and how a new conversation is laid out.
#[derive(Debug, Default)]
struct Voice {
    model: Option<String>,
    upstream: Option<String>,
    strategy: Option<String>,
    instructions: Option<String>,
}

/// A conversation as it goes on.
struct Talk<'a> {
    desk: &'a Desk,
    server: Server,
    voice: Voice,
    place: Place,
    screen: Screen,
    /// Whether it was told why quotations answer.
    is_told_quoted: bool,
    /// Whether what was not answered is kept all the same.
    is_kept: bool,
}

impl Chat {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        // Warnings would fall into the conversation; whoever wants them says so.
        log_to_stderr("off")?;
        desk.local_only("chat is for conversations of your own")?;
        let message = self.said()?;
        let audience = match message {
            _ if desk.json => Audience::Json,
            Some(_) => Audience::Pipe,
            None => Audience::Person,
        };
        let history = (!self.no_history).then(|| history_of(desk.settings.store.beside()));
        let mut talk = self.begun(desk, audience).await?;
        let mut outside = Outside::listen()?;
        let outcome = tokio::select! {
            outcome = talk.goes_on(message.as_deref(), history) => Some(outcome),
            () = outside.says_so() => None,
        };
        talk.server.leave().await?;
        match outcome {
            Some(outcome) => outcome,
            // Whoever reads what is typed would be waited for.
            None => std::process::exit(TOLD_TO_END),
        }
    }

    /// What is to be said at once: the message, and what is piped in.
    fn said(&self) -> anyhow::Result<Option<String>> {
        let mut piped = String::new();
        if !std::io::stdin().is_terminal() {
            std::io::stdin().lock().read_to_string(&mut piped).context("standard input is no text (UTF-8)")?;
        } else if self.message.is_none() {
            return Ok(None);
        }
        let parts = [self.message.as_deref().unwrap_or_default().trim(), piped.trim_end()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
        if parts.is_empty() {
            bail!("there is nothing to say: pipe a message in, or write one after the session");
        }
        Ok(Some(parts.join("\n\n")))
    }

    async fn begun(self, desk: &Desk, audience: Audience) -> anyhow::Result<Talk<'_>> {
        let server = Server::open(desk).await?;
        let session = match self.session.filter(|session| session != NEW) {
            Some(name) => Some(meant(desk, &name).await.map_err(|error| hinted(error, self.branch))?),
            None => None,
        };
        let mut voice = Voice {
            model: self.model,
            upstream: self.upstream,
            strategy: self.strategy,
            instructions: self.instructions,
        };
        if let Some(session) = &session
            && let Some(strategy) = voice.strategy.take()
        {
            let ask = Ask::new(Method::PUT, &["sessions", session, "strategy"]).saying(&json!({"strategy": strategy}));
            server.ask(&ask).await?;
        }
        let screen = Screen::new(audience, is_coloured(is_seen(audience)));
        let place = Place { session, branch: self.branch, last: None };
        Ok(Talk { desk, server, voice, place, screen, is_told_quoted: false, is_kept: false })
    }
}

/// The session that a person means, as the API takes it: by its id, as lists show it.
async fn meant(desk: &Desk, name: &str) -> anyhow::Result<String> {
    let session = desk.session(&desk.reading().await?, name).await?;
    Ok(session.id.to_string().chars().take(SHOWN_ID).collect())
}

/// What may help whoever names a conversation that is not there; who names a branch means one that is.
fn hinted(error: anyhow::Error, branch: Option<u32>) -> anyhow::Error {
    let is_unknown = matches!(error.downcast_ref(), Some(Error::NotFound(_))) && branch.is_none();
    if is_unknown { anyhow!("{error}\n`scrollback chat - MESSAGE` begins a new one") } else { error }
}

/// Whether what is shown is shown on a terminal.
fn is_seen(audience: Audience) -> bool {
    match audience {
        Audience::Person => std::io::stdout().is_terminal(),
        Audience::Pipe | Audience::Json => std::io::stderr().is_terminal(),
    }
}

impl Talk<'_> {
    async fn goes_on(&mut self, message: Option<&str>, history: Option<PathBuf>) -> anyhow::Result<ExitCode> {
        match message {
            Some(message) => self.once(message).await,
            None => self.on_and_on(history).await,
        }
    }

    /// Says one thing.
    async fn once(&mut self, message: &str) -> anyhow::Result<ExitCode> {
        let answered = self.say(message).await;
        self.screen.close()?;
        match (answered, &self.place.session) {
            (Ok(true), _) => Ok(ExitCode::SUCCESS),
            (Ok(false), _) => Ok(ExitCode::FAILURE),
            (Err(error), Some(session)) if self.is_kept && !crate::is_closed_pipe(&error) => {
                self.unanswered(&error, session)?;
                Ok(ExitCode::FAILURE)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Tells why a message was not answered, and where it is kept.
    fn unanswered(&self, error: &anyhow::Error, session: &str) -> anyhow::Result<()> {
        let why = crate::told(error);
        if self.screen.audience == Audience::Json {
            say_json(&json!({"error": why, "session": session}))?;
        }
        talk(&format!("error: {why}"));
        talk(&format!("your message is kept in session {session}: `scrollback chat {session} …` goes on there"));
        Ok(())
    }

    /// Goes on until the person leaves.
    async fn on_and_on(&mut self, history: Option<PathBuf>) -> anyhow::Result<ExitCode> {
        let mut editor = Editor::new(history, self.screen.colour)?;
        self.greet().await?;
        loop {
            // Waiting for a person must not keep the server from answering others.
            let read = tokio::task::spawn_blocking(move || {
                let line = editor.read();
                (editor, line)
            });
            let (back, line) = read.await.context("the line could not be read")?;
            editor = back;
            let Some(line) = line? else { return Ok(ExitCode::SUCCESS) };
            if self.heed(&line).await?.is_break() {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}
