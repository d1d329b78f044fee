//! What a turn and a call of `activate_topic` cost with a thousand topics and with a hundred thousand.
//!
//! The topics are written as the engine would have written them; sorting so many would take hours.

use std::sync::Arc;
use std::time::Instant;

use scrollback::engine::{Ask, EngineSettings};
use scrollback::log::{After, Arrival, History};
use scrollback::recall::RecallCall;
use scrollback::store::{Batch, Durability, Expect, Kind, Put, Scope};
use scrollback::strategy::StrategyName;
use scrollback::task::Tasks;
use scrollback::window::{Budget, Reason};
use scrollback::{At, Engine, SessionId, SessionKey, SqliteOptions, SqliteStore, Tenant};
use serde_json::{Value, json};

use super::scale::word;

/// How many messages come at once.
const ARRIVAL: usize = 1_000;
const ASKED: usize = 60;

pub(crate) fn run() {
    println!("| topics | messages | a turn: median · worst | activate_topic: median · worst | found |");
    println!("|---|---|---|---|---|");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for topics in [1_000, 100_000] {
        runtime.block_on(measure(topics));
    }
}

/// What is said in a topic: two words that no other topic has together.
fn said(topic: usize) -> (String, String) {
    let (one, other) = (word(600 + topic % 9_000), word(600 + (topic * 7 + topic / 9_000 * 31) % 9_000));
    (format!("The {one} of the {other} is number {topic}."), format!("Which number is the {one} of the {other}?"))
}

async fn measure(topics: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = SqliteOptions::new(folder.path().join("log.db"));
    options.durability = Durability::Normal;
    let settings = EngineSettings { strategy: StrategyName::Topics, ..EngineSettings::default() };
    let engine = Engine::new(Arc::new(SqliteStore::open(&options).unwrap()), Tasks::offline(), settings);
    fill(&engine, topics).await;
    let (mut turns, mut calls, mut found) = (Vec::new(), Vec::new(), 0);
    for i in 0..ASKED {
        let (fact, question) = said(i * topics / ASKED);
        let text = json!([{"role": "user", "content": question}]).to_string();
        let (history, tenant) = (History::parse(&text).unwrap(), Tenant::local());
        let arrival = Arrival::new(&tenant, Some("index"), "gpt-5", At(1 << 50));
        let budget = Budget { tokens: 16_000 };
        let ask = Ask { after: Some(After::Last("index")), ..Ask::new(arrival, &history, budget, 16_000) };
        let begun = Instant::now();
        let mut turn = engine.begin(ask).await.unwrap();
        turns.push(begun.elapsed().as_secs_f64() * 1e3);
        let quotes = turn.window().blocks().iter().filter(|block| block.reason == Reason::Relevant);
        let quoted = quotes.map(|block| block.text().to_owned()).collect::<String>();
        let begun = Instant::now();
        let call = RecallCall::Topic { words: question, since: None, until: None };
        let told = engine.recall(&mut turn, &[Ok(call)]).await;
        calls.push(begun.elapsed().as_secs_f64() * 1e3);
        found += usize::from(quoted.contains(&fact) && told[0].contains(&fact));
    }
    let told = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        format!("{:.1} · {:.1} ms", times[times.len() / 2], times[times.len() - 1])
    };
    println!("| {topics} | {} | {} | {} | {found} of {ASKED} |", 2 * topics, told(&mut turns), told(&mut calls));
}

/// A log with two messages a topic, and the topics.
async fn fill(engine: &Engine, topics: usize) {
    let tenant = Tenant::local();
    let session = SessionKey { id: SessionId::declared(&tenant, "index"), tenant: tenant.clone() };
    for from in (0..topics).step_by(ARRIVAL / 2) {
        let talk = |topic: usize| {
            [
                json!({"role": "user", "content": said(topic).0}),
                json!({"role": "assistant", "content": format!("Noted, {topic}.")}),
            ]
        };
        let text = Value::Array((from..(from + ARRIVAL / 2).min(topics)).flat_map(talk).collect()).to_string();
        let history = History::parse(&text).unwrap();
        let arrival = Arrival::new(&tenant, Some("index"), "gpt-5", At(i64::try_from(from).unwrap() + 1));
        if from == 0 {
            engine.log().receive(arrival, &history).await.unwrap();
        } else {
            engine.log().receive_new(arrival, After::Last("index"), &history).await.unwrap();
        }
        let until = (from + ARRIVAL / 2).min(topics);
        let records =
            (from..until).map(|topic| edition(&session, topic)).chain([chunk(&session, from, until)]).collect();
        engine.log().store().commit(Batch::of_records(session.clone(), records)).await.unwrap();
    }
    let recent: Vec<String> = (topics - 40..topics).rev().map(|topic| format!("t{}", 2 * topic)).collect();
    let progress = json!({"frontier": 2 * topics, "count": topics, "recent": recent});
    let records = vec![put(&session, Kind::Setting, "sorted/000000".into(), &progress)];
    engine.log().store().commit(Batch::of_records(session, records)).await.unwrap();
}

fn edition(session: &SessionKey, topic: usize) -> Put {
    let (id, day) = (2 * topic, "2026-03-01T00:00:00Z");
    let card = json!({"id": format!("t{id}"), "name": format!("Number {topic}"), "brief": said(topic).0, "messages": 2, "tokens": 40, "first": day, "last": day});
    let added = json!([[format!("m{id}"), id], [format!("m{}", id + 1), id + 1]]);
    let body = json!({"number": 1, "upto": id + 2, "card": card, "added": added});
    put(session, Kind::Note, format!("topic/{id:010}/000000/{:010}", u32::MAX - 1), &body)
}

fn chunk(session: &SessionKey, from: usize, until: usize) -> Put {
    let runs: Vec<Value> =
        (from..until).map(|topic| json!([2 * topic, 2 * topic + 1, format!("t{}", 2 * topic)])).collect();
    let body = json!({"from": 2 * from, "runs": runs});
    put(session, Kind::Note, format!("sorted/000000/{:010}", 2 * until - 1), &body)
}

fn put(session: &SessionKey, kind: Kind, key: String, body: &Value) -> Put {
    let body = serde_json::value::to_raw_value(body).unwrap();
    Put { scope: Scope::Session(session.clone()), kind, key, at: At(1), body, expect: Expect::Any }
}
