//! Reasoning stays where it was, before what it led to, and is never sent where it cannot be read.

use serde_json::{Value, json};

use super::{Pieces, SMALL, answers, calls, full, heard, input, kinds, look, output, result, says, thought, user};
use crate::scene::{Said, Server, Upstream, plain};
use crate::talk::question;

/// Recall in what a model writes.
const IN_TEXT: &str = "recall = \"text\"\n";

/// A model that thinks, looks, and answers.
fn thinks(number: usize, asked: &Said) -> Pieces {
    let thinking = thought(&format!("rs_{number}"), &format!("SEALED+{number}/=="));
    let after = match input(asked).last().unwrap()["type"].as_str() {
        Some("function_call_output") => says(&format!("msg_{number}"), "Seen."),
        _ => calls(&format!("call_{number}"), "look", &json!({"at": number})),
    };
    answers(asked, &format!("resp_{number}"), &[thinking, after])
}

/// Every reasoning item stands right before what it led to, unchanged.
fn in_place(asked: &Said) -> usize {
    let items = input(asked);
    let thoughts = items.iter().enumerate().filter(|(_, item)| item["type"] == "reasoning");
    let mut count = 0;
    for (place, item) in thoughts {
        let number = item["id"].as_str().unwrap().strip_prefix("rs_").unwrap();
        assert_eq!(*item, thought(&format!("rs_{number}"), &format!("SEALED+{number}/==")), "byte for byte");
        let next = &items[place + 1];
        let own = next["call_id"] == format!("call_{number}") || next["content"][0]["text"] == "Seen.";
        assert!(own, "{item} before {next}");
        count += 1;
    }
    count
}

fn turns(server: &mut Server, upstream: &Upstream, follows: bool) {
    let (mut history, mut previous) = (Vec::new(), Value::Null);
    let mut say = |server: &Server, items: Vec<Value>| {
        history.extend(items.clone());
        let mut body = if follows { json!({"model": "gpt-5", "input": items}) } else { full(&history) };
        body["tools"] = look();
        if follows && !previous.is_null() {
            body["previous_response_id"] = previous.clone();
        }
        let answer = heard(server, &body);
        previous = answer["id"].clone();
        history.extend(output(&answer));
        output(&answer)
    };
    for turn in 0..14 {
        let said = say(server, vec![user(&question(turn))]);
        if turn == 12 {
            server.restart(drop);
        }
        let id = said[1]["call_id"].as_str().unwrap();
        let text = "the gauge reads two metres ".repeat(4);
        say(server, vec![result(id, &text)]);
    }
    for asked in upstream.asked() {
        in_place(&asked);
    }
    let last = upstream.asked().pop().unwrap();
    assert!(!last.text().contains(&question(0)), "it folded");
    assert!(in_place(&last) > 0, "{:?}", kinds(&input(&last)));
}

#[test]
fn sealed_reasoning_stays_in_place_after_a_fold_and_a_restart() {
    let upstream = Upstream::new(thinks);
    turns(&mut Server::new(upstream.port, SMALL), &upstream, false);
}

#[test]
fn sealed_reasoning_stays_in_place_for_a_client_that_sends_only_what_is_new() {
    let upstream = Upstream::new(thinks);
    turns(&mut Server::new(upstream.port, SMALL), &upstream, true);
}

#[test]
fn reasoning_without_its_content_is_not_sent_to_a_provider_that_keeps_nothing() {
    let bare = json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]});
    let thought = bare.clone();
    let upstream = Upstream::new(move |number, asked| match number {
        0 => answers(asked, "resp_0", &[thought.clone(), calls("call_1", "look", &json!({}))]),
        _ => answers(asked, "resp_1", &[says("msg_1", "Seen.")]),
    });
    let server = Server::new(upstream.port, "");
    let body = json!({"model": "gpt-5", "input": "Look.", "tools": look()});
    let first = heard(&server, &body);
    let next = |store: bool| json!({"model": "gpt-5", "store": store, "input": [result("call_1", "a boat")], "previous_response_id": first["id"]});
    heard(&server, &next(true));
    assert_eq!(input(&upstream.asked()[1])[1], bare, "a provider that keeps it can read it");
    let answer = super::ask(&server, &next(false));
    let asked = input(&upstream.asked()[2]);
    assert_eq!(kinds(&asked), ["user", "function_call", "function_call_output"]);
    assert!(asked.iter().all(|item| item.get("id").is_none()), "ids mean nothing to it either");
    let (session, view) = (answer.header("x-scrollback-session").unwrap(), answer.header("x-scrollback-view").unwrap());
    let told = server.shown_view(session, view);
    assert!(told.contains("reasoning"), "{told}");
}

/// A reply may be all used up by reasoning. What follows it goes on from what was asked.
#[test]
fn a_reply_of_nothing_but_reasoning_can_be_followed() {
    let upstream = Upstream::new(|number, asked| match number {
        0 => {
            let mut cut = super::response("resp_0", &[thought("rs_0", "A")]);
            cut["status"] = json!("incomplete");
            plain("200 OK", "content-type: application/json\r\n", &cut.to_string())
        }
        _ => answers(asked, &format!("resp_{number}"), &[says("msg", "Two metres.")]),
    });
    let server = Server::new(upstream.port, "");
    let mut last = heard(&server, &json!({"model": "gpt-5", "input": "How high is the tide?"}));
    for text in ["Be brief.", "And at night?"] {
        let body = json!({"model": "gpt-5", "input": text, "previous_response_id": last["id"]});
        let answer = super::ask(&server, &body);
        assert_eq!((answer.status(), answer.header("x-scrollback-trouble")), (200, None), "{}", answer.text());
        last = answer.json();
    }
    let asked = upstream.asked().pop().unwrap();
    assert_eq!(kinds(&input(&asked)), ["user", "user", "assistant", "user"]);
    assert!(asked.text().contains("How high is the tide?"), "{}", asked.text());
}

/// What is shown of an earlier round stands once.
#[test]
fn reasoning_of_a_round_that_recalled_is_sent_once() {
    let upstream = Upstream::new(|number, asked| match number {
        0 => {
            answers(asked, "resp_0", &[thought("rs_0", "A"), calls("own_1", "search_history", &json!({"words": "x"}))])
        }
        1 => answers(asked, "resp_1", &[thought("rs_1", "B"), calls("call_1", "look", &json!({}))]),
        _ => answers(asked, "resp_2", &[says("msg_2", "Seen.")]),
    });
    let server = Server::new(upstream.port, "");
    let mut body = full(&[user("Look.")]);
    (body["tools"], body["stream"]) = (look(), json!(true));
    let first = super::sound(&super::ask(&server, &body).text());
    assert_eq!(kinds(&output(&first)), ["reasoning", "reasoning", "function_call"]);
    let mut history = vec![user("Look.")];
    history.extend(output(&first));
    history.push(result("call_1", "a boat"));
    body["input"] = json!(history);
    super::ask(&server, &body);
    let asked = input(&upstream.asked()[2]);
    let expected = [
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
        "reasoning",
        "function_call",
        "function_call_output",
    ];
    assert_eq!(kinds(&asked), expected, "{asked:?}");
    assert_eq!((&asked[1]["id"], &asked[4]["id"]), (&json!("rs_0"), &json!("rs_1")));
}

/// Providers refuse reasoning without what it led to, and a client has never seen that it led to a recall, by a call or
/// in writing.
#[test]
fn reasoning_that_led_to_a_recall_goes_with_it() {
    for (streams, settings) in [(true, ""), (false, ""), (true, IN_TEXT), (false, IN_TEXT)] {
        let upstream = Upstream::new(move |number, asked| {
            let led = match number {
                0 if settings.is_empty() => calls("own_1", "search_history", &json!({"words": "x"})),
                0 => says("msg_0", "[NEED_CONTEXT: lighthouse]"),
                _ => says(&format!("msg_{number}"), "Seen."),
            };
            answers(asked, &format!("resp_{number}"), &[thought(&format!("rs_{number}"), "SEALED"), led])
        });
        let mut server = Server::new(upstream.port, settings);
        let mut history = vec![user("Look.")];
        for turn in 0..3 {
            let mut body = full(&history);
            body["stream"] = json!(streams);
            let answer = super::ask(&server, &body);
            let said = if streams { super::sound(&answer.text()) } else { answer.json() };
            history.extend(output(&said));
            history.push(user(&question(turn)));
            if turn == 1 {
                server.restart(drop);
            }
        }
        assert!(upstream.asked().len() > 3, "it recalled");
        for asked in &upstream.asked()[2..] {
            let ids: Vec<Value> = input(asked).iter().map(|item| item["id"].clone()).collect();
            assert!(!ids.contains(&json!("rs_0")) && ids.contains(&json!("rs_1")), "{streams} {settings}: {ids:?}");
        }
    }
}

/// What led to nothing that is known here is the client's business: a client that cuts its own history begins with it.
#[test]
fn reasoning_that_a_conversation_begins_with_is_sent_on() {
    let upstream = Upstream::new(|number, asked| answers(asked, &format!("resp_{number}"), &[says("msg_1", "Seen.")]));
    let server = Server::new(upstream.port, "");
    let called = calls("call_1", "look", &json!({}));
    let mut body = full(&[thought("rs_1", "SEALED"), called, result("call_1", "a boat"), user("And now?")]);
    body["tools"] = look();
    heard(&server, &body);
    assert_eq!(kinds(&input(&upstream.asked()[0])), ["reasoning", "function_call", "function_call_output", "user"]);
}

#[test]
fn a_client_that_is_back_at_once_brings_no_second_reasoning() {
    let upstream = Upstream::new(|number, asked| {
        let items =
            [thought(&format!("rs_{number}"), "SEALED"), says(&format!("msg_{number}"), &format!("Noted {number}."))];
        answers(asked, &format!("resp_{number}"), &items)
    });
    let server = Server::new(upstream.port, "");
    let mut history = Vec::new();
    for turn in 0..40 {
        history.push(user(&question(turn)));
        let said = output(&heard(&server, &full(&history)));
        history.extend(said);
    }
    assert_eq!(server.messages().len(), history.len(), "each item once");
}
