//! The program as people run it: real processes, real files.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A home of its own, so that no test sees another's store or the developer's settings.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.args(arguments).current_dir(self.0.path()).env_clear().env("HOME", self.0.path()).env("TZ", "UTC");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// What a command that succeeds prints.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [arguments, &["--json"]].concat();
        self.says(&all).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What a command that fails complains about.
    fn complains(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} should fail: {}", text(&output.stdout));
        text(&output.stderr)
    }

    fn store(&self) -> PathBuf {
        self.0.path().join(".local/share/scrollback/scrollback.db")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).display().to_string()
}

#[test]
fn the_demo_needs_nothing() {
    let home = Home::new();
    let shown = home.says(&["demo"]);
    assert!(shown.contains("27 messages") && shown.contains("adds 0 messages"), "{shown}");
    assert!(shown.contains("«押金»") && shown.contains("«renewal» «deadline»"), "{shown}");
    assert!(!home.store().exists(), "the demo leaves the person's own store alone");
}

#[test]
fn importing_twice_adds_nothing() {
    let home = Home::new();
    let first = home.json(&["import", &fixture("samples/harbour.jsonl")]);
    assert_eq!(
        (&first[0]["messages"], &first[0]["added"], &first[0]["format"]),
        (&27.into(), &27.into(), &"openai".into())
    );
    let again = home.json(&["import", &fixture("samples/harbour.jsonl")]);
    assert_eq!(again[0]["added"], 0);
    let folder = home.json(&["import", &fixture("exports")]);
    assert_eq!(folder.len(), 5);
    assert!(folder.iter().all(|file| file["added"].as_u64().unwrap() > 0));
}

#[test]
fn a_conversation_can_be_listed_shown_and_searched() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    let sessions = home.json(&["sessions"]);
    assert_eq!((&sessions[0]["declared"], &sessions[0]["title"]), (&"harbour-office".into(), &"Harbour office".into()));
    let id = sessions[0]["id"].as_str().unwrap();
    for name in ["harbour-office", "Harbour Office", "harbour", &id[..6]] {
        assert_eq!(home.json(&["show", name, "--all"]).len(), 27);
    }
    assert_eq!(home.json(&["show", "harbour", "--last", "3"]).len(), 3);
    let one = home.json(&["show", "harbour", "--message", "m1"]);
    assert!(one[0]["message"]["content"].as_str().unwrap().contains("/dev/ttyS3"));
    let found = home.json(&["search", "押金", "--session", "harbour", "--role", "user"]);
    assert_eq!((found.len(), &found[0]["role"]), (1, &"user".into()));
    assert_eq!(home.json(&["search", "tide", "--since", "2027-01-01"]).len(), 0);
    assert!(home.says(&["search", "NORTH-8"]).contains("«"));
}

#[test]
fn a_window_can_be_looked_at() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    let drawn = home.says(&["window", "harbour", "--tokens", "1500"]);
    assert!(drawn.contains("contents") && drawn.trim_end().ends_with("nothing lost"), "{drawn}");
    assert!(home.says(&["window", "harbour", "--tokens", "1500", "--full"]).contains("recall_page"));
    let blocks = home.json(&["window", "harbour", "--tokens", "1500"]);
    let tokens: u64 = blocks.iter().map(|block| block["tokens"].as_u64().unwrap()).sum();
    assert!(tokens <= 1500 && blocks[0]["reason"] == "instructions", "{blocks:?}");
    assert!(home.says(&["window", "harbour", "--tokens", "1500", "--strategy", "truncate"]).contains(" lost"));
    assert!(home.complains(&["window", "harbour", "--tokens", "20"]).contains("The largest"));
    assert!(home.complains(&["window", "harbour", "--strategy", "magic"]).contains("there are pages"));
}

#[test]
fn what_is_exported_can_be_imported() {
    let home = Home::new();
    home.says(&["import", &fixture("exports"), &fixture("samples")]);
    home.says(&["export", "--output", "all.jsonl"]);
    let other = Home::new();
    let file = home.0.path().join("all.jsonl").display().to_string();
    let imported = other.json(&["import", &file]);
    assert_eq!(imported[0]["skipped"].as_array().unwrap().len(), 0);
    assert_eq!(other.says(&["export"]), home.says(&["export"]));
    let messages = |home: &Home| -> u64 {
        home.json(&["sessions"]).iter().map(|session| session["messages"].as_u64().unwrap()).sum()
    };
    assert_eq!(messages(&other), messages(&home), "instructions and reasoning come along");
    assert_eq!(home.json(&["import", &file])[0]["added"], 0);
    let markdown = home.says(&["export", "harbour", "--format", "markdown"]);
    assert!(markdown.starts_with("# Harbour office"), "{markdown}");
}

#[test]
fn the_doctor_finds_a_changed_byte() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    assert_eq!(home.json(&["doctor"])[0]["problem_count"], 0);
    let mut bytes = std::fs::read(home.store()).unwrap();
    // Everywhere, because pages keep stale copies of rows that were moved.
    let places: Vec<_> = (0..bytes.len() - 6).filter(|&at| &bytes[at..at + 6] == b"ttyS3 ").collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + 4] = b'4';
    }
    std::fs::write(home.store(), bytes).unwrap();
    let output = home.run(&["doctor"]);
    assert!(!output.status.success());
    let told = text(&output.stdout);
    assert!(told.contains("are not what was written") && told.contains("problem"), "{told}");
    assert!(home.says(&["search", "renewal deadline"]).contains("HB-2291"), "the rest is still found");
}

#[test]
fn forgetting_needs_a_persons_word() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    assert!(home.complains(&["forget", "harbour"]).contains("--yes"));
    assert_eq!(home.json(&["sessions"]).len(), 1);
    assert_eq!(home.json(&["forget", "harbour", "--yes"])[0]["erased"], 27);
    assert_eq!(home.json(&["sessions"]).len(), 0);
    let bytes = std::fs::read(home.store()).unwrap();
    assert!(!bytes.windows(5).any(|window| window == b"ttyS3"), "nothing of it is left in the file");
}

#[test]
fn errors_say_what_to_do() {
    let home = Home::new();
    assert!(home.complains(&["sessions"]).contains("scrollback import"));
    assert!(home.complains(&["import", "absent.json"]).contains("absent.json"));
    std::fs::write(home.0.path().join("odd.json"), "{\"what\": 1}").unwrap();
    assert!(home.complains(&["import", "odd.json"]).contains("--format"));
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    assert!(home.complains(&["show", "nobody"]).contains("scrollback sessions"));
    assert!(home.complains(&["show", "harbour", "--branch", "7"]).contains("no branch 7"));
    assert!(home.complains(&["search", "…"]).contains("no word"));
    std::fs::write(home.0.path().join("scrollback.toml"), "[store]\nspeed = 9\n").unwrap();
    let told = home.complains(&["sessions"]);
    assert!(told.contains("scrollback.toml") && told.contains("speed"), "{told}");
}

#[test]
fn standard_input_and_another_file_are_possible() {
    let home = Home::new();
    let mut child = home
        .command(&["import", "-", "--store", "mine.db"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"role\":\"user\",\"content\":\"hello there\"}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && text(&output.stdout).contains("1 new"));
    assert!(home.0.path().join("mine.db").exists() && !home.store().exists());
    assert!(home.says(&["search", "hello", "--store", "mine.db"]).contains("«hello»"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    let mut child =
        home.command(&["show", "harbour", "--all"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}
