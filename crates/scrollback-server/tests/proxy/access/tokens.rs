//! Tokens: who is let in, in which header, how often, until when; and that none goes anywhere else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{ELSEWHERE, bearer, code};
use crate::scene::{NODES, Server, Upstream, chat, events, reply, says, stream, user};

const DOORS: [&str; 7] = [
    "POST /v1/chat/completions",
    "POST /v1/messages",
    "GET /mock/v1/models",
    "GET /api/sessions",
    "POST /v1/summarize",
    "POST /v1/context/recall",
    "POST /mcp",
];

fn scene() -> (Upstream, Server) {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    (upstream, server)
}

#[test]
fn every_door_is_shut_to_whoever_is_elsewhere_without_a_token() {
    let (upstream, server) = scene();
    for door in DOORS.into_iter().chain(["GET /metrics", "GET /api/me", "GET /nowhere"]) {
        for headers in [ELSEWHERE, "host: 192.168.1.5:4141\r\n", "host: localhost\r\nhost: localhost\r\n"] {
            let refused = server.send(door, headers, "{}");
            assert_eq!((refused.status(), code(&refused)), (401, "token_needed".into()), "{door}: {}", refused.text());
            assert!(refused.text().contains("scrollback tokens add NAME"), "{}", refused.text());
            assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        }
        let theirs = server.send(door, &format!("authorization: Bearer sk-theirs\r\n{ELSEWHERE}"), "{}");
        assert_eq!(theirs.status(), 401, "a key of somebody else's is none of ours: {door}");
        for header in ["x-scrollback-token: sb_guess", "authorization: Bearer sb_guess", "x-api-key: sb_guess"] {
            let refused = server.send(door, &format!("{header}\r\n"), "{}");
            assert_eq!((refused.status(), code(&refused)), (401, "token_unknown".into()), "local or not: {door}");
        }
    }
    assert!(upstream.asked().is_empty());
    for open in ["GET /health", "GET /"] {
        assert_eq!(server.send(open, ELSEWHERE, "").status(), 200, "{open}");
    }
}

#[test]
fn a_token_opens_every_door_in_every_header() {
    let (_upstream, server) = scene();
    let token = server.token("laptop");
    for header in ["x-scrollback-token: ", "authorization: Bearer ", "x-api-key: "] {
        for door in DOORS {
            let answer = server.send(door, &format!("{header}{token}\r\n{ELSEWHERE}"), "{}");
            assert!(![401, 403].contains(&answer.status()), "{door}: {}", answer.text());
        }
        let me = server.send("GET /api/me", &format!("{header}{token}\r\n{ELSEWHERE}"), "").json();
        assert_eq!((&me["tenant"], &me["token"]), (&json!("laptop"), &json!("laptop")), "{me}");
        assert_eq!((&me["local"], &me["admin"]), (&json!(false), &json!(false)), "{me}");
    }
    let me = server.send("GET /api/me", "", "").json();
    assert_eq!((&me["tenant"], &me["token"]), (&json!("local"), &json!(null)), "{me}");
    assert_eq!((&me["local"], &me["admin"]), (&json!(true), &json!(true)), "{me}");
}

#[test]
fn a_token_of_ours_never_goes_upstream() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let plain = Server::new(upstream.port, "");
    let keyed = Server::new(upstream.port, "key_env = \"MOCK_KEY\"\n");
    for server in [&plain, &keyed] {
        let token = server.token("laptop");
        let body = chat(&[user("hello")]).to_string();
        for header in ["x-scrollback-token: ", "authorization: Bearer ", "authorization: bearer ", "x-api-key: "] {
            for door in ["POST /v1/chat/completions", "POST /v1/embeddings"] {
                assert_eq!(server.send(door, &format!("{header}{token}\r\n"), &body).status(), 200);
            }
        }
        let beside = format!("x-scrollback-token: {token}\r\nauthorization: Bearer sk-own\r\n");
        server.send("POST /v1/chat/completions", &beside, &body);
        let last = upstream.asked().pop().unwrap();
        let own = if std::ptr::eq(server, &raw const plain) { "sk-own" } else { "sk-from-the-environment" };
        assert_eq!(last.header("authorization"), Some(format!("Bearer {own}").as_str()));
    }
    assert!(upstream.asked().iter().all(|asked| !asked.head.contains("sb_")), "{:?}", upstream.asked());
}

#[test]
fn a_token_taken_back_closes_its_streams_and_no_others() {
    let upstream = Upstream::new(|_, asked| {
        let slow = events(&[says("one ")], "stop");
        let first = slow.split_inclusive("\n\n").next().unwrap().to_owned();
        let mut pieces = stream(&first, 10_000, true);
        pieces.truncate(2);
        // The rest is a long time coming.
        if asked.json()["stream"] == true { pieces } else { reply(&says("hi")) }
    });
    let server = Server::new(upstream.port, "timeout_seconds = 60\n");
    let (gone, stays) = (server.token("gone"), server.token("stays"));
    let open = |token: &str| {
        let mut body = chat(&[user("tell me a long story")]);
        body["stream"] = json!(true);
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n{}content-length: {}\r\n\r\n{body}",
            bearer(token),
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while !line.contains("data: ") {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended early");
        }
        reader
    };
    let (mut ended, goes_on) = (open(&gone), open(&stays));
    let begun = Instant::now();
    let revoked = server.command(&["tokens", "revoke", "gone"]);
    assert!(revoked.status.success(), "{revoked:?}");
    let mut rest = Vec::new();
    let _ = ended.read_to_end(&mut rest);
    assert!(begun.elapsed() < Duration::from_secs(10), "it went on for {:?}", begun.elapsed());
    assert!(!String::from_utf8_lossy(&rest).contains("0\r\n\r\n"), "it must not look whole");
    assert_eq!(code(&server.get_as(&gone, "/api/me")), "token_unknown");
    goes_on.get_ref().set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut goes_on = goes_on;
    let waits = loop {
        match goes_on.fill_buf() {
            Ok([]) => break false,
            Ok(more) => {
                let length = more.len();
                goes_on.consume(length);
            }
            Err(_) => break true,
        }
    };
    assert!(waits, "somebody else's stream was closed too");
    assert_eq!(server.get_as(&stays, "/api/me").status(), 200);
}

#[test]
fn only_admins_give_tokens_and_take_them() {
    let (_upstream, server) = scene();
    let (guest, admin) = (server.token("guest"), server.token_with(&["boss", "--tenant", "office", "--admin"]));
    for line in ["GET /api/tokens", "POST /api/tokens", "DELETE /api/tokens/boss", "GET /metrics"] {
        let refused = server.send(line, &bearer(&guest), "{\"name\":\"more\"}");
        assert_eq!((refused.status(), code(&refused)), (403, "not_admin".into()), "{line}");
    }
    assert_eq!(server.get_as(&admin, "/metrics").status(), 200);
    let made = server.send("POST /api/tokens", &bearer(&admin), "{\"name\":\"more\",\"tenant\":\"mira\"}");
    assert_eq!((made.status(), &made.json()["tenant"]), (201, &json!("mira")), "{}", made.text());
    let more = made.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(server.get_as(&more, "/api/me").json()["tenant"], "mira");
    let again = server.send("POST /api/tokens", "", "{\"name\":\"more\"}");
    assert_eq!((again.status(), code(&again)), (409, "name_taken".into()));
    let listed = server.get_as(&admin, "/api/tokens");
    let names: Vec<_> = listed.json()["tokens"].as_array().unwrap().iter().map(|token| token["name"].clone()).collect();
    assert_eq!(names, ["boss", "guest", "more"]);
    assert!(!listed.text().contains("sb_"), "none is told twice");
    let gone = server.send("DELETE /api/tokens/more", &bearer(&admin), "").json();
    assert_eq!(gone, json!({"name": "more", "revoked": true}));
    other_nodes_hear_of_it();
    assert!((0..NODES).all(|_| server.get_as(&more, "/api/me").status() == 401));
    assert_eq!(server.send("DELETE /api/tokens/more", "", "").status(), 404);
    for name in ["", "a b", "a/b", "*", "x'; DROP TABLE record; --"] {
        let refused = server.send("POST /api/tokens", "", &json!({"name": name}).to_string());
        assert_eq!((refused.status(), code(&refused)), (400, "invalid".into()), "{name}");
    }
}

#[test]
fn where_everybody_needs_a_token_the_command_line_still_gets_in() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::serving(upstream.port, "access = \"tokens\"\n", "");
    assert_eq!(code(&server.ask(&chat(&[user("hello")]))), "token_needed", "also at this machine");
    let token = server.token("laptop");
    assert_eq!(server.ask_as(&token, &chat(&[user("hello")])).status(), 200);
    let listed = String::from_utf8(server.command(&["tokens"]).stdout).unwrap();
    assert!(listed.contains("laptop") && listed.contains("1 token"), "{listed}");
    assert!(server.command(&["tokens", "revoke", "laptop"]).status.success());
    other_nodes_hear_of_it();
    assert!((0..NODES).all(|_| code(&server.ask_as(&token, &chat(&[user("hello")]))) == "token_unknown"));
}

/// A token that is taken back ends at once where that was asked, and within five seconds on other nodes.
fn other_nodes_hear_of_it() {
    if NODES > 1 {
        std::thread::sleep(Duration::from_millis(5500));
    }
}

#[test]
fn tokens_outlive_the_server_and_can_be_made_without_one() {
    let (_upstream, mut server) = scene();
    let before = server.token("before");
    let store = server.store();
    let between = server.restart(|_| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        let output = command.arg("--store").arg(store).args(["tokens", "add", "between"]).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("not shown again"), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    });
    for (token, name) in [(before, "before"), (between, "between")] {
        assert_eq!(server.get_as(&token, "/api/me").json()["token"], name);
    }
}

#[test]
fn a_token_that_asks_too_often_is_told_when_to_come_back() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::serving(upstream.port, "requests_per_minute = 3\n", "");
    let (busy, calm) = (server.token("busy"), server.token("calm"));
    let body = chat(&[user("hello")]);
    assert!((0..3 * NODES).all(|_| server.ask_as(&busy, &body).status() == 200), "each node counts for itself");
    let refused = server.ask_as(&busy, &body);
    assert_eq!((refused.status(), code(&refused)), (429, "too_many_requests".into()));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=21).contains(&wait), "{wait}");
    assert_eq!(server.get_as(&busy, "/api/me").status(), 429, "on every door");
    let pings = |token: &str, count: usize| {
        let batch = vec![json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}); count];
        let headers = format!("accept: application/json\r\nmcp-protocol-version: 2025-03-26\r\n{}", bearer(token));
        server.send("POST /mcp", &headers, &json!(batch).to_string())
    };
    let crowd = server.token("crowd");
    let refused = pings(&crowd, 4);
    assert_eq!((refused.status(), code(&refused)), (400, "too_many_requests".into()), "so many could never come");
    let few = server.token("few");
    assert!((0..NODES).all(|_| pings(&few, 2).status() == 200));
    let refused = pings(&few, 2);
    assert_eq!((refused.status(), code(&refused)), (429, "too_many_requests".into()), "each of a batch counts");
    assert_eq!(server.ask_as(&calm, &body).status(), 200);
    assert!((0..10).all(|_| server.ask(&body).status() == 200), "whoever sits here is not counted");
}

#[test]
fn a_server_for_others_says_who_is_let_in() {
    let folder = tempfile::tempdir().unwrap();
    let start = |listen: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.args(["serve", "--upstream", "quote", "--listen", listen, "--store"]).arg(folder.path().join("log.db"));
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let told: Vec<String> = lines.by_ref().take(if listen.starts_with('0') { 5 } else { 3 }).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        told
    };
    let open = start("0.0.0.0:0");
    assert!(open[4].contains("only whoever has a token") && open[4].contains("scrollback tokens add NAME"), "{open:?}");
    assert!(open[1].contains("http://127.0.0.1:") && open[3].contains("on other machines"), "{open:?}");
    assert!(!start("127.0.0.1:0").join("\n").contains("token"));
    // Without a word on it, only this machine reaches it.
    assert!(include_str!("../../../../../scrollback.toml").contains("\nlisten = \"127.0.0.1:4141\"\n"));
}
