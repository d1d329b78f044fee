//! Law 7: whatever the helper model does, turns happen; and what a good one says is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use scrollback::engine::Finish;
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::{At, Engine, Error, MemoryStore, Message};
use serde_json::{Value, json};

use super::desk::{Desk, contents, run, settings, texts};
use super::kit::{assistant, call, result, user};

/// How a helper behaves.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Fails,
    TalksNonsense,
    Panics,
    Helps,
}

#[async_trait]
impl Model for Manner {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        tokio::task::yield_now().await;
        let text = match self {
            Self::Fails => return Err(Error::NotFound("no such model".into())),
            Self::TalksNonsense => "As a language model, I cannot {\"title\": }".to_owned(),
            Self::Panics => panic!("the helper fell over"),
            Self::Helps if question.task == "page_digest" => {
                let ids = question.text.rsplit("Lines are wanted for: ").next().unwrap().split(", ");
                let lines: serde_json::Map<String, Value> =
                    ids.map(|id| (id.to_owned(), json!("told by the helper"))).collect();
                json!({"title": "A title by the helper", "lines": lines}).to_string()
            }
            Self::Helps => {
                json!({"brief": "The helper says that this result is a table of boats. ".repeat(4), "sources": []})
                    .to_string()
            }
        };
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

fn desk(manner: Option<Manner>) -> Desk {
    let tasks = manner.map_or_else(Tasks::offline, |manner| Tasks::new(Arc::new(manner), TaskSettings::default()));
    Desk::with_tasks(Arc::new(MemoryStore::default()), settings(StrategyName::Pages), 3_000, tasks)
}

/// A conversation with large results; every window of it.
async fn windows(desk: &mut Desk) -> Vec<Vec<String>> {
    let (mut history, mut shown) = (Vec::new(), Vec::new());
    for i in 0..24 {
        if i % 5 == 2 {
            let id = format!("call-{i}-abcdef");
            history.push(user(&format!("Look up number {i}.")));
            let turn = desk.begin(&history).await.unwrap();
            let reply = call(&id, "look", &json!({"row": i}));
            desk.finish(turn, &reply).await;
            history.push(reply);
            let table = result(&id, &format!("row {i} of the table of boats\n").repeat(70));
            shown.push(texts(&desk.turn(&mut history, table, assistant("Found.")).await));
        } else {
            let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(8)));
            shown.push(texts(&desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await));
        }
    }
    shown
}

#[test]
fn a_helper_that_is_down_or_talks_nonsense_or_panics_changes_nothing() {
    std::panic::set_hook(Box::new(|_| {}));
    let offline = run(windows(&mut desk(None)));
    for manner in [Manner::Fails, Manner::TalksNonsense, Manner::Panics] {
        assert_eq!(run(windows(&mut desk(Some(manner)))), offline, "{manner:?}");
    }
    let _ = std::panic::take_hook();
}

#[test]
fn digests_of_a_good_helper_are_used_at_the_next_fold() {
    run(async {
        let shown = windows(&mut desk(Some(Manner::Helps))).await;
        let last = shown.last().unwrap();
        assert!(
            last.iter().any(|text| text.contains("] A title by the helper") && text.contains("told by the helper"))
        );
        let held = shown.iter().flatten().find(|text| text.starts_with("[Tool result h")).unwrap();
        assert!(held.contains("The helper says that this result is a table"), "{held}");
    });
}

/// Counts how often it is asked for digests of one kind.
struct Digester {
    of: &'static str,
    asked: AtomicUsize,
}

impl Digester {
    fn new(of: &'static str) -> Arc<Self> {
        Arc::new(Self { of, asked: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Model for Digester {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        if question.task == self.of {
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
        Manner::Helps.ask(question).await
    }
}

#[test]
fn each_large_result_is_digested_once_however_long_its_turn_goes_on() {
    for strategy in [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts] {
        run(async {
            let digester = Digester::new("hold_digest");
            let tasks = Tasks::new(digester.clone(), TaskSettings::default());
            let mut desk = Desk::with_tasks(Arc::new(MemoryStore::default()), settings(strategy), 30_000, tasks);
            let mut history = Vec::new();
            for turn in 0..2 {
                let mut next = user("Look at the next rows.");
                for row in 0..5 {
                    let (id, table) =
                        (format!("call-{turn}{row}-abcdef"), format!("row {row} of the table of boats\n"));
                    desk.turn(&mut history, next, call(&id, "look", &json!({"row": row}))).await;
                    next = result(&id, &table.repeat(70));
                }
                desk.turn(&mut history, next, assistant("Found.")).await;
            }
            let shown = texts(&desk.turn(&mut history, user("What is in row 3?"), assistant("Boats.")).await);
            assert_eq!(digester.asked.load(Ordering::Relaxed), 10, "{strategy:?}");
            let (held, told) = ("[Tool result h", "The helper says that this result is a table");
            let held: Vec<&String> = shown.iter().filter(|text| text.starts_with(held)).collect();
            assert!(held.len() >= 5 && held.iter().all(|text| text.contains(told)), "{strategy:?}: {shown:#?}");
        });
    }
}

#[test]
fn a_long_turn_is_cut_into_the_same_pages_though_its_budget_moves_a_little() {
    run(async {
        let digester = Digester::new("page_digest");
        let tasks = Tasks::new(digester.clone(), TaskSettings::default());
        let store = Arc::new(MemoryStore::default());
        let mut desk = Desk::with_tasks(store, settings(StrategyName::Pages), 8_000, tasks);
        let (mut history, mut next, mut told) = (Vec::new(), user("Look at all rows."), String::new());
        for row in 0..120 {
            // A model's tokens are estimated anew after each reply.
            desk.budget = if row % 2 == 0 { 8_000 - row } else { 7_600 + row };
            let id = format!("call-{row:03}-abcdef");
            let window = desk.turn(&mut history, next, call(&id, "look", &json!({"row": row}))).await;
            told = contents(&window).unwrap_or(told);
            next = result(&id, &format!("row {row} of the table of boats\n").repeat(12));
        }
        let digested = told.matches("] A title by the helper").count();
        assert!(digested > 3 && !told.contains("] row"), "{told}");
        let asked = digester.asked.load(Ordering::Relaxed);
        assert!((digested..digested + 4).contains(&asked), "{asked} digests of {digested} pages, and those to come");
    });
}

/// Counts how often it is asked for a summary.
#[derive(Default)]
struct Summariser(AtomicUsize);

#[async_trait]
impl Model for Summariser {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        if question.task.starts_with("summary") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        super::left_out::Parrot.ask(question).await
    }
}

#[test]
fn a_helper_sums_up_a_segment_at_a_time() {
    run(async {
        let summariser = Arc::new(Summariser::default());
        let tasks = Tasks::new(summariser.clone(), TaskSettings::default());
        let mut desk =
            Desk::with_tasks(Arc::new(MemoryStore::default()), settings(StrategyName::Summary), 4_000, tasks);
        let mut history = Vec::new();
        for i in 0..40 {
            let asked = user(&format!("How many crates did ship {i} bring to the harbour, and who counted them?"));
            let told =
                assistant(&format!("Ship {i} brought {} crates. {}", i * 7, "They were counted twice. ".repeat(8)));
            desk.turn(&mut history, asked, told).await;
        }
        let asked = summariser.0.load(Ordering::Relaxed);
        // Five messages at a time, and some are asked for once more.
        assert!(asked > 0 && asked <= history.len() * 3 / 10, "{asked} for {} messages", history.len());
    });
}

/// A placeholder that was shown stays as it is, even if the helper has more to say later.
#[test]
fn a_placeholder_never_changes_once_it_was_shown() {
    run(async {
        for in_its_turn in [false, true] {
            let mut desk = desk(Some(Manner::Helps));
            desk.budget = 8_000;
            let mut history = vec![user("Look."), call("call-1-abcdef", "look", &json!({}))];
            history.push(result("call-1-abcdef", &"row of the table of boats\n".repeat(100)));
            if in_its_turn {
                // It is held on the spot, because the turn alone is too large.
                desk.budget = 500;
            } else {
                history.extend([assistant("Found."), user("What is in it?")]);
            }
            // Nothing was tidied before, so what is shown was written without the helper.
            let turn = desk.begin(&history).await.unwrap();
            let shown = texts(turn.window());
            assert!(shown[2].starts_with("[Tool result h2"), "{shown:#?}");
            desk.finish(turn, &assistant("Boats.")).await;
            assert_eq!(texts(desk.begin(&history).await.unwrap().window()), shown);
            desk.restart();
            assert_eq!(texts(desk.begin(&history).await.unwrap().window()), shown);
            let view = desk.engine.views(&desk.session()).await.unwrap().pop().unwrap().view;
            let drawn = desk.engine.window_of(&desk.session(), &view).await.unwrap();
            assert_eq!(texts(&drawn), shown);
            assert_eq!(contents(&drawn), None);
        }
    });
}

/// Helps once, and then says nothing more.
#[derive(Default)]
struct Silenced(AtomicUsize);

#[async_trait]
impl Model for Silenced {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        if self.0.fetch_add(1, Ordering::Relaxed) > 0 {
            std::future::pending::<()>().await;
        }
        Manner::Helps.ask(question).await
    }
}

#[test]
fn pages_that_a_process_left_without_digests_get_them_after_a_restart() {
    run(async {
        let tasks = Tasks::new(Arc::new(Silenced::default()), TaskSettings::default());
        let mut desk = Desk::with_tasks(Arc::new(MemoryStore::default()), settings(StrategyName::Pages), 3_000, tasks);
        let asked = |i: usize| user(&format!("Question {i}: {}?", "boats and tides ".repeat(8)));
        let mut history: Vec<Value> = (0..5).flat_map(|i| [asked(i), assistant("Yes.")]).collect();
        history.push(asked(5));
        let turn = desk.begin(&history).await.unwrap();
        let (chores, at, reply) = (turn.chores(), At(9), assistant("No."));
        let finish = Finish::of(Message::from_json(&reply.to_string()).unwrap(), "gpt-5", at);
        let stored = desk.engine.finish(turn, finish).await.unwrap().unwrap();
        desk.engine.tidy(chores.at(stored.position().unwrap()), at).await.unwrap();
        let work = desk.engine.work_through(&desk.tenant, at);
        assert!(tokio::time::timeout(Duration::from_millis(50), work).await.is_err(), "the process ends here");
        let tasks = Tasks::new(Arc::new(Manner::Helps), TaskSettings::default());
        desk.engine = Engine::new(desk.store.clone(), tasks, desk.settings.clone());
        desk.now = 200_000_000;
        desk.engine.work_through(&desk.tenant, At(desk.now)).await.unwrap();
        history.extend([reply, asked(6)]);
        let told = contents(desk.begin(&history).await.unwrap().window()).unwrap();
        assert_eq!(told.matches("] A title by the helper").count(), 4, "{told}");
    });
}
