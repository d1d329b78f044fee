//! What goes wrong, told before a stream begins and after.

use serde_json::{Value, json};

use super::{SMALL, chat, heard, names, server, speaks};
use crate::scene::{Said, Upstream, events, plain, stream};

fn told(said: &Said) -> String {
    let value = said.json();
    let text = value["detail"].as_str().or(value["error"]["message"].as_str());
    text.unwrap_or_else(|| panic!("no reason: {value}")).to_owned()
}

#[test]
fn a_request_that_cannot_be_answered_is_refused_before_anything_is_sent() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, "");
    let done = super::ask(&server, &json!({"message": "hello"}));
    let session = done["session"].as_str().unwrap();
    let before = upstream.asked().len();
    let tried: [(Value, u16, &str); 11] = [
        (json!({"message": "  "}), 400, "empty"),
        (json!({"session": "nowhere", "message": "hi"}), 404, "nowhere"),
        (json!({"session": "nowhere", "message": "hi", "strategy": "topics"}), 404, "nowhere"),
        (json!({"session": session, "message": "hi", "after": "m99"}), 404, "m99"),
        (json!({"session": session, "message": "hi", "after": "what"}), 400, "what"),
        (json!({"session": session, "message": "hi", "branch": 7}), 404, "branch 7"),
        (json!({"message": "hi", "after": "m1"}), 400, "session"),
        (json!({"message": "hi", "upstream": "nobody"}), 400, "mock"),
        (json!({"message": "hi", "strategy": "magic"}), 400, "magic"),
        (json!({"session": session, "message": "hi", "strategy": "topics"}), 400, "strategy"),
        (json!({"session": session, "message": "hi", "instructions": "Be brief."}), 400, "instructions"),
    ];
    for (body, status, word) in tried {
        let said = chat(&server, &body);
        assert_eq!(said.status(), status, "{body}: {}", said.text());
        assert!(told(&said).contains(word), "{body}: {}", said.text());
    }
    assert_eq!(chat(&server, &json!({"messages": []})).status(), 400);
    assert_eq!((upstream.asked().len(), server.messages().len()), (before, 2));
}

#[test]
fn what_is_too_large_says_so() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, SMALL);
    let said = chat(&server, &json!({"message": "word ".repeat(5_000)}));
    assert_eq!(said.status(), 422, "{}", said.text());
    assert!(upstream.asked().is_empty());
}

#[test]
fn a_wrong_key_is_told_with_the_setting_that_gives_it() {
    let upstream = Upstream::new(|_, _| {
        plain("401 Unauthorized", "content-type: application/json\r\n", r#"{"error":{"message":"Incorrect API key"}}"#)
    });
    let server = server(&upstream, "");
    let said = chat(&server, &json!({"message": "hello"}));
    assert_eq!(said.status(), 502);
    assert!(
        told(&said).contains("upstreams.mock.key_env") && told(&said).contains("Incorrect API key"),
        "{}",
        said.text()
    );
    let whole = chat(&server, &json!({"message": "hello", "stream": false}));
    assert_eq!(whole.status(), 502);
}

#[test]
fn a_message_that_is_refused_can_be_said_once_more_in_its_session() {
    let upstream = Upstream::new(|number, _| match number {
        0 | 2 | 5 => {
            plain("429 Too Many Requests", "content-type: application/json\r\n", r#"{"error":{"message":"wait"}}"#)
        }
        _ => speaks("Hello."),
    });
    let server = server(&upstream, "");
    for streams in [true, false] {
        let refused = chat(&server, &json!({"message": "hello", "stream": streams}));
        assert_eq!(refused.status(), 429, "{}", refused.text());
        let session = refused.header("x-scrollback-session").expect("the message is kept in a session");
        let done = super::ask(&server, &json!({"session": session, "message": "hello"}));
        assert_eq!((&done["session"], &done["question"]), (&json!(session), &json!("m0")));
    }
    let session = super::ask(&server, &json!({"message": "hello"}))["session"].clone();
    let again = chat(&server, &json!({"session": session, "message": "hm"}));
    assert_eq!((again.status(), again.header("x-scrollback-session")), (429, session.as_str()));
    let refused = |body: Value| chat(&server, &body).header("x-scrollback-session").map(str::to_owned);
    assert_eq!(refused(json!({"session": session, "message": "other", "upstream": "nobody"})), None);
    let unknown = chat(&server, &json!({"message": "hello", "upstream": "nobody"}));
    assert_eq!((unknown.status(), unknown.header("x-scrollback-session")), (400, None), "nothing is kept of it");
}

#[test]
fn an_upstream_that_is_not_there_is_named() {
    let server = server(&Upstream { port: 1, asked: std::sync::Arc::default() }, "");
    let said = chat(&server, &json!({"message": "hello"}));
    assert!(said.status() == 502 && told(&said).contains("“mock”"), "{}", said.text());
}

#[test]
fn a_reply_that_breaks_off_ends_with_an_error() {
    let upstream = Upstream::new(|number, _| {
        let begun = events(&[json!({"role": "assistant", "content": "It begins"})], "stop");
        let begun = begun.split("\n\n").next().unwrap().to_owned() + "\n\n";
        match number {
            0 => stream(&begun, 30, false),
            _ => stream(&(begun + "data: {\"error\": {\"message\": \"overloaded\"}}\n\n"), 30, true),
        }
    });
    let server = server(&upstream, "");
    for why in ["broke", "overloaded"] {
        let events = heard(&chat(&server, &json!({"message": "hello"})));
        assert_eq!(names(&events), ["turn", "text", "error"], "{events:?}");
        let error = &events[2].1;
        assert_eq!((&error["status"], &error["code"]), (&json!(502), &json!("upstream_failed")));
        assert!(error["detail"].as_str().unwrap().contains(why), "{error}");
        assert!(error["detail"].as_str().unwrap().contains("kept as m1"), "{error}");
        let session = events[0].1["session"].as_str().unwrap();
        let messages = server.send(&format!("GET /api/sessions/{session}/messages"), "", "").json();
        assert_eq!(messages["messages"][1]["parts"][0]["text"], "It begins", "what was read is kept");
    }
}

#[test]
fn a_reply_without_an_end_is_kept_with_a_notice() {
    let upstream = Upstream::new(|_, _| {
        let begun = events(&[json!({"role": "assistant", "content": "It begins"})], "stop");
        stream(&(begun.split("\n\n").next().unwrap().to_owned() + "\n\n"), 30, true)
    });
    let server = server(&upstream, "");
    let done = super::ask(&server, &json!({"message": "hello"}));
    assert_eq!(done["message"], "m1");
    assert!(done["notices"].to_string().contains("broke the reply off"), "{done}");
    assert_eq!(done["partial"], true);
    let next = super::ask(&server, &json!({"session": done["session"], "message": "go on"}));
    assert_eq!((&next["branch"], &next["question"]), (&json!(0), &json!("m2")));
}

#[test]
fn a_model_has_to_be_named_where_none_is_known() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = crate::scene::Server::new(upstream.port, "");
    let said = chat(&server, &json!({"message": "hello"}));
    assert!(said.status() == 400 && told(&said).contains("chat.model"), "{}", said.text());
    let done = super::ask(&server, &json!({"message": "hello", "model": "gpt-4o"}));
    let next = super::ask(&server, &json!({"session": done["session"], "message": "once more"}));
    assert_eq!(next["model"], "gpt-4o", "the session had one");
}

#[test]
fn whoever_names_another_upstream_than_the_settings_is_told_to_set_both() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, &format!("[upstreams.other]\nurl = \"http://127.0.0.1:{}/v1\"\n", upstream.port));
    let said = chat(&server, &json!({"message": "hello", "upstream": "other"}));
    assert!(said.status() == 400 && told(&said).contains("chat.upstream and chat.model"), "{}", said.text());
}

#[test]
fn web_pages_from_elsewhere_are_refused() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, "");
    for line in ["POST /api/chat", "GET /api/events"] {
        let said = server.send(line, "origin: https://example.com\r\n", r#"{"message":"hi"}"#);
        assert_eq!(said.status(), 403, "{line}");
    }
}
