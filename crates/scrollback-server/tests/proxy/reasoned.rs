//! Reasoning in Chat Completions where a client changes its model: some providers refuse any, others want some with
//! every reply. A client writes what its model wants, and what is shown from the log is to be no worse.

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, plain, reply, user};

const WINDOW: &str = "[window]\ntokens = 3000\nreply_tokens = 300\n";
/// The turn from which on another model answers.
const OTHER: usize = 10;
const UNKNOWN: &str = "'messages.2' : property 'reasoning_content' is unsupported";
const MISSING: &str = "The `reasoning_content` in the thinking mode must be passed back to the API.";

fn refused(why: &str) -> Vec<Option<Vec<u8>>> {
    let told = json!({"error": {"message": why, "type": "invalid_request_error"}}).to_string();
    plain("400 Bad Request", "content-type: application/json\r\n", &told)
}

fn replies(asked: &Said) -> Vec<Value> {
    let messages = asked.json()["messages"].as_array().unwrap().clone();
    messages.into_iter().filter(|message| message["role"] == "assistant").collect()
}

/// Talks until it folds, then with another model, for which the client writes its replies otherwise; how often the
/// upstream refused.
fn talked(upstream: &Upstream, why: &'static str, echo: [&Value; 2]) -> usize {
    let server = Server::new(upstream.port, WINDOW);
    let mut history: Vec<Value> = Vec::new();
    for turn in 0..16 {
        history.push(user(&format!("Ship {turn} came in. {}", "Boats and tides. ".repeat(40))));
        if turn == OTHER {
            let replies = history.iter_mut().filter(|message| message["role"] == "assistant");
            replies.for_each(|reply| *reply = echo[1].clone());
        }
        let said = server.ask(&chat(&history));
        assert_eq!(said.status(), 200, "turn {turn}, {why}: {}", said.text());
        history.push(echo[usize::from(turn >= OTHER)].clone());
    }
    let asked = upstream.asked();
    assert!(asked.last().unwrap().text().contains("<contents-"), "it has folded");
    asked.len() - 16
}

#[test]
fn a_provider_that_knows_no_reasoning_is_sent_none() {
    let upstream = Upstream::new(|_, asked| {
        let has = replies(asked).iter().any(|reply| reply.get("reasoning_content").is_some());
        let said = json!({"role": "assistant", "content": "Fine.", "reasoning_content": "Boats, hm."});
        if has { refused(UNKNOWN) } else { reply(&said) }
    });
    let echo = json!({"role": "assistant", "content": "Fine."});
    assert_eq!(talked(&upstream, UNKNOWN, [&echo, &echo]), 1, "it is remembered");
}

#[test]
fn a_provider_that_wants_reasoning_with_every_reply_is_sent_some() {
    let upstream = Upstream::new(|number, asked| {
        let lacks = number > OTHER && replies(asked).iter().any(|reply| reply.get("reasoning_content").is_none());
        if lacks { refused(MISSING) } else { reply(&json!({"role": "assistant", "content": "Fine."})) }
    });
    let [before, after] = [
        json!({"role": "assistant", "content": "Fine."}),
        json!({"role": "assistant", "content": "Fine.", "reasoning_content": ""}),
    ];
    assert_eq!(talked(&upstream, MISSING, [&before, &after]), 1, "it is remembered");
}
