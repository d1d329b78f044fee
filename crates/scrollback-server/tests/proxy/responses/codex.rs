//! Requests as coding agents send them: tools among the items, a compaction of the client's own.

use serde_json::{Value, json};

use super::{Pieces, SMALL, answers, ask, calls, full, input, kinds, result, says, sound, user};
use crate::scene::{Said, Server, Upstream};
use crate::talk::question;

const HEADERS: &str =
    "originator: codex_exec\r\nthread-id: 01a1dfde\r\nsession-id: 01a1dfde\r\nuser-agent: codex_exec/0.166.0\r\n";

fn tools() -> Value {
    json!({"type": "additional_tools", "tools": [
        {"type": "function", "name": "exec_command", "parameters": {"type": "object"}, "strict": false},
        {"type": "namespace", "name": "multi_agent_v1", "tools": [{"type": "function", "name": "close_agent"}]}]})
}

fn works(number: usize, asked: &Said) -> Pieces {
    match input(asked).last().unwrap()["type"].as_str() {
        Some("function_call_output") => {
            answers(asked, &format!("resp_{number}"), &[says(&format!("msg_{number}"), "Done.")])
        }
        _ => answers(
            asked,
            &format!("resp_{number}"),
            &[calls(&format!("call_{number}"), "exec_command", &json!({"cmd": "ls"}))],
        ),
    }
}

fn request(history: &[Value]) -> Value {
    let mut body = full(history);
    (body["stream"], body["tool_choice"], body["prompt_cache_key"]) = (json!(true), json!("auto"), json!("01a1dfde"));
    body
}

fn said(server: &Server, body: &Value) -> Vec<Value> {
    let answer = server.send("POST /v1/responses", HEADERS, &body.to_string());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    super::output(&sound(&answer.text()))
}

#[test]
fn tools_among_the_items_stay_the_only_ones_and_the_window_folds() {
    let upstream = Upstream::new(works);
    let server = Server::new(upstream.port, SMALL);
    let developer = json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are an agent."}]});
    let mut history = vec![tools(), developer.clone()];
    for turn in 0..16 {
        history.push(user(&question(turn)));
        let called = said(&server, &request(&history));
        history.extend(called.clone());
        history.push(result(called[0]["call_id"].as_str().unwrap(), "harbour.txt"));
        history.extend(said(&server, &request(&history)));
    }
    for asked in upstream.asked() {
        assert!(asked.json().get("tools").is_none(), "nothing is added");
        assert_eq!(input(&asked)[..2], [tools(), developer.clone()], "they stand at the head");
    }
    let last = upstream.asked().pop().unwrap();
    assert!(!last.text().contains(&question(0)), "{}", last.text());
}

#[test]
fn a_server_of_ours_in_a_namespace_is_seen() {
    let upstream = Upstream::new(|_, asked| answers(asked, "resp_1", &[says("msg_1", "Done.")]));
    let server = Server::new(upstream.port, "");
    let mut body = full(&[user("Hello.")]);
    body["tools"] = json!([{"type": "namespace", "name": "mcp__scrollback", "tools": [{"type": "function", "name": "search_history"}]}]);
    ask(&server, &body);
    assert_eq!(upstream.asked()[0].text(), body.to_string(), "its own tools are enough");
}

#[test]
fn a_clients_tool_of_our_name_in_a_namespace_is_the_clients() {
    let mut theirs = calls("call_1", "search_history", &json!({"words": "x"}));
    theirs["namespace"] = json!("archive");
    let called = theirs.clone();
    let upstream = Upstream::new(move |_, asked| answers(asked, "resp_1", std::slice::from_ref(&called)));
    let server = Server::new(upstream.port, "");
    let answer = super::heard(&server, &full(&[user("Search.")]));
    assert_eq!(super::output(&answer), [theirs]);
}

#[test]
fn a_request_that_has_its_provider_compact_is_not_touched() {
    let asks = |change: &dyn Fn(&mut Value)| {
        let mut history: Vec<Value> = (0..20).map(|turn| user(&question(turn))).collect();
        history.push(user("And now?"));
        let mut body = full(&history);
        change(&mut body);
        body
    };
    let bodies = [
        asks(&|body| body["context_management"] = json!([{"type": "compaction", "compact_threshold": 1000}])),
        asks(&|body| body["input"].as_array_mut().unwrap().push(json!({"type": "compaction_trigger"}))),
        asks(&|body| body["prompt"] = json!({"id": "pmpt_1"})),
        asks(&|body| {
            body["input"].as_array_mut().unwrap().insert(0, json!({"type": "item_reference", "id": "msg_77"}));
        }),
    ];
    for body in bodies {
        let upstream = Upstream::new(|_, asked| answers(asked, "resp_1", &[says("msg_1", "Done.")]));
        let server = Server::new(upstream.port, SMALL);
        let answer = ask(&server, &body);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(upstream.asked()[0].text(), body.to_string());
        let (session, view) =
            (answer.header("x-scrollback-session").unwrap(), answer.header("x-scrollback-view").unwrap());
        let told = server.shown_view(session, view);
        assert!(told.contains("passed on as it came"), "{told}");
    }
}

#[test]
fn a_compaction_of_the_clients_own_goes_on() {
    let upstream = Upstream::new(works);
    let server = Server::new(upstream.port, "");
    let sealed = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABn"});
    let body = request(&[tools(), sealed.clone(), user("Go on.")]);
    let called = said(&server, &body);
    let mut history = vec![tools(), sealed.clone(), user("Go on.")];
    history.extend(called);
    history.push(result("call_0", "harbour.txt"));
    said(&server, &request(&history));
    assert_eq!(
        kinds(&input(&upstream.asked()[1])),
        ["additional_tools", "compaction", "user", "function_call", "function_call_output"]
    );
    assert_eq!(input(&upstream.asked()[1])[1], sealed);
}
