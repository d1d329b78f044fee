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

/// Agents such as Roo Code say behind every result what happened meanwhile, in the person's role.
#[test]
fn what_is_said_right_behind_a_result_goes_on_with_its_turn() {
    let upstream = Upstream::new(|_, _| reply(&says("Fine.")));
    let server = Server::new(upstream.port, "[window]\ntokens = 12000\nreply_tokens = 300\n");
    let mut history = vec![user("The task: count the boats of pier nine.")];
    for step in 0..25 {
        let id = format!("call_{step}");
        let call = json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
        history.extend([
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": id, "content": format!("step {step}: {}", "a boat. ".repeat(1_500))}),
            user(&format!("<environment>{step} o'clock</environment>")),
        ]);
        let mut body = chat(&history);
        body["tools"] = json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]);
        assert_eq!(server.send("POST /v1/chat/completions", "", &body.to_string()).status(), 200);
        let asked = upstream.asked().pop().unwrap().text();
        assert!(asked.contains(&format!("step {step}: a boat. a boat.")), "whole, as nobody has seen it: {asked}");
        assert!(
            asked.contains("count the boats of pier nine") && asked.contains(&format!("{step} o'clock")),
            "{asked}"
        );
    }
}
