//! `scrollback eval SUITE`: how well Scrollback does, beside simple baselines, on data you bring.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use scrollback_eval::dataset;
use scrollback_eval::report::markdown;
use scrollback_eval::suite::topics;

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
}

#[derive(Debug, Args)]
struct Topics {
    /// A folder of conversations with topics, .jsonl or .jsonl.gz; see docs/evaluation.md
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl Eval {
    #[expect(clippy::unused_async, reason = "commands are run alike")]
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        match self.suite {
            Suite::Topics(suite) => suite.run(desk),
        }
    }
}

impl Topics {
    fn run(&self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let folder = self.data.display();
        let what_to_do = || {
            format!(
                "{folder} is no folder of datasets: none is shipped, docs/evaluation.md says which there are and how to write one"
            )
        };
        let files = dataset::files(&self.data).with_context(what_to_do)?;
        if files.is_empty() {
            bail!("{}", what_to_do());
        }
        let sets = files.iter().map(|path| dataset::read(path)).collect::<Result<Vec<_>, _>>()?;
        let steps: usize = sets.iter().map(|set| topics::methods(set).len()).sum();
        let bar = progress(steps as u64, "measuring");
        let measured: Vec<_> = sets.iter().map(|set| topics::measure(set, || bar.inc(1))).collect();
        bar.finish_and_clear();
        if desk.json {
            measured.iter().try_for_each(say_json)?;
        } else {
            say(markdown(&measured).trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
