//! Going on anywhere: at the end, in the middle, before the beginning, from a file.

use serde_json::{Value, json};

use super::{ask, asked, chat, heard, said, server, speaks};
use crate::scene::{Server, Upstream};

fn talk(server: &Server, count: usize) -> Value {
    let mut session = json!(null);
    for i in 0..count {
        session = ask(server, &json!({"session": session, "message": format!("question {i}")}))["session"].clone();
    }
    session
}

#[test]
fn after_a_message_a_branch_begins() {
    let upstream = Upstream::new(|number, _| speaks(&format!("answer {number}")));
    let mut server = server(&upstream, "");
    let session = talk(&server, 3);
    let other = ask(&server, &json!({"session": session, "message": "otherwise", "after": "m1"}));
    assert_eq!((&other["branch"], &other["question"], &other["session"]), (&json!(1), &json!("m6"), &session));
    let sent = asked(&upstream.asked()[3]);
    assert_eq!(sent, [said("user", "question 0"), said("assistant", "answer 0"), said("user", "otherwise")]);
    server.restart(|_| ());
    let newest = ask(&server, &json!({"session": session, "message": "further"}));
    assert_eq!(newest["branch"], 1, "the newest branch goes on");
    assert_eq!(asked(&upstream.asked()[4]).len(), 5);
    let first = ask(&server, &json!({"session": session, "message": "back again", "branch": 0}));
    assert_eq!(first["branch"], 0);
    assert_eq!(asked(&upstream.asked()[5]).len(), 7);
    let anew = ask(&server, &json!({"session": session, "message": "from the start", "after": "start"}));
    assert_eq!((&anew["branch"], &anew["session"]), (&json!(2), &session));
    assert_eq!(asked(&upstream.asked()[6]), [said("user", "from the start")]);
}

#[test]
fn the_same_question_at_the_same_place_is_answered_once_more() {
    let upstream = Upstream::new(|number, _| speaks(&format!("answer {number}")));
    let server = server(&upstream, "");
    let session = talk(&server, 2);
    let again = ask(&server, &json!({"session": session, "message": "question 1", "after": "m1"}));
    assert_eq!((&again["question"], &again["view"]), (&json!("m2"), &json!("v2.2")));
    assert_eq!((&again["message"], &again["text"], &again["branch"]), (&json!("m4"), &json!("answer 2"), &json!(1)));
}

#[test]
fn windows_are_read_around_one_and_after_one() {
    let upstream = Upstream::new(|number, _| speaks(&format!("answer {number}")));
    let server = server(&upstream, "");
    let session = talk(&server, 5);
    ask(&server, &json!({"session": session, "message": "question 2", "after": "m3"}));
    let session = session.as_str().unwrap().to_owned();
    let listed = |query: &str| {
        let page = server.send(&format!("GET /api/sessions/{session}/views?{query}"), "", "").json();
        let names: Vec<String> =
            page["views"].as_array().unwrap().iter().map(|view| view["view"].as_str().unwrap().to_owned()).collect();
        (names.join(" "), page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(listed("").0, "v8 v6 v4.2 v4 v2 v0");
    let (around, next) = listed("around=v4.2&count=3");
    assert_eq!(around, "v6 v4.2 v4");
    assert_eq!(listed(&format!("cursor={}", next.unwrap())), ("v2 v0".into(), None));
    assert_eq!(listed("after=v2&count=2"), ("v4.2 v4".into(), Some("v4.2".into())));
    assert_eq!(listed("after=v4.2"), ("v8 v6".into(), None));
    assert_eq!(listed("after=v4&count=1"), ("v4.2".into(), Some("v4.2".into())), "it is called the same from wherever");
    assert_eq!(listed("around=v4&count=1").0, "v4");
    assert_eq!(server.send(&format!("GET /api/sessions/{session}/views?after=v7"), "", "").status(), 404);
}

#[test]
fn a_session_from_a_file_goes_on() {
    let upstream = Upstream::new(|_, _| speaks("It is under the pot."));
    let mut server = server(&upstream, "");
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/samples/harbour.jsonl");
    server.restart(|store| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scrollback"));
        assert!(command.arg("--store").arg(store).args(["import", sample]).output().unwrap().status.success());
    });
    let sessions = server.send("GET /api/sessions", "", "").json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    let before = sessions["sessions"][0]["messages"].as_u64().unwrap();
    let done = ask(&server, &json!({"session": &id[..8], "message": "Where is the key?"}));
    assert_eq!((&done["session"], &done["branch"]), (&json!(id), &json!(0)));
    assert!(asked(&upstream.asked()[0]).len() > 3);
    let sessions = server.send("GET /api/sessions", "", "").json();
    let count = &sessions["sessions"][0]["messages"];
    assert_eq!(count.as_u64(), Some(before + 2), "one session, two messages more");
}

#[test]
fn what_was_not_answered_is_asked_once() {
    let upstream = Upstream::new(|number, _| match number {
        1 => crate::scene::plain(
            "500 Internal Server Error",
            "content-type: application/json\r\n",
            "{\"error\":{\"message\":\"down\"}}",
        ),
        number => speaks(&format!("answer {number}")),
    });
    let server = server(&upstream, "");
    let session = talk(&server, 1);
    let failed = chat(&server, &json!({"session": session, "message": "still there?"}));
    assert!(failed.status() == 502 && failed.text().contains("down"), "{}", failed.text());
    let again = ask(&server, &json!({"session": session, "message": "still there?"}));
    assert_eq!((&again["question"], &again["message"], &again["branch"]), (&json!("m2"), &json!("m3"), &json!(0)));
    assert_eq!(asked(&upstream.asked()[2]).len(), 3);
}

#[test]
fn a_place_cannot_be_forged_by_a_client() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, "");
    let done = super::done(&heard(&chat(&server, &json!({"message": "secret talk"}))));
    let session = done["session"].as_str().unwrap();
    let body = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "stream": true}).to_string();
    for name in ["x-scrollback-after", "x-scrollback-place", "x-scrollback-ours"] {
        server.send("POST /v1/chat/completions", &format!("{name}: {session}/m1\r\n"), &body);
    }
    for sent in &upstream.asked()[1..] {
        assert_eq!(asked(sent), [said("user", "hi")]);
    }
}

#[test]
fn a_message_is_found_on_its_own_branch_where_none_is_named() {
    let upstream = Upstream::new(|number, _| speaks(&format!("answer {number}")));
    let server = server(&upstream, "");
    let session = talk(&server, 2);
    ask(&server, &json!({"session": session, "message": "otherwise", "after": "m1"}));
    let session = session.as_str().unwrap();
    let read = |what: &str| server.send(&format!("GET /api/sessions/{session}/messages/{what}"), "", "");
    for (id, branch) in [("m0", 1), ("m2", 0), ("m4", 1)] {
        let one = read(id).json();
        assert_eq!((&one["id"], &one["branch"]), (&json!(id), &json!(branch)), "{one}");
    }
    assert_eq!(read("m0?branch=0").json()["branch"], 0);
    let elsewhere = read("m2?branch=1");
    assert!(elsewhere.status() == 404 && elsewhere.text().contains("ask with branch=0"), "{}", elsewhere.text());
    assert_eq!(read("m99").status(), 404);
    // How it stood is told of the branch that is asked about.
    for (what, word) in
        [("m2?branch=0", "shown"), ("m2", "shown"), ("m4?branch=1", "shown"), ("m2?view=v4", "elsewhere")]
    {
        assert_eq!(read(what).json()["standing"]["word"], word, "{what}");
    }
}

#[test]
fn a_rule_of_another_branch_is_not_let_go_of_by_a_request_that_is_refused() {
    let upstream = Upstream::new(|number, _| speaks(&format!("answer {number}")));
    let server = server(&upstream, "");
    let session = talk(&server, 1);
    ask(&server, &json!({"session": session, "message": "Never round the heights."}));
    ask(&server, &json!({"session": session, "message": "otherwise", "after": "m1"}));
    let at = format!("/api/sessions/{}/rules", session.as_str().unwrap());
    let rules = || server.send(&format!("GET {at}?branch=0"), "", "").json()["rules"][0].clone();
    assert_eq!((&rules()["rule"], &rules()["holds"]), (&json!("r2.1"), &json!(true)));
    let refused = server.send(&format!("DELETE {at}/r2.1"), "", "");
    assert!(refused.status() == 404 && refused.text().contains("ask with branch=0"), "{}", refused.text());
    assert_eq!(rules()["holds"], true);
    assert_eq!(server.send(&format!("DELETE {at}/r2.1?branch=0"), "", "").status(), 200);
    assert_eq!(rules()["holds"], false);
}
