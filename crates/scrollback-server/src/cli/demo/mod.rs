//! `scrollback demo`: a shipped conversation is played through the real proxy, with no key and no network.
//!
//! `script` is the conversation, `client` sends it as an SDK would, `play` watches what becomes of it, `tell` writes.

mod client;
mod play;
mod script;
mod tell;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use scrollback::SqliteStore;

use super::Desk;
use crate::config;
use crate::proxy::Proxy;
use crate::serve::Server;
use crate::upstream::QUOTE;
use client::Client;
use play::Play;
use script::Script;

/// The model's whole window.
const WINDOW_TOKENS: u32 = 3_000;
/// The model whose list price the ledger reckons with.
const PRICED_AS: &str = "gpt-5";

#[derive(Debug, Args)]
pub(super) struct Demo {}

impl Demo {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let folder = std::env::temp_dir().join(format!("scrollback-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).context("the demo needs a temporary folder")?;
        let outcome = shown(desk, folder.join("demo.db")).await;
        std::fs::remove_dir_all(&folder).context("the demo's temporary folder could not be removed")?;
        outcome.map(|()| ExitCode::SUCCESS)
    }
}

/// Starts a server like any other, plays, and stops it.
async fn shown(desk: &Desk, file: std::path::PathBuf) -> anyhow::Result<()> {
    let settings = config::usual(file)?;
    let store = Arc::new(SqliteStore::open(&settings.store)?);
    let engine = Desk { settings, tenant: desk.tenant.clone(), json: desk.json };
    let mut serve = engine.settings.serve.clone();
    serve.listen = "127.0.0.1:0".into();
    serve.upstream = QUOTE.into();
    serve.upstreams.clear();
    serve.window.tokens = WINDOW_TOKENS;
    let proxy = Arc::new(Proxy::new(Arc::new(engine.engine_over(store)), serve)?);
    let server = Server::bind(proxy.clone()).await?;
    let client = Client::new(server.address, PRICED_AS)?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async { drop(stopped.await) }));
    let played = Play::new(&proxy.engine, desk, client, Script::read()?).run().await;
    drop(stop);
    serving.await.context("the server ended early")??;
    played
}
