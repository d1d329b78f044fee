//! What a window says of messages that nobody has read: an imported past, or a model with another limit.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use scrollback::engine::EngineSettings;
use scrollback::recall::{RecallCall, RecallTool};
use scrollback::store::{Keys, Kind, Scope};
use scrollback::strategy::{ArtifactSettings, StrategyName, StrategySettings};
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::{Error, MemoryStore};
use serde_json::{Value, json};

use super::desk::{Desk, contents, run, texts};
use super::kit::{assistant, call, result, user};
use super::sections::Watched;

const BUDGET: u32 = 6_000;

fn desk(strategy: StrategyName) -> Desk {
    let settings = EngineSettings { strategy, ..EngineSettings::default() };
    let desk = Desk::with_tasks(Arc::new(MemoryStore::default()), settings, BUDGET, Tasks::offline());
    Desk { limit: 10_000, ..desk }
}

fn turns(from: usize, to: usize) -> Vec<Value> {
    let turn = |i: usize| {
        let reply = format!("ok {}", "the harbour is calm today ".repeat(30));
        [user(&format!("Boat {i}: remember FACT-{i}, it is the code of boat {i}.")), assistant(&reply)]
    };
    (from..to).flat_map(turn).collect()
}

/// What stands for the past of a talk that came all at once.
async fn imported(desk: &mut Desk, count: usize) -> String {
    let mut history = turns(0, count);
    history.push(user("What is next?"));
    desk.begin(&history).await.unwrap();
    // Nobody has it in mind any more.
    desk.restart();
    let window = desk.begin(&history).await.unwrap().window().clone();
    assert!(window.fits() && window.lost() == 0);
    contents(&window).unwrap()
}

/// A long history that is in the log before anybody folds it.
async fn unread(strategy: StrategyName) -> (Desk, Vec<Value>) {
    let desk = desk(strategy);
    let mut history = turns(0, 400);
    history.push(user("What is next?"));
    let settings = EngineSettings { strategy: StrategyName::Passthrough, ..EngineSettings::default() };
    let mut plain = Desk::with_tasks(desk.store.clone(), settings, u32::MAX, Tasks::offline());
    plain.begin(&history).await.unwrap();
    (desk, history)
}

#[test]
fn a_fold_says_what_nobody_has_read() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        run(async {
            let (mut desk, mut history) = unread(strategy).await;
            let turn = desk.begin(&history).await.unwrap();
            let told = contents(turn.window()).unwrap();
            assert!(told.contains("Nothing is told here of m0–m"), "{strategy}: {told}");
            let last: usize =
                told.split("told here of m0–m").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
            assert!(last > 100 && !told.contains("FACT-3,"), "{strategy}: {told}");
            let shown = contents(desk.begin(&history).await.unwrap().window());
            assert_eq!(shown.as_deref(), Some(&*told), "it stays as it is");
            desk.finish(turn, &assistant("Nothing.")).await;
            history.extend([assistant("Nothing."), user("And then?")]);
            let turn = desk.begin(&history).await.unwrap();
            let told = contents(turn.window()).unwrap();
            assert!(!told.contains("Nothing is told here") && turn.window().fits(), "{strategy}: {told}");
            desk.finish(turn, &assistant("Nothing.")).await;
            let views = desk.engine.views(&desk.session()).await.unwrap();
            let fold = desk.engine.fold_of(&desk.session(), &views.last().unwrap().view).await.unwrap();
            let artifacts = desk.engine.artifacts(&desk.session(), &fold).await.unwrap();
            let sources: BTreeSet<_> = artifacts.iter().flat_map(|artifact| artifact.sources()).collect();
            let is_told = fold.summary.map_or(sources.len() > last, |summary| summary.text.contains("[m"));
            assert!(is_told && fold.untold.is_empty(), "{strategy}: {} sources", sources.len());
        });
    }
}

/// It is told once, and not again where a person took that back.
#[test]
fn what_was_told_and_undone_is_not_told_again() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        run(async {
            let (mut desk, mut history) = unread(strategy).await;
            let nothing = assistant("Nothing.");
            desk.turn(&mut history, user("Is there more?"), nothing.clone()).await;
            history.push(user("And then?"));
            let turn = desk.begin(&history).await.unwrap();
            assert!(!contents(turn.window()).unwrap().contains("Nothing is told here"), "{strategy}: it is told");
            desk.undo(&turn).await.unwrap();
            desk.finish(turn, &nothing).await;
            history.push(nothing.clone());
            desk.turn(&mut history, user("Anything else?"), nothing).await;
            history.push(user("What now?"));
            let told = contents(desk.begin(&history).await.unwrap().window()).unwrap();
            assert!(told.contains("Nothing is told here"), "{strategy}: {told}");
        });
    }
}

#[test]
fn a_model_with_another_limit_goes_on_from_what_is_told() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        run(async {
            let mut desk = desk(strategy);
            let mut history = Vec::new();
            for pair in turns(0, 200).chunks(2) {
                desk.turn(&mut history, pair[0].clone(), pair[1].clone()).await;
            }
            (desk.limit, desk.budget) = (9_000, 5_400);
            history.push(user("What is next?"));
            let told = contents(desk.begin(&history).await.unwrap().window()).unwrap();
            assert!(!told.contains("Nothing is told here"), "{strategy}: {told}");
            let window = desk.begin(&history).await.unwrap().window().clone();
            assert!(window.fits() && window.lost() == 0, "{strategy}");
        });
    }
}

#[test]
fn an_imported_past_is_told_truly_after_a_restart() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        let told = run(async { imported(&mut desk(strategy), 60).await });
        assert!(!told.contains("Nothing is told here"), "all of it was read: {told}");
    }
}

/// An agent reads much, and what it has read is held: hundreds of messages are open, many windows of them, and fit.
#[test]
fn what_fits_because_it_is_held_is_open_after_a_restart_as_well() {
    for strategy in [StrategyName::Summary, StrategyName::Topics] {
        run(async {
            let settings = EngineSettings { strategy, ..EngineSettings::default() };
            let store = Arc::new(MemoryStore::default());
            let mut desk = Desk::with_tasks(store, settings, 48_000, Tasks::offline());
            let rows = "The harbour is calm today. ".repeat(400);
            let turn = |i: usize| {
                let id = format!("call-{i}-abcdef");
                let asked = [user(&format!("List {i}.")), call(&id, "list", &json!({"number": i}))];
                asked.into_iter().chain([result(&id, &format!("{i}: {rows}")), assistant("Listed.")])
            };
            let mut history: Vec<Value> = (0..80).flat_map(turn).collect();
            history.push(user("Which one was it?"));
            let turn = desk.begin(&history).await.unwrap();
            assert_eq!(contents(turn.window()), None, "{strategy}: {} tokens", turn.window().tokens());
            desk.finish(turn, &assistant("The third.")).await;
            history.extend([assistant("The third."), user("And before that?")]);
            let before = texts(desk.begin(&history).await.unwrap().window());
            desk.restart();
            assert_eq!(texts(desk.begin(&history).await.unwrap().window()), before, "{strategy}");
        });
    }
}

/// However many documents there are, each is counted, listed for people and found by its words, and no search reads
/// all.
#[test]
fn no_document_is_lost_for_being_old() {
    run(async {
        let artifacts = ArtifactSettings { archive_at: 4, keep: 2, ..ArtifactSettings::default() };
        let strategies = StrategySettings { artifacts, ..StrategySettings::default() };
        let settings = EngineSettings { strategy: StrategyName::Artifacts, strategies, ..EngineSettings::default() };
        let store = Arc::new(Watched::default());
        let mut desk = Desk::with_tasks(store.clone(), settings, 20_000, Tasks::offline());
        let mut history = Vec::new();
        for i in 0..300 {
            desk.turn(&mut history, user(&format!("Vessel{i} kelp{i}")), assistant(&format!("Sail{i}."))).await;
        }
        history.push(user("Which one was it?"));
        let mut turn = desk.begin(&history).await.unwrap();
        let views = desk.engine.views(&desk.session()).await.unwrap();
        let fold = desk.engine.fold_of(&desk.session(), &views.last().unwrap().view).await.unwrap();
        let all = desk.engine.artifacts(&desk.session(), &fold).await.unwrap();
        assert!(all.len() > 250, "{}", all.len());
        let shown = contents(turn.window()).unwrap();
        assert!(shown.contains(" more documents are not shown here: search_history(words) finds them."), "{shown}");
        let read = store.records.load(Ordering::Relaxed);
        let call = RecallCall::read(RecallTool::Search, "Vessel0 kelp0");
        let found = desk.engine.recall(&mut turn, &[call]).await.remove(0);
        assert!(found.contains("Sources of “Vessel0 kelp0”"), "{found}");
        let read = store.records.load(Ordering::Relaxed) - read;
        assert!(read < 200, "{read} records for one search");
    });
}

/// A helper that counts what it is asked, and has nothing to say.
#[derive(Default)]
struct Counter(AtomicUsize);

#[async_trait]
impl Model for Counter {
    async fn ask(&self, _: &Question) -> scrollback::Result<Said> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Said { text: "Hm.".into(), input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

/// Every question is paid for, so every one is on record, also if somebody else folds while the past is told.
#[test]
fn what_was_asked_for_a_fold_that_is_refused_is_in_the_ledger() {
    for strategy in [StrategyName::Summary, StrategyName::Artifacts] {
        run(async {
            let (store, counter) = (Arc::new(Watched::default()), Arc::new(Counter::default()));
            let settings = |strategy| EngineSettings { strategy, ..EngineSettings::default() };
            let mut history = turns(0, 150);
            history.push(user("What is next?"));
            let whole = settings(StrategyName::Passthrough);
            Desk::with_tasks(store.clone(), whole, u32::MAX, Tasks::offline()).begin(&history).await.unwrap();
            let tasks = Tasks::new(counter.clone(), TaskSettings::default());
            let desk = Desk::with_tasks(store.clone(), settings(strategy), BUDGET, tasks);
            let mut desk = Desk { limit: 10_000, ..desk };
            let turn = desk.begin(&history).await.unwrap();
            let told = contents(turn.window()).unwrap();
            assert!(told.contains("Nothing is told here of m0–m"), "{strategy}: {told}");
            store.refuses_folds.store(true, Ordering::Relaxed);
            desk.finish(turn, &assistant("Nothing.")).await;
            check_ledger(&desk, &counter).await;
        });
    }
}

/// Everything that was asked is on record.
async fn check_ledger(desk: &Desk, counter: &Counter) {
    let (scope, all) = (Scope::Session(desk.session()), Keys::After(String::new(), 9_999));
    let ledger = desk.store.records(&scope, Kind::Ledger, all).await.unwrap().len();
    let asked = counter.0.load(Ordering::Relaxed);
    assert!(asked > 0 && ledger == asked, "{}: {ledger} of {asked}", desk.settings.strategy);
}

/// The same for a turn that nobody finishes, because it cannot be laid out.
#[test]
fn what_was_asked_for_a_turn_that_fails_is_in_the_ledger() {
    run(async {
        let (store, counter) = (Arc::new(Watched::default()), Arc::new(Counter::default()));
        let settings = EngineSettings { strategy: StrategyName::Topics, ..EngineSettings::default() };
        let tasks = Tasks::new(counter.clone(), TaskSettings::default());
        let mut desk = Desk::with_tasks(store.clone(), settings, BUDGET, tasks);
        let mut history = turns(0, 150);
        history.push(user("What is next?"));
        store.refuses_folds.store(true, Ordering::Relaxed);
        assert!(matches!(desk.begin(&history).await, Err(Error::Conflict(_))));
        check_ledger(&desk, &counter).await;
    });
}
