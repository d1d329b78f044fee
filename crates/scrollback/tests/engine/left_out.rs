//! What a person wants left out is in no window from then on: not itself, and not in the words of a note made later,
//! even if the helper wrote that note before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use scrollback::control::Change;
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::{At, Engine, MemoryStore, MessageId};
use serde_json::{Value, json};

use super::desk::{Desk, contents, run, settings, texts};
use super::kit::{assistant, call, result, user};

pub const SECRET: &str = "QX-7731";

/// A helper that repeats the secret whenever it is shown it, in the form that each task asks for.
pub struct Parrot;

#[async_trait]
impl Model for Parrot {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        let told = if question.text.contains(SECRET) { SECRET } else { "nothing much" };
        let text = match question.task {
            "summary" | "summary_short" => format!("<summary>\nThey spoke of boats and {told} [m0].\n</summary>"),
            "artifact_draft" | "artifact_merge" => {
                format!("# Boats\n\nBoats and {told}.\n\n## Boats <!-- sources: m0-m99 -->\nBoats and {told}.\n")
            }
            "page_digest" => json!({"title": format!("Boats and {told}"), "lines": {}}).to_string(),
            _ => json!({"name": format!("Boats {told}"), "brief": told, "artifact": null}).to_string(),
        };
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

/// Talks, and leaves the secret out after a turn. Returns the first turn whose window does not show how it all began.
fn first_fold(strategy: StrategyName, tasks: Tasks, excluded_after: usize) -> usize {
    run(async {
        let mut desk = Desk::with_tasks(Arc::new(MemoryStore::default()), settings(strategy), 3_000, tasks);
        let (mut history, mut folded) = (Vec::new(), None);
        for i in 0..40 {
            let code = if i == 3 { format!("The code of the boat house is {SECRET}. ") } else { String::new() };
            let question = user(&format!("{code}Question {i}: {}?", "boats and tides and moorings ".repeat(12)));
            let window = desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
            let shown = texts(&window).join("\n");
            assert!(i <= excluded_after || !shown.contains(SECRET), "{strategy}, turn {i}: {shown}");
            let begun = texts(&window).iter().any(|text| text.starts_with('{') && text.contains("Question 0:"));
            folded = folded.or((!begun).then_some(i));
            if i == excluded_after {
                let change = Change::Exclude(MessageId(6));
                desk.engine.change(&desk.session(), &change, At(desk.now)).await.unwrap();
            }
        }
        folded.unwrap()
    })
}

fn check(strategies: &[StrategyName], tasks: fn() -> Tasks) {
    for &strategy in strategies {
        let fold = first_fold(strategy, tasks(), usize::MAX);
        assert!(fold > 5, "{strategy} folds in turn {fold}");
        first_fold(strategy, tasks(), fold - 1);
    }
}

#[test]
fn no_note_tells_it() {
    check(&[StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts], Tasks::offline);
}

#[test]
fn no_note_that_was_written_ahead_tells_it() {
    // Topics are sorted ahead of need too; what they are called then stays until they are added to.
    let strategies = [StrategyName::Pages, StrategyName::Summary, StrategyName::Artifacts];
    check(&strategies, || Tasks::new(Arc::new(Parrot), TaskSettings::default()));
}

/// What a note quotes goes with the next fold, wherever it stands there.
#[test]
fn what_is_left_out_once_it_is_folded_is_quoted_until_the_next_fold() {
    for strategy in [StrategyName::Pages, StrategyName::Summary] {
        run(async {
            let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(strategy), 3_000);
            let (mut history, mut folded) = (Vec::new(), None);
            for i in 0..40 {
                let asked = if i == 3 { format!("Does {SECRET} open the boat house? ") } else { String::new() };
                let said = user(&format!("{asked}Turn {i}: {}", "boats and tides and moorings. ".repeat(12)));
                let window = desk.turn(&mut history, said, assistant(&format!("Answer {i}."))).await;
                let now = contents(&window);
                match &folded {
                    None if now.as_ref().is_some_and(|now| now.contains(SECRET)) => {
                        let change = Change::Exclude(MessageId(6));
                        desk.engine.change(&desk.session(), &change, At(desk.now)).await.unwrap();
                        folded = now;
                    }
                    Some(_) if now != folded => {
                        assert!(!texts(&window).join("\n").contains(SECRET), "{strategy}, turn {i}: {now:?}");
                        return;
                    }
                    Some(_) | None => {}
                }
            }
            panic!("{strategy}: {folded:?}");
        });
    }
}

/// A helper that remembers in which questions it was shown the secret, once it is to watch.
#[derive(Default)]
struct Witness {
    watches: AtomicBool,
    asked: Mutex<Vec<&'static str>>,
    told: Mutex<Vec<&'static str>>,
}

#[async_trait]
impl Model for Witness {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        if self.watches.load(Ordering::Relaxed) {
            self.asked.lock().unwrap().push(question.task);
            if question.text.contains(SECRET) {
                self.told.lock().unwrap().push(question.task);
            }
        }
        Parrot.ask(question).await
    }
}

async fn exclude(desk: &Desk, witness: &Witness, id: u32) {
    desk.engine.change(&desk.session(), &Change::Exclude(MessageId(id)), At(desk.now)).await.unwrap();
    witness.watches.store(true, Ordering::Relaxed);
}

/// Topics are read against the open messages; those left out are not shown to the helper even there.
#[test]
fn the_helper_that_reads_topics_is_not_shown_it() {
    run(async {
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(StrategyName::Topics), 3_000);
        let mut history: Vec<Value> = Vec::new();
        for i in 0..30 {
            let about = if i < 3 { "The ferry Petrel lies at slip 9" } else { "Boats and tides" };
            let question = user(&format!("{about}, question {i}: {}?", "moorings in winter ".repeat(12)));
            desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
        }
        desk.turn(&mut history, user(&format!("The code is {SECRET}.")), assistant("Good.")).await;
        let witness = Arc::new(Witness::default());
        exclude(&desk, &witness, 60).await;
        let tasks = Tasks::new(witness.clone(), TaskSettings::default());
        desk.engine = Engine::new(desk.store.clone(), tasks, desk.settings.clone());
        let question = user("Petrel, slip?");
        desk.turn(&mut history, question, assistant("I do.")).await;
        assert!(witness.asked.lock().unwrap().contains(&"read_topic"), "{:?}", witness.asked);
        assert_eq!(*witness.told.lock().unwrap(), [""; 0]);
    });
}

/// A decision made while a reply is on its way counts for what is done after it.
#[test]
fn what_is_left_out_while_a_reply_is_made_is_not_digested_after_it() {
    run(async {
        let witness = Arc::new(Witness::default());
        let tasks = Tasks::new(witness.clone(), TaskSettings::default());
        let store = Arc::new(MemoryStore::default());
        let mut desk = Desk::with_tasks(store, settings(StrategyName::Pages), 3_000, tasks);
        let mut history = vec![user("Look."), call("call-1-abcdef", "look", &json!({}))];
        history.push(result("call-1-abcdef", &format!("row of boats {SECRET}\n").repeat(90)));
        let turn = desk.begin(&history).await.unwrap();
        exclude(&desk, &witness, 2).await;
        desk.finish(turn, &assistant("Found.")).await;
        assert_eq!(*witness.told.lock().unwrap(), [""; 0]);
    });
}

/// Quotes stay as they are for as long as a turn goes on, but for what is left out meanwhile, whoever says so.
#[test]
fn what_is_left_out_within_a_turn_is_quoted_no_more() {
    for by_another in [false, true] {
        run(async {
            let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(StrategyName::Topics), 3_000);
            let mut history: Vec<Value> = Vec::new();
            let fact = format!("Who writes this down? The code of the boathouse is {SECRET}.");
            desk.turn(&mut history, user(&fact), assistant("I do.")).await;
            for i in 0..40 {
                let question = user(&format!("Question {i}: {}?", "tides and moorings in winter ".repeat(12)));
                desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
            }
            history.push(user("What is the code of the boathouse?"));
            let turn = desk.begin(&history).await.unwrap();
            assert!(texts(turn.window()).join("\n").contains(SECRET));
            let reply = call("call-1-abcdef", "look", &json!({}));
            desk.finish(turn, &reply).await;
            history.extend([reply, result("call-1-abcdef", "The door is shut.")]);
            let other = Engine::new(desk.store.clone(), Tasks::offline(), desk.settings.clone());
            let engine = if by_another { &other } else { &desk.engine };
            engine.change(&desk.session(), &Change::Exclude(MessageId(0)), At(desk.now)).await.unwrap();
            let turn = desk.begin(&history).await.unwrap();
            let shown = texts(turn.window()).join("\n");
            assert!(!shown.contains(SECRET), "{shown}");
        });
    }
}

/// A client may answer the call once more, in other words.
#[test]
fn another_result_of_a_call_that_is_left_out_goes_with_it() {
    for strategy in StrategyName::ALL {
        run(async {
            let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(strategy), 3_000);
            let asked = call("call-1-abcdef", "look", &json!({"for": "a berth"}));
            let mut history = vec![user("Look it up."), asked, result("call-1-abcdef", "berth twelve")];
            let turn = desk.begin(&history).await.unwrap();
            desk.finish(turn, &assistant("Found.")).await;
            desk.engine.change(&desk.session(), &Change::Exclude(MessageId(1)), At(desk.now)).await.unwrap();
            history[2] = result("call-1-abcdef", "berth ninety");
            history.extend([assistant("Found."), user("And now?")]);
            let shown = texts(desk.begin(&history).await.unwrap().window()).join("\n");
            assert!(!shown.contains("call-1-abcdef"), "{strategy}: {shown}");
        });
    }
}
