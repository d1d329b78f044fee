//! What an untouched turn of a long conversation costs. Run it with `--run-ignored only`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scrollback::engine::{Ask, Engine, EngineSettings};
use scrollback::log::Arrival;
use scrollback::store::MemoryStore;
use scrollback::task::Tasks;
use scrollback::window::Budget;
use scrollback::{At, Tenant};
use serde_json::json;

use super::Anthropic;
use super::tests::read;
use crate::wire::{Dress, Reasoning, Wire};

const MESSAGES: usize = 2_500;
const LIMIT: u32 = 4_000_000;

fn body() -> String {
    let words = |i: usize| format!("{i}: {}", "the harbour and its boats ".repeat(13));
    let message = |i: usize| {
        let text = json!({"type": "text", "text": words(i)});
        let thought = json!({"type": "thinking", "thinking": "Which boat?", "signature": "c2ln"});
        match i % 4 {
            1 => json!({"role": "assistant", "content": [thought, text]}),
            3 => json!({"role": "assistant", "content": [text]}),
            _ => json!({"role": "user", "content": [text]}),
        }
    };
    let messages: Vec<_> = (0..=MESSAGES).map(message).collect();
    let tool = |i: usize| json!({"name": format!("look_{i}"), "description": words(i).repeat(5), "input_schema": {"type": "object"}});
    let tools: Vec<_> = (0..50).map(tool).collect();
    json!({"model": "claude", "max_tokens": 500, "thinking": {"type": "adaptive"}, "system": [{"type": "text", "text": words(0)}],
           "tools": tools, "messages": messages})
    .to_string()
}

#[test]
#[ignore = "it measures, and tells what it found"]
fn an_untouched_turn_costs_little() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let request = read(&body());
    let raw = request.raw("messages").unwrap();
    let engine = Engine::new(Arc::new(MemoryStore::default()), Tasks::offline(), EngineSettings::default());
    let tenant = Tenant::local();
    let history = engine.log().open(&tenant, raw).unwrap().0;
    let arrival = Arrival::new(&tenant, None, "claude", At(1));
    let ask = Ask::new(arrival, &history, Budget { tokens: LIMIT - 500 }, LIMIT);
    let turn = runtime.block_on(engine.begin(ask)).unwrap();
    let dress = Dress {
        turn: &turn,
        request: &request,
        tools: request.tools(),
        touched: false,
        instruction: None,
        handle: None,
        reasoning: Reasoning::Usual,
        mixed: false,
    };
    let timed = |what: &str, run: &dyn Fn()| {
        let once = |_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        };
        let times: Vec<Duration> = (0..10).map(once).collect();
        eprintln!("{what}: first {:?}, best {:?}", times[0], times.iter().min().unwrap());
    };
    eprintln!("{} messages, {} bytes", MESSAGES + 1, raw.len());
    timed("render", &|| assert!(Anthropic.render(&dress).changes.is_empty()));
    timed("split", &|| drop(serde_json::from_str::<Vec<&serde_json::value::RawValue>>(raw).unwrap()));
    timed("hash", &|| assert_ne!(twox_hash::XxHash3_128::oneshot(raw.as_bytes()), 0));
}
