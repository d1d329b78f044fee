//! Marks of a provider's cache in Chat Completions, as clients set them who talk to Claude through a router of models:
//! on the system prompt and on the newest two messages. Anthropic refuses a request with more than four.

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, reply, says};

fn marked(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]})
}

fn plain(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}]})
}

/// A talk as such a client sends it to ask its last question.
fn sent(questions: &[String]) -> Vec<Value> {
    let mut messages = vec![marked("system", "You keep the harbour's books.")];
    for (i, question) in questions.iter().enumerate() {
        let is_new = i + 2 >= questions.len();
        messages.push(if is_new { marked("user", question) } else { plain("user", question) });
        messages.push(says("Fine."));
    }
    messages.pop();
    messages
}

fn marks(asked: &Said) -> usize {
    asked.text().matches("\"cache_control\"").count()
}

#[test]
fn marks_stand_where_the_client_sets_them_now() {
    let upstream = Upstream::new(|_, _| reply(&says("Fine.")));
    let server = Server::new(upstream.port, "[window]\ntokens = 4000\nreply_tokens = 300\n");
    let questions: Vec<String> =
        (0..24).map(|i| format!("Ship {i} came in. {}", "Boats and tides. ".repeat(40))).collect();
    for turn in 1..=questions.len() {
        let body = chat(&sent(&questions[..turn]));
        assert_eq!(server.send("POST /v1/chat/completions", "", &body.to_string()).status(), 200);
    }
    let asked = upstream.asked();
    let last = asked.last().unwrap();
    assert!(last.text().contains("<contents-"), "it has folded");
    assert!(asked.iter().skip(1).all(|asked| marks(asked) == 3), "{:?}", asked.iter().map(marks).collect::<Vec<_>>());
    let messages = last.json()["messages"].as_array().unwrap().clone();
    let newest: Vec<&Value> = messages.iter().rev().filter(|message| message["role"] == "user").take(2).collect();
    assert!(newest.iter().all(|message| message["content"][0]["cache_control"].is_object()), "{newest:?}");
}

/// The same history with marks on its newest two messages and on their calls.
fn newest_marked(history: &[Value]) -> Vec<Value> {
    let mark = json!({"type": "ephemeral"});
    let mut messages = history.to_vec();
    for message in messages.iter_mut().rev().take(2) {
        message["cache_control"] = mark.clone();
        for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
            call["cache_control"] = mark.clone();
        }
    }
    messages
}

/// Some mark whole messages, and the calls in them.
#[test]
fn held_results_have_no_marks_of_earlier_requests() {
    let upstream = Upstream::new(|_, _| reply(&says("Fine.")));
    let server = Server::new(upstream.port, "");
    let mut set = Vec::new();
    let mut send = |history: &[Value]| {
        let mut body = chat(&newest_marked(history));
        body["tools"] = json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]);
        set.push(body.to_string().matches("\"cache_control\"").count());
        assert_eq!(server.send("POST /v1/chat/completions", "", &body.to_string()).status(), 200);
    };
    let mut history = Vec::new();
    for turn in 0..6 {
        let id = format!("call_{turn}");
        let call = json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
        history.extend([
            json!({"role": "user", "content": format!("Look, please ({turn}).")}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": id, "content": "a boat. ".repeat(2_000)}),
        ]);
        send(&history);
        history.extend([says("Fine."), json!({"role": "user", "content": "And then?"})]);
        send(&history);
        history.push(says("Fine."));
    }
    let asked = upstream.asked();
    assert!(asked.last().unwrap().text().contains("load_tool_history(id"), "results are held");
    let sent: Vec<usize> = asked.iter().map(marks).collect();
    assert!(sent.iter().zip(&set).all(|(sent, set)| sent <= set), "{sent:?} {set:?}");
}
