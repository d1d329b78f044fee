//! What people are told of what they wrote: addresses and files that are none, counts, days and limits.

use std::path::Path;

use crate::home::{Home, Server, text};

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).display().to_string()
}

#[test]
fn a_server_that_cannot_start_leaves_nothing_behind() {
    let home = Home::new("");
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let serve = |more: &[&str]| home.complains(&[&["serve", "--store", "new.db"], more].concat());
    assert!(serve(&["--listen", "foo"]).contains("“foo” is no address to listen on: write one such as 127.0.0.1:4141"));
    assert!(serve(&["--upstream", "nowhere"]).contains("there is no upstream “nowhere”; there are "));
    let told = serve(&["--listen", &taken]);
    assert!(told.contains("cannot be listened on") && told.contains("another Scrollback"), "{told}");
    assert!(told.contains("--listen or serve.listen"), "{told}");
    assert!(!home.0.path().join("new.db").exists(), "nothing was kept, so nothing is there");
}

/// A key that is none would only be found out by whoever asks first.
#[test]
fn a_variable_that_holds_no_key_is_named_with_its_setting() {
    let embeddings = "[embeddings]\nfrom = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\nkey_env = \"NO_KEY\"\n";
    for (settings, named) in [
        ("[upstreams.openai]\nkey_env = \"NO_KEY\"\n", "upstreams.openai.key_env names NO_KEY, which is empty"),
        (embeddings, "embeddings.key_env names NO_KEY, which is empty"),
    ] {
        let home = Home::new(settings);
        let mut serve = home.command(&["serve", "--listen", "127.0.0.1:0"]);
        let told = serve.env("NO_KEY", " ").stdin(std::process::Stdio::null()).output().unwrap();
        let told = String::from_utf8(told.stderr).unwrap();
        assert!(told.contains(named), "{told}");
    }
}

#[test]
fn what_is_wrong_with_the_words_comes_before_who_holds_the_store() {
    let home = Home::new("");
    let server = Server::start(&home);
    assert!(home.complains(&["serve", "--listen", "foo"]).contains("“foo” is no address"));
    assert!(home.complains(&["serve", "--upstream", "nowhere"]).contains("no upstream “nowhere”"));
    let again = home.complains(&["serve", "--listen", &server.address]);
    assert!(again.contains("is open in another process"), "{again}");
    let file = home.beside("").display().to_string();
    let held = home.complains(&["migrate-store", &file, "new.db"]);
    assert!(held.contains("Stop that process first") && !held.contains("--store"), "{held}");
    assert!(!home.0.path().join("new.db").exists());
}

#[test]
fn a_base_url_with_too_little_or_too_much_is_told_apart() {
    let home = Home::new("");
    let server = Server::start(&home);
    let body = r#"{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}"#;
    let refused = |path: &str| {
        let (head, body) = server.bytes(&format!("POST {path}"), "host: localhost\r\n", body);
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
        let value: serde_json::Value = serde_json::from_str(&body).unwrap();
        value["error"]["message"].as_str().unwrap().to_owned()
    };
    for path in ["/chat/completions", "/responses", "/quote/chat/completions"] {
        assert!(refused(path).contains("the base URL ends in /v1"), "{path}");
    }
    for path in ["/v1/v1/messages", "/quote/v1/v1/messages", "/v1/v1/chat/completions"] {
        assert!(refused(path).contains("names /v1 twice"), "{path}");
    }
    assert!(refused("/v1x/nowhere/v1").contains("/api/openapi.json"));
}

#[test]
fn what_is_folded_is_shown_for_the_model_that_it_was_folded_for() {
    let home = Home::new("");
    home.says(&["compress", "petrel", "--limit", "4000"]);
    let usual = home.says(&["show", "petrel", "--pages"]);
    assert!(usual.contains("in windows of 32,000 tokens; --limit"), "{usual}");
    assert!(home.says(&["show", "petrel", "--pages", "--limit", "4000"]).contains("listed"));
    let missing = home.complains(&["topics", "show", "petrel", "t99"]);
    assert!(missing.contains("`scrollback topics petrel` lists them"), "{missing}");
}

#[test]
fn branches_are_no_conversations() {
    let home = Home::new("");
    // Some of the file cannot be read, on purpose.
    let told = text(&home.run(&["import", &fixture("exports/chatgpt.json")]).stdout);
    assert!(told.contains("2 conversations (5 branches), 16 messages, 16 new"), "{told}");
    let told = text(&home.run(&["import", &fixture("exports/chatgpt.json"), "tides.jsonl"]).stdout);
    assert!(told.contains("2 conversations (5 branches), 16 messages, 0 new"), "{told}");
    assert!(told.contains("1 conversation, 5 messages, 0 new"), "{told}");
    let other = Home::new("");
    let server = Server::start(&other);
    let file = std::fs::read_to_string(fixture("exports/chatgpt.json")).unwrap();
    let (_, told) = server.bytes("POST /api/import", "host: localhost\r\n", &file);
    assert!(told.contains(r#""conversations":2"#) && told.contains(r#""branches":5"#), "{told}");
    assert!(told.contains(r#""messages":16"#) && told.contains(r#""added":16"#), "{told}");
}

#[test]
fn files_that_are_no_text_are_told_apart() {
    let home = Home::new("");
    let cases: [(&[u8], &str); 3] = [
        (b"PK\x03\x04\x14\x00\xff", "the ZIP is damaged or not whole"),
        (b"\x1f\x8b\x08\x00", "gunzip"),
        (
            b"{\"role\": \"user\",\n\"content\": \"caf\xe9\"}",
            "not read: bytes that are no text, from line 2 on; 1 × \u{fffd} stands for them",
        ),
    ];
    for (bytes, told) in cases {
        std::fs::write(home.0.path().join("odd.json"), bytes).unwrap();
        let complaint = home.complains(&["import", "odd.json"]);
        assert!(complaint.contains(told), "{complaint}");
        assert_eq!(complaint.contains("ZIP"), told.contains("ZIP"), "{complaint}");
    }
}

#[test]
fn a_day_is_searched_to_its_end_and_nothing_is_no_limit() {
    let home = Home::new("");
    let line = r#"{"id": "day", "messages": [{"role": "user", "content": "The heron came."}], "scrollback": {"times": ["2026-03-05T17:00:00Z"]}}"#;
    std::fs::write(home.0.path().join("day.jsonl"), line).unwrap();
    home.says(&["import", "day.jsonl"]);
    let found = |since: &str, until: &str| home.json(&["search", "heron", "--since", since, "--until", until]).len();
    assert_eq!(found("2026-03-05", "2026-03-05"), 1);
    assert_eq!(found("2026-03-01", "2026-03-04"), 0);
    assert_eq!(found("2026-03-05", "2026-03-05T17:00:00Z"), 0, "before a time");
    for command in [&["search", "heron", "--limit", "0"][..], &["sessions", "--limit", "0"]] {
        assert!(home.complains(command).contains("write a number from 1 on"));
    }
}
