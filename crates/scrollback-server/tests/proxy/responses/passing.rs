//! What nothing has to be done to passes as it came, in both directions.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::{ask, events, full, heard, input, kinds, output, replies, says, told, user};
use crate::scene::{Said, Server, Upstream, plain, stream};

fn without_tools(text: &str) -> String {
    let mut body: Value = serde_json::from_str(text).unwrap();
    body.as_object_mut().unwrap().shift_remove("tools");
    body.to_string()
}

#[test]
fn a_request_passes_byte_for_byte() {
    let reply = "{ \"id\":\"resp_1\",\"status\":\"completed\", \"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"id\":\"msg_1\",\"content\":[{\"type\":\"output_text\",\"text\":\"hé\",\"annotations\":[]}]}] , \"x\":1e2}";
    let upstream = Upstream::new(move |_, _| plain("200 OK", "content-type: application/json\r\nx-own: 1\r\n", reply));
    let server = Server::new(upstream.port, "recall = \"off\"\n");
    let body = "{ \"model\":\"gpt-5\", \"store\":false,\n \"input\":[ {\"role\":\"user\" ,\"content\":\"潮 \\u00e9\"},{\"type\":\"hologram\",\"x\":[1.0,2]} ] ,\"instructions\":\"Be brief.\",\"reasoning\":{\"effort\":\"low\"}}";
    let answer = server.send("POST /v1/responses?beta=1", "", body);
    assert_eq!((answer.text().as_str(), answer.header("x-own")), (reply, Some("1")));
    assert_eq!(upstream.asked()[0].text(), body);
    assert!(upstream.asked()[0].head.starts_with("POST /v1/responses?beta=1 "));
    assert_eq!(server.messages().len(), 4, "the instructions, the person's, the hologram, the reply");
}

#[test]
fn a_stream_passes_byte_for_byte() {
    for goodbye in ["", "data: [DONE]\n\n"] {
        for store in [true, false] {
            let text = events("resp_1", &[says("msg_1", "Two metres, 潮位."), json!({"type": "hologram", "id": "h"})])
                + goodbye;
            let sent = text.clone();
            let upstream = Upstream::new(move |_, _| stream(&sent, 13, true));
            let server = Server::new(upstream.port, "");
            let mut body = full(&[user("How high?")]);
            (body["stream"], body["store"]) = (json!(true), json!(store));
            assert_eq!(ask(&server, &body).text(), text);
            assert_eq!(server.messages().len(), 3);
        }
    }
}

#[test]
fn tools_are_added_and_nothing_else() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[says("msg_1", "Fine.")]));
    let server = Server::new(upstream.port, "");
    let body = full(&[user("Hello.")]);
    heard(&server, &body);
    let asked = upstream.asked()[0].clone();
    assert_eq!(without_tools(&asked.text()), body.to_string());
    let tool = &asked.json()["tools"][0];
    assert_eq!((&tool["type"], &tool["strict"], tool["name"].is_string()), (&json!("function"), &json!(false), true));
    assert!(tool["parameters"]["properties"].is_object() && tool["description"].is_string());
}

#[test]
fn a_text_is_a_conversation_of_one_message() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[says("msg_1", "Hello.")]));
    let server = Server::new(upstream.port, "recall = \"off\"\n");
    let body = json!({"model": "gpt-5", "input": "Good morning."});
    heard(&server, &body);
    assert_eq!(upstream.asked()[0].text(), body.to_string());
    heard(&server, &json!({"model": "gpt-5", "input": "And now?", "previous_response_id": "resp_1"}));
    let asked = upstream.asked()[1].clone();
    assert_eq!(kinds(&input(&asked)), ["user", "assistant", "user"]);
    assert!(asked.json().get("previous_response_id").is_none());
}

#[test]
fn errors_are_told_in_the_words_of_the_api() {
    let upstream = Upstream::new(|_, _| {
        plain(
            "429 Too Many Requests",
            "retry-after: 7\r\ncontent-type: application/json\r\n",
            "{\"error\":{\"code\":\"slow\"}}",
        )
    });
    let server = Server::new(upstream.port, "");
    let answer = ask(&server, &full(&[user("Hello.")]));
    assert_eq!((answer.status(), answer.header("retry-after")), (429, Some("7")));
    assert_eq!(answer.text(), "{\"error\":{\"code\":\"slow\"}}");
    let answer = ask(&server, &full(&[user(&"tide ".repeat(300_000))]));
    assert_eq!((answer.status(), &answer.json()["error"]["code"]), (400, &json!("context_length_exceeded")));
    assert!(answer.json()["error"].as_object().unwrap().contains_key("param"));
}

#[test]
fn a_response_that_is_not_in_the_log_is_followed_as_it_came() {
    let upstream = Upstream::new(|_, _| replies("resp_9", &[says("msg_1", "I know it.")]));
    let server = Server::new(upstream.port, "");
    let body = json!({"model": "gpt-5", "input": [user("Go on.")], "previous_response_id": "resp_elsewhere"});
    let answer = ask(&server, &body);
    assert_eq!(answer.status(), 200);
    assert!(answer.header("x-scrollback-trouble").unwrap().contains("resp_elsewhere"), "{}", answer.head);
    assert_eq!(upstream.asked()[0].text(), body.to_string());
}

#[test]
fn a_stream_that_fails_is_told_and_not_kept() {
    let failed = json!({"type": "response.failed", "sequence_number": 2, "response": {"id": "resp_1", "status": "failed", "error": {"code": "server_error", "message": "overloaded"}, "output": []}});
    let error = json!({"type": "error", "sequence_number": 2, "code": "x", "message": "overloaded", "param": null});
    for last in [failed, error] {
        let begin: String = events("resp_1", &[]).split_inclusive("\n\n").take(2).collect();
        let text = format!("{begin}event: {}\ndata: {last}\n\n", last["type"].as_str().unwrap());
        let sent = text.clone();
        let upstream = Upstream::new(move |_, _| stream(&sent, 20, true));
        let server = Server::new(upstream.port, "");
        let mut body = full(&[user("Say.")]);
        body["stream"] = json!(true);
        assert_eq!(ask(&server, &body).text(), text);
        assert_eq!(server.messages(), [user("Say.")]);
    }
}

#[test]
fn a_stream_that_is_cut_off_is_not_kept() {
    let upstream = Upstream::new(|_, _| {
        let mut pieces = stream(&events("resp_1", &[says("msg_1", "Two metres.")]), 60, true);
        let rest = pieces.split_off(6);
        pieces.push(None);
        drop(rest);
        pieces
    });
    let server = Server::new(upstream.port, "");
    let mut body = full(&[user("Say.")]);
    body["stream"] = json!(true);
    let answer = ask(&server, &body);
    assert!(told(&answer.text()).iter().all(|event| event["type"] != "response.completed"));
    assert_eq!(server.messages(), [user("Say.")], "a reply that never ended is not kept");
    body["stream"] = json!(false);
    assert!(ask(&server, &body).status() >= 200);
}

#[test]
fn the_built_in_responder_speaks_it_too() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[]));
    let server = Server::new(upstream.port, "");
    let mut body = full(&[
        user("The lamp was bought from Larsen for 4417 crowns."),
        says("m", "Noted."),
        user("What did the lamp cost?"),
    ]);
    body["model"] = json!("quote");
    let answer = heard(&server, &body);
    let text = output(&answer)[0]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("4417"), "{text}");
    body["stream"] = json!(true);
    let answer = ask(&server, &body).text();
    let last = super::sound(&answer);
    assert_eq!(last["output"][0]["content"][0]["text"], json!(text));
    assert!(upstream.asked().is_empty());
}

/// The client has seen all but the last event, which is kept back: what was said is whole, and kept.
#[test]
fn a_client_that_leaves_before_the_end_is_told_loses_nothing() {
    let upstream = Upstream::new(|_, _| {
        let mut pieces = stream(&events("resp_1", &[says("msg_1", "Two metres.")]), 4096, true);
        // Nothing more comes, and the connection stays.
        pieces.pop();
        pieces
    });
    let server = Server::new(upstream.port, "");
    let mut body = full(&[user("Say.")]);
    body["stream"] = json!(true);
    let body = body.to_string();
    let head = format!("POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    client.write_all((head + &body).as_bytes()).unwrap();
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&seen).contains("response.output_item.done") {
        let count = client.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend(&piece[..count]);
    }
    // The last event comes right after it.
    std::thread::sleep(Duration::from_millis(500));
    drop(client);
    let expected = [user("Say."), says("msg_1", "Two metres.")];
    for _ in 0..200 {
        if server.messages() == expected {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(server.messages(), expected);
}

/// What ends a reply is its last event: the connection may break right after it, or stay open for ever.
#[test]
fn a_reply_is_whole_at_its_last_event() {
    for breaks in [true, false] {
        let text = events("resp_1", &[says("msg_1", "Two metres.")]);
        let sent = text.clone();
        let upstream = Upstream::new(move |_, _| {
            let mut pieces = stream(&sent, 4096, false);
            if !breaks {
                pieces.pop();
            }
            pieces
        });
        let server = Server::new(upstream.port, "");
        let mut body = full(&[user("Say.")]);
        body["stream"] = json!(true);
        assert_eq!(ask(&server, &body).text(), text);
        assert_eq!(server.messages(), [user("Say."), says("msg_1", "Two metres.")]);
    }
}

/// A response that tells what it was made with.
fn telling(asked: &Said, id: &str, output: &[Value]) -> Value {
    let (asked, mut told) = (asked.json(), super::response(id, output));
    told["tools"] = if asked["tools"].is_null() { json!([]) } else { asked["tools"].clone() };
    told["tool_choice"] = if asked["tool_choice"].is_null() { json!("auto") } else { asked["tool_choice"].clone() };
    for name in ["previous_response_id", "conversation"] {
        told[name] = asked[name].clone();
    }
    told
}

/// The same as an answer, streamed if it is wanted so.
fn tells(asked: &Said, id: &str, output: &[Value]) -> Vec<Option<Vec<u8>>> {
    let told = telling(asked, id, output);
    if asked.json()["stream"] != true {
        return plain("200 OK", "content-type: application/json\r\n", &told.to_string());
    }
    let with = |event: &str| {
        let (head, data) = event.split_once("data: ").unwrap();
        let mut value: Value = serde_json::from_str(data.trim()).unwrap();
        for name in ["tools", "tool_choice", "previous_response_id", "conversation"] {
            if value["response"].is_object() {
                value["response"][name] = told[name].clone();
            }
        }
        format!("{head}data: {value}\n\n")
    };
    stream(&events(id, output).split_inclusive("\n\n").map(with).collect::<String>(), 80, true)
}

/// The responses that an answer tells of: one, or those of its events.
fn told_responses(answer: &str) -> Vec<Value> {
    match serde_json::from_str::<Value>(answer) {
        Ok(response) => vec![response],
        Err(_) => told(answer).into_iter().map(|event| event["response"].clone()).filter(Value::is_object).collect(),
    }
}

#[test]
fn a_response_tells_nothing_of_our_tools() {
    for (streams, theirs) in [(false, true), (true, true), (false, false), (true, false)] {
        let upstream = Upstream::new(|number, asked| {
            let recall = super::calls(&format!("own_{number}"), "search_history", &json!({"words": "x"}));
            let forced = !asked.json()["tool_choice"].is_null() && asked.json()["tool_choice"] != "required";
            let said = if forced { says("msg_1", "Fine.") } else { recall };
            tells(asked, "resp_1", &[said])
        });
        let server = Server::new(upstream.port, "");
        let mut body = full(&[user("Hello.")]);
        body["stream"] = json!(streams);
        if theirs {
            (body["tools"], body["tool_choice"]) = (super::look(), json!("required"));
        }
        let answer = ask(&server, &body).text();
        assert!(answer.contains("Fine.") && !answer.contains("search_history"), "{answer}");
        for response in told_responses(&answer) {
            let expected = if theirs { (super::look(), json!("required")) } else { (json!([]), json!("auto")) };
            assert_eq!((&response["tools"], &response["tool_choice"]), (&expected.0, &expected.1), "{answer}");
        }
    }
}

#[test]
fn a_response_that_tells_nothing_of_ours_passes_byte_for_byte() {
    let reply = "{ \"id\":\"resp_1\",\"status\":\"completed\", \"tools\":[ ] ,\"tool_choice\":\"auto\",\"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"id\":\"msg_1\",\"content\":[{\"type\":\"output_text\",\"text\":\"hé\"}]}] , \"x\":1e2}";
    let upstream = Upstream::new(move |_, _| plain("200 OK", "content-type: application/json\r\n", reply));
    let server = Server::new(upstream.port, "");
    assert_eq!(ask(&server, &full(&[user("Hello.")])).text(), reply);
}

#[test]
fn a_response_tells_what_its_client_followed() {
    for streams in [false, true] {
        let upstream = Upstream::new(|number, asked| {
            tells(asked, &format!("resp_{number}"), &[says(&format!("msg_{number}"), "Fine.")])
        });
        let server = Server::new(upstream.port, "");
        let said = |mut body: Value| {
            (body["model"], body["stream"], body["input"]) = (json!("gpt-5"), json!(streams), json!("Go on."));
            told_responses(&ask(&server, &body).text())
        };
        for response in said(json!({})) {
            assert!(response["previous_response_id"].is_null() && response["conversation"].is_null(), "{response}");
        }
        for response in said(json!({"previous_response_id": "resp_0"})) {
            assert_eq!(response["previous_response_id"], "resp_0", "{response}");
        }
        let id = server.send("POST /v1/conversations", "", "{}").json()["id"].clone();
        for named in [id.clone(), json!({"id": id})] {
            for response in said(json!({"conversation": named})) {
                assert_eq!(response["conversation"], json!({"id": id}), "{response}");
            }
        }
        assert!(upstream.asked().iter().all(|asked| asked.json().get("previous_response_id").is_none()));
    }
}
