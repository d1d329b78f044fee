//! Upstreams that refuse, break off or talk nonsense, and clients that leave or speak an older dialect.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use scrollback::tokens::Vocabulary;
use serde_json::{Value, json};

use crate::scene::{Server, Upstream, chat, events, nothing, plain, reply, says, stream, user};

const TOO_LONG: &str = "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}";

fn too_long() -> Vec<Option<Vec<u8>>> {
    plain("400 Bad Request", "content-type: application/json\r\n", TOO_LONG)
}

fn long_talk(turns: usize) -> Vec<Value> {
    let turn = |i: usize| {
        let asked = format!("Question {i}: {}", "how high is the tide today? ".repeat(30));
        [user(&asked), says("About two metres.")]
    };
    (0..turns).flat_map(turn).chain([user("And now?")]).collect()
}

fn recall_page(id: &str, number: u32) -> Value {
    let arguments = json!({"index": number}).to_string();
    json!({"id": id, "type": "function", "function": {"name": "recall_page", "arguments": arguments}})
}

/// The words of a streamed reply.
fn words(answer: &str) -> String {
    let chunks = answer.split("\n\n").filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok());
    let chunks: Vec<Value> = chunks.collect();
    chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect()
}

/// Waits until a view of a session called `s` is on record.
fn has_view(server: &Server) -> bool {
    let is_recorded = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        let command = command.args(["--json", "--store"]).arg(server.store()).args(["show", "s", "--views"]);
        !command.output().unwrap().stdout.is_empty()
    };
    (0..40).any(|_| {
        std::thread::sleep(Duration::from_millis(250));
        is_recorded()
    })
}

fn named(server: &Server, body: &Value) -> crate::scene::Said {
    server.send("POST /v1/chat/completions", "x-scrollback-session: s\r\n", &body.to_string())
}

#[test]
fn a_round_of_which_nothing_comes_is_told_as_an_error() {
    let own = json!({"tool_calls": [{"index": 0, "id": "own_1", "type": "function", "function": {"name": "search_history", "arguments": "{\"words\":\"tide\"}"}}]});
    let first = events(&[json!({"role": "assistant", "content": "Let me see. "}), own], "tool_calls");
    for nothing in nothing() {
        let first = first.clone();
        let upstream =
            Upstream::new(move |number, _| if number == 0 { stream(&first, 40, true) } else { nothing.clone() });
        let server = Server::new(upstream.port, "");
        let answer = server.ask(&chat(&[user("Tide?")])).text();
        assert!(words(&answer) == "Let me see. " && answer.contains("upstream_failed"), "{answer}");
        assert!(!answer.contains("[DONE]") && !answer.contains("\"finish_reason\":\"stop\""), "{answer}");
        assert_eq!((upstream.asked().len(), server.messages()), (2, vec![user("Tide?")]));
    }
}

/// Some servers stream a reply in one piece, its end included.
#[test]
fn words_that_come_with_the_end_of_a_round_are_told() {
    let chunk = |delta: Value, finish: &str| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\ndata: [DONE]\n\n", json!({"id": "c1", "choices": [choice]}))
    };
    let own = json!([{"index": 0, "id": "own_1", "type": "function", "function": {"name": "search_history", "arguments": "{\"words\":\"tide\"}"}}]);
    let first = chunk(json!({"role": "assistant", "content": "Let me see. ", "tool_calls": own}), "tool_calls");
    let last = chunk(json!({"role": "assistant", "content": "Two metres. ["}), "stop");
    for (settings, whole) in [("", "Let me see. Two metres. ["), ("recall = \"text\"\n", "Two metres. [")] {
        let (first, last, recalls) = (first.clone(), last.clone(), settings.is_empty());
        let upstream =
            Upstream::new(move |number, _| stream(if recalls && number == 0 { &first } else { &last }, 40, true));
        let server = Server::new(upstream.port, settings);
        let answer = server.ask(&chat(&[user("Tide?")])).text();
        assert_eq!(words(&answer), whole, "{answer}");
        assert_eq!(answer.matches("finish_reason\":\"stop\"").count(), 1, "{answer}");
        assert_eq!(server.messages(), [user("Tide?"), says(whole)]);
    }
}

/// What looks like the beginning of a recall is told when the reply ends, in a chunk like all others.
#[test]
fn words_that_waited_come_in_a_chunk_like_the_others() {
    let text = events(&[json!({"role": "assistant", "content": "Two metres. ["})], "stop");
    let text = text.replace("\"choices\"", "\"created\":7,\"model\":\"gpt-4o-1\",\"usage\":null,\"choices\"");
    let upstream = Upstream::new(move |_, _| stream(&text, 40, true));
    let server = Server::new(upstream.port, "recall = \"text\"\n");
    let answer = server.ask(&chat(&[user("Tide?")])).text();
    assert_eq!(words(&answer), "Two metres. [", "{answer}");
    let told = answer.matches("\"id\":\"c1\"").count();
    for field in ["\"object\":\"chat.completion.chunk\"", "\"created\":7", "\"model\":\"gpt-4o-1\""] {
        assert_eq!(answer.matches(field).count(), told, "{field}: {answer}");
    }
}

#[test]
fn a_round_in_a_stream_that_is_too_long_is_sent_smaller() {
    let own = json!({"tool_calls": [{"index": 0, "id": "own_1", "type": "function", "function": {"name": "search_history", "arguments": "{\"words\":\"tide\"}"}}]});
    let first = events(&[json!({"role": "assistant", "content": "Let me see. "}), own], "tool_calls");
    let last = events(&[json!({"role": "assistant", "content": "Two metres."})], "stop");
    let upstream = Upstream::new(move |number, _| match number {
        0 => stream(&first, 40, true),
        1 => too_long(),
        _ => stream(&last, 40, true),
    });
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&long_talk(12)));
    assert_eq!(words(&answer.text()), "Let me see. Two metres.", "{}", answer.text());
    let asked = upstream.asked();
    assert!(asked[2].body.len() * 10 < asked[1].body.len() * 8, "{} then {}", asked[1].body.len(), asked[2].body.len());
}

/// Law 3, with what a model says while it recalls.
#[test]
fn what_a_model_says_while_it_recalls_takes_room_from_what_it_is_shown() {
    let said = "Let me think about the tide and the harbour for a while. ".repeat(120);
    let whole = format!("{said}Two metres.");
    let upstream = Upstream::new(move |number, _| {
        if number < 2 {
            return reply(&says("Noted."));
        }
        let calls: Vec<Value> = (0..4).map(|i| recall_page(&format!("own_{i}"), 2 * i)).collect();
        let recalls = json!({"role": "assistant", "content": said, "tool_calls": calls});
        if number == 2 { reply(&recalls) } else { reply(&says("Two metres.")) }
    });
    let server = Server::new(upstream.port, "[window]\ntokens = 8000\nreply_tokens = 500\n");
    let mut history = long_talk(40);
    for _ in 0..2 {
        named(&server, &chat(&history));
        history.extend([says("Noted."), user("Go on.")]);
    }
    let answer = named(&server, &chat(&history));
    assert_eq!(answer.json()["choices"][0]["message"]["content"], whole);
    let asked = upstream.asked();
    let tokens = Vocabulary::O200k.count(&asked[3].json()["messages"].to_string());
    assert!(asked.len() == 4 && tokens < 8_000, "{tokens} tokens in {} requests", asked.len());
}

#[test]
fn a_tool_whose_name_begins_like_one_of_ours_reaches_its_client() {
    let piece = json!({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "search", "arguments": ""}}]});
    let text = events(&[json!({"role": "assistant"}), piece], "tool_calls");
    let upstream = Upstream::new(move |_, _| stream(&text, 40, true));
    let server = Server::new(upstream.port, "");
    let mut body = chat(&[user("Look.")]);
    body["tools"] = json!([{"type": "function", "function": {"name": "search", "parameters": {}}}]);
    let answer = server.ask(&body).text();
    assert!(answer.contains("call_a") && answer.contains("\"search\""), "{answer}");
}

#[test]
fn nonsense_in_a_stream_is_passed_over() {
    let odd = "data: []\n\ndata: {\"choices\":[[]]}\n\ndata: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[\"x\"]}}]}\n\n\
               data: 7\n\ndata: {\"choices\":\"none\"}\n\n";
    let own = json!({"tool_calls": [{"index": 0, "id": "own_1", "type": "function", "function": {"name": "search_history", "arguments": "{\"words\":\"tide\"}"}}]});
    for settings in ["", "recall = \"text\"\n"] {
        let first = odd.to_owned() + &events(&[json!({"role": "assistant"}), own.clone()], "tool_calls");
        let last = odd.to_owned() + &events(&[json!({"role": "assistant", "content": "Two metres."})], "stop");
        let only_last = !settings.is_empty();
        let text = last.clone();
        let upstream =
            Upstream::new(move |number, _| stream(if number == 0 && !only_last { &first } else { &text }, 40, true));
        let server = Server::new(upstream.port, settings);
        let answer = server.ask(&chat(&[user("How high?")])).text();
        assert_eq!(words(&answer), "Two metres.", "{settings}: {answer}");
        assert_eq!(server.messages(), [user("How high?"), says("Two metres.")], "{settings}");
    }
}

/// Some servers write an empty reason with every piece of a reply: what breaks off there is half a reply.
#[test]
fn a_reply_that_breaks_off_is_not_whole_because_of_an_empty_reason() {
    let text =
        "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Half\"},\"finish_reason\":\"\"}]}\n\n";
    let upstream = Upstream::new(move |_, _| stream(text, 400, false));
    let server = Server::new(upstream.port, "");
    assert_eq!(words(&server.ask(&chat(&[user("Say.")])).text()), "Half");
    assert_eq!(server.messages(), [user("Say.")]);
}

#[test]
fn functions_of_old_are_not_joined_by_tools() {
    let upstream = Upstream::new(|_, _| reply(&says("Fine.")));
    let server = Server::new(upstream.port, "");
    let mut body = chat(&[user("Look.")]);
    body["functions"] = json!([{"name": "look", "parameters": {}}]);
    server.ask(&body);
    let asked = upstream.asked()[0].json();
    assert!(asked.get("tools").is_none() && asked["functions"] == body["functions"], "{asked}");
}

/// Nobody asked for our tools: where they are refused, the model recalls in its text. A refusal of others is told.
#[test]
fn a_model_that_takes_no_tools_is_asked_without_ours() {
    let refusal = "{\"error\":{\"message\":\"library/gemma3:4b does not support tools\"}}";
    let upstream = Upstream::new(move |number, asked| {
        if asked.json().get("tools").is_some() {
            return plain("400 Bad Request", "content-type: application/json\r\n", refusal);
        }
        reply(&says(if number == 1 { "[NEED_CONTEXT: tide]" } else { "Two metres." }))
    });
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("Tide?")]));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Two metres.");
    assert_eq!((upstream.asked().len(), server.messages()), (3, vec![user("Tide?"), says("Two metres.")]));
    let mut body = chat(&[user("Look.")]);
    body["tools"] = json!([{"type": "function", "function": {"name": "look", "parameters": {}}}]);
    let answer = server.ask(&body);
    assert!(answer.status() == 400 && answer.text().contains("does not support tools"), "{}", answer.text());
    assert_eq!(upstream.asked().len(), 4, "it is not asked again");
    assert_eq!(server.ask(&chat(&[user("Wind?")])).status(), 200);
    assert_eq!(upstream.asked().len(), 5, "by now it is known what the model takes");
}

/// What a provider runs itself stays where ours are refused.
#[test]
fn a_model_that_takes_no_functions_keeps_the_tools_of_its_provider() {
    let refusal = "{\"error\":{\"message\":\"Deep research models only support the 'web_search_preview' tool.\"}}";
    let upstream = Upstream::new(move |_, asked| {
        if asked.text().contains("search_history\",") {
            return plain("400 Bad Request", "content-type: application/json\r\n", refusal);
        }
        reply(&says("Two metres."))
    });
    let server = Server::new(upstream.port, "");
    let mut body = chat(&[user("Tide?")]);
    body["tools"] = json!([{"type": "web_search_preview"}]);
    assert_eq!(server.ask(&body).status(), 200);
    let asked = upstream.asked();
    assert_eq!((asked.len(), &asked[1].json()["tools"]), (2, &body["tools"]));
}

/// A refusal may say again what its client wrote: what does not help is not how the model wants to be asked.
#[test]
fn what_did_not_help_is_not_remembered() {
    let refusal = "{\"error\":{\"message\":\"no such effort: does not support tools\"}}";
    let upstream = Upstream::new(move |_, asked| match asked.json().get("effort") {
        Some(_) => plain("400 Bad Request", "content-type: application/json\r\n", refusal),
        None => reply(&says("Two metres.")),
    });
    let server = Server::new(upstream.port, "");
    let mut odd = chat(&[user("Tide?")]);
    odd["effort"] = json!("does not support tools");
    assert_eq!(server.ask(&odd).status(), 400);
    assert_eq!(server.ask(&chat(&[user("Wind?")])).status(), 200);
    let last = upstream.asked().pop().unwrap();
    assert!(last.json().get("tools").is_some(), "{}", last.text());
}

/// Templates of some models want people and the model to take turns; our notes stand beside what people say.
#[test]
fn a_model_that_wants_turns_is_sent_neighbours_as_one() {
    let refusal = "{\"message\":\"Conversation roles must alternate user/assistant/user/assistant/...\",\"code\":400}";
    let upstream = Upstream::new(move |_, asked| {
        let sent = asked.json()["messages"].as_array().unwrap().clone();
        if sent.windows(2).all(|pair| pair[0]["role"] != pair[1]["role"]) {
            return reply(&says("Fine."));
        }
        plain("400 Bad Request", "content-type: application/json\r\n", refusal)
    });
    let server = Server::new(upstream.port, "[window]\ntokens = 6000\nreply_tokens = 500\n");
    let answer = server.ask(&chat(&long_talk(40)));
    assert_eq!((answer.status(), upstream.asked().len()), (200, 2), "{}", answer.text());
    assert!(upstream.asked()[1].text().contains("And now?"));
}

/// Models of OpenAI that think take no functions in Chat Completions: a chat that brings none is answered all the same.
#[test]
fn a_model_that_thinks_and_takes_no_functions_is_asked_without_ours() {
    let refusal = "{\"error\":{\"message\":\"Function tools with reasoning_effort are not supported for gpt-5.6 in \
                   /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.\",\
                   \"type\":\"invalid_request_error\",\"param\":\"reasoning_effort\",\"code\":null}}";
    let upstream = Upstream::new(move |_, asked| {
        if asked.json().get("tools").is_some() {
            return plain("400 Bad Request", "content-type: application/json\r\n", refusal);
        }
        reply(&says("Two metres."))
    });
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("Tide?")]));
    assert_eq!((answer.status(), upstream.asked().len()), (200, 2), "{}", answer.text());
    assert_eq!(server.messages(), [user("Tide?"), says("Two metres.")]);
}

/// What a model without tools is told stands beside the client's instructions, and some templates take them once.
#[test]
fn a_model_that_takes_one_system_message_is_told_all_in_one() {
    let refusal = "{\"error\":{\"message\":\"System message must be at the beginning.\",\"code\":400}}";
    for role in ["system", "developer"] {
        let upstream = Upstream::new(move |_, asked| {
            let sent = asked.json()["messages"].as_array().unwrap().clone();
            if sent[1..].iter().any(|message| message["role"] != "user") {
                return plain("400 Bad Request", "content-type: application/json\r\n", refusal);
            }
            reply(&says("Fine."))
        });
        let server = Server::new(upstream.port, "recall = \"text\"\n");
        let answer = server.ask(&chat(&[json!({"role": role, "content": "Be brief."}), user("Tide?")]));
        assert_eq!((answer.status(), upstream.asked().len()), (200, 2), "{}", answer.text());
        let sent = upstream.asked()[1].json()["messages"][0].clone();
        let told = sent["content"].as_str().unwrap();
        assert!(sent["role"] == role && told.starts_with("Be brief.\n\n") && told.contains("NEED_CONTEXT"), "{sent}");
    }
}

#[test]
fn a_refusal_that_nothing_smaller_helps_is_passed_on_and_recorded() {
    let upstream = Upstream::new(|_, _| too_long());
    let server = Server::new(upstream.port, "");
    let answer = named(&server, &chat(&[user(&"One long question. ".repeat(40))]));
    assert_eq!((answer.status(), answer.text().as_str()), (400, TOO_LONG));
    assert!(has_view(&server), "{}", server.log());
}

#[test]
fn a_client_that_leaves_before_a_whole_reply_is_recorded() {
    let upstream = Upstream::new(|_, _| {
        std::thread::sleep(Duration::from_secs(3));
        reply(&says("Too late."))
    });
    let server = Server::new(upstream.port, "");
    let body = chat(&[user("Are you there?")]).to_string();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-scrollback-session: s\r\n";
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    client.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    while upstream.asked().is_empty() {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(client);
    assert!(has_view(&server), "{}", server.log());
}

/// Results of one turn may come in several messages, with a mark on any of them; a request has four marks at most.
#[test]
fn marks_of_results_that_are_gathered_are_taken_off() {
    let fine = json!({"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Fine."}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}});
    let upstream = Upstream::new(move |_, _| plain("200 OK", "content-type: application/json\r\n", &fine.to_string()));
    let server = Server::new(upstream.port, "[window]\ntokens = 6000\nreply_tokens = 500\n");
    let mut history = long_talk(20);
    history.pop();
    for turn in 0..6 {
        let id = |i: usize| format!("toolu_{turn}x{i}9qd8w7e6r5");
        let uses = [0, 1].map(|i| json!({"type": "tool_use", "id": id(i), "name": "look", "input": {"at": i}}));
        let result = |i: usize, marked: bool| {
            let mut block = json!({"type": "tool_result", "tool_use_id": id(i), "content": "a boat"});
            if marked {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
            json!({"role": "user", "content": [block]})
        };
        history.extend([
            user("Look twice."),
            json!({"role": "assistant", "content": uses}),
            result(0, true),
            result(1, false),
        ]);
        history.push(says("Two boats."));
    }
    history.push(user("And now?"));
    let mut body = json!({"model": "claude-sonnet-4-5", "max_tokens": 50, "messages": history});
    body["tools"] = json!([{"name": "look", "input_schema": {"type": "object"}}]);
    let answer = server.send("POST /v1/messages", "", &body.to_string());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let asked = upstream.asked()[0].text();
    let marks = asked.matches("cache_control").count();
    assert!((1..=4).contains(&marks) && asked.contains("Two boats."), "{marks}: {asked}");
}

#[test]
fn a_session_is_named_in_any_language() {
    let upstream = Upstream::new(|_, _| reply(&says("Fine.")));
    let server = Server::new(upstream.port, "");
    server.send("POST /v1/chat/completions", "x-scrollback-session: 港口\r\n", &chat(&[user("Look.")]).to_string());
    let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
    let output = command.args(["--json", "--store"]).arg(server.store()).args(["show", "港口"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("Look."), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Without a model there are quotations, and nothing that looks like an answer but is none.
#[test]
fn the_built_in_responder_says_what_it_has_not() {
    let server = Server::bare("");
    let tried = [("POST /quote/v1/embeddings", "{}", 404), ("DELETE /quote/v1/files/abc", "", 404)];
    let tried =
        tried.into_iter().chain([("GET /quote/v1/models", "", 200), ("POST /quote/v1/chat/completions", "{bad", 400)]);
    for (line, body, status) in tried {
        let answer = server.send(line, "", body);
        assert_eq!(answer.status(), status, "{line}: {}", answer.text());
    }
}
