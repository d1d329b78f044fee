//! Something to measure: a suite on a dataset with settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use scrollback::engine::EngineSettings;
use scrollback::strategy::StrategyName;
use scrollback_eval::dataset::{self, recall::Talk};
use scrollback_eval::kept::Key;
use scrollback_eval::report::Finding;
use scrollback_eval::suite::played::{Embedding, With};
use scrollback_eval::suite::{cache, constraints, recall, scale, tools, topics};
use scrollback_eval::table::Table;
use twox_hash::XxHash3_128;

use super::Options;
use super::model::{self, Troupe};
use super::plan::Suite;

/// Up to so many tokens a conversation is short: windows of 2,000 tokens hold a good deal of it.
const SHORT_TOKENS: u64 = 50_000;
/// Conversations of more tokens than this are long.
const LONG_TOKENS: u64 = 250_000;
/// The sizes that a scorecard is content with for conversations in between: the largest, and that of which costs are
/// told.
const MIDDLING: [u32; 2] = [8_000, cache::LIMIT];

/// What is measured: the engine's settings, and what makes vectors for it.
#[derive(Clone, Debug)]
pub(super) struct Ours {
    pub(super) settings: EngineSettings,
    pub(super) embedding: Option<Embedding>,
}

/// A suite on a dataset.
#[derive(Clone)]
pub(super) struct Job {
    suite: Suite,
    /// The name of the dataset.
    pub(super) dataset: String,
    path: Option<PathBuf>,
    limits: Vec<u32>,
    lengths: Vec<u64>,
    strategies: Vec<StrategyName>,
    is_pooled: bool,
    /// Whether fewer sizes will do for long conversations.
    in_brief: bool,
    ours: Ours,
    /// Who takes part, if a model does.
    troupe: Option<Arc<Troupe>>,
    /// About how much work it is.
    pub(super) weight: u64,
}

impl Job {
    /// For a file.
    pub(super) fn new(suite: Suite, path: &Path, options: &Options, ours: &Ours) -> anyhow::Result<Self> {
        let size = path.metadata().with_context(|| format!("{} cannot be read", path.display()))?.len();
        let (dataset, path, weight) = (dataset::name(path), Some(path.to_owned()), weight(suite, size));
        Ok(Self { dataset, path, weight, ..Self::without_dataset(suite, options, ours) })
    }

    /// For a suite that needs none.
    pub(super) fn without_dataset(suite: Suite, options: &Options, ours: &Ours) -> Self {
        let (limits, strategies) = match options.model.upstream {
            Some(_) => (model::limits(suite), model::strategies(suite)),
            None if options.is_scorecard => (suite.limits_in_brief(), suite.strategies_in_brief()),
            None => (suite.limits(), suite.strategies()),
        };
        Self {
            suite,
            dataset: suite.name().to_owned(),
            path: None,
            limits: said_or(&options.budget, limits),
            lengths: options.length.clone(),
            strategies: said_or(&options.strategy, strategies),
            is_pooled: false,
            in_brief: options.is_scorecard && options.budget.is_empty(),
            ours: ours.clone(),
            troupe: None,
            weight: weight(suite, 0),
        }
    }

    /// Whether it reads a dataset.
    pub(super) const fn has_dataset(&self) -> bool {
        self.path.is_some()
    }

    /// The same with all its conversations in one session.
    pub(super) fn pooled(self) -> Self {
        Self { dataset: format!("{}, pooled", self.dataset), is_pooled: true, ..self }
    }

    /// The same with those who take part, if its suite has use for them.
    pub(super) fn with(self, troupe: Option<&Arc<Troupe>>) -> Self {
        Self { troupe: troupe.filter(|_| model::takes_part(self.suite)).cloned(), ..self }
    }

    /// Whether models take part.
    pub(super) const fn has_models(&self) -> bool {
        self.troupe.is_some()
    }

    /// Its suite.
    pub(super) const fn suite(&self) -> Suite {
        self.suite
    }

    /// The file it reads.
    pub(super) fn file(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// How windows are laid out.
    pub(super) fn plan(&self) -> (&EngineSettings, &[StrategyName], &[u32]) {
        (&self.ours.settings, &self.strategies, &self.limits)
    }

    /// Its conversations.
    pub(super) fn talks(&self) -> anyhow::Result<dataset::recall::Dataset> {
        Ok(self.as_asked(dataset::recall::read(self.file())?))
    }

    fn as_asked(&self, set: dataset::recall::Dataset) -> dataset::recall::Dataset {
        if self.is_pooled { dataset::recall::pooled(&set) } else { set }
    }

    /// Whether what was measured may be kept: nothing of it is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.troupe.as_ref().is_none_or(|troupe| troupe.is_whole())
    }

    /// What was measured.
    pub(super) fn finding(&self, tables: Vec<Table>, details: Vec<Table>) -> Finding {
        Finding { suite: self.suite.name().to_owned(), dataset: self.dataset.clone(), tables, details }
    }

    /// What it is, for people.
    pub(super) fn title(&self) -> String {
        if self.has_dataset() { format!("{} {}", self.suite.name(), self.dataset) } else { self.dataset.clone() }
    }

    /// Whether nothing else should run beside it: it measures time.
    pub(super) const fn is_alone(&self) -> bool {
        match self.suite {
            Suite::Topics | Suite::Recall | Suite::Cache | Suite::Tools | Suite::Constraints => false,
            Suite::Scale => true,
        }
    }

    /// What it is found again by: everything the numbers depend on.
    pub(super) fn key(&self, version: &str) -> anyhow::Result<Key> {
        let file = self.path.as_deref().map_or_else(|| Ok(String::new()), fingerprint)?;
        let engine = hashed(format!("{:?}", self.ours).as_bytes());
        Ok(Key {
            suite: self.suite.name().to_owned(),
            dataset: self.dataset.clone(),
            settings: format!(
                "file {file}, windows {:?}, lengths {:?}, strategies {:?}{}, engine {engine}{}",
                self.limits,
                self.lengths,
                self.strategies,
                if self.in_brief { ", in brief" } else { "" },
                self.troupe.as_ref().map(|troupe| format!(", {}", troupe.settings)).unwrap_or_default()
            ),
            version: version.to_owned(),
        })
    }

    /// Measures it; `tell` is told which share of it is done.
    pub(super) fn measure(&self, tell: &mut dyn FnMut(f64)) -> anyhow::Result<Finding> {
        if let Some(troupe) = &self.troupe {
            return troupe.measure(self, tell);
        }
        let path = self.file();
        let (tables, details) = match self.suite {
            Suite::Recall => self.recall(tell)?,
            Suite::Topics => {
                let set = dataset::topics::read(path)?;
                (topics::measure(&set, steps(topics::methods(&set).len(), tell)).tables(), Vec::new())
            }
            Suite::Cache => (self.cache(path, tell)?, Vec::new()),
            Suite::Tools => {
                let set = dataset::traces::read(path)?;
                let step = steps(tools::steps(&set, &self.strategies, &self.limits), tell);
                (tools::measure(&set, &self.ours.settings, &self.strategies, &self.limits, step)?, Vec::new())
            }
            Suite::Constraints => {
                let step = steps(constraints::steps(&self.strategies, &self.limits), tell);
                (constraints::measure(&self.ours.settings, &self.strategies, &self.limits, step)?, Vec::new())
            }
            Suite::Scale => (self.scale(tell)?, Vec::new()),
        };
        Ok(self.finding(tables, details))
    }

    fn recall(&self, tell: &mut dyn FnMut(f64)) -> anyhow::Result<(Vec<Table>, Vec<Table>)> {
        let set = dataset::recall::read(self.file())?;
        // A single conversation is in one session anyway.
        if self.in_brief && self.is_pooled && set.talks.len() < 2 {
            return Ok((Vec::new(), Vec::new()));
        }
        let limits = if self.in_brief { few(&set, &self.limits) } else { &self.limits };
        let set = self.as_asked(set);
        let with = With { settings: &self.ours.settings, embedding: self.ours.embedding.clone() };
        let step = steps(recall::steps(&set, &with, (&self.strategies, limits)), tell);
        let measured = recall::measure(&set, &with, (&self.strategies, limits), step)?;
        Ok((measured.tables(), measured.kinds()))
    }

    fn scale(&self, tell: &mut dyn FnMut(f64)) -> anyhow::Result<Vec<Table>> {
        let mut step = steps(usize::try_from(scale::STEPS)? * self.limits.len(), tell);
        let mut tables = Vec::new();
        for limit in &self.limits {
            tables.extend(scale::measure(&self.ours.settings, *limit, &self.lengths, &mut step)?);
        }
        Ok(tables)
    }

    fn cache(&self, path: &Path, tell: &mut dyn FnMut(f64)) -> anyhow::Result<Vec<Table>> {
        let mut set = dataset::recall::read(path)?;
        set.talks.retain(|talk| !self.in_brief || !is_long(talk));
        let mut step = steps(cache::steps(&set, &self.strategies) * self.limits.len(), tell);
        let mut tables = Vec::new();
        for limit in &self.limits {
            tables.extend(cache::measure(&set, &self.ours.settings, &self.strategies, *limit, &mut step)?);
        }
        Ok(tables)
    }
}

/// What a person said, or else the usual.
fn said_or<T: Clone>(said: &[T], usual: &[T]) -> Vec<T> {
    if said.is_empty() { usual.to_vec() } else { said.to_vec() }
}

/// The sizes that a scorecard is content with: where conversations are not short, small windows hold next to nothing;
/// where they are long, the largest alone.
fn few<'a>(set: &dataset::recall::Dataset, limits: &'a [u32]) -> &'a [u32] {
    if set.talks.iter().any(is_long) {
        &limits[limits.len().saturating_sub(1)..]
    } else if set.talks.iter().any(|talk| tokens(talk) > SHORT_TOKENS) {
        &MIDDLING
    } else {
        limits
    }
}

/// Whether a scorecard does without a replay of every call of a conversation.
fn is_long(talk: &Talk) -> bool {
    tokens(talk) > LONG_TOKENS
}

fn tokens(talk: &Talk) -> u64 {
    talk.messages.iter().map(|said| u64::from(said.tokens)).sum()
}

/// About how much work a suite has with a file of so many bytes, for the bar.
const fn weight(suite: Suite, bytes: u64) -> u64 {
    match suite {
        Suite::Recall | Suite::Topics | Suite::Cache | Suite::Tools => bytes + 1,
        Suite::Constraints | Suite::Scale => 1 << 20,
    }
}

/// Counts steps of which there are so many.
#[expect(clippy::cast_precision_loss, reason = "steps are few")]
pub(super) fn steps(all: usize, tell: &mut dyn FnMut(f64)) -> impl FnMut() {
    let mut done = 0_usize;
    move || {
        done += 1;
        tell(done as f64 / all.max(1) as f64);
    }
}

/// The program: its version, and its very bytes, because numbers change long before versions do.
pub(super) fn program() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("the program cannot be found")?;
    Ok(format!("{} {}", env!("CARGO_PKG_VERSION"), fingerprint(&path)?))
}

fn fingerprint(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(hashed(&bytes))
}

fn hashed(bytes: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(bytes))
}
