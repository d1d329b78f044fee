//! What there is to measure: a job for each dataset of each suite.

use std::path::PathBuf;

use anyhow::bail;
use scrollback::strategy::StrategyName;
use scrollback_eval::dataset;
use scrollback_eval::suite::{cache, constraints, recall, scale, tools};

use super::super::talk;
use super::Options;
use super::job::{Job, Ours};

/// A suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suite {
    Recall,
    Topics,
    Cache,
    Tools,
    Constraints,
    Scale,
}

impl Suite {
    /// All of them, in the order they are reported in.
    pub(super) const ALL: [Self; 6] =
        [Self::Recall, Self::Topics, Self::Cache, Self::Tools, Self::Constraints, Self::Scale];

    /// The word that runs it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Topics => "topics",
            Self::Cache => "cache",
            Self::Tools => "tools",
            Self::Constraints => "constraints",
            Self::Scale => "scale",
        }
    }

    /// The folder its datasets are in; none if it needs no data.
    const fn folder(self) -> Option<&'static str> {
        match self {
            Self::Recall | Self::Cache => Some("recall"),
            Self::Topics => Some("topics"),
            Self::Tools => Some("traces"),
            Self::Constraints | Self::Scale => None,
        }
    }

    /// The sizes of its windows, unless told otherwise.
    pub(super) const fn limits(self) -> &'static [u32] {
        match self {
            Self::Recall => &[1_000, 2_000, 4_000, 8_000, 32_000],
            Self::Topics => &[],
            Self::Cache => &[cache::LIMIT],
            Self::Tools => &tools::LIMITS,
            Self::Constraints => &constraints::LIMITS,
            Self::Scale => &[scale::LIMIT],
        }
    }

    /// The strategies it measures, unless told otherwise.
    pub(super) const fn strategies(self) -> &'static [StrategyName] {
        match self {
            Self::Topics | Self::Scale => &[],
            Self::Recall => &recall::STRATEGIES,
            Self::Cache => &cache::STRATEGIES,
            Self::Tools => &tools::STRATEGIES,
            Self::Constraints => &constraints::STRATEGIES,
        }
    }

    /// The sizes that a scorecard of all suites is content with.
    pub(super) const fn limits_in_brief(self) -> &'static [u32] {
        match self {
            Self::Recall => &[2_000, 4_000, 8_000],
            Self::Topics | Self::Cache | Self::Tools | Self::Constraints | Self::Scale => self.limits(),
        }
    }

    /// The strategies that a scorecard of all suites is content with.
    pub(super) const fn strategies_in_brief(self) -> &'static [StrategyName] {
        match self {
            Self::Recall | Self::Cache => &[StrategyName::Pages, StrategyName::Topics],
            Self::Tools => &[StrategyName::Pages],
            Self::Topics | Self::Constraints | Self::Scale => self.strategies(),
        }
    }

    const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Recall | Self::Cache => &[".jsonl", ".jsonl.gz", ".json"],
            Self::Topics | Self::Tools => &dataset::LINES,
            Self::Constraints | Self::Scale => &[],
        }
    }
}

/// Everything the options ask for. What is missing of several suites is said and skipped.
pub(super) fn jobs(options: &Options, suites: &[Suite], ours: &Ours) -> anyhow::Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for &suite in suites {
        let Some(folder) = suite.folder() else {
            jobs.push(Job::without_dataset(suite, options, ours));
            continue;
        };
        let files = files(options, folder, suite.endings())?;
        if files.is_empty() && suites.len() > 1 {
            talk(&format!("{folder}/ is not there: {} is skipped", suite.name()));
        }
        for path in files {
            let job = Job::new(suite, &path, options, ours)?;
            let pooled = (suite == Suite::Recall && options.pools()).then(|| job.clone().pooled());
            jobs.extend([job].into_iter().chain(pooled));
        }
    }
    let needs_data = suites.iter().any(|suite| suite.folder().is_some());
    if needs_data && !jobs.iter().any(Job::has_dataset) {
        let folder =
            options.data.as_ref().map_or_else(|| "--data DIR".to_owned(), |folder| folder.display().to_string());
        bail!("no datasets in {folder}: none is shipped, docs/evaluation.md says which there are and how to write one");
    }
    let is_wanted = |job: &Job| options.only.is_empty() || options.only.iter().any(|name| job.dataset.contains(name));
    jobs.retain(is_wanted);
    if jobs.is_empty() {
        bail!("no dataset has “{}” in its name", options.only.join("” or “"));
    }
    Ok(jobs)
}

/// The datasets of a suite: in its folder, or in the one that was named if that has no folder of a suite.
fn files(options: &Options, folder: &str, endings: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let Some(named) = &options.data else { return Ok(Vec::new()) };
    let mut folders = Suite::ALL.iter().filter_map(|suite| suite.folder());
    let is_divided = folders.any(|folder| named.join(folder).is_dir());
    let folder = if is_divided { named.join(folder) } else { named.clone() };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    Ok(dataset::files(&folder, endings)?)
}
