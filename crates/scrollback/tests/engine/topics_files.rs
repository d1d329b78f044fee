//! Topics as files: written, edited, read back.

use std::sync::Arc;

use scrollback::engine::{ReviewMode, TopicFile, day_index, erase_results};
use scrollback::store::{Keys, Kind, Scope, Span};
use scrollback::{At, MemoryStore, MessageId, Store};
use serde_json::Value;

use super::desk::{Desk, run};
use super::kit::{assistant, call, result, user};
use super::topics_review::{desk_naming, desk_over, head, three_things, topics};

const DAY: i64 = 86_400_000_000;

async fn files(desk: &Desk) -> Vec<TopicFile> {
    desk.engine.topic_files(&desk.session(), head(desk).await).await.unwrap()
}

async fn restore(desk: &Desk, files: &[TopicFile]) -> scrollback::engine::Restored {
    desk.engine.restore_topics(&desk.session(), head(desk).await, files, At(5 * DAY)).await.unwrap()
}

fn edit(file: &mut TopicFile, change: impl FnOnce(&mut Value)) {
    let last = file.lines.last_mut().unwrap();
    let mut closing: Value = serde_json::from_str(last).unwrap();
    change(&mut closing);
    *last = closing.to_string();
}

fn said(file: &TopicFile) -> Vec<Value> {
    file.lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_is_written_and_read_back_changes_nothing() {
    run(async {
        let mut desk = desk_over(Arc::new(MemoryStore::default()));
        three_things(&mut desk).await;
        let before = topics(&desk).await;
        let files = files(&desk).await;
        assert_eq!(files[0].path, "topics/topic-0.jsonl");
        let lines = said(&files[0]);
        assert_eq!((&lines[0]["id"], &lines[0]["role"]), (&"m0".into(), &"user".into()));
        assert!(lines[0]["message"]["content"].as_str().unwrap().contains("rye sourdough starter"));
        assert_eq!(lines.last().unwrap()["topic"], "t0");
        assert_eq!(day_index(&files).len(), 1);
        let read: Vec<TopicFile> =
            files.iter().map(|file| TopicFile::read(&file.path, &file.lines.join("\n")).unwrap()).collect();
        let restored = restore(&desk, &read).await;
        assert_eq!((restored.changed.len(), restored.added, restored.moved, restored.unknown.len()), (0, 0, 0, 0));
        assert_eq!(topics(&desk).await, before);
    });
}

#[test]
fn people_may_edit_names_and_move_messages() {
    run(async {
        let mut desk = desk_over(Arc::new(MemoryStore::default()));
        three_things(&mut desk).await;
        let (before, mut files) = (topics(&desk).await, files(&desk).await);
        edit(&mut files[0], |closing| {
            closing["name"] = "Bread".into();
            closing["brief"] = "All about bread.".into();
            closing["refers"] = serde_json::json!([before[1].card.id.to_string(), "t999"]);
        });
        let moved = files[1].lines.remove(0);
        files[0].lines.insert(0, moved.clone());
        files[0].lines.insert(0, moved.replacen("\"id\":\"m", "\"id\":\"m9", 1));
        let restored = restore(&desk, &files).await;
        assert_eq!((restored.moved, restored.added, restored.unknown.len()), (1, 0, 1), "{restored:?}");
        let after = topics(&desk).await;
        assert_eq!((after[0].card.name.as_str(), after[0].card.brief.as_str()), ("Bread", "All about bread."));
        assert_eq!(after[0].card.refers, [before[1].card.id]);
        assert_eq!(after[0].card.messages, before[0].card.messages + 1);
        assert_eq!(after[1].card.messages, before[1].card.messages - 1);
        let id = MessageId(before[1].card.id.0.0);
        let stored = desk.store.read(&desk.session(), Span::Ids(vec![id])).await.unwrap().pop().unwrap();
        let of = || async {
            let found = desk.engine.topic_of(&desk.session(), head(&desk).await, stored.position().unwrap()).await;
            found.unwrap().unwrap().id
        };
        assert_eq!(of().await, before[0].card.id);
        // And back again.
        files[0].lines.drain(..2);
        files[1].lines.insert(0, moved);
        assert_eq!(restore(&desk, &files[1..]).await.moved, 1);
        assert_eq!(of().await, before[1].card.id);
        assert_eq!(topics(&desk).await[0].card.messages, before[0].card.messages);
    });
}

#[test]
fn files_bring_topics_to_a_store_that_has_the_same_log() {
    run(async {
        let mut desk = desk_over(Arc::new(MemoryStore::default()));
        let history = three_things(&mut desk).await;
        desk.engine.review(&desk.session(), head(&desk).await, At(DAY), ReviewMode::Do).await.unwrap();
        let (before, files) = (topics(&desk).await, files(&desk).await);
        let mut other = desk_over(Arc::new(MemoryStore::default()));
        other.budget = 100_000;
        other.begin(&history).await.unwrap();
        assert_eq!(topics(&other).await, []);
        let restored = restore(&other, &files).await;
        assert_eq!(restored.changed.len(), files.len());
        let after = topics(&other).await;
        for (before, after) in before.iter().zip(&after) {
            assert_eq!((&before.card.name, before.card.messages), (&after.card.name, after.card.messages));
            assert_eq!(
                (&before.summary, before.importance, before.state),
                (&after.summary, after.importance, after.state)
            );
        }
        assert_eq!(after.len(), before.len());
        // One file alone: what lies between is sorted as well, and later turns sort on from there.
        let mut third = desk_over(Arc::new(MemoryStore::default()));
        third.budget = 100_000;
        third.begin(&history).await.unwrap();
        restore(&third, &files[1..2]).await;
        let sorted: u32 = topics(&third).await.iter().map(|topic| topic.card.messages).sum();
        let last = before[1].card.messages + before[0].card.messages;
        assert_eq!(sorted, last, "{:?}", topics(&third).await);
    });
}

/// A parent that lies below its part is told and skipped, unless the files turn them around.
#[test]
fn no_topic_lies_below_itself() {
    run(async {
        let mut desk = desk_over(Arc::new(MemoryStore::default()));
        three_things(&mut desk).await;
        let (before, mut files) = (topics(&desk).await, files(&desk).await);
        let (one, other) = (before[0].card.id, before[1].card.id);
        edit(&mut files[0], |closing| closing["parent"] = other.to_string().into());
        edit(&mut files[1], |closing| closing["parent"] = one.to_string().into());
        assert_eq!(restore(&desk, &files).await.circular, [other]);
        let after = topics(&desk).await;
        assert_eq!((after[0].card.parent, after[1].card.parent), (Some(other), None));
        edit(&mut files[0], |closing| closing["parent"] = Value::Null);
        assert_eq!(restore(&desk, &files).await.circular, []);
        let after = topics(&desk).await;
        assert_eq!((after[0].card.parent, after[1].card.parent), (None, Some(one)));
    });
}

/// What was written about a tool result goes with it, out of every edition.
#[test]
fn what_is_erased_is_erased_from_its_topic() {
    run(async {
        let store = Arc::new(MemoryStore::default());
        let mut desk = desk_naming(store.clone(), "The sourdough oven opens with code 7731");
        let mut history = vec![user("Look up the sourdough oven.")];
        let turn = desk.begin(&history).await.unwrap();
        let call = call("call-1-abcdef", "look", &serde_json::json!({"what": "oven"}));
        desk.finish(turn, &call).await;
        history.push(call);
        let found = result("call-1-abcdef", "The sourdough oven opens with code 7731.");
        desk.turn(&mut history, found, assistant("Found the sourdough oven.")).await;
        super::topics_review::three_more(&mut desk, &mut history).await;
        let mut files = files(&desk).await;
        edit(&mut files[0], |closing| {
            closing["brief"] = "The oven has the code 7731.".into();
            closing["summary"] = "It opens with 7731.".into();
        });
        restore(&desk, &files[..1]).await;
        let scope = Scope::Session(desk.session());
        let all = || Keys::After(String::new(), usize::MAX >> 1);
        for kind in [Kind::Note, Kind::Event] {
            let records = store.records(&scope, kind, all()).await.unwrap();
            assert!(records.iter().any(|record| record.body.get().contains("7731")), "{kind:?}");
        }
        let erased = erase_results(&*store, &desk.session(), &[MessageId(2)], At(9 * DAY)).await.unwrap();
        assert_eq!(erased, 1);
        desk.engine.forget_recent(None);
        for kind in [Kind::Note, Kind::View, Kind::Event] {
            let records = store.records(&scope, kind, all()).await.unwrap();
            let told = records.iter().find(|record| record.body.get().contains("7731"));
            assert!(told.is_none(), "{told:?}");
        }
        desk.engine.review(&desk.session(), head(&desk).await, At(10 * DAY), ReviewMode::Do).await.unwrap();
        let topic = topics(&desk).await.remove(0);
        assert!(!topic.card.brief.is_empty() && !topic.summary.contains("7731"), "{topic:?}");
    });
}
