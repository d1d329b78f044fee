//! A reply that a person stops: what they have read is kept, and what they say next goes on from it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Pieces, ask, asked, begins, said, server, speaks};
use crate::scene::{Server, Upstream, events, stream};

/// Says something and calls a tool of ours.
fn looks(text: &str) -> Pieces {
    let call = json!({"index": 0, "id": "own_1", "type": "function",
        "function": {"name": "search_history", "arguments": "{\"words\":\"lighthouse\"}"}});
    let deltas = [json!({"role": "assistant", "content": text}), json!({"tool_calls": [call]})];
    stream(&events(&deltas, "tool_calls"), 64, true)
}

/// Asks, leaves once some words are seen, and tells the session.
fn leaves(server: &Server, body: &Value, words: &str) -> Value {
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let body = body.to_string();
    let head = format!("POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    client.write_all((head + &body).as_bytes()).unwrap();
    let (mut seen, mut piece) = (String::new(), [0; 4096]);
    while !seen.contains(words) {
        let read = client.read(&mut piece).unwrap();
        assert!(read > 0, "“{words}” is not seen in:\n{seen}");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    let turn = seen.split_once("event: turn\ndata: ").unwrap().1.lines().next().unwrap();
    serde_json::from_str::<Value>(turn).unwrap()["session"].clone()
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn read(server: &Server, session: &Value, what: &str) -> Value {
    server.send(&format!("GET /api/sessions/{}/{what}", session.as_str().unwrap()), "", "").json()
}

#[test]
fn what_was_read_before_a_recall_is_kept_and_was_paid_for() {
    let upstream = Upstream::new(|number, _| match number {
        0 => looks("Let me look it up."),
        1 => Vec::new(),
        _ => speaks("It is red."),
    });
    let server = server(&upstream, "");
    let session = leaves(&server, &json!({"message": "Which colour is the lighthouse?"}), "event: recall");
    until("the reply is kept", || read(&server, &session, "messages")["total"] == 2);
    let messages = read(&server, &session, "messages");
    assert_eq!(messages["messages"][1]["parts"][0]["text"], "Let me look it up.");
    let calls = read(&server, &session, "ledger")["calls"].as_array().unwrap().len();
    assert_eq!(calls, 1, "one answer came");
    let notices = read(&server, &session, "views")["views"][0]["notices"].to_string();
    assert!(notices.contains("stopped"), "{notices}");
    let next = ask(&server, &json!({"session": session, "message": "Well?"}));
    assert_eq!((&next["branch"], &next["question"]), (&json!(0), &json!("m2")));
    let sent = asked(upstream.asked().last().unwrap());
    assert_eq!(sent[1..], [said("assistant", "Let me look it up."), said("user", "Well?")]);
}

#[test]
fn what_was_paid_for_is_told_though_nothing_was_said() {
    let upstream = Upstream::new(|number, _| match number {
        0 => super::calls("own_1", "search_history", &json!({"words": "lighthouse"})),
        _ => Vec::new(),
    });
    let server = server(&upstream, "");
    let session = leaves(&server, &json!({"message": "Which colour?"}), "event: recall");
    until("the call is recorded", || read(&server, &session, "ledger")["calls"].as_array().unwrap().len() == 1);
    assert_eq!(read(&server, &session, "messages")["total"], 1);
}

#[test]
fn who_stops_a_reply_and_goes_on_at_once_goes_on_from_it() {
    let upstream = Upstream::new(|number, _| if number % 2 == 0 { begins("It begins and") } else { speaks("Again.") });
    let server = server(&upstream, "");
    let mut session = json!(null);
    for turn in 0..6 {
        // Every other time in a session that is new.
        let new = if turn % 2 == 0 { json!(null) } else { session.clone() };
        session = leaves(&server, &json!({"session": new, "message": "Tell me a story."}), "It begins and");
        let next = ask(&server, &json!({"session": session, "message": "Go on."}));
        assert_eq!(next["branch"], 0, "turn {turn}");
        let sent = asked(upstream.asked().last().unwrap());
        assert_eq!(sent[sent.len() - 2..], [said("assistant", "It begins and"), said("user", "Go on.")], "turn {turn}");
    }
}
