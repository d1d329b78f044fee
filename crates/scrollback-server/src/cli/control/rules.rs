//! `scrollback rules SESSION`: what the person told the model to keep to, and which of it still holds.

use std::process::ExitCode;

use axum::http::Method;
use clap::Args;

use super::Where;
use super::door::read;
use crate::api::{RuleLine, Rules as Listed};
use crate::cli::{Desk, say, say_json, shortened, table, talk};

/// How many columns of a rule are shown.
const TEXT_COLUMNS: usize = 72;

#[derive(Debug, Args)]
pub(in crate::cli) struct Rules {
    #[command(flatten)]
    place: Where,
    /// Let go of a rule, such as r12.1
    #[arg(long, value_name = "RULE", conflicts_with = "restore")]
    drop: Option<String>,
    /// Take a rule up again
    #[arg(long, value_name = "RULE")]
    restore: Option<String>,
}

impl Rules {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let changed = [(&self.drop, Method::DELETE), (&self.restore, Method::PUT)];
        let changed = changed.into_iter().find_map(|(rule, method)| rule.as_ref().map(|rule| (rule, method)));
        match changed {
            Some((rule, method)) => self.change(desk, rule, method).await?,
            None => self.list(desk).await?,
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn change(&self, desk: &Desk, rule: &str, method: Method) -> anyhow::Result<()> {
        let answer = desk.ask(&self.place.ask(method, &["rules", rule])).await?;
        if desk.json {
            return say_json(&answer);
        }
        let line: RuleLine = read(answer)?;
        let holds = if line.holds { "holds" } else { "holds no more" };
        say(format!("{} {holds}: {}", line.rule, line.text))
    }

    async fn list(&self, desk: &Desk) -> anyhow::Result<()> {
        let Listed { rules } = desk.asked(&self.place.ask(Method::GET, &["rules"])).await?;
        if desk.json {
            return rules.iter().try_for_each(say_json);
        }
        if rules.is_empty() {
            talk("no rule was stated: sentences such as “always …” and “never …” are");
            return Ok(());
        }
        let mut lines = table(&["rule", "message", "state", "words"], &[]);
        for RuleLine { rule, message, text, holds } in rules {
            let state = if holds { "holds" } else { "dropped" };
            lines.add_row([rule, message.to_string(), state.to_owned(), shortened(&text, TEXT_COLUMNS)]);
        }
        say(lines.trim_fmt())
    }
}
