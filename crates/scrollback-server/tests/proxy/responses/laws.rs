//! Random conversations: whatever happens in one, every request that reaches the model is one that it accepts.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use scrollback::tokens::Vocabulary;
use serde_json::{Value, json};

use super::{Pieces, answers, ask, calls, full, input, look, result, says, sound, thought, user};
use crate::scene::{Said, Server, Upstream};
use crate::talk::{Dice, question};

/// Strategies that fold, one for each conversation.
const STRATEGIES: [&str; 4] = ["pages", "topics", "summary", "artifacts"];

fn settings(strategy: &str) -> String {
    let artifacts = "[artifacts]\narchive_at = 16\nkeep = 8\n";
    format!("[window]\ntokens = 3000\nreply_tokens = 300\nstrategy = \"{strategy}\"\n{artifacts}")
}

/// What the model says next: reasoning, calls of the client's tools and of ours, strange items, words, some of which ask
/// for more where it may recall in text.
fn output(number: usize, dice: &mut Dice) -> Vec<Value> {
    let mut output = Vec::new();
    if dice.below(2) == 0 {
        output.push(thought(&format!("rs_{number}"), &format!("SEALED{number}")));
    }
    match dice.below(8) {
        0 => output.push(calls(&format!("own_{number}"), "search_history", &json!({"words": "lighthouse"}))),
        1 if number % 2 == 1 => output.push(searches(number)),
        1 => output.push(calls(&format!("call_{number}"), "look", &json!({"at": number}))),
        2 => {
            output.push(calls(&format!("own_{number}"), "search_history", &json!({"words": "ferry"})));
            output.push(calls(&format!("call_{number}"), "look", &json!({"at": number})));
        }
        3 => {
            output.push(calls(&format!("call_{number}"), "look", &json!({"at": number})));
            output.push(thought(&format!("rs_{number}00"), &format!("SEALED{number}00")));
            output.push(calls(&format!("own_{number}"), "search_history", &json!({"words": "tide"})));
        }
        4 => output.push(says(&format!("msg_{number}"), "[NEED_CONTEXT: lighthouse]")),
        5 => output.push(json!({"type": "web_search_call", "id": format!("ws_{number}"), "status": "completed", "action": {"query": "tide"}})),
        _ => {}
    }
    if output.iter().all(|item| item["call_id"].is_null() && item["type"] != "message") {
        output.push(says(&format!("msg_{number}"), &format!("Noted {number}.")));
    }
    output
}

/// A search for tools that the client carries out.
fn searches(number: usize) -> Value {
    json!({"id": format!("tsc_{number}"), "type": "tool_search_call", "status": "completed", "execution": "client",
           "call_id": format!("call_{number}"), "arguments": {"query": "gauge"}})
}

/// I1 and I2: each call has exactly one result, behind it; no result lacks its call; ids are unique.
fn paired(items: &[Value]) {
    let (mut open, mut seen) = (HashSet::new(), HashSet::new());
    for item in items {
        let id = item["call_id"].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str() {
            Some("function_call" | "tool_search_call") => {
                assert!(seen.insert(id.clone()), "{id} twice: {items:?}");
                open.insert(id);
            }
            Some("function_call_output" | "tool_search_output") => {
                assert!(open.remove(&id), "{id} answers nothing: {items:?}");
            }
            // I3: nothing is said between a call and its result.
            Some("message") => assert!(open.is_empty(), "{open:?} has no result before {item}: {items:?}"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?} has no result: {items:?}");
}

/// I8: reasoning is unchanged, stands once, and right before something that the same reply said.
fn reasoned(items: &[Value]) {
    let mut seen = HashSet::new();
    for (place, item) in items.iter().enumerate().filter(|(_, item)| item["type"] == "reasoning") {
        let number = item["id"].as_str().unwrap()[3..].to_owned();
        assert!(seen.insert(number.clone()), "rs_{number} twice: {items:?}");
        assert_eq!(*item, thought(&format!("rs_{number}"), &format!("SEALED{number}")));
        let next = &items[place + 1];
        let is_led = next["type"] != "function_call_output" && next["type"] != "reasoning" && next["role"] != "user";
        assert!(is_led, "{item} before {next}: {items:?}");
    }
}

/// I14: it fits, and what was said last is there word for word.
fn fits(asked: &Said, last: &Value) {
    let items = input(asked);
    let texts = items.iter().map(|item| match item["type"].as_str() {
        Some("message") => {
            item["content"][0]["text"].as_str().or(item["content"].as_str()).unwrap_or_default().to_owned()
        }
        _ => item["output"].as_str().or(item["arguments"].as_str()).unwrap_or_default().to_owned(),
    });
    let tools = asked.json()["tools"].to_string();
    let cost: usize = texts.map(|text| Vocabulary::O200k.count(&text)).sum::<usize>() + Vocabulary::O200k.count(&tools);
    assert!(cost + 300 <= 3000, "it costs {cost}");
    assert!(items.contains(last), "{last} is missing: {items:?}");
}

/// What the client answers to a call.
fn answered(call: &Value) -> Value {
    if call["type"] == "tool_search_call" {
        return json!({"type": "tool_search_output", "call_id": call["call_id"], "execution": "client",
                      "status": "completed", "tools": look()});
    }
    result(call["call_id"].as_str().unwrap(), "the gauge reads two metres")
}

/// Has a conversation; `follows` sends only what is new.
fn converse(seed: u64, strategy: &str, follows: bool) {
    let dice = Arc::new(Mutex::new(Dice(seed)));
    let thrown = dice.clone();
    let upstream = Upstream::new(move |number, asked| -> Pieces {
        let items = if asked.json()["tool_choice"] == "none" {
            vec![says(&format!("msg_{number}"), "Well.")]
        } else {
            output(number, &mut thrown.lock().unwrap())
        };
        answers(asked, &format!("resp_{number}"), &items)
    });
    let mut server = Server::new(upstream.port, &settings(strategy));
    let mut own = Dice(seed ^ 0x5DEE_CE66);
    let (mut history, mut previous, mut checked, mut saved) = (Vec::new(), Value::Null, 0, 0);
    let mut next = vec![user(&question(0))];
    for turn in 1..32 {
        history.extend(next.clone());
        let mut body = if follows { json!({"model": "gpt-5", "store": false, "input": next}) } else { full(&history) };
        (body["tools"], body["stream"]) = (look(), json!(own.below(2) == 0));
        if follows {
            body["store"] = json!(true);
            body["previous_response_id"] = previous.clone();
        }
        let answer = ask(&server, &body);
        assert_eq!(answer.status(), 200, "seed {seed}: {}", answer.text());
        saved = saved.max(answer.header("x-scrollback-saved-tokens").unwrap().parse::<u32>().unwrap());
        let said = if body["stream"] == true { sound(&answer.text()) } else { answer.json() };
        let output = super::output(&said);
        assert!(!answer.text().contains("own_"), "seed {seed}: {}", answer.text());
        for asked in &upstream.asked()[checked..] {
            paired(&input(asked));
            reasoned(&input(asked));
            fits(asked, next.last().unwrap());
            assert!(asked.json()["previous_response_id"].is_null(), "the window holds all of it");
        }
        checked = upstream.asked().len();
        previous = said["id"].clone();
        history.extend(output.clone());
        next = output.iter().filter(|item| item["call_id"].is_string()).map(answered).collect();
        if next.is_empty() {
            next.push(user(&question(turn)));
        }
        if own.below(9) == 0 {
            server.restart(drop);
        }
    }
    // Quotes of topics may take all the room that folding made.
    assert!(saved > 0 || strategy == "topics", "{strategy}, seed {seed}: nothing was folded");
    // Quotes of topics and documents change with every turn or fold.
    if strategy == "pages" || strategy == "summary" {
        prefixes(&upstream, seed);
    }
}

/// I13: between folds a window only grows. How often it was rewritten is far less than how often it was sent.
fn prefixes(upstream: &Upstream, seed: u64) {
    let inputs: Vec<Vec<Value>> = upstream.asked().iter().map(input).collect();
    let bare = |items: &[Value]| {
        items
            .iter()
            .map(|item| item["call_id"].as_str().map_or_else(|| item["content"].to_string(), str::to_owned))
            .collect::<Vec<_>>()
    };
    let grows = |pair: &[Vec<Value>]| bare(&pair[1]).starts_with(&bare(&pair[0]));
    let rewritten = inputs.windows(2).filter(|pair| !grows(pair)).count();
    assert!(rewritten * 2 <= inputs.len(), "seed {seed}: rewritten {rewritten} times of {}", inputs.len());
}

#[test]
fn conversations_that_are_sent_whole_are_always_sound() {
    for (seed, strategy) in [3, 17, 1_234, 92].into_iter().zip(STRATEGIES) {
        converse(seed, strategy, false);
    }
}

#[test]
fn conversations_that_follow_are_always_sound() {
    for (seed, strategy) in [5, 41, 777, 20_261].into_iter().zip(STRATEGIES) {
        converse(seed, strategy, true);
    }
}
