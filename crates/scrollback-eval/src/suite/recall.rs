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
mod tests {
    use scrollback::engine::EngineSettings;
    use scrollback::search::gather::Voice;

    use super::*;
    use crate::dataset::recall::{Asked, Said};
    use crate::window::{line_tokens, tokens};

    fn talk() -> Talk {
        let say = |(place, text): (usize, &str)| {
            let tokens = line_tokens(place, "user", text);
            let (speaker, text) = ("user".to_owned(), text.to_owned());
            Said {
                voice: Voice::Person,
                is_reply: false,
                speaker,
                is_named: false,
                at: None,
                session: place / 2,
                text,
                tokens,
            }
        };
        let texts =
            ["My cello is from Mirecourt.", "It is old.", "The boiler leaks.", "A valve is broken.", "It rains."];
        let asked = |text: &str, place| Asked {
            kind: "fact".into(),
            text: text.into(),
            evidence: vec![place],
            answer: None,
            at: None,
        };
        let questions = vec![asked("Where is my cello from?", 0), asked("What is wrong with the boiler?", 2)];
        Talk { messages: texts.into_iter().enumerate().map(say).collect(), questions }
    }

    #[test]
    fn every_method_is_measured_and_ours_comes_last() {
        let dataset = Dataset { name: "small".into(), talks: vec![talk()], ..Dataset::default() };
        let (settings, mut taken) = (EngineSettings::default(), 0);
        let with = With { settings: &settings, embedding: None };
        let wanted: (&[StrategyName], &[u32]) = (&[StrategyName::Topics], &[20, 2_000]);
        let measured = measure(&dataset, &with, wanted, || taken += 1).unwrap();
        assert_eq!((measured.questions, measured.conversations), (2, 1));
        assert_eq!(taken, steps(&dataset, &with, wanted));
        let last = measured.results.last().unwrap();
        assert_eq!((last.method, last.ours, last.sizes[1].all), ("topics", true, 1.0));
        assert_eq!(last.kinds["fact"].len(), 2);
    }

    #[test]
    fn baselines_are_not_ours_and_what_keeps_to_no_size_is_a_bound() {
        let dataset = Dataset { name: "small".into(), talks: vec![talk()], ..Dataset::default() };
        let settings = EngineSettings::default();
        let with = With { settings: &settings, embedding: None };
        let strategies = [StrategyName::Passthrough, StrategyName::Truncate, StrategyName::Topics];
        let measured = measure(&dataset, &with, (&strategies, &[20]), || ()).unwrap();
        let told = |result: &Result| (result.method, result.ours, result.limit);
        let told: Vec<_> = measured.results.iter().rev().take(4).map(told).collect();
        let expected = [("topics", true, false), ("truncate", false, false), ("passthrough", false, true)];
        assert_eq!((&told[..3], told[3]), (&expected[..], ("oracle", false, true)));
        assert!((measured.results[10].sizes[0].all - 1.0).abs() < 1e-9, "it shows everything");
    }

    #[test]
    fn windows_of_baselines_stay_within_their_room() {
        let talk = talk();
        let index = Index::of(&talk);
        let (settings, near) = (EngineSettings::default(), Meanings::known(vec![vec![0.5; 5]; 2]));
        let with = With { settings: &settings, embedding: None };
        for method in Method::all(&[], true) {
            for windows in method.windows((&talk, &index), (&with, Some(&near)), &[10, 25]).unwrap() {
                assert!(windows.iter().all(|window| tokens(&talk.messages, window) <= 25), "{}", method.name());
            }
        }
    }

    fn of_topics(talk: &Talk, rooms: &[u32]) -> Windows {
        let settings = EngineSettings::default();
        let with = With { settings: &settings, embedding: None };
        Method::Engine(StrategyName::Topics).windows((talk, &Index::of(talk)), (&with, None), rooms).unwrap()
    }

    /// A long talk folds many times; what is asked about its beginning is quoted in a small window, and costs what it
    /// may.
    #[test]
    fn what_was_said_long_ago_is_quoted() {
        let mut long = talk();
        for i in 0..400 {
            let (speaker, text) =
                ("user".to_owned(), format!("Ship {i} came in at dusk and left with {} crates.", i * 7));
            let tokens = line_tokens(long.messages.len(), &speaker, &text);
            long.messages.push(Said { speaker, text, tokens, ..long.messages[0].clone() });
        }
        for (asked, windows) in long.questions.iter().zip(of_topics(&long, &[1_000])) {
            assert!(windows[0].contains(&asked.evidence[0]) && windows[0].len() < 60, "{windows:?}");
        }
    }

    /// A log that somebody pasted has every word of the question, and is larger than the window.
    #[test]
    fn what_is_too_large_to_be_quoted_hides_nothing() {
        let mut long = talk();
        let say = |long: &mut Talk, text: String| {
            let tokens = line_tokens(long.messages.len(), "user", &text);
            long.messages.push(Said { text, tokens, ..long.messages[0].clone() });
        };
        say(&mut long, "For the gateway we take the plan of Bruno.".into());
        for i in 0..200 {
            if i == 100 {
                let log = "payment gateway timeouts decide plan take retry\n".repeat(300);
                say(&mut long, format!("Timeouts of the payment gateway:\n```\n{log}```\n"));
            }
            say(&mut long, format!("Ship {i} came in at dusk and left with {} crates.", i * 7));
        }
        long.questions.truncate(1);
        long.questions[0].text =
            "What did we decide about the payment timeouts of the gateway, whose plan do we take?".into();
        assert!(of_topics(&long, &[1_000])[0][0].contains(&5));
    }

    #[test]
    fn a_window_is_the_same_whatever_sizes_are_measured_beside_it() {
        let mut varied = talk();
        for i in 0..200 {
            let text = match i / 40 % 3 {
                0 => format!("Should buoy {i} be painted red, or does the harbour master prefer green? "),
                1 => format!("Violin pupil {i} practised scales and a sonata by Corelli. "),
                _ => format!("Loaf {i}: rye flour, a sour dough and {} minutes in the oven. ", i * 7),
            };
            let (speaker, text) = (["Ann", "Bob"][i % 2].to_owned(), text.repeat(3));
            let tokens = line_tokens(varied.messages.len(), &speaker, &text);
            varied.messages.push(Said { speaker, is_named: true, text, tokens, ..varied.messages[0].clone() });
        }
        varied.questions[0].text = "Which loaf had rye flour and a sour dough, and how long was it in the oven?".into();
        varied.questions[1].text =
            "Which violin pupil practised which sonata, and how should the buoy be painted?".into();
        let rooms = [1_000, 2_000];
        let alone = rooms.map(|room| of_topics(&varied, &[room]));
        for (question, windows) in of_topics(&varied, &rooms).into_iter().enumerate() {
            assert_eq!(windows, alone.each_ref().map(|alone| alone[question][0].clone()));
        }
    }

    /// What others ask about makes no word a common one.
    #[test]
    fn a_window_is_the_same_whatever_was_asked_before() {
        let mut alone = talk();
        for i in 0..120 {
            let text = match i % 40 {
                7 => format!("A kestrel sat on chimney {i} for half of the day, and nobody knew why it had come."),
                _ => format!("In the harbour ship {i} took {} crates aboard, and left at dusk.", i * 7),
            };
            let (speaker, tokens) = ("user".to_owned(), line_tokens(alone.messages.len(), "user", &text));
            alone.messages.push(Said { speaker, text, tokens, ..alone.messages[0].clone() });
        }
        let asked = |text: &str| Asked { text: text.into(), ..alone.questions[0].clone() };
        let last = asked("Which ship in the harbour had a kestrel?");
        let mut questions: Vec<Asked> = (0..300).map(|i| asked(&format!("Was kestrel {i} a kestrel?"))).collect();
        questions.push(last.clone());
        let ask = |questions: Vec<Asked>| of_topics(&Talk { questions, ..alone.clone() }, &[700]).pop();
        assert_eq!(ask(questions), ask(vec![last]));
    }
}
