//! What a turn takes under each strategy, beside a strategy that does nothing: `cargo bench --bench turns`.
//!
//! A conversation of 500 turns at a window of 32,000 tokens over SQLite, the whole history with every request, as chat
//! clients send it. Times are those of laying out the window; the helper answers at once and in the background.
#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use scrollback::engine::{Ask, EngineSettings, Finish};
use scrollback::log::Arrival;
use scrollback::store::Durability;
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::window::Budget;
use scrollback::{At, Engine, Message, SqliteOptions, SqliteStore, Tenant};
use serde_json::{Value, json};

const WINDOW: u32 = 32_000;
const TURNS: usize = 500;

/// Answers in few words, in no form at all: only a summary can use that.
struct Brief;

#[async_trait]
impl Model for Brief {
    async fn ask(&self, _: &Question) -> scrollback::Result<Said> {
        let text = "They go through the moorings one by one, and nothing is decided yet.".to_owned();
        Ok(Said { text, input_tokens: 500, output_tokens: 20, ..Said::default() })
    }
}

async fn play(strategy: StrategyName, helped: bool) -> Vec<Duration> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = SqliteOptions::new(folder.path().join("log.db"));
    options.durability = Durability::Normal;
    let tasks = if helped { Tasks::new(Arc::new(Brief), TaskSettings::default()) } else { Tasks::offline() };
    let settings = EngineSettings { strategy, ..EngineSettings::default() };
    let engine = Engine::new(Arc::new(SqliteStore::open(&options).expect("a store")), tasks, settings);
    let (tenant, mut history, mut times) = (Tenant::local(), Vec::<Value>::new(), Vec::new());
    for i in 0..TURNS {
        let words = format!("what grows at mooring {i}, how deep is it, who lies there this winter, ").repeat(6);
        history.push(json!({"role": "user", "content": format!("Tell me {words}please?")}));
        let text = Value::Array(history.clone()).to_string();
        let (parsed, _) = engine.log().open(&tenant, &text).expect("a history");
        let at = At(i64::try_from(i).expect("few turns") * 1_000_000);
        let arrival = Arrival::new(&tenant, Some("bench"), "gpt-5", at);
        let limit_tokens = if strategy == StrategyName::Passthrough { u32::MAX } else { WINDOW };
        let ask = Ask::new(arrival, &parsed, Budget { tokens: limit_tokens }, limit_tokens);
        let begun = Instant::now();
        let turn = engine.begin(ask).await.expect("a turn");
        times.push(begun.elapsed());
        let reply = format!("Mooring {i}. {}", "It is deep enough, and mussels grow on the chain. ".repeat(18));
        let reply = json!({"role": "assistant", "content": reply});
        let (chores, message) = (turn.chores(), Message::from_json(&reply.to_string()).expect("a message"));
        let finish = Finish::of(message, "gpt-5", at);
        let stored = engine.finish(turn, finish).await.expect("kept").expect("a reply");
        history.push(reply);
        engine.tidy(chores.at(stored.position().expect("on the path")), at).await.expect("tidy");
        engine.work_through(&tenant, at).await.expect("work");
    }
    times.sort();
    times
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    println!("| strategy | helper | median | 95 % | longest | median against passthrough |");
    println!("|---|---|---|---|---|---|");
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let base = runtime.block_on(play(StrategyName::Passthrough, false));
    for (strategy, helped) in [
        (StrategyName::Passthrough, false),
        (StrategyName::Pages, false),
        (StrategyName::Pages, true),
        (StrategyName::Topics, false),
        (StrategyName::Summary, false),
        (StrategyName::Summary, true),
        (StrategyName::Artifacts, false),
        (StrategyName::Artifacts, true),
    ] {
        let times = runtime.block_on(play(strategy, helped));
        let at = |share: usize| times[(times.len() - 1) * share / 100];
        let more = millis(at(50)) - millis(base[base.len() / 2]);
        let helper = if helped { "yes" } else { "no" };
        let (median, most, longest) = (millis(at(50)), millis(at(95)), millis(at(100)));
        println!("| {strategy} | {helper} | {median:.2} ms | {most:.2} ms | {longest:.1} ms | {more:+.2} ms |");
    }
}
