//! What one node has in mind of a conversation, after another decided something about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use scrollback::engine::erase_results;
use scrollback::ids::{Depth, NodeId};
use scrollback::search::Probe;
use scrollback::store::{
    Batch, Committed, Keys, Kind, Known, Matches, Put, Record, Scope, Session, Span, Stored, Which,
};
use scrollback::strategy::StrategyName;
use scrollback::{At, PostgresOptions, PostgresStore, Result, SessionKey, Store, Tenant};
use serde_json::{Value, json};

use super::desk::{Desk, contents, run, settings, texts};
use super::erasing::{RESULT, talk, telling};
use super::kit::{assistant, call, postgres, result, user};
use super::left_out::SECRET;

async fn open(url: &str) -> Arc<PostgresStore> {
    let options = PostgresOptions { connections: 2, ..PostgresOptions::new(url) };
    Arc::new(PostgresStore::open(&options).await.unwrap())
}

async fn node(url: &str) -> Desk {
    Desk::new(open(url).await, settings(StrategyName::Pages), 3_000)
}

/// A node that another overtakes: just before notes are written that quote a result, its words are erased.
struct Overtaken {
    store: Arc<PostgresStore>,
    other: Arc<PostgresStore>,
    /// How the keys of such notes begin.
    notes: &'static str,
    is_erased: AtomicBool,
}

#[async_trait]
impl Store for Overtaken {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        let quotes = |put: &Put| put.key.starts_with(self.notes) && put.body.get().contains(SECRET);
        if batch.records.iter().any(quotes) && !self.is_erased.swap(true, Ordering::Relaxed) {
            erase_results(&*self.other, &batch.session, &[RESULT], At(5)).await?;
        }
        self.store.commit(batch).await
    }

    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
        self.store.prefix(session, from, chain).await
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        self.store.read(session, span).await
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        self.store.matching(tenant, probe).await
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        self.store.records(scope, kind, keys).await
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        self.store.sessions(tenant, which).await
    }
}

#[test]
fn what_another_node_erases_while_notes_of_it_are_written_is_quoted_by_none() {
    run(async {
        for (notes, length) in [("fold/", 0), ("hold/", 200)] {
            let url = postgres::fresh();
            let (store, other, is_erased) = (open(&url).await, open(&url).await, AtomicBool::new(false));
            let overtaken = Arc::new(Overtaken { store, other, notes, is_erased });
            let mut desk = Desk::new(overtaken.clone(), settings(StrategyName::Pages), 3_000);
            let mut history = vec![user("Which boat?"), call("call-1-abcdef", "look", &json!({}))];
            let table = format!("The code is {SECRET}, a boat.{}", " And boats.".repeat(length));
            desk.turn(&mut history, result("call-1-abcdef", &table), assistant("Found.")).await;
            talk(&mut desk, &mut history, 0..20).await;
            assert!(overtaken.is_erased.load(Ordering::Relaxed), "{notes}: nothing quoted it");
            assert_eq!(telling(&desk).await, [], "{notes}");
        }
    });
}

/// Talks at a node until something is folded.
async fn folded(desk: &mut Desk) -> Vec<Value> {
    let mut history = Vec::new();
    for i in 0..80 {
        let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(8)));
        let window = desk.turn(&mut history, question, assistant(&format!("Answer {i}: they turn at noon."))).await;
        if contents(&window).is_some() {
            return history;
        }
    }
    panic!("nothing was folded");
}

/// The node that folded has the fold in mind; the other takes it back. Whoever is asked next must know.
#[test]
fn a_fold_that_another_node_took_back_is_not_shown() {
    run(async {
        let url = postgres::fresh();
        let (mut one, other) = (node(&url).await, node(&url).await);
        let mut history = folded(&mut one).await;
        let session = one.session();
        let listed = other.store.sessions(&one.tenant, Which::Id(session.id)).await.unwrap();
        let (head, layout) = (listed[0].branches[0].head, other.engine.layout(other.limit));
        other.engine.undo(&session, head, &layout, At(900)).await.unwrap();
        history.push(user("And now?"));
        one.now = 1_000;
        let shown = texts(one.begin(&history).await.unwrap().window());
        let mut fresh = node(&url).await;
        fresh.now = 1_001;
        let turn = fresh.begin(&history).await.unwrap();
        assert_eq!(contents(turn.window()), None, "it was taken back");
        assert_eq!(shown, texts(turn.window()));
    });
}
