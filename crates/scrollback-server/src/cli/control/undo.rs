//! `scrollback undo SESSION` and `redo`: what was folded last is shown again, or folded again. Nothing is lost by
//! either.

use std::process::ExitCode;

use axum::http::Method;
use clap::Args;

use super::Where;
use super::door::read;
use crate::api::Moved;
use crate::cli::{Desk, counted, grouped, say, say_json};

#[derive(Debug, Args)]
pub(in crate::cli) struct Undo {
    #[command(flatten)]
    place: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Redo {
    #[command(flatten)]
    place: Where,
}

impl Undo {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let answer = desk.ask(&self.place.ask(Method::POST, &["undo"])).await?;
        if desk.json {
            say_json(&answer)?;
            return Ok(ExitCode::SUCCESS);
        }
        let moved: Moved = read(answer)?;
        tell(&moved)?;
        say("the next fold waits until the window must have one")?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Redo {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let answer = desk.ask(&self.place.ask(Method::POST, &["redo"])).await?;
        if desk.json {
            say_json(&answer)?;
        } else {
            tell(&read(answer)?)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Says what changed, and what counts now.
pub(super) fn tell(moved: &Moved) -> anyhow::Result<()> {
    let tokens = grouped(moved.tokens);
    let ends =
        |ends: Option<[scrollback::MessageId; 2]>| ends.map_or(String::new(), |[_, last]| format!(" up to {last}"));
    match (moved.opened, moved.folded) {
        (0, 0) => say("the same messages are folded, under other notes")?,
        (0, folded) => say(format!("{}{} are folded, {tokens} tokens", counted(folded, "message"), ends(moved.after)))?,
        (opened, _) => {
            say(format!("{}{} are shown again, {tokens} tokens", counted(opened, "message"), ends(moved.before)))?;
        }
    }
    counts(moved)
}

/// Says what counts now.
fn counts(moved: &Moved) -> anyhow::Result<()> {
    let Some([first, last]) = moved.after else { return say("nothing is folded any more") };
    let notes = match &moved.notes[..] {
        [] => String::new(),
        [one] => format!(", under {one}"),
        [one, .., last] => format!(", under {} from {one} to {last}", counted(moved.notes.len() as u64, "note")),
    };
    say(format!("folded now: {first}–{last}{notes}, {} tokens ({})", grouped(moved.note_tokens), moved.layout))
}
