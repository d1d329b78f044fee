//! What is said of models, and what it means: where they are, what they charge, what may be spent.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use scrollback::ledger::Cost;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::super::super::{Desk, talk};
use super::Troupe;
use super::client::Client;
use super::record::Record;
use super::speak::{Cast, Named};
use super::till::Till;
use super::transcript::Transcripts;
use crate::config::{RecallBy, UpstreamSettings};
use crate::upstream::Upstream;
use crate::wire::WireName;

/// Providers whose keys have a usual place.
const KNOWN: [(&str, &str, WireName); 2] = [
    ("https://api.openai.com/", "OPENAI_API_KEY", WireName::Chat),
    ("https://api.anthropic.com/", "ANTHROPIC_API_KEY", WireName::Anthropic),
];

/// What is said of models.
#[derive(Debug, Args)]
pub(in super::super) struct Wanted {
    /// Ask a model: the address of its API (`https://…/v1`), or the name of an upstream in the settings
    #[arg(long, value_name = "URL", requires = "model", help_heading = "With a model")]
    pub(in super::super) upstream: Option<String>,
    /// The main model, which answers
    #[arg(long, value_name = "NAME", requires = "upstream", help_heading = "With a model")]
    model: Option<String>,
    /// A cheaper model of the same upstream, which strategies use; none if it is not said
    #[arg(long, value_name = "MODEL", requires = "upstream", help_heading = "With a model")]
    helper: Option<String>,
    /// The model that judges, of the same upstream; the main model if it is not said
    #[arg(long, value_name = "MODEL", requires = "upstream", help_heading = "With a model")]
    judge: Option<String>,
    /// How the upstream is spoken to; `chat` unless its address is Anthropic's
    #[arg(long, value_name = "WIRE", value_enum, requires = "upstream", help_heading = "With a model")]
    wire: Option<Spoken>,
    /// How the model asks for what it cannot see
    #[arg(long, value_name = "HOW", value_enum, requires = "upstream", help_heading = "With a model")]
    recall: Option<Recalling>,
    /// The environment variable that holds the key
    #[arg(long, value_name = "VARIABLE", requires = "upstream", help_heading = "With a model")]
    key_env: Option<String>,
    /// Write every request and reply into files in this folder
    #[arg(long, value_name = "DIR", requires = "upstream", help_heading = "With a model")]
    transcripts: Option<PathBuf>,
    /// Stop before a call that could bring the cost of this run over so many dollars
    #[arg(long, value_name = "USD", default_value_t = 5.0, help_heading = "With a model")]
    spend_limit: f64,
    /// Only so many questions, conversations or rules, spread evenly over all there are
    #[arg(long, value_name = "N", requires = "upstream", help_heading = "With a model")]
    sample: Option<usize>,
    /// For recall: also show the model nothing but what answers, to see how well it and its judge do at best
    #[arg(long, requires = "upstream", help_heading = "With a model")]
    oracle: bool,
    /// How many calls may be under way at once
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "With a model")]
    at_once: usize,
    /// How long an answer may be, in tokens; models that think first need more
    #[arg(long, value_name = "TOKENS", default_value_t = 1_000, help_heading = "With a model")]
    reply_tokens: u32,
    /// How long to wait for a reply, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, help_heading = "With a model")]
    reply_timeout: u64,
    /// Send nothing: tell how many calls there would be, and what they could cost at most
    #[arg(long, requires = "upstream", help_heading = "With a model")]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Spoken {
    Chat,
    Responses,
    Anthropic,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Recalling {
    Tools,
    Text,
    Off,
}

impl Wanted {
    /// Calls in those who are wanted; nobody if no upstream is said.
    pub(in super::super) fn troupe(&self, desk: &Desk, kept: Option<&Path>) -> anyhow::Result<Option<Arc<Troupe>>> {
        let (Some(upstream), Some(model)) = (&self.upstream, &self.model) else { return Ok(None) };
        if self.at_once == 0 || self.reply_tokens == 0 || self.sample == Some(0) {
            bail!("--at-once, --reply-tokens and --sample are at least 1");
        }
        let (settings, key_env) = self.reached(upstream, desk)?;
        let named = |name: &String| {
            let price = desk.settings.serve.window.prices.of(name).cloned();
            if price.is_none() {
                talk(&format!("“{name}” is not in the catalogue of models: it is held to cost nothing"));
            }
            Named { name: name.clone(), price }
        };
        let (main, helper) = (named(model), self.helper.as_ref().map(named));
        let judge = self.judge.as_ref().map_or_else(|| main.clone(), named);
        let client = self.client(&settings, key_env, kept)?;
        let names = [Some(&main), helper.as_ref(), Some(&judge)].map(|named| named.map(|named| named.name.clone()));
        let prices =
            [Some(&main), helper.as_ref(), Some(&judge)].map(|named| named.and_then(|named| named.price.clone()));
        let (reply_tokens, at_once, rounds) = (self.reply_tokens, self.at_once, desk.settings.serve.rounds);
        let said = format!(
            "upstream {}, wire {:?}, recall {:?}, rounds {rounds}, models {names:?}, prices {prices:?}, sample {:?}, oracle {}, reply {reply_tokens}",
            settings.url, settings.wire, settings.recall, self.sample, self.oracle
        );
        let cast = Cast { client: Arc::new(client), main, helper, judge, reply_tokens, rounds, at_once };
        Ok(Some(Arc::new(Troupe {
            cast,
            sample: self.sample,
            with_oracle: self.oracle,
            runtime: Handle::current(),
            settings: said,
        })))
    }

    fn client(
        &self,
        settings: &UpstreamSettings,
        key_env: Option<String>,
        kept: Option<&Path>,
    ) -> anyhow::Result<Client> {
        let limit = dollars(self.spend_limit)?;
        let record = kept.filter(|_| !self.dry_run).map(Record::beside).transpose()?;
        let transcripts = self.transcripts.clone().filter(|_| !self.dry_run).map(Transcripts::new);
        let (paid, before, quirks, failures, retries, halted) = Default::default();
        Ok(Client {
            upstream: Upstream::http("eval", settings, crate::upstream::client()?)?,
            key_env,
            url: settings.url.clone(),
            limit,
            till: Till::new(limit),
            seats: Semaphore::new(self.at_once.min(Semaphore::MAX_PERMITS)),
            record,
            transcripts,
            is_dry: self.dry_run,
            paid,
            before,
            quirks,
            failures,
            retries,
            halted,
        })
    }

    /// Where the upstream is, and the variable its key is from. A key goes only where it is known to belong, or where
    /// one is told to send it.
    fn reached(&self, upstream: &str, desk: &Desk) -> anyhow::Result<(UpstreamSettings, Option<String>)> {
        let mut settings = match desk.settings.serve.upstreams.get(upstream) {
            Some(known) => known.clone(),
            None if upstream.contains("://") => UpstreamSettings {
                url: upstream.trim_end_matches('/').to_owned(),
                wire: known(upstream).map_or(WireName::Chat, |(_, wire)| wire),
                key_env: String::new(),
                chat_key: None,
                recall: RecallBy::Tools,
                window: 0,
                timeout: Duration::ZERO,
            },
            None => bail!("--upstream is an address (https://…/v1) or the name of an upstream in the settings"),
        };
        settings.timeout = Duration::from_secs(self.reply_timeout.max(1));
        settings.wire = self.wire.map_or(settings.wire, Spoken::meant);
        settings.recall = self.recall.map_or(settings.recall, Recalling::meant);
        let usual = known(&format!("{}/", settings.url)).map(|(variable, _)| variable.to_owned());
        let said = self.key_env.clone().or_else(|| Some(settings.key_env.clone()).filter(|name| !name.is_empty()));
        let variable = said.or(usual);
        if let Some(variable) = &variable {
            std::env::var_os(variable).with_context(|| {
                format!("{variable} is not set: it should hold the key for {}; --key-env names another", settings.url)
            })?;
        }
        settings.key_env = variable.clone().unwrap_or_default();
        Ok((settings, variable))
    }
}

/// The variable that usually holds the key for an address, and how that is spoken to.
fn known(url: &str) -> Option<(&'static str, WireName)> {
    KNOWN.iter().find(|(beginning, ..)| url.starts_with(beginning)).map(|(_, variable, wire)| (*variable, *wire))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be small and not negative")]
fn dollars(usd: f64) -> anyhow::Result<Cost> {
    if !(0.0..=1e6).contains(&usd) {
        bail!("--spend-limit is a number of dollars");
    }
    Ok(Cost((usd * 1e9) as u64))
}

impl Spoken {
    const fn meant(self) -> WireName {
        match self {
            Self::Chat => WireName::Chat,
            Self::Responses => WireName::Responses,
            Self::Anthropic => WireName::Anthropic,
        }
    }
}

impl Recalling {
    const fn meant(self) -> RecallBy {
        match self {
            Self::Tools => RecallBy::Tools,
            Self::Text => RecallBy::Text,
            Self::Off => RecallBy::Off,
        }
    }
}
