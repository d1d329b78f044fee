//! A home of its own with a small conversation in it, a server over its store, and a client that speaks HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A conversation with a call, its result, a rule and a question.
const TOOLS: &str = r#"{"id": "tides", "title": "Tides", "messages": [
{"role": "user", "content": "Read the gauge. Never round the heights."},
{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read_gauge", "arguments": "{}"}}]},
{"role": "tool", "tool_call_id": "c1", "content": "417 cm"},
{"role": "assistant", "content": "417 cm above datum."},
{"role": "user", "content": "And yesterday?"}]}"#;

/// A home with two conversations, `petrel` (long) and `tides` (with a tool call).
pub(crate) struct Home(pub(crate) tempfile::TempDir);

impl Home {
    pub(crate) fn new(settings: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::write(home.0.path().join("scrollback.toml"), settings).unwrap();
        std::fs::write(home.0.path().join("tides.jsonl"), TOOLS.replace('\n', " ")).unwrap();
        let petrel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/samples/petrel.jsonl");
        home.says(&["import", petrel.to_str().unwrap(), "tides.jsonl"]);
        home
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.args(arguments).current_dir(self.0.path()).env_clear().env("HOME", self.0.path()).env("TZ", "UTC");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// What a command that succeeds prints.
    pub(crate) fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [arguments, &["--json"]].concat();
        self.says(&all).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What a command that fails complains about.
    pub(crate) fn complains(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} should fail: {}", text(&output.stdout));
        text(&output.stderr)
    }

    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        self.0.path().join(format!(".local/share/scrollback/scrollback.db{ending}"))
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A server that runs while it is kept.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(home: &Home) -> Self {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--upstream", "quote"];
        let mut child = home.command(&arguments).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
        let address = told.trim().rsplit("http://").next().unwrap().to_owned();
        Self { child, address }
    }

    /// Sends a request; its status and its JSON.
    pub(crate) fn send(&self, line: &str, body: &str) -> (u16, Value) {
        self.send_with(line, "host: localhost\r\n", body)
    }

    pub(crate) fn send_with(&self, line: &str, headers: &str, body: &str) -> (u16, Value) {
        let (head, body) = self.bytes(line, headers, body);
        let kind = if head[9..10] == *"2" { "application/json" } else { "application/problem+json" };
        let fits = line.contains(" /v1/chat") || head.contains(&format!("content-type: {kind}"));
        assert!(fits, "{line}: {head}");
        (head[9..12].parse().unwrap(), serde_json::from_str(&body).unwrap())
    }

    /// Sends a request; the head of the answer and its body.
    pub(crate) fn bytes(&self, line: &str, headers: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!("{line} HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let body = if head.contains("transfer-encoding: chunked") { joined(body) } else { body.to_owned() };
        (head.to_owned(), body)
    }

    /// Asks the model something in the session `harbour`.
    pub(crate) fn chat(&self, history: &mut Vec<Value>, question: &str) {
        history.push(serde_json::json!({"role": "user", "content": question}));
        let body = serde_json::json!({"model": "gpt-5", "max_tokens": 400, "messages": history}).to_string();
        let headers = "host: localhost\r\nx-scrollback-session: harbour\r\n";
        let (status, reply) = self.send_with("POST /v1/chat/completions", headers, &body);
        assert_eq!(status, 200, "{reply}");
        history.push(reply["choices"][0]["message"].clone());
    }

    /// What a request that succeeds is answered.
    pub(crate) fn asks(&self, line: &str, body: &str) -> Value {
        let (status, value) = self.send(line, body);
        assert_eq!(status, 200, "{line}: {value}");
        value
    }

    /// What is wrong with a request: its status and a sentence.
    pub(crate) fn refuses(&self, line: &str, body: &str) -> (u16, String) {
        let (status, value) = self.send(line, body);
        assert!(status >= 400 && value["code"].is_string() && value["status"] == status, "{line}: {value}");
        (status, value["detail"].as_str().unwrap().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A body that came in chunks, each after its size.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let (chunk, rest) = rest.split_at(usize::from_str_radix(size, 16).unwrap());
        body += chunk;
        chunks = rest.strip_prefix("\r\n").unwrap();
    }
    body
}
