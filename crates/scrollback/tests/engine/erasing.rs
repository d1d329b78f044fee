//! What an owner had erased is in no record, whatever notes were written of it and whoever wrote them; and talk goes
//! on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use scrollback::control::Change;
use scrollback::engine::{Folding, Held, erase_results};
use scrollback::note::Fold;
use scrollback::store::{Keys, Kind, Scope, Which};
use scrollback::strategy::StrategyName;
use scrollback::task::{TaskSettings, Tasks};
use scrollback::window::Budget;
use scrollback::{At, MemoryStore, MessageId};
use serde_json::{Value, json};

use super::desk::{Desk, run, settings, texts};
use super::kit::{assistant, call, result, user};
use super::left_out::{Parrot, SECRET};
use super::sections::Watched;

pub const RESULT: MessageId = MessageId(2);

fn helped() -> Tasks {
    Tasks::new(Arc::new(Parrot), TaskSettings::default())
}

/// Records of a session that hold the secret, by their kinds and keys.
pub async fn telling(desk: &Desk) -> Vec<(Kind, String)> {
    let mut telling = Vec::new();
    for kind in Kind::ALL {
        let all = Keys::After(String::new(), usize::MAX >> 1);
        let records = desk.store.records(&Scope::Session(desk.session()), kind, all).await.unwrap();
        let told = records.into_iter().filter(|record| record.body.get().contains(SECRET));
        telling.extend(told.map(|record| (kind, record.key)));
    }
    telling
}

pub async fn talk(desk: &mut Desk, history: &mut Vec<Value>, turns: std::ops::Range<usize>) {
    for i in turns {
        let question = user(&format!("Question {i}: {}?", "boats and tides and moorings ".repeat(12)));
        let window = desk.turn(history, question, assistant(&format!("Answer {i}."))).await;
        assert!(window.fits());
    }
}

/// A talk that begins with a tool result, which its person pinned; some of it is folded.
async fn talked(store: &Arc<MemoryStore>, strategy: StrategyName, tasks: Tasks) -> (Desk, Vec<Value>) {
    let mut desk = Desk::with_tasks(store.clone(), settings(strategy), 3_000, tasks);
    let mut history = vec![user("Which boat?"), call("call-1-abcdef", "look", &json!({}))];
    let table = result("call-1-abcdef", &format!("```\nlet code = \"{SECRET}\";\n```\nThe code is {SECRET}, a boat."));
    desk.turn(&mut history, table, assistant("Found.")).await;
    desk.engine.change(&desk.session(), &Change::Pin(RESULT), At(desk.now)).await.unwrap();
    talk(&mut desk, &mut history, 0..20).await;
    let head = desk.store.sessions(&desk.tenant, Which::Id(desk.session().id)).await.unwrap()[0].branches[0].head;
    let (session, layout, budget) = (desk.session(), desk.engine.layout(desk.limit), Budget { tokens: 3_000 });
    let folding = Folding { session: &session, head, layout: &layout, model: "gpt-5", budget, recalls: true };
    desk.engine.compress(folding, At(desk.now)).await.unwrap();
    talk(&mut desk, &mut history, 20..21).await;
    (desk, history)
}

async fn check(strategy: StrategyName, tasks: fn() -> Tasks) {
    let store = Arc::new(MemoryStore::default());
    let (mut desk, mut history) = talked(&store, strategy, tasks()).await;
    let before = telling(&desk).await;
    assert!(before.iter().any(|(_, key)| key.starts_with("kept/")), "{strategy}: {before:?}");
    assert_eq!(erase_results(&*store, &desk.session(), &[RESULT], At(desk.now)).await.unwrap(), 1);
    assert_eq!(telling(&desk).await, [], "{strategy}");
    desk.engine.forget_recent(None);
    for recorded in desk.engine.views(&desk.session()).await.unwrap() {
        let drawn = texts(&desk.engine.window_of(&desk.session(), &recorded.view).await.unwrap()).join("\n");
        assert!(!drawn.contains(SECRET), "{strategy}: {drawn}");
    }
    // The client still has it; what it has is not written down again.
    talk(&mut desk, &mut history, 21..40).await;
    assert_eq!(telling(&desk).await, [], "{strategy}, later");
}

#[test]
fn no_note_tells_what_was_erased() {
    for strategy in [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts] {
        run(check(strategy, Tasks::offline));
        run(check(strategy, helped));
    }
}

/// The fold that counts now.
pub async fn fold(desk: &Desk) -> Fold {
    let head = desk.store.sessions(&desk.tenant, Which::Id(desk.session().id)).await.unwrap()[0].branches[0].head;
    desk.engine.fold_at(&desk.session(), head, &desk.engine.layout(desk.limit)).await.unwrap().1
}

/// What was not erased is still told: the summary is written anew, and a section says what happened to it.
#[test]
fn what_is_left_is_told() {
    run(async {
        let store = Arc::new(MemoryStore::default());
        let (desk, _) = talked(&store, StrategyName::Summary, helped()).await;
        let before = fold(&desk).await;
        assert!(before.text.contains(SECRET), "{}", before.text);
        erase_results(&*store, &desk.session(), &[RESULT], At(desk.now)).await.unwrap();
        let after = fold(&desk).await;
        let summary = after.summary.unwrap();
        assert!(summary.text.contains("erased") && summary.text.contains("Answer"), "{summary:?}");
        assert!(after.text.contains("erased") && summary.kept.iter().all(|quote| quote.message != RESULT));
        assert!(after.tokens <= before.tokens && after.covers == before.covers, "{}", after.text);
        let store = Arc::new(MemoryStore::default());
        let (desk, _) = talked(&store, StrategyName::Artifacts, helped()).await;
        let before = fold(&desk).await;
        assert!(before.text.contains(SECRET), "{}", before.text);
        erase_results(&*store, &desk.session(), &[RESULT], At(desk.now)).await.unwrap();
        let after = fold(&desk).await;
        let artifacts = desk.engine.artifacts(&desk.session(), &after).await.unwrap();
        let citing = artifacts.iter().flat_map(|one| &one.sections).find(|one| one.sources.contains(&RESULT)).unwrap();
        assert!(citing.text.contains("erased") && after.text.contains("erased"), "{citing:?} {}", after.text);
        assert_eq!(after.artifacts, before.artifacts);
    });
}

/// A result counts as erased once its words are, so that whoever was cut short finds it again.
#[test]
fn what_was_cut_short_is_erased_the_next_time() {
    run(async {
        let store = Arc::new(Watched::default());
        let mut desk = Desk::new(store.clone(), settings(StrategyName::Pages), 6_000);
        let mut history = vec![user("Which boat?"), call("call-1-abcdef", "look", &json!({}))];
        let table = result("call-1-abcdef", &format!("The code is {SECRET}, a boat. ").repeat(80));
        desk.turn(&mut history, table, assistant("Found.")).await;
        talk(&mut desk, &mut history, 0..2).await;
        let session = desk.session();
        store.erases_nothing.store(true, Ordering::Relaxed);
        assert!(erase_results(&*store, &session, &[RESULT], At(desk.now)).await.is_err());
        let held = Held::all(&*store, &session).await.unwrap();
        assert_eq!(held.iter().map(|held| (held.id, held.erased)).collect::<Vec<_>>(), [(RESULT, false)]);
        store.erases_nothing.store(false, Ordering::Relaxed);
        assert_eq!(erase_results(&*store, &session, &[RESULT], At(desk.now)).await.unwrap(), 1);
        assert!(Held::all(&*store, &session).await.unwrap()[0].erased);
        assert_eq!(telling(&desk).await, []);
    });
}
