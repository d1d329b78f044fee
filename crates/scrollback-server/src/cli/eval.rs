//! `scrollback eval SUITE`: how well Scrollback does, beside simple baselines, on data you bring.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use scrollback_eval::suite::{recall, topics};
use scrollback_eval::{dataset, report};
use serde::Serialize;

use super::{Desk, progress, say, say_json};

#[derive(Debug, Args)]
pub(super) struct Eval {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// Sorting into topics: by groups where they alternate, by cuts where they follow one another
    Topics(Topics),
    /// Recall: how much of what answers a question stands word for word in a window
    Recall(Recall),
}

#[derive(Debug, Args)]
struct Topics {
    /// A folder of conversations with topics, .jsonl or .jsonl.gz; see docs/evaluation.md
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

#[derive(Debug, Args)]
struct Recall {
    /// A folder of conversations with questions, .jsonl, .jsonl.gz or published .json; see docs/evaluation.md
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Sizes of windows, in tokens
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_values_t = [1_000, 2_000, 4_000, 8_000, 32_000])]
    budget: Vec<u32>,
    /// Only datasets whose name has this in it
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// All conversations of a dataset in one session
    #[arg(long)]
    pooled: bool,
}

impl Eval {
    #[expect(clippy::unused_async, reason = "commands are run alike")]
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        match self.suite {
            Suite::Topics(suite) => suite.run(desk),
            Suite::Recall(suite) => suite.run(desk),
        }
    }
}

impl Topics {
    fn run(&self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let files = files(&self.data, &dataset::LINES)?;
        let sets = files.iter().map(|path| dataset::topics::read(path)).collect::<Result<Vec<_>, _>>()?;
        let steps: usize = sets.iter().map(|set| topics::methods(set).len()).sum();
        let bar = progress(steps as u64, "measuring");
        let measured: Vec<_> = sets.iter().map(|set| topics::measure(set, || bar.inc(1))).collect();
        bar.finish_and_clear();
        tell(desk, &measured, || report::markdown(&measured))
    }
}

impl Recall {
    fn run(&self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let mut files = files(&self.data, &[".jsonl", ".jsonl.gz", ".json"])?;
        let wanted = |path: &PathBuf| self.only.as_ref().is_none_or(|name| path.to_string_lossy().contains(name));
        files.retain(wanted);
        let bar = progress(files.len() as u64, "measuring");
        let mut measured = Vec::new();
        for path in &files {
            let mut set = dataset::recall::read(path)?;
            if self.pooled {
                set = dataset::recall::pooled(&set);
            }
            measured.push(recall::measure(&set, &self.budget, || bar.tick()));
            bar.inc(1);
        }
        bar.finish_and_clear();
        tell(desk, &measured, || report::recall(&measured))
    }
}

/// The dataset files of a folder.
fn files(folder: &Path, endings: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let what_to_do = || {
        format!(
            "{shown} is no folder of datasets: none is shipped, docs/evaluation.md says which there are and how to write one"
        )
    };
    let files = dataset::files(folder, endings).with_context(what_to_do)?;
    if files.is_empty() {
        bail!("{}", what_to_do());
    }
    Ok(files)
}

fn tell<T: Serialize>(desk: &Desk, measured: &[T], table: impl FnOnce() -> String) -> anyhow::Result<ExitCode> {
    if desk.json {
        measured.iter().try_for_each(say_json)?;
    } else {
        say(table().trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}
