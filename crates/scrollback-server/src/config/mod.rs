//! Settings: what was said (file, then environment, then flags), turned at once into what it means.
//!
//! The file is `scrollback.toml`; the one in the repository lists every setting with its default, and a test keeps it so.

mod check;
mod said;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use scrollback::SqliteOptions;
use scrollback::engine::EngineSettings;
use scrollback::ledger::Prices;
use scrollback::store::Durability;
use scrollback::strategy::{StrategySettings, SummarySettings};
use scrollback::task::{Purse, SpendLimit};

use crate::wire::WireName;
use said::{Said, SaidDurability, SaidHelper, SaidRecallBy, SaidUpstream};

/// What the settings mean.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) store: SqliteOptions,
    pub(crate) engine: EngineSettings,
    pub(crate) serve: Serve,
    /// How long held results are kept before cleaning erases them; `None` for ever.
    pub(crate) keep_holds: Option<Duration>,
    /// At which hour, UTC, topics are reviewed.
    pub(crate) review_hour: u32,
}

/// How the proxy serves.
#[derive(Clone, Debug)]
pub(crate) struct Serve {
    pub(crate) listen: String,
    /// The upstream of requests that name none.
    pub(crate) upstream: String,
    /// The same for clients that speak to Anthropic.
    pub(crate) messages_upstream: String,
    /// Names it may be called by, beside those of this machine.
    pub(crate) hosts: Vec<String>,
    pub(crate) body_bytes: usize,
    pub(crate) upstreams: BTreeMap<String, UpstreamSettings>,
    pub(crate) window: WindowSettings,
    pub(crate) rounds: u32,
    pub(crate) helper: Option<HelperSettings>,
    /// Whether streams end with a comment that tells what the headers tell.
    pub(crate) comments: bool,
}

/// How large windows are.
#[derive(Clone, Debug)]
pub(crate) struct WindowSettings {
    /// The limit of every model; 0 for each its own.
    pub(crate) tokens: u32,
    pub(crate) unknown_tokens: u32,
    pub(crate) reply_tokens: u32,
    pub(crate) prices: Prices,
}

/// A model's API.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamSettings {
    pub(crate) url: String,
    /// What it is spoken to in by ourselves, and how it takes a key.
    pub(crate) wire: WireName,
    /// The variable that holds the key; empty if clients bring their own.
    pub(crate) key_env: String,
    pub(crate) recall: RecallBy,
    pub(crate) window: u32,
    pub(crate) timeout: Duration,
}

/// How a model asks for what it cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecallBy {
    /// By calling tools.
    Tools,
    /// In its text.
    Text,
    /// Not at all.
    Off,
}

/// The cheaper model for tasks.
#[derive(Clone, Debug)]
pub(crate) struct HelperSettings {
    pub(crate) upstream: String,
    pub(crate) model: String,
    pub(crate) timeout: Duration,
    pub(crate) at_once: usize,
    /// What it and the helpers of some models pay from.
    pub(crate) purse: Arc<Purse>,
}

/// The environment, as far as settings depend on it.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) home: Option<PathBuf>,
    pub(crate) config_home: Option<PathBuf>,
    pub(crate) data_home: Option<PathBuf>,
}

impl Surroundings {
    pub(crate) fn read() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { home: path("HOME"), config_home: path("XDG_CONFIG_HOME"), data_home: path("XDG_DATA_HOME") }
    }

    fn config_file(&self) -> Option<PathBuf> {
        let folder = self.config_home.clone().or_else(|| Some(self.home.as_ref()?.join(".config")))?;
        Some(folder.join("scrollback").join("scrollback.toml"))
    }

    fn store_file(&self) -> Option<PathBuf> {
        let folder = self.data_home.clone().or_else(|| Some(self.home.as_ref()?.join(".local").join("share")))?;
        Some(folder.join("scrollback").join("scrollback.db"))
    }
}

/// Reads the settings: the file named, else `scrollback.toml` here, else the person's own; then what the flags say.
pub(crate) fn read(
    file: Option<&Path>,
    store: Option<PathBuf>,
    surroundings: &Surroundings,
) -> anyhow::Result<Settings> {
    let usual = [Some(PathBuf::from("scrollback.toml")), surroundings.config_file()];
    let file = file.map(Path::to_owned).or_else(|| usual.into_iter().flatten().find(|path| path.is_file()));
    let said = match file {
        Some(path) => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            toml::from_str(&text).with_context(|| format!("{} is not understood", path.display()))?
        }
        None => Said::default(),
    };
    meant(said, store, surroundings)
}

/// The settings of somebody who has none, with a store of their own.
pub(crate) fn usual(store: PathBuf) -> anyhow::Result<Settings> {
    meant(Said::default(), Some(store), &Surroundings::default())
}

fn meant(said: Said, store: Option<PathBuf>, surroundings: &Surroundings) -> anyhow::Result<Settings> {
    check::summary(&said.summary, !said.helper.model.is_empty())?;
    check::artifacts(&said.artifacts)?;
    let engine = EngineSettings {
        strategy: said.window.strategy.parse()?,
        strategies: StrategySettings {
            pages: said.pages.meant(),
            topics: said.topics.meant(),
            summary: said.summary.clone(),
            artifacts: said.artifacts.clone(),
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
    Ok(Settings { store, engine, serve: serve_meant(said)?, keep_holds, review_hour })
}

fn store_meant(said: &Said, store: Option<PathBuf>, surroundings: &Surroundings) -> anyhow::Result<SqliteOptions> {
    let in_file = &said.store.path;
    let named = store.or_else(|| (!in_file.as_os_str().is_empty()).then(|| in_file.clone()));
    let Some(path) = named.or_else(|| surroundings.store_file()) else {
        bail!("there is no home folder to keep the store in: name a file with --store");
    };
    let durability = match said.store.durability {
        SaidDurability::Full => Durability::Full,
        SaidDurability::Normal => Durability::Normal,
    };
    Ok(SqliteOptions { path, durability, readers: said.store.readers.max(1) })
}

fn serve_meant(said: Said) -> anyhow::Result<Serve> {
    let upstreams: BTreeMap<_, _> = said
        .upstreams
        .iter()
        .map(|(name, said)| Ok((name.clone(), upstream(name, said)?)))
        .collect::<anyhow::Result<_>>()?;
    if !upstreams.contains_key(&said.serve.upstream) && said.serve.upstream != crate::upstream::QUOTE {
        let names: Vec<&str> = upstreams.keys().map(String::as_str).collect();
        bail!("serve.upstream is “{}”, but the upstreams are: {}", said.serve.upstream, names.join(", "));
    }
    let mut prices = Prices::shipped();
    if !said.window.models.as_os_str().is_empty() {
        let path = &said.window.models;
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        prices = prices.with(&text).with_context(|| format!("{} is not understood", path.display()))?;
    }
    let helper = helper_meant(said.helper, &said.summary, &said.serve.upstream, &prices)?;
    Ok(Serve {
        listen: said.serve.listen,
        upstream: said.serve.upstream,
        messages_upstream: said.serve.messages_upstream,
        comments: said.serve.comments,
        hosts: said.serve.hosts,
        body_bytes: said.serve.body_megabytes << 20,
        upstreams,
        window: WindowSettings {
            tokens: said.window.tokens,
            unknown_tokens: said.window.unknown_tokens,
            reply_tokens: said.window.reply_tokens,
            prices,
        },
        rounds: said.recall.rounds,
        helper,
    })
}

/// The helper, if one is named. What it charges is known if that is counted, and so is what the helpers of some models do.
fn helper_meant(
    said: SaidHelper,
    summary: &SummarySettings,
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
    let others = summary.models.values().filter_map(|model| model.helper.as_ref());
    let unpriced = std::iter::once(&said.model).chain(others).find(|model| prices.of(model).is_none());
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

fn upstream(name: &str, said: &SaidUpstream) -> anyhow::Result<UpstreamSettings> {
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
    Ok(UpstreamSettings { url, wire: said.wire, key_env: said.key_env.clone(), recall, window: said.window, timeout })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> Surroundings {
        Surroundings { home: Some("/home/ann".into()), ..Surroundings::default() }
    }

    #[test]
    fn the_shipped_file_lists_every_default() {
        let shipped = include_str!("../../../../scrollback.toml");
        assert_eq!(toml::from_str::<Said>(shipped).unwrap(), Said::default());
        // Every name that serde knows is in the file: the error for an unknown one lists them.
        let parts =
            ["store", "serve", "window", "pages", "topics", "summary", "artifacts", "holds", "recall", "helper"];
        for part in parts.into_iter().chain(["upstreams.openai", "upstreams.anthropic"]) {
            let error = toml::from_str::<Said>(&format!("[{part}]\nno_such_setting = 1")).unwrap_err().to_string();
            let known = error.split("expected").nth(1).unwrap();
            let section = shipped.split(&format!("[{part}]")).nth(1).unwrap().split("\n[").next().unwrap();
            for name in known.split('`').skip(1).step_by(2) {
                // What is different for some models has no default: an example shows it.
                let found = if (part, name) == ("summary", "models") {
                    format!("\n# [{part}.{name}.")
                } else {
                    format!("\n{name} = ")
                };
                assert!(section.contains(&found), "{part}.{name} is not in scrollback.toml");
            }
        }
    }

    /// The examples that are commented out are settings too.
    #[test]
    fn the_shipped_examples_are_understood() {
        let shipped = include_str!("../../../../scrollback.toml");
        let example = shipped.split("# [summary.models.").nth(1).unwrap().split("\n\n").next().unwrap();
        let example = format!("[summary.models.{}", example.replace("\n# ", "\n"));
        let models = toml::from_str::<Said>(&example).unwrap().summary.models;
        let model = models.values().next().unwrap();
        let all = (model.limit, model.helper.as_deref(), model.prompt.as_deref(), model.margin, model.segment);
        assert!(matches!(all, (Some(_), Some(_), Some(_), Some(_), Some(_))), "{all:?}");
    }

    #[test]
    fn flags_go_before_the_file() {
        let said: Said = toml::from_str("[store]\npath = \"/a.db\"\ndurability = \"normal\"").unwrap();
        let settings = meant(said, Some("/b.db".into()), &home()).unwrap();
        assert_eq!(settings.store.path, Path::new("/b.db"));
        assert_eq!(settings.store.durability, Durability::Normal);
    }

    #[test]
    fn the_usual_place_is_the_data_folder() {
        let settings = meant(Said::default(), None, &home()).unwrap();
        assert_eq!(settings.store.path, Path::new("/home/ann/.local/share/scrollback/scrollback.db"));
        assert!(meant(Said::default(), None, &Surroundings::default()).is_err());
    }

    #[test]
    fn an_unknown_setting_is_named() {
        let error = toml::from_str::<Said>("[store]\nspeed = 9").unwrap_err();
        assert!(error.to_string().contains("speed"), "{error}");
    }

    #[test]
    fn upstreams_are_checked_before_anything_is_sent() {
        let said: Said = toml::from_str("[upstreams.local]\nurl = \"localhost:11434\"").unwrap();
        assert!(meant(said, None, &home()).unwrap_err().to_string().contains("upstreams.local.url"));
        let said: Said = toml::from_str("[serve]\nupstream = \"nobody\"").unwrap();
        assert!(meant(said, None, &home()).unwrap_err().to_string().contains("nobody"));
    }

    #[test]
    fn a_limit_needs_a_price_or_a_count_of_tokens() {
        let helper = |text: &str| {
            let said: Said = toml::from_str(&format!("[helper]\n{text}")).unwrap();
            meant(said, None, &home()).map(|settings| settings.serve.helper.map(|helper| helper.purse.limit()))
        };
        let limit = helper("model = \"gpt-5-mini\"\ndollars_per_hour = 2").unwrap().unwrap();
        assert!((limit.dollars_per_hour - 2.0).abs() < 1e-9);
        let unknown = "model = \"homemade\"\ndollars_per_hour = 0.5";
        assert!(helper(unknown).unwrap_err().to_string().contains("homemade"));
        assert_eq!(helper(&format!("{unknown}\ntokens_per_hour = 1000")).unwrap().unwrap().tokens_per_hour, 1_000);
        let other = "model = \"gpt-5-mini\"\ndollars_per_hour = 2\n[summary.models.a]\nhelper = \"homemade\"";
        assert!(helper(other).unwrap_err().to_string().contains("homemade"), "of some model");
        assert!(helper("dollars_per_hour = -1").is_err());
        assert!(helper("dollars_per_hour = 1").unwrap().is_none());
    }
}
