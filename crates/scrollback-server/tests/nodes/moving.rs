//! `scrollback migrate-store`: a file to a database and back, whatever happens on the way.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::scene::postgres::{fresh, shared};
use crate::scene::{Server, Upstream, reply, says};
use crate::talk::talk;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scrollback")).args(arguments).output().unwrap()
}

fn told(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn moved(from: &str, to: &str) -> Value {
    serde_json::from_str(&told(&["--json", "migrate-store", from, to])).unwrap()
}

fn exported(store: &str) -> String {
    told(&["--store", store, "export"])
}

/// A file with an imported conversation, one that was talked and folded here, and a token.
fn filled(folder: &Path) -> (String, Server) {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, "[window]\ntokens = 3000\nreply_tokens = 300\n");
    talk(&server, &mut Vec::new(), 0..12);
    let (database, file) = (server.store().to_str().unwrap().to_owned(), folder.join("first.db"));
    let file = file.to_str().unwrap().to_owned();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/exports");
    let samples: Vec<_> = std::fs::read_dir(sample).unwrap().map(|entry| entry.unwrap().path()).collect();
    told(&["--store", &database, "tokens", "add", "ann"]);
    moved(&database, &file);
    for sample in samples.iter().filter(|path| path.is_file()) {
        // Some samples are broken on purpose.
        let _ = run(&["--store", &file, "import", sample.to_str().unwrap()]);
    }
    (file, server)
}

#[test]
fn a_store_moves_to_a_database_and_back_and_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _server) = filled(folder.path());
    let database = fresh();
    let first = moved(&format!("sqlite:{file}"), &database);
    assert!(first["sessions"].as_u64().unwrap() > 2 && first["messages"].as_u64().unwrap() > 24, "{first}");
    assert_eq!(first["there_before"], 0);
    let again = moved(&file, &database);
    assert_eq!((&again["hash"], again["there_before"].as_u64().unwrap() > 2), (&first["hash"], true), "{again}");
    let back = folder.path().join("back.db").to_str().unwrap().to_owned();
    assert_eq!(moved(&database, &back)["hash"], first["hash"]);
    assert!(exported(&file).lines().count() > 2);
    assert_eq!(exported(&database), exported(&file));
    assert_eq!(exported(&back), exported(&file));
    for store in [&file, &database, &back] {
        assert!(told(&["--store", store, "doctor"]).contains("all is well"), "{store}");
        assert!(told(&["--store", store, "search", "sextant"]).contains("sextant"), "{store}");
        assert!(told(&["--store", store, "tokens"]).contains("ann"), "{store}");
    }
}

/// Cut short, it goes on where it ended; what differs is refused, not mixed.
#[test]
fn a_move_that_was_cut_short_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _server) = filled(folder.path());
    let database = fresh();
    let whole = moved(&file, &database);
    let schema = database.rsplit("%3D").next().unwrap().to_owned();
    let lost = format!("SELECT session FROM {schema}.session ORDER BY arrived DESC LIMIT 2");
    let tables = ["word", "message", "branch", "alias", "record", "session"];
    let some = tables.map(|table| format!("DELETE FROM {schema}.{table} WHERE session IN (SELECT session FROM gone)"));
    shared().sql(&format!("CREATE TEMP TABLE gone AS {lost}; {}", some.join("; ")));
    assert_ne!(exported(&database), exported(&file));
    let rest = moved(&file, &database);
    assert_eq!(rest["hash"], whole["hash"]);
    assert_eq!(exported(&database), exported(&file));
    shared().sql(&format!("UPDATE {schema}.session SET title = 'another', seal = 0 WHERE true"));
    let refused = run(&["migrate-store", &file, &database]);
    assert!(!refused.status.success());
}

/// Tokens that were made in the other store stay beside those that are moved.
#[test]
fn a_store_moves_to_one_that_has_tokens_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (from, file, database) = (path("from.db"), path("to.db"), fresh());
    told(&["--store", &from, "tokens", "add", "ann"]);
    for to in [&file, &database] {
        told(&["--store", to, "tokens", "add", "bob"]);
        let first = moved(&from, to);
        let again = moved(&from, to);
        assert_eq!((&first["there_before"], &again["there_before"]), (&0.into(), &1.into()), "{first} {again}");
        let tokens = told(&["--store", to, "tokens"]);
        assert!(tokens.contains("ann") && tokens.contains("bob"), "{tokens}");
        assert!(told(&["--store", to, "doctor"]).contains("all is well"));
    }
    // One name cannot be two tokens.
    let other = path("other.db");
    told(&["--store", &other, "tokens", "add", "bob"]);
    for to in [&file, &database] {
        let refused = String::from_utf8(run(&["migrate-store", &other, to]).stderr).unwrap();
        assert!(refused.contains("one of the tokens differs") && !refused.contains('*'), "{refused}");
    }
}
