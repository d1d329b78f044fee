//! Requests that follow a response by its id alone: what the conversation began with stands, whatever was said beside
//! it.

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, events, plain, reply, says, stream, user};
use crate::talk::{heard_up_to, streaming};

/// A model whose responses are numbered.
fn numbered(number: usize, _: &Said) -> Vec<Option<Vec<u8>>> {
    let content = json!([{"type": "output_text", "text": format!("Reply {number}."), "annotations": []}]);
    let message = json!({"type": "message", "id": format!("msg_{number}"), "status": "completed", "role": "assistant", "content": content});
    let body = json!({"id": format!("resp_{number}"), "object": "response", "status": "completed", "model": "gpt-5", "output": [message],
                      "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}});
    plain("200 OK", "content-type: application/json\r\n", &body.to_string())
}

fn ask(server: &Server, body: &Value) -> Value {
    let answer = server.send("POST /v1/responses", "", &body.to_string());
    assert_eq!((answer.status(), answer.header("x-scrollback-trouble")), (200, None), "{}", answer.text());
    answer.json()
}

#[test]
fn what_was_said_among_the_messages_stands_and_what_stood_outside_does_not() {
    for item in [
        json!({"role": "system", "content": "Answer in French."}),
        json!({"type": "message", "role": "developer", "content": "Answer in French."}),
    ] {
        let upstream = Upstream::new(numbered);
        let mut server = Server::new(upstream.port, "");
        let first = json!({"model": "gpt-5", "instructions": "Be brief.", "input": [item, {"role": "user", "content": "Hello."}]});
        let mut id = ask(&server, &first)["id"].clone();
        for turn in 1..4 {
            if turn == 2 {
                server.restart(|_| ());
            }
            let next = json!({"model": "gpt-5", "instructions": format!("Outside {turn}."), "previous_response_id": id, "input": format!("And {turn}?")});
            id = ask(&server, &next)["id"].clone();
            let sent = upstream.asked().pop().unwrap().json();
            let input = sent["input"].to_string();
            assert!(
                input.contains("Answer in French.")
                    && input.contains("Hello.")
                    && input.contains(&format!("And {turn}?")),
                "{sent}"
            );
            assert!(!input.contains("Be brief.") && !input.contains("Outside"), "{sent}");
            assert_eq!(
                (&sent["instructions"], &sent["previous_response_id"]),
                (&json!(format!("Outside {turn}.")), &Value::Null)
            );
        }
    }
}

#[test]
fn a_control_message_is_a_link_of_the_chain() {
    let upstream = Upstream::new(numbered);
    let server = Server::new(upstream.port, "");
    let first = ask(&server, &json!({"model": "gpt-5", "input": "The lamp is green."}));
    let told = ask(&server, &json!({"model": "gpt-5", "previous_response_id": first["id"], "input": "/compress"}));
    let other = ask(&server, &json!({"model": "gpt-5", "input": "/compress"}));
    assert_ne!(told["id"], other["id"], "two conversations are two");
    ask(&server, &json!({"model": "gpt-5", "previous_response_id": told["id"], "input": "Which colour?"}));
    let sent = upstream.asked().pop().unwrap().json();
    assert!(sent["input"].to_string().contains("The lamp is green."), "{sent}");
    assert!(!sent["input"].to_string().contains("/compress"), "{sent}");
}

#[test]
fn a_session_is_gone_on_with_by_the_id_that_its_replies_tell() {
    for declared in ["", "x-scrollback-session: lamp\r\n"] {
        let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
        let server = Server::new(upstream.port, "");
        let send = |headers: &str, text: &str| {
            let said = server.send("POST /v1/chat/completions", headers, &chat(&[user(text)]).to_string());
            assert_eq!(said.status(), 200, "{}", said.text());
            said.header("x-scrollback-session").unwrap().to_owned()
        };
        let id = send(declared, "The lamp is red.");
        let by_id = format!("x-scrollback-session: {id}\r\nx-scrollback-history: new\r\n");
        for question in ["Which colour?", "Are you sure?"] {
            assert_eq!(send(&by_id, question), id, "{declared}");
            let sent = upstream.asked().pop().unwrap().json()["messages"].to_string();
            assert!(sent.contains("The lamp is red.") && sent.contains(question), "{sent}");
        }
    }
}

/// Whoever sends only what is new never says it again.
#[test]
fn what_was_read_of_a_reply_without_an_end_is_kept_where_only_new_messages_are_sent() {
    for is_broken_off in [true, false] {
        let upstream = Upstream::new(move |number, _| {
            let half = events(&[json!({"content": "The lamp is"})], "stop");
            let mut pieces = stream(half.split_inclusive("\n\n").next().unwrap(), 400, false);
            pieces.truncate(if is_broken_off { 9 } else { 2 });
            if number == 0 { pieces } else { reply(&says("Red.")) }
        });
        let server = Server::new(upstream.port, "");
        let new = "x-scrollback-session: s\r\nx-scrollback-history: new\r\n";
        drop(heard_up_to("The lamp is", &server, new, &streaming(&[user("Which lamp?")])));
        while server.messages().len() < 2 {}
        server.send("POST /v1/chat/completions", new, &chat(&[user("Go on.")]).to_string());
        let sent = upstream.asked().pop().unwrap().json()["messages"].clone();
        assert_eq!(sent, json!([user("Which lamp?"), says("The lamp is"), user("Go on.")]), "{is_broken_off}");
    }
}
