//! How answers are sent: kept by nobody on the way, told to those whom they concern, and to an end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{bearer, code};
use crate::scene::{Server, Upstream, chat, reply, says, user};

fn scene() -> (Upstream, Server) {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::serving(upstream.port, "import_megabytes = 1\n", "");
    (upstream, server)
}

/// Sends a request without its end, or with; what is read from it comes when the test wants it.
fn begin(server: &Server, line: &str, headers: &str, body: &str, length: usize) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head =
        format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes()).unwrap();
    BufReader::new(stream)
}

fn whole(mut reader: BufReader<TcpStream>) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

/// As many conversations as a file of our own.
fn file(count: usize) -> String {
    let line = |i| json!({"id": format!("c{i}"), "messages": [{"role": "user", "content": format!("Hello {i}.")}]});
    (0..count).fold(String::new(), |text, i| format!("{text}{}\n", line(i)))
}

#[test]
fn nobody_on_the_way_keeps_what_is_somebodys_own() {
    let (_upstream, server) = scene();
    let token = server.token("ann");
    let session = server.ask_as(&token, &chat(&[user("hello")])).header("x-scrollback-session").unwrap().to_owned();
    let made = server.send("POST /v1/conversations", &bearer(&token), "{}").json()["id"].as_str().unwrap().to_owned();
    let paths = [
        format!("/api/sessions/{session}/export"),
        format!("/v1/conversations/{made}"),
        "/v1/models".into(),
        "/api/openapi.json".into(),
        "/mcp".into(),
        "/metrics".into(),
        "/api/nothing".into(),
    ];
    for path in paths {
        assert_eq!(server.get_as(&token, &path).header("cache-control"), Some("private, no-store"), "{path}");
    }
    assert_eq!(server.get_as("sb_unknown", "/api/me").header("cache-control"), Some("private, no-store"));
    assert_eq!(server.get_as(&token, "/api/me").header("cache-control"), Some("private, no-cache"), "it has a tag");
    assert_eq!(server.send("GET /health", "", "").header("cache-control"), None);
    assert_eq!(server.send("GET /", "", "").header("cache-control"), Some("no-cache"));
}

#[test]
fn a_page_from_elsewhere_cannot_embed_an_answer() {
    let (_upstream, server) = scene();
    let token = server.token_with(&["root", "--admin"]);
    let asked = |path: &str, headers: &str| server.send(&format!("GET {path}"), headers, "");
    for path in ["/api/search?words=vault", "/api/me", "/v1/models", "/metrics", "/mcp"] {
        for site in ["cross-site", "same-site"] {
            let refused = asked(path, &format!("sec-fetch-site: {site}\r\n"));
            assert_eq!((refused.status(), code(&refused)), (403, "host_not_allowed".into()), "{path} {site}");
        }
        for allowed in [
            "sec-fetch-site: same-origin\r\n".to_owned(),
            "sec-fetch-site: same-site\r\norigin: http://localhost:3000\r\n".to_owned(),
            format!("sec-fetch-site: cross-site\r\n{}", bearer(&token)),
        ] {
            let answer = asked(path, &allowed);
            assert_ne!(answer.status(), 403, "{path} {allowed}");
            assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        }
    }
    assert_eq!(asked("/", "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\n").status(), 200);
}

#[test]
fn a_path_that_leads_nowhere_says_so() {
    let (_upstream, server) = scene();
    for path in ["/v1", "/v1/", "/mock/v1/", "/api", "/api/", "/nothing", "/nothing/at/all"] {
        let answer = server.send(&format!("GET {path}"), "", "");
        assert_eq!((answer.status(), code(&answer)), (404, "not_found".into()), "{path}");
    }
    assert!(server.send("GET /v1/", "", "").json()["error"]["message"].is_string(), "as clients of models read it");
}

#[test]
fn a_head_is_answered_like_a_get_without_its_body() {
    let (_upstream, server) = scene();
    for path in ["/api/me", "/api/sessions", "/api/openapi.json"] {
        let head = whole(begin(&server, &format!("HEAD {path}"), "", "", 0));
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{path}: {head}");
        let get = server.send(&format!("GET {path}"), "", "");
        assert!(head.contains(&format!("content-length: {}\r\n", get.body.len())), "{path}: {head}");
    }
    assert!(whole(begin(&server, "HEAD /api/markdown", "", "", 0)).starts_with("HTTP/1.1 405"));
    for path in ["/v1/summarize", "/v1/context/render", "/v1/context/recall"] {
        let refused = server.send(&format!("GET {path}"), "", "");
        assert_eq!((refused.status(), refused.header("allow")), (405, Some("POST")), "{path}");
    }
    let large = server.send("POST /api/markdown", "", &json!({"text": "x".repeat(2 << 20)}).to_string());
    assert_eq!((large.status(), code(&large)), (413, "request_too_large".into()));
}

#[test]
fn settings_of_the_machine_are_for_admins() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let more = "[upstreams.openai]\nurl = \"http://me:hunter2@127.0.0.1:9/v1?key=hunter3\"\nkey_env = \"MOCK_KEY\"\n";
    let server = Server::new(upstream.port, more);
    let (token, admin) = (server.token("ann"), server.token_with(&["root", "--admin"]));
    let names = |token: &str| {
        let told = server.get_as(token, "/api/settings").json();
        told["settings"].as_array().unwrap().iter().map(|line| line["name"].to_string()).collect::<Vec<_>>().join(" ")
    };
    let (hers, all) = (names(&token), names(&admin));
    for name in ["store.path", "serve.listen", "upstreams.openai.key_env"] {
        assert!(!hers.contains(name) && all.contains(name), "{name}");
    }
    assert!(hers.contains("window.strategy") && hers.contains("serve.import_megabytes"), "{hers}");
    for path in ["/api/settings", "/api/models"] {
        let told = server.get_as(&admin, path).text();
        assert!(told.contains("http://127.0.0.1:9/v1") && !told.contains("hunter"), "{path}: {told}");
    }
    let told = server.get_as(&token, "/api/models").json();
    let addresses: Vec<&str> =
        told["upstreams"].as_array().unwrap().iter().map(|line| line["url"].as_str().unwrap()).collect();
    assert_eq!(addresses, [""; 4], "{told}");
}

#[test]
fn an_import_waits_for_the_one_before() {
    let (_upstream, server) = scene();
    let token = server.token("ann");
    let (first, second) = (file(1), file(2));
    let headers = bearer(&token);
    let mut slow = begin(&server, "POST /api/import", &headers, "", first.len());
    std::thread::sleep(Duration::from_millis(300));
    let mut waits = begin(&server, "POST /api/import", &headers, &second, second.len());
    waits.get_ref().set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    assert!(waits.fill_buf().is_err(), "it waits");
    assert!(server.send("POST /api/import", "", &second).text().contains("event: done"), "others do not");
    slow.get_mut().write_all(first.as_bytes()).unwrap();
    assert!(whole(slow).contains("event: done"));
    waits.get_ref().set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(whole(waits).contains("event: done"));
}

#[test]
fn an_import_tells_what_is_wrong_with_it_in_few_words() {
    let (_upstream, server) = scene();
    let odd = format!("{}{}{}", file(1), "{}\n".repeat(300), "{\"messages\":[]}\n".repeat(101));
    let told = server.send("POST /api/import?format=openai", "", &odd).text();
    let done =
        told.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap_or_else(|| panic!("{told}"));
    let done: Value = serde_json::from_str(done).unwrap();
    assert_eq!((done["skipped"].as_array().unwrap().len(), &done["skipped_more"]), (100, &json!(200)), "{done}");
    assert_eq!(
        (&done["remarks"][99], &done["remarks_more"]),
        (&json!("line 401 has no messages"), &json!(1)),
        "{done}"
    );
    let large = server.send("POST /api/import", "", &"x".repeat(2 << 20));
    assert_eq!(large.status(), 413);
    assert!(large.text().contains("serve.import_megabytes"), "{}", large.text());
}

#[test]
fn an_import_ends_with_its_token() {
    const MANY: usize = 8_000;
    let (_upstream, server) = scene();
    let token = server.token_with(&["ann", "--tenant", "local"]);
    let file = file(MANY);
    let mut told = begin(&server, "POST /api/import", &bearer(&token), &file, file.len());
    let mut line = String::new();
    while !line.starts_with("event: progress") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "it ended early");
    }
    assert_eq!(server.send("DELETE /api/tokens/ann", "", "").status(), 200);
    let more = || {
        let (mut all, mut cursor) = (0, String::new());
        loop {
            let page = server.send(&format!("GET /api/sessions?count=500&cursor={cursor}"), "", "").json();
            all += page["sessions"].as_array().unwrap().len();
            let Some(next) = page["next"].as_str() else { break all };
            next.clone_into(&mut cursor);
        }
    };
    std::thread::sleep(Duration::from_millis(500));
    let by_then = more();
    std::thread::sleep(Duration::from_millis(500));
    assert!(by_then < MANY && more() == by_then, "{by_then}");
}

#[test]
fn a_token_listens_to_so_many_streams_and_no_more() {
    let (_upstream, server) = scene();
    let (token, other) = (server.token("ann"), server.token("bob"));
    let listen = |token: &str| {
        let mut reader = begin(&server, "GET /api/events", &bearer(token), "", 0);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        (line, reader)
    };
    let mut open: Vec<_> = (0..32).map(|_| listen(&token)).collect();
    assert!(open.iter().all(|(line, _)| line.contains(" 200 ")));
    let (line, rest) = listen(&token);
    assert!(line.contains(" 429 ") && whole(rest).contains("too_many_streams"), "{line}");
    assert!(listen(&other).0.contains(" 200 "));
    assert_eq!(server.get_as(&token, "/api/me").status(), 200, "all else is answered");
    open.pop();
    let begun = Instant::now();
    while !listen(&token).0.contains(" 200 ") {
        assert!(begun.elapsed() < Duration::from_secs(10), "a seat that is free is given again");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn whoever_says_stop_twice_does_not_wait() {
    let upstream = Upstream::new(|_, _| {
        std::thread::sleep(Duration::from_secs(25));
        reply(&says("late"))
    });
    let mut server = Server::new(upstream.port, "");
    let body = chat(&[user("hello")]).to_string();
    let _waits = begin(&server, "POST /v1/chat/completions", "", &body, body.len());
    while upstream.asked().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let stop =
        || assert!(Command::new("kill").args(["-TERM", &server.process().to_string()]).status().unwrap().success());
    stop();
    std::thread::sleep(Duration::from_millis(500));
    stop();
    let begun = Instant::now();
    while !server.is_over() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it still waits");
        std::thread::sleep(Duration::from_millis(20));
    }
}
