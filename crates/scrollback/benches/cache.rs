//! How much of what is sent a provider finds in its cache: conversations replayed through the engine, strategy by
//! strategy.
//!
//! `cargo bench --bench cache -- [--window 32000] FILE…` reads OpenAI-style JSONL, a conversation a line; without
//! files, the shipped samples. Every reply of the model is one call; its request is what the engine lays out. Prints
//! Markdown rows.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may panic and prints its result")]
#![allow(clippy::cast_precision_loss, reason = "figures, not amounts")]

use std::sync::Arc;

use scrollback::engine::{Ask, EngineSettings, Finish};
use scrollback::ids::Hash128;
use scrollback::ledger::{CacheModel, Cost, Link, Prices, Sent};
use scrollback::log::Arrival;
use scrollback::store::Durability;
use scrollback::strategy::{HeldFrom, StrategyName};
use scrollback::task::Tasks;
use scrollback::window::{Budget, Window};
use scrollback::{At, Engine, Message, SqliteOptions, SqliteStore, Tenant};
use serde_json::Value;

/// One model with an automatic prefix cache, one with breakpoints.
const MODELS: [&str; 2] = ["gpt-5.5", "claude-sonnet-5"];
/// Calls are this far apart, well within every cache's life.
const STEP_MICROSECONDS: i64 = 20_000_000;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut window = 32_000;
    if let Some(at) = arguments.iter().position(|argument| argument == "--window") {
        window = arguments[at + 1].parse().unwrap();
        arguments.drain(at..=at + 1);
    }
    let mut files: Vec<(String, String)> =
        arguments.iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect();
    if files.is_empty() {
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/samples");
        for entry in std::fs::read_dir(samples)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"))
        {
            files.push((
                entry.file_name().to_string_lossy().into_owned(),
                std::fs::read_to_string(entry.path()).unwrap(),
            ));
        }
    }
    println!(
        "| trace | strategy, {window} tokens | calls | input tokens | {} cached · cost | {} cached · cost |",
        MODELS[0], MODELS[1]
    );
    println!("|---|---|---|---|---|---|");
    for (name, text) in &files {
        let mut all: Option<[Cost; 2]> = None;
        for (strategy, from) in [
            (StrategyName::Passthrough, HeldFrom::AfterTurn),
            (StrategyName::Truncate, HeldFrom::AfterTurn),
            (StrategyName::Pages, HeldFrom::AfterTurn),
            (StrategyName::Pages, HeldFrom::OnArrival),
        ] {
            let told = replay(text, strategy, from, window);
            let base = *all.get_or_insert(told.costs);
            let cell = |i: usize| {
                let share = told.cached[i] as f64 * 100.0 / told.tokens.max(1) as f64;
                format!("{share:.1} % · {:.2}×", told.costs[i].dollars() / base[i].dollars().max(1e-12))
            };
            let held = if from == HeldFrom::OnArrival { ", held on arrival" } else { "" };
            println!("| {name} | {strategy}{held} | {} | {} | {} | {} |", told.calls, told.tokens, cell(0), cell(1));
        }
    }
}

#[derive(Default)]
struct Told {
    calls: u64,
    tokens: u64,
    cached: [u64; 2],
    costs: [Cost; 2],
}

fn replay(text: &str, strategy: StrategyName, from: HeldFrom, window: u32) -> Told {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut told, prices) = (Told::default(), Prices::shipped());
    let mut caches = [CacheModel::default(), CacheModel::default()];
    for (number, line) in text.lines().filter(|line| !line.trim().is_empty()).enumerate() {
        let conversation: Value = serde_json::from_str(line).unwrap();
        let messages = &answered(conversation["messages"].as_array().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let mut options = SqliteOptions::new(folder.path().join("log.db"));
        options.durability = Durability::Normal;
        let mut settings = EngineSettings { strategy, ..EngineSettings::default() };
        settings.strategies.holds.from = from;
        let engine = Engine::new(Arc::new(SqliteStore::open(&options).unwrap()), Tasks::offline(), settings);
        for (i, reply) in messages.iter().enumerate().filter(|(_, message)| message["role"] == "assistant") {
            let at = At(i64::try_from(number * 100_000 + i).unwrap() * STEP_MICROSECONDS);
            let Some(sent) = runtime.block_on(turn(&engine, &messages[..i], reply, at, window)) else { continue };
            told.calls += 1;
            told.tokens += sent.iter().map(|link| u64::from(link.tokens)).sum::<u64>();
            for (m, model) in MODELS.iter().enumerate() {
                let price = prices.of(model).unwrap();
                let scope = Hash128::of("replay", &[&number.to_le_bytes()]);
                let hit = caches[m].predict(&Sent { scope, rule: price.rule.unwrap(), chain: &sent, at });
                told.cached[m] += u64::from(hit.read);
                told.costs[m] = told.costs[m].plus(price.cost(hit, 0));
            }
        }
    }
    told
}

/// A conversation in which every question has an answer; a sample may leave the short ones out.
fn answered(messages: &[Value]) -> Vec<Value> {
    let mut out = Vec::new();
    for (i, message) in messages.iter().enumerate() {
        out.push(message.clone());
        let next = messages.get(i + 1).map(|next| next["role"].clone());
        let open = message["role"] == "user" || message["role"] == "tool" && next != Some("tool".into());
        if open && next != Some("assistant".into()) {
            out.push(serde_json::json!({"role": "assistant", "content": "Noted."}));
        }
    }
    out
}

/// One call: the request's blocks as a cache sees them. `None` if it could not be laid out.
async fn turn(engine: &Engine, history: &[Value], reply: &Value, at: At, window: u32) -> Option<Vec<Link>> {
    let tenant = Tenant::local();
    let text = Value::Array(history.to_vec()).to_string();
    let (history, _) = engine.log().open(&tenant, &text).unwrap();
    let arrival = Arrival::new(&tenant, Some("replay"), "gpt-5.5", at);
    let ask = Ask::new(arrival, &history, Budget { tokens: window }, window);
    let turn = engine.begin(ask).await.ok()?;
    let sent = chain(turn.window());
    let (message, chores) = (Message::from_json(&reply.to_string()).unwrap(), turn.chores());
    let finish = Finish::of(message, "gpt-5.5", at);
    let head = engine.finish(turn, finish).await.unwrap()?.position()?;
    engine.tidy(chores.at(head), at).await.unwrap();
    engine.work_through(&Tenant::local(), at).await.unwrap();
    Some(sent)
}

fn chain(window: &Window) -> Vec<Link> {
    window.blocks().iter().map(|block| Link::new(block.hash(), block.tokens)).collect()
}
