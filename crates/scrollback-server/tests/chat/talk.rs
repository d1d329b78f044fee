//! One message after another: what comes back, in which order, and what is kept.

use serde_json::json;

use super::{SMALL, ask, asked, calls, chat, done, heard, long, names, said, server, speaks, text, whole};
use crate::scene::{Upstream, plain, user};

#[test]
fn a_reply_streams_and_is_kept() {
    let upstream = Upstream::new(|_, _| speaks("The tide turns at six."));
    let server = server(&upstream, "");
    let events = heard(&chat(&server, &json!({"message": "When does the tide turn?"})));
    assert_eq!(names(&events), ["turn", "text", "text", "done"]);
    assert_eq!(text(&events), "The tide turns at six.");
    let (turn, done) = (&events[0].1, done(&events));
    let session = turn["session"].as_str().unwrap();
    assert_eq!((&turn["question"], &turn["view"], &turn["folded"]), (&json!("m0"), &json!("v0"), &json!(false)));
    assert!(turn["tokens"].as_u64().unwrap() > 0 && turn["budget"].as_u64() > turn["tokens"].as_u64());
    assert_eq!(done["session"], *session);
    assert_eq!((&done["question"], &done["message"], &done["model"]), (&json!("m0"), &json!("m1"), &json!("gpt-4o")));
    assert_eq!((&done["branch"], &done["recalls"], &done["covers"]), (&json!(0), &json!(0), &json!(null)));
    assert_eq!(server.messages().len(), 2);
    assert_eq!(asked(&upstream.asked()[0]), [said("user", "When does the tide turn?")]);
    let next = ask(&server, &json!({"session": session, "message": "And tomorrow?"}));
    assert_eq!(
        (&next["question"], &next["message"], &next["text"]),
        (&json!("m2"), &json!("m3"), &json!("The tide turns at six."))
    );
    let sent = asked(&upstream.asked()[1]);
    assert_eq!(sent.last(), Some(&said("user", "And tomorrow?")));
    assert_eq!(sent.len(), 3, "the model is shown the conversation");
}

#[test]
fn what_is_said_twice_is_said_twice() {
    let upstream = Upstream::new(|_, _| speaks("Hello."));
    let server = server(&upstream, "");
    let first = ask(&server, &json!({"message": "hello"}));
    let second = ask(&server, &json!({"session": first["session"], "message": "hello"}));
    assert_eq!((&second["question"], &second["message"]), (&json!("m2"), &json!("m3")));
}

#[test]
fn recalls_are_told_between_the_words() {
    let upstream = Upstream::new(|number, _| match number {
        0 => calls("own_1", "search_history", &json!({"words": "lighthouse"})),
        _ => speaks("It is red."),
    });
    let server = server(&upstream, "");
    let events = heard(&chat(&server, &json!({"message": "Which colour is the lighthouse?"})));
    assert_eq!(names(&events), ["turn", "recall", "text", "text", "done"]);
    let recall = &events[1].1;
    assert_eq!((&recall["tool"], &recall["round"]), (&json!("search_history"), &json!(1)));
    assert!(recall["asked"].as_str().unwrap().contains("lighthouse"), "{recall}");
    assert_eq!(done(&events)["recalls"], 1);
    assert_eq!(text(&events), "It is red.");
}

#[test]
fn a_turn_that_folds_says_so() {
    let upstream = Upstream::new(|_, _| speaks("Noted."));
    let server = server(&upstream, SMALL);
    let mut session = json!(null);
    let mut folds = Vec::new();
    for i in 0..14 {
        let events = heard(&chat(&server, &json!({"session": session, "message": long(&format!("boat {i}"))})));
        let (turn, done) = (&events[0].1, done(&events));
        session = done["session"].clone();
        assert_eq!((&turn["folded"], &turn["covers"]), (&done["folded"], &done["covers"]));
        assert!(done["tokens"].as_u64() <= done["budget"].as_u64());
        folds.push((done["folded"] == true, done["covers"].clone(), done["saved_tokens"].as_u64().unwrap()));
    }
    let at = folds.iter().position(|(folded, ..)| *folded).expect("a small window folds");
    assert!(folds[..at].iter().all(|(_, covers, _)| covers.is_null()));
    assert!(folds[at..].iter().all(|(_, covers, saved)| covers[0] == "m0" && *saved > 0), "{folds:?}");
    assert!(folds.iter().any(|(folded, covers, _)| !folded && !covers.is_null()), "not every turn folds");
}

#[test]
fn a_new_session_has_instructions_and_a_strategy() {
    let upstream = Upstream::new(|_, _| speaks("Aye."));
    let mut server = server(&upstream, "");
    let body = json!({"message": "Hello?", "instructions": "Answer as a pilot.", "strategy": "summary"});
    let events = heard(&chat(&server, &body));
    assert!(events[0].1["layout"].as_str().unwrap().starts_with("summary@"));
    let session = done(&events)["session"].clone();
    server.restart(|_| ());
    ask(&server, &json!({"session": session, "message": "Which way?"}));
    let path = format!("GET /api/sessions/{}", session.as_str().unwrap());
    assert!(server.send(&path, "", "").json()["layout"].as_str().unwrap().starts_with("summary@"));
    for sent in upstream.asked() {
        assert_eq!(asked(&sent)[0], said("system", "Answer as a pilot."));
    }
}

#[test]
fn the_settings_may_instruct_new_sessions() {
    let upstream = Upstream::new(|_, _| speaks("Aye."));
    let server = crate::scene::Server::new(upstream.port, "[chat]\nmodel = \"gpt-4o\"\ninstructions = \"Be brief.\"\n");
    ask(&server, &json!({"message": "Hello?"}));
    assert_eq!(asked(&upstream.asked()[0]), [said("system", "Be brief."), said("user", "Hello?")]);
}

#[test]
fn an_upstream_that_does_not_stream_is_heard_all_the_same() {
    let upstream = Upstream::new(|number, _| {
        if number == 0 { whole("All at once.") } else { plain("200 OK", "content-type: application/json\r\n", "{}") }
    });
    let server = server(&upstream, "");
    let events = heard(&chat(&server, &json!({"message": "Hello?"})));
    assert_eq!((names(&events), text(&events).as_str()), (vec!["turn", "text", "done"], "All at once."));
    assert_eq!(chat(&server, &json!({"message": "And now?"})).status(), 502);
}

#[test]
fn compress_is_answered_without_a_model() {
    let upstream = Upstream::new(|_, _| speaks("Noted."));
    let server = server(&upstream, SMALL);
    let mut session = json!(null);
    for i in 0..6 {
        session = ask(&server, &json!({"session": session, "message": long(&format!("boat {i}"))}))["session"].clone();
    }
    let before = upstream.asked().len();
    let events = heard(&chat(&server, &json!({"session": session, "message": "/compress"})));
    assert_eq!(upstream.asked().len(), before);
    let done = done(&events);
    assert!(!text(&events).is_empty());
    assert_eq!((&done["folded"], &done["covers"][0], &done["view"]), (&json!(true), &json!("m0"), &json!(null)));
    assert_eq!((&done["question"], &done["message"]), (&json!("m12"), &json!("m13")));
    let next = ask(&server, &json!({"session": session, "message": "Go on."}));
    assert_eq!(next["folded"], false, "it is folded already");
    assert!(!upstream.asked().last().unwrap().text().contains("/compress"));
}

#[test]
fn without_a_key_quotations_answer() {
    let server = crate::scene::Server::bare("");
    let said = server.send(
        "POST /api/chat",
        "",
        &json!({"message": "The shed key is under the pot.", "stream": false}).to_string(),
    );
    assert_eq!((said.status(), &said.json()["model"]), (200, &json!("quote")), "{}", said.text());
    let named = server.send("POST /api/chat", "", &json!({"message": "Hello", "upstream": "anthropic"}).to_string());
    assert_eq!(named.status(), 502);
    assert!(
        named.text().contains("upstreams.anthropic.key_env") && named.text().contains("ANTHROPIC_API_KEY"),
        "{}",
        named.text()
    );
    let named = server.send("POST /api/chat", "", &json!({"message": "Hello", "model": "gpt-5"}).to_string());
    assert!(named.status() == 502 && named.text().contains("upstreams.openai.key_env"), "{}", named.text());
}

#[test]
fn two_talk_at_once() {
    let upstream = Upstream::new(|_, asked| {
        let question = asked.json()["messages"][0]["content"].as_str().unwrap().to_owned();
        std::thread::sleep(std::time::Duration::from_millis(100));
        speaks(&format!("You said: {question}"))
    });
    let server = server(&upstream, "");
    std::thread::scope(|scope| {
        let talks: Vec<_> = (0..6)
            .map(|i| {
                let server = &server;
                scope.spawn(move || {
                    let question = format!("number {i}");
                    let events = heard(&chat(server, &json!({"message": question})));
                    assert_eq!(text(&events), format!("You said: {question}"));
                    assert_eq!(names(&events).iter().filter(|name| **name == "turn").count(), 1);
                    done(&events)["session"].clone().to_string()
                })
            })
            .collect();
        let sessions: std::collections::BTreeSet<String> = talks.into_iter().map(|talk| talk.join().unwrap()).collect();
        assert_eq!(sessions.len(), 6);
    });
    assert!(server.messages().contains(&user("number 3")));
}
