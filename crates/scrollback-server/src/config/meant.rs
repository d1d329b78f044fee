//! What was said, turned into what it means; what cannot be meant is refused.

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

use super::said::{Said, SaidAccess, SaidDurability, SaidHelper, SaidUnkept};
use super::upstreams::{is_there, of_messages};
use super::{
    AccessRule, ChatSettings, HelperSettings, Serve, Settings, Surroundings, Unkept, WindowSettings, check, upstreams,
};
use crate::store::Place;

/// What one question to a helper may take, in tokens: what it writes at most, and the same again to read.
const QUESTION_TOKENS: u64 = 6_000;

pub(super) fn meant(said: Said, store: Option<PathBuf>, surroundings: &Surroundings) -> anyhow::Result<Settings> {
    let (pages, topics) = (said.pages.clone(), said.topics.meant());
    check::pages(&pages)?;
    check::topics(&topics)?;
    check::summary(&said.summary, !said.helper.model.is_empty())?;
    check::split_model(&said.topics.split_model, !said.helper.model.is_empty())?;
    check::helper(&said.helper, &said.serve.upstream)?;
    check::artifacts(&said.artifacts)?;
    check::quotes(&said.quotes)?;
    let engine = EngineSettings {
        strategy: said.window.strategy.parse().context("window.strategy is not understood")?,
        strategies: StrategySettings {
            pages,
            topics,
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
    let path = Place::unprefixed(&path).to_owned();
    if Place::is_database(&path) {
        check::replicas(&said.store.replicas)?;
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
    // What looks like an address is not meant as the name of a file, and may hold a password.
    if path.to_string_lossy().contains("://") && !path.exists() {
        bail!(
            "--store, or store.path of the settings, is the address of something else than a store: name a file, or \
             postgres://user:password@host:5432/name"
        );
    }
    let durability = match said.store.durability {
        SaidDurability::Full => Durability::Full,
        SaidDurability::Normal => Durability::Normal,
    };
    Ok(Place::File(SqliteOptions { path, durability, readers: said.store.readers.max(1) }))
}

/// What becomes of a request that cannot be kept. One that many nodes share says so, as whoever sends it again finds
/// another node or a database that is back; a person with a file is better served by an answer.
fn unkept_meant(said: &SaidUnkept, store: &Place) -> Unkept {
    match (said, store) {
        (SaidUnkept::Refuse, _) | (SaidUnkept::Usual, Place::Database(..)) => Unkept::Refused,
        (SaidUnkept::Pass, _) | (SaidUnkept::Usual, Place::File(_)) => Unkept::Passed,
    }
}

fn serve_meant(said: Said, surroundings: &Surroundings) -> anyhow::Result<Serve> {
    let upstreams = upstreams::meant(&said.upstreams, surroundings)?;
    is_there("serve.upstream", &said.serve.upstream, &upstreams)?;
    let messages_upstream = match said.serve.messages_upstream {
        unsaid if unsaid.is_empty() => of_messages(&said.upstreams, &upstreams, &said.serve.upstream),
        said => said,
    };
    is_there("serve.messages_upstream", &messages_upstream, &upstreams)?;
    let chat =
        ChatSettings { upstream: said.chat.upstream, model: said.chat.model, instructions: said.chat.instructions };
    if !chat.upstream.is_empty() {
        is_there("chat.upstream", &chat.upstream, &upstreams)?;
    }
    let mut prices = Prices::shipped();
    if !said.window.models.as_os_str().is_empty() {
        let path = &said.window.models;
        let named = |what: &str| format!("window.models is {}, which {what}", path.display());
        let text = std::fs::read_to_string(path).with_context(|| named("cannot be read"))?;
        prices = prices.with(&text).with_context(|| named("is not understood"))?;
    }
    if !said.helper.upstream.is_empty() {
        is_there("helper.upstream", &said.helper.upstream, &upstreams)?;
    }
    let others = said.summary.models.values().filter_map(|model| model.helper.as_ref());
    let others: Vec<&String> = others.chain(Some(&said.topics.split_model).filter(|model| !model.is_empty())).collect();
    let helper = helper_meant(said.helper, &others, &said.serve.upstream, &prices)?;
    check::is_window("window.tokens", said.window.tokens)?;
    check::is_limit("window.unknown_tokens", said.window.unknown_tokens)?;
    Ok(Serve {
        listen: said.serve.listen,
        upstream: said.serve.upstream,
        messages_upstream,
        comments: said.serve.comments,
        hosts: said.serve.hosts,
        body_bytes: check::bytes("serve.body_megabytes", said.serve.body_megabytes)?,
        import_bytes: check::bytes("serve.import_megabytes", said.serve.import_megabytes)?,
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

/// The helper, if one is named. What it charges is known if that is counted, and so is what other models do that are
/// asked.
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
    check::is_seconds("helper.timeout_seconds", said.timeout_seconds)?;
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
    if (1..QUESTION_TOKENS).contains(&said.tokens_per_hour) {
        bail!(
            "helper.tokens_per_hour is {}: a single question may take {QUESTION_TOKENS}, so that it would never be asked. 0 is no limit",
            said.tokens_per_hour
        );
    }
    let limit = SpendLimit { dollars_per_hour, tokens_per_hour: said.tokens_per_hour };
    Ok(Some(HelperSettings {
        follows: said.upstream.is_empty(),
        upstream: if said.upstream.is_empty() { upstream.to_owned() } else { said.upstream },
        model: said.model,
        timeout: Duration::from_secs(said.timeout_seconds),
        at_once: said.at_once,
        purse: Arc::new(Purse::new(limit)),
    }))
}
