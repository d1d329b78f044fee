//! Clients that name what was said by its id alone, and leave it to their provider to know it.

use serde_json::{Value, json};

use super::{SMALL, answers, ask, calls, heard, input, kinds, look, output, replies, result, says, thought, user};
use crate::scene::{Server, Upstream};
use crate::talk::question;

/// What a client sends of a reply that its provider keeps.
fn names(items: &[Value]) -> Vec<Value> {
    items.iter().map(|item| json!({"type": "item_reference", "id": item["id"]})).collect()
}

fn kept(input: &[Value]) -> Value {
    json!({"model": "gpt-5", "input": input})
}

#[test]
fn what_is_named_stands_in_its_place() {
    let upstream = Upstream::new(|number, asked| {
        let thinking = json!({"id": format!("rs_{number}"), "type": "reasoning", "summary": []});
        let after = match number {
            0 => calls("call_0", "look", &json!({})),
            _ => says(&format!("msg_{number}"), &format!("Seen {number}.")),
        };
        answers(asked, &format!("resp_{number}"), &[thinking, after])
    });
    let mut server = Server::new(upstream.port, "");
    let mut history = vec![json!({"role": "developer", "content": "Be brief."}), user("Look.")];
    let mut whole = history.clone();
    for turn in 0..4 {
        let mut body = kept(&history);
        body["tools"] = look();
        let said = output(&heard(&server, &body));
        let next = if turn == 0 { result("call_0", "a boat") } else { user(&question(turn)) };
        history.extend(names(&said).into_iter().chain([next.clone()]));
        whole.extend(said.into_iter().chain([next]));
        if turn == 1 {
            server.restart(drop);
        }
    }
    let last = upstream.asked().pop().unwrap();
    assert_eq!(input(&last), whole[..input(&last).len()]);
    assert_eq!(input(&last).len(), whole.len() - 3, "all but what came of it");
    assert!(last.text().contains("search_history"), "and it may recall");
    assert_eq!(server.messages().len(), whole.len() - 1, "each item once");
}

#[test]
fn a_conversation_of_names_folds() {
    let upstream = Upstream::new(|number, asked| {
        answers(asked, &format!("resp_{number}"), &[says(&format!("msg_{number}"), &"It is noted. ".repeat(9))])
    });
    let server = Server::new(upstream.port, SMALL);
    let mut history = Vec::new();
    for turn in 0..30 {
        history.push(user(&question(turn)));
        let said = output(&heard(&server, &kept(&history)));
        history.extend(names(&said));
    }
    let last = upstream.asked().pop().unwrap();
    assert!(!last.text().contains(&question(0)) && last.text().contains("[#"), "{}", last.text());
}

#[test]
fn what_was_thought_before_a_recall_is_not_missed() {
    let upstream = Upstream::new(|number, asked| match number {
        0 => {
            answers(asked, "resp_0", &[thought("rs_0", "A"), calls("own_1", "search_history", &json!({"words": "x"}))])
        }
        _ => answers(asked, &format!("resp_{number}"), &[says(&format!("msg_{number}"), "Seen.")]),
    });
    let server = Server::new(upstream.port, "");
    let mut body = kept(&[user("Look.")]);
    body["stream"] = json!(true);
    let said = output(&super::sound(&ask(&server, &body).text()));
    assert_eq!(kinds(&said), ["reasoning", "assistant"]);
    let history = [vec![user("Look.")], names(&said), vec![user("And now?")]].concat();
    heard(&server, &kept(&history));
    assert_eq!(kinds(&input(&upstream.asked().pop().unwrap())), ["user", "assistant", "user"]);
}

#[test]
fn names_that_the_log_does_not_know_are_left_to_the_provider() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[says("msg_1", "Fine.")]));
    let server = Server::new(upstream.port, "");
    heard(&server, &kept(&[user("Look.")]));
    let named = |id: &str| json!({"type": "item_reference", "id": id});
    for ids in [&["msg_elsewhere"][..], &["msg_1", "msg_elsewhere"], &["rs_elsewhere"]] {
        let named = ids.iter().map(|id| named(id));
        let items: Vec<Value> = [user("Look.")].into_iter().chain(named).chain([user("Go on.")]).collect();
        let body = kept(&items);
        heard(&server, &body);
        assert_eq!(upstream.asked().pop().unwrap().text(), body.to_string());
    }
}

#[test]
fn a_session_may_have_a_name_that_looks_like_an_id() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[says("msg_1", "Fine.")]));
    let server = Server::new(upstream.port, "");
    let history = [user("Look."), says("msg_1", "Fine."), user("And now?")];
    let said = |input: &[Value], name: &str| {
        let mut body = kept(input);
        body["prompt_cache_key"] = name.into();
        let said = ask(&server, &body);
        assert_eq!(said.status(), 200, "{}", said.text());
        said.header("x-scrollback-session").unwrap().to_owned()
    };
    let name = "0123456789abcdef0123456789abcdef";
    let session = said(&history[..1], name);
    assert_ne!(session, name);
    let named = [vec![user("Look.")], names(&history[1..2]), vec![user("And now?")]].concat();
    for name in [name, session.as_str()] {
        said(&named, name);
        assert_eq!(input(&upstream.asked().pop().unwrap()), history, "{name}");
    }
}
