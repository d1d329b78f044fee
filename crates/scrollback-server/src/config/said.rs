//! What a settings file may say, with the default of everything it does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use scrollback::strategy::topics::activation::ActivationSettings;
use scrollback::strategy::{
    ArtifactSettings, HeldFrom, HoldSettings, Layout, PageSettings, QuoteSettings, SummarySettings, TopicSettings,
};
use serde::Deserialize;

use super::embeddings::SaidEmbeddings;
use super::upstreams::SaidUpstream;
use crate::store::Place;

/// The whole file.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Said {
    pub(super) store: SaidStore,
    pub(super) serve: SaidServe,
    pub(super) window: SaidWindow,
    pub(super) pages: PageSettings,
    pub(super) topics: SaidTopics,
    pub(super) summary: SummarySettings,
    pub(super) artifacts: ArtifactSettings,
    pub(super) quotes: QuoteSettings,
    pub(super) holds: SaidHolds,
    pub(super) recall: SaidRecall,
    pub(super) helper: SaidHelper,
    pub(super) embeddings: SaidEmbeddings,
    pub(super) chat: SaidChat,
    pub(super) upstreams: BTreeMap<String, SaidUpstream>,
}

impl Said {
    /// The same with whole paths: `~` is the home folder, and what is relative lies beside the file.
    pub(super) fn placed(mut self, folder: &Path, home: Option<&Path>) -> Self {
        let whole = |path: &Path| at_home(path, home).unwrap_or_else(|| folder.join(path));
        let (store, models) = (Place::unprefixed(&self.store.path), &self.window.models);
        if !store.as_os_str().is_empty() && !Place::is_database(store) {
            self.store.path = whole(store);
        }
        if !models.as_os_str().is_empty() {
            self.window.models = whole(models);
        }
        self.embeddings = self.embeddings.placed(whole);
        self
    }
}

/// Where a path leads that begins with `~`, the home folder.
pub(super) fn at_home(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    home.zip(path.strip_prefix("~").ok()).map(|(home, rest)| home.join(rest))
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidStore {
    pub(super) path: PathBuf,
    pub(super) durability: SaidDurability,
    pub(super) readers: usize,
    pub(super) connections: usize,
    pub(super) timeout_seconds: u64,
    pub(super) patience_seconds: u64,
    pub(super) unkept: SaidUnkept,
    pub(super) replicas: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SaidUnkept {
    Usual,
    Refuse,
    Pass,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SaidDurability {
    Full,
    Normal,
}

impl Default for SaidStore {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            durability: SaidDurability::Full,
            readers: 2,
            connections: 16,
            timeout_seconds: 10,
            patience_seconds: 5,
            unkept: SaidUnkept::Usual,
            replicas: Vec::new(),
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidServe {
    pub(super) listen: String,
    pub(super) upstream: String,
    pub(super) messages_upstream: String,
    pub(super) hosts: Vec<String>,
    pub(super) body_megabytes: usize,
    pub(super) import_megabytes: usize,
    pub(super) access: SaidAccess,
    pub(super) requests_per_minute: u32,
    pub(super) comments: bool,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SaidAccess {
    Local,
    Tokens,
}

impl Default for SaidServe {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:4141".into(),
            upstream: "openai".into(),
            messages_upstream: String::new(),
            hosts: Vec::new(),
            body_megabytes: 64,
            import_megabytes: 1_024,
            access: SaidAccess::Local,
            requests_per_minute: 600,
            comments: false,
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidWindow {
    pub(super) strategy: String,
    pub(super) tokens: u32,
    pub(super) unknown_tokens: u32,
    pub(super) reply_tokens: u32,
    pub(super) models: PathBuf,
}

impl Default for SaidWindow {
    fn default() -> Self {
        Self {
            strategy: "pages".into(),
            tokens: 0,
            unknown_tokens: 32_000,
            reply_tokens: 4_096,
            models: PathBuf::new(),
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidTopics {
    fold_over: u32,
    fold_to: u32,
    keep_messages: usize,
    excerpt_share: u32,
    index_tokens: u32,
    layout: Layout,
    topic_tokens: u32,
    batch_tokens: u32,
    pub(super) split_model: String,
    active_least: usize,
    active_usual: usize,
    active_most: usize,
    average_over: usize,
    floor: f32,
    floor_each: f32,
    sleep_share: f32,
    patience: u32,
    deep_share: f32,
    deadline_seconds: u64,
    cues: Vec<String>,
    archive_days: u32,
    pub(super) review_hour: u32,
}

impl Default for SaidTopics {
    fn default() -> Self {
        let topics = TopicSettings::default();
        Self {
            fold_over: topics.fold_over,
            fold_to: topics.fold_to,
            keep_messages: topics.keep_messages,
            excerpt_share: topics.excerpt_share,
            index_tokens: topics.index_tokens,
            layout: topics.layout,
            topic_tokens: topics.topic_tokens,
            batch_tokens: topics.batch_tokens,
            split_model: topics.split_model.unwrap_or_default(),
            active_least: topics.activation.least,
            active_usual: topics.activation.usual,
            active_most: topics.activation.most,
            average_over: topics.activation.average_over,
            floor: topics.activation.floor,
            floor_each: topics.activation.floor_each,
            sleep_share: topics.activation.sleep_share,
            patience: topics.activation.patience,
            deep_share: topics.activation.deep_share,
            deadline_seconds: topics.deadline_ms / 1_000,
            cues: topics.cues,
            archive_days: topics.archive_days,
            review_hour: 4,
        }
    }
}

impl SaidTopics {
    pub(super) fn meant(&self) -> TopicSettings {
        TopicSettings {
            fold_over: self.fold_over,
            fold_to: self.fold_to,
            keep_messages: self.keep_messages,
            excerpt_share: self.excerpt_share,
            index_tokens: self.index_tokens,
            layout: self.layout,
            topic_tokens: self.topic_tokens,
            batch_tokens: self.batch_tokens,
            split_model: Some(self.split_model.clone()).filter(|model| !model.is_empty()),
            activation: self.activation(),
            deadline_ms: self.deadline_seconds.saturating_mul(1_000),
            cues: self.cues.clone(),
            archive_days: self.archive_days,
        }
    }

    fn activation(&self) -> ActivationSettings {
        ActivationSettings {
            average_over: self.average_over,
            least: self.active_least,
            usual: self.active_usual,
            most: self.active_most,
            floor: self.floor,
            floor_each: self.floor_each,
            sleep_share: self.sleep_share,
            patience: self.patience,
            deep_share: self.deep_share,
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidHolds {
    over_chars: usize,
    digest_chars: usize,
    from: HeldFrom,
    long_over_chars: usize,
    many_tokens: u32,
    pub(super) across_sessions: bool,
    pub(super) keep_days: u32,
}

impl Default for SaidHolds {
    fn default() -> Self {
        let HoldSettings { over_chars, digest_chars, from, long_over_chars, many_tokens } = HoldSettings::default();
        Self { over_chars, digest_chars, from, long_over_chars, many_tokens, across_sessions: false, keep_days: 0 }
    }
}

impl SaidHolds {
    pub(super) fn meant(&self) -> HoldSettings {
        let Self { over_chars, digest_chars, from, long_over_chars, many_tokens, .. } = *self;
        HoldSettings { over_chars, digest_chars, from, long_over_chars, many_tokens }
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
    pub(super) dollars_per_hour: f64,
    pub(super) tokens_per_hour: u64,
}

impl Default for SaidHelper {
    fn default() -> Self {
        Self {
            upstream: String::new(),
            model: String::new(),
            timeout_seconds: 20,
            at_once: 4,
            dollars_per_hour: 0.0,
            tokens_per_hour: 0,
        }
    }
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidChat {
    pub(super) upstream: String,
    pub(super) model: String,
    pub(super) instructions: String,
}
