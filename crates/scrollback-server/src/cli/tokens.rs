//! `scrollback tokens`: who else may ask this server. A token is printed once, alone, so that it can be piped; talk
//! goes to stderr.

use std::path::Path;
use std::process::ExitCode;

use axum::http::Method;
use clap::{Args, Subcommand};
use scrollback::Tenant;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, counted, local, say, say_json, table, talk};
use crate::access::KeptToken;
use crate::api::Ask;

#[derive(Debug, Args)]
pub(super) struct Tokens {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a token and print it, this once
    Add {
        /// What it is called: letters, digits, and any of - _ .
        name: String,
        // The same as the option that every command has, and here it says more.
        /// Whose conversations it opens; those of a tenant with its own name if not given, `local` are yours
        #[arg(long)]
        tenant: Option<String>,
        /// Whether it may make tokens and take them back
        #[arg(long)]
        admin: bool,
    },
    /// Take a token back; whatever is being answered to it ends at once
    Revoke {
        /// What it is called
        name: String,
    },
}

/// All tokens.
#[derive(Deserialize)]
struct Listed {
    tokens: Vec<KeptToken>,
}

/// A token that was made.
#[derive(Deserialize)]
struct Made {
    name: String,
    tenant: String,
    token: String,
}

impl Tokens {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        // Whomever a token is for, it is you who gives it.
        let desk = &Desk { tenant: Tenant::local(), ..desk.clone() };
        let is_first = |file: &Path| !file.exists() && matches!(self.verb, Some(Verb::Add { .. }));
        if desk.settings.store.file().is_none_or(is_first) {
            // Tokens may be made before anything is kept.
            drop(desk.writing().await?);
        }
        match self.verb {
            None => list(desk).await?,
            Some(Verb::Add { name, tenant, admin }) => {
                add(desk, &json!({"name": name, "tenant": tenant, "admin": admin})).await?;
            }
            Some(Verb::Revoke { name }) => revoke(desk, &name).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn list(desk: &Desk) -> anyhow::Result<()> {
    let Listed { tokens } = desk.asked(&Ask::new(Method::GET, &["tokens"])).await?;
    if desk.json {
        return tokens.iter().try_for_each(say_json);
    }
    let mut lines = table(&["name", "tenant", "made", "admin"], &[]);
    for token in &tokens {
        let admin = if token.admin { "yes" } else { "" };
        lines.add_row([token.name.clone(), token.tenant.clone(), local(token.created), admin.to_owned()]);
    }
    say(lines.trim_fmt())?;
    say(counted(tokens.len() as u64, "token"))
}

async fn add(desk: &Desk, wanted: &Value) -> anyhow::Result<()> {
    let answer = desk.ask(&Ask::new(Method::POST, &["tokens"]).saying(wanted)).await?;
    if desk.json {
        return say_json(&answer);
    }
    let Made { name, tenant, token } = super::control::read(answer)?;
    talk(&format!("“{name}” opens the conversations of “{tenant}”. Keep it well: it is not shown again."));
    talk("Send it as “Authorization: Bearer …”, or as x-scrollback-token beside a key of your own.");
    say(token)
}

async fn revoke(desk: &Desk, name: &str) -> anyhow::Result<()> {
    let answer = desk.ask(&Ask::new(Method::DELETE, &["tokens", name])).await?;
    if desk.json {
        return say_json(&answer);
    }
    talk(&format!("“{name}” lets nobody in any more"));
    Ok(())
}
