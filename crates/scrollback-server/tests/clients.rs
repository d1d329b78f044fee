//! Real client libraries, a scripted model, and `scrollback serve` between them. What is checked is in `clients/*.py` and
//! `clients/suite.mjs`; this makes them run: libraries of fixed versions under `target/clients`, free ports, and an end to all.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The library for Node.
const NODE_LIBRARY: &str = "openai@6.49.0";
/// No suite takes longer.
const PATIENCE: Duration = Duration::from_secs(600);

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
    node_library();
    Stage::set().plays(Path::new("node"), &["suite.mjs"]);
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
fn two_million_tokens_in_a_window_of_eight_thousand() {
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
    upstream: Running,
    server: Running,
}

impl Stage {
    fn set() -> Self {
        let home = tempfile::tempdir().unwrap();
        let script = scripts().join("upstream.py");
        let upstream = Running::start(Command::new("python3").arg(script), home.path(), "upstream");
        let settings = home.path().join("scrollback.toml");
        fs::write(&settings, configured(&upstream.address)).unwrap();
        let mut serve = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        serve.args(["serve", "--listen", "127.0.0.1:0"]);
        serve.arg("--store").arg(home.path().join("log.db")).arg("--config").arg(settings);
        let server = Running::start(serve.env("HOME", home.path()), home.path(), "server");
        Self { home, upstream, server }
    }

    /// Runs a suite to its end, then ends everything in good order.
    fn plays(mut self, program: &Path, arguments: &[&str]) {
        let told = self.home.path().join("suite.log");
        let mut suite = Command::new(program);
        suite.args(arguments).current_dir(scripts()).env("PYTHONDONTWRITEBYTECODE", "1");
        suite.env("UPSTREAM", &self.upstream.address).env("PROXY", &self.server.address);
        suite.env("PROXY_TEXT", format!("{}/text", self.server.address));
        suite.env("PROXY_LARGE", format!("{}/large", self.server.address));
        suite.env("STORE", self.home.path().join("log.db")).env("SCROLLBACK", env!("CARGO_BIN_EXE_scrollback"));
        suite.env("SERVER_LOG", self.home.path().join("server.log")).env("NODE_HOME", cache().join("node"));
        let mut suite = Ended(into(&mut suite, &told).spawn().unwrap());
        let passed = suite.within(PATIENCE);
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

/// A process that says where it listens.
struct Running {
    process: Ended,
    address: String,
}

impl Running {
    fn start(command: &mut Command, home: &Path, name: &str) -> Self {
        let told = home.join(format!("{name}.log"));
        let mut process = Ended(into(command, &told).spawn().unwrap());
        let begun = Instant::now();
        loop {
            let said = read(&told);
            let line = said.lines().find_map(|line| line.split_once("listening on "));
            if let Some((_, address)) = line.filter(|_| said.ends_with('\n')) {
                return Self { address: address.trim().to_owned(), process };
            }
            let ended = process.0.try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < Duration::from_secs(30), "{name} does not start: {said}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Asks it to end, as an operator would.
    fn stops(&mut self) {
        let id = self.process.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(self.process.within(Duration::from_secs(20)), Some(true), "the server does not stop when told to");
    }
}

/// A process that does not outlive its test.
struct Ended(Child);

impl Ended {
    /// Whether it succeeded; `None` if it has not ended in time.
    fn within(&mut self, patience: Duration) -> Option<bool> {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status.success());
            }
            sleep(Duration::from_millis(50));
        }
        None
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command whose output goes to a file.
fn into<'a>(command: &'a mut Command, path: &Path) -> &'a mut Command {
    let file = File::create(path).unwrap();
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file)
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Where libraries are kept between runs.
fn cache() -> PathBuf {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("clients");
    fs::create_dir_all(&cache).unwrap();
    cache
}

/// A Python that has the libraries.
fn python() -> PathBuf {
    let (home, wanted) = (cache().join("python"), scripts().join("requirements.txt"));
    let python = home.join("bin/python");
    installed("python", &read(&wanted), || {
        let _ = fs::remove_dir_all(&home);
        run(Command::new("python3").args(["-m", "venv"]).arg(&home), "python3 -m venv (Debian: python3-venv)");
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&wanted);
        run(&mut pip, "installing the Python libraries, which needs the network");
    });
    python
}

fn node_library() {
    let home = cache().join("node");
    installed("node", NODE_LIBRARY, || {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", NODE_LIBRARY, "--prefix"]).arg(&home);
        run(&mut npm, "installing the Node library (Debian: nodejs, npm), which needs the network");
    });
}

/// Installs something unless that was done before; tests that run at once wait for each other.
fn installed(name: &str, version: &str, install: impl FnOnce()) {
    let lock = File::create(cache().join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let done = cache().join(format!("{name}.installed"));
    if read(&done) != version {
        install();
        fs::write(done, version).unwrap();
    }
}

fn run(command: &mut Command, what: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {command:?}: {error}"));
    assert!(output.status.success(), "{what} failed: {}", String::from_utf8_lossy(&output.stderr));
}
