//! `scrollback serve`: point an OpenAI client at it, and the conversation never overflows.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use scrollback::Engine;
use scrollback::task::{TaskSettings, Tasks};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{Desk, talk};
use crate::config::Serve as Settings;
use crate::helper::Helper;
use crate::proxy::Proxy;
use crate::reviews::Reviews;
use crate::serve::Server;

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Where to listen, such as 127.0.0.1:4141; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The upstream of requests that name none: one from the settings, or quote
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,
}

impl Serve {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let mut settings = desk.settings.serve.clone();
        settings.listen = self.listen.unwrap_or(settings.listen);
        settings.upstream = self.upstream.unwrap_or(settings.upstream);
        let filter = EnvFilter::try_from_env("SCROLLBACK_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
        let store = desk.writing()?;
        let engine = Engine::new(store, tasks(&settings)?, desk.settings.engine.clone());
        let proxy = Arc::new(Proxy::new(Arc::new(engine), settings)?);
        proxy.upstream(None).with_context(|| format!("there is no upstream “{}”", proxy.serve.upstream))?;
        let server = Server::bind(proxy.clone()).await?;
        talk(&format!("listening on http://{}", server.address));
        talk(&format!(
            "point an OpenAI client at http://{}/v1; it is sent on to “{}”",
            server.address, proxy.serve.upstream
        ));
        let reviews = tokio::spawn(reviews(desk, &proxy).run());
        server.run(stopped()?).await?;
        // A review that is cut short goes on the next time; each of its steps is whole.
        reviews.abort();
        proxy.settled().await;
        talk("stopped");
        Ok(ExitCode::SUCCESS)
    }
}

fn reviews(desk: &Desk, proxy: &Proxy) -> Reviews {
    let archive_days = desk.settings.engine.strategies.topics.archive_days;
    Reviews { engine: proxy.engine.clone(), tenant: desk.tenant.clone(), hour: desk.settings.review_hour, archive_days }
}

/// Who answers tasks.
pub(super) fn tasks(settings: &Settings) -> anyhow::Result<Tasks> {
    let Some(helper) = &settings.helper else { return Ok(Tasks::offline()) };
    let upstream = settings.upstreams.get(&helper.upstream);
    let upstream = upstream.with_context(|| format!("helper.upstream is “{}”, which there is not", helper.upstream))?;
    let upstream = crate::upstream::Upstream::http(&helper.upstream, upstream, crate::upstream::client()?)?;
    let model = Helper { upstream: Arc::new(upstream), model: helper.model.clone(), timeout: helper.timeout };
    Ok(Tasks::new(Arc::new(model), TaskSettings { at_once: helper.at_once, ..TaskSettings::default() }))
}

/// Waits for the word to stop.
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    let mut end = signal(SignalKind::terminate()).context("signals cannot be listened for")?;
    Ok(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = end.recv() => {}
        }
    })
}
