//! MCP as bytes, over HTTP and over stdio, in every revision of the protocol. What the official client makes of it is
//! in `clients/mcp_client.py`.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "control/home.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod home;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use home::{Home, Server};

const STATELESS: &str = "2026-07-28";
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn home() -> Home {
    Home::new("")
}

/// A stateless request, in words of a revision.
fn request(method: &str, mut params: Value, version: &str) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

fn search() -> Value {
    request(
        "tools/call",
        json!({"name": "search_history", "arguments": {"session": "tides", "words": "gauge"}}),
        STATELESS,
    )
}

/// The headers that go with [`search`].
const AGREEING: [&str; 3] = ["mcp-protocol-version: 2026-07-28", "mcp-method: tools/call", "mcp-name: search_history"];

/// Sends a request to `/mcp`; its status and its body.
fn send(server: &Server, verb: &str, headers: &[&str], body: &str) -> (u16, String) {
    send_to(server, &format!("{verb} /mcp"), headers, body)
}

fn send_to(server: &Server, line: &str, headers: &[&str], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let own = if headers.iter().any(|header| header.starts_with("host:")) { "" } else { "host: localhost\r\n" };
    let headers: String = headers.iter().flat_map(|header| [*header, "\r\n"]).collect();
    let usual =
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close\r\n";
    let head = format!("{line} HTTP/1.1\r\n{own}{headers}{usual}content-length: {}\r\n\r\n", body.len());
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

fn post(server: &Server, headers: &[&str], body: &Value) -> (u16, Value) {
    let (status, told) = send(server, "POST", headers, &body.to_string());
    (status, serde_json::from_str(&told).unwrap_or(Value::String(told)))
}

#[test]
fn a_stateless_request_stands_for_itself() {
    let home = home();
    let server = Server::start(&home);
    let (status, answer) = post(&server, &AGREEING, &search());
    assert_eq!((status, &answer["id"], &answer["result"]["resultType"]), (200, &json!(7), &json!("complete")));
    let told = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("m0 · page #0") && told.contains("a record of earlier conversation"), "{told}");
    assert_eq!(answer["result"]["structuredContent"], Value::Null, "words are read as words");
    let uri = "scrollback://sessions/tides";
    let read = request("resources/read", json!({"uri": uri}), STATELESS);
    let headers = [AGREEING[0], "mcp-method: resources/read", &format!("mcp-name: {uri}")];
    let (status, answer) = post(&server, &headers, &read);
    assert_eq!((status, &answer["result"]["cacheScope"]), (200, &json!("private")));
    assert!(answer["result"]["contents"][0]["text"].as_str().unwrap().contains("Never round the heights."));
    let discover = request("server/discover", json!({}), STATELESS);
    let (status, answer) = post(&server, &[AGREEING[0], "mcp-method: server/discover"], &discover);
    assert_eq!((status, &answer["result"]["supportedVersions"][4]), (200, &json!(STATELESS)));
}

#[test]
fn headers_agree_with_the_body_or_the_request_is_refused() {
    let home = home();
    let server = Server::start(&home);
    let [version, method, name] = AGREEING;
    let disagreeing: [&[&str]; 9] = [
        &["mcp-protocol-version: 2025-11-25", method, name],
        &[method, name],
        &[version, "mcp-method: tools/list", name],
        &[version, name],
        &[version, method, "mcp-name: recall_page"],
        &[version, method],
        &[version, version, method, name],
        &[version, method, method, name],
        &[version, method, name, "mcp-name: recall_page"],
    ];
    for headers in disagreeing {
        let (status, answer) = post(&server, headers, &search());
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{headers:?}: {answer}");
        assert_eq!(answer["id"], 7, "{headers:?}: {answer}");
    }
}

#[test]
fn what_the_protocol_does_not_know_is_refused_with_its_codes() {
    let home = home();
    let server = Server::start(&home);
    let refused = |headers: &[&str], body: &Value, status: u16, code: i32| {
        let (came, answer) = post(&server, headers, body);
        assert_eq!((came, &answer["error"]["code"]), (status, &json!(code)), "{body}: {answer}");
        answer
    };
    let unknown = request("tools/list", json!({}), "2031-01-01");
    let answer = refused(&["mcp-protocol-version: 2031-01-01", "mcp-method: tools/list"], &unknown, 400, -32022);
    assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!(STATELESS)), "{answer}");
    let mut bare = request("tools/list", json!({}), STATELESS);
    bare["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    refused(&[AGREEING[0], "mcp-method: tools/list"], &bare, 400, -32602);
    let nothing = request("tools/forget", json!({}), STATELESS);
    refused(&[AGREEING[0], "mcp-method: tools/forget"], &nothing, 404, -32601);
    // The stateless revision has no ping.
    refused(&[AGREEING[0], "mcp-method: ping"], &request("ping", json!({}), STATELESS), 404, -32601);
}

#[test]
fn what_is_not_there_and_what_cannot_be_read_is_told_as_it_is() {
    let home = home();
    let server = Server::start(&home);
    let answer = |method: &str, params: Value| {
        post(&server, &[], &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).1
    };
    let called = |name: &str, arguments: Value| {
        let told = answer("tools/call", json!({"name": name, "arguments": arguments}));
        told["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    assert_eq!(called("list_sessions", json!({"after": "0-0"})), "There are no more conversations.");
    assert!(called("list_sessions", json!({"skip": 1})).contains("takes `limit` and `after`, not `skip`"));
    let none = called("search_history", json!({"session": "tides", "words": "zeppelin"}));
    assert!(none.starts_with("Nothing matches “zeppelin”"), "{none}");
    let other = called("search_history", json!({"session": "tide", "words": "gauge"}));
    assert!(other.contains("list_sessions names them all. Did you mean") && other.contains("“tides”"), "{other}");
    let other = answer("resources/read", json!({"uri": "scrollback://sessions/tide"}))["error"].to_string();
    assert!(other.contains("scrollback://sessions lists them") && !other.contains("/api"), "{other}");
    for (method, params, word) in [
        ("tools/call", json!({"name": "search_history", "arguments": []}), "`arguments`"),
        ("resources/read", json!({}), "`uri`"),
    ] {
        let told = answer(method, params);
        assert_eq!(told["error"]["code"], -32602, "{told}");
        assert!(told["error"]["message"].as_str().unwrap().contains(word), "{told}");
    }
    assert_eq!(answer("tools/forget", json!({}))["error"]["code"], -32601);
}

#[test]
fn a_list_goes_on_where_it_ended_though_that_is_gone() {
    let home = home();
    let server = Server::start(&home);
    let listed = |after: &Value| {
        let call = json!({"name": "list_sessions", "arguments": {"limit": 1, "after": after}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
        post(&server, &[], &call).1["result"]["structuredContent"].clone()
    };
    let first = listed(&Value::Null);
    let begins = first["sessions"][0]["session"].as_str().unwrap();
    assert_eq!(server.send(&format!("DELETE /api/sessions/{begins}"), "").0, 200);
    let second = listed(&first["next"]);
    assert!(second["sessions"][0]["session"].is_string() && second["next"].is_null(), "{first} {second}");
}

#[test]
fn only_those_who_may_are_answered() {
    let home = home();
    let server = Server::start(&home);
    for foreign in ["host: evil.example", "origin: https://evil.example", "origin: null"] {
        let (status, answer) = post(&server, &[&[foreign], &AGREEING[..]].concat(), &search());
        assert_eq!((status, &answer["code"]), (403, &json!("host_not_allowed")), "{foreign}");
    }
    for own in ["host: 127.0.0.1:4141", "origin: http://localhost:3000"] {
        assert_eq!(post(&server, &[&[own], &AGREEING[..]].concat(), &search()).0, 200, "{own}");
    }
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "x".repeat(5 << 20)}});
    let (status, refused) = post(&server, &[], &large);
    assert!(status == 413 && refused["detail"].as_str().unwrap().contains("at most 4 MB"), "{refused}");
    assert!(!refused["detail"].as_str().unwrap().contains("body_megabytes"), "no setting allows more: {refused}");
    // No stream stays open, so nothing keeps the server from stopping.
    for verb in ["GET", "DELETE", "PUT"] {
        let (status, refused) = send(&server, verb, &[], "");
        assert!(status == 405 && refused.contains(r#""code":"method_not_allowed""#), "{verb}: {refused}");
    }
}

#[test]
fn what_is_sent_otherwise_is_taken_or_told_what_is_wrong() {
    let home = home();
    let server = Server::start(&home);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let json = "content-type: application/json";
    let cases: [(&[&str], &str, u16, &str); 9] = [
        (&[json, "accept: */*"], &list, 200, "list_sessions"),
        (&[json, "accept: application/json"], &list, 200, "list_sessions"),
        (&[json], &list, 200, "list_sessions"),
        (&["content-type: application/json; charset=utf-8"], &list, 200, "list_sessions"),
        (&[json, "accept: text/html"], &list, 406, r#""code":"not_acceptable""#),
        (&["content-type: text/plain"], &list, 415, r#""code":"not_json""#),
        (&[json], "{\"jsonrpc\": ", 400, r#""code":-32700"#),
        (&[json], "", 400, r#""code":-32700"#),
        (&[json], "{\"id\": 5}", 400, r#""code":-32600"#),
    ];
    for (headers, body, status, told) in cases {
        let headers: String = headers.iter().flat_map(|header| [*header, "\r\n"]).collect();
        let (head, answer) = server.bytes("POST /mcp", &format!("host: localhost\r\n{headers}"), body);
        assert!(head[9..12] == status.to_string() && answer.contains(told), "{headers}{body}: {head} {answer}");
    }
    let limited = |limit: Value| {
        let call = json!({"name": "list_sessions", "arguments": {"limit": limit}});
        post(&server, &[], &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})).1["result"]
            .clone()
    };
    for (limit, count) in [(json!(1.0), 1), (json!(5), 2), (json!(1e9), 2)] {
        assert_eq!(limited(limit)["structuredContent"]["sessions"].as_array().unwrap().len(), count);
    }
    for bad in [json!(-1), json!(0), json!(1.5), json!("5")] {
        let told = limited(bad).to_string();
        assert!(told.contains("a whole number from 1 to 100"), "{told}");
    }
}

#[test]
fn what_a_person_leaves_out_is_told_nowhere() {
    let home = home();
    for strategy in ["pages", "truncate"] {
        let words = r#"{"role": "user", "content": "The lock has the number 4711."}"#;
        let talk = format!(r#"{{"id": "lock-{strategy}", "messages": [{words}]}}"#);
        std::fs::write(home.0.path().join("lock.jsonl"), talk).unwrap();
        home.says(&["import", "lock.jsonl"]);
    }
    let server = Server::start(&home);
    let call = |method: &str, name: &str, params: Value| {
        let headers = [AGREEING[0], &format!("mcp-method: {method}"), &format!("mcp-name: {name}")];
        let (status, answer) =
            post(&server, &headers[..3 - usize::from(name.is_empty())], &request(method, params, STATELESS));
        assert_eq!(status, 200, "{answer}");
        answer.to_string()
    };
    let read = |uri: &str| call("resources/read", uri, json!({"uri": uri}));
    for strategy in ["pages", "truncate"] {
        let at = format!("/api/sessions/lock-{strategy}");
        let say = |words: &str| {
            let said = json!({"session": format!("lock-{strategy}"), "message": words}).to_string();
            let (status, answer) = send_to(&server, "POST /api/chat", &[], &said);
            assert_eq!(status, 200, "{answer}");
        };
        let looks = || {
            let uri = format!("scrollback://sessions/lock-{strategy}");
            [
                call("tools/call", "list_sessions", json!({"name": "list_sessions", "arguments": {}})),
                call("resources/list", "", json!({})),
                read("scrollback://sessions"),
                read(&uri),
                read(&format!("{uri}/window")),
                read(&format!("{uri}/notes")),
            ]
        };
        let chosen = json!({"strategy": strategy}).to_string();
        assert_eq!(server.send(&format!("PUT {at}/strategy"), &chosen).0, 200);
        say("Where is the key?");
        assert!(looks()[..5].iter().all(|told| told.contains("4711")), "{:?}", looks());
        assert_eq!(server.send(&format!("PUT {at}/excluded/m0"), "").0, 200);
        assert!(!looks()[4].contains("4711"), "the window from before is told without it");
        say("And the lamp?");
        for told in &looks()[3..] {
            assert!(!told.contains("4711"), "{told}");
        }
    }
    let listed = read("scrollback://sessions");
    assert!(!listed.contains("4711") && listed.contains("Where is the key?"), "{listed}");
}

#[test]
fn every_handshake_is_answered_over_http() {
    let home = home();
    let server = Server::start(&home);
    for version in HANDSHAKES {
        let (status, answer) = post(&server, &[], &hello(version));
        assert_eq!((status, &answer["result"]["protocolVersion"]), (200, &json!(version)), "{answer}");
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(post(&server, &[], &initialized).0, 202);
        let header = format!("mcp-protocol-version: {version}");
        let call = json!({"name": "recall_page", "arguments": {"session": "tides", "index": 0}});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call});
        let (status, answer) = post(&server, &[&header], &call);
        assert_eq!((status, &answer["result"]["isError"]), (200, &json!(false)), "{version}: {answer}");
        assert!(answer["result"].get("resultType").is_none(), "{version}: {answer}");
        let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
        assert_eq!(post(&server, &[&header], &ping).1["result"], json!({}), "{version}");
    }
    let (_, answer) = post(&server, &[], &hello("1999-01-01"));
    assert_eq!(answer["result"]["protocolVersion"], HANDSHAKES[3], "an unknown revision is offered the newest");
}

fn hello(version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

/// `scrollback mcp`, and its two pipes.
struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Piped {
    fn start(home: &Home) -> Self {
        let mut command = home.command(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn writes(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line.
    fn hears(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("this is no protocol: {line}"))
    }

    /// Sends a request; the next line, which has to be the answer.
    fn asks(&mut self, body: &Value) -> Value {
        self.writes(&body.to_string());
        let answer = self.hears();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &body["id"]), "{answer}");
        answer
    }

    /// Hangs up; it ends well and has nothing more to say.
    fn ends(mut self) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), self.child.wait().unwrap().success()), ("", true));
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn stdio_has_no_need_of_a_handshake_and_survives_nonsense() {
    let home = home();
    let mut piped = Piped::start(&home);
    piped.writes("this is no JSON");
    let answer = piped.hears();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)), "{answer}");
    let unknown = piped.asks(&request("tools/list", json!({}), "2031-01-01"));
    assert_eq!(unknown["error"]["code"], -32022, "{unknown}");
    let answer = piped.asks(&search());
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let answer = piped.asks(&request("tools/list", json!({}), STATELESS));
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 6);
    piped.ends();
}

#[test]
fn batches_are_answered_as_the_revision_that_has_them_says() {
    let home = home();
    let server = Server::start(&home);
    let ping = |id: Value| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let version = ["mcp-protocol-version: 2025-03-26"];
    let (status, answers) = post(&server, &version, &json!([ping(json!(1)), initialized, 7, ping(json!("two"))]));
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!((status, ids), (200, vec![&json!(1), &Value::Null, &json!("two")]), "{answers}");
    assert_eq!(answers[1]["error"]["code"], -32600);
    assert_eq!(post(&server, &version, &json!([initialized])).0, 202);
    let (status, answer) = post(&server, &version, &json!([]));
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32600)), "{answer}");
    let mut piped = Piped::start(&home);
    piped.asks(&hello("2025-03-26"));
    piped.writes(&json!([initialized, ping(json!(2)), ping(json!(3))]).to_string());
    let mut ids = [piped.hears()["id"].as_u64(), piped.hears()["id"].as_u64()];
    ids.sort_unstable();
    assert_eq!(ids, [Some(2), Some(3)]);
    piped.ends();
}

#[test]
fn a_store_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    let home = home();
    std::fs::write(home.beside(""), "this is no database, ".repeat(500)).unwrap();
    let mut piped = Piped::start(&home);
    piped.asks(&hello(HANDSHAKES[3]));
    let listed = piped.asks(&json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"}));
    assert!(listed["error"]["message"].is_string() && listed.get("result").is_none(), "{listed}");
    piped.ends();
}

#[test]
fn stdio_reads_beside_a_server_that_writes() {
    let home = home();
    let server = Server::start(&home);
    let mut piped = Piped::start(&home);
    for (i, version) in HANDSHAKES.into_iter().enumerate() {
        let mut another = Piped::start(&home);
        assert_eq!(another.asks(&hello(version))["result"]["protocolVersion"], version, "{i}");
        another.ends();
    }
    piped.asks(&hello(HANDSHAKES[3]));
    let mut history = Vec::new();
    server.chat(&mut history, "The gauge at the north mole drifts by 3 mm a day.");
    let call = json!({"name": "search_history", "arguments": {"session": "harbour", "words": "mole drifts"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call});
    let found = piped.asks(&call);
    assert!(found["result"]["content"][0]["text"].as_str().unwrap().contains("3 mm a day"), "{found}");
    piped.ends();
}

#[test]
fn a_client_may_be_set_up_before_the_first_conversation() {
    let home = Home(tempfile::tempdir().unwrap());
    let mut piped = Piped::start(&home);
    piped.asks(&hello(HANDSHAKES[3]));
    let list = json!({"name": "list_sessions", "arguments": {}});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": list});
    let answer = piped.asks(&list);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("nothing has been kept yet"), "{answer}");
    let petrel = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/samples/petrel.jsonl");
    home.says(&["import", petrel.to_str().unwrap()]);
    let answer = piped.asks(&list);
    assert_eq!(answer["result"]["structuredContent"]["sessions"].as_array().unwrap().len(), 1, "{answer}");
    piped.ends();
}
