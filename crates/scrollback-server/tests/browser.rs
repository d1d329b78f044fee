//! The web UI in a real Chromium, over `scrollback serve` with no model but `quote`. What is checked is in `browser`, a
//! file for each part of the UI; this makes it run: a browser, Playwright and axe-core under `target/clients`,
//! conversations, an end to all. With `PICTURES=1`, pictures of every screen are left in `target/tmp/screens`; those of
//! what failed always are.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failing test may panic, and tells what the suite said")]

mod stage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stage::{Ended, Running, into, npm, read};

/// What drives the browser, and what looks for what people with disabilities would stumble over.
const LIBRARIES: [&str; 2] = ["playwright-core@1.65.0", "axe-core@4.14.0"];
/// A suite that says nothing for so long hangs.
const SILENCE: Duration = Duration::from_mins(5);
/// A small window, so that conversations fold soon.
const SETTINGS: &str = "[serve]\nupstream = \"quote\"\n[window]\ntokens = 3000\nreply_tokens = 400\n[pages]\nfold_over = 80\nfold_to = 50\n";

#[test]
fn a_conversation_that_folds() {
    plays("chat.mjs");
}

#[test]
fn the_window_as_a_picture() {
    plays("window.mjs");
}

#[test]
fn topics_artifacts_contents_holds_and_ledger() {
    plays("records.mjs");
}

#[test]
fn search_import_and_settings() {
    plays("finding.mjs");
}

#[test]
fn nothing_hostile_runs() {
    plays("hostile.mjs");
}

#[test]
fn a_hundred_thousand_messages() {
    plays("large.mjs");
}

#[test]
fn what_goes_wrong_loses_no_words() {
    plays("trouble.mjs");
}

/// Plays a suite against a server of its own.
fn plays(suite: &str) {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join("scrollback.toml");
    fs::write(&settings, SETTINGS).unwrap();
    let store = home.path().join("log.db");
    let mut serve = Command::new(env!("CARGO_BIN_EXE_scrollback"));
    serve.args(["serve", "--listen", "127.0.0.1:0"]).arg("--store").arg(&store).arg("--config").arg(&settings);
    let mut server = Running::start(serve.env("HOME", home.path()), home.path(), "server");
    let told = home.path().join("suite.log");
    let mut node = Command::new("node");
    node.arg(suite).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser"));
    node.env("BASE", &server.address).env("STORE", &store).env("SETTINGS", &settings);
    node.env("SCROLLBACK", env!("CARGO_BIN_EXE_scrollback")).env("CHROMIUM", chromium());
    node.env("NODE_HOME", npm("browser", &LIBRARIES)).env("SCREENS", screens()).env("HOME", home.path());
    let mut node = Ended(into(&mut node, &told).spawn().unwrap());
    let passed = node.while_it_tells(&told, SILENCE);
    let (told, said) = (read(&told), read(&home.path().join("server.log")));
    println!("{told}");
    assert_eq!(passed, Some(true), "{suite} failed; the server said:\n{said}");
    server.stops();
    assert!(!said.contains("panicked"), "{said}");
}

fn chromium() -> PathBuf {
    let places = [
        "/usr/bin/chromium-headless-shell",
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ];
    let found = places.into_iter().map(PathBuf::from).find(|path| path.exists());
    found.expect("there is no Chromium: ./test installs it (Debian: chromium)")
}

fn screens() -> PathBuf {
    let screens = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screens");
    fs::create_dir_all(&screens).unwrap();
    screens
}
