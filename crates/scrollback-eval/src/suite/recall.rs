//! Recall: how much of what answers a question stands in a window, ours beside the baselines.
//!
//! The question is asked after the last message, and the window holds nothing but quotations. Only whole messages count.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use scrollback::search::gather::{self, Known, Lead, Question, Room, Voice};
use serde::Serialize;

use crate::baseline::window::Choosing;
use crate::dataset::recall::{Asked, Dataset, Talk};
use crate::index::Index;
use crate::metrics::{Evidence, Tally};
use crate::window::DAY_TOKENS;

/// How many messages with the question's words are read, of people and of models.
const READ: usize = 384;

/// A way of choosing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Something simpler.
    Baseline(Choosing),
    /// What Scrollback does.
    Ours,
}

impl Method {
    /// All of them, ours last.
    pub fn all() -> Vec<Self> {
        Choosing::ALL.into_iter().map(Self::Baseline).chain([Self::Ours]).collect()
    }

    /// What it is called in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline(choosing) => choosing.name(),
            Self::Ours => "Scrollback",
        }
    }

    fn windows(self, talk: &Talk, index: &Index, asked: &Asked, rooms: &[u32]) -> Vec<Vec<usize>> {
        match self {
            Self::Baseline(choosing) => choosing.windows(talk, index, asked, rooms),
            Self::Ours => ours(talk, index, asked, rooms),
        }
    }
}

/// How well one way of choosing did.
#[derive(Clone, Debug, Serialize)]
pub struct Result {
    /// The way of choosing.
    pub method: &'static str,
    /// For each size of window, how much evidence was in it.
    pub sizes: Vec<Evidence>,
    /// The same for each kind of question.
    pub kinds: BTreeMap<String, Vec<Evidence>>,
    /// How long a question took on average, in milliseconds.
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
    /// The sizes of the windows.
    pub rooms: Vec<u32>,
    /// Every way of choosing, ours last.
    pub results: Vec<Result>,
}

/// Measures every way of choosing on a dataset; `step` is called after each conversation.
pub fn measure(dataset: &Dataset, rooms: &[u32], mut step: impl FnMut()) -> Measured {
    let methods = Method::all();
    let mut tallies = vec![vec![Tally::default(); rooms.len()]; methods.len()];
    let mut took = vec![Duration::ZERO; methods.len()];
    for talk in &dataset.talks {
        let index = Index::of(talk);
        for asked in &talk.questions {
            for (i, method) in methods.iter().enumerate() {
                let begun = Instant::now();
                let windows = method.windows(talk, &index, asked, rooms);
                took[i] += begun.elapsed();
                for (tally, window) in tallies[i].iter_mut().zip(&windows) {
                    tally.count(&asked.kind, window, &asked.evidence);
                }
            }
        }
        step();
    }
    let questions = dataset.talks.iter().map(|talk| talk.questions.len()).sum();
    let windows = questions * rooms.len();
    let results = methods.iter().zip(&tallies).zip(took);
    let results = results.map(|((method, tallies), took)| result(*method, tallies, took, windows)).collect();
    let tokens: u64 = dataset.talks.iter().flat_map(|talk| &talk.messages).map(|said| u64::from(said.tokens)).sum();
    Measured {
        dataset: dataset.name.clone(),
        conversations: dataset.talks.len(),
        tokens: tokens / dataset.talks.len().max(1) as u64,
        questions,
        rooms: rooms.to_vec(),
        results,
    }
}

#[expect(clippy::cast_precision_loss, reason = "windows are few")]
fn result(method: Method, tallies: &[Tally], took: Duration, windows: usize) -> Result {
    let sizes = tallies.iter().map(Tally::total).collect();
    let mut kinds: BTreeMap<String, Vec<Evidence>> = BTreeMap::new();
    for (kind, evidence) in tallies.iter().flat_map(Tally::by_group) {
        kinds.entry(kind).or_default().push(evidence);
    }
    Result { method: method.name(), sizes, kinds, mean_ms: took.as_secs_f64() * 1_000.0 / windows.max(1) as f64 }
}

/// What Scrollback does: the index names messages that hold the question's words, some are read, and the best chosen.
fn ours(talk: &Talk, index: &Index, asked: &Asked, rooms: &[u32]) -> Vec<Vec<usize>> {
    let question = Question::read(&asked.text);
    let count = |term: &String| u32::try_from(index.postings(term).len()).unwrap_or(u32::MAX);
    let known = Known { frequencies: question.terms().iter().map(count).collect(), total: index.len() as u64 };
    let read = |place: usize| {
        let said = &talk.messages[place];
        let (name, at) = (said.name(), said.at);
        let said =
            gather::Said { place: place as u64, at, voice: said.voice, name, text: &said.text, tokens: said.tokens };
        Lead::read(&question, said)
    };
    let mut leads: Vec<Lead> = candidates(talk, index, &question, &known).into_iter().map(read).collect();
    let beside = gather::beside(&question, &known, &leads).into_iter().filter_map(|place| usize::try_from(place).ok());
    leads.extend(beside.filter(|place| *place < index.len()).map(read));
    let choose = |&tokens: &u32| {
        let places = gather::gather(&question, &known, leads.clone(), Room { tokens, day_tokens: DAY_TOKENS });
        places.into_iter().filter_map(|place| usize::try_from(place).ok()).collect()
    };
    rooms.iter().map(choose).collect()
}

/// The messages whose words weigh most, of people and of models, as a store's index would name them.
fn candidates(talk: &Talk, index: &Index, question: &Question, known: &Known) -> Vec<usize> {
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    for (term, weight) in question.terms().iter().zip(known.weights(question)) {
        for (place, _) in index.postings(term) {
            *weights.entry(*place).or_default() += weight;
        }
    }
    let mut found = Vec::new();
    for voice in [Voice::Person, Voice::Model] {
        let said = weights.iter().filter(|(place, _)| talk.messages[**place].voice == voice);
        let mut said: Vec<(usize, f64)> = said.map(|(place, weight)| (*place, *weight)).collect();
        said.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        found.extend(said.into_iter().take(READ).map(|(place, _)| place));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::recall::Said;
    use crate::window::{line_tokens, tokens};

    fn talk() -> Talk {
        let say = |(place, text): (usize, &str)| {
            let tokens = line_tokens(place, "user", text);
            let (speaker, text) = ("user".to_owned(), text.to_owned());
            Said { voice: Voice::Person, speaker, is_named: false, at: None, session: place / 2, text, tokens }
        };
        let texts =
            ["My cello is from Mirecourt.", "It is old.", "The boiler leaks.", "A valve is broken.", "It rains."];
        let asked = |text: &str, place| Asked { kind: "fact".into(), text: text.into(), evidence: vec![place] };
        let questions = vec![asked("Where is my cello from?", 0), asked("What is wrong with the boiler?", 2)];
        Talk { messages: texts.into_iter().enumerate().map(say).collect(), questions }
    }

    #[test]
    fn every_method_is_measured_and_ours_comes_last() {
        let dataset = Dataset { name: "small".into(), talks: vec![talk()] };
        let mut steps = 0;
        let measured = measure(&dataset, &[20, 1_000], || steps += 1);
        assert_eq!((measured.questions, measured.conversations, steps), (2, 1, 1));
        let last = measured.results.last().unwrap();
        assert_eq!((last.method, last.sizes[0].all, last.sizes[1].all), ("Scrollback", 1.0, 1.0));
        assert_eq!(last.kinds["fact"].len(), 2);
    }

    #[test]
    fn windows_stay_within_their_room() {
        let talk = talk();
        let index = Index::of(&talk);
        for method in Method::all() {
            for asked in &talk.questions {
                for window in method.windows(&talk, &index, asked, &[10, 25]) {
                    assert!(tokens(&talk.messages, &window) <= 25, "{}", method.name());
                }
            }
        }
    }
}
