//! The recall loop: calls of ours are answered out of sight, streamed or not; mixed calls are parked and put back.

use serde_json::{Value, json};

use super::{
    Pieces, answers, ask, calls, events, full, heard, input, kinds, look, output, replies, result, says, sound,
    thought, told, user,
};
use crate::scene::{Said, Server, Upstream, stream};

fn search(id: &str) -> Value {
    calls(id, "search_history", &json!({"words": "lighthouse"}))
}

/// A model that recalls once and then answers.
fn recalls(number: usize, asked: &Said) -> Pieces {
    match number {
        0 => answers(asked, "resp_1", &[thought("rs_1", "AAA"), says("msg_1", "Let me see."), search("own_1")]),
        _ => answers(asked, "resp_2", &[says("msg_2", "It is red.")]),
    }
}

#[test]
fn a_recall_is_out_of_sight() {
    let upstream = Upstream::new(recalls);
    let server = Server::new(upstream.port, "");
    let answer = ask(&server, &full(&[user("Which colour?")]));
    let shown = [thought("rs_1", "AAA"), says("msg_1", "Let me see."), says("msg_2", "It is red.")];
    assert_eq!(output(&answer.json()), shown, "as in a stream");
    assert_eq!(answer.json()["usage"]["output_tokens"], 4, "all rounds");
    assert_eq!(answer.json()["usage"]["input_tokens"], 10, "the last round");
    assert!(!answer.text().contains("own_1"));
    let asked = input(&upstream.asked()[1]);
    assert_eq!(kinds(&asked), ["user", "reasoning", "assistant", "function_call", "function_call_output"]);
    assert_eq!(asked[1], thought("rs_1", "AAA"), "reasoning before its call, as it came");
    assert_eq!(asked[4]["call_id"], "own_1");
    assert_eq!(server.messages(), [&[user("Which colour?")][..], &shown].concat());
}

#[test]
fn a_streamed_recall_goes_on_in_the_same_response() {
    for store in [true, false] {
        let upstream = Upstream::new(recalls);
        let server = Server::new(upstream.port, "");
        let mut body = full(&[user("Which colour?")]);
        (body["stream"], body["store"]) = (json!(true), json!(store));
        let answer = ask(&server, &body).text();
        let last = sound(&answer);
        assert_eq!(kinds(&output(&last)), ["reasoning", "assistant", "assistant"]);
        assert_eq!((&last["id"], &last["usage"]["output_tokens"]), (&json!("resp_1"), &json!(4)));
        assert!(!answer.contains("own_1") && !answer.contains("search_history"), "{answer}");
    }
}

#[test]
fn a_round_that_fails_in_the_middle_is_told() {
    let upstream = Upstream::new(|number, asked| match number {
        0 => recalls(0, asked),
        _ => crate::scene::plain(
            "500 Oops",
            "content-type: application/json\r\n",
            "{\"error\":{\"message\":\"no more\",\"code\":\"x\"}}",
        ),
    });
    let server = Server::new(upstream.port, "");
    let mut body = full(&[user("Which colour?")]);
    body["stream"] = json!(true);
    let last = told(&ask(&server, &body).text()).pop().unwrap();
    assert_eq!((&last["type"], &last["response"]["error"]["message"]), (&json!("response.failed"), &json!("no more")));
    assert_eq!(last["response"]["id"], "resp_1");
}

#[test]
fn a_round_of_which_nothing_comes_is_told_as_an_error() {
    for nothing in crate::scene::nothing() {
        let upstream = Upstream::new(move |number, asked| match number {
            0 => recalls(0, asked),
            _ => nothing.clone(),
        });
        let server = Server::new(upstream.port, "");
        let mut body = full(&[user("Which colour?")]);
        body["stream"] = json!(true);
        let told = told(&ask(&server, &body).text());
        let last = told.last().unwrap();
        assert_eq!((&last["type"], &last["response"]["id"]), (&json!("response.failed"), &json!("resp_1")));
        assert!(told.iter().all(|event| event["type"] != "response.completed"), "{told:?}");
        assert_eq!((upstream.asked().len(), server.messages()), (2, vec![user("Which colour?")]));
    }
}

#[test]
fn a_model_that_always_recalls_must_answer_in_the_end() {
    let upstream = Upstream::new(|number, asked| match asked.json()["tool_choice"].as_str() {
        Some("none") => replies("resp_9", &[says("msg_9", "All right.")]),
        _ => replies("resp_1", &[search(&format!("own_{number}"))]),
    });
    let server = Server::new(upstream.port, "");
    let answer = heard(&server, &full(&[user("Go.")]));
    assert_eq!(output(&answer), [says("msg_9", "All right.")]);
}

/// A client's tools that are no functions, and a permission, wait for the client as functions do.
#[test]
fn a_call_of_ours_beside_a_clients_of_another_kind_is_parked() {
    let others = [
        json!({"id": "ctc_7", "type": "custom_tool_call", "call_id": "call_7", "name": "run", "input": "ls"}),
        json!({"id": "sh_7", "type": "shell_call", "call_id": "call_7", "action": {"commands": ["ls"]}}),
        json!({"id": "mcpr_7", "type": "mcp_approval_request", "name": "pay", "arguments": "{}", "server_label": "s"}),
    ];
    for other in others {
        let theirs = other.clone();
        let upstream = Upstream::new(move |_, asked| answers(asked, "resp_1", &[search("own_1"), theirs.clone()]));
        let server = Server::new(upstream.port, "");
        for streams in [false, true] {
            let mut body = full(&[user(if streams { "Run it." } else { "Run." })]);
            body["stream"] = json!(streams);
            let answer = ask(&server, &body).text();
            let said = if streams { sound(&answer) } else { serde_json::from_str(&answer).unwrap() };
            assert_eq!(output(&said), std::slice::from_ref(&other), "{answer}");
        }
        assert_eq!(upstream.asked().len(), 2, "nobody is asked again before the client has answered");
    }
}

/// What the provider has run itself, in a shell of its own, waits for nobody.
#[test]
fn a_call_of_ours_beside_one_that_the_provider_carried_out_is_answered() {
    let ran = [
        json!({"id": "sh_7", "type": "shell_call", "call_id": "call_7", "action": {"commands": ["ls"]}}),
        json!({"id": "sho_7", "type": "shell_call_output", "call_id": "call_7", "output": [{"stdout": "a boat"}]}),
    ];
    for streams in [false, true] {
        let hosted = ran.clone();
        let upstream = Upstream::new(move |number, asked| match number {
            0 => answers(asked, "resp_1", &[&hosted[..], &[search("own_1")]].concat()),
            _ => answers(asked, "resp_2", &[says("msg_2", "It is red.")]),
        });
        let server = Server::new(upstream.port, "");
        let mut body = full(&[user("Which colour?")]);
        body["stream"] = json!(streams);
        let answer = ask(&server, &body).text();
        let said = if streams { sound(&answer) } else { serde_json::from_str(&answer).unwrap() };
        assert_eq!(output(&said), [&ran[..], &[says("msg_2", "It is red.")]].concat(), "{answer}");
        let sent = ["user", "shell_call", "shell_call_output", "function_call", "function_call_output"];
        assert_eq!(kinds(&input(&upstream.asked()[1])), sent);
    }
}

/// A reply that was cut off leaves no call of ours behind that nobody answers.
#[test]
fn a_call_of_ours_in_a_reply_that_was_cut_off_does_not_come_back() {
    for recalls_before in [false, true] {
        let upstream = Upstream::new(move |number, _| {
            if recalls_before && number == 0 {
                return replies("resp_0", &[search("own_0")]);
            }
            if number > usize::from(recalls_before) {
                return replies("resp_2", &[says("msg_2", "Seen.")]);
            }
            let both = [search("own_1"), calls("call_7", "look", &json!({"at": 1}))];
            let mut cut = super::response("resp_1", &both);
            cut["status"] = json!("incomplete");
            crate::scene::plain("200 OK", "content-type: application/json\r\n", &cut.to_string())
        });
        let server = Server::new(upstream.port, "");
        let request = |input: &[Value]| {
            let mut body = full(input);
            body["tools"] = look();
            body
        };
        let mut history = vec![user("Look.")];
        let first = heard(&server, &request(&history));
        assert_eq!(output(&first), [calls("call_7", "look", &json!({"at": 1}))]);
        history.extend(output(&first));
        history.push(result("call_7", "a boat"));
        heard(&server, &request(&history));
        let asked = input(upstream.asked().last().unwrap());
        assert!(!asked.iter().any(|item| item["call_id"] == "own_1"), "{asked:?}");
        let answered = |call: &Value| {
            asked.iter().any(|item| item["type"] == "function_call_output" && item["call_id"] == call["call_id"])
        };
        assert!(asked.iter().filter(|item| item["type"] == "function_call").all(answered), "{asked:?}");
    }
}

/// A model that calls a tool of ours beside the client's, and answers when both have their results.
fn mixes(number: usize, asked: &Said) -> Pieces {
    let both = [thought("rs_1", "AAA"), search("own_1"), calls("call_7", "look", &json!({"at": 1}))];
    match number {
        0 => answers(asked, "resp_1", &both),
        _ => answers(asked, "resp_2", &[says("msg_2", "Both seen.")]),
    }
}

fn mixed(streams: bool, store: bool, follows: bool) {
    let upstream = Upstream::new(mixes);
    let mut server = Server::new(upstream.port, "");
    let request = |input: &[Value]| {
        let mut body = full(input);
        (body["tools"], body["stream"], body["store"]) = (look(), json!(streams), json!(store));
        body
    };
    let said = |body: &Value| {
        let answer = ask(&server, body).text();
        if streams { sound(&answer) } else { serde_json::from_str(&answer).unwrap() }
    };
    let mut history = vec![user("Look and remember.")];
    let first = said(&request(&history));
    assert_eq!(kinds(&output(&first)), ["reasoning", "function_call"]);
    assert_eq!(output(&first)[1], calls("call_7", "look", &json!({"at": 1})));
    server.restart(drop);
    history.extend(output(&first));
    history.push(result("call_7", "a boat"));
    let body = if follows {
        let mut body = request(&[result("call_7", "a boat")]);
        body["previous_response_id"] = first["id"].clone();
        body
    } else {
        request(&history)
    };
    let answer = ask(&server, &body).text();
    assert!(answer.contains("Both seen."), "{answer}");
    let asked = input(&upstream.asked()[1]);
    let expected =
        ["user", "reasoning", "function_call", "function_call", "function_call_output", "function_call_output"];
    assert_eq!(kinds(&asked), expected, "{asked:?}");
    let ids: Vec<&str> = asked[2..].iter().map(|item| item["call_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["own_1", "call_7", "own_1", "call_7"]);
    assert_eq!(asked[1], thought("rs_1", "AAA"));
}

#[test]
fn mixed_calls_are_parked_and_put_back() {
    mixed(false, false, false);
}

#[test]
fn mixed_calls_of_a_stream_are_parked_and_put_back() {
    mixed(true, false, false);
}

#[test]
fn mixed_calls_are_put_back_for_a_client_that_sends_only_what_is_new() {
    mixed(true, true, true);
    mixed(false, true, true);
}

/// Who follows a response by its id may say something else than the result it waits for.
#[test]
fn a_call_that_nobody_answers_has_a_result_all_the_same() {
    let upstream = Upstream::new(|number, asked| match number {
        0 => answers(asked, "resp_0", &[calls("call_7", "look", &json!({"at": 1}))]),
        _ => answers(asked, "resp_1", &[says("msg_1", "Here.")]),
    });
    let server = Server::new(upstream.port, "");
    let first = heard(&server, &json!({"model": "gpt-5", "input": [user("Look.")], "tools": look()}));
    let next = json!({"model": "gpt-5", "input": [user("Are you there?")], "tools": look(), "previous_response_id": first["id"]});
    heard(&server, &next);
    let asked = input(&upstream.asked()[1]);
    assert_eq!(kinds(&asked), ["user", "function_call", "function_call_output", "user"]);
    assert_eq!(asked[2]["call_id"], "call_7");
}

#[test]
fn a_call_without_a_name_waits_for_it() {
    let nameless = |text: String| {
        let strip = |event: &str| {
            let Some((head, data)) = event.split_once("data: ") else { return event.to_owned() };
            let mut value: Value = serde_json::from_str(data.trim()).unwrap();
            if value["type"] == "response.output_item.added" {
                value["item"].as_object_mut().unwrap().shift_remove("name");
            }
            format!("{head}data: {value}\n\n")
        };
        text.split_inclusive("\n\n").map(strip).collect::<String>()
    };
    let upstream = Upstream::new(move |_, _| {
        stream(&nameless(events("resp_1", &[search("own_1"), calls("call_7", "look", &json!({}))])), 33, true)
    });
    let server = Server::new(upstream.port, "");
    let mut body = full(&[user("Look.")]);
    (body["tools"], body["stream"]) = (look(), json!(true));
    let answer = ask(&server, &body).text();
    assert_eq!(output(&sound(&answer)), [calls("call_7", "look", &json!({}))]);
    assert!(!answer.contains("own_1"), "{answer}");
}

#[test]
fn a_model_without_tools_writes_what_it_needs() {
    let texts = ["One moment. [NEED_CONTEXT: lighthouse]", "It is [red]."];
    for streams in [true, false] {
        let upstream = Upstream::new(move |number, asked| {
            answers(asked, &format!("resp_{number}"), &[says(&format!("msg_{number}"), texts[number.min(1)])])
        });
        let server = Server::new(upstream.port, "recall = \"text\"\n");
        let mut body = full(&[user("Colour?")]);
        body["stream"] = json!(streams);
        let answer = ask(&server, &body).text();
        let last = if streams { sound(&answer) } else { serde_json::from_str(&answer).unwrap() };
        let said: Vec<&str> = last["output"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["content"][0]["text"].as_str().unwrap())
            .collect();
        assert_eq!(said, ["One moment. ", "It is [red]."]);
        let deltas: String = told(&answer).iter().filter_map(|event| event["delta"].as_str()).collect();
        assert_eq!(deltas, if streams { "One moment. It is [red]." } else { "" });
        assert!(!answer.contains("NEED_CONTEXT"), "{answer}");
        let asked = input(&upstream.asked()[1]);
        assert_eq!(kinds(&asked), ["developer", "user", "assistant", "user"]);
    }
}

/// What a model without tools wrote to recall stands once where it stood, and so does the call that came after it.
#[test]
fn a_call_after_a_written_recall_is_sent_once() {
    for (streams, store) in [(true, false), (false, false), (true, true)] {
        for id in [json!("msg_0"), Value::Null] {
            let mut first = says("msg_0", "Let me look. [NEED_CONTEXT: lighthouse]");
            first["id"] = id.clone();
            let upstream = Upstream::new(move |number, asked| match number {
                0 => answers(asked, "resp_0", &[thought("rs_0", "A"), first.clone()]),
                1 => answers(asked, "resp_1", &[thought("rs_1", "B"), calls("call_7", "look", &json!({"at": 1}))]),
                _ => answers(asked, "resp_2", &[says("msg_2", "Seen.")]),
            });
            let mut server = Server::new(upstream.port, "recall = \"text\"\n");
            let mut body = full(&[user("Look.")]);
            (body["tools"], body["stream"], body["store"]) = (look(), json!(streams), json!(store));
            let answer = ask(&server, &body).text();
            let last = if streams { sound(&answer) } else { serde_json::from_str(&answer).unwrap() };
            server.restart(drop);
            let mut history = vec![user("Look.")];
            history.extend(output(&last));
            history.push(result("call_7", "a boat"));
            body["input"] = json!(history);
            ask(&server, &body);
            let asked = input(&upstream.asked()[2]);
            let expected = [
                "developer",
                "user",
                "reasoning",
                "assistant",
                "user",
                "reasoning",
                "function_call",
                "function_call_output",
            ];
            assert_eq!(kinds(&asked), expected, "{asked:?}");
            assert_eq!(asked[3]["content"][0]["text"], "Let me look. [NEED_CONTEXT: lighthouse]");
            assert_eq!((&asked[2]["id"], &asked[5]["id"]), (&json!("rs_0"), &json!("rs_1")));
        }
    }
}
