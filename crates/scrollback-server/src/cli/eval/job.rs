//! Something to measure: a suite on a dataset with settings.

use std::path::{Path, PathBuf};

use anyhow::Context;
use scrollback::engine::EngineSettings;
use scrollback::strategy::StrategyName;
use scrollback_eval::dataset;
use scrollback_eval::kept::Key;
use scrollback_eval::report::Finding;
use scrollback_eval::suite::{cache, constraints, recall, scale, tools, topics};
use scrollback_eval::table::Table;
use twox_hash::XxHash3_128;

use super::Options;
use super::plan::Suite;

/// A suite on a dataset.
#[derive(Clone, Debug)]
pub(super) struct Job {
    suite: Suite,
    /// The name of the dataset.
    pub(super) dataset: String,
    path: Option<PathBuf>,
    limits: Vec<u32>,
    lengths: Vec<u64>,
    strategies: Vec<StrategyName>,
    is_pooled: bool,
    settings: EngineSettings,
    /// About how much work it is.
    pub(super) weight: u64,
}

impl Job {
    /// For a file.
    pub(super) fn new(suite: Suite, path: &Path, options: &Options, settings: &EngineSettings) -> anyhow::Result<Self> {
        let size = path.metadata().with_context(|| format!("{} cannot be read", path.display()))?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let dataset = name.split('.').next().unwrap_or_default().to_owned();
        let (path, weight) = (Some(path.to_owned()), weight(suite, size));
        Ok(Self { dataset, path, weight, ..Self::without_dataset(suite, options, settings) })
    }

    /// For a suite that needs none.
    pub(super) fn without_dataset(suite: Suite, options: &Options, settings: &EngineSettings) -> Self {
        Self {
            suite,
            dataset: suite.name().to_owned(),
            path: None,
            limits: said_or(&options.budget, suite.limits()),
            lengths: options.length.clone(),
            strategies: said_or(&options.strategy, suite.strategies()),
            is_pooled: false,
            settings: settings.clone(),
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

    /// What it is, for people.
    pub(super) fn title(&self) -> String {
        if self.has_dataset() { format!("{} {}", self.suite.name(), self.dataset) } else { self.dataset.clone() }
    }

    /// Whether nothing else should run beside it: it takes every core, or measures time.
    pub(super) const fn is_alone(&self) -> bool {
        match self.suite {
            Suite::Topics => false,
            Suite::Recall | Suite::Cache | Suite::Tools | Suite::Constraints | Suite::Scale => true,
        }
    }

    /// What it is found again by: everything the numbers depend on.
    pub(super) fn key(&self, version: &str) -> anyhow::Result<Key> {
        let file = self.path.as_deref().map_or_else(|| Ok(String::new()), fingerprint)?;
        let engine = hashed(format!("{:?}", self.settings).as_bytes());
        Ok(Key {
            suite: self.suite.name().to_owned(),
            dataset: self.dataset.clone(),
            settings: format!(
                "file {file}, windows {:?}, lengths {:?}, strategies {:?}, engine {engine}",
                self.limits, self.lengths, self.strategies
            ),
            version: version.to_owned(),
        })
    }

    /// Measures it; `tell` is told which share of it is done.
    pub(super) fn measure(&self, tell: &mut dyn FnMut(f64)) -> anyhow::Result<Finding> {
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        let (tables, details) = match self.suite {
            Suite::Recall => self.recall(path, tell)?,
            Suite::Topics => {
                let set = dataset::topics::read(path)?;
                (topics::measure(&set, steps(topics::methods(&set).len(), tell)).tables(), Vec::new())
            }
            Suite::Cache => (self.cache(path, tell)?, Vec::new()),
            Suite::Tools => {
                let set = dataset::traces::read(path)?;
                let step = steps(tools::steps(&set, &self.strategies, &self.limits), tell);
                (tools::measure(&set, &self.settings, &self.strategies, &self.limits, step)?, Vec::new())
            }
            Suite::Constraints => {
                let step = steps(constraints::steps(&self.strategies, &self.limits), tell);
                (constraints::measure(&self.settings, &self.strategies, &self.limits, step)?, Vec::new())
            }
            Suite::Scale => (self.scale(tell)?, Vec::new()),
        };
        Ok(Finding { suite: self.suite.name().to_owned(), dataset: self.dataset.clone(), tables, details })
    }

    fn recall(&self, path: &Path, tell: &mut dyn FnMut(f64)) -> anyhow::Result<(Vec<Table>, Vec<Table>)> {
        let mut set = dataset::recall::read(path)?;
        if self.is_pooled {
            set = dataset::recall::pooled(&set);
        }
        let step = steps(recall::steps(&set, &self.strategies), tell);
        let measured = recall::measure(&set, &self.settings, (&self.strategies, &self.limits), step)?;
        Ok((measured.tables(), measured.kinds()))
    }

    fn scale(&self, tell: &mut dyn FnMut(f64)) -> anyhow::Result<Vec<Table>> {
        let mut step = steps(usize::try_from(scale::STEPS)? * self.limits.len(), tell);
        let mut tables = Vec::new();
        for limit in &self.limits {
            tables.extend(scale::measure(&self.settings, *limit, &self.lengths, &mut step)?);
        }
        Ok(tables)
    }

    fn cache(&self, path: &Path, tell: &mut dyn FnMut(f64)) -> anyhow::Result<Vec<Table>> {
        let set = dataset::recall::read(path)?;
        let mut step = steps(cache::steps(&set, &self.strategies) * self.limits.len(), tell);
        let mut tables = Vec::new();
        for limit in &self.limits {
            tables.extend(cache::measure(&set, &self.settings, &self.strategies, *limit, &mut step)?);
        }
        Ok(tables)
    }
}

/// What a person said, or else the usual.
fn said_or<T: Clone>(said: &[T], usual: &[T]) -> Vec<T> {
    if said.is_empty() { usual.to_vec() } else { said.to_vec() }
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
fn steps(all: usize, tell: &mut dyn FnMut(f64)) -> impl FnMut() {
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
