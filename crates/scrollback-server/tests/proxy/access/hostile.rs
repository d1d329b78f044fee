//! Clients that mean no good: words that look like SQL, bodies that never end, requests that never come.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{bearer, code};
use crate::scene::{Server, Upstream, chat, plain, reply, says, user};

const SQL: [&str; 5] = [
    "'; DROP TABLE message; --",
    "\" OR \"1\"=\"1",
    "%' UNION SELECT body FROM record --",
    "NEAR(a b) AND *:^",
    "a\\'b;\"c\"%_*",
];

fn is_quiet(said: &crate::scene::Said) -> bool {
    let text = said.text().to_lowercase();
    !["sqlite", "syntax error", "no such column", "fts5", "unterminated", "near \""]
        .iter()
        .any(|word| text.contains(word))
}

#[test]
fn words_that_look_like_sql_are_words_wherever_they_stand() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    for words in SQL {
        let encoded: String = words.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"));
        let body = chat(&[user(words)]);
        for name in ["x-scrollback-session", "x-claude-code-session-id", "x-claude-code-agent-id", "x-session-id"] {
            let answer = server.send("POST /v1/chat/completions", &format!("{name}: {words}\r\n"), &body.to_string());
            assert_eq!(answer.status(), 200, "{name}: {}", answer.text());
        }
        let named = server.send(&format!("GET /api/sessions/{encoded}"), "", "");
        assert_eq!(named.json()["declared"], words, "kept as it was said");
        for line in [
            format!("GET /api/sessions/{encoded}x"),
            format!("GET /api/sessions/{encoded}/notes/{encoded}"),
            format!("GET /api/sessions/{encoded}/artifacts/{encoded}"),
            format!("PUT /api/sessions/{encoded}/pins/{encoded}"),
            format!("DELETE /api/tokens/{encoded}"),
            format!("GET /api/sessions?cursor={encoded}"),
            format!("GET /api/{encoded}"),
        ] {
            let refused = server.send(&line, "", "");
            assert!((400..500).contains(&refused.status()) && is_quiet(&refused), "{line}: {}", refused.text());
        }
        for header in ["x-scrollback-token", "authorization"] {
            let refused = server.send("GET /api/me", &format!("{header}: sb_{words}\r\n"), "");
            assert_eq!(code(&refused), "token_unknown");
        }
        for (tool, arguments) in [
            ("search_history", json!({"words": words})),
            ("recall_page", json!({"page": words})),
            ("load_tool_history", json!({"id": words, "words": words})),
            (words, json!({})),
        ] {
            let call = json!({"session": words, "name": tool, "arguments": arguments}).to_string();
            let told = server.send("POST /v1/context/recall", "", &call);
            assert!(told.status() < 500 && is_quiet(&told), "{tool}: {}", told.text());
        }
    }
    assert_eq!(server.send("GET /api/sessions", "", "").status(), 200);
    let kept = server.messages();
    assert!(SQL.iter().all(|words| kept.iter().any(|message| message["content"] == *words)), "word for word");
}

#[test]
fn huge_deep_and_endless_bodies_are_refused_or_answered_and_the_server_lives() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "[store]\ntimeout_seconds = 120\n");
    let deep = format!("{{\"model\":\"gpt-4o\",\"messages\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    let deep_value = format!(
        "{{\"model\":\"gpt-4o\",\"messages\":[{}],\"x\":{}1{}}}",
        user("hi"),
        "{\"a\":".repeat(100_000),
        "}".repeat(100_000)
    );
    let many: Vec<Value> = (0..30_000).map(|_| json!({"role": "user", "content": "x"})).collect();
    let many = json!({"model": "gpt-4o", "messages": many}).to_string();
    let line = chat(&[user(&"x".repeat(3 << 20))]).to_string();
    let huge = chat(&[user(&"x".repeat(6 << 20))]).to_string();
    for (name, body) in [("deep", deep), ("deep value", deep_value), ("many", many), ("line", line), ("huge", huge)] {
        for door in ["POST /v1/chat/completions", "POST /v1/context/render", "POST /mcp", "POST /v1/responses"] {
            let answer = server.send(door, "", &body);
            assert!(
                (200..500).contains(&answer.status()),
                "{name} at {door}: {} {:.200}",
                answer.status(),
                answer.text()
            );
        }
        assert_eq!(server.send("GET /health", "", "").status(), 200, "{name}");
    }
    assert_eq!(server.ask(&chat(&[user("still here?")])).status(), 200);
    assert!(peak_megabytes(&server) < 1_500, "{} MB", peak_megabytes(&server));
}

/// The most memory that the server has had.
fn peak_megabytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes >> 10)
}

#[test]
fn a_compressed_request_is_refused_where_we_would_have_to_read_it() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    // As small as a bomb is.
    for encoding in ["gzip", "zstd", "br", "deflate"] {
        let headers = format!("content-encoding: {encoding}\r\n");
        for door in [
            "POST /v1/chat/completions",
            "POST /v1/responses",
            "POST /v1/messages",
            "POST /v1/context/render",
            "POST /mcp",
        ] {
            let refused = server.send(door, &headers, "\u{1f}bomb");
            assert_eq!((refused.status(), code(&refused)), (415, "compressed_request".into()), "{door}");
        }
    }
    assert!(upstream.asked().is_empty());
    assert_eq!(server.send("POST /v1/embeddings", "content-encoding: gzip\r\n", "\u{1f}bomb").status(), 200);
    assert_eq!(upstream.asked()[0].header("content-encoding"), Some("gzip"), "it is none of our business");
    assert_eq!(
        server
            .send("POST /v1/chat/completions", "content-encoding: identity\r\n", &chat(&[user("hi")]).to_string())
            .status(),
        200
    );
}

#[test]
fn a_compressed_reply_is_not_unpacked() {
    // An upstream that compresses although it was not asked to: what it sends goes to the client as it came.
    let upstream = Upstream::new(|_, _| {
        plain("200 OK", "content-type: application/json\r\ncontent-encoding: gzip\r\n", "\u{1f}not really gzip")
    });
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("hello")]));
    assert_eq!((answer.status(), answer.text().as_str()), (200, "\u{1f}not really gzip"));
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert_eq!(upstream.asked()[0].header("accept-encoding"), None, "nobody asked for it");
    assert_eq!(server.messages().len(), 1, "what cannot be read is not kept as a reply");
}

#[test]
fn an_upstream_that_stalls_is_given_up() {
    let upstream = Upstream::new(|_, _| {
        std::thread::sleep(Duration::from_secs(20));
        reply(&says("too late"))
    });
    let server = Server::new(upstream.port, "timeout_seconds = 1\n");
    let begun = Instant::now();
    let answer = server.ask(&chat(&[user("hello")]));
    assert_eq!((answer.status(), code(&answer)), (504, "upstream_timeout".into()));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn headers_that_say_two_things_are_refused() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let token = server.token("ann");
    let body = chat(&[user("hello")]).to_string();
    let ours = format!("Bearer {token}");
    for headers in [
        "authorization: Bearer a\r\nauthorization: Bearer b\r\n".to_owned(),
        "authorization: Bearer a\r\nx-api-key: b\r\n".to_owned(),
        format!("authorization: {ours}\r\nauthorization: {ours}\r\n"),
        format!("authorization: {ours}\r\nx-api-key: sk-other\r\n"),
        format!("x-scrollback-token: {token}\r\nx-scrollback-token: {token}\r\n"),
        format!("x-scrollback-token: {token}\r\nauthorization: Bearer sb_other\r\n"),
    ] {
        for door in ["POST /v1/chat/completions", "POST /v1/messages", "GET /api/me", "POST /mcp"] {
            let refused = server.send(door, &headers, &body);
            assert_eq!((refused.status(), code(&refused)), (400, "two_keys".into()), "{door} {headers}");
        }
    }
    assert!(upstream.asked().is_empty());
}

#[test]
fn a_header_cannot_smuggle_another() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let body = chat(&[user("hello")]).to_string();
    // A bare line feed, a carriage return alone, a zero, and a line that goes on below.
    for smuggled in [
        "x-a: b\rx-evil: 1",
        "x-a: b\0x-evil: 1",
        "x-a: b\r\n x-evil: 1",
        "x a: b",
        "x-scrollback-session: a\rx-evil: 1",
    ] {
        let answer = server.send("POST /v1/chat/completions", &format!("{smuggled}\r\n"), &body);
        assert_eq!(answer.status(), 400, "{smuggled:?}");
    }
    // A reply's own header is told in one line, whatever the session is called.
    let odd = server.send("POST /v1/chat/completions", "x-scrollback-session: a%0d%0ax-evil: 1\r\n", &body);
    assert!(odd.status() == 200 && odd.header("x-evil").is_none(), "{}", odd.head);
    assert!(upstream.asked().iter().all(|asked| asked.header("x-evil").is_none()));
}

#[test]
fn a_client_that_never_asks_does_not_keep_others_waiting() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let token = server.token("ann");
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stream.write_all(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-a: ").unwrap();
            stream
        })
        .collect();
    let begun = Instant::now();
    assert_eq!(server.ask(&chat(&[user("hello")])).status(), 200);
    assert_eq!(server.send("GET /api/me", &bearer(&token), "").status(), 200);
    assert!(begun.elapsed() < Duration::from_secs(5));
    drop(slow);
}

/// Takes as long as the server's patience; the same is tested in little time beside the code.
#[test]
#[ignore = "takes 35 seconds"]
fn a_client_that_never_ends_its_request_is_let_go() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let begin = |text: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let mut head = begin("GET /api/me HTTP/1.1\r\nhost: local");
    let mut body = begin("POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{");
    let mut said = String::new();
    body.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    let mut said = Vec::new();
    head.read_to_end(&mut said).unwrap();
}

#[test]
fn names_and_numbers_that_are_too_large_are_the_clients_mistake() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let (token, long) = (server.token("ann"), "x".repeat(60_000));
    let post = |path: &str, body: &Value| server.send(&format!("POST {path}"), &bearer(&token), &body.to_string());
    let chatted = post("/api/chat", &json!({"session": long, "message": "Hello?"}));
    let recalled =
        post("/v1/context/recall", &json!({"session": long, "name": "recall_page", "arguments": {"index": 1}}));
    for refused in [&chatted, &recalled] {
        assert_eq!((refused.status(), code(refused)), (404, "not_found".into()));
        assert!(refused.body.len() < 2_000, "{}", refused.body.len());
    }
    let listed = server.get_as(&token, &format!("/api/sessions?q={long}"));
    assert_eq!((listed.status(), listed.json()["sessions"].clone()), (200, json!([])));
    let mcp = |method: &str, params: Value| {
        let headers = format!("{}accept: application/json, text/event-stream\r\n", bearer(&token));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        server.send("POST /mcp", &headers, &body.to_string()).json()
    };
    let skip = json!({"name": "list_sessions", "arguments": {"skip": 9_223_372_036_854_775_808_u64}});
    let told = mcp("tools/call", skip);
    assert_eq!(told["result"]["isError"], true, "{told}");
    let told = mcp("resources/list", json!({"cursor": "18446744073709551615"}));
    assert_eq!(told["error"]["code"], -32602, "{told}");
    let told = mcp("resources/read", json!({"uri": format!("scrollback://sessions/{long}")}));
    assert!(told["error"]["code"] == -32002 || told["error"]["code"] == -32602, "{told}");
}

/// What is wrong with the store is told, and not where it is.
#[test]
fn a_store_that_fails_does_not_say_where_it_is() {
    if crate::scene::NODES > 1 {
        return; // This is about a file.
    }
    let upstream = Upstream::new(|_, _| reply(&says("still here")));
    let server = Server::with(upstream.port, "", |program| {
        let mut shell = std::process::Command::new("sh");
        // No file may grow beyond 200 kB.
        shell.args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$0\" \"$@\"", program]);
        shell
    });
    let (token, long) = (server.token("ann"), "a line of a long story ".repeat(20_000));
    let answer = server.ask_as(&token, &chat(&[user(&long)]));
    let trouble = answer.header("x-scrollback-trouble").unwrap_or_default();
    assert!(trouble.contains("the store") && !trouble.contains("log.db"), "{}", answer.head);
    let said = json!({"message": long, "model": "quote"});
    let failed = server.send("POST /api/chat", &bearer(&token), &said.to_string());
    assert!(failed.text().contains("the store") && !failed.text().contains("log.db"), "{}", failed.text());
}
