//! One row that is not what was written: whatever it is, the conversation goes on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use scrollback::control::Change;
use scrollback::rule::rules;
use scrollback::store::{Durability, Origin, Span, Stored};
use scrollback::strategy::StrategyName;
use scrollback::{At, MessageId, Role, SqliteOptions, SqliteStore};
use serde_json::Value;

use super::desk::{Desk, run, settings, texts};
use super::kit::{assistant, user};
use super::person::STRATEGIES;

fn open(path: &Path) -> Arc<SqliteStore> {
    let options = SqliteOptions { durability: Durability::Normal, ..SqliteOptions::new(path) };
    Arc::new(SqliteStore::open(&options).unwrap())
}

fn desk(path: &Path, strategy: StrategyName) -> Desk {
    Desk { now: 1_000, ..Desk::new(open(path), settings(strategy), 2_000) }
}

/// A conversation that was folded more than once, in a file.
async fn talked(path: &Path, strategy: StrategyName) -> Vec<Value> {
    let (mut desk, mut history) = (Desk { now: 0, ..desk(path, strategy) }, Vec::new());
    for number in 0..14 {
        let question = format!("Never moor at pier {number}. What does berth {number} cost a night in summer?");
        let reply = format!("Berth {number} costs {} crowns a night. {}", 100 + number, "It is dry. ".repeat(30));
        desk.turn(&mut history, user(&question), assistant(&reply)).await;
    }
    history
}

/// Changes a file and sees that its conversation goes on: with a question, an exclusion, and a fold taken back.
async fn goes_on(path: &Path, strategy: StrategyName, history: &[Value], harm: &str) -> Vec<String> {
    let copy = path.with_extension("copy");
    std::fs::copy(path, &copy).unwrap();
    Connection::open(&copy).unwrap().execute_batch(harm).unwrap();
    let (mut desk, mut history) = (desk(&copy, strategy), history.to_vec());
    desk.turn(&mut history, user("And berth 3?"), assistant("As I said.")).await;
    desk.engine.change(&desk.session(), &Change::Exclude(MessageId(4)), At(2_000)).await.unwrap();
    history.push(user("And berth 4?"));
    let turn = desk.begin(&history).await.unwrap();
    let shown = texts(turn.window());
    desk.undo(&turn).await.unwrap();
    desk.begin(&history).await.unwrap();
    shown
}

/// One record of every sort that there is: by its kind and its key without numbers.
fn sorts(path: &Path) -> Vec<i64> {
    let connection = Connection::open(path).unwrap();
    let mut statement =
        connection.prepare("SELECT rowid, kind, key FROM record WHERE session <> x'' ORDER BY 1").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)));
    let sort = |key: &str| key.chars().filter(|c| !c.is_ascii_digit()).take(12).collect::<String>();
    let sorts: BTreeMap<_, i64> =
        rows.unwrap().map(Result::unwrap).map(|(id, kind, key)| ((kind, sort(&key)), id)).collect();
    sorts.into_values().collect()
}

#[test]
fn no_record_that_is_damaged_ends_a_conversation() {
    for strategy in STRATEGIES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        run(async {
            let history = talked(&path, strategy).await;
            let sorts = sorts(&path);
            assert!(sorts.len() > 4, "{strategy}: {sorts:?}");
            for id in sorts {
                goes_on(&path, strategy, &history, &format!("UPDATE record SET seal = seal + 1 WHERE rowid = {id}"))
                    .await;
            }
            goes_on(&path, strategy, &history, "UPDATE record SET seal = seal + 1").await;
        });
    }
}

#[test]
fn a_message_that_is_damaged_says_so_in_its_place() {
    for strategy in STRATEGIES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        run(async {
            let history = talked(&path, strategy).await;
            for id in [0, 4, 9, 27] {
                let harm =
                    format!("UPDATE message SET raw = replace(raw, 'erth', 'arth') WHERE id & 0xFFFFFFFF = {id}");
                let shown = goes_on(&path, strategy, &history, &harm).await.join("\n");
                assert!(!shown.contains("arth"), "{strategy}, m{id}: {shown}");
                assert!(id != 27 || shown.contains("[m27 cannot be read: "), "{strategy}: {shown}");
            }
        });
    }
}

#[test]
fn what_cannot_be_read_is_never_taken_for_what_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    run(async {
        let history = talked(&path, StrategyName::Pages).await;
        let bytes = "CAST(x'ff' || CAST(raw AS BLOB) AS TEXT)";
        let harms = ["raw || ' '".to_owned(), bytes.to_owned(), "substr(raw, 9)".to_owned()];
        for harm in harms {
            Connection::open(&path)
                .unwrap()
                .execute_batch(&format!("UPDATE message SET raw = {harm} WHERE id & 0xFFFFFFFF = 5"))
                .unwrap();
            let desk = desk(&path, StrategyName::Pages);
            let read =
                async || desk.store.read(&desk.session(), Span::Ids(vec![MessageId(5)])).await.unwrap().remove(0);
            let stored = read().await;
            assert_eq!((stored.origin, stored.role.as_str()), (Origin::Damaged, "assistant"), "{harm}");
            assert!(stored.message().to_text().starts_with("[m5 cannot be read"), "{harm}");
        }
        Connection::open(&path).unwrap().execute_batch("UPDATE message SET at = at + 1 WHERE role = 'user'").unwrap();
        let desk = desk(&path, StrategyName::Pages);
        let all = Span::Arrival { from: MessageId(0), limit: 100 };
        let all = desk.store.read(&desk.session(), all).await.unwrap();
        let asked: Vec<&Stored> = all.iter().filter(|stored| stored.role == Role::User).collect();
        assert_eq!((all.len(), asked.len()), (history.len(), history.len() / 2));
        assert!(asked.iter().all(|stored| stored.origin == Origin::Damaged && rules(stored).is_empty()));
    });
}
