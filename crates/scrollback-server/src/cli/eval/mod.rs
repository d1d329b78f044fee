//! `scrollback eval SUITE`: how well Scrollback does, beside simple baselines, on data you bring.
//!
//! `plan` says what there is to measure, a `job` each, `run` measures it on as many threads as there are cores, `tell`
//! shows what came of it. With `--upstream` a `model` takes part.

mod home;
mod job;
mod model;
mod plan;
mod run;
mod tell;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use scrollback::strategy::StrategyName;
use scrollback_eval::embedded::Cached;
use scrollback_eval::kept::Kept;
use scrollback_eval::scorecard::{self, Goal};
use scrollback_eval::suite::played::Embedding;
use scrollback_eval::suite::scale;

use self::home::AtHome;
use self::job::Ours;
use self::plan::Suite;
use super::Desk;

/// The exit code of a run that stopped because it would have cost too much.
const UNFINISHED: u8 = 3;

#[derive(Debug, Args)]
pub(super) struct Eval {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Everything: the scorecard. DIR holds recall/, topics/ and traces/; what is missing is skipped
    All(Options),
    /// Recall: how much of what answers a question stands word for word in a window
    Recall(Options),
    /// Sorting into topics: by groups where they alternate, by cuts where they follow one another
    Topics(Options),
    /// What providers' caches would hold and what it would cost to send every call of a conversation
    Cache(Options),
    /// What is saved, what it costs and what is missed when an agent's tools return a great deal
    Tools(Options),
    /// How many rules a person stated stand in the window after many folds; needs no data
    Constraints(Options),
    /// What a turn takes, and what it takes to keep it, as a conversation grows; needs no data
    Scale(Options),
}

/// What every suite may be told.
#[derive(Debug, Args)]
struct Options {
    /// A folder that holds recall/, topics/ and traces/, or for one suite that folder; see docs/evaluation.md
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Sizes of windows, in tokens; each suite has its own if none is said
    #[arg(long, value_name = "TOKENS", value_delimiter = ',')]
    budget: Vec<u32>,
    /// Strategies for recall, cache, tools and constraints; each suite has its own if none is said
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    strategy: Vec<StrategyName>,
    /// Only datasets whose name has one of these in it; a suite without data goes by its own name
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// For scale: how long the conversation is when it is looked at, in tokens
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_values_t = scale::SIZES)]
    length: Vec<u64>,
    /// For recall: each dataset a second time, with all its conversations in one session; the scorecard has both anyway
    #[arg(long)]
    pooled: bool,
    /// For recall: with embeddings, from a folder with a model or an API's address; see docs/embeddings.md
    #[arg(long, value_name = "FOLDER_OR_URL")]
    embed: Option<String>,
    /// For an API: the model that makes them; its key is taken as the settings say
    #[arg(long, value_name = "NAME", requires = "embed")]
    embed_model: Option<String>,
    /// Keep vectors in this folder, and take from it those that were made before
    #[arg(long, value_name = "DIR", requires = "embed")]
    embed_cache: Option<PathBuf>,
    /// Keep what is measured here, and take from here what was measured before
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Say which of these goals are met; see docs/goals.toml
    #[arg(long, value_name = "FILE")]
    goals: Option<PathBuf>,
    /// Write a page with tables and drawings
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// What that page should say about itself: a date, a commit, a machine
    #[arg(long, value_name = "TEXT", requires = "html")]
    note: Option<String>,
    #[command(flatten)]
    model: model::Wanted,
    /// Whether all suites are run, each in brief.
    #[arg(skip)]
    is_scorecard: bool,
}

impl Eval {
    #[expect(clippy::unused_async, reason = "commands are run alike")]
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        match self.what {
            What::All(options) => Options { is_scorecard: true, ..options }.run(desk, &Suite::ALL),
            What::Recall(options) => options.run(desk, &[Suite::Recall]),
            What::Topics(options) => options.run(desk, &[Suite::Topics]),
            What::Cache(options) => options.run(desk, &[Suite::Cache]),
            What::Tools(options) => options.run(desk, &[Suite::Tools]),
            What::Constraints(options) => options.run(desk, &[Suite::Constraints]),
            What::Scale(options) => options.run(desk, &[Suite::Scale]),
        }
    }
}

impl Options {
    fn run(&self, desk: &Desk, suites: &[Suite]) -> anyhow::Result<ExitCode> {
        // What cannot be read is said before anything is measured.
        let goals = self.goals()?;
        let troupe = self.model.troupe(desk, self.resume.as_deref())?;
        let ours = Ours { settings: desk.settings.engine.clone(), embedding: self.embedding(desk)? };
        let jobs = plan::jobs(self, suites, &ours)?;
        let mut jobs: Vec<_> = jobs.into_iter().map(|job| job.with(troupe.as_ref())).collect();
        jobs.retain(|job| job.has_models() || troupe.as_ref().is_none_or(|troupe| !troupe.is_dry()));
        let kept = self.resume.as_deref().map(Kept::open).transpose()?;
        let findings = run::all(&jobs, kept.as_ref())?;
        if let Some(troupe) = troupe.as_ref().filter(|troupe| troupe.is_dry()) {
            troupe.foretell(desk)?;
            return Ok(ExitCode::SUCCESS);
        }
        let goals = scorecard::score(&goals, &findings);
        tell::everything(desk, self, &findings, &goals)?;
        let is_whole = troupe.is_none_or(|troupe| troupe.conclude());
        Ok(if is_whole { ExitCode::SUCCESS } else { UNFINISHED.into() })
    }

    /// Whether datasets are measured a second time, with all their conversations in one session. Nobody pays a model
    /// for that unasked.
    const fn pools(&self) -> bool {
        self.pooled || self.is_scorecard && self.model.upstream.is_none()
    }

    /// What makes vectors, if that is asked for; with every core, because nobody else waits.
    fn embedding(&self, desk: &Desk) -> anyhow::Result<Option<Embedding>> {
        let Some(from) = &self.embed else { return Ok(None) };
        ensure!(
            self.model.upstream.is_none(),
            "with --upstream, conversations are played without embeddings: leave out --embed"
        );
        let mut settings = desk.settings.serve.embeddings.from(from, self.embed_model.as_deref())?;
        settings.threads = std::thread::available_parallelism().map_or(1, usize::from);
        let embedder = crate::embeddings::embedder(&settings)?.context("--embed names nothing")?;
        let embedder = Arc::new(AtHome::new(embedder));
        let cached = match &self.embed_cache {
            Some(folder) => Cached::open(folder, embedder)?,
            None => Cached::new(embedder),
        };
        Ok(Some(Embedding { embedder: Arc::new(cached), settings: settings.engine }))
    }

    fn goals(&self) -> anyhow::Result<Vec<Goal>> {
        let Some(path) = &self.goals else { return Ok(Vec::new()) };
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("{shown} cannot be read"))?;
        scorecard::read(&text).with_context(|| format!("{shown} holds no goals"))
    }
}
