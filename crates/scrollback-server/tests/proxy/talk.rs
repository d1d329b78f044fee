//! Long conversations, and what can be told of the windows they lead to.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use scrollback::tokens::Vocabulary;
use serde_json::{Value, json};

use crate::scene::{Said, Server, chat, user};

/// What the conversations are about: a subject and something that is said of it once.
pub(crate) const FACTS: [(&str, &str); 6] = [
    ("the lighthouse", "The lamp of the lighthouse was bought from Larsen for 4417 crowns."),
    ("the ferry", "The ferry Solveig leaves from berth nine at twenty past six."),
    ("the tide gauge", "The tide gauge at the pier reads eleven centimetres too high."),
    ("the bakery", "The bakery on Storgata takes orders until Wednesday noon."),
    ("the museum", "The museum lends the brass sextant only with a letter from Ingrid."),
    ("the harbour crane", "The harbour crane may lift six tonnes since its repair in May."),
];

/// Something the person wants for good.
pub(crate) const RULE: &str = "Never give distances in miles.";

/// What is asked in a turn.
pub(crate) fn question(turn: usize) -> String {
    let (subject, fact) = FACTS[turn % FACTS.len()];
    let rule = if turn == 0 { RULE } else { "" };
    let told = if turn < FACTS.len() { fact } else { "" };
    let filler = format!("We walked past {subject} again and talked about the wind, the gulls and the price of fish. ");
    format!("{rule} Note {turn} on {subject}. {told} {}", filler.repeat(4))
}

/// Talks on for so many turns; the history grows.
pub(crate) fn talk(server: &Server, history: &mut Vec<Value>, turns: std::ops::Range<usize>) {
    turns.for_each(|turn| drop(say(server, history, &question(turn))));
}

/// The same with pauses, in which the helper works: until it has nothing to do, or for as long as it may hang.
pub(crate) fn talk_slowly(server: &Server, history: &mut Vec<Value>, turns: std::ops::Range<usize>) {
    for turn in turns {
        talk(server, history, turn..turn + 1);
        std::thread::sleep(Duration::from_millis(20));
        let begun = Instant::now();
        while turn % 4 == 3 && is_busy(server) && begun.elapsed() < Duration::from_millis(1_200) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether work is under way, or was never begun.
fn is_busy(server: &Server) -> bool {
    let jobs = server.send("GET /api/jobs", "", "").json()["jobs"].clone();
    let is_open = |job: &Value| job["state"].get("claimed").is_some() || job["tries"] == 0;
    jobs.as_array().unwrap().iter().any(is_open)
}

/// Says something and hears the answer.
pub(crate) fn say(server: &Server, history: &mut Vec<Value>, text: &str) -> String {
    history.push(user(text));
    let answer = server.ask(&chat(history));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    history.push(answer.json()["choices"][0]["message"].clone());
    history.last().unwrap()["content"].as_str().unwrap_or_default().to_owned()
}

/// The messages of a request.
pub(crate) fn messages(asked: &Said) -> Vec<Value> {
    asked.json()["messages"].as_array().unwrap().clone()
}

/// The words of a message.
pub(crate) fn words(message: &Value) -> String {
    message["content"].as_str().unwrap_or_default().to_owned()
}

/// Everything a request shows its model.
pub(crate) fn shown(asked: &Said) -> String {
    messages(asked).iter().map(words).collect::<Vec<_>>().join("\n")
}

/// The names of the tools that a request offers.
pub(crate) fn offered(asked: &Said) -> Vec<String> {
    let tools = asked.json()["tools"].clone();
    let names =
        tools.as_array().into_iter().flatten().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
    names.collect()
}

/// What a request costs: its messages and its tools.
pub(crate) fn cost(asked: &Said) -> usize {
    let tools = asked.json().get("tools").map_or(0, |tools| Vocabulary::O200k.count(&tools.to_string()));
    tools + messages(asked).iter().map(|message| Vocabulary::O200k.count(&words(message))).sum::<usize>()
}

/// The words of a streamed answer.
#[allow(dead_code, reason = "not every suite streams")]
pub(crate) fn streamed(answer: &Said) -> String {
    let chunks = answer.text();
    let chunks = chunks.split("\n\n").filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok());
    chunks.filter_map(|chunk: Value| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned)).collect()
}

/// A request whose answer is streamed.
#[allow(dead_code, reason = "not every suite streams")]
pub(crate) fn streaming(history: &[Value]) -> Value {
    let mut body = chat(history);
    body["stream"] = json!(true);
    body
}

/// A client that has asked for a streamed reply and read it up to these words.
#[allow(dead_code, reason = "not every suite streams")]
pub(crate) fn heard_up_to(words: &str, server: &Server, headers: &str, body: &Value) -> TcpStream {
    let (line, body) = ("POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n", body.to_string());
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    client.write_all(format!("{line}{headers}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let (mut seen, mut piece) = (Vec::new(), [0; 256]);
    while !String::from_utf8_lossy(&seen).contains(words) {
        let count = client.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend(&piece[..count]);
    }
    client
}

/// A small generator of numbers, so that a conversation can be had again.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
