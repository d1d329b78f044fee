//! A scripted upstream, the server under test, and a client that sees every byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

#[path = "../../../scrollback/tests/kit/postgres.rs"]
pub(crate) mod postgres;

/// The suite `nodes` runs everything on several nodes over one database; the others each on one, over a file.
pub(crate) const NODES: usize = if is_nodes(env!("CARGO_CRATE_NAME")) { 2 } else { 1 };

const fn is_nodes(name: &str) -> bool {
    matches!(name.as_bytes(), b"nodes")
}

/// Where a server under test keeps things.
fn kept(folder: &Path) -> PathBuf {
    if NODES > 1 { postgres::fresh().into() } else { folder.join("log.db") }
}

/// A request or a response as it was on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn status(&self) -> u16 {
        self.head[9..12].parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim())
    }
}

/// What an upstream answers: pieces written one after another; `None` cuts the connection.
pub(crate) type Script = Arc<dyn Fn(usize, &Said) -> Vec<Option<Vec<u8>>> + Send + Sync>;

/// An upstream and everything it was asked.
pub(crate) struct Upstream {
    pub(crate) port: u16,
    pub(crate) asked: Arc<Mutex<Vec<Said>>>,
}

impl Upstream {
    pub(crate) fn new(script: impl Fn(usize, &Said) -> Vec<Option<Vec<u8>>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, script): (Arc<Mutex<Vec<Said>>>, Script) = (Arc::default(), Arc::new(script));
        let upstream = Self { port, asked: asked.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, script) = (asked.clone(), script.clone());
                std::thread::spawn(move || answer(stream, &asked, &script));
            }
        });
        upstream
    }

    pub(crate) fn asked(&self) -> Vec<Said> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, asked: &Mutex<Vec<Said>>, script: &Script) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(said) = read(&mut reader) {
        let number = {
            let mut asked = asked.lock().unwrap();
            asked.push(said.clone());
            asked.len() - 1
        };
        for piece in script(number, &said) {
            let Some(piece) = piece else { return };
            if stream.write_all(&piece).is_err() {
                return;
            }
        }
    }
}

/// Reads a message from the wire, chunked or not.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Said> {
    let (mut head, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut said = Said { head, body: Vec::new() };
    if said.header("transfer-encoding") == Some("chunked") {
        loop {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return Some(said);
            }
            let Ok(size) = usize::from_str_radix(line.trim(), 16) else { return Some(said) };
            let mut piece = vec![0; size + 2];
            if reader.read_exact(&mut piece).is_err() || size == 0 {
                return Some(said);
            }
            said.body.extend_from_slice(&piece[..size]);
        }
    }
    said.body.resize(said.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0), 0);
    reader.read_exact(&mut said.body).ok()?;
    Some(said)
}

/// A whole answer.
pub(crate) fn plain(status: &str, headers: &str, body: &str) -> Vec<Option<Vec<u8>>> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    vec![Some((head + body).into_bytes())]
}

/// A reply of a model.
pub(crate) fn reply(message: &Value) -> Vec<Option<Vec<u8>>> {
    let finish = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    let body = json!({"id": "c1", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                      "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}, "x_unknown": [1, 2]});
    plain("200 OK", "content-type: application/json\r\n", &body.to_string())
}

pub(crate) fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A streamed answer in pieces of so many bytes, cut at the end if `ends` is false.
pub(crate) fn stream(text: &str, piece: usize, ends: bool) -> Vec<Option<Vec<u8>>> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut pieces = vec![Some(head.as_bytes().to_vec())];
    for piece in text.as_bytes().chunks(piece.max(1)) {
        let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
        pieces.push(Some(chunk));
    }
    pieces.push(ends.then(|| b"0\r\n\r\n".to_vec()));
    pieces
}

/// What a model answers that has nothing to say: no events at all, or something that is no stream.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn nothing() -> [Vec<Option<Vec<u8>>>; 2] {
    [stream("", 1, true), plain("200 OK", "content-type: application/json\r\n", "{}")]
}

/// The events of a stream: one for each delta, then the end.
pub(crate) fn events(deltas: &[Value], finish: &str) -> String {
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}))
    };
    let said: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    said + &chunk(&json!({}), finish.into()) + "data: [DONE]\n\n"
}

fn start(mut command: Command, folder: &Path, store: &Path) -> (Child, u16, Arc<Mutex<String>>) {
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(folder.join("scrollback.toml")).arg("--store");
    command.arg(store).env("SCROLLBACK_LOG", "debug").env("MOCK_KEY", "sk-from-the-environment");
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let log: Arc<Mutex<String>> = Arc::default();
    let port = lines
        .by_ref()
        .map(Result::unwrap)
        .find_map(|line| line.strip_prefix("listening on http://127.0.0.1:")?.parse().ok());
    let kept = log.clone();
    std::thread::spawn(move || {
        lines.map_while(Result::ok).for_each(|line| kept.lock().unwrap().push_str(&(line + "\n")));
    });
    (child, port.expect("it says where it listens"), log)
}

/// The server under test; where there are several nodes, the first of them.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) folder: tempfile::TempDir,
    log: Arc<Mutex<String>>,
    store: PathBuf,
    /// The other nodes. Requests go to all in turn.
    others: Vec<(Child, u16)>,
    turn: AtomicUsize,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    /// In front of an upstream, with more settings.
    pub(crate) fn new(upstream: u16, settings: &str) -> Self {
        Self::with(upstream, settings, |program| Command::new(program))
    }

    /// In front of an upstream, with more settings of `[serve]` and others.
    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn serving(upstream: u16, serve: &str, settings: &str) -> Self {
        Self::started(upstream, (serve, settings), |program| Command::new(program))
    }

    pub(crate) fn with(upstream: u16, settings: &str, command: impl FnOnce(&str) -> Command) -> Self {
        Self::started(upstream, ("", settings), command)
    }

    fn started(upstream: u16, (serve, settings): (&str, &str), command: impl FnOnce(&str) -> Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("scrollback.toml");
        let text = format!(
            "[serve]\nupstream = \"mock\"\nbody_megabytes = 4\n{serve}[upstreams.mock]\nurl = \"http://127.0.0.1:{upstream}/v1\"\n{settings}"
        );
        std::fs::write(&config, text).unwrap();
        Self::over(command(env!("CARGO_BIN_EXE_scrollback")), folder)
    }

    fn over(first: Command, folder: tempfile::TempDir) -> Self {
        let store = kept(folder.path());
        let (child, port, log) = start(first, folder.path(), &store);
        let mut server = Self { child, port, folder, log, store, others: Vec::new(), turn: AtomicUsize::new(0) };
        server.start_others();
        server
    }

    fn start_others(&mut self) {
        for () in std::iter::repeat_n((), NODES - 1) {
            let (child, port, _) =
                start(Command::new(env!("CARGO_BIN_EXE_scrollback")), self.folder.path(), &self.store);
            self.others.push((child, port));
        }
    }

    /// Ends all nodes at once, as a crash would.
    fn kill(&mut self) {
        for child in std::iter::once(&mut self.child).chain(self.others.iter_mut().map(|(child, _)| child)) {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.others.clear();
    }

    /// Stops it, does something with its store, and starts it again.
    pub(crate) fn restart<T>(&mut self, between: impl FnOnce(PathBuf) -> T) -> T {
        self.kill();
        let done = between(self.store());
        let command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        (self.child, self.port, self.log) = start(command, self.folder.path(), &self.store);
        self.start_others();
        done
    }

    /// Asks it to end, as an operator would, and waits until it has.
    #[allow(dead_code, reason = "not every test stops it")]
    pub(crate) fn stops(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let begun = std::time::Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(10), "the server does not stop when told to");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// With these settings and no others, and nothing in its environment.
    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn bare(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scrollback.toml"), settings).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.env_clear();
        Self::over(command, folder)
    }

    /// Whether it has ended.
    #[allow(dead_code, reason = "not every test ends it")]
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// The number of its process.
    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.store.clone()
    }

    /// Every message of every session, as the command line shows them, once all of it is written.
    pub(crate) fn messages(&self) -> Vec<Value> {
        std::thread::sleep(Duration::from_millis(150));
        let told = |arguments: &[&str]| {
            let store = self.store();
            let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
            let output = command.args(["--json", "--store"]).arg(store).args(arguments).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
        };
        let sessions = told(&["sessions"]);
        let ids = sessions.iter().map(|session| session["id"].as_str().unwrap());
        ids.flat_map(|id| told(&["show", id, "--last", "10000"])).map(|line| line["message"].clone()).collect()
    }

    /// A view as the command line shows it, once it is written.
    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn shown_view(&self, session: &str, view: &str) -> String {
        std::thread::sleep(Duration::from_millis(150));
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        let command = command.arg("--store").arg(self.store()).args(["show", session, "--view", view]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    pub(crate) fn ask(&self, body: &Value) -> Said {
        self.send("POST /v1/chat/completions", "authorization: Bearer sk-canary\r\n", &body.to_string())
    }

    /// Sends a request and reads all of the answer.
    pub(crate) fn send(&self, line: &str, headers: &str, body: &str) -> Said {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % (1 + self.others.len());
        let port = turn.checked_sub(1).map_or(self.port, |other| self.others[other].1);
        send(port, line, headers, body)
    }
}

pub(crate) fn send(port: u16, line: &str, headers: &str, body: &str) -> Said {
    try_send(port, line, headers, body).expect("an answer")
}

/// The same, where nobody may be there.
pub(crate) fn try_send(port: u16, line: &str, headers: &str, body: &str) -> Option<Said> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_mins(2))).ok()?;
    let host = if headers.lines().any(|line| line.starts_with("host:")) { "" } else { "host: localhost\r\n" };
    let head = format!(
        "{line} HTTP/1.1\r\n{host}content-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).ok()?;
    read(&mut BufReader::new(stream))
}

pub(crate) fn chat(messages: &[Value]) -> Value {
    json!({"model": "gpt-4o", "messages": messages, "x_unknown": {"kept": true}})
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}
