//! `scrollback serve`: point an OpenAI or Anthropic client at it, and the conversation never overflows.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::Args;
use scrollback::Engine;
use scrollback::strategy::StrategySettings;
use scrollback::task::{TaskSettings, Tasks};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Desk, USUAL_LOG, chat::history_of, log_to_stderr, talk};
use crate::address::{Holder, Posted, reachable};
use crate::config::{AccessRule, HelperSettings, KnownUpstream, Serve as Settings};
use crate::erasing::Eraser;
use crate::helper::{Helper, watch};
use crate::jobs::Jobs;
use crate::proxy::Proxy;
use crate::reviews::Reviews;
use crate::serve::{Server, is_address, reserved};
use crate::store::{Opened, Pulse};
use crate::upstream::{QUOTE, Upstream};

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Where to listen, such as 127.0.0.1:4141; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The upstream of all requests that name none: one from the settings, or quote
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,
}

impl Serve {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        desk.local_only("a server is for every tenant")?;
        let mut settings = desk.settings.serve.clone();
        settings.listen = self.listen.unwrap_or(settings.listen);
        if let Some(upstream) = &self.upstream {
            settings.send_to(upstream);
        }
        log_to_stderr(USUAL_LOG)?;
        checked(&settings).await?;
        let reserved = reserved(&settings.listen).await;
        // A server that cannot start makes no store. Where there is one, who holds it tells more than that the address
        // is taken.
        let reserved = if desk.settings.store.present().is_err() { Ok(reserved?) } else { reserved };
        let proxy = proxy(desk, desk.for_a_server().await?, settings)?;
        let server = Server::over(reserved?, proxy.clone()).await?;
        // Whoever hears where it listens may tell it to stop.
        let stop = stopped()?;
        let file = desk.settings.store.file();
        let _posted =
            file.map(|file| Posted::post(file, Holder::Serve, server.address, &proxy.access.pass)).transpose()?;
        talk(&format!("listening on http://{}", server.address));
        let embedded =
            proxy.engine.embedder().map(|_| format!("embeddings come from {}", proxy.serve.embeddings.shown()));
        let lines = pointers(&proxy, server.address).into_iter().chain(admitted(&proxy, server.address));
        lines.chain(embedded).for_each(|line| talk(&line));
        attended(reviews(desk, &proxy), proxy, server, stop).await?;
        talk("stopped");
        Ok(ExitCode::SUCCESS)
    }
}

/// An error if what was said cannot be done, whatever is in the store and whoever holds it.
async fn checked(settings: &Settings) -> anyhow::Result<()> {
    is_address(&settings.listen).await?;
    let names: Vec<&str> = settings.upstreams.keys().map(String::as_str).chain([QUOTE]).collect();
    let is_known = names.contains(&settings.upstream.as_str());
    ensure!(is_known, "there is no upstream “{}”; there are {}", settings.upstream, names.join(", "));
    tasks(settings).map(drop)
}

/// A proxy over a store, with the helpers of the settings.
pub(super) fn proxy(desk: &Desk, store: Arc<Opened>, settings: Settings) -> anyhow::Result<Arc<Proxy>> {
    let pulse = Arc::new(Pulse::of(&store));
    let (store, forget) = store.served(pulse.clone());
    let engine = Engine::new(store, tasks(&settings)?, desk.settings.engine.clone());
    let engine = with_helpers(engine, &settings, &desk.settings.engine.strategies)?;
    let engine = with_embeddings(engine, &settings)?;
    if let Some(words) = keyless(&settings)? {
        tracing::warn!("{words}");
    }
    let typed = history_of(desk.settings.store.beside());
    let mut proxy = Proxy::new(Arc::new(engine), Eraser::new(forget).with_typed(typed), settings)?;
    proxy.pulse = pulse;
    Ok(Arc::new(proxy))
}

/// Serves until told to stop, and does what nobody waits for beside it.
pub(super) async fn attended(
    reviews: Reviews,
    proxy: Arc<Proxy>,
    server: Server,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let reviews = tokio::spawn(reviews.run());
    let jobs = Jobs { engine: proxy.engine.clone(), tokens: proxy.access.tokens.clone() };
    let jobs = tokio::spawn(jobs.run());
    let wiping = tokio::spawn(proxy.eraser.clone().keep_wiping());
    server.run(stop).await?;
    // What is cut short goes on the next time; each of its steps is whole.
    reviews.abort();
    jobs.abort();
    wiping.abort();
    proxy.settled().await;
    proxy.eraser.wipe_now().await;
    Ok(())
}

/// Where clients are to be pointed.
fn pointers(proxy: &Proxy, address: SocketAddr) -> Vec<String> {
    let serve = &proxy.serve;
    let messages = proxy.upstream(&serve.messages_upstream).map_or(&serve.upstream, |_| &serve.messages_upstream);
    pointed(address, &serve.upstream, messages)
}

/// The same by the names of the upstreams.
fn pointed(address: SocketAddr, upstream: &str, messages: &str) -> Vec<String> {
    let near = reachable(address);
    let mut lines = vec![
        format!("point an OpenAI client at http://{near}/v1; it is sent on to “{upstream}”"),
        format!("point an Anthropic client at http://{near}; it is sent on to “{messages}”"),
    ];
    if near != address {
        let port = address.port();
        lines.push(format!(
            "on other machines, write an address of this one in its place, as in http://192.168.1.5:{port}, or a name that \
             serve.hosts lists"
        ));
    }
    lines
}

/// Who is let in, where that is not just who sits here.
fn admitted(proxy: &Proxy, address: SocketAddr) -> Option<String> {
    let here = address.ip().to_canonical().is_loopback();
    let who = match proxy.serve.access {
        AccessRule::Local if here => return None,
        AccessRule::Local => "from other machines, only whoever has a token is let in",
        AccessRule::Tokens => "only whoever has a token is let in",
    };
    let none = "; there is none yet: `scrollback tokens add NAME` makes one";
    Some(format!("{who}{}", if proxy.access.tokens.is_empty() { none } else { "" }))
}

/// Who reviews topics, once a day.
pub(super) fn reviews(desk: &Desk, proxy: &Proxy) -> Reviews {
    let archive_days = desk.settings.engine.strategies.topics.archive_days;
    let (engine, tokens) = (proxy.engine.clone(), proxy.access.tokens.clone());
    Reviews { engine, tokens, hour: desk.settings.review_hour, archive_days }
}

/// Who answers tasks.
pub(super) fn tasks(settings: &Settings) -> anyhow::Result<Tasks> {
    settings.helper.as_ref().map_or_else(|| Ok(Tasks::offline()), |helper| tasks_of(settings, helper, &helper.model))
}

/// An engine with the helpers that the settings name beside the usual one.
pub(super) fn with_helpers(
    engine: Engine,
    settings: &Settings,
    strategies: &StrategySettings,
) -> anyhow::Result<Engine> {
    let Some(helper) = &settings.helper else { return Ok(engine) };
    let named = strategies.summary.models.values().filter_map(|model| model.helper.as_deref());
    let named = named.chain(strategies.topics.split_model.as_deref());
    named.collect::<BTreeSet<_>>().into_iter().try_fold(engine, |engine, name| {
        let tasks = tasks_of(settings, helper, name)?;
        Ok(engine.with_helper(name, tasks))
    })
}

/// An engine with embeddings, if the settings name any.
fn with_embeddings(engine: Engine, settings: &Settings) -> anyhow::Result<Engine> {
    let embedder = crate::embeddings::embedder(&settings.embeddings)?;
    Ok(match embedder {
        Some(embedder) => engine.with_embedder(embedder, settings.embeddings.engine.clone()),
        None => engine,
    })
}

/// Tasks that a model of the helper's upstream answers.
fn tasks_of(settings: &Settings, helper: &HelperSettings, model: &str) -> anyhow::Result<Tasks> {
    let price = settings.window.prices.of(model).cloned();
    let asked = Helper::new(upstream_of(settings, helper)?, model, helper.timeout);
    let tasks = Tasks::new(Arc::new(asked), TaskSettings { at_once: helper.at_once, ..TaskSettings::default() });
    Ok(tasks.named(model).with_purse(helper.purse.clone(), price).watched(watch(model)))
}

fn upstream_of(settings: &Settings, helper: &HelperSettings) -> anyhow::Result<Upstream> {
    let upstream = settings.upstreams.get(&helper.upstream);
    let upstream = upstream.with_context(|| format!("helper.upstream is “{}”, which there is not", helper.upstream))?;
    Upstream::http(&helper.upstream, upstream, crate::upstream::client()?)
}

/// What a person should know whose helper has no key.
fn keyless(settings: &Settings) -> anyhow::Result<Option<String>> {
    let Some(helper) = &settings.helper else { return Ok(None) };
    if upstream_of(settings, helper)?.is_ready() {
        return Ok(None);
    }
    let name = &helper.upstream;
    let known = settings.upstreams.get(name).and_then(|upstream| KnownUpstream::at(name, &upstream.url));
    let variable = known.map(|known| format!("set {}, or ", known.key_env)).unwrap_or_default();
    Ok(Some(format!(
        "no key is known for the helper at the upstream “{name}”; if it needs one, {variable}add an upstream with a key_env for \
         the helper alone, and name it in helper.upstream; what the helper cannot do is done offline"
    )))
}

/// The word to end, from outside: another process says so, or the terminal is gone.
pub(super) struct Outside {
    end: Signal,
    gone: Option<Signal>,
}

impl Outside {
    pub(super) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("signals cannot be listened for");
        // What `nohup` started goes on without its terminal.
        let gone = (!ignores_hangup()).then(|| listen(SignalKind::hangup())).transpose()?;
        Ok(Self { end: listen(SignalKind::terminate())?, gone })
    }

    pub(super) async fn says_so(&mut self) {
        let gone = async {
            match &mut self.gone {
                Some(gone) => gone.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.end.recv() => {}
            _ = gone => {}
        }
    }
}

/// Waits for the word to stop, also from the keyboard. Whoever says it twice does not want to wait for anything.
pub(super) fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    let mut outside = Outside::listen()?;
    let mut told = async move || {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = outside.says_so() => {}
        }
    };
    Ok(async move {
        told().await;
        tokio::spawn(async move {
            told().await;
            talk("stopped at once; what is stored is whole");
            std::process::exit(1);
        });
    })
}

/// Whether whoever started us said that we go on without a terminal, as far as the system tells.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The first signal is the lowest bit.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Secret, Surroundings};

    #[test]
    fn nobody_is_pointed_at_an_address_that_is_none() {
        let told = |address: &str| pointed(address.parse().unwrap(), "openai", "anthropic").join("\n");
        let everywhere = told("0.0.0.0:4141");
        assert!(everywhere.contains("http://127.0.0.1:4141/v1") && !everywhere.contains("0.0.0.0"), "{everywhere}");
        assert!(everywhere.contains("on other machines") && told("[::]:4141").contains("http://[::1]:4141/v1"));
        assert_eq!(told("127.0.0.1:4141").lines().count(), 2);
        assert!(told("192.168.1.5:80").contains("http://192.168.1.5:80/v1"));
    }

    #[test]
    fn a_helper_without_a_key_is_told_of() {
        let told = |text: &str, keys: &[(&'static str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("scrollback.toml");
            std::fs::write(&file, text).unwrap();
            let keys = keys.iter().map(|(name, key)| (*name, Secret((*key).to_owned()))).collect();
            let surroundings = Surroundings { keys, ..Surroundings::default() };
            let settings = crate::config::read(Some(&file), Some(folder.path().join("log.db")), &surroundings).unwrap();
            keyless(&settings.serve).unwrap().unwrap_or_default()
        };
        let usual = "[helper]\nmodel = \"gpt-5-mini\"\n";
        assert!(told(usual, &[]).contains("set OPENAI_API_KEY, or add an upstream"));
        assert_eq!(told(usual, &[("OPENAI_API_KEY", "sk-own")]), "");
        let elsewhere = format!("{usual}[upstreams.openai]\nurl = \"https://example.com/v1\"");
        let words = told(&elsewhere, &[("OPENAI_API_KEY", "sk-own")]);
        assert!(words.contains("“openai”") && !words.contains("OPENAI_API_KEY"), "its key goes nowhere else: {words}");
        assert_eq!(told(&format!("{usual}[upstreams.openai]\nurl = \"http://127.0.0.1:9/v1\""), &[]), "");
        assert_eq!(told("", &[]), "");
    }

    #[test]
    fn all_helpers_pay_from_the_same_purse() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scrollback.toml");
        let models = "[summary.models.a]\nhelper = \"gpt-5-nano\"\n[summary.models.b]\nhelper = \"gpt-4.1-mini\"\n\
                      [topics]\nsplit_model = \"gpt-5\"\n";
        std::fs::write(&file, format!("[helper]\nmodel = \"gpt-5-mini\"\ndollars_per_hour = 1\n{models}")).unwrap();
        let store = Some(folder.path().join("log.db"));
        let settings = crate::config::read(Some(&file), store, &Surroundings::default()).unwrap();
        let engine = Engine::new(
            Arc::new(scrollback::MemoryStore::default()),
            tasks(&settings.serve).unwrap(),
            settings.engine.clone(),
        );
        let engine = with_helpers(engine, &settings.serve, &settings.engine.strategies).unwrap();
        assert_eq!(Arc::strong_count(&settings.serve.helper.unwrap().purse), 5, "the settings and four helpers");
        drop(engine);
    }
}
