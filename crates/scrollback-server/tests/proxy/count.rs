//! How many tokens a request would be sent with, as clients of Anthropic ask it. The Responses API's way is in
//! `responses/endpoints.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use scrollback::tokens::Vocabulary;
use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, plain, user};
use crate::talk::question;

const WINDOW: &str = "[window]\nstrategy = \"pages\"\ntokens = 5000\nreply_tokens = 300\n";
const SESSION: &str = "x-claude-code-session-id: 7d1f0b0e-0000-4000-8000-000000000001\r\n";
const JSON: &str = "content-type: application/json\r\n";

/// An upstream that answers, and counts with this status.
fn counting(status: &'static str) -> Upstream {
    Upstream::new(move |_, asked| {
        if is_count(asked) {
            return plain(status, JSON, "{\"input_tokens\":77}");
        }
        let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Noted."}],
                          "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 2}});
        plain("200 OK", JSON, &body.to_string())
    })
}

fn is_count(asked: &Said) -> bool {
    asked.head.starts_with("POST /v1/messages/count_tokens")
}

fn body(messages: &[Value]) -> Value {
    json!({"model": "claude-opus-4-5", "system": "Be brief.", "messages": messages,
           "tools": [{"name": "look", "input_schema": {"type": "object"}}]})
}

fn count(server: &Server, body: &Value) -> u64 {
    let answer = server.send("POST /v1/messages/count_tokens?beta=true", SESSION, &body.to_string());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()["input_tokens"].as_u64().unwrap()
}

fn talk(server: &Server, history: &mut Vec<Value>, turns: std::ops::Range<usize>) {
    for turn in turns {
        history.push(user(&question(turn)));
        let mut body = body(history);
        body["max_tokens"] = json!(300);
        let answer = server.send("POST /v1/messages", SESSION, &body.to_string());
        assert_eq!(answer.status(), 200, "{}", answer.text());
        history.push(json!({"role": "assistant", "content": answer.json()["content"]}));
    }
}

fn whole(history: &[Value]) -> u64 {
    history.iter().map(|message| Vocabulary::O200k.count(&message["content"].to_string()) as u64).sum()
}

#[test]
fn what_goes_on_as_it_came_is_counted_upstream_with_our_tools() {
    let upstream = counting("200 OK");
    let server = Server::new(upstream.port, "");
    let sent = body(&[user("Which colour?")]);
    assert_eq!(count(&server, &sent), 77);
    let asked = &upstream.asked()[0];
    assert!(asked.head.starts_with("POST /v1/messages/count_tokens?beta=true "), "{}", asked.head);
    let (mut theirs, mut counted) = (sent.clone(), asked.json());
    let tools = counted["tools"].take();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["look", "recall_page", "load_tool_history", "search_history"]);
    theirs["tools"].take();
    assert_eq!(counted, theirs);
    assert!(server.messages().is_empty(), "nothing is kept");
    let mut request = sent.clone();
    request["max_tokens"] = json!(300);
    server.send("POST /v1/messages", SESSION, &request.to_string());
    assert_eq!(upstream.asked()[1].json()["tools"], tools, "as the real request has them");
    let server = Server::new(upstream.port, "recall = \"off\"\n");
    assert_eq!(count(&server, &sent), 77);
    assert_eq!(upstream.asked()[2].text(), sent.to_string());
}

#[test]
fn a_folded_conversation_is_as_large_as_its_window() {
    let upstream = counting("200 OK");
    let server = Server::new(upstream.port, WINDOW);
    let mut history = Vec::new();
    talk(&server, &mut history, 0..40);
    let (kept, asked) = (server.messages(), upstream.asked().len());
    history.push(user("And what of the harbour crane?"));
    let counted = count(&server, &body(&history));
    assert!((500..6_500).contains(&counted) && counted < whole(&history), "{counted} of {}", whole(&history));
    assert_eq!(upstream.asked().len(), asked, "the upstream does not know the window");
    assert_eq!(server.messages(), kept, "nothing is kept");
}

#[test]
fn counting_something_else_in_a_session_leaves_it_as_it_is() {
    let upstream = counting("200 OK");
    let server = Server::new(upstream.port, WINDOW);
    let mut history = Vec::new();
    talk(&server, &mut history, 0..3);
    let kept = server.messages();
    let file = |lines: usize| json!({"model": "claude-opus-4-5", "messages": [user(&"let tide = gauge.read();\n".repeat(lines))]});
    assert_eq!(count(&server, &file(20)), 77);
    assert_eq!(upstream.asked()[3].json()["messages"], file(20)["messages"]);
    let large = count(&server, &file(2_000));
    assert!(large > 10_000, "larger than any window: {large}");
    assert_eq!(server.messages(), kept, "nothing is kept");
    talk(&server, &mut history, 3..4);
    assert_eq!(upstream.asked().last().unwrap().json()["messages"], json!(history[..7]));
    assert_eq!(server.messages().len(), kept.len() + 2);
}

#[test]
fn where_no_upstream_counts_we_do() {
    for status in ["404 Not Found", "405 Method Not Allowed", "501 Not Implemented"] {
        let upstream = counting(status);
        let server = Server::new(upstream.port, "");
        let words = "the tide gauge at the pier ".repeat(100);
        let (short, long) = (count(&server, &body(&[user("Hi.")])), count(&server, &body(&[user(&words)])));
        let expected = Vocabulary::O200k.count(&words) as u64;
        assert!(short > 100, "our tools are counted: {short}");
        assert!((expected..expected * 2).contains(&(long - short)), "{status}: {long} - {short} for {expected}");
        assert_eq!(upstream.asked().len(), 2);
        assert!(server.messages().is_empty());
    }
}

#[test]
fn reasoning_that_would_be_left_out_does_not_stop_a_count() {
    let upstream = counting("400 Bad Request");
    let server = Server::new(upstream.port, "");
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let history = [
        user("Which colour?"),
        json!({"role": "assistant", "content": [thought, {"type": "text", "text": "Red."}]}),
        user("Sure?"),
    ];
    let mut sent = body(&history);
    let answer = server.send("POST /v1/messages/count_tokens", SESSION, &sent.to_string());
    assert_eq!(answer.status(), 400, "what is wrong with a request its upstream says");
    sent["model"] = json!("claude-fable-5-1");
    assert!(count(&server, &sent) > 100);
}

/// A provider that runs tools counts its input once for every time it asks the model.
#[test]
fn what_is_counted_for_tools_of_the_provider_teaches_nothing() {
    let counted = Arc::new(AtomicU64::new(0));
    let reported = counted.clone();
    let upstream = Upstream::new(move |_, asked| {
        if is_count(asked) {
            return plain("404 Not Found", JSON, "{}");
        }
        let searched =
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tide"}});
        let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
        let content = json!([searched, found, {"type": "text", "text": "At nine."}]);
        let usage = json!({"input_tokens": 2 * reported.load(Ordering::Relaxed), "output_tokens": 9});
        let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage});
        plain("200 OK", JSON, &body.to_string())
    });
    let server = Server::new(upstream.port, "");
    let mut sent = body(&[user("When is high tide?")]);
    let before = count(&server, &sent);
    counted.store(before, Ordering::Relaxed);
    sent["max_tokens"] = json!(300);
    assert_eq!(server.send("POST /v1/messages", SESSION, &sent.to_string()).status(), 200);
    let after = count(&server, &body(&[user("When is the tide high?")]));
    assert!(after < before * 5 / 4, "{before} tokens are now {after}");
}
