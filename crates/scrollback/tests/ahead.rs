//! Notes are written ahead of need, so that turns do not wait: a long replay with a helper that takes its time, in a
//! clock that jumps from one event to the next.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use kit::{assistant, call, result, user};
use scrollback::engine::{Ask, EngineSettings, Finish, Turn};
use scrollback::log::{Arrival, History};
use scrollback::note::Author;
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::window::Budget;
use scrollback::{At, Engine, Error, MemoryStore, Message, SessionId, SessionKey, Tenant};
use serde_json::{Value, json};
use tokio::time::Instant;

const WINDOW: u32 = 32_000;
/// How long a person takes between a reply and the next question.
const THINKS: Duration = Duration::from_secs(20);

/// What the helper is like.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// Answers in the form asked for.
    Good,
    /// Says no.
    Refuses,
    /// Never answers; whoever asks gives up after a while.
    Hangs,
    /// Talks nonsense.
    Garbage,
}

struct Slow {
    manner: Manner,
    takes: Duration,
    asked: AtomicUsize,
}

#[async_trait]
impl Model for Slow {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(self.takes).await;
        let text = match self.manner {
            Manner::Refuses | Manner::Hangs => {
                return Err(Error::Model { what: "the helper model failed: no answer".into(), source: None });
            }
            Manner::Garbage => "}{".to_owned(),
            Manner::Good => written(question, number),
        };
        Ok(Said { text, input_tokens: 500, output_tokens: 100, ..Said::default() })
    }
}

/// What a diligent helper writes.
fn written(question: &Question, number: usize) -> String {
    let ids: Vec<&str> = question.text.split(|c: char| !c.is_alphanumeric()).filter(|word| is_id(word)).collect();
    let moorings = question.text.split("ooring ").skip(1);
    let moorings: BTreeSet<&str> =
        moorings.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap()).collect();
    let moorings = Vec::from_iter(moorings).join(", mooring ");
    match question.task {
        "artifact_draft" | "artifact_merge" => {
            let sources = ids.join(", ");
            format!(
                "# The harbour\n\nMoorings and depths.\n\n## Moorings {number} <!-- sources: {sources} -->\nDeep enough: mooring {moorings}."
            )
        }
        "artifact_decide" => "<none/>".to_owned(),
        _ => format!("They go through mooring {moorings} [{}]. Draft {number}.", ids.last().unwrap_or(&"m0")),
    }
}

fn is_id(word: &str) -> bool {
    word.strip_prefix('m').is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
}

/// What came of a replay.
#[derive(Debug, Default)]
struct Told {
    /// How long each turn waited.
    waited: Vec<Duration>,
    folds: usize,
    /// Folds whose note was not the helper's, because it was not ready.
    unready: usize,
}

struct Client {
    engine: Arc<Engine>,
    model: Arc<Slow>,
    /// Whether it sends back other replies than it got, so that every turn is on a branch of its own.
    alters: bool,
    /// By how much its window differs from one turn to the next.
    trembles: u32,
    history: Vec<Value>,
    tenant: Tenant,
    window: u32,
    now: i64,
}

impl Client {
    fn new(strategy: StrategyName, manner: Manner, takes: Duration) -> Self {
        let model = Arc::new(Slow { manner, takes, asked: AtomicUsize::new(0) });
        let settings = EngineSettings { strategy, ..EngineSettings::default() };
        let tasks = Tasks::new(model.clone(), TaskSettings::default());
        let engine = Arc::new(Engine::new(Arc::new(MemoryStore::default()), tasks, settings));
        let (history, tenant) = (Vec::new(), Tenant::local());
        Self { engine, model, alters: false, trembles: 0, history, tenant, window: WINDOW, now: 0 }
    }

    fn session(&self) -> SessionKey {
        SessionKey { tenant: self.tenant.clone(), id: SessionId::declared(&self.tenant, "replay") }
    }

    async fn begin(&self) -> Turn {
        let text = Value::Array(self.history.clone()).to_string();
        let history = History::parse(&text).unwrap();
        let arrival = Arrival::new(&self.tenant, Some("replay"), "gpt-5", At(self.now));
        let odd = u32::from(self.history.len() / 2 % 2 == 1);
        let budget = Budget { tokens: self.window - odd * self.trembles };
        let ask = Ask::new(arrival, &history, budget, self.window);
        self.engine.begin(ask).await.unwrap()
    }

    /// A turn; what can wait goes on in the background.
    async fn turn(&mut self, question: Value, reply: Value) -> (Turn, Duration) {
        self.now += 20_000_000;
        self.history.push(question);
        let begun = Instant::now();
        let turn = self.begin().await;
        let waited = begun.elapsed();
        let again = self.begin().await;
        let (chores, at) = (turn.chores(), At(self.now + 1));
        let message = Message::from_json(&reply.to_string()).unwrap();
        let finish = Finish::of(message, "gpt-5", at);
        let stored = self.engine.finish(turn, finish).await.unwrap().unwrap();
        // It names nothing that a summary could lose.
        let other = assistant(&"They tell of other piers, and of what grows there. ".repeat(18));
        self.history.push(if self.alters { other } else { reply });
        self.engine.tidy(chores.at(stored.position().unwrap()), at).await.unwrap();
        let (engine, tenant) = (self.engine.clone(), self.tenant.clone());
        tokio::spawn(async move { engine.work_through(&tenant, at).await.unwrap() });
        tokio::time::sleep(THINKS).await;
        (again, waited)
    }
}

async fn replay(mut client: Client, turns: usize) -> Told {
    let (mut told, mut fold) = (Told::default(), None);
    for i in 0..turns {
        let words = format!("what grows at mooring {i}, how deep is it, who lies there this winter, ").repeat(6);
        let question = user(&format!("Tell me {words}please?"));
        let reply =
            assistant(&format!("Mooring {i}. {}", "It is deep enough, and mussels grow on the chain. ".repeat(18)));
        let (turn, waited) = client.turn(question, reply).await;
        assert!(turn.window().fits() && turn.window().lost() == 0, "turn {i}");
        told.waited.push(waited);
        let views = client.engine.views(&client.session()).await.unwrap();
        let view = &views.last().unwrap().view;
        if view.fold != fold {
            fold = view.fold;
            told.folds += 1;
            let written = client.engine.fold_of(&client.session(), view).await.unwrap();
            let artifacts = client.engine.artifacts(&client.session(), &written).await.unwrap();
            let by = written.summary.map(|summary| summary.by).or(artifacts.first().map(|first| first.by));
            told.unready += usize::from(by != Some(Author::Helper));
        }
    }
    told
}

/// How many turns of a thousand waited for longer.
fn per_thousand(told: &Told, over: Duration) -> usize {
    1_000 * told.waited.iter().filter(|waited| **waited > over).count() / told.waited.len()
}

#[tokio::test(start_paused = true)]
async fn at_most_one_turn_in_a_hundred_waits_for_a_fold() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        let told = replay(Client::new(strategy, Manner::Good, Duration::from_secs(5)), 300).await;
        let waits = per_thousand(&told, Duration::ZERO);
        eprintln!("{strategy}: {} folds, {} not ready, {waits} ‰ of turns waited", told.folds, told.unready);
        assert!(told.folds >= 5 && waits <= 10 && told.unready <= 5, "{told:?}");
    }
}

/// The goal of the original design: 95 of 100 turns take less than two seconds more, with a helper of 1.5 seconds.
#[tokio::test(start_paused = true)]
async fn with_a_quick_helper_nearly_every_turn_takes_less_than_two_seconds_more() {
    let told = replay(Client::new(StrategyName::Summary, Manner::Good, Duration::from_millis(1_500)), 200).await;
    assert!(told.folds >= 3 && per_thousand(&told, Duration::from_secs(2)) <= 50, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_helper_that_is_no_help_delays_nothing() {
    for strategy in [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts] {
        for (manner, takes) in [
            (Manner::Refuses, Duration::ZERO),
            (Manner::Hangs, Duration::from_mins(10)),
            (Manner::Garbage, Duration::ZERO),
        ] {
            let client = Client { window: 6_000, ..Client::new(strategy, manner, takes) };
            let told = replay(client, 40).await;
            assert!(told.folds >= 1, "{strategy} {manner:?}");
        }
    }
}

/// Whoever edits what was said goes on from what is written already, and pays for it once.
#[tokio::test(start_paused = true)]
async fn what_is_written_ahead_counts_on_branches_that_leave_later() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        let mut asked = Vec::new();
        for alters in [false, true] {
            let client = Client::new(strategy, Manner::Good, Duration::from_secs(1));
            let model = client.model.clone();
            let told = replay(Client { window: 12_000, alters, ..client }, 80).await;
            assert!(told.folds >= 2 && told.unready <= 1, "{strategy}, {alters}: {told:?}");
            asked.push(model.asked.load(Ordering::Relaxed));
        }
        assert!(asked[1] <= asked[0] * 3 / 2, "{strategy}: {asked:?}");
    }
}

/// A model's tokens are estimated anew after each reply, and its budget with them.
#[tokio::test(start_paused = true)]
async fn what_is_written_ahead_counts_though_the_budget_moves_a_little() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        let mut asked = Vec::new();
        for trembles in [0, 700] {
            let client = Client::new(strategy, Manner::Good, Duration::from_secs(1));
            let model = client.model.clone();
            let told = replay(Client { window: 12_000, trembles, ..client }, 80).await;
            assert!(told.folds >= 2 && told.unready <= 1, "{strategy}, {trembles}: {told:?}");
            asked.push(model.asked.load(Ordering::Relaxed));
        }
        assert!(asked[1] <= asked[0] * 5 / 4, "{strategy}: {asked:?}");
    }
}

/// A helper that counts the summaries it is asked for, and writes none.
#[derive(Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl Model for Counting {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        self.0.fetch_add(usize::from(question.task.starts_with("summary")), Ordering::Relaxed);
        Err(Error::Model { what: "the helper model failed: no answer".into(), source: None })
    }
}

/// What counts is what the window shows: held results take little of it.
#[tokio::test(start_paused = true)]
async fn no_summary_is_begun_for_a_window_that_holds_much_and_shows_little() {
    let counting = Arc::new(Counting::default());
    let settings = EngineSettings { strategy: StrategyName::Summary, ..EngineSettings::default() };
    let patient = TaskSettings { breaker_after: u32::MAX, ..TaskSettings::default() };
    let tasks = Tasks::new(counting.clone(), patient);
    let engine = Arc::new(Engine::new(Arc::new(MemoryStore::default()), tasks, settings));
    let client = Client::new(StrategyName::Summary, Manner::Refuses, Duration::ZERO);
    let mut client = Client { engine, ..client };
    for i in 0..12 {
        let id = format!("call-{i}-abcdef");
        client.history.push(user(&format!("How deep is mooring {i}?")));
        client.history.push(call(&id, "sound", &json!({"mooring": i})));
        let rows = format!("Mooring {i} is deep enough, says the chart. ").repeat(400);
        let (turn, _) = client.turn(result(&id, &rows), assistant("Deep enough.")).await;
        assert!(turn.path_tokens() > 3_000 * i && turn.window().fits());
    }
    assert_eq!(counting.0.load(Ordering::Relaxed), 0);
}
