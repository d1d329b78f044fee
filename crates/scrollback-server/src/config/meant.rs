//! What was said, turned into what it means; what cannot be meant is refused.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use scrollback::engine::EngineSettings;
use scrollback::ledger::Prices;
use scrollback::store::Durability;
use scrollback::strategy::StrategySettings;
use scrollback::task::{Purse, SpendLimit};
use scrollback::{PostgresOptions, SqliteOptions};

use super::said::{Said, SaidAccess, SaidDurability, SaidHelper, SaidRecallBy, SaidUnkept, SaidUpstream};
use super::{
    AccessRule, ChatSettings, HelperSettings, KNOWN, RecallBy, Serve, Settings, Surroundings, Unkept, UpstreamSettings,
    WindowSettings, check,
};
use crate::store::Place;

pub(super) fn meant(said: Said, store: Option<PathBuf>, surroundings: &Surroundings) -> anyhow::Result<Settings> {
    check::summary(&said.summary, !said.helper.model.is_empty())?;
    check::split_model(&said.topics.split_model, !said.helper.model.is_empty())?;
    check::artifacts(&said.artifacts)?;
    check::quotes(&said.quotes)?;
    let engine = EngineSettings {
        strategy: said.window.strategy.parse()?,
        strategies: StrategySettings {
            pages: said.pages.meant(),
            topics: said.topics.meant(),
            summary: said.summary.clone(),
            artifacts: said.artifacts.clone(),
            quotes: said.quotes.clone(),
            holds: said.holds.meant(),
        },
        across_sessions: said.holds.across_sessions,
    };
    let days = u64::from(said.holds.keep_days);
    let keep_holds = (days > 0).then(|| Duration::from_secs(days * 86_400));
    let review_hour = said.topics.review_hour;
    if review_hour > 23 {
        bail!("topics.review_hour is an hour from 0 to 23, not {review_hour}");
    }
    let store = store_meant(&said, store, surroundings)?;
    let unkept = unkept_meant(&said.store.unkept, &store);
    let shared = store.file().is_none();
    let serve = Serve { unkept, shared, ..serve_meant(said, surroundings)? };
    Ok(Settings { store, engine, serve, keep_holds, review_hour })
}

fn store_meant(said: &Said, store: Option<PathBuf>, surroundings: &Surroundings) -> anyhow::Result<Place> {
    let in_file = &said.store.path;
    let named = store.or_else(|| (!in_file.as_os_str().is_empty()).then(|| in_file.clone()));
    let Some(path) = named.or_else(|| surroundings.store_file()) else {
        bail!("there is no home folder to keep the store in: name a file with --store");
    };
    if Place::is_database(&path) {
        let seconds = |count: u64| Duration::from_secs(count.max(1));
        let options = PostgresOptions {
            connections: said.store.connections.max(1),
            timeout: seconds(said.store.timeout_seconds),
            patience: Duration::from_secs(said.store.patience_seconds),
            replicas: said.store.replicas.clone(),
            ..PostgresOptions::new(path.to_string_lossy())
        };
        let beside = surroundings.store_file().unwrap_or_else(|| PathBuf::from("scrollback.db"));
        return Ok(Place::Database(options, beside));
    }
    let durability = match said.store.durability {
        SaidDurability::Full => Durability::Full,
        SaidDurability::Normal => Durability::Normal,
    };
    Ok(Place::File(SqliteOptions { path, durability, readers: said.store.readers.max(1) }))
}

/// What becomes of a request that cannot be kept. One that many nodes share says so, as whoever sends it again finds another node
/// or a database that is back; a person with a file is better served by an answer.
fn unkept_meant(said: &SaidUnkept, store: &Place) -> Unkept {
    match (said, store) {
        (SaidUnkept::Refuse, _) | (SaidUnkept::Usual, Place::Database(..)) => Unkept::Refused,
        (SaidUnkept::Pass, _) | (SaidUnkept::Usual, Place::File(_)) => Unkept::Passed,
    }
}

fn serve_meant(said: Said, surroundings: &Surroundings) -> anyhow::Result<Serve> {
    let upstreams: BTreeMap<_, _> = said
        .upstreams
        .iter()
        .map(|(name, said)| Ok((name.clone(), upstream(name, said, surroundings)?)))
        .collect::<anyhow::Result<_>>()?;
    if !upstreams.contains_key(&said.serve.upstream) && said.serve.upstream != crate::upstream::QUOTE {
        let names: Vec<&str> = upstreams.keys().map(String::as_str).collect();
        bail!("serve.upstream is “{}”, but the upstreams are: {}", said.serve.upstream, names.join(", "));
    }
    let chat =
        ChatSettings { upstream: said.chat.upstream, model: said.chat.model, instructions: said.chat.instructions };
    if !["", crate::upstream::QUOTE].contains(&chat.upstream.as_str()) && !upstreams.contains_key(&chat.upstream) {
        let names: Vec<&str> = upstreams.keys().map(String::as_str).collect();
        bail!("chat.upstream is “{}”, but the upstreams are: {}", chat.upstream, names.join(", "));
    }
    let mut prices = Prices::shipped();
    if !said.window.models.as_os_str().is_empty() {
        let path = &said.window.models;
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        prices = prices.with(&text).with_context(|| format!("{} is not understood", path.display()))?;
    }
    let others = said.summary.models.values().filter_map(|model| model.helper.as_ref());
    let others: Vec<&String> = others.chain(Some(&said.topics.split_model).filter(|model| !model.is_empty())).collect();
    let helper = helper_meant(said.helper, &others, &said.serve.upstream, &prices)?;
    Ok(Serve {
        listen: said.serve.listen,
        upstream: said.serve.upstream,
        messages_upstream: said.serve.messages_upstream,
        comments: said.serve.comments,
        hosts: said.serve.hosts,
        body_bytes: said.serve.body_megabytes << 20,
        import_bytes: said.serve.import_megabytes << 20,
        access: match said.serve.access {
            SaidAccess::Local => AccessRule::Local,
            SaidAccess::Tokens => AccessRule::Tokens,
        },
        requests_per_minute: said.serve.requests_per_minute,
        upstreams,
        window: WindowSettings {
            tokens: said.window.tokens,
            unknown_tokens: said.window.unknown_tokens,
            reply_tokens: said.window.reply_tokens,
            prices,
        },
        rounds: said.recall.rounds,
        unkept: Unkept::Passed,
        shared: false,
        helper,
        embeddings: said.embeddings.meant()?,
        said: toml::Table::new(),
        chat,
    })
}

/// The helper, if one is named. What it charges is known if that is counted, and so is what other models do that are asked.
fn helper_meant(
    said: SaidHelper,
    others: &[&String],
    upstream: &str,
    prices: &Prices,
) -> anyhow::Result<Option<HelperSettings>> {
    let dollars_per_hour = said.dollars_per_hour;
    if !(0.0..f64::INFINITY).contains(&dollars_per_hour) {
        bail!("helper.dollars_per_hour is an amount of dollars, or 0 for no limit, not {dollars_per_hour}");
    }
    if said.model.is_empty() {
        return Ok(None);
    }
    let unpriced = std::iter::once(&said.model).chain(others.iter().copied()).find(|model| prices.of(model).is_none());
    if let Some(model) = unpriced.filter(|_| dollars_per_hour > 0.0 && said.tokens_per_hour == 0) {
        bail!(
            "helper.dollars_per_hour is set, but what “{model}” charges is not known: name it in a file with \
             window.models, or set helper.tokens_per_hour"
        );
    }
    let limit = SpendLimit { dollars_per_hour, tokens_per_hour: said.tokens_per_hour };
    Ok(Some(HelperSettings {
        upstream: if said.upstream.is_empty() { upstream.to_owned() } else { said.upstream },
        model: said.model,
        timeout: Duration::from_secs(said.timeout_seconds),
        at_once: said.at_once,
        purse: Arc::new(Purse::new(limit)),
    }))
}

fn upstream(name: &str, said: &SaidUpstream, surroundings: &Surroundings) -> anyhow::Result<UpstreamSettings> {
    let url = said.url.trim_end_matches('/').to_owned();
    if !url.starts_with("http://") && !url.starts_with("https://") {
        bail!("upstreams.{name}.url must begin with http:// or https://, not “{url}”");
    }
    let recall = match said.recall {
        SaidRecallBy::Tools => RecallBy::Tools,
        SaidRecallBy::Text => RecallBy::Text,
        SaidRecallBy::Off => RecallBy::Off,
    };
    let timeout = Duration::from_secs(said.timeout_seconds);
    // A key goes to nobody but the one it is meant for, whatever the settings call an address.
    let known = KNOWN.iter().find(|known| known.name == name && known.url == url);
    let chat_key = known.and_then(|known| surroundings.keys.get(known.key_env)).cloned();
    let (wire, key_env, window) = (said.wire, said.key_env.clone(), said.window);
    Ok(UpstreamSettings { url, wire, key_env, chat_key, recall, window, timeout })
}
