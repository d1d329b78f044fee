//! What a settings file may say, with the default of everything it does not.

use std::collections::BTreeMap;
use std::path::PathBuf;

use scrollback::strategy::{HeldFrom, HoldSettings, PageSettings};
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Said {
    pub(super) store: SaidStore,
    pub(super) serve: SaidServe,
    pub(super) window: SaidWindow,
    pub(super) pages: SaidPages,
    pub(super) holds: SaidHolds,
    pub(super) recall: SaidRecall,
    pub(super) helper: SaidHelper,
    pub(super) upstreams: BTreeMap<String, SaidUpstream>,
}

impl Default for Said {
    fn default() -> Self {
        let openai = SaidUpstream { url: "https://api.openai.com/v1".into(), ..SaidUpstream::default() };
        Self {
            store: SaidStore::default(),
            serve: SaidServe::default(),
            window: SaidWindow::default(),
            pages: SaidPages::default(),
            holds: SaidHolds::default(),
            recall: SaidRecall::default(),
            helper: SaidHelper::default(),
            upstreams: BTreeMap::from([("openai".to_owned(), openai)]),
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidStore {
    pub(super) path: PathBuf,
    pub(super) durability: SaidDurability,
    pub(super) readers: usize,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SaidDurability {
    Full,
    Normal,
}

impl Default for SaidStore {
    fn default() -> Self {
        Self { path: PathBuf::new(), durability: SaidDurability::Full, readers: 2 }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidServe {
    pub(super) listen: String,
    pub(super) upstream: String,
    pub(super) hosts: Vec<String>,
    pub(super) body_megabytes: usize,
}

impl Default for SaidServe {
    fn default() -> Self {
        Self { listen: "127.0.0.1:4141".into(), upstream: "openai".into(), hosts: Vec::new(), body_megabytes: 64 }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidWindow {
    pub(super) strategy: String,
    pub(super) tokens: u32,
    pub(super) unknown_tokens: u32,
    pub(super) reply_tokens: u32,
    pub(super) prices: PathBuf,
}

impl Default for SaidWindow {
    fn default() -> Self {
        Self {
            strategy: "pages".into(),
            tokens: 0,
            unknown_tokens: 32_000,
            reply_tokens: 4_096,
            prices: PathBuf::new(),
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidPages {
    keep_pages: usize,
    fold_over: u32,
    fold_to: u32,
    page_share: u32,
    contents_tokens: u32,
    unrecalled_turns: u32,
    unchanged_turns: u32,
}

impl Default for SaidPages {
    fn default() -> Self {
        let pages = PageSettings::default();
        Self {
            keep_pages: pages.keep_pages,
            fold_over: pages.fold_over,
            fold_to: pages.fold_to,
            page_share: pages.page_share,
            contents_tokens: pages.contents_tokens,
            unrecalled_turns: pages.unrecalled_turns,
            unchanged_turns: pages.unchanged_turns,
        }
    }
}

impl SaidPages {
    pub(super) fn meant(&self) -> PageSettings {
        PageSettings {
            keep_pages: self.keep_pages.max(1),
            fold_over: self.fold_over,
            fold_to: self.fold_to,
            page_share: self.page_share,
            contents_tokens: self.contents_tokens,
            unrecalled_turns: self.unrecalled_turns,
            unchanged_turns: self.unchanged_turns,
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidHolds {
    over_chars: usize,
    digest_chars: usize,
    from: HeldFrom,
    pub(super) across_sessions: bool,
    pub(super) keep_days: u32,
}

impl Default for SaidHolds {
    fn default() -> Self {
        let HoldSettings { over_chars, digest_chars, from } = HoldSettings::default();
        Self { over_chars, digest_chars, from, across_sessions: false, keep_days: 0 }
    }
}

impl SaidHolds {
    pub(super) fn meant(&self) -> HoldSettings {
        HoldSettings { over_chars: self.over_chars, digest_chars: self.digest_chars, from: self.from }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidRecall {
    pub(super) rounds: u32,
}

impl Default for SaidRecall {
    fn default() -> Self {
        Self { rounds: 3 }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidHelper {
    pub(super) upstream: String,
    pub(super) model: String,
    pub(super) timeout_seconds: u64,
    pub(super) at_once: usize,
}

impl Default for SaidHelper {
    fn default() -> Self {
        Self { upstream: String::new(), model: String::new(), timeout_seconds: 20, at_once: 4 }
    }
}

#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidUpstream {
    pub(super) url: String,
    pub(super) key_env: String,
    pub(super) recall: SaidRecallBy,
    pub(super) window: u32,
    pub(super) timeout_seconds: u64,
}

impl Default for SaidUpstream {
    fn default() -> Self {
        Self {
            url: String::new(),
            key_env: String::new(),
            recall: SaidRecallBy::Tools,
            window: 0,
            timeout_seconds: 600,
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SaidRecallBy {
    Tools,
    Text,
    Off,
}
