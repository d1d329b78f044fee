//! Random conversations over Chat Completions, under every strategy that folds: whatever happens in one, every request
//! that reaches the model is one that its API accepts.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, reply, user};
use crate::talk::{Dice, cost, messages, question};

fn called(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}

/// What the model says next: words, calls of the client's tools and of ours, always with its reasoning beside calls.
fn said(number: usize, dice: &mut Dice) -> Value {
    let own = called(&format!("own_{number}"), "search_history", &json!({"words": "lighthouse"}));
    let theirs = |i: u64| called(&format!("call_{number}_{i}"), "look", &json!({"at": i}));
    let calls = match dice.below(6) {
        0 => vec![own],
        1 => vec![theirs(0)],
        2 => vec![theirs(0), own, theirs(1)],
        3 => vec![own, theirs(0)],
        _ => return json!({"role": "assistant", "content": format!("Noted {number}.")}),
    };
    json!({"role": "assistant", "content": null, "reasoning_content": format!("I think {number}."), "tool_calls": calls})
}

/// I1 to I3: each call has one result, directly behind its message; no result lacks its call; ids are unique.
fn paired(messages: &[Value]) {
    let (mut open, mut seen): (Vec<String>, HashSet<String>) = (Vec::new(), HashSet::new());
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let place = open.iter().position(|call| call == id);
            assert!(place.is_some(), "{id} answers nothing: {messages:?}");
            open.remove(place.unwrap());
            continue;
        }
        assert!(open.is_empty(), "{open:?} has no result before {message}: {messages:?}");
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap().to_owned();
            assert!(seen.insert(id.clone()), "{id} twice: {messages:?}");
            open.push(id);
        }
        // I9: what was reasoned before calls comes back with them.
        if message["tool_calls"].is_array() {
            let thought = message["reasoning_content"].as_str().unwrap_or_default();
            assert!(thought.starts_with("I think "), "{message}");
        }
    }
    assert!(open.is_empty(), "{open:?} has no result: {messages:?}");
}

/// I14: it fits, and what a person said last is there word for word.
fn fits(asked: &Said, last: &Value) {
    assert!(cost(asked) + 300 <= 3000, "it costs {}", cost(asked));
    let messages = messages(asked);
    let is_last = |message: &Value| message["content"] == last["content"] && message["role"] == last["role"];
    // A large result may be held where the turn alone is too large.
    assert!(last["role"] != "user" || messages.iter().any(is_last), "{last} is missing: {messages:?}");
}

fn converse(seed: u64, strategy: &str) {
    let dice = Arc::new(Mutex::new(Dice(seed)));
    let upstream = Upstream::new(move |number, asked| {
        let body = asked.json();
        if body["tool_choice"] == "none" {
            return reply(&json!({"role": "assistant", "content": "Well."}));
        }
        reply(&said(number, &mut dice.lock().unwrap()))
    });
    let settings = format!(
        "[window]\ntokens = 3000\nreply_tokens = 300\nstrategy = \"{strategy}\"\n[artifacts]\narchive_at = 16\nkeep = 8\n[holds]\nover_chars = 1200\n"
    );
    let mut server = Server::new(upstream.port, &settings);
    let mut own = Dice(seed ^ 0x5DEE_CE66);
    let tool = json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]);
    let (mut history, mut checked, mut saved) = (Vec::new(), 0, 0);
    let mut next = vec![user(&question(0))];
    for turn in 1..30 {
        history.extend(next.clone());
        let mut body = chat(&history);
        body["tools"] = tool.clone();
        let answer = server.ask(&body);
        assert_eq!(answer.status(), 200, "{strategy}, seed {seed}: {}", answer.text());
        assert!(!answer.text().contains("own_"), "{strategy}, seed {seed}: {}", answer.text());
        saved = saved.max(answer.header("x-scrollback-saved-tokens").unwrap().parse::<u32>().unwrap());
        for asked in &upstream.asked()[checked..] {
            paired(&messages(asked));
            fits(asked, next.last().unwrap());
        }
        checked = upstream.asked().len();
        let said = answer.json()["choices"][0]["message"].clone();
        let calls: Vec<Value> = said["tool_calls"].as_array().cloned().unwrap_or_default();
        history.push(said);
        let large = if own.below(4) == 0 { 60 } else { 2 };
        let result = |call: &Value| json!({"role": "tool", "tool_call_id": call["id"], "content": format!("{} reads two metres. ", call["id"]).repeat(large)});
        next = calls.iter().map(result).collect();
        if next.is_empty() {
            next.push(user(&question(turn)));
        }
        if own.below(9) == 0 {
            server.restart(drop);
        }
    }
    // Quotes of topics may take all the room that folding made.
    assert!(saved > 0 || strategy == "topics", "{strategy}, seed {seed}: nothing was folded");
}

#[test]
fn conversations_are_always_sound_under_every_strategy() {
    for (seed, strategy) in
        [(3, "pages"), (17, "topics"), (92, "summary"), (1_234, "artifacts"), (71, "pages"), (8_191, "summary")]
    {
        converse(seed, strategy);
    }
}
