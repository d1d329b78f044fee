//! Measures: several datasets at once, the largest first, told in the order they were asked for.

use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use scrollback_eval::kept::{Kept, Key};
use scrollback_eval::report::Finding;

use super::job::{Job, program};

/// More threads than this wait for memory more than they compute.
const MOST_THREADS: usize = 4;

/// Measures every job that was not measured before. What is finished is kept at once. What runs alone comes first,
/// before others leave memory behind that it would be blamed for.
pub(super) fn all(jobs: &[Job], kept: Option<&Kept>) -> anyhow::Result<Vec<Finding>> {
    let bench = Bench::new(jobs, kept)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (alone, others): (Vec<usize>, Vec<usize>) = bench.missing().into_iter().partition(|i| jobs[*i].is_alone());
    let worked = bench.together(alone, 1).and_then(|()| bench.together(others, cores.min(MOST_THREADS)));
    bench.bar.finish_and_clear();
    worked?;
    let findings = bench.state.into_inner().unwrap_or_else(PoisonError::into_inner).findings;
    let findings = findings.into_iter().collect::<Option<Vec<_>>>().context("something was not measured")?;
    // A suite may have nothing to say about a dataset.
    Ok(findings.into_iter().filter(|finding| !finding.tables.is_empty()).collect())
}

/// What threads work on together.
struct Bench<'a> {
    jobs: &'a [Job],
    keys: Vec<Key>,
    kept: Option<&'a Kept>,
    bar: ProgressBar,
    state: Mutex<Progress>,
}

/// How far they have come.
struct Progress {
    waiting: Vec<usize>,
    under_way: Vec<usize>,
    findings: Vec<Option<Finding>>,
}

impl<'a> Bench<'a> {
    fn new(jobs: &'a [Job], kept: Option<&'a Kept>) -> anyhow::Result<Self> {
        let program = program()?;
        let keys = jobs.iter().map(|job| job.key(&program)).collect::<Result<Vec<_>, _>>()?;
        let findings: Vec<_> = keys.iter().map(|key| kept.and_then(|kept| kept.get(key)).cloned()).collect();
        let unknown = jobs.iter().zip(&findings).filter(|(_, finding)| finding.is_none());
        let bar = bar(unknown.map(|(job, _)| job.weight).sum());
        let state = Mutex::new(Progress { waiting: Vec::new(), under_way: Vec::new(), findings });
        Ok(Self { jobs, keys, kept, bar, state })
    }

    /// What is not known from before.
    fn missing(&self) -> Vec<usize> {
        let findings = &self.progress().findings;
        (0..findings.len()).filter(|i| findings[*i].is_none()).collect()
    }

    /// Works on some jobs with so many threads at once.
    fn together(&self, mut jobs: Vec<usize>, threads: usize) -> anyhow::Result<()> {
        // The last is taken first.
        jobs.sort_by_key(|i| self.jobs[*i].weight);
        let threads = threads.min(jobs.len());
        self.progress().waiting = jobs;
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.work())).collect();
            let done = |worker: ScopedJoinHandle<'_, _>| worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            workers.into_iter().map(done).collect::<Vec<_>>()
        })
        .into_iter()
        .collect()
    }

    /// Takes jobs until there are none.
    fn work(&self) -> anyhow::Result<()> {
        while let Some(i) = self.take() {
            let done = self.measure(i);
            if done.is_err() {
                // The others need not begin what nobody will see.
                self.progress().waiting.clear();
            }
            self.put(i, done?);
        }
        Ok(())
    }

    fn take(&self) -> Option<usize> {
        let mut progress = self.progress();
        let i = progress.waiting.pop()?;
        progress.under_way.push(i);
        self.show(&progress);
        Some(i)
    }

    fn measure(&self, i: usize) -> anyhow::Result<Finding> {
        let (job, mut done) = (&self.jobs[i], 0);
        let mut step = |share: f64| {
            let now = part(job.weight, share);
            self.bar.inc(now.saturating_sub(done));
            done = done.max(now);
        };
        let finding = job.measure(&mut step).with_context(|| format!("{} could not be measured", job.title()))?;
        step(1.0);
        // Numbers are told as they are read back, so that it makes no difference whether they were kept.
        let finding = serde_json::from_str(&serde_json::to_string(&finding)?)?;
        if let Some(kept) = self.kept.filter(|_| job.is_whole()) {
            kept.put(&self.keys[i], &finding)?;
        }
        Ok(finding)
    }

    fn put(&self, i: usize, finding: Finding) {
        let mut progress = self.progress();
        progress.findings[i] = Some(finding);
        progress.under_way.retain(|one| *one != i);
        self.show(&progress);
    }

    fn show(&self, progress: &Progress) {
        let titles: Vec<String> = progress.under_way.iter().map(|i| self.jobs[*i].title()).collect();
        self.bar.set_message(titles.join(", "));
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a bar is coarse"
)]
fn part(weight: u64, share: f64) -> u64 {
    (weight as f64 * share.clamp(0.0, 1.0)) as u64
}

/// A bar with what is being measured and how long it will take.
fn bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    bar.enable_steady_tick(Duration::from_millis(250));
    match ProgressStyle::with_template("{wide_bar} {percent}% · {elapsed} gone, {eta} to go · {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
