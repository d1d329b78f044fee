//! Recall: how much of what answers a question stands in a window, under each strategy and by simpler means.
//!
//! The question is asked after the last message. Windows of the engine hold whatever it lays out, instructions of its
//! own and the question included; those of baselines hold nothing but quotations. Only whole messages count.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use scrollback::strategy::StrategyName;
use serde::Serialize;

use crate::abreast::abreast;
use crate::baseline::meaning::Meanings;
use crate::baseline::window::Choosing;
use crate::dataset::recall::{Dataset, LeftOut, Talk};
use crate::index::Index;
use crate::metrics::{Evidence, Tally};
use crate::player::{Room, run};
use crate::suite::played::{With, play};

/// The strategies, unless told otherwise.
pub const STRATEGIES: [StrategyName; 4] =
    [StrategyName::Artifacts, StrategyName::Summary, StrategyName::Pages, StrategyName::Topics];

/// A way of choosing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Something simpler.
    Baseline(Choosing),
    /// What the engine does.
    Engine(StrategyName),
}

/// For each question, for each size of window, the places of the messages that it holds.
type Windows = Vec<Vec<Vec<usize>>>;

impl Method {
    /// All of them, ours last.
    pub fn all(strategies: &[StrategyName], is_embedded: bool) -> Vec<Self> {
        Choosing::all(is_embedded).map(Self::Baseline).chain(strategies.iter().copied().map(Self::Engine)).collect()
    }

    /// What it is called in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline(choosing) => choosing.name(),
            Self::Engine(strategy) => strategy.as_str(),
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, Self::Engine(strategy) if super::is_ours(strategy))
    }

    fn is_limit(self) -> bool {
        matches!(self, Self::Baseline(Choosing::Oracle) | Self::Engine(StrategyName::Passthrough))
    }

    fn windows(
        self,
        (talk, index): (&Talk, &Index),
        (with, meanings): (&With<'_>, Option<&Meanings>),
        rooms: &[u32],
    ) -> scrollback::Result<Windows> {
        match self {
            Self::Baseline(choosing) => {
                let near = |number: usize| meanings.map(|meanings| meanings.near(number)).unwrap_or_default();
                let asked = talk.questions.iter().enumerate();
                Ok(asked.map(|(i, asked)| choosing.windows((talk, index), (asked, near(i)), rooms)).collect())
            }
            Self::Engine(strategy) => {
                let rooms: Vec<Room> = rooms.iter().map(|tokens| Room::of_window(strategy, *tokens)).collect();
                run(play(talk, with, &rooms))
            }
        }
    }
}

/// How well one way of choosing did.
#[derive(Clone, Debug, Serialize)]
pub struct Result {
    /// The way of choosing.
    pub method: &'static str,
    /// Whether it is Scrollback's own, and no baseline.
    pub ours: bool,
    /// Whether it is a bound, because it keeps to no size or knows the answer.
    pub limit: bool,
    /// For each size of window, how much evidence was in it.
    pub sizes: Vec<Evidence>,
    /// The same for each kind of question.
    pub kinds: BTreeMap<String, Vec<Evidence>>,
    /// How long a window took on average, in milliseconds; the engine's own turns before it included.
    pub mean_ms: f64,
}

/// A dataset and how well windows for it were chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The name of the dataset.
    pub dataset: String,
    /// How many conversations it has.
    pub conversations: usize,
    /// How many tokens a conversation has, in the mean.
    pub tokens: u64,
    /// How many questions are asked.
    pub questions: usize,
    /// What is not asked for.
    pub left_out: LeftOut,
    /// The sizes of the windows.
    pub rooms: Vec<u32>,
    /// Every way of choosing, ours last.
    pub results: Vec<Result>,
}

/// How many steps measuring a dataset takes.
pub fn steps(dataset: &Dataset, with: &With<'_>, (strategies, rooms): (&[StrategyName], &[u32])) -> usize {
    jobs(dataset, &Method::all(strategies, with.embedding.is_some()), rooms.len()).len()
}

/// A conversation, by one way of choosing, for some of the sizes.
struct Job {
    talk: usize,
    method: usize,
    rooms: Range<usize>,
}

/// What is measured side by side: the engine in each size by itself, so that sets that are one conversation take all
/// cores too.
fn jobs(dataset: &Dataset, methods: &[Method], rooms: usize) -> Vec<Job> {
    let stretches = |method: &Method| -> Vec<Range<usize>> {
        let most = if matches!(method, Method::Engine(_)) { 1 } else { rooms.max(1) };
        (0..rooms).step_by(most).map(|room| room..room + most).collect()
    };
    let of_talk = |talk: usize| {
        methods.iter().enumerate().flat_map(move |(method, chosen)| {
            stretches(chosen).into_iter().map(move |rooms| Job { talk, method, rooms })
        })
    };
    (0..dataset.talks.len()).flat_map(of_talk).collect()
}

/// Measures every way of choosing on a dataset; `step` is called after each job.
pub fn measure(
    dataset: &Dataset,
    with: &With<'_>,
    (strategies, rooms): (&[StrategyName], &[u32]),
    step: impl FnMut(),
) -> scrollback::Result<Measured> {
    let methods = Method::all(strategies, with.embedding.is_some());
    let known: Vec<Known> = dataset.talks.iter().map(|_| Known::default()).collect();
    let choose = |job: &Job, step: &dyn Fn()| {
        let talk = &dataset.talks[job.talk];
        let means = known[job.talk].of(talk, with)?;
        let (begun, rooms) = (Instant::now(), &rooms[job.rooms.clone()]);
        let windows = methods[job.method].windows((talk, &means.index), (with, means.meanings.as_ref()), rooms)?;
        step();
        Ok((windows, begun.elapsed()))
    };
    let jobs = jobs(dataset, &methods, rooms.len());
    let chosen = abreast(&jobs, choose, step)?;
    let questions = dataset.talks.iter().map(|talk| talk.questions.len()).sum();
    let of_method = |(number, method): (usize, &Method)| {
        let of_talk = |(place, talk)| {
            let is_its = |job: &Job| job.method == number && job.talk == place;
            (talk, joined(jobs.iter().zip(&chosen).filter(|(job, _)| is_its(job)).map(|(_, chosen)| chosen)))
        };
        result(*method, dataset.talks.iter().enumerate().map(of_talk), (questions, rooms.len()))
    };
    let results = methods.iter().enumerate().map(of_method).collect();
    let tokens: u64 = dataset.talks.iter().flat_map(|talk| &talk.messages).map(|said| u64::from(said.tokens)).sum();
    Ok(Measured {
        dataset: dataset.name.clone(),
        conversations: dataset.talks.len(),
        tokens: tokens / dataset.talks.len().max(1) as u64,
        questions,
        left_out: dataset.left_out,
        rooms: rooms.to_vec(),
        results,
    })
}

/// The windows of all sizes, and how long they took.
fn joined<'a>(parts: impl Iterator<Item = &'a (Windows, Duration)>) -> (Windows, Duration) {
    let (mut all, mut took) = (Windows::new(), Duration::ZERO);
    for (windows, time) in parts {
        took += *time;
        all.resize(windows.len(), Vec::new());
        all.iter_mut().zip(windows).for_each(|(all, some)| all.extend(some.iter().cloned()));
    }
    (all, took)
}

/// What baselines choose by.
struct Means {
    index: Index,
    meanings: Option<Meanings>,
}

/// The means of a conversation, made by whoever needs them first.
#[derive(Default)]
struct Known(Mutex<Option<Arc<Means>>>);

impl Known {
    fn of(&self, talk: &Talk, with: &With<'_>) -> scrollback::Result<Arc<Means>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref() {
            return Ok(known.clone());
        }
        let meanings = with.embedding.as_ref().map(|embedding| run(Meanings::of(talk, embedding))).transpose()?;
        Ok(known.insert(Arc::new(Means { index: Index::of(talk), meanings })).clone())
    }
}

#[expect(clippy::cast_precision_loss, reason = "windows are few")]
fn result<'a>(
    method: Method,
    talks: impl Iterator<Item = (&'a Talk, (Windows, Duration))>,
    (questions, rooms): (usize, usize),
) -> Result {
    let (mut tallies, mut took) = (vec![Tally::default(); rooms], Duration::ZERO);
    for (talk, (windows, time)) in talks {
        took += time;
        for (asked, windows) in talk.questions.iter().zip(windows) {
            for (tally, window) in tallies.iter_mut().zip(windows) {
                tally.count(&asked.kind, &window, &asked.evidence);
            }
        }
    }
    let mut kinds: BTreeMap<String, Vec<Evidence>> = BTreeMap::new();
    for (kind, evidence) in tallies.iter().flat_map(Tally::by_group) {
        kinds.entry(kind).or_default().push(evidence);
    }
    let mean_ms = took.as_secs_f64() * 1_000.0 / (questions * rooms).max(1) as f64;
    let sizes = tallies.iter().map(Tally::total).collect();
    Result { method: method.name(), ours: method.is_ours(), limit: method.is_limit(), sizes, kinds, mean_ms }
}

#[cfg(test)]
mod tests;
