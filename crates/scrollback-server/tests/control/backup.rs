//! `scrollback backup`: beside a server, over nothing that is there, and as a store like any other.

use std::os::unix::fs::PermissionsExt;

use crate::home::{Home, Server};

#[test]
fn a_backup_is_made_beside_a_server_and_is_a_store() {
    let home = Home::new("");
    let server = Server::start(&home);
    let mut history = Vec::new();
    server.chat(&mut history, "How high is the tide?");
    home.says(&["tokens", "add", "ann"]);
    let told = home.json(&["backup", "copy.db"]);
    assert!(told[0]["bytes"].as_u64().unwrap() > 10_000, "{told:?}");
    server.chat(&mut history, "And tomorrow?");
    let of_copy = |arguments: &[&str]| home.says(&[&["--store", "copy.db"], arguments].concat());
    assert!(of_copy(&["doctor"]).contains("all is well"));
    assert!(of_copy(&["export"]).contains("How high is the tide?") && !of_copy(&["export"]).contains("And tomorrow?"));
    assert!(of_copy(&["tokens"]).contains("ann") && of_copy(&["search", "gauge"]).contains("gauge"));
    let copy = home.0.path().join("copy.db");
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    // It can be written to, as after a restore.
    of_copy(&["pin", "petrel", "m3"]);
    assert!(of_copy(&["pins", "petrel"]).contains("m3"));
}

#[test]
fn an_export_that_fails_leaves_the_one_before_it() {
    let home = Home::new("");
    let long = serde_json::json!({"messages": [{"role": "user", "content": "tide ".repeat(60_000)}]});
    std::fs::write(home.0.path().join("long.jsonl"), long.to_string()).unwrap();
    home.says(&["import", "long.jsonl"]);
    home.says(&["export", "-o", "all.jsonl"]);
    let file = home.0.path().join("all.jsonl");
    let good = std::fs::read(&file).unwrap();
    // No file may become as long as this one: shells count in 512 bytes or in 1,024.
    let line = format!("trap '' XFSZ; ulimit -f 128; exec {} export -o all.jsonl", env!("CARGO_BIN_EXE_scrollback"));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]).current_dir(home.0.path()).env_clear().env("HOME", home.0.path());
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && told.contains("all.jsonl cannot be written"), "{told}");
    assert_eq!(std::fs::read(&file).unwrap(), good);
    let names = std::fs::read_dir(home.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_string_lossy().starts_with("all.jsonl")).count(), 1);
}

#[test]
fn an_export_that_is_stopped_leaves_no_copy() {
    let home = Home::new("");
    let talk = |i: usize| {
        format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"{i} {}\"}}]}}\n", "tide ".repeat(4_000))
    };
    std::fs::write(home.0.path().join("many.jsonl"), (0..40).map(talk).collect::<String>()).unwrap();
    home.says(&["import", "many.jsonl"]);
    let mut export = home.command(&["export", "-o", "all.jsonl"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    let written = || {
        let names =
            std::fs::read_dir(home.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("all.jsonl")).collect::<Vec<_>>()
    };
    while written().is_empty() {
        assert!(export.try_wait().unwrap().is_none(), "it has ended");
    }
    assert!(std::process::Command::new("kill").args(["-INT", &export.id().to_string()]).status().unwrap().success());
    // It may have been quicker.
    let was_whole = export.wait().unwrap().success();
    assert_eq!(written(), if was_whole { vec!["all.jsonl"] } else { Vec::new() });
}

#[test]
fn what_is_there_is_written_over_only_on_a_persons_word() {
    let home = Home::new("");
    std::fs::write(home.0.path().join("copy.db"), "mine").unwrap();
    let told = home.complains(&["backup", "copy.db"]);
    assert!(told.contains("copy.db is there already") && told.contains("--force"), "{told}");
    assert_eq!(std::fs::read(home.0.path().join("copy.db")).unwrap(), b"mine");
    home.says(&["backup", "copy.db", "--force"]);
    assert!(home.says(&["--store", "copy.db", "doctor"]).contains("all is well"));
    let own = home.beside("").display().to_string();
    assert!(home.complains(&["backup", &own, "--force"]).contains("is the store itself"));
    for ending in ["-wal", "-shm", ".lock", ".serve"] {
        let own = home.beside(ending).display().to_string();
        assert!(home.complains(&["backup", &own, "--force"]).contains("belongs to it"), "{ending}");
    }
    assert!(home.complains(&["backup", "no/such/folder.db"]).contains("cannot be created"));
    assert!(home.says(&["sessions"]).contains("petrel"), "the store is as it was");
}

#[test]
fn an_export_is_not_written_over_the_store() {
    let home = Home::new("");
    for ending in ["", "-wal", ".lock"] {
        let own = home.beside(ending).display().to_string();
        assert!(home.complains(&["export", "--output", &own]).contains("is the store itself"), "{ending}");
    }
    assert!(home.says(&["doctor"]).contains("all is well"), "the store is as it was");
}

#[test]
fn a_store_that_a_server_has_open_is_not_written_over() {
    let home = Home::new("");
    let server = Server::start(&home);
    let own = home.beside("").display().to_string();
    home.says(&["import", "tides.jsonl", "--store", "other.db"]);
    let told = home.complains(&["--store", "other.db", "backup", &own, "--force"]);
    assert!(told.contains(&format!("is open in another process (process {})", server.child.id())), "{told}");
    server.chat(&mut Vec::new(), "How high is the tide?");
    assert!(home.says(&["sessions"]).contains("harbour"), "the server's store is as it was");
}

#[test]
fn nothing_of_what_was_erased_a_moment_ago_is_in_a_backup() {
    let home = Home::new("");
    let server = Server::start(&home);
    server.chat(&mut Vec::new(), "the combination is 4711-periwinkle");
    let id = server.asks("GET /api/sessions/harbour", "")["id"].as_str().unwrap().to_owned();
    server.asks(&format!("DELETE /api/sessions/{id}"), "");
    home.says(&["backup", "copy.db"]);
    let copy = std::fs::read(home.0.path().join("copy.db")).unwrap();
    assert!(!copy.windows(10).any(|window| window == b"periwinkle"));
    assert!(home.says(&["--store", "copy.db", "doctor"]).contains("all is well"));
    assert!(home.says(&["--store", "copy.db", "search", "gauge"]).contains("gauge"));
}
