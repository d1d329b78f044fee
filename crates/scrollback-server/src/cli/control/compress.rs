//! `scrollback compress SESSION`: folds now what would be folded when the window is full.

use std::process::ExitCode;

use axum::http::Method;
use clap::Args;

use super::door::read;
use super::{Where, undo};
use crate::api::Moved;
use crate::cli::{Desk, say, say_json, talk};

#[derive(Debug, Args)]
pub(in crate::cli) struct Compress {
    #[command(flatten)]
    place: Where,
}

impl Compress {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let answer = desk.ask(&self.place.ask(Method::POST, &["compress"])).await?;
        if desk.json {
            say_json(&answer)?;
            return Ok(ExitCode::SUCCESS);
        }
        let moved: Moved = read(answer)?;
        if moved.changed {
            undo::tell(&moved)?;
            if moved.before.is_none() && moved.note_tokens >= moved.tokens {
                talk("the notes take more room than what they stand for: in a short conversation nothing is gained");
            }
            talk(&format!("`scrollback undo {}` takes it back", self.place.typed()));
        } else {
            say(format!("nothing is old enough to be folded ({})", moved.layout))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
