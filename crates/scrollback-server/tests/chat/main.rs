//! Talking to Scrollback itself: `/api/chat` and `/api/events` over real sockets, and `scrollback chat` in front of
//! them.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod crossed;
mod dialects;
mod ending;
mod errors;
mod imported;
mod live;
mod places;
#[path = "../proxy/scene.rs"]
#[allow(dead_code, reason = "each test uses its own part")]
mod scene;
mod stopping;
mod talk;
mod terminal;
mod unkept;
mod voices;

use serde_json::{Value, json};

use scene::{Said, Server, Upstream, events, says, stream};

/// A window that a few turns fill.
const SMALL: &str = "[window]\ntokens = 3000\nreply_tokens = 300\n[pages]\nfold_over = 80\nfold_to = 50\n";

type Pieces = Vec<Option<Vec<u8>>>;

/// A streamed answer in two pieces.
fn speaks(text: &str) -> Pieces {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(middle);
    let role = json!({"role": "assistant", "content": ""});
    stream(&events(&[role, json!({"content": first}), json!({"content": second})], "stop"), 40, true)
}

/// Begins to say a text; the rest is waited for.
fn begins(text: &str) -> Pieces {
    let begun = events(&[json!({"role": "assistant", "content": text})], "stop");
    let mut pieces = stream(&(begun.split("\n\n").next().unwrap().to_owned() + "\n\n"), 1_000, true);
    pieces.pop();
    pieces
}

/// A streamed call of a tool of ours.
fn calls(id: &str, name: &str, arguments: &Value) -> Pieces {
    let call = json!({"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    stream(&events(&[json!({"role": "assistant", "content": null, "tool_calls": [call]})], "tool_calls"), 64, true)
}

/// The server over an upstream that always answers, with a model of its own.
fn server(upstream: &Upstream, settings: &str) -> Server {
    Server::new(upstream.port, &format!("{settings}[chat]\nmodel = \"gpt-4o\"\n"))
}

fn chat(server: &Server, body: &Value) -> Said {
    server.send("POST /api/chat", "", &body.to_string())
}

/// The events of a stream, by name.
fn heard(said: &Said) -> Vec<(String, Value)> {
    assert_eq!(said.status(), 200, "{}", said.text());
    assert_eq!(said.header("content-type"), Some("text/event-stream"));
    let text = said.text();
    let event = |event: &str| {
        let name = event.lines().find_map(|line| line.strip_prefix("event: "))?.to_owned();
        let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
        Some((name, serde_json::from_str(data).unwrap()))
    };
    text.split("\n\n").filter_map(event).collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

fn text(events: &[(String, Value)]) -> String {
    events.iter().filter(|(name, _)| name == "text").map(|(_, told)| told["text"].as_str().unwrap()).collect()
}

fn done(events: &[(String, Value)]) -> Value {
    let (name, told) = events.last().unwrap();
    assert_eq!(name, "done", "{events:#?}");
    told.clone()
}

/// Asks and waits for the whole answer.
fn ask(server: &Server, body: &Value) -> Value {
    let mut body = body.clone();
    body["stream"] = json!(false);
    let said = chat(server, &body);
    assert_eq!(said.status(), 200, "{}", said.text());
    said.json()
}

/// What an upstream was asked, message by message: the role and the words.
fn asked(said: &Said) -> Vec<(String, String)> {
    let body = said.json();
    let message = |message: &Value| {
        let content = &message["content"];
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        (message["role"].as_str().unwrap_or_default().to_owned(), text)
    };
    body["messages"].as_array().unwrap().iter().map(message).collect()
}

fn said(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

/// A long text about something.
fn long(about: &str) -> String {
    let sentences = (0..20).map(|i| format!("Sentence {i} tells something more about the {about} of the harbour. "));
    sentences.collect::<String>().trim().to_owned()
}

/// A model that answers at once.
fn whole(text: &str) -> Pieces {
    scene::reply(&says(text))
}
