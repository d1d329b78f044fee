//! Does what a person writes to the chat: says it to the model, or does what a command is for.

use std::ops::ControlFlow;

use anyhow::Context;
use axum::http::Method;
use clap::Parser;
use scrollback::At;
use scrollback::strategy::StrategyName;
use serde_json::Value;

use super::commands::{self, COMMANDS, Line, Place};
use super::turn::branch_in;
use super::{Audience, Talk, meant, quoted};
use crate::api::Ask;
use crate::cli::{Arguments, local, perform, say, table, talk};
use crate::upstream::QUOTE;

/// How many messages are shown of a conversation that is opened.
const SHOWN: &str = "2";

impl Talk<'_> {
    /// Heeds a line; whatever goes wrong is told, and the conversation goes on.
    pub(super) async fn heed(&mut self, line: &str) -> anyhow::Result<ControlFlow<()>> {
        let outcome = match commands::read(line) {
            Line::Empty => Ok(()),
            Line::Message(message) => self.say(&message).await.map(drop),
            Line::Command("quit", _) => return Ok(ControlFlow::Break(())),
            Line::Command(name, rest) => self.steer(name, rest).await,
            Line::Unknown(name) => {
                self.screen.aside(&format!("there is no {name}: /help lists the commands; a space before it sends it"))
            }
        };
        if let Err(error) = outcome {
            self.screen.error(&error)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn steer(&mut self, name: &str, rest: &str) -> anyhow::Result<()> {
        match name {
            "help" => help(),
            "model" => self.model(rest).await,
            "new" => {
                self.place = Place::default();
                self.screen.aside("a new conversation")
            }
            "open" if rest.is_empty() => self.screen.aside("name a conversation: /sessions lists them"),
            "export" if rest.is_empty() => self.screen.aside("name a file: /export harbour.md"),
            "open" => self.open(rest).await,
            "branch" => self.branch(rest).await,
            "strategy" if self.place.session.is_none() && !rest.is_empty() => self.lay_out(rest),
            _ => self.program(name, rest).await,
        }
    }

    /// Lets the program's own command do it.
    async fn program(&mut self, name: &str, rest: &str) -> anyhow::Result<()> {
        if let ("pin" | "unpin" | "exclude" | "include", "", None) = (name, rest, &self.place.last) {
            self.place.last = self.last_reply().await?;
            if self.place.last.is_none() && self.place.session.is_some() {
                return self.screen.aside(&format!("there is no reply yet: name a message, such as /{name} m0"));
            }
        }
        let Some(words) = commands::program(name, rest, &self.place) else {
            return self.screen.aside("there is no conversation yet: say something, or /open one");
        };
        self.perform(words).await
    }

    async fn perform(&mut self, words: Vec<String>) -> anyhow::Result<()> {
        let arguments = Arguments::try_parse_from(words).map_err(|error| complaint(&error))?;
        self.server.renewed(self.desk).await?;
        tokio::select! {
            done = perform(arguments.command, self.desk) => done.map(drop),
            _ = tokio::signal::ctrl_c() => self.screen.aside("stopped"),
        }
    }

    async fn model(&mut self, name: &str) -> anyhow::Result<()> {
        if name.is_empty() {
            let model = self.voice.model.as_deref().unwrap_or("the usual one");
            return self.screen.aside(&format!("{model} answers; /model NAME changes that"));
        }
        // Whoever is at no upstream in particular may ask any model; quotations are their own upstream.
        self.voice.upstream = self.voice.upstream.take().filter(|upstream| upstream != QUOTE && name != QUOTE);
        self.voice.model = Some(name.to_owned());
        let may_be_quoted = self.voice.upstream.is_none() && name != QUOTE;
        match if may_be_quoted { quoted::hint_for_all(&self.server).await? } else { None } {
            Some(hint) => self.screen.aside(&hint),
            None => self.screen.aside(&format!("{name} answers from now on")),
        }
    }

    /// How a conversation that has not begun is to be laid out.
    fn lay_out(&mut self, strategy: &str) -> anyhow::Result<()> {
        if strategy != "default" {
            strategy.parse::<StrategyName>()?;
        }
        self.voice.strategy = Some(strategy.to_owned());
        self.screen.aside(&format!("{strategy}, for the conversation that begins now"))
    }

    /// Says where the conversation goes on, and who answers.
    pub(super) async fn greet(&mut self) -> anyhow::Result<()> {
        if let Some(session) = self.place.session.clone() {
            // Who answered there before may answer again.
            self.open(&session).await?;
        } else {
            self.screen.aside("a new conversation")?;
            self.tell_quoted().await?;
        }
        self.screen.aside("/help lists the commands, Ctrl-D leaves")
    }

    /// Tells once why quotations answer, if nobody asked for them.
    pub(super) async fn tell_quoted(&mut self) -> anyhow::Result<()> {
        let is_asked_for = self.voice.upstream.is_some() || self.voice.model.is_some();
        if is_asked_for || std::mem::replace(&mut self.is_told_quoted, true) {
            return Ok(());
        }
        match quoted::hint(&self.server).await? {
            Some(hint) if self.screen.audience == Audience::Person => self.screen.aside(&hint),
            Some(hint) => {
                talk(&hint);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Goes on with a conversation.
    async fn open(&mut self, name: &str) -> anyhow::Result<()> {
        // Whoever names one that is not there stays where they are.
        let session = meant(self.desk, name).await?;
        let branch = self.place.branch.filter(|_| self.place.session.as_ref() == Some(&session));
        let whole = self.server.ask(&Ask::new(Method::GET, &["sessions", &session]).with("branch", branch)).await?;
        self.place = Place { session: Some(session), branch: branch_in(&whole), last: None };
        if let Some(words) = commands::program("show", &format!("--last {SHOWN}"), &self.place) {
            self.perform(words).await?;
        }
        Ok(())
    }

    /// Lists the branches, or goes on with one.
    async fn branch(&mut self, number: &str) -> anyhow::Result<()> {
        let Some(session) = self.place.session.clone() else {
            return self.screen.aside("there is no conversation yet: say something, or /open one");
        };
        let chosen = if number.is_empty() {
            self.place.branch
        } else {
            Some(number.parse().context("a branch is a number: /branch lists them")?)
        };
        let whole = self.server.ask(&Ask::new(Method::GET, &["sessions", &session]).with("branch", chosen)).await?;
        if !number.is_empty() {
            (self.place.branch, self.place.last) = (chosen, None);
            let last = head_of(&whole).unwrap_or("its beginning");
            return self.screen.aside(&format!("branch {number} goes on from {last}"));
        }
        let mut lines = table(&["branch", "from", "to", "messages", "last", ""], &[0, 3]);
        for branch in whole["branches"].as_array().into_iter().flatten() {
            let text = |name: &str| branch[name].as_str().unwrap_or("–").to_owned();
            let last = At::parse(&text("last")).map_or_else(String::new, local);
            let is_this = if branch["id"] == whole["branch"] { "this one" } else { "" };
            let (id, messages) = (branch["id"].to_string(), branch["messages"].to_string());
            lines.add_row([id, text("fork"), text("head"), messages, last, is_this.to_owned()]);
        }
        say(lines.trim_fmt())
    }

    /// The last reply of the conversation, among its newest messages.
    async fn last_reply(&self) -> anyhow::Result<Option<String>> {
        let Some(session) = &self.place.session else { return Ok(None) };
        let ask = Ask::new(Method::GET, &["sessions", session, "messages"]).with("branch", self.place.branch);
        let newest = self.server.ask(&ask).await?;
        let reply = newest["messages"].as_array().into_iter().flatten().rfind(|message| message["role"] == "assistant");
        Ok(reply.and_then(|message| message["id"].as_str().map(str::to_owned)))
    }
}

/// The last message of the branch that is meant.
fn head_of(whole: &Value) -> Option<&str> {
    let branches = whole["branches"].as_array()?;
    branches.iter().find(|branch| branch["id"] == whole["branch"])?["head"].as_str()
}

/// What is wrong with the arguments of a command, without the words for whoever typed it at a shell.
fn complaint(error: &clap::Error) -> anyhow::Error {
    let told = error.to_string();
    let first = told.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    anyhow::anyhow!("{line}; /help lists what commands take")
}

fn help() -> anyhow::Result<()> {
    let mut lines = table(&[], &[]);
    for command in COMMANDS {
        lines.add_row([format!("/{} {}", command.name, command.takes), command.about.to_owned()]);
    }
    say(lines.trim_fmt())?;
    say("a \\ at the end of a line, Alt+Enter or a paste go on with a new line; Ctrl-C stops a reply")?;
    say("the bar: █ word for word, ▓ notes, ▒ recalled, ░ free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_understands_every_command() {
        let place = Place { session: Some("harbour".into()), branch: Some(2), last: Some("m7".into()) };
        let lines = [
            "/window",
            "/compress",
            "/undo",
            "/redo",
            "/notes",
            "/notes s60",
            "/recall the key",
            "/recall page 4",
            "/why m3",
            "/pin",
            "/unpin m3",
            "/exclude",
            "/include m3 m4",
            "/pins",
            "/rules",
            "/strategy",
            "/strategy pages",
            "/cost",
            "/show",
            "/show --last 5",
            "/show --message m3",
            "/show --message=m3",
            "/show --branch 1",
            "/search 押金 --limit 3",
            "/sessions",
            "/export my talk.md",
        ];
        for line in lines {
            let Line::Command(name, rest) = commands::read(line) else { panic!("no command: {line}") };
            let words = commands::program(name, rest, &place).unwrap();
            assert!(Arguments::try_parse_from(&words).is_ok(), "{line}: {words:?}");
        }
    }
}
