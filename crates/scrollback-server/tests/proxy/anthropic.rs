//! Anthropic Messages over real sockets.

use std::io::{Read, Write};
use std::process::Command;
use std::time::Duration;

use scrollback::tokens::Vocabulary;
use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, plain, stream};
use crate::talk::question;

const WINDOW: &str = "[window]\nstrategy = \"pages\"\ntokens = 5000\nreply_tokens = 300\n";
const HEADERS: &str =
    "x-api-key: sk-canary\r\nanthropic-version: 2023-06-01\r\nanthropic-beta: context-management-2025-06-27\r\n";
const STREAMED: &str = include_str!("../../../../fixtures/wire/anthropic/reply.sse");
const MIXED: &str = include_str!("../../../../fixtures/wire/anthropic/mixed.sse");

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn user(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

fn assistant(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn thought(words: &str) -> Value {
    json!({"type": "thinking", "thinking": words, "signature": "c2ln"})
}

fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn result(id: &str, words: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": words})
}

fn search() -> Value {
    call("own_1", "search_history", &json!({"words": "lighthouse"}))
}

/// A reply of a model.
fn reply(blocks: &[Value]) -> Vec<Option<Vec<u8>>> {
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let stop = if calls { "tool_use" } else { "end_turn" };
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": blocks,
                      "stop_reason": stop, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 2}, "x_unknown": [1]});
    plain("200 OK", "content-type: application/json\r\nrequest-id: req_7\r\n", &body.to_string())
}

fn body(messages: &[Value]) -> Value {
    json!({"model": "claude-opus-4-5", "max_tokens": 300, "messages": messages,
           "tools": [{"name": "look", "input_schema": {"type": "object"}}]})
}

fn ask(server: &Server, body: &Value) -> Said {
    server.send("POST /v1/messages", HEADERS, &body.to_string())
}

fn messages(asked: &Said) -> Vec<Value> {
    asked.json()["messages"].as_array().unwrap().clone()
}

fn blocks(message: &Value) -> Vec<Value> {
    match message["content"].as_str() {
        Some(words) => vec![text(words)],
        None => message["content"].as_array().unwrap().clone(),
    }
}

/// Says something, hears the answer, and keeps both.
fn say(server: &Server, history: &mut Vec<Value>, words: &str) -> Said {
    history.push(user(&[text(words)]));
    let answer = ask(server, &body(history));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    history.push(json!({"role": "assistant", "content": answer.json()["content"]}));
    answer
}

fn talk(server: &Server, history: &mut Vec<Value>, turns: std::ops::Range<usize>) {
    turns.for_each(|turn| drop(say(server, history, &question(turn))));
}

fn marks(asked: &Said) -> usize {
    asked.text().matches("\"cache_control\"").count()
}

fn cost(asked: &Said) -> usize {
    let asked = asked.json();
    let tools = Vocabulary::O200k.count(&asked["tools"].to_string());
    let words = |message: &Value| {
        blocks(message)
            .iter()
            .map(|block| block["text"].as_str().map_or(0, |text| Vocabulary::O200k.count(text)))
            .sum::<usize>()
    };
    tools + asked["messages"].as_array().unwrap().iter().map(words).sum::<usize>()
}

/// What is on record of the one session.
fn on_record(server: &Server, what: &str) -> Vec<Value> {
    std::thread::sleep(Duration::from_millis(200));
    let told = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        let output = command.args(["--json", "--store"]).arg(server.store()).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let session = told(&["sessions"])[0]["id"].as_str().unwrap().to_owned();
    told(&["show", &session, what])
}

/// What was told of its windows.
fn notices(server: &Server) -> Vec<String> {
    let views = on_record(server, "--views");
    let all = views.iter().filter_map(|view| view["notices"].as_array()).flatten();
    all.map(|notice| notice.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_request_leaves_as_it_came_but_for_our_tools() {
    let upstream = Upstream::new(|_, _| reply(&[text("hello")]));
    let server = Server::new(upstream.port, "");
    let sent = include_str!("../../../../fixtures/wire/anthropic/agent.json");
    let answer = server.send("POST /v1/messages?beta=true", HEADERS, sent);
    let expected = reply(&[text("hello")]);
    assert!(expected[0].as_ref().unwrap().ends_with(&answer.body), "{}", answer.text());
    assert_eq!(answer.header("request-id"), Some("req_7"));
    let asked = &upstream.asked()[0];
    let (before, after) = sent.split_once(r#"[ {"name":"look""#).unwrap();
    let (_, after) = after.split_once("} ],").unwrap();
    assert!(asked.text().starts_with(before) && asked.text().ends_with(after), "{}", asked.text());
    let tools = asked.json()["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["look", "recall_page", "load_tool_history", "search_history"]);
    assert!(asked.head.starts_with("POST /v1/messages?beta=true "));
    assert_eq!(asked.header("anthropic-beta"), Some("context-management-2025-06-27"));
    assert_eq!(asked.header("x-api-key"), Some("sk-canary"));
    assert_eq!(server.messages().len(), 6, "two instructions, three messages, the reply");
    let plain = include_str!("../../../../fixtures/wire/anthropic/plain.json");
    server.send("POST /v1/messages", HEADERS, plain);
    assert!(upstream.asked()[1].text().starts_with(plain.trim_end().strip_suffix('}').unwrap()));
}

#[test]
fn a_stream_comes_back_as_it_is() {
    let upstream = Upstream::new(|number, _| stream(STREAMED, number * 40 + 1, true));
    let server = Server::new(upstream.port, "");
    let mut asked = body(&[user(&[text("level?")])]);
    asked["stream"] = json!(true);
    for number in 0..6 {
        assert_eq!(ask(&server, &asked).text(), STREAMED, "in pieces of {}", number * 40 + 1);
    }
    let kept = server.messages();
    let whole: Value = serde_json::from_str(include_str!("../../../../fixtures/wire/anthropic/reply.json")).unwrap();
    assert_eq!(kept, [user(&[text("level?")]), json!({"role": "assistant", "content": whole["content"]})]);
}

#[test]
fn a_long_conversation_folds_and_is_marked() {
    for system in [
        json!("You keep the harbour's books."),
        json!([text("You keep the harbour's books."), {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]),
    ] {
        let upstream = Upstream::new(|_, _| reply(&[text("Noted.")]));
        let server = Server::new(upstream.port, WINDOW);
        let mut history: Vec<Value> = Vec::new();
        for turn in 0..40 {
            history.push(user(&[text(&question(turn))]));
            let mut body = body(&history);
            body["system"] = system.clone();
            let answer = ask(&server, &body);
            assert_eq!(answer.status(), 200, "{}", answer.text());
            history.push(json!({"role": "assistant", "content": answer.json()["content"]}));
        }
        let asked = upstream.asked();
        for asked in &asked {
            assert_eq!(asked.json()["system"], system);
            assert!(cost(asked) + 300 <= 5000, "{}", cost(asked));
            assert!(marks(asked) <= 4);
            assert!(messages(asked).iter().all(|message| message["role"] != "system"));
        }
        let last = asked.last().unwrap();
        let first = &messages(last)[0];
        assert!(
            first["role"] == "user" && blocks(first)[0]["text"].as_str().unwrap().contains("<contents-"),
            "{first}"
        );
        // The note is there for long. Marks of the client's own keep what stands before it.
        let is_marked = blocks(first)[0]["cache_control"] == json!({"type": "ephemeral"});
        assert!(is_marked || system.is_array(), "{first}");
        assert_eq!(messages(last).last().unwrap()["content"][0]["text"], question(39));
        assert_eq!(messages(last).last().unwrap()["content"][0]["cache_control"], json!({"type": "ephemeral"}));
        let instructions = system.as_array().map_or(1, Vec::len);
        assert_eq!(server.messages().len(), 80 + instructions);
    }
}

#[test]
fn large_results_are_held_where_they_are() {
    let upstream = Upstream::new(|number, _| match number {
        0 => reply(&[call("a", "look", &json!({})), call("b", "look", &json!({})), call("c", "look", &json!({}))]),
        _ => reply(&[text("Seen.")]),
    });
    let server = Server::new(upstream.port, "");
    let mut history = Vec::new();
    say(&server, &mut history, "Look three times.");
    let large = |word: &str| format!("{word} gauge reads eleven centimetres at the pier.\n").repeat(400);
    let mut second = result("b", &large("second"));
    second["is_error"] = json!(true);
    history.push(user(&[result("a", &large("first")), second, result("c", "small"), text("All three.")]));
    let answer = ask(&server, &body(&history));
    history.push(json!({"role": "assistant", "content": answer.json()["content"]}));
    say(&server, &mut history, "And now?");
    let asked = upstream.asked();
    assert!(asked[1].text().contains("second gauge reads"), "whole in its turn");
    let held = blocks(&messages(&asked[2])[2]);
    assert!(held[0]["content"].as_str().unwrap().starts_with("[Tool result h"), "{}", held[0]);
    assert_eq!((&held[1]["content"], &held[1]["is_error"]), (&json!("Held with the result above."), &json!(true)));
    assert_eq!((&held[2], &held[3]), (&result("c", "small"), &text("All three.")));
    let ids: Vec<&Value> = held[..3].iter().map(|block| &block["tool_use_id"]).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(server.messages().len(), 6);
}

#[test]
fn a_recall_is_out_of_sight() {
    let upstream = Upstream::new(|number, _| match number {
        0 => reply(&[thought("where was it?"), text("Let me see."), search()]),
        _ => reply(&[text("It is red.")]),
    });
    let server = Server::new(upstream.port, "");
    let answer = ask(&server, &body(&[user(&[text("Which colour?")])])).json();
    let shown = [thought("where was it?"), text("Let me see."), text("It is red.")];
    assert_eq!(answer["content"], json!(shown), "as in a stream");
    assert_eq!((&answer["usage"]["output_tokens"], &answer["stop_reason"]), (&json!(4), &json!("end_turn")));
    let asked = messages(&upstream.asked()[1]);
    assert_eq!(asked[1], assistant(&[thought("where was it?"), text("Let me see."), search()]));
    assert_eq!((&asked[2]["role"], &asked[2]["content"][0]["tool_use_id"]), (&json!("user"), &json!("own_1")));
    assert_eq!(server.messages(), [user(&[text("Which colour?")]), assistant(&shown)]);
}

/// What a program left in one round is there in the next.
#[test]
fn a_recall_goes_on_where_programs_were_run() {
    let upstream = Upstream::new(|number, _| {
        if number % 2 == 1 {
            return reply(&[text("It is red.")]);
        }
        let ran = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "save()"}});
        let left =
            json!({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"stdout": ""}});
        let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [ran, left, search()],
                          "stop_reason": "tool_use", "container": {"id": "container_7", "expires_at": "2026-11-18T00:00:00Z"},
                          "usage": {"input_tokens": 10, "output_tokens": 2}});
        plain("200 OK", "content-type: application/json\r\n", &body.to_string())
    });
    let server = Server::new(upstream.port, WINDOW);
    let mut sent = body(&[user(&[text("Which colour?")])]);
    assert_eq!(ask(&server, &sent).status(), 200);
    sent["container"] = json!({"skills": [{"type": "anthropic", "skill_id": "pdf"}]});
    assert_eq!(ask(&server, &sent).status(), 200);
    let asked: Vec<Value> = upstream.asked().iter().map(|asked| asked.json()["container"].clone()).collect();
    let mut skilled = sent["container"].clone();
    skilled["id"] = json!("container_7");
    assert_eq!(asked, [Value::Null, json!("container_7"), sent["container"].clone(), skilled]);
}

/// Claude says a blank line before it calls, which is refused when it comes back; many clients leave it out.
#[test]
fn blank_words_of_a_model_are_not_sent_back() {
    let theirs = call("call_7", "look", &json!({}));
    let shown = theirs.clone();
    let upstream = Upstream::new(move |number, _| match number {
        0 => reply(&[text("\n\n"), search()]),
        1 => reply(&[text("\n\n"), theirs.clone()]),
        _ => reply(&[text("Red.")]),
    });
    let server = Server::new(upstream.port, "");
    let mut history = vec![user(&[text("Which colour?")])];
    assert_eq!(ask(&server, &body(&history)).status(), 200);
    history.extend([assistant(&[shown]), user(&[result("call_7", "a red boat")])]);
    assert_eq!(ask(&server, &body(&history)).status(), 200);
    let asked = upstream.asked();
    assert_eq!(asked.len(), 3);
    for asked in &asked[1..] {
        let sent = messages(asked);
        let said: Vec<Value> = sent.iter().filter(|message| message["role"] == "assistant").flat_map(blocks).collect();
        assert!(!said.is_empty() && said.iter().all(|block| block["type"] == "tool_use"), "{}", asked.text());
    }
}

#[test]
fn a_streamed_recall_goes_on_in_the_same_stream() {
    let first = MIXED.replace("\"name\":\"look\"", "\"name\":\"recall_page\"");
    let upstream = Upstream::new(move |number, _| stream(if number == 0 { &first } else { STREAMED }, 17, true));
    let server = Server::new(upstream.port, "");
    let mut asked = body(&[user(&[text("Colour?")])]);
    asked["stream"] = json!(true);
    let answer = ask(&server, &asked).text();
    for (event, count) in [
        ("message_start", 1),
        ("message_delta", 1),
        ("message_stop", 1),
        ("content_block_start", 5),
        ("content_block_stop", 5),
    ] {
        assert_eq!(answer.matches(&format!("event: {event}\n")).count(), count, "{event}: {answer}");
    }
    assert!(!answer.contains("own_1") && !answer.contains("recall_page"), "{answer}");
    let results = blocks(&messages(&upstream.asked()[1])[2]);
    let ids: Vec<&Value> = results.iter().map(|block| &block["tool_use_id"]).collect();
    assert_eq!(ids, ["own_1", "toolu_7"]);
}

/// The client gets its own call alone; when it comes back, the model sees what it said, and all results in one message.
fn mixed(streams: bool) {
    let blocks_said = [thought("Both."), search(), call("toolu_7", "look", &json!({"at": 1}))];
    let said = blocks_said.clone();
    let upstream = Upstream::new(move |number, _| match number {
        0 if streams => stream(MIXED, 19, true),
        0 => reply(&said),
        _ => reply(&[text("Both seen.")]),
    });
    let mut server = Server::new(upstream.port, "");
    let mut history = vec![user(&[text("Look and remember.")])];
    let mut asked = body(&history);
    asked["stream"] = json!(streams);
    asked["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    let answer = ask(&server, &asked);
    assert!(!answer.text().contains("own_1") && answer.text().contains("toolu_7"), "{}", answer.text());
    let mut thought_of = blocks_said[0].clone();
    if streams {
        thought_of["signature"] = json!("c2ln");
    } else {
        assert_eq!(answer.json()["stop_reason"], "tool_use");
        assert_eq!(answer.json()["content"], json!([thought_of, blocks_said[2]]));
    }
    server.restart(|_| ());
    history.push(assistant(&[thought_of, blocks_said[2].clone()]));
    history.push(user(&[result("toolu_7", "a boat"), text("Well?")]));
    asked["messages"] = json!(history);
    asked["stream"] = json!(false);
    let last = ask(&server, &asked);
    assert_eq!(last.json()["content"][0]["text"], "Both seen.");
    let window = messages(&upstream.asked()[1]);
    assert_eq!(window.len(), 3, "{window:?}");
    assert_eq!(window[1], assistant(&blocks_said), "as the model made it");
    let ids: Vec<Value> = blocks(&window[2]).iter().map(|block| block["tool_use_id"].clone()).collect();
    assert_eq!(ids, [json!("own_1"), json!("toolu_7"), Value::Null], "in the order of the calls, then the rest");
    history.extend([assistant(&[text("Both seen.")]), user(&[text("Thanks.")])]);
    asked["messages"] = json!(history);
    ask(&server, &asked);
    assert!(!upstream.asked()[2].text().contains("own_1"), "gone with the turn");
    assert_eq!(server.messages().len(), 6);
}

#[test]
fn mixed_calls_are_parked_and_put_back() {
    mixed(false);
}

#[test]
fn streamed_mixed_calls_are_parked_and_put_back() {
    mixed(true);
}

/// Otherwise it would recall for ever, and its client get a reply with nothing in it.
#[test]
fn an_agent_that_must_call_is_not_offered_ours_when_recall_is_used_up() {
    let upstream = Upstream::new(|number, asked| {
        let offered = asked.json()["tools"].to_string().contains("search_history");
        let own = call(&format!("own_{number}"), "search_history", &json!({"words": "x"}));
        reply(&[if offered { own } else { call("toolu_7", "look", &json!({})) }])
    });
    let server = Server::new(upstream.port, "");
    let mut asked = body(&[user(&[text("Go.")])]);
    asked["tool_choice"] = json!({"type": "any"});
    assert_eq!(ask(&server, &asked).json()["content"], json!([call("toolu_7", "look", &json!({}))]));
    let choices: Vec<Value> = upstream.asked().iter().map(|asked| asked.json()["tool_choice"].clone()).collect();
    assert_eq!(choices, vec![json!({"type": "any"}); 5]);
}

#[test]
fn a_recall_before_a_mixed_reply_is_put_back_once() {
    let upstream = Upstream::new(|number, _| match number {
        0 => reply(&[thought("first"), call("own_0", "search_history", &json!({"words": "x"}))]),
        1 => reply(&[thought("then"), search(), call("toolu_7", "look", &json!({}))]),
        _ => reply(&[text("Done.")]),
    });
    let server = Server::new(upstream.port, "");
    let mut asked = body(&[user(&[text("Go.")])]);
    asked["model"] = json!("claude-fable-5-1");
    asked["thinking"] = json!({"type": "adaptive"});
    let answer = ask(&server, &asked).json();
    let history = [
        user(&[text("Go.")]),
        json!({"role": "assistant", "content": answer["content"]}),
        user(&[result("toolu_7", "a boat")]),
    ];
    asked["messages"] = json!(history);
    ask(&server, &asked);
    let window = messages(&upstream.asked()[2]);
    let roles: Vec<&str> = window.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"], "{window:?}");
    assert_eq!(
        window[3],
        assistant(&[thought("then"), search(), call("toolu_7", "look", &json!({}))]),
        "bound and right"
    );
    assert_eq!(blocks(&window[1])[0], thought("first"));
}

/// A model that thinks, and looks at things when it is told to.
fn thinking(number: usize, asked: &Said) -> Vec<Option<Vec<u8>>> {
    let last = messages(asked).pop().unwrap().to_string();
    if last.contains("LOOK") {
        reply(&[thought(&format!("thought {number}")), call(&format!("c{number}"), "look", &json!({}))])
    } else {
        reply(&[thought(&format!("thought {number}")), text("Noted.")])
    }
}

fn ask_thinking(server: &Server, history: &mut Vec<Value>, model: &str, said: Value) {
    history.push(said);
    let mut body = body(history);
    body["model"] = json!(model);
    body["thinking"] = json!({"type": "adaptive"});
    let answer = ask(server, &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    history.push(json!({"role": "assistant", "content": answer.json()["content"]}));
}

fn thoughts(asked: &Said) -> Vec<String> {
    let all = messages(asked).into_iter().flat_map(|message| blocks(&message));
    all.filter_map(|block| block["thinking"].as_str().map(str::to_owned)).collect()
}

#[test]
fn reasoning_stays_until_the_window_changes_and_is_told_of_then() {
    for model in ["claude-opus-4-5", "claude-fable-5-1"] {
        let upstream = Upstream::new(thinking);
        let server = Server::new(upstream.port, WINDOW);
        let mut history = Vec::new();
        let mut turn = 0;
        let folded = |upstream: &Upstream| upstream.asked().last().unwrap().text().contains("<contents-");
        while turn == 0 || !folded(&upstream) {
            ask_thinking(&server, &mut history, model, user(&[text(&question(turn))]));
            turn += 1;
            assert!(turn < 60, "it folds in the end");
        }
        let asked = upstream.asked();
        assert_eq!(thoughts(&asked[asked.len() - 2]).len(), asked.len() - 2, "{model}: all of it as it was");
        assert!(thoughts(asked.last().unwrap()).is_empty(), "{model}: {:?}", thoughts(asked.last().unwrap()));
        let told = notices(&server);
        assert!(
            told.len() == 1
                && told[0].starts_with("reasoning of m")
                && told[0].ends_with("was left out: it was made under another window"),
            "{told:?}"
        );
        let number = asked.len() - 1;
        ask_thinking(&server, &mut history, model, user(&[text("LOOK once more.")]));
        assert_eq!(
            thoughts(upstream.asked().last().unwrap()),
            [format!("thought {number}")],
            "{model}: what was made under the new window stays"
        );
        let last = format!("c{}", upstream.asked().len() - 1);
        ask_thinking(&server, &mut history, model, user(&[result(&last, "a boat")]));
        assert_eq!(thoughts(upstream.asked().last().unwrap()).len(), 2, "{model}: also while tools are at work");
    }
}

/// Nobody knows of every model whether it minds, and of every reply what was made of it on the way.
#[test]
fn reasoning_that_is_refused_is_left_out_and_the_turn_goes_on() {
    let bound = "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.";
    let modified = "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.";
    for (why, times) in [(bound, 3), (modified, 2)] {
        let refused = move |number: usize, asked: &Said| {
            let is_result = messages(asked).pop().unwrap().to_string().contains("tool_result");
            if is_result && !thoughts(asked).is_empty() {
                let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": why}});
                return plain("400 Bad Request", "content-type: application/json\r\n", &error.to_string());
            }
            thinking(number, asked)
        };
        let upstream = Upstream::new(refused);
        let server = Server::new(upstream.port, WINDOW);
        let (mut history, model) = (Vec::new(), "claude-opus-4-5");
        ask_thinking(&server, &mut history, model, user(&[text("LOOK at the crane.")]));
        let id = blocks(&history[1])[1]["id"].as_str().unwrap().to_owned();
        ask_thinking(&server, &mut history, model, user(&[result(&id, "It turns.")]));
        let asked = upstream.asked();
        assert_eq!(asked.len(), 1 + times, "{why}");
        assert_eq!(messages(&asked[times])[1], assistant(&[call(&id, "look", &json!({}))]), "{why}");
        assert!(notices(&server).iter().any(|notice| notice.contains("its provider refused it")), "{why}");
    }
    let client = Upstream::new(|_, _| {
        plain("400 Bad Request", "content-type: application/json\r\n", "Invalid `signature` in `thinking` block")
    });
    let server = Server::new(client.port, "recall = \"off\"\n");
    assert_eq!(ask(&server, &begun_elsewhere("claude-opus-4-5")).status(), 400);
    assert_eq!(client.asked().len(), 1, "what is all the client's own is its own business");
}

/// Some servers of this dialect do not go on without the thoughts that led to calls, however old they are.
#[test]
fn reasoning_that_is_missed_is_sent_wherever_it_stands() {
    let upstream = Upstream::new(|number, asked| {
        let forgets = |message: &Value| {
            let has = |kind: &str| blocks(message).iter().any(|block| block["type"] == kind);
            has("tool_use") && !has("thinking")
        };
        if messages(asked).iter().any(forgets) {
            let what = "The `content[].thinking` in the thinking mode must be passed back to the API.";
            let error = json!({"error": {"message": what, "type": "invalid_request_error"}});
            return plain("400 Bad Request", "content-type: application/json\r\n", &error.to_string());
        }
        thinking(number, asked)
    });
    let server = Server::new(upstream.port, &WINDOW.replace("5000", "12000"));
    let (mut history, model) = (Vec::new(), "deepseek-v4-pro");
    let called = |history: &[Value]| blocks(history.last().unwrap())[1]["id"].as_str().unwrap().to_owned();
    ask_thinking(&server, &mut history, model, user(&[text("LOOK at the crane.")]));
    let large = format!("LOOK at the log.\n{}", "The crane turns by day and by night.\n".repeat(300));
    let id = called(&history);
    ask_thinking(&server, &mut history, model, user(&[result(&id, &large)]));
    let id = called(&history);
    ask_thinking(&server, &mut history, model, user(&[result(&id, "It is oiled.")]));
    for (turn, asked) in [("And the quay?", 5), ("And the boats?", 6)] {
        ask_thinking(&server, &mut history, model, user(&[text(turn)]));
        assert_eq!(upstream.asked().len(), asked, "it is refused once: {turn}");
        let last = upstream.asked().pop().unwrap();
        assert!(last.text().contains("[Tool result h"), "what was large is held: {}", last.text());
        assert_eq!(thoughts(&last).len(), asked - 2, "{turn}");
    }
}

#[test]
fn reasoning_of_several_rounds_does_not_come_back() {
    let upstream = Upstream::new(|number, asked| match number {
        0 => reply(&[thought("first"), search()]),
        _ => thinking(number, asked),
    });
    let server = Server::new(upstream.port, "");
    let mut history = Vec::new();
    ask_thinking(&server, &mut history, "claude-fable-5-1", user(&[text("Colour?")]));
    ask_thinking(&server, &mut history, "claude-fable-5-1", user(&[text("Sure?")]));
    ask_thinking(&server, &mut history, "claude-fable-5-1", user(&[text("Really?")]));
    let asked = upstream.asked();
    assert_eq!(thoughts(&asked[1]), ["first"], "the round itself");
    assert!(thoughts(&asked[2]).is_empty());
    assert_eq!(thoughts(&asked[3]), ["thought 2"]);
    assert_eq!(notices(&server).len(), 2);
}

/// A conversation that was begun without us, by a model that thinks.
fn begun_elsewhere(model: &str) -> Value {
    let history =
        [user(&[text("Which colour?")]), assistant(&[thought("elsewhere"), text("Red.")]), user(&[text("Sure?")])];
    let mut body = body(&history);
    body["model"] = json!(model);
    body["thinking"] = json!({"type": "adaptive"});
    body
}

#[test]
fn reasoning_made_without_our_tools_is_left_out_where_a_model_minds() {
    let upstream = Upstream::new(thinking);
    let server = Server::new(upstream.port, "");
    let mut asked = begun_elsewhere("claude-fable-5-1");
    let answer = ask(&server, &asked);
    let mut history = asked["messages"].as_array().unwrap().clone();
    history.extend([json!({"role": "assistant", "content": answer.json()["content"]}), user(&[text("Really?")])]);
    asked["messages"] = json!(history);
    ask(&server, &asked);
    let sent = upstream.asked();
    assert!(thoughts(&sent[0]).is_empty(), "{}", sent[0].text());
    assert_eq!(thoughts(&sent[1]), ["thought 0"], "what was made with them stays");
    let told = notices(&server);
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("left out: it was not made with the tools that Scrollback adds"), "{told:?}");
}

#[test]
fn reasoning_made_without_us_passes_where_nothing_is_added_or_minded() {
    let upstream = Upstream::new(thinking);
    let server = Server::new(upstream.port, "recall = \"off\"\n");
    let asked = begun_elsewhere("claude-fable-5-1");
    ask(&server, &asked);
    assert_eq!(upstream.asked()[0].text(), asked.to_string());
    let server = Server::new(upstream.port, "");
    let asked = begun_elsewhere("claude-opus-4-5");
    ask(&server, &asked);
    assert!(upstream.asked()[1].text().contains(&asked["messages"].to_string()));
}

#[test]
fn marks_of_instructions_from_the_log_are_not_sent_again() {
    let upstream = Upstream::new(|_, _| reply(&[text("Noted.")]));
    let server = Server::new(upstream.port, "recall = \"text\"\n");
    let marked = |mut value: Value| {
        value["cache_control"] = json!({"type": "ephemeral"});
        value
    };
    let system = ["Be brief.", "Be kind.", "Be right."].map(text);
    let instructions = json!({"role": "system", "content": system.clone().map(marked)});
    let history = [instructions, user(&[text("One.")]), assistant(&[text("Noted.")]), user(&[marked(text("Two."))])];
    let mut sent = body(&history);
    sent["tools"] = json!([marked(json!({"name": "look", "input_schema": {"type": "object"}}))]);
    let answer = ask(&server, &sent);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let asked = upstream.asked().pop().unwrap();
    assert_eq!((&asked.json()["system"].as_array().unwrap()[..3], messages(&asked).len()), (&system[..], 3));
    assert!((2..=4).contains(&marks(&asked)), "{}", asked.text());
}

#[test]
fn compress_is_answered_in_the_same_dialect() {
    let upstream = Upstream::new(|_, _| reply(&[text("Noted.")]));
    let server = Server::new(upstream.port, "[window]\nstrategy = \"pages\"\ntokens = 20000\nreply_tokens = 300\n");
    let mut history = Vec::new();
    talk(&server, &mut history, 0..15);
    let answer = say(&server, &mut history, "/compress").json();
    assert_eq!(
        (&answer["type"], &answer["role"], &answer["stop_reason"]),
        (&json!("message"), &json!("assistant"), &json!("end_turn"))
    );
    assert!(answer["content"][0]["text"].as_str().unwrap().starts_with("Folded: "), "{answer}");
    assert_eq!(upstream.asked().len(), 15, "no model is asked");
    say(&server, &mut history, "And now?");
    let last = upstream.asked().pop().unwrap();
    assert!(!last.text().contains("/compress") && messages(&last).len() < 26);
    assert!((1..=4).contains(&marks(&last)), "{}", marks(&last));
    history.push(user(&[text("/compress")]));
    let mut streaming = body(&history);
    streaming["stream"] = json!(true);
    let told = ask(&server, &streaming).text();
    assert!(
        told.starts_with("event: message_start\ndata: {")
            && told.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
    );
}

#[test]
fn errors_have_the_shape_of_the_dialect() {
    let upstream = Upstream::new(|_, _| {
        plain(
            "529 Overloaded",
            "content-type: application/json\r\n",
            "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
        )
    });
    let server = Server::new(upstream.port, WINDOW);
    let hello = body(&[user(&[text("hello")])]);
    let answer = ask(&server, &hello);
    assert_eq!(
        (answer.status(), answer.text().as_str()),
        (529, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}")
    );
    let answer = ask(&server, &body(&[user(&[text(&"tide ".repeat(30_000))])]));
    assert_eq!(
        (answer.status(), &answer.json()["type"], &answer.json()["error"]["type"]),
        (400, &json!("error"), &json!("invalid_request_error"))
    );
    let gone = Server::new(1, "");
    let answer = ask(&gone, &hello);
    assert_eq!(
        (answer.status(), &answer.json()["type"], &answer.json()["error"]["type"]),
        (502, &json!("error"), &json!("api_error"))
    );
}

#[test]
fn an_error_in_the_middle_is_told_and_half_a_reply_is_not_kept() {
    let (head, _) = STREAMED.split_once("event: content_block_stop").unwrap();
    let broken = format!(
        "{head}event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"busy\"}}}}\n\n"
    );
    let said = broken.clone();
    let upstream = Upstream::new(move |_, _| stream(&said, 23, true));
    let server = Server::new(upstream.port, "");
    let mut asked = body(&[user(&[text("Say.")])]);
    asked["stream"] = json!(true);
    assert_eq!(ask(&server, &asked).text(), broken);
    assert_eq!(server.messages(), [user(&[text("Say.")])]);
    let ledger = on_record(&server, "--ledger");
    assert!(ledger.iter().any(|entry| entry["view"].is_string()), "it is paid for all the same: {ledger:?}");
}

#[test]
fn a_later_round_that_fails_is_an_event() {
    let first = MIXED.replace("\"name\":\"look\"", "\"name\":\"recall_page\"");
    let upstream = Upstream::new(move |number, _| match number {
        0 => stream(&first, 100, true),
        _ => plain("500 Oops", "", "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"oops\"}}"),
    });
    let server = Server::new(upstream.port, "");
    let mut asked = body(&[user(&[text("Say.")])]);
    asked["stream"] = json!(true);
    let answer = ask(&server, &asked).text();
    assert!(
        answer.ends_with(
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"oops\"}}\n\n"
        ),
        "{answer}"
    );
    assert!(!answer.contains("message_stop"));
}

#[test]
fn a_round_of_which_nothing_comes_is_told_as_an_error() {
    for nothing in crate::scene::nothing() {
        let first = MIXED.replace("\"name\":\"look\"", "\"name\":\"recall_page\"");
        let upstream =
            Upstream::new(move |number, _| if number == 0 { stream(&first, 100, true) } else { nothing.clone() });
        let server = Server::new(upstream.port, "");
        let mut asked = body(&[user(&[text("Say.")])]);
        asked["stream"] = json!(true);
        let answer = ask(&server, &asked).text();
        assert!(answer.contains("event: error\n") && !answer.contains("message_stop"), "{answer}");
        assert_eq!((upstream.asked().len(), server.messages()), (2, vec![user(&[text("Say.")])]));
    }
}

#[test]
fn a_client_that_leaves_takes_nothing_with_it() {
    let (head, tail) = STREAMED.split_at(STREAMED.find("event: hologram").unwrap());
    let (head, tail) = (head.to_owned(), tail.to_owned());
    let upstream = Upstream::new(move |number, _| {
        if number > 0 {
            return reply(&[text("Fine.")]);
        }
        let mut pieces = stream(&head, 64, true);
        pieces.pop();
        std::thread::sleep(Duration::from_millis(10));
        pieces.extend(stream(&tail, 64, true).into_iter().skip(1));
        pieces
    });
    let server = Server::new(upstream.port, "");
    let mut asked = body(&[user(&[text("level?")])]);
    asked["stream"] = json!(true);
    let sent = asked.to_string();
    let mut client = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", sent.len());
    client.write_all((head + &sent).as_bytes()).unwrap();
    let mut begun = [0; 64];
    client.read_exact(&mut begun).unwrap();
    drop(client);
    std::thread::sleep(Duration::from_millis(300));
    let mut history = vec![user(&[text("level?")]), assistant(&[text("Half")])];
    say(&server, &mut history, "Are you there?");
    assert_eq!(server.messages().last().unwrap()["content"][0]["text"], "Fine.");
}

#[test]
fn a_model_without_tools_writes_what_it_needs() {
    let upstream = Upstream::new(|number, _| match number {
        0 => reply(&[text("[NEED_CONTEXT: lighthouse]")]),
        _ => reply(&[text("It is red.")]),
    });
    let server = Server::new(upstream.port, "recall = \"text\"\n");
    let mut asked = body(&[user(&[text("Colour?")])]);
    asked["system"] = json!("Be brief.");
    let answer = ask(&server, &asked).json();
    assert_eq!(answer["content"], json!([text("It is red.")]));
    let sent = upstream.asked()[0].json();
    assert_eq!((&sent["system"][0], sent["system"].as_array().unwrap().len()), (&text("Be brief."), 2));
    assert!(sent["system"][1]["text"].as_str().unwrap().contains("NEED_CONTEXT"));
    assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
    assert_eq!(messages(&upstream.asked()[1]).len(), 3);
}

#[test]
fn what_a_provider_folds_itself_passes_as_it_came() {
    let upstream = Upstream::new(|_, _| reply(&[text("Noted.")]));
    let server = Server::new(upstream.port, WINDOW);
    let mut long: Vec<Value> = Vec::new();
    for turn in 0..40 {
        long.extend([user(&[text(&question(turn))]), assistant(&[text("Noted.")])]);
    }
    long.push(user(&[text("Well?")]));
    let mut asked = body(&long);
    asked["context_management"] = json!({"edits": [{"type": "compact_20260112"}]});
    ask(&server, &asked);
    assert_eq!(upstream.asked()[0].text(), asked.to_string());
}

#[test]
fn a_compaction_of_the_clients_stays_first() {
    let upstream = Upstream::new(|_, _| reply(&[text("Noted.")]));
    let server = Server::new(upstream.port, WINDOW);
    let compaction = json!({"type": "compaction", "content": "All that was before.", "signature": "c2ln"});
    let mut history = vec![user(&[text("Begin.")]), assistant(&[compaction.clone(), text("Ready.")])];
    talk(&server, &mut history, 0..40);
    let last = upstream.asked().pop().unwrap();
    assert!(last.text().contains("<contents-"));
    assert_eq!(messages(&last)[0], assistant(&[compaction]));
    assert_eq!(last.text().matches("\"compaction\"").count(), 1);
}

#[test]
fn the_built_in_responder_speaks_it() {
    let server = Server::new(1, "");
    let mut history = vec![user(&[text("The lamp of the lighthouse was bought from Larsen for 4417 crowns.")])];
    let mut asked = body(&history);
    asked["model"] = json!("quote");
    let first = ask(&server, &asked).json();
    assert_eq!((&first["type"], &first["stop_reason"]), (&json!("message"), &json!("end_turn")));
    history.extend([
        json!({"role": "assistant", "content": first["content"]}),
        user(&[text("Who sold the lamp of the lighthouse?")]),
    ]);
    asked["messages"] = json!(history);
    let answer = ask(&server, &asked).json();
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("Larsen"), "{answer}");
    asked["stream"] = json!(true);
    assert!(ask(&server, &asked).text().contains("Larsen"));
}
