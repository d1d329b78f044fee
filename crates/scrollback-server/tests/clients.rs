//! Real client libraries, a scripted model, and `scrollback serve` between them. What is checked is in `clients` (Chat
//! Completions) and `wires` (Anthropic Messages, OpenAI Responses); this makes it run: libraries of fixed versions
//! under `target/clients`, free ports, and an end to all.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failing test may panic, and tells what the suites said"
)]

mod stage;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stage::{Ended, Running, compiling, into, npm, python, read, versioned};

/// The libraries for Node.
const NODE_LIBRARIES: [&str; 2] = ["openai@6.49.0", "@anthropic-ai/sdk@1.8.0"];
/// A suite that says nothing for so long hangs.
const SILENCE: Duration = Duration::from_mins(5);

#[test]
fn openai_for_python() {
    Stage::set().plays(&python(), &["suite.py", "openai"]);
}

#[test]
fn litellm() {
    Stage::set().plays(&python(), &["suite.py", "litellm"]);
}

#[test]
fn langchain() {
    Stage::set().plays(&python(), &["suite.py", "langchain"]);
}

#[test]
fn openai_for_node() {
    node_libraries();
    Stage::set().plays(Path::new("node"), &["suite.mjs"]);
}

#[test]
fn anthropic_for_python() {
    Stage::of_wires().plays(&python(), &["messages.py"]);
}

#[test]
fn anthropic_for_node() {
    node_libraries();
    Stage::of_wires().plays(Path::new("node"), &["messages.mjs"]);
}

#[test]
fn openai_responses_for_python() {
    Stage::of_wires().plays(&python(), &["responses.py"]);
}

#[test]
fn openai_responses_for_node() {
    node_libraries();
    Stage::of_wires().plays(Path::new("node"), &["responses.mjs"]);
}

#[test]
fn mcp_for_python() {
    Stage::set().plays(&python(), &["mcp_client.py"]);
}

#[test]
fn bytes_on_the_wire() {
    Stage::set().plays(Path::new("python3"), &["wire.py"]);
}

#[test]
fn an_agent_of_ten_rounds() {
    Stage::set().plays(Path::new("python3"), &["agent.py"]);
}

#[test]
fn half_a_million_tokens_in_a_window_of_eight_thousand() {
    Stage::set().plays(Path::new("python3"), &["long.py"]);
}

#[test]
fn replies_are_kept_when_the_server_is_told_to_stop() {
    let mut stage = Stage::set();
    let host = stage.server.address.trim_start_matches("http://").to_owned();
    for i in 0..8 {
        let body = format!(r#"{{"model":"mock","messages":[{{"role":"user","content":"@say reply {i}"}}]}}"#);
        let mut connection = TcpStream::connect(&host).unwrap();
        let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nx-scrollback-session: stop-{i}\r\n");
        let rest =
            format!("content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        connection.write_all(format!("{head}{rest}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(&format!("reply {i}")), "{answer}");
    }
    stage.server.stops();
    for i in 0..8 {
        let shown = stage.scrollback(&["show", &format!("stop-{i}")]);
        assert!(shown.contains(&format!("\nreply {i}\n")), "{shown}");
    }
}

/// A scripted model and a proxy to it, each on a port of its own.
struct Stage {
    home: tempfile::TempDir,
    /// Where its suites are.
    folder: PathBuf,
    upstream: Running,
    server: Running,
}

impl Stage {
    /// For Chat Completions.
    fn set() -> Self {
        Self::with(&scripts("clients"), "upstream.py", configured)
    }

    /// For Anthropic Messages and OpenAI Responses.
    fn of_wires() -> Self {
        Self::with(&scripts("wires"), "model.py", configured_small)
    }

    fn with(folder: &Path, model: &str, configured: fn(&str) -> String) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut upstream = Command::new("python3");
        let upstream = Running::start(compiling(upstream.arg(folder.join(model))), home.path(), "upstream");
        let settings = home.path().join("scrollback.toml");
        fs::write(&settings, configured(&upstream.address)).unwrap();
        let mut serve = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        serve.args(["serve", "--listen", "127.0.0.1:0"]);
        serve.arg("--store").arg(home.path().join("log.db")).arg("--config").arg(settings);
        let server = Running::start(serve.env("HOME", home.path()), home.path(), "server");
        Self { home, folder: folder.to_owned(), upstream, server }
    }

    /// Runs a suite to its end, then ends everything in good order.
    fn plays(mut self, program: &Path, arguments: &[&str]) {
        let told = self.home.path().join("suite.log");
        let mut suite = Command::new(program);
        compiling(&mut suite).args(arguments).current_dir(&self.folder);
        suite.env("UPSTREAM", &self.upstream.address).env("PROXY", &self.server.address);
        suite.env("PROXY_TEXT", format!("{}/text", self.server.address));
        suite.env("PROXY_LARGE", format!("{}/large", self.server.address));
        suite.env("STORE", self.home.path().join("log.db")).env("SCROLLBACK", env!("CARGO_BIN_EXE_scrollback"));
        suite.env("SERVER_LOG", self.home.path().join("server.log")).env("NODE_HOME", node_home());
        let mut suite = Ended(into(&mut suite, &told).spawn().unwrap());
        let passed = suite.while_it_tells(&told, SILENCE);
        let (told, server) = (read(&told), read(&self.home.path().join("server.log")));
        println!("{told}");
        assert_eq!(passed, Some(true), "{arguments:?} failed; the server said:\n{server}");
        self.server.stops();
        assert!(!server.contains("panicked"), "{server}");
        self.scrollback(&["doctor"]);
    }

    /// What a command that succeeds says about the log.
    fn scrollback(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        let output = command.arg("--store").arg(self.home.path().join("log.db")).args(arguments).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(output.status.success(), "{arguments:?}: {told}");
        told
    }
}

/// The same model under three names: with a small window, with one for everything, and asked for recall in text.
fn configured(upstream: &str) -> String {
    let named = |name: &str, window: u32, recall: &str| {
        format!(
            "[upstreams.{name}]\nurl = \"{upstream}/v1\"\nkey_env = \"\"\nrecall = \"{recall}\"\nwindow = {window}\n"
        )
    };
    let upstreams = [named("mock", 8_000, "tools"), named("large", 200_000, "tools"), named("text", 8_000, "text")];
    format!("[serve]\nupstream = \"mock\"\n[window]\nreply_tokens = 1000\n{}", upstreams.concat())
}

/// One model, with a small window for all.
fn configured_small(upstream: &str) -> String {
    let serve =
        "[serve]\nupstream = \"mock\"\nmessages_upstream = \"mock\"\n[window]\ntokens = 6000\nreply_tokens = 500\n";
    format!("{serve}[upstreams.mock]\nurl = \"{upstream}/v1\"\nkey_env = \"\"\n")
}

fn scripts(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder)
}

fn node_home() -> PathBuf {
    versioned("node", &NODE_LIBRARIES.join(" "))
}

fn node_libraries() {
    npm("node", &NODE_LIBRARIES);
}
