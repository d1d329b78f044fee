//! What one node has in mind of a conversation, after another decided something about it.

use std::sync::Arc;

use scrollback::strategy::StrategyName;
use scrollback::{At, PostgresOptions, PostgresStore};
use serde_json::Value;

use super::desk::{Desk, contents, run, settings, texts};
use super::kit::{assistant, postgres, user};

async fn node(url: &str) -> Desk {
    let options = PostgresOptions { connections: 2, ..PostgresOptions::new(url) };
    let store = Arc::new(PostgresStore::open(&options).await.unwrap());
    Desk::new(store, settings(StrategyName::Pages), 3_000)
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
        let listed = other.store.sessions(&one.tenant, scrollback::store::Which::Id(session.id)).await.unwrap();
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
