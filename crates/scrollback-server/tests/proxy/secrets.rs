//! Secrets: keys and tokens are in no file, log, error or number; files are their owner's; what is forgotten is gone
//! from the disk.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::access::{bearer, code};
use crate::scene::{Server, Upstream, chat, plain, reply, says, user};

/// The files below a folder that hold a word, but for those that may.
fn holding(folder: &Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, word));
        } else if std::fs::read(&path).unwrap().windows(word.len()).any(|window| window == word.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn no_key_and_no_token_is_in_any_file_log_error_number_or_export() {
    let upstream = Upstream::new(|number, _| match number % 3 {
        0 => reply(&says("hi")),
        1 => plain("401 Unauthorized", "", "{\"error\":{\"message\":\"bad key\"}}"),
        _ => plain("500 Oh", "", "no"),
    });
    let server = Server::new(upstream.port, "");
    let token = server.token("ann");
    let bare = token.strip_prefix("sb_").unwrap();
    let mut told = String::new();
    let body = chat(&[user("hello")]).to_string();
    for headers in [
        bearer(&token),
        format!("x-scrollback-token: {token}\r\nauthorization: Bearer sk-canary-1\r\n"),
        "authorization: Bearer sk-canary-2\r\n".to_owned(),
        "x-api-key: sk-canary-3\r\n".to_owned(),
        "authorization: Bearer sb_canary4\r\n".to_owned(),
        "authorization: Bearer sk-canary-5\r\nx-api-key: sk-canary-6\r\n".to_owned(),
        "x-scrollback-token: sk-canary-7\r\n".to_owned(),
    ] {
        for door in
            ["POST /v1/chat/completions", "POST /v1/responses", "GET /api/sessions", "POST /mcp", "GET /v1/models"]
        {
            let answer = server.send(door, &headers, &body);
            told += &(answer.head.clone() + &answer.text());
        }
    }
    told += &server.send("GET /metrics", "", "").text();
    for arguments in [&["tokens"][..], &["--json", "tokens"], &["export"], &["doctor"], &["sessions"]] {
        let output = server.command(arguments);
        told += &(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr));
    }
    told += &server.log();
    for secret in [bare, "canary"] {
        assert!(!told.contains(secret), "told: {secret}");
        assert_eq!(holding(server.folder.path(), secret), Vec::<String>::new(), "{secret}");
    }
    // The pass of a run is in the one file that says where it listens, and nowhere else.
    let listens = std::fs::read_to_string(format!("{}.serve", server.store().display())).unwrap();
    let pass = listens.lines().nth(2).unwrap();
    let files = holding(server.folder.path(), pass);
    assert!(files.len() == 1 && files[0].contains(".serve") && !told.contains(pass), "{files:?}");
    let me = server.send("GET /api/me", &format!("x-scrollback-token: {pass}\r\n"), "").json();
    assert_eq!((&me["local"], &me["admin"]), (&json!(true), &json!(true)));
}

#[test]
fn every_file_is_its_owners_alone() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    server.ask(&chat(&[user("hello")]));
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(server.folder.path()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("log.db") {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{name} is {mode:o}");
            seen.push(name);
        }
    }
    for ending in ["", "-wal", ".lock", ".serve"] {
        assert!(seen.contains(&format!("log.db{ending}")), "{ending}: {seen:?}");
    }
}

#[test]
fn what_is_forgotten_is_gone_from_every_byte_on_the_disk() {
    let upstream = Upstream::new(|_, _| reply(&says("The loganberries are ripe.")));
    let mut server = Server::new(upstream.port, "");
    let headers = "x-scrollback-session: gone\r\n";
    server.send("POST /v1/chat/completions", headers, &chat(&[user("Where are the boysenberries?")]).to_string());
    server.ask(&chat(&[user("Where are the cloudberries?")]));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let folder = server.folder.path().to_owned();
    assert!(!holding(&folder, "boysenberries").is_empty());
    server.restart(|store| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scrollback"));
        let output = command.arg("--store").arg(store).args(["forget", "gone", "--yes"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        for word in ["boysenberries", "boysenberri"] {
            assert_eq!(holding(&folder, word), Vec::<String>::new(), "{word}: words, index and journal");
        }
        assert!(!holding(&folder, "cloudberries").is_empty(), "others stay");
    });
    assert_eq!(code(&server.send("GET /api/sessions/gone", "", "")), "not_found");
}

#[test]
fn names_and_pages_of_others_are_refused_at_every_door() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let body = chat(&[user("hello")]).to_string();
    let doors =
        ["POST /v1/chat/completions", "GET /api/sessions", "POST /v1/summarize", "POST /mcp", "GET /metrics", "GET /"];
    for door in doors {
        for foreign in
            ["host: evil.example", "origin: https://evil.example", "origin: null", "origin: http://203.0.113.7"]
        {
            let refused = server.send(door, &format!("{foreign}\r\n"), &body);
            assert_eq!((refused.status(), code(&refused)), (403, "host_not_allowed".into()), "{door} {foreign}");
        }
    }
    assert!(upstream.asked().is_empty());
}
