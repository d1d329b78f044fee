//! What nodes over one PostgreSQL can do beside one over a file, and what a turn takes in a large database:
//! `cargo bench --bench nodes --features postgres`. `NODES_SESSIONS` sets how many sessions of ten messages the large
//! one has.
//!
//! Nodes are stores and engines of their own in this process, so that what is measured is the database and not the cost
//! of HTTP. The database is one of this machine, with every commit on its disk.
#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]

#[path = "../tests/kit/postgres.rs"]
mod postgres;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use scrollback::engine::{Ask, EngineSettings, Finish};
use scrollback::log::{Arrival, History};
use scrollback::task::Tasks;
use scrollback::window::Budget;
use scrollback::{At, Engine, Log, Message, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store, Tenant};
use serde_json::{Value, json};

/// How many conversations a node has at once, and how many turns each.
const TALKS: usize = 16;
const TURNS: usize = 12;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// One turn, with its whole history; how long it took until the model could be asked.
async fn turn(engine: &Engine, name: &str, history: &mut Vec<Value>) -> Duration {
    let words = format!("what grows at mooring {}, and who lies there this winter, ", history.len()).repeat(6);
    history.push(user(&format!("{name} asks {words}")));
    let (tenant, text) = (Tenant::local(), Value::Array(history.clone()).to_string());
    let began = Instant::now();
    let parsed = History::parse(&text).expect("a history");
    let arrival = Arrival::new(&tenant, Some(name), "gpt-5", At(1));
    let ask = Ask::new(arrival, &parsed, Budget { tokens: 32_000 }, 32_000);
    let begun = engine.begin(ask).await.expect("a turn");
    let took = began.elapsed();
    let reply = json!({"role": "assistant", "content": format!("{name}: it is deep enough. {}", "Mussels grow there. ".repeat(20))});
    let message = Message::from_json(&reply.to_string()).expect("a message");
    engine.finish(begun, Finish::of(message, "gpt-5", At(2))).await.expect("kept");
    history.push(reply);
    took
}

/// Turns a second, and how long half and nearly all of them took at most.
async fn load(engines: &[Arc<Engine>], run: &str) -> (f64, Vec<Duration>) {
    let began = Instant::now();
    let mut talks = Vec::new();
    for (node, engine) in engines.iter().enumerate() {
        for talk in 0..TALKS {
            let (engine, name) = (engine.clone(), format!("{run}-{node}-{talk}"));
            talks.push(tokio::spawn(async move {
                let (mut history, mut times) = (Vec::new(), Vec::new());
                for _ in 0..TURNS {
                    times.push(turn(&engine, &name, &mut history).await);
                }
                times
            }));
        }
    }
    let mut times = Vec::new();
    for talk in talks {
        times.extend(talk.await.expect("a talk"));
    }
    times.sort();
    #[expect(clippy::cast_precision_loss, reason = "few turns")]
    let rate = times.len() as f64 / began.elapsed().as_secs_f64();
    (rate, times)
}

fn engine(store: Arc<dyn Store>) -> Arc<Engine> {
    Arc::new(Engine::new(store, Tasks::offline(), EngineSettings::default()))
}

async fn node(url: &str) -> Arc<Engine> {
    engine(Arc::new(PostgresStore::open(&PostgresOptions::new(url)).await.expect("a store")))
}

fn told(what: &str, (rate, times): &(f64, Vec<Duration>)) {
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("| {what} | {rate:.0} | {:.1} ms | {:.1} ms |", at(50), at(95));
}

/// Fills the database with sessions of ten messages.
async fn fill(url: &str, sessions: usize) {
    let quick = format!("{url}?options=-c%20synchronous_commit%3Doff");
    let store = Arc::new(PostgresStore::open(&PostgresOptions::new(quick)).await.expect("a store"));
    let (log, next) = (Arc::new(Log::new(store)), Arc::new(AtomicUsize::new(0)));
    let tasks = (0..16).map(|_| {
        let (log, next) = (log.clone(), next.clone());
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= sessions {
                    return;
                }
                let said = |i: usize| {
                    user(&format!("message {i} of talk {number}: {}", "boats and tides and gulls ".repeat(12)))
                };
                let text = Value::Array((0..10).map(said).collect()).to_string();
                let (tenant, name) = (Tenant::local(), format!("fill-{number}"));
                let history = History::parse(&text).expect("a history");
                log.receive(Arrival::new(&tenant, Some(&name), "gpt-5", At(1)), &history).await.expect("stored");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("filled");
    }
}

async fn run() {
    println!("| nodes | turns/s | begin, median | 95 % |\n|---|---|---|---|");
    let folder = tempfile::tempdir().expect("a folder");
    let file = SqliteStore::open(&SqliteOptions::new(folder.path().join("log.db"))).expect("a store");
    told("1, SQLite", &load(&[engine(Arc::new(file))], "file").await);
    let server = postgres::Server::start("");
    for count in 1..=3 {
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(node(&server.url()).await);
        }
        told(&format!("{count}, PostgreSQL"), &load(&nodes, &format!("run{count}")).await);
    }
    let sessions = std::env::var("NODES_SESSIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    server.sql("VACUUM ANALYZE");
    let one = [node(&server.url()).await];
    told("1, few messages", &load(&one, "before").await);
    let began = Instant::now();
    fill(&server.url(), sessions).await;
    println!("\n{sessions} sessions, {} messages in {:.0} s", sessions * 10, began.elapsed().as_secs_f64());
    server.sql("VACUUM ANALYZE");
    let one = [node(&server.url()).await];
    told(&format!("1, {} messages", sessions * 10), &load(&one, "after").await);
    println!("{}", server.sql(
        "SELECT relname || ' ' || pg_size_pretty(pg_relation_size(oid)) || ', indexes ' || pg_size_pretty(pg_indexes_size(oid))
         FROM pg_class WHERE relname IN ('message', 'word', 'session', 'record', 'branch') ORDER BY 1",
    ));
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(run());
}
