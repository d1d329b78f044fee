//! Long conversations fold, whichever way the client has of going on.

use scrollback::tokens::Vocabulary;
use serde_json::{Value, json};

use super::{Pieces, SMALL, answers, calls, full, heard, input, kinds, look, output, result, says, user};
use crate::scene::{Said, Server, Upstream};
use crate::talk::{FACTS, question};

/// A model that notes everything.
fn notes(number: usize, asked: &Said) -> Pieces {
    answers(asked, &format!("resp_{number}"), &[says(&format!("msg_{number}"), &format!("Noted {number}."))])
}

/// Everything a request shows its model.
fn shown(asked: &Said) -> String {
    input(asked).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn cost(asked: &Said) -> usize {
    let tools = asked.json().get("tools").map_or(0, |tools| Vocabulary::O200k.count(&tools.to_string()));
    tools + Vocabulary::O200k.count(&shown(asked)) * 8 / 10
}

/// What every one of these conversations must end in: it folded, it fits, its rule and its last question are there.
fn folded(upstream: &Upstream, turns: usize) -> Said {
    let asked = upstream.asked();
    assert_eq!(asked.len(), turns);
    for (number, asked) in asked.iter().enumerate() {
        assert!(cost(asked) <= 2700, "request {number} costs {}", cost(asked));
    }
    let last = asked.last().unwrap().clone();
    let text = shown(&last);
    assert!(!text.contains(FACTS[0].1), "folded: {text}");
    assert!(text.contains("[#") && text.contains("Never give distances in miles"), "{text}");
    assert_eq!(input(&last).last(), Some(&user(&question(turns - 1))));
    last
}

#[test]
fn a_conversation_that_is_sent_whole() {
    let upstream = Upstream::new(notes);
    let server = Server::new(upstream.port, SMALL);
    let mut history = vec![json!({"type": "message", "role": "developer", "content": "Answer in Norwegian."})];
    for turn in 0..24 {
        history.push(user(&question(turn)));
        let mut body = full(&history);
        body["instructions"] = json!("Be brief.");
        history.extend(output(&heard(&server, &body)));
    }
    let last = folded(&upstream, 24);
    assert_eq!(last.json()["instructions"], "Be brief.");
    assert_eq!(last.text().matches("Be brief.").count(), 1, "the instructions stay in their field");
    assert_eq!(input(&last)[0], history[0], "the developer's stay the first item");
}

#[test]
fn a_result_that_ends_in_half_a_character_is_held_like_any_other() {
    let upstream = Upstream::new(notes);
    let server = Server::new(upstream.port, "");
    let seen = "The tide gauge at the pier reads two metres. ".repeat(300) + "CUT";
    let mut call = calls("c1", "look", &json!({}));
    call.as_object_mut().unwrap().remove("id");
    let items = [user("Look."), call, result("c1", &seen), says("msg_1", "Two metres."), user("And at night?")];
    let body = full(&items).to_string().replace("CUT", r"\ud83d");
    assert_eq!(server.send("POST /v1/responses", "", &body).status(), 200);
    let sent = input(&upstream.asked().pop().unwrap());
    assert_eq!((&sent[2]["type"], &sent[2]["call_id"]), (&json!("function_call_output"), &json!("c1")), "{sent:?}");
    assert!(sent[2]["output"].as_str().unwrap().starts_with("[Tool result h"), "{sent:?}");
}

#[test]
fn a_conversation_that_follows_by_response() {
    let upstream = Upstream::new(notes);
    let mut server = Server::new(upstream.port, SMALL);
    let mut previous = Value::Null;
    for turn in 0..24 {
        let mut body = json!({"model": "gpt-5", "input": [user(&question(turn))], "instructions": "Be brief."});
        if turn == 0 {
            body["input"] = json!([{"role": "developer", "content": "Answer in Norwegian."}, user(&question(0))]);
        } else {
            body["previous_response_id"] = previous;
        }
        previous = heard(&server, &body)["id"].clone();
        if turn % 10 == 9 {
            server.restart(drop);
        }
    }
    let last = folded(&upstream, 24);
    assert!(last.json().get("previous_response_id").is_none());
    assert_eq!(last.text().matches("Be brief.").count(), 1);
    assert_eq!(kinds(&input(&upstream.asked()[1])), ["developer", "user", "assistant", "user"]);
    assert!(last.text().contains("Answer in Norwegian."), "{}", last.text());
    assert!(input(&last).iter().any(|item| item["id"].is_string()), "items that the provider keeps have their ids");
}

#[test]
fn a_conversation_that_branches_at_a_response() {
    let upstream = Upstream::new(notes);
    let server = Server::new(upstream.port, "");
    let first = heard(&server, &json!({"model": "gpt-5", "input": "One."}));
    for text in ["Two.", "Three."] {
        heard(&server, &json!({"model": "gpt-5", "input": text, "previous_response_id": first["id"]}));
    }
    let asked = upstream.asked();
    assert_eq!(kinds(&input(&asked[2])), ["user", "assistant", "user"]);
    assert!(!asked[2].text().contains("Two."), "{}", asked[2].text());
}

#[test]
fn a_conversation_that_is_named() {
    let upstream = Upstream::new(notes);
    let server = Server::new(upstream.port, SMALL);
    let made = server.send("POST /v1/conversations", "", "{\"metadata\":{\"of\":\"tides\"}}").json();
    for turn in 0..24 {
        let name = if turn % 2 == 0 { made["id"].clone() } else { json!({"id": made["id"]}) };
        heard(&server, &json!({"model": "gpt-5", "conversation": name, "input": [user(&question(turn))]}));
    }
    let last = folded(&upstream, 24);
    assert!(last.json().get("conversation").is_none());
}

#[test]
fn a_large_result_is_held_and_keeps_its_call() {
    let upstream = Upstream::new(|number, asked| match number {
        0 => answers(asked, "resp_0", &[calls("call_1", "look", &json!({"at": 1}))]),
        _ => notes(number, asked),
    });
    let server = Server::new(upstream.port, "[window]\ntokens = 16000\nreply_tokens = 300\n");
    let request = |input: &[Value]| {
        let mut body = full(input);
        body["tools"] = look();
        body
    };
    let mut history = vec![user("Look.")];
    history.extend(output(&heard(&server, &request(&history))));
    let lines: Vec<String> = (0..700).map(|line| format!("row {line}: the gauge reads {line} centimetres\n")).collect();
    let lines = lines.concat();
    let mut large = result("call_1", &lines);
    large["x_unknown"] = json!(7);
    history.push(large);
    history.extend(output(&heard(&server, &request(&history))));
    for turn in 0..3 {
        history.push(user(&question(turn)));
        history.extend(output(&heard(&server, &request(&history))));
    }
    let items = input(upstream.asked().last().unwrap());
    let held = items.iter().find(|item| item["type"] == "function_call_output").unwrap();
    assert!(held["output"].as_str().unwrap().contains("load_tool_history"), "{held}");
    assert_eq!((&held["call_id"], &held["x_unknown"]), (&json!("call_1"), &json!(7)));
    assert_eq!(items.iter().filter(|item| item["type"] == "function_call").count(), 1);
}

/// A picture among the words of a result cannot be had back by words.
#[test]
fn a_picture_stays_when_its_result_is_held() {
    let upstream = Upstream::new(notes);
    let server = Server::new(upstream.port, "");
    let picture = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="});
    let words = json!({"type": "input_text", "text": "The tide gauge at the pier reads two metres. ".repeat(300)});
    let mut seen = result("c1", "");
    seen["output"] = json!([words, picture]);
    let items = [user("Look."), calls("c1", "look", &json!({})), seen, says("msg_1", "Two metres."), user("And now?")];
    heard(&server, &full(&items));
    let sent = input(&upstream.asked().pop().unwrap());
    let told = &sent[2]["output"];
    assert!(told[0]["text"].as_str().unwrap().starts_with("[Tool result h"), "{told}");
    assert_eq!((&told[0]["type"], &told[1], told[2].is_null()), (&json!("input_text"), &picture, true));
}

/// What a provider runs itself has an id, also where it keeps nothing.
#[test]
fn items_that_a_provider_ran_keep_their_ids() {
    let searched = json!({"type": "web_search_call", "id": "ws_0", "status": "completed", "action": {"type": "search", "query": "tide"}});
    let found = searched.clone();
    let upstream = Upstream::new(move |number, asked| match number {
        0 => answers(asked, "resp_0", &[found.clone(), says("msg_0", "Two metres.")]),
        _ => notes(number, asked),
    });
    let server = Server::new(upstream.port, "");
    let first = heard(&server, &json!({"model": "gpt-5", "input": "How high is the tide?"}));
    let mut next = full(&[user("And now?")]);
    next["previous_response_id"] = first["id"].clone();
    heard(&server, &next);
    let items = input(&upstream.asked()[1]);
    assert_eq!((kinds(&items).len(), &items[1]), (4, &searched), "{items:?}");
    assert!(items[2].get("id").is_none(), "the id of words means nothing to it");
}

#[test]
fn items_that_nobody_knows_stay_as_they_are() {
    let strange = json!({"type": "hologram", "id": "h_1", "beam": [1.5, {"deep": null}], "status": "glowing"});
    let sealed = json!({"type": "compaction", "id": "cmp_theirs", "encrypted_content": "gAAAAA"});
    let upstream = Upstream::new(notes);
    let server = Server::new(upstream.port, SMALL);
    let mut history = vec![sealed.clone()];
    for turn in 0..16 {
        history.push(user(&question(turn)));
        if turn == 15 {
            history.insert(history.len() - 1, strange.clone());
        }
        history.extend(output(&heard(&server, &full(&history))));
    }
    let items = input(upstream.asked().last().unwrap());
    assert!(items.contains(&strange), "{items:?}");
    assert!(items.contains(&sealed), "{items:?}");
}
