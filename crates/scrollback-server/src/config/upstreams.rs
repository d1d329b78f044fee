//! `[upstreams.…]`: the APIs that requests are sent on to. OpenAI and Anthropic are always there; what the file says is
//! laid over what is known of them, setting by setting.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::bail;
use serde::Deserialize;

use super::{KNOWN, KnownUpstream, RecallBy, Surroundings, UpstreamSettings, check};
use crate::upstream::QUOTE;
use crate::wire::WireName;

/// How long the beginning of a reply may take, in seconds.
const TIMEOUT_SECONDS: u64 = 600;

/// Names that lead elsewhere: whoever answers where there is no model, and addresses of our own.
const TAKEN: [&str; 4] = [QUOTE, "api", "ui", "v1"];

/// What the file may say of one.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidUpstream {
    url: Option<String>,
    wire: Option<WireName>,
    key_env: Option<String>,
    recall: Option<SaidRecallBy>,
    window: Option<u32>,
    timeout_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum SaidRecallBy {
    Tools,
    Text,
    Off,
}

/// Those that everybody knows and those of the file, by their names, without those that the file takes away.
pub(super) fn meant(
    said: &BTreeMap<String, SaidUpstream>,
    surroundings: &Surroundings,
) -> anyhow::Result<BTreeMap<String, UpstreamSettings>> {
    let known = KNOWN.iter().map(|known| known.name);
    let names: BTreeSet<&str> = known.chain(said.keys().map(String::as_str)).collect();
    let said = |name: &str| said.get(name).cloned().unwrap_or_default();
    let there = names.into_iter().map(|name| (name, said(name))).filter(|(_, said)| said.url.as_deref() != Some(""));
    there.map(|(name, said)| Ok((name.to_owned(), one(name, said, surroundings)?))).collect()
}

fn one(name: &str, said: SaidUpstream, surroundings: &Surroundings) -> anyhow::Result<UpstreamSettings> {
    let known = KnownUpstream::named(name);
    if TAKEN.contains(&name) || name.is_empty() || name.contains('/') {
        bail!("upstreams.{name} cannot be asked under that name: call it otherwise");
    }
    let Some(url) = said.url.or_else(|| known.map(|known| known.url.to_owned())) else {
        bail!("upstreams.{name}.url is missing: say where its API is");
    };
    let url = url.trim_end_matches('/').to_owned();
    if !url.starts_with("http://") && !url.starts_with("https://") {
        bail!("upstreams.{name}.url must begin with http:// or https://, not “{url}”");
    }
    let recall = match said.recall {
        Some(SaidRecallBy::Tools) | None => RecallBy::Tools,
        Some(SaidRecallBy::Text) => RecallBy::Text,
        Some(SaidRecallBy::Off) => RecallBy::Off,
    };
    let (window, timeout_seconds) = (said.window.unwrap_or(0), said.timeout_seconds.unwrap_or(TIMEOUT_SECONDS));
    check::is_window(&format!("upstreams.{name}.window"), window)?;
    check::is_seconds(&format!("upstreams.{name}.timeout_seconds"), timeout_seconds)?;
    // A key goes to nobody but the one it is meant for, whatever the settings call an address.
    let own = known.filter(|known| known.url == url);
    Ok(UpstreamSettings {
        chat_key: own.and_then(|known| surroundings.keys.get(known.key_env)).cloned(),
        wire: said.wire.or(known.map(|known| known.wire)).unwrap_or(WireName::Chat),
        key_env: said.key_env.unwrap_or_default(),
        timeout: Duration::from_secs(timeout_seconds),
        url,
        recall,
        window,
    })
}

/// The upstream of Anthropic's clients, where nothing is said of it: Anthropic itself, unless all is sent elsewhere, be
/// it under OpenAI's name, and Anthropic is not spoken of.
pub(super) fn of_messages(
    said: &BTreeMap<String, SaidUpstream>,
    upstreams: &BTreeMap<String, UpstreamSettings>,
    upstream: &str,
) -> String {
    let [openai, anthropic] = &KNOWN;
    let is_openai = || upstreams.get(openai.name).is_some_and(|known| known.url == openai.url);
    let is_theirs = upstream == openai.name && is_openai() || said.contains_key(anthropic.name);
    let name = if is_theirs && upstreams.contains_key(anthropic.name) { anthropic.name } else { upstream };
    name.to_owned()
}

/// An error if a setting names an upstream that is not there.
pub(super) fn is_there(
    setting: &str,
    name: &str,
    upstreams: &BTreeMap<String, UpstreamSettings>,
) -> anyhow::Result<()> {
    if name == QUOTE || upstreams.contains_key(name) {
        return Ok(());
    }
    let names: Vec<&str> = upstreams.keys().map(String::as_str).chain([QUOTE]).collect();
    bail!("{setting} is “{name}”, but the upstreams are: {}. Set {setting} to one of them", names.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<BTreeMap<String, UpstreamSettings>> {
        meant(&toml::from_str(text).unwrap(), &Surroundings::default())
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for name in ["quote", "api", "ui", "v1", "\"\"", "\"my/own\""] {
            let error = read(&format!("[{name}]\nurl = \"http://127.0.0.1:9/v1\"")).unwrap_err().to_string();
            assert!(error.contains("call it otherwise"), "{name}: {error}");
        }
        assert!(read("[v1x]\nurl = \"http://127.0.0.1:9/v1\"").is_ok());
    }

    #[test]
    fn what_is_said_is_laid_over_what_is_known() {
        let all = read("[local]\nurl = \"http://127.0.0.1:11434/v1/\"\n[anthropic]\nkey_env = \"MINE\"").unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["anthropic", "local", "openai"]);
        let anthropic = &all["anthropic"];
        assert_eq!(
            (anthropic.url.as_str(), anthropic.wire, anthropic.key_env.as_str()),
            ("https://api.anthropic.com/v1", WireName::Anthropic, "MINE")
        );
        assert_eq!((all["local"].url.as_str(), all["local"].wire), ("http://127.0.0.1:11434/v1", WireName::Chat));
        assert_eq!(all["openai"].timeout, Duration::from_mins(10));
        let elsewhere = read("[anthropic]\nurl = \"https://proxy.example/v1\"").unwrap();
        assert_eq!(elsewhere["anthropic"].wire, WireName::Anthropic, "its key is sent as Anthropic takes it");
    }

    #[test]
    fn one_without_an_address_is_not_there() {
        assert_eq!(read("[openai]\nurl = \"\"").unwrap().keys().collect::<Vec<_>>(), ["anthropic"]);
        assert!(read("[local]\nwire = \"chat\"").unwrap_err().to_string().contains("upstreams.local.url is missing"));
    }

    #[test]
    fn clients_of_anthropic_go_where_all_go_unless_anthropic_is_spoken_of() {
        let to =
            |text: &str, upstream: &str| of_messages(&toml::from_str(text).unwrap(), &read(text).unwrap(), upstream);
        assert_eq!(to("", "openai"), "anthropic");
        assert_eq!(to("[local]\nurl = \"http://127.0.0.1:1/v1\"", "openai"), "anthropic");
        assert_eq!(to("[local]\nurl = \"http://127.0.0.1:1/v1\"", "local"), "local");
        assert_eq!(to("[openai]\nurl = \"http://127.0.0.1:1/v1\"", "openai"), "openai");
        assert_eq!(to("[openai]\nkey_env = \"MINE\"", "openai"), "anthropic");
        assert_eq!(to("[anthropic]\nkey_env = \"MINE\"", "local"), "anthropic");
        assert_eq!((to("", "quote"), to("[anthropic]\nurl = \"\"", "openai")), ("quote".into(), "openai".into()));
    }
}
