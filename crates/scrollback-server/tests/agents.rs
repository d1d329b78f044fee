//! Coding agents as people run them, headless: Claude Code, Codex and opencode, a scripted model, and
//! `scrollback serve` between them. What is checked is in `agents/suite.py`; this installs the clients under
//! `target/clients/agents` and makes it run.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failing test may panic, and tells what the suite said")]

mod stage;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stage::{Ended, Running, cache, compiling, installed, into, read};

/// A suite that says nothing for so long hangs.
const SILENCE: Duration = Duration::from_mins(5);
/// How npm says that the registry cannot be reached.
const UNREACHABLE: [&str; 7] =
    ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH"];

#[test]
fn claude_code() {
    Agent { name: "claude", package: "@anthropic-ai/claude-code@2.1.197", window: 46_000, folds: true }.plays();
}

#[test]
fn codex() {
    Agent { name: "codex", package: "@openai/codex@0.166.0", window: 21_500, folds: false }.plays();
}

#[test]
fn opencode() {
    Agent { name: "opencode", package: "opencode-ai@1.18.33", window: 19_500, folds: true }.plays();
}

/// A client, and a window: what it sends before anything is said and its first turn fit, with its second they do not.
struct Agent {
    name: &'static str,
    package: &'static str,
    window: u32,
    /// Whether what it read is shown until it is folded; otherwise it is held first, as is usual.
    folds: bool,
}

impl Agent {
    fn plays(&self) {
        if !self.is_installed() {
            println!("skipped: {} is not installed, and the npm registry cannot be reached", self.package);
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let script = scripts().join("upstream.py");
        let upstream = Running::start(Command::new("python3").arg(script), home.path(), "upstream");
        let settings = home.path().join("scrollback.toml");
        fs::write(&settings, self.configured(&upstream.address)).unwrap();
        let mut serve = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        serve.args(["serve", "--listen", "127.0.0.1:0"]);
        serve.arg("--store").arg(home.path().join("log.db")).arg("--config").arg(settings);
        let mut server = Running::start(serve.env("HOME", home.path()), home.path(), "server");
        let (passed, told) = self.runs(home.path(), &upstream, &server);
        println!("{told}");
        let said = read(&home.path().join("server.log"));
        assert_eq!(passed, Some(true), "{} failed:\n{told}\nthe server said:\n{said}", self.name);
        server.stops();
        assert!(!said.contains("panicked"), "{said}");
    }

    /// Runs the suite: whether it succeeded in time, and what it said.
    fn runs(&self, home: &Path, upstream: &Running, server: &Running) -> (Option<bool>, String) {
        let own = home.join("home");
        fs::create_dir(&own).unwrap();
        let told = home.join("suite.log");
        let mut suite = Command::new("python3");
        compiling(&mut suite).args(["suite.py", self.name]).current_dir(scripts());
        suite.env("FOLDS", if self.folds { "1" } else { "" });
        suite.env("UPSTREAM", &upstream.address).env("PROXY", &server.address).env("HOME", own);
        suite.env("STORE", home.join("log.db")).env("SCROLLBACK", env!("CARGO_BIN_EXE_scrollback"));
        suite.env("SCROLLBACK_CONFIG", home.join("scrollback.toml")).env("AGENTS", folder());
        let mut group = Group(Ended(into(suite.process_group(0), &told).spawn().unwrap()));
        (group.0.while_it_tells(&told, SILENCE), read(&told))
    }

    fn configured(&self, upstream: &str) -> String {
        let model = format!("[upstreams.mock]\nurl = \"{upstream}/v1\"\nkey_env = \"\"\nwindow = {}\n", self.window);
        let holds = if self.folds { "[holds]\nmany_tokens = 0\n" } else { "" };
        format!("[serve]\nupstream = \"mock\"\n[window]\nreply_tokens = 1000\n{holds}{model}")
    }

    /// Whether it is there, or could be fetched.
    fn is_installed(&self) -> bool {
        let home = folder().join(self.name);
        installed(&home, self.package, || {
            let mut npm = Command::new("npm");
            npm.args([
                "install",
                "--no-audit",
                "--no-fund",
                "--no-save",
                "--fetch-retries=1",
                self.package,
                "--prefix",
            ]);
            let output = npm.arg(&home).output().unwrap_or_else(|error| panic!("npm (Debian: nodejs, npm): {error}"));
            let said = String::from_utf8_lossy(&output.stderr);
            let unreachable = UNREACHABLE.iter().any(|code| said.contains(code));
            assert!(output.status.success() || unreachable, "installing {} failed: {said}", self.package);
            output.status.success()
        })
    }
}

/// A suite with the clients it started: none of them outlives it.
struct Group(Ended);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.0.0.id())]).output();
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents")
}

/// Where the clients are kept between runs.
fn folder() -> PathBuf {
    let folder = cache().join("agents");
    fs::create_dir_all(&folder).unwrap();
    folder
}
