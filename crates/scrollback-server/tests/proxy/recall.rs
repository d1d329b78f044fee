//! The recall loop: calls of ours are answered out of the client's sight; mixed calls are parked and put back.

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, events, reply, says, stream, user};

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn search() -> Value {
    call("own_1", "search_history", &json!({"words": "lighthouse"}))
}

fn roles(asked: &Said) -> Vec<String> {
    let asked = asked.json();
    asked["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

fn with_tools(history: &[Value]) -> Value {
    let mut body = chat(history);
    body["tools"] = json!([{"type": "function", "function": {"name": "look", "parameters": {}}}]);
    body
}

#[test]
fn a_recall_is_out_of_sight() {
    let upstream =
        Upstream::new(|number, _| if number == 0 { reply(&calls(&[search()])) } else { reply(&says("It is red.")) });
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("Which colour?")]));
    assert_eq!(answer.json()["choices"][0]["message"], says("It is red."));
    assert!(!answer.text().contains("own_1") && !answer.text().contains("search_history"));
    let asked = upstream.asked();
    assert_eq!(roles(&asked[1]), ["user", "assistant", "tool"]);
    assert_eq!(asked[1].json()["messages"][2]["tool_call_id"], "own_1");
    assert_eq!(server.messages(), [user("Which colour?"), says("It is red.")]);
}

/// What is said before a recall reaches the client and the log, streamed or not.
#[test]
fn words_before_a_recall_are_kept_without_a_stream() {
    let upstream = Upstream::new(|number, _| match number {
        0 => {
            let mut first = calls(&[search()]);
            (first["content"], first["reasoning_content"]) = (json!("Let me see. "), json!("Where was it? "));
            reply(&first)
        }
        _ => reply(&json!({"role": "assistant", "content": "It is red.", "reasoning_content": "There."})),
    });
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("Which colour?")])).json();
    let shown =
        json!({"role": "assistant", "content": "Let me see. It is red.", "reasoning_content": "Where was it? There."});
    assert_eq!(answer["choices"][0]["message"], shown);
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(server.messages(), [user("Which colour?"), shown]);
}

#[test]
fn a_model_that_always_recalls_must_answer_in_the_end() {
    let upstream = Upstream::new(|number, asked| {
        let own = call(&format!("own_{number}"), "search_history", &json!({"words": "x"}));
        if asked.json()["tool_choice"] == "none" { reply(&says("All right.")) } else { reply(&calls(&[own])) }
    });
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("Go.")]));
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "All right.");
    assert_eq!(upstream.asked().len(), 4, "three rounds and the answer");
}

/// Some servers take `tool_choice` and do nothing with it.
#[test]
fn a_model_that_nothing_keeps_from_recalling_is_asked_without_our_tools() {
    for tools in [None, Some("look")] {
        let upstream = Upstream::new(|number, asked| {
            let offered = asked.json()["tools"].to_string().contains("search_history");
            let own = call(&format!("own_{number}"), "search_history", &json!({"words": "x"}));
            reply(&if offered { calls(&[own]) } else { says("All right.") })
        });
        let server = Server::new(upstream.port, "");
        let asked = [user("Go.")];
        let answer = server.ask(&if tools.is_some() { with_tools(&asked) } else { chat(&asked) });
        assert_eq!(answer.json()["choices"][0]["message"], says("All right."));
        let rounds = upstream.asked().len();
        assert_eq!(rounds, if tools.is_some() { 6 } else { 5 }, "one more than a model that heeds it");
        let last = upstream.asked()[rounds - 1].json();
        assert_eq!(last["tools"].as_array().map(Vec::len), tools.map(|_| 1), "the client's own stay");
        assert_eq!(server.messages(), [user("Go."), says("All right.")]);
    }
}

#[test]
fn mixed_calls_are_parked_and_put_back() {
    let theirs = call("call_7", "look", &json!({"at": 1}));
    let mine = theirs.clone();
    let upstream = Upstream::new(move |number, _| match number {
        0 => reply(&calls(&[search(), mine.clone()])),
        _ => reply(&says("Both seen.")),
    });
    let server = Server::new(upstream.port, "");
    let mut history = vec![user("Look and remember.")];
    let answer = server.ask(&with_tools(&history)).json();
    let message = answer["choices"][0]["message"].clone();
    assert_eq!(message["tool_calls"], json!([theirs]));
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    history.extend([message, json!({"role": "tool", "tool_call_id": "call_7", "content": "a boat"})]);
    let last = server.ask(&with_tools(&history)).json();
    assert_eq!(last["choices"][0]["message"]["content"], "Both seen.");
    let asked = upstream.asked()[1].json();
    let messages = asked["messages"].as_array().unwrap();
    let ids: Vec<&Value> = messages[1]["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
    assert_eq!(ids, ["own_1", "call_7"], "the reply as the model made it");
    let results: Vec<&Value> = messages[2..].iter().map(|message| &message["tool_call_id"]).collect();
    assert_eq!(results, ["own_1", "call_7"], "each call has its result");
    history.extend([says("Both seen."), user("Thanks.")]);
    server.ask(&with_tools(&history));
    assert!(!upstream.asked()[2].text().contains("own_1"), "gone with the turn");
}

#[test]
fn a_streamed_recall_goes_on_in_the_same_stream() {
    let text = |content: &str| json!({"content": content});
    let first = events(
        &[
            json!({"role": "assistant", "content": ""}),
            text("Let me see. "),
            json!({"tool_calls": [{"index": 0, "id": "own_1", "type": "function", "function": {"name": "search_history", "arguments": ""}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"words\":\"x\"}"}}]}),
        ],
        "tool_calls",
    );
    let second =
        events(&[json!({"role": "assistant", "content": ""}), text("Red"), text(".")], "stop").replace("c1", "c2");
    let upstream = Upstream::new(move |number, _| stream(if number == 0 { &first } else { &second }, 7, true));
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("Colour?")])).text();
    let chunks: Vec<Value> =
        answer.split("\n\n").filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok()).collect();
    let said: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(said, "Let me see. Red.");
    assert!(chunks.iter().all(|chunk| chunk["id"] == "c1"), "{answer}");
    assert_eq!(chunks.iter().filter(|chunk| !chunk["choices"][0]["finish_reason"].is_null()).count(), 1);
    assert_eq!(chunks.iter().filter(|chunk| chunk["choices"][0]["delta"].get("role").is_some()).count(), 1);
    assert_eq!(answer.matches("[DONE]").count(), 1);
    assert!(!answer.contains("own_1"));
}

/// Some servers tell what a reply cost where they tell that it ends.
#[test]
fn the_output_of_all_rounds_is_told_wherever_it_stands() {
    let usage = "\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,\"total_tokens\":12,\"completion_tokens_details\":{\"reasoning_tokens\":4}},\"choices\"";
    let first = events(&[calls(&[search()])], "tool_calls").replace("\"choices\"", usage);
    let second = events(&[json!({"content": "Red."})], "stop").replace("\"choices\"", usage);
    let upstream = Upstream::new(move |number, _| stream(if number == 0 { &first } else { &second }, 7, true));
    let server = Server::new(upstream.port, "");
    let told = chunks(&server.ask(&chat(&[user("Colour?")])).text());
    let usage = &told.last().unwrap()["usage"];
    assert_eq!(usage["completion_tokens"], 14, "{told:?}");
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 8, "{told:?}");
}

/// Others tell it after the end, in a chunk that says nothing more.
#[test]
fn the_output_of_all_rounds_is_told_after_the_end() {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12});
    let after = |text: String| {
        let choice = json!({"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null});
        let last = json!({"id": "c1", "object": "chat.completion.chunk", "choices": [choice], "usage": usage});
        text.replace("data: [DONE]", &format!("data: {last}\n\ndata: [DONE]"))
    };
    for (recall, asks) in [("tools", calls(&[search()])), ("text", says("[NEED_CONTEXT: lighthouse]"))] {
        let first = after(events(&[asks], "stop"));
        let second = after(events(&[json!({"content": "Red."})], "stop"));
        let upstream = Upstream::new(move |number, _| stream(if number == 0 { &first } else { &second }, 7, true));
        let server = Server::new(upstream.port, &format!("recall = \"{recall}\"\n"));
        let told = chunks(&server.ask(&chat(&[user("Colour?")])).text());
        let costs: Vec<&Value> = told.iter().map(|chunk| &chunk["usage"]).filter(|usage| usage.is_object()).collect();
        assert_eq!(costs.len(), 1, "{told:?}");
        assert_eq!(costs[0]["completion_tokens"], 14, "{told:?}");
        assert!(told.last().unwrap()["usage"].is_object(), "{told:?}");
    }
}

/// Where the end waits until the reply is kept, so does what comes after it.
#[test]
fn what_comes_after_an_end_that_waits_comes_after_it() {
    let usage = json!({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 5}});
    let said = [json!({"role": "assistant", "content": "Red", "tool_calls": null}), json!({"content": "."})];
    let text = events(&said, "stop").replace("data: [DONE]", &format!("data: {usage}\n\ndata: [DONE]"));
    let sent = text.clone();
    let upstream = Upstream::new(move |_, _| stream(&sent, 7, true));
    let server = Server::new(upstream.port, "");
    let headers = "x-scrollback-session: s\r\nx-scrollback-history: new\r\n";
    let answer = server.send("POST /v1/chat/completions", headers, &chat(&[user("Colour?")]).to_string());
    assert_eq!(answer.text(), text);
}

/// What signs a block of reasoning signs all of it: it goes back in one piece, though it came in several.
#[test]
fn reasoning_that_is_signed_goes_back_whole() {
    let piece = |name: &str, value: &str, index: u32| {
        let mut piece = json!({"type": "reasoning.text", "format": "anthropic-claude-v1", "index": index});
        piece[name] = json!(value);
        json!({"role": "assistant", "content": "", "reasoning_details": [piece]})
    };
    let said = [
        piece("text", "Where", 0),
        piece("text", " was it?", 0),
        piece("signature", "Et8B", 0),
        piece("text", "Here.", 1),
        json!({"reasoning_details": null, "tool_calls": [search()]}),
    ];
    let first = events(&said, "tool_calls");
    let second = events(&[json!({"content": "Red."})], "stop");
    let upstream = Upstream::new(move |number, _| stream(if number == 0 { &first } else { &second }, 7, true));
    let server = Server::new(upstream.port, "");
    server.ask(&chat(&[user("Colour?")]));
    let sent = upstream.asked()[1].json()["messages"][1]["reasoning_details"].clone();
    let (kind, format) = ("reasoning.text", "anthropic-claude-v1");
    let whole = [
        json!({"type": kind, "format": format, "index": 0, "text": "Where was it?", "signature": "Et8B"}),
        json!({"type": kind, "format": format, "index": 1, "text": "Here."}),
    ];
    assert_eq!(sent, json!(whole));
}

#[test]
fn streamed_mixed_calls_are_renumbered() {
    let piece = |index: u32, id: &str, name: &str| json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]});
    let text = events(
        &[
            json!({"role": "assistant"}),
            piece(0, "own_1", "search_history"),
            piece(1, "call_a", "look"),
            piece(2, "call_b", "look"),
        ],
        "tool_calls",
    );
    let upstream = Upstream::new(move |_, _| stream(&text, 11, true));
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&with_tools(&[user("Look twice.")])).text();
    let chunks: Vec<Value> =
        answer.split("\n\n").filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok()).collect();
    let seen: Vec<(Value, Value)> = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array())
        .flatten()
        .map(|call| (call["index"].clone(), call["id"].clone()))
        .collect();
    assert_eq!(seen, [(json!(0), json!("call_a")), (json!(1), json!("call_b"))]);
    assert!(!answer.contains("own_1"));
}

#[test]
fn a_model_without_tools_writes_what_it_needs() {
    let upstream = Upstream::new(|number, _| match number {
        0 => stream(
            &events(
                &[json!({"role": "assistant", "content": "[NEED_CON"}), json!({"content": "TEXT: lighthouse]"})],
                "stop",
            ),
            5,
            true,
        ),
        _ => stream(&events(&[json!({"role": "assistant", "content": "It is red."})], "stop"), 5, true),
    });
    let server = Server::new(upstream.port, "recall = \"text\"\n");
    let answer = server.ask(&chat(&[user("Colour?")])).text();
    assert!(
        answer.contains("It is red.") && !answer.contains("NEED_CON") && !answer.contains("lighthouse"),
        "{answer}"
    );
    let asked = upstream.asked();
    assert!(asked[0].json().get("tools").is_none());
    assert_eq!(roles(&asked[0]), ["system", "user"]);
    assert_eq!(roles(&asked[1]), ["system", "user", "assistant", "user"]);
    assert_eq!(server.messages().len(), 2);
}

#[test]
fn a_window_its_model_calls_too_long_is_sent_smaller_once() {
    let upstream = Upstream::new(|number, _| match number {
        1 => crate::scene::plain(
            "400 Bad Request",
            "content-type: application/json\r\n",
            "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}",
        ),
        _ => reply(&says("Fine.")),
    });
    let server = Server::new(upstream.port, "");
    let mut history: Vec<Value> = Vec::new();
    for i in 0..12 {
        history.push(user(&format!("Question {i}: {}", "how high is the tide today? ".repeat(30))));
        history.push(says("About two metres."));
    }
    history.push(user("And now?"));
    server.ask(&chat(&[user("warm up")]));
    let answer = server.ask(&chat(&history));
    assert_eq!((answer.status(), &answer.json()["choices"][0]["message"]["content"]), (200, &json!("Fine.")));
    let asked = upstream.asked();
    assert!(asked[2].body.len() * 10 < asked[1].body.len() * 7, "{} then {}", asked[1].body.len(), asked[2].body.len());
}

fn chunks(answer: &str) -> Vec<Value> {
    answer.split("\n\n").filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok()).collect()
}

fn seen_calls(answer: &str) -> Vec<(Value, String, String)> {
    let mut seen: Vec<(Value, String, String)> = Vec::new();
    let all = chunks(answer);
    let pieces = all.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array()).flatten();
    for piece in pieces {
        let text = |name: &str| piece["function"][name].as_str().unwrap_or_default().to_owned();
        match seen.iter_mut().find(|(index, ..)| *index == piece["index"]) {
            Some((_, name, arguments)) => {
                name.push_str(&text("name"));
                arguments.push_str(&text("arguments"));
            }
            None => seen.push((piece["index"].clone(), text("name"), text("arguments"))),
        }
    }
    seen
}

#[test]
fn calls_without_numbers_and_names_in_pieces_are_told_apart() {
    let piece = |piece: Value| json!({"tool_calls": [piece]});
    let text = events(
        &[
            json!({"role": "assistant"}),
            piece(json!({"id": "own_1", "type": "function", "function": {"name": "search", "arguments": ""}})),
            piece(json!({"function": {"name": "_history", "arguments": "{\"words\":\"x\"}"}})),
            piece(json!({"id": "call_a", "type": "function", "function": {"name": "sea", "arguments": ""}})),
            piece(json!({"function": {"name": "l", "arguments": "{\"n\":1}"}})),
            piece(json!({"id": "call_b", "type": "function", "function": {"name": "look", "arguments": "{}"}})),
        ],
        "tool_calls",
    );
    let upstream = Upstream::new(move |_, _| stream(&text, 13, true));
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&with_tools(&[user("Look.")])).text();
    let expected =
        [(json!(0), "seal".to_owned(), "{\"n\":1}".to_owned()), (json!(1), "look".to_owned(), "{}".to_owned())];
    assert_eq!(seen_calls(&answer), expected, "{answer}");
    assert!(!answer.contains("own_1"));
    let kept = &server.messages()[1]["tool_calls"];
    assert_eq!((&kept[0]["function"]["name"], &kept[1]["id"]), (&json!("seal"), &json!("call_b")));
}

#[test]
fn calls_of_custom_tools_reach_the_client_and_the_log() {
    let piece = |piece: Value| json!({"tool_calls": [piece]});
    let deltas = [
        json!({"role": "assistant"}),
        piece(json!({"index": 0, "id": "call_a", "type": "custom", "custom": {"name": "run", "input": ""}})),
        piece(json!({"index": 0, "custom": {"input": "SELECT "}})),
        piece(json!({"index": 0, "custom": {"input": "1"}})),
    ];
    for settings in ["", "recall = \"off\"\n"] {
        let text = events(&deltas, "tool_calls");
        let upstream = Upstream::new(move |_, _| stream(&text, 11, true));
        let server = Server::new(upstream.port, settings);
        let answer = server.ask(&with_tools(&[user("Run it.")])).text();
        let all = chunks(&answer);
        let calls = all.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].get(0));
        let input: String = calls.filter_map(|call| call["custom"]["input"].as_str()).collect();
        assert_eq!(input, "SELECT 1", "{answer}");
        let call = json!({"id": "call_a", "type": "custom", "custom": {"name": "run", "input": "SELECT 1"}});
        assert_eq!(server.messages()[1]["tool_calls"], json!([call]));
    }
}

/// The first of several answers is kept; each of them is passed on as it comes.
#[test]
fn several_answers_with_calls_are_passed_on_as_they_come() {
    let piece = |choice: u32, call: Value| {
        let delta = json!({"tool_calls": [call]});
        let choice = json!({"index": choice, "delta": delta, "finish_reason": null});
        format!("data: {}\n\n", json!({"id": "c1", "choices": [choice]}))
    };
    let begun =
        |id: &str| json!({"index": 0, "id": id, "type": "function", "function": {"name": "look", "arguments": ""}});
    let more = |arguments: &str| json!({"index": 0, "function": {"arguments": arguments}});
    let end = |choice: u32| {
        let choice = json!({"index": choice, "delta": {}, "finish_reason": "tool_calls"});
        format!("data: {}\n\n", json!({"id": "c1", "choices": [choice]}))
    };
    let text = [
        piece(0, begun("call_a")),
        piece(1, begun("call_b")),
        piece(0, more("{\"n\":1}")),
        piece(1, more("{\"n\":2}")),
        end(0),
        end(1),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let sent = text.clone();
    let upstream = Upstream::new(move |_, _| stream(&sent, 17, true));
    let server = Server::new(upstream.port, "");
    let mut body = with_tools(&[user("Look twice.")]);
    body["n"] = json!(2);
    // The end of what is kept may have to wait until it is.
    let by_choice = |text: &str| {
        let mut all = chunks(text);
        all.sort_by_key(|chunk| chunk["choices"][0]["index"].as_u64());
        all
    };
    let answer = server.ask(&body).text();
    assert_eq!(by_choice(&answer), by_choice(&text), "{answer}");
    let kept = &server.messages()[1]["tool_calls"];
    assert_eq!((&kept[0]["id"], &kept[0]["function"]["arguments"]), (&json!("call_a"), &json!("{\"n\":1}")));
    assert_eq!(kept.as_array().map(Vec::len), Some(1));
}

#[test]
fn an_error_in_the_middle_is_told_in_every_mode() {
    for settings in ["", "recall = \"text\"\n"] {
        let text = "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Half\"}}]}\n\n\
                    data: {\"error\":{\"message\":\"overloaded\"}}\n\n";
        let upstream = Upstream::new(move |_, _| stream(text, 9, true));
        let server = Server::new(upstream.port, settings);
        assert!(server.ask(&chat(&[user("Say.")])).text().contains("overloaded"), "{settings}");
        assert_eq!(server.messages(), [user("Say.")]);
    }
}

#[test]
fn a_round_that_ends_without_its_empty_line_goes_on() {
    let own = json!({"tool_calls": [{"index": 0, "id": "own_1", "type": "function", "function": {"name": "search_history", "arguments": "{\"words\":\"x\"}"}}]});
    let first = events(&[json!({"role": "assistant"}), own], "tool_calls");
    let first = first.trim_end().to_owned();
    let second = events(&[json!({"role": "assistant", "content": "Red."})], "stop");
    let upstream = Upstream::new(move |number, _| stream(if number == 0 { &first } else { &second }, 50, true));
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("Colour?")])).text();
    assert_eq!(answer.matches("[DONE]").count(), 1, "{answer}");
    assert!(chunks(&answer).iter().any(|chunk| chunk["choices"][0]["delta"]["content"] == "Red."), "{answer}");
}

#[test]
fn an_agent_keeps_its_own_tools_when_recall_is_used_up() {
    let upstream = Upstream::new(|number, _| match number {
        0..=2 => reply(&calls(&[call(&format!("own_{number}"), "search_history", &json!({"words": "x"}))])),
        _ => reply(&calls(&[call("call_7", "look", &json!({}))])),
    });
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&with_tools(&[user("Go.")])).json();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["id"], "call_7");
    assert!(upstream.asked().iter().all(|asked| asked.json().get("tool_choice").is_none()));
}

/// Few servers know OpenAI's choice among some of the tools, and none takes a text for the call that was asked for.
#[test]
fn an_agent_that_must_call_is_not_offered_ours_when_recall_is_used_up() {
    for choice in ["required", "any"] {
        let upstream = Upstream::new(|number, asked| {
            let offered = asked.json()["tools"].to_string().contains("search_history");
            let own = call(&format!("own_{number}"), "search_history", &json!({"words": "x"}));
            reply(&calls(&[if offered { own } else { call("call_7", "look", &json!({})) }]))
        });
        let server = Server::new(upstream.port, "");
        let mut body = with_tools(&[user("Go.")]);
        body["tool_choice"] = json!(choice);
        let answer = server.ask(&body).json();
        assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["id"], "call_7");
        assert!(upstream.asked().iter().all(|asked| asked.json()["tool_choice"] == choice));
    }
}

/// What a client left out is still in the window, in the turn after and when it tries again.
#[test]
fn a_history_that_was_cut_is_never_sent_as_it_came() {
    let upstream = Upstream::new(|number, _| {
        reply(&says(&format!("Answer {number}: {}", "the gauge reads two metres at the pier. ".repeat(4))))
    });
    let server = Server::new(upstream.port, "");
    let mut history: Vec<Value> = Vec::new();
    for i in 0..5 {
        history.push(user(&format!("Question {i}: {}", "how high is the water at the old pier? ".repeat(4))));
        let answer = server.ask(&chat(&history)).json();
        history.push(answer["choices"][0]["message"].clone());
    }
    let mut cut = history[4..].to_vec();
    cut.push(user("And now?"));
    server.ask(&chat(&cut));
    let again = server.ask(&chat(&cut)).json();
    cut.extend([again["choices"][0]["message"].clone(), user("And then?")]);
    server.ask(&chat(&cut));
    for (number, asked) in upstream.asked().iter().enumerate().skip(5) {
        assert!(asked.text().contains("Question 0:"), "request {number}: {}", asked.text());
    }
}
