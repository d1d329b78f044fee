//! Recall through the engine: what a model, or a person in its place, is shown again.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod kit;

use std::sync::Arc;

use kit::{assistant, call, result, user};
use scrollback::engine::{Ask, EngineSettings, Finish, Held, Turn, erase_results};
use scrollback::log::{Arrival, History};
use scrollback::note::Fold;
use scrollback::recall::{RecallCall, RecallTool};
use scrollback::store::{Keys, Kind, Scope};
use scrollback::task::Tasks;
use scrollback::window::Budget;
use scrollback::{At, Engine, MemoryStore, Message, Store, Tenant};
use serde_json::{Value, json};

struct Bench {
    store: Arc<MemoryStore>,
    engine: Engine,
    tenant: Tenant,
}

impl Bench {
    fn new(across_sessions: bool) -> Self {
        let store = Arc::new(MemoryStore::default());
        let settings = EngineSettings { across_sessions, ..EngineSettings::default() };
        let engine = Engine::new(store.clone(), Tasks::offline(), settings);
        Self { store, engine, tenant: Tenant::local() }
    }

    async fn begin(&self, session: &str, messages: &[Value]) -> Turn {
        let text = Value::Array(messages.to_vec()).to_string();
        let history = History::parse(&text).unwrap();
        let arrival = Arrival::new(&self.tenant, Some(session), "gpt-5", At(1_000_000));
        let budget = Budget { tokens: 2_000 };
        self.engine.begin(Ask::new(arrival, &history, budget, 3_000)).await.unwrap()
    }

    async fn finish(&self, turn: Turn) {
        let message = Message::from_json(&assistant("done").to_string()).unwrap();
        let (chores, at) = (turn.chores(), At(2_000_000));
        let finish = Finish::of(message, "gpt-5", at);
        let stored = self.engine.finish(turn, finish).await.unwrap().unwrap();
        self.engine.tidy(chores.at(stored.position().unwrap()), at).await.unwrap();
        self.engine.work_through(&Tenant::local(), at).await.unwrap();
    }

    async fn recall(&self, turn: &mut Turn, tool: RecallTool, arguments: &str) -> String {
        self.engine.recall(turn, &[RecallCall::read(tool, arguments)]).await.remove(0)
    }
}

fn log() -> String {
    (0..600).map(|i| format!("row {i}: berth {} is free", i * 7)).collect::<Vec<_>>().join("\n")
}

fn talk() -> Vec<Value> {
    vec![user("read the list"), call("c1", "list", &json!({"all": true})), result("c1", &log())]
}

#[tokio::test]
async fn results_of_other_sessions_are_loaded_where_that_is_allowed() {
    for (allowed, expected) in [(true, "row 300: berth 2100"), (false, "There is no tool result")] {
        let bench = Bench::new(allowed);
        let other = bench.begin("other", &talk()).await;
        let id = format!("h2@{}", &other.received().session.id.to_string()[..8]);
        bench.finish(other).await;
        let mut turn = bench.begin("mine", &[user("which berth?")]).await;
        let arguments = json!({"id": id, "part": "berth 2100"}).to_string();
        let told = bench.recall(&mut turn, RecallTool::Hold, &arguments).await;
        assert!(told.contains(expected), "{told}");
        let found = bench.recall(&mut turn, RecallTool::Search, "berth 2100").await;
        assert_eq!(found.contains(&id), allowed, "{found}");
        let alike = bench.recall(&mut turn, RecallTool::Hold, r#"{"id": "h2@othe"}"#).await;
        assert!(alike.contains("There is no tool result"), "a name that only begins so is another's: {alike}");
    }
}

/// However much a session says of something itself.
#[tokio::test]
async fn what_a_session_says_takes_no_place_from_results_of_others() {
    let bench = Bench::new(true);
    let other = bench.begin("other", &talk()).await;
    let id = format!("h2@{}", &other.received().session.id.to_string()[..8]);
    bench.finish(other).await;
    let mut mine = vec![user("which berth?")];
    for i in 0..12 {
        let call_id = format!("call-{i}-abcdef");
        mine.extend([call(&call_id, "look", &json!({"row": i})), result(&call_id, "berth 2100")]);
    }
    let mut turn = bench.begin("mine", &mine).await;
    let found = bench.recall(&mut turn, RecallTool::Search, "berth 2100").await;
    assert!(found.contains(&id), "{found}");
}

/// Where tools answer in the person's role.
#[tokio::test]
async fn results_in_the_persons_role_are_found_without_what_the_person_says_beside_them() {
    let bench = Bench::new(true);
    let uses = json!({"type": "tool_use", "id": "c1", "name": "list", "input": {"all": true}});
    let brought = json!({"type": "tool_result", "tool_use_id": "c1", "content": log()});
    let beside = json!({"type": "text", "text": "My own pilot is Ingrid."});
    let talk = [
        user("read the list"),
        json!({"role": "assistant", "content": [uses]}),
        json!({"role": "user", "content": [brought, beside]}),
    ];
    let other = bench.begin("other", &talk).await;
    let id = format!("h2@{}", &other.received().session.id.to_string()[..8]);
    bench.finish(other).await;
    // Others say less, in a role of their own.
    let mut less = vec![user("read the lists")];
    for i in 0..12 {
        let call_id = format!("call-{i}-abcdef");
        less.extend([call(&call_id, "look", &json!({"row": i})), result(&call_id, "berth")]);
    }
    let third = bench.begin("third", &less).await;
    bench.finish(third).await;
    let mut turn = bench.begin("mine", &[user("which berth?")]).await;
    let found = bench.recall(&mut turn, RecallTool::Search, "berth 2100").await;
    assert!(found.contains(&id) && !found.contains("Ingrid"), "{found}");
    let found = bench.recall(&mut turn, RecallTool::Search, "pilot Ingrid").await;
    assert!(!found.contains(&id), "{found}");
    let arguments = json!({"id": id, "part": "600-700"}).to_string();
    let told = bench.recall(&mut turn, RecallTool::Hold, &arguments).await;
    assert!(told.contains("row 599") && !told.contains("Ingrid"), "{told}");
}

#[tokio::test]
async fn documents_in_a_held_result_are_loaded_with_it() {
    let bench = Bench::new(false);
    let uses = json!({"type": "tool_use", "id": "c1", "name": "list", "input": {}});
    let file = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The pilot is Ingrid."}});
    let content = json!([{"type": "text", "text": log()}, file]);
    let answer = json!({"type": "tool_result", "tool_use_id": "c1", "content": content});
    let talk = [
        user("read the list"),
        json!({"role": "assistant", "content": [uses]}),
        json!({"role": "user", "content": [answer]}),
    ];
    let mut turn = bench.begin("s", &talk).await;
    for part in ["pilot", "600-700"] {
        let told = bench.recall(&mut turn, RecallTool::Hold, &json!({"id": "h2", "part": part}).to_string()).await;
        assert!(told.contains("The pilot is Ingrid."), "{told}");
    }
}

#[tokio::test]
async fn what_another_session_leaves_out_is_not_found_from_here() {
    let bench = Bench::new(true);
    let other = bench.begin("other", &talk()).await;
    let (session, id) =
        (other.received().session.clone(), format!("h2@{}", &other.received().session.id.to_string()[..8]));
    bench.finish(other).await;
    let change = scrollback::control::Change::Exclude(scrollback::MessageId(2));
    bench.engine.change(&session, &change, At(3_000_000)).await.unwrap();
    let mut turn = bench.begin("mine", &[user("which berth?")]).await;
    let told = bench.recall(&mut turn, RecallTool::Hold, &json!({"id": id, "part": "berth 2100"}).to_string()).await;
    assert!(told.starts_with("There is no tool result"), "{told}");
    let found = bench.recall(&mut turn, RecallTool::Search, "berth 2100").await;
    assert!(!found.contains(&id) && !found.contains("row 300"), "{found}");
    let (mine, head) = (turn.received().session.clone(), turn.received().head.unwrap());
    let call = RecallCall::read(RecallTool::Hold, &json!({"id": id, "part": "berth 2100"}).to_string()).unwrap();
    let shown = bench.engine.recall_at(&mine, head, &Fold::default(), &call).await.unwrap();
    assert!(shown.contains("row 300: berth 2100"), "a person sees it: {shown}");
}

#[tokio::test]
async fn a_person_is_told_what_a_model_would_be() {
    let bench = Bench::new(false);
    let mut turn = bench.begin("s", &talk()).await;
    let told = bench.recall(&mut turn, RecallTool::Hold, r#"{"id":"h2","part":"10-12"}"#).await;
    let (session, head) = (turn.received().session.clone(), turn.received().head.unwrap());
    let call = RecallCall::read(RecallTool::Hold, r#"{"id":"h2","part":"10-12"}"#).unwrap();
    let shown = bench.engine.recall_at(&session, head, &Fold::default(), &call).await.unwrap();
    assert_eq!(shown, told);
    assert!(shown.contains("row 9: berth 63"), "{shown}");
    let call = RecallCall::read(RecallTool::Hold, r#"{"id":"h2","part":"berth 63"}"#).unwrap();
    let found = bench.engine.recall_at(&session, head, &Fold::default(), &call).await.unwrap();
    assert!(found.contains("[m2 tool ") && found.contains("10: row 9: berth 63"), "{found}");
    let none = RecallCall::read(RecallTool::Hold, "h99").unwrap();
    assert!(bench.engine.recall_at(&session, head, &Fold::default(), &none).await.is_err());
}

#[tokio::test]
async fn erasing_a_result_erases_what_notes_quote_of_it() {
    let bench = Bench::new(false);
    let mut messages = talk();
    let turn = bench.begin("s", &messages).await;
    let session = turn.received().session.clone();
    bench.finish(turn).await;
    for i in 0..40 {
        messages
            .extend([assistant("done"), user(&format!("note number {i}, a sentence of some length to fill pages"))]);
        let turn = bench.begin("s", &messages).await;
        bench.finish(turn).await;
    }
    assert_eq!(erase_results(&*bench.store, &session, &[scrollback::MessageId(2)], At(5)).await.unwrap(), 1);
    let scope = Scope::Session(session.clone());
    for kind in Kind::ALL {
        let records = bench.store.records(&scope, kind, Keys::After(String::new(), 1_000)).await.unwrap();
        assert!(records.iter().all(|record| !record.body.get().contains("berth")), "{kind:?}");
    }
    let held = Held::all(&*bench.store, &session).await.unwrap();
    assert!(held[0].erased && held[0].tool.as_deref() == Some("list"), "{held:?}");
    bench.engine.forget_recent(None);
    messages.extend([assistant("done"), user("what did the list say?")]);
    let mut turn = bench.begin("s", &messages).await;
    let told = bench.recall(&mut turn, RecallTool::Hold, "h2").await;
    assert!(told.contains("erased for good by its owner") && !told.contains("berth"), "{told}");
}
