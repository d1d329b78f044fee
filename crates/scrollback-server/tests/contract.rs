//! The API against its own description: `contract/suite.py` reads everything there is, then lets schemathesis ask what
//! nobody would.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failing test may panic, and tells what the suite said")]

mod stage;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use stage::{Ended, Running, compiling, into, python, read};

/// A suite that says nothing for so long hangs.
const SILENCE: Duration = Duration::from_mins(10);
/// A window that a few turns fill.
const SETTINGS: &str = "[window]\ntokens = 3000\nreply_tokens = 300\n[summary]\nminimum = 8\nkeep_recent = 4\nmargin = 40\n\
                        [artifacts]\narchive_at = 16\nkeep = 4\n";

#[test]
fn openapi_holds() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join("scrollback.toml");
    std::fs::write(&settings, SETTINGS).unwrap();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_scrollback"));
    serve.args(["serve", "--listen", "127.0.0.1:0", "--upstream", "quote"]).env("HOME", home.path());
    serve.arg("--store").arg(home.path().join("log.db")).arg("--config").arg(settings);
    let mut server = Running::start(&mut serve, home.path(), "server");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract");
    let mut suite = Command::new(python());
    compiling(&mut suite).arg("suite.py").current_dir(&tests).env("PROXY", &server.address);
    suite.env("HOME_FOLDER", home.path()).env("EXPORTS", tests.join("../../../../fixtures/exports"));
    let told = home.path().join("suite.log");
    let passed = Ended(into(&mut suite, &told).spawn().unwrap()).while_it_tells(&told, SILENCE);
    println!("{}", read(&told));
    assert_eq!(passed, Some(true), "the server said:\n{}", read(&home.path().join("server.log")));
    server.stops();
    assert!(!read(&home.path().join("server.log")).contains("panicked"));
}
