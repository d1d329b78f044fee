//! `scrollback strategy SESSION [NAME]`: how windows of a conversation are laid out, or are from now on.

use std::process::ExitCode;

use axum::http::Method;
use clap::Args;
use serde_json::json;

use super::Where;
use crate::api::{Chosen, Controlled};
use crate::cli::{Desk, say, say_json};

#[derive(Debug, Args)]
pub(in crate::cli) struct Strategy {
    #[command(flatten)]
    place: Where,
    /// Another: pages, topics, summary, artifacts, truncate, passthrough; default takes that of the settings
    name: Option<String>,
}

impl Strategy {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let chosen: Chosen = if let Some(name) = &self.name {
            let ask = self.place.ask(Method::PUT, &["strategy"]).saying(&json!({"strategy": name}));
            desk.asked(&ask).await?
        } else {
            let Controlled { strategy, layout, .. } = desk.asked(&self.place.ask(Method::GET, &["controls"])).await?;
            Chosen { strategy, layout }
        };
        if desk.json {
            say_json(&chosen)?;
            return Ok(ExitCode::SUCCESS);
        }
        let whose = if chosen.strategy.is_some() { "chosen for this session" } else { "as the settings say" };
        say(format!("{}, {whose}", chosen.layout))?;
        Ok(ExitCode::SUCCESS)
    }
}
