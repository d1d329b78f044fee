//! Sorting into topics: ours beside the baselines, for every dataset.
//!
//! Datasets whose topics alternate are scored by their groups, those whose topics follow one another by their cuts. One
//! way of sorting serves both, and is not told which it is.

use std::time::{Duration, Instant};

use scrollback::task::{Choice, Unit, partition, partition_online};
use serde::Serialize;

use crate::baseline::Baseline;
use crate::dataset::topics::Dataset;
use crate::metrics::{Agreement, Cuts, agreement, cuts};

/// A way of sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// What Scrollback does with what is folded together.
    Ours,
    /// The same, without a look at what comes next.
    Online,
    /// Something simpler.
    Baseline(Baseline),
}

impl Method {
    /// What it is called in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "Scrollback",
            Self::Online => "Scrollback, online",
            Self::Baseline(baseline) => baseline.name(),
        }
    }

    /// Sorts units: a topic for each.
    pub fn sort(self, units: &[Unit]) -> Vec<usize> {
        match self {
            Self::Ours => partition(units, &[]).into_iter().map(number).collect(),
            Self::Online => partition_online(units).into_iter().map(number).collect(),
            Self::Baseline(baseline) => baseline.sort(units),
        }
    }
}

/// Known topics and fresh ones, numbered apart.
fn number(choice: Choice) -> usize {
    match choice {
        Choice::Known(place) => 2 * place,
        Choice::Fresh(place) => 2 * place + 1,
    }
}

/// How well one way of sorting did on a dataset.
#[derive(Clone, Debug, Serialize)]
pub struct Result {
    /// The way of sorting.
    pub method: &'static str,
    /// The numbers.
    #[serde(flatten)]
    pub scores: Scores,
    /// How long it took for all units.
    #[serde(skip)]
    pub took: Duration,
}

/// The numbers of one way of sorting.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum Scores {
    /// Where topics alternate.
    Groups(Agreement),
    /// Where one topic follows another.
    Cuts(Cuts),
}

/// A dataset and how well it was sorted.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The name of the dataset.
    pub dataset: String,
    /// How many conversations it has.
    pub conversations: usize,
    /// How many units are scored.
    pub units: usize,
    /// How many topics people found.
    pub topics: usize,
    /// Every way of sorting, ours last.
    pub results: Vec<Result>,
}

/// The ways of sorting that are measured on a dataset, ours last.
pub fn methods(dataset: &Dataset) -> Vec<Method> {
    let baselines: &[Baseline] = if interleaved(dataset) { &Baseline::INTERLEAVED } else { &Baseline::LINEAR };
    baselines.iter().map(|&baseline| Method::Baseline(baseline)).chain([Method::Online, Method::Ours]).collect()
}

/// Measures every way of sorting on a dataset; `step` is called after each.
pub fn measure(dataset: &Dataset, mut step: impl FnMut()) -> Measured {
    let results = methods(dataset).into_iter().map(|method| {
        let result = run(dataset, method);
        step();
        result
    });
    let results = results.collect();
    let conversations = &dataset.conversations;
    let topics = |gold: &[usize]| gold.iter().max().map_or(0, |last| last + 1);
    Measured {
        dataset: dataset.name.clone(),
        conversations: conversations.len(),
        units: conversations.iter().map(|conversation| conversation.gold.len()).sum(),
        topics: conversations.iter().map(|conversation| topics(&conversation.gold)).sum(),
        results,
    }
}

fn run(dataset: &Dataset, method: Method) -> Result {
    let mut took = Duration::ZERO;
    let mut pairs = Vec::with_capacity(dataset.conversations.len());
    for conversation in &dataset.conversations {
        let begun = Instant::now();
        let labels = method.sort(&conversation.units);
        took += begun.elapsed();
        pairs.push((conversation.gold.clone(), conversation.scored(&labels).to_vec()));
    }
    let scores = if interleaved(dataset) { Scores::Groups(agreement(&pairs)) } else { Scores::Cuts(cuts(&pairs)) };
    Result { method: method.name(), scores, took }
}

fn interleaved(dataset: &Dataset) -> bool {
    dataset.conversations.iter().any(|conversation| conversation.interleaved)
}

#[cfg(test)]
mod tests {
    use scrollback::At;

    use super::*;
    use crate::dataset::topics::Conversation;

    #[test]
    fn every_method_is_measured_and_ours_comes_last() {
        let unit = |text: &str| Unit { text: text.into(), speaker: Some("ann".into()), at: At(0) };
        let units = vec![unit("before"), unit("bread and butter"), unit("butter and bread")];
        for interleaved in [true, false] {
            let conversations = vec![Conversation { interleaved, units: units.clone(), gold: vec![0, 0] }];
            let mut steps = 0;
            let measured = measure(&Dataset { name: "small".into(), conversations }, || steps += 1);
            assert_eq!((measured.units, measured.topics, measured.conversations), (2, 1, 1));
            assert_eq!(measured.results.len(), steps);
            assert_eq!(measured.results.last().unwrap().method, "Scrollback");
        }
    }
}
