//! `scrollback demo`: a shipped conversation is played through the real proxy, with no key and no network.
//!
//! `script` is the conversation, `client` sends it as an SDK would, `play` watches what becomes of it, `tell` writes.

mod client;
mod play;
mod script;
mod tell;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::terminal::say_fitted;
use super::{Desk, bold, say, serve, talk};
use crate::config;
use crate::erasing::Eraser;
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
pub(super) struct Demo {
    /// Stay until Ctrl-C, so that the conversation can be looked at in a browser; a terminal is asked without this
    #[arg(long)]
    ui: bool,
}

impl Demo {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let folder = std::env::temp_dir().join(format!("scrollback-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).context("the demo needs a temporary folder")?;
        let outcome = shown(desk, folder.join("demo.db"), self.ui).await;
        std::fs::remove_dir_all(&folder).context("the demo's temporary folder could not be removed")?;
        outcome.map(|()| ExitCode::SUCCESS)
    }
}

/// Starts a server like any other, plays, lets people look at it, and stops it.
async fn shown(desk: &Desk, file: std::path::PathBuf, ui: bool) -> anyhow::Result<()> {
    // Whoever ends it early leaves nothing behind either.
    let told = serve::stopped()?;
    let settings = config::usual(file)?;
    let store = Arc::new(settings.store.writing().await?);
    let engine = Desk { settings, tenant: desk.tenant.clone(), json: desk.json };
    let mut settings = engine.settings.serve.clone();
    settings.listen = "127.0.0.1:0".into();
    settings.upstream = QUOTE.into();
    settings.upstreams.clear();
    settings.window.tokens = WINDOW_TOKENS;
    let proxy = Arc::new(Proxy::new(Arc::new(engine.engine_over(store.clone())), Eraser::new(store), settings)?);
    let server = Server::bind(proxy.clone()).await?;
    let address = server.address;
    let client = Client::new(address, PRICED_AS)?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async { drop(stopped.await) }));
    let shown = async {
        Play::new(&proxy.engine, desk, client, Script::read()?).run().await?;
        offer(address, ui).await
    };
    let outcome = tokio::select! {
        outcome = shown => outcome,
        () = told => Ok(()),
    };
    drop(stop);
    serving.await.context("the server ended early")??;
    outcome
}

/// Offers the UI on the conversation that was played: in a terminal until Enter, or for as long as somebody wants.
async fn offer(address: SocketAddr, ui: bool) -> anyhow::Result<()> {
    let asked = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !ui && !asked {
        return say("  scrollback demo --ui                   this conversation in a browser");
    }
    let (on, off) = bold();
    say(format!("\n{on}See it{off}"))?;
    say_fitted(&format!("  http://{address}/   this conversation in a browser: chat, windows, ledger"))?;
    if ui {
        talk("Ctrl-C ends the demo");
        return std::future::pending().await;
    }
    talk("Enter ends the demo");
    let (enter, entered) = tokio::sync::oneshot::channel();
    // A thread of its own: nobody waits for it when the demo is ended otherwise.
    std::thread::spawn(move || enter.send(std::io::stdin().read_line(&mut String::new())));
    // It is over as well if nobody can write any more.
    let _ = entered.await;
    Ok(())
}
