//! `/api/events`: what happens, to whoever listens.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{SMALL, ask, calls, long, server, speaks, whole};
use crate::scene::{Server, Upstream, chat as history, user};

/// Listens; events come out at the other end.
fn listen(server: &Server, query: &str) -> Receiver<(String, Value)> {
    listen_with(server, query, "")
}

fn listen_with(server: &Server, query: &str, header: &str) -> Receiver<(String, Value)> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    write!(stream, "GET /api/events{query} HTTP/1.1\r\nhost: localhost\r\n{header}\r\n").unwrap();
    let (told, heard) = channel();
    let (ready, is_ready) = channel();
    std::thread::spawn(move || {
        let mut name = String::new();
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if line.starts_with(": listening") {
                ready.send(()).unwrap();
            } else if let Some(event) = line.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                let _ = told.send((name.clone(), serde_json::from_str(data).unwrap()));
            }
        }
    });
    is_ready.recv_timeout(Duration::from_secs(10)).expect("it listens");
    heard
}

fn next(heard: &Receiver<(String, Value)>) -> (String, Value) {
    heard.recv_timeout(Duration::from_secs(10)).expect("something happens")
}

fn quiet(heard: &Receiver<(String, Value)>) {
    let heard = heard.recv_timeout(Duration::from_millis(300));
    assert!(heard.is_err(), "{heard:?}");
}

#[test]
fn a_turn_is_told_while_it_happens() {
    let upstream = Upstream::new(|number, _| match number {
        0 => calls("own_1", "search_history", &json!({"words": "lighthouse"})),
        _ => speaks("It is red."),
    });
    let server = server(&upstream, "");
    let heard = listen(&server, "");
    let done = ask(&server, &json!({"message": "Which colour?"}));
    let told: Vec<(String, Value)> = (0..3).map(|_| next(&heard)).collect();
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["turn", "recall", "reply"]);
    assert!(told.iter().all(|(_, told)| told["session"] == done["session"]));
    assert_eq!((&told[0].1["view"], &told[1].1["tool"]), (&json!("v0"), &json!("search_history")));
    assert_eq!((&told[2].1["message"], &told[2].1["view"]), (&json!("m1"), &json!("v0")));
    server.ask(&history(&[user("Something else?")]));
    assert_eq!(next(&heard).0, "turn", "a client's turn is told as well");
}

#[test]
fn what_programs_do_that_call_their_models_themselves_is_told() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, "");
    let heard = listen(&server, "");
    let said = json!({"model": "gpt-4o", "messages": [user("Which lighthouse?")]}).to_string();
    let rendered = server.send("POST /v1/context/render", "", &said).json();
    let (name, told) = next(&heard);
    assert_eq!((name.as_str(), &told["view"], &told["session"]), ("turn", &rendered["view"], &rendered["session"]));
    let call = json!({"session": rendered["session"], "name": "search_history", "arguments": {"words": "lighthouse"}});
    assert_eq!(server.send("POST /v1/context/recall", "", &call.to_string()).status(), 200);
    let (name, told) = next(&heard);
    assert_eq!((name.as_str(), &told["asked"]), ("recall", &json!("search_history(lighthouse)")));
    quiet(&heard);
}

#[test]
fn whoever_comes_back_is_told_that_they_missed_something() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, "");
    let heard = listen_with(&server, "", "last-event-id: listening\r\n");
    assert_eq!(next(&heard), ("missed".to_owned(), json!({})));
    ask(&server, &json!({"message": "Hello?"}));
    assert_eq!(next(&heard).0, "turn");
}

#[test]
fn only_the_session_that_is_listened_to_is_heard() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, "");
    let mine = ask(&server, &json!({"message": "mine"}))["session"].clone();
    let other = ask(&server, &json!({"message": "other"}))["session"].clone();
    let heard = listen(&server, &format!("?session={}", mine.as_str().unwrap()));
    ask(&server, &json!({"session": other, "message": "again"}));
    quiet(&heard);
    ask(&server, &json!({"session": mine, "message": "again"}));
    let (name, told) = next(&heard);
    assert_eq!((name.as_str(), &told["session"]), ("turn", &mine));
    assert_eq!(server.send("GET /api/events?session=nowhere", "", "").status(), 404);
}

#[test]
fn what_a_person_decides_is_told() {
    let upstream = Upstream::new(|_, _| speaks("Noted."));
    let server = server(&upstream, SMALL);
    let mut session = json!(null);
    for i in 0..6 {
        session = ask(&server, &json!({"session": session, "message": long(&format!("boat {i}"))}))["session"].clone();
    }
    let id = session.as_str().unwrap();
    let heard = listen(&server, &format!("?session={id}"));
    let send = |line: &str, body: &str| {
        let said = server.send(line, "", body);
        assert_eq!(said.status(), 200, "{line}: {}", said.text());
    };
    for (line, body, name) in [
        (format!("PUT /api/sessions/{id}/pins/m0"), "", "controls"),
        (format!("PUT /api/sessions/{id}/strategy"), r#"{"strategy":"default"}"#, "controls"),
        (format!("POST /api/sessions/{id}/compress"), "", "fold"),
        (format!("POST /api/sessions/{id}/undo"), "", "fold"),
        (format!("POST /api/sessions/{id}/redo"), "", "fold"),
    ] {
        send(&line, body);
        let (told, value) = next(&heard);
        assert_eq!((told.as_str(), &value["session"]), (name, &session), "{line}");
        assert_eq!(value.get("covers").is_some(), name == "fold");
    }
}

#[test]
fn a_server_that_is_told_to_stop_does_not_wait_for_listeners() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, "");
    let heard = listen(&server, "");
    server.stops();
    assert!(heard.recv_timeout(Duration::from_secs(5)).is_err());
}

#[test]
fn an_import_is_told_to_whom_it_belongs() {
    let upstream = Upstream::new(|_, _| speaks("Yes."));
    let server = server(&upstream, "");
    let heard = listen(&server, "");
    let file = "{\"id\": \"a\", \"title\": \"First\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello.\"}]}\n\
                {\"id\": \"b\", \"title\": \"Second\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello again.\"}]}\n";
    let told = server.send("POST /api/import", "", file).text();
    let steps: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(steps, ["progress", "progress", "done"], "{told}");
    for title in ["First", "Second"] {
        let (name, told) = next(&heard);
        assert_eq!((name.as_str(), &told["title"]), ("import", &json!(title)));
        assert!(told["session"].is_string());
    }
    quiet(&heard);
}

#[test]
fn what_is_erased_during_a_turn_stays_erased() {
    let upstream = Upstream::new(|_, _| {
        std::thread::sleep(Duration::from_millis(800));
        whole("The lighthouse is red.")
    });
    let server = server(&upstream, "");
    let heard = listen(&server, "");
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| server.ask(&history(&[user("Which colour?")])));
        let (name, begun) = next(&heard);
        assert_eq!(name, "turn");
        let session = begun["session"].as_str().unwrap();
        let erased = server.send(&format!("DELETE /api/sessions/{session}"), "", "").json();
        assert_eq!(erased["erased"], 1, "{erased}");
        assert_eq!(next(&heard), ("erased".to_owned(), json!({"session": session})));
        let reply = turn.join().unwrap();
        assert!(
            reply.status() == 200 && reply.text().contains("lighthouse is red"),
            "who asked is answered: {}",
            reply.text()
        );
    });
    quiet(&heard);
    assert_eq!(server.send("GET /api/sessions", "", "").json()["sessions"], json!([]));
}
