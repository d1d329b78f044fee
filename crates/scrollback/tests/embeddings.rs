//! Embeddings through the engine: what means the same is quoted, nobody waits for vectors, and they are kept and made
//! anew.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use kit::{Bench, assistant, user};
use scrollback::embed::{EmbedSettings, Embedder, TextKind};
use scrollback::engine::{Ask, EngineSettings, Finish, JobState, Turn};
use scrollback::log::{Arrival, History};
use scrollback::recall::{RecallCall, RecallTool};
use scrollback::store::{Batch, Expect, Keys, Kind, Put, Scope};
use scrollback::strategy::StrategyName;
use scrollback::task::Tasks;
use scrollback::window::{Budget, Reason};
use scrollback::{At, Engine, Error, Message, Result, SessionId, SessionKey, Store, Tenant};
use serde_json::Value;

const WINDOW: u32 = 2_000;
/// What is said once, in words that nobody asks with.
const FACT: &str = "My physician is called Lindqvist.";
/// What is asked: no word of it is a word of the fact.
const QUESTION: &str = "Which doctor treats us?";

/// Knows that a physician is a doctor, and nothing else.
#[derive(Default)]
struct Scholar {
    name: &'static str,
    questions: AtomicUsize,
    passages: AtomicUsize,
    /// How long it takes over a question.
    takes: Duration,
    fails: bool,
    panics: bool,
}

#[async_trait]
impl Embedder for Scholar {
    fn name(&self) -> &str {
        self.name
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>> {
        match kind {
            TextKind::Question => {
                self.questions.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(self.takes).await;
            }
            TextKind::Passage => drop(self.passages.fetch_add(texts.len(), Ordering::Relaxed)),
        }
        assert!(!self.panics, "no vectors ever");
        if self.fails {
            return Err(Error::Model { what: "no vectors today".into(), source: None });
        }
        let of = |text: &&str| {
            let medical = ["physician", "doctor"].iter().any(|word| text.to_lowercase().contains(word));
            let other = f32::from(u8::try_from(text.len() % 7).unwrap()) / 70.0;
            if medical { vec![1.0, other, 0.0] } else { vec![0.1, other, 1.0] }
        };
        Ok(texts.iter().map(of).collect())
    }
}

struct Client {
    engine: Engine,
    history: Vec<Value>,
    now: i64,
}

impl Client {
    fn new(store: &Arc<dyn Store>, scholar: Option<Arc<Scholar>>) -> Self {
        let settings = EngineSettings { strategy: StrategyName::Topics, ..EngineSettings::default() };
        let mut engine = Engine::new(store.clone(), Tasks::offline(), settings);
        if let Some(scholar) = scholar {
            // A busy machine is no reason to be late.
            let question_ms = if scholar.takes.is_zero() { 60_000 } else { 200 };
            engine = engine
                .with_embedder(scholar, EmbedSettings { question_ms, reply_passages: 1, ..EmbedSettings::default() });
        }
        Self { engine, history: Vec::new(), now: 0 }
    }

    async fn begin(&self) -> Turn {
        let text = Value::Array(self.history.clone()).to_string();
        let history = History::parse(&text).unwrap();
        let tenant = Tenant::local();
        let arrival = Arrival::new(&tenant, Some("talk"), "gpt-5", At(self.now));
        self.engine.begin(Ask::new(arrival, &history, Budget { tokens: WINDOW }, WINDOW)).await.unwrap()
    }

    /// Says something, is answered, and lets everything be done that can wait.
    async fn say(&mut self, text: &str, reply: &str) {
        self.now += 1_000_000;
        self.history.push(user(text));
        let turn = self.begin().await;
        let (chores, at) = (turn.chores(), At(self.now));
        let message = Message::from_json(&assistant(reply).to_string()).unwrap();
        let stored = self.engine.finish(turn, Finish::of(message, "gpt-5", at)).await.unwrap().unwrap();
        self.history.push(assistant(reply));
        self.engine.tidy(chores.at(stored.position().unwrap()), at).await.unwrap();
        self.engine.work_through(&Tenant::local(), at).await.unwrap();
    }

    /// A long talk about ships that begins with a fact.
    async fn talk(&mut self) {
        self.say(FACT, "Noted.").await;
        for i in 0..40 {
            let ship = format!("Ship number {i} brought {} crates of oranges and left at dusk with the tide.", i * 7);
            self.say(&ship, &format!("Ship {i} is entered into the book of the harbour, with all its crates.")).await;
        }
    }

    /// Whether the fact stands in the window of the question.
    async fn finds(&mut self) -> bool {
        self.now += 1_000_000;
        self.history.push(user(QUESTION));
        let turn = self.begin().await;
        self.history.pop();
        assert!(turn.window().fits() && turn.window().lost() == 0);
        let quotes = turn.window().blocks().iter().filter(|block| block.reason == Reason::Relevant);
        quotes.into_iter().any(|block| block.text().contains(FACT))
    }

    /// What a model is told that searches for something.
    async fn searches(&mut self, words: &str) -> String {
        self.now += 1_000_000;
        self.history.push(user("And then?"));
        let mut turn = self.begin().await;
        self.history.pop();
        let arguments = serde_json::json!({"words": words}).to_string();
        self.engine.recall(&mut turn, &[RecallCall::read(RecallTool::Search, &arguments)]).await.remove(0)
    }
}

fn session() -> SessionKey {
    let tenant = Tenant::local();
    SessionKey { id: SessionId::declared(&tenant, "talk"), tenant }
}

async fn blocks(store: &Arc<dyn Store>) -> usize {
    let scope = Scope::Session(session());
    store.records(&scope, Kind::Vectors, Keys::After(String::new(), 999)).await.unwrap().len()
}

fn scholar(name: &'static str) -> Arc<Scholar> {
    Arc::new(Scholar { name, ..Scholar::default() })
}

#[tokio::test]
async fn a_search_finds_what_means_the_same_and_what_has_the_words() {
    let store: Arc<dyn Store> = Bench::memory().store;
    let mut client = Client::new(&store, Some(scholar("wise")));
    client.talk().await;
    let found = client.searches("our doctor").await;
    assert!(found.contains(FACT), "{found}");
    // What has every word is told first, though nothing is known of its meaning.
    let found = client.searches("number 9, 63 oranges").await;
    let first = found.lines().find(|line| line.contains("Ship")).unwrap();
    assert!(first.contains("number 9 "), "{found}");
    for scholar in [None, Some(Arc::new(Scholar { name: "wise", takes: Duration::from_secs(9), ..Scholar::default() }))]
    {
        client.engine = Client::new(&store, scholar).engine;
        let found = client.searches("our doctor").await;
        assert!(found.starts_with("Nothing outside the window"), "{found}");
    }
}

#[tokio::test]
async fn what_means_the_same_is_quoted_and_vectors_outlive_the_process() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        let (store, wise) = (bench.store.clone(), scholar("wise"));
        let mut client = Client::new(&store, Some(wise.clone()));
        client.talk().await;
        assert!(client.finds().await, "the vectors lead to it");
        assert_eq!(wise.passages.load(Ordering::Relaxed), client.history.len(), "each message once");
        assert_eq!(blocks(&store).await, 2, "82 messages");
        let (history, again) = (client.history.clone(), scholar("wise"));
        let mut restarted = Client { history, now: 99_000_000, ..Client::new(&store, Some(again.clone())) };
        assert!(restarted.finds().await, "the vectors were kept");
        assert_eq!(again.passages.load(Ordering::Relaxed), 0);
        let mut without = Client { history: restarted.history.clone(), now: 199_000_000, ..Client::new(&store, None) };
        assert!(!without.finds().await, "no word leads to it");
    }
}

#[tokio::test]
async fn the_newest_vectors_are_made_anew_where_they_are_damaged() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        let store = bench.store.clone();
        let mut client = Client::new(&store, Some(scholar("wise")));
        client.talk().await;
        let scope = Scope::Session(session());
        let newest = store.records(&scope, Kind::Vectors, Keys::After(String::new(), 9)).await.unwrap().pop().unwrap();
        let body = serde_json::value::to_raw_value("not what was written").unwrap();
        let damaged =
            Put { scope: scope.clone(), kind: Kind::Vectors, key: newest.key, at: At(1), body, expect: Expect::Any };
        store.commit(Batch::of_records(session(), vec![damaged])).await.unwrap();
        let (history, again) = (client.history.clone(), scholar("wise"));
        let mut restarted = Client { history, now: 99_000_000, ..Client::new(&store, Some(again.clone())) };
        restarted.say("Good night.", "Good night.").await;
        assert_eq!(again.passages.load(Ordering::Relaxed), restarted.history.len() - 64);
        assert_eq!(blocks(&store).await, 2, "and none is left out");
    }
}

/// A node that has vectors of a session in mind, which another one erased; it was begun again since.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vectors_of_a_session_that_another_node_erased_do_not_count() {
    use scrollback::{Forget, PostgresOptions, PostgresStore};
    let options = PostgresOptions { connections: 2, ..PostgresOptions::new(kit::postgres::fresh()) };
    let stores = [PostgresStore::open(&options).await.unwrap(), PostgresStore::open(&options).await.unwrap()];
    let [here, there] = stores.map(Arc::new);
    let [store, other]: [Arc<dyn Store>; 2] = [here, there.clone()];
    let mut client = Client::new(&store, Some(scholar("wise")));
    client.talk().await;
    assert!(client.finds().await);
    there.forget(&session()).await.unwrap();
    let mut again = Client { now: 99_000_000, ..Client::new(&other, Some(scholar("wise"))) };
    again.say("Good morning.", "Good morning.").await;
    again.talk().await;
    (client.history, client.now) = (again.history.clone(), 299_000_000);
    assert!(client.finds().await, "it stands elsewhere now");
}

#[tokio::test]
async fn another_embedder_makes_its_own_vectors_and_the_old_ones_stay() {
    let bench = Bench::memory();
    let mut client = Client::new(&bench.store, Some(scholar("wise")));
    client.talk().await;
    let (history, other) = (client.history.clone(), scholar("other"));
    let mut client = Client { history, now: 99_000_000, ..Client::new(&bench.store, Some(other.clone())) };
    assert!(!client.finds().await, "vectors of another are not compared");
    client.say("Is the book complete?", "It is.").await;
    assert!(client.finds().await, "all were made anew in the background");
    assert!(other.passages.load(Ordering::Relaxed) >= client.history.len());
    assert_eq!(blocks(&bench.store).await, 4);
}

#[tokio::test(start_paused = true)]
async fn a_turn_does_not_wait_for_vectors_that_are_late() {
    let bench = Bench::memory();
    let slow = Arc::new(Scholar { name: "slow", takes: Duration::from_mins(1), ..Scholar::default() });
    let mut client = Client::new(&bench.store, Some(slow.clone()));
    client.talk().await;
    let begun = tokio::time::Instant::now();
    assert!(!client.finds().await, "it is done without them");
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    assert!(slow.questions.load(Ordering::Relaxed) > 0, "it was asked");
}

#[tokio::test]
async fn a_turn_goes_on_if_vectors_fail_and_the_work_waits() {
    for (panics, why) in [(false, "no vectors today"), (true, "the embedder panicked")] {
        let bench = Bench::memory();
        let broken = Arc::new(Scholar { name: "broken", fails: true, panics, ..Scholar::default() });
        let mut client = Client::new(&bench.store, Some(broken));
        client.talk().await;
        assert!(!client.finds().await);
        let jobs = client.engine.jobs(&Tenant::local()).await.unwrap();
        let embed = jobs.iter().find(|job| job.kind.as_str() == "embed").unwrap();
        assert_eq!(embed.last_error.as_deref(), Some(why));
        assert!(matches!(embed.state, JobState::Waiting { .. } | JobState::Failed { .. }), "{:?}", embed.state);
        assert_eq!(blocks(&bench.store).await, 0);
    }
}

#[tokio::test]
async fn what_stands_on_another_branch_is_not_found() {
    let bench = Bench::memory();
    let mut client = Client::new(&bench.store, Some(scholar("wise")));
    client.say("Good morning.", "Good morning.").await;
    let before = client.history.clone();
    client.talk().await;
    assert!(client.finds().await);
    client.history = before;
    for i in 0..40 {
        let barrel = format!("Barrel number {i} holds {} litres of wine and lies in the cellar.", i * 3);
        client.say(&barrel, &format!("Barrel {i} is entered into the book of the cellar, with its litres.")).await;
    }
    assert!(!client.finds().await, "it was never said here");
}
