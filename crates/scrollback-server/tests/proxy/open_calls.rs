//! Clients that send only what is new: whatever they say while a call of theirs is open, every request that reaches the
//! model is one that its API accepts.

use serde_json::{Value, json};

use crate::scene::{Server, Upstream, chat, plain, reply, says, user};

const NEW: &str = "x-scrollback-session: s\r\nx-scrollback-history: new\r\n";

fn looks() -> Value {
    let call = json!({"id": "call_7", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

fn seen() -> Value {
    json!({"role": "tool", "tool_call_id": "call_7", "content": "a boat"})
}

/// Says one thing; what reaches the model.
fn say(server: &Server, upstream: &Upstream, message: Value) -> Vec<Value> {
    server.send("POST /v1/chat/completions", NEW, &chat(&[message]).to_string());
    upstream.asked().pop().unwrap().json()["messages"].as_array().unwrap().clone()
}

fn roles(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["role"].as_str().unwrap()).collect()
}

#[test]
fn a_call_that_is_still_open_has_a_result_and_the_true_one_is_told_when_it_comes() {
    let upstream = Upstream::new(|number, _| if number == 0 { reply(&looks()) } else { reply(&says("Well.")) });
    let server = Server::new(upstream.port, "");
    say(&server, &upstream, user("Look."));
    let open = say(&server, &upstream, user("Are you there?"));
    assert_eq!(roles(&open), ["user", "assistant", "tool", "user"], "{open:?}");
    assert_eq!(open[2]["tool_call_id"], "call_7");
    let late = say(&server, &upstream, seen());
    assert_eq!(roles(&late), ["user", "assistant", "tool", "user", "assistant", "user"], "{late:?}");
    assert!(late[5]["content"].as_str().unwrap().contains("a boat"), "{late:?}");
}

#[test]
fn a_result_after_another_message_stands_behind_its_call() {
    let upstream = Upstream::new(|number, _| match number {
        0 => reply(&looks()),
        1 => plain("400 Bad Request", "content-type: application/json\r\n", "{\"error\":{\"message\":\"no\"}}"),
        _ => reply(&says("Well.")),
    });
    let server = Server::new(upstream.port, "");
    for message in [user("Look."), user("Are you there?")] {
        say(&server, &upstream, message);
    }
    let sent = say(&server, &upstream, seen());
    assert_eq!(sent, [user("Look."), looks(), seen(), user("Are you there?")]);
}
