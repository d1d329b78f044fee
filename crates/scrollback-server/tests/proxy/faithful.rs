//! Law 8: the client sees what it would have seen without us, and the upstream what the client sent.

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, events, plain, reply, says, send, stream, user};

#[test]
fn a_short_request_leaves_as_it_came_but_for_our_tools() {
    let upstream = Upstream::new(|_, _| reply(&says("hello")));
    let server = Server::new(upstream.port, "");
    let body = r#"{ "model" : "gpt-4o" , "messages":[ {"role":"user","content":"h\u0069", "x":1} ],"logit_bias":{"1":2},"tools":[ {"type":"function","function":{"name":"look"}} ] }"#;
    let answer = server.send("POST /v1/chat/completions", "x-custom: 7\r\n", body);
    assert_eq!(answer.json()["x_unknown"], json!([1, 2]));
    let asked = &upstream.asked()[0];
    let (before, after) = body.split_once(r#"[ {"type""#).unwrap();
    assert!(asked.text().starts_with(before), "{}", asked.text());
    let (_, end) = after.split_once(']').unwrap();
    assert!(asked.text().ends_with(end));
    let names: Vec<Value> =
        asked.json()["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone()).collect();
    assert_eq!(names, ["look", "recall_page", "load_tool_history", "search_history"]);
    assert_eq!(asked.header("x-custom"), Some("7"));
}

/// RFC 9110, 7.6.1: what belongs to one connection stays there.
#[test]
fn headers_of_one_connection_are_not_passed_on() {
    let upstream = Upstream::new(|_, _| {
        let headers = "connection: keep-alive, X-Back\r\nx-back: 1\r\nx-stays: 2\r\ncontent-type: application/json\r\n";
        plain("200 OK", headers, "{\"choices\":[]}")
    });
    let server = Server::new(upstream.port, "");
    let headers = "connection: keep-alive,X-Hop\r\nx-hop: 1\r\nproxy-connection: keep-alive\r\nx-custom: 7\r\n";
    for line in ["POST /v1/chat/completions", "POST /v1/embeddings"] {
        let answer = server.send(line, headers, &chat(&[user("hi")]).to_string());
        assert_eq!((answer.header("x-back"), answer.header("x-stays")), (None, Some("2")), "{}", answer.head);
    }
    for asked in upstream.asked() {
        assert_eq!((asked.header("x-hop"), asked.header("proxy-connection")), (None, None), "{}", asked.head);
        assert_eq!(asked.header("x-custom"), Some("7"));
    }
}

#[test]
fn errors_come_back_as_they_are() {
    let statuses =
        ["400 Bad Request", "401 Unauthorized", "404 Not Found", "429 Too Many Requests", "500 Oops", "503 Busy"];
    let upstream = Upstream::new(move |number, _| {
        let body = format!("{{\"error\":{{\"message\":\"number {number}\",\"x\":[1]}}}}");
        plain(statuses[number % 6], "retry-after: 7\r\nx-ratelimit: 3\r\ncontent-type: application/json\r\n", &body)
    });
    let server = Server::new(upstream.port, "");
    for (number, status) in statuses.iter().enumerate() {
        let answer = server.ask(&chat(&[user("try")]));
        assert_eq!(answer.status().to_string(), status[..3]);
        assert_eq!(answer.text(), format!("{{\"error\":{{\"message\":\"number {number}\",\"x\":[1]}}}}"));
        assert_eq!((answer.header("retry-after"), answer.header("x-ratelimit")), (Some("7"), Some("3")));
    }
    let kept = server.messages();
    assert_eq!(kept, [user("try")], "asked six times, said once");
}

#[test]
fn garbage_comes_back_as_it_is() {
    let upstream = Upstream::new(|number, _| match number {
        0 => plain("200 OK", "content-type: application/json\r\n", "<html>not json"),
        1 => plain("200 OK", "content-type: application/json\r\n", "{\"choices\":[]}"),
        _ => stream("data: {\"choices\": nonsense\n\nhello\n\ndata: [DONE]\n\n", 9, true),
    });
    let server = Server::new(upstream.port, "");
    assert_eq!(server.ask(&chat(&[user("a")])).text(), "<html>not json");
    assert_eq!(server.ask(&chat(&[user("a")])).text(), "{\"choices\":[]}");
    assert_eq!(server.ask(&chat(&[user("a")])).text(), "data: {\"choices\": nonsense\n\nhello\n\ndata: [DONE]\n\n");
    assert_eq!(server.messages(), [user("a")]);
}

#[test]
fn what_is_no_event_comes_back_at_the_end_of_a_stream_as_well() {
    let said = events(&[json!({"role": "assistant", "content": "Well."})], "stop").replace("data: [DONE]\n\n", ": bye");
    let texts =
        ["{\"error\":{\"message\":\"no credit\"}}", "Internal Server Error\n", said.as_str()].map(str::to_owned);
    let script = texts.clone();
    let upstream = Upstream::new(move |number, _| stream(&script[number], 9, true));
    let server = Server::new(upstream.port, "");
    for text in texts {
        assert_eq!(server.ask(&chat(&[user("a")])).text(), text);
    }
}

#[test]
fn a_stream_split_anywhere_is_the_same_stream() {
    let text = events(
        &[json!({"role": "assistant", "content": ""}), json!({"content": "潮位 is "}), json!({"content": "154 cm."})],
        "stop",
    )
    .replacen("data:", ": a comment\r\n\r\nevent: message\ndata:", 1);
    let said = text.clone();
    let upstream = Upstream::new(move |number, _| stream(&said, number % 40 + 1, true));
    let server = Server::new(upstream.port, "");
    for number in 0..40 {
        assert_eq!(server.ask(&chat(&[user("level?")])).text(), text, "in pieces of {}", number + 1);
    }
    let kept = server.messages();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(kept[1]["content"], "潮位 is 154 cm.");
}

#[test]
fn a_stream_that_is_cut_is_cut_for_the_client_too() {
    let text = events(&[json!({"role": "assistant", "content": "Half of"})], "stop");
    let half = text.split_inclusive("\n\n").next().unwrap().to_owned();
    let upstream = Upstream::new(move |_, _| stream(&half, 1_000, false));
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("say")]));
    assert!(answer.text().contains("Half of") && !answer.text().contains("[DONE]"));
    assert_eq!(server.messages(), [user("say")], "half a reply is not kept");
}

#[test]
fn silence_is_told_apart() {
    let upstream = Upstream::new(|_, _| {
        std::thread::sleep(std::time::Duration::from_secs(3));
        vec![None]
    });
    let server = Server::new(upstream.port, "timeout_seconds = 1\n");
    let answer = server.ask(&chat(&[user("hello?")]));
    assert_eq!((answer.status(), &answer.json()["error"]["code"]), (504, &json!("upstream_timeout")));
    let half = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{";
    let upstream = Upstream::new(move |_, _| vec![Some(half.into()), None]);
    let cut = Server::new(upstream.port, "").ask(&chat(&[user("hello?")]));
    assert!(cut.status() == 502 && cut.text().contains("failed: its answer was cut off"), "{}", cut.text());
    let gone = Server::new(1, "");
    let answer = gone.ask(&chat(&[user("hello?")]));
    assert_eq!((answer.status(), &answer.json()["error"]["code"]), (502, &json!("upstream_unreachable")));
    assert_eq!(gone.messages(), [user("hello?")], "what was asked is kept");
}

#[test]
fn what_is_no_chat_passes() {
    let upstream = Upstream::new(|_, asked| {
        plain("200 OK", "", &format!("{} {}", asked.head.lines().next().unwrap(), asked.text()))
    });
    let server = Server::new(upstream.port, "");
    assert_eq!(server.send("GET /v1/models?x=1", "", "").text(), "GET /v1/models?x=1 HTTP/1.1 ");
    assert_eq!(
        server.send("POST /v1/embeddings", "", "{\"input\":1}").text(),
        "POST /v1/embeddings HTTP/1.1 {\"input\":1}"
    );
    assert_eq!(
        server.send("POST /v1/chat/completions", "", "not json").text(),
        "POST /v1/chat/completions HTTP/1.1 not json"
    );
    let empty = server.send("POST /v1/chat/completions", "", "{\"messages\":[]}");
    assert!(empty.text().ends_with("{\"messages\":[]}") && empty.header("x-scrollback-trouble").is_none());
    let named = server.send("POST /mock/v1/chat/completions", "", "{}");
    assert!(named.text().starts_with("POST /v1/chat/completions"));
    assert_eq!(server.send("GET /nobody/v1/models", "", "").status(), 404);
    assert!(server.messages().is_empty());
}

/// Where our own code cannot do its work, the request goes on as it came.
#[test]
fn if_the_store_fails_the_request_goes_on() {
    if crate::scene::NODES > 1 {
        return; // How a database fails is looked at in `nodes/away.rs`; this is about a file.
    }
    let upstream = Upstream::new(|_, _| reply(&says("still here")));
    let server = Server::with(upstream.port, "", |program| {
        let mut shell = std::process::Command::new("sh");
        // No file may grow beyond 100 kB.
        shell.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\"", program]);
        shell
    });
    let long = "a line of a long story ".repeat(20_000);
    let body = chat(&[user(&long)]);
    let answer = server.ask(&body);
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "still here");
    assert!(answer.header("x-scrollback-trouble").is_some(), "{}", answer.head);
    assert_eq!(upstream.asked()[0].json(), body, "nothing was added to it");
}

/// A reply may hold what no request may. What was sent of it once is sent like that again.
#[test]
fn what_only_replies_hold_is_not_sent_back() {
    let upstream = Upstream::new(|number, asked| {
        if asked.text().contains("executed_tools") {
            let refusal = "{\"error\":{\"message\":\"property 'executed_tools' is unsupported\"}}";
            return plain("400 Bad Request", "content-type: application/json\r\n", refusal);
        }
        reply(
            &json!({"role": "assistant", "content": format!("Found {number}."), "executed_tools": [{"type": "search"}]}),
        )
    });
    let server = Server::new(upstream.port, "[window]\ntokens = 3000\nreply_tokens = 300\n");
    let mut history: Vec<Value> = Vec::new();
    for turn in 0..20 {
        history.push(user(&format!("Ship {turn} came in. {}", "Boats and tides. ".repeat(40))));
        let answer = server.ask(&chat(&history));
        assert_eq!(answer.status(), 200, "turn {turn}: {}", answer.text());
        let said = answer.json()["choices"][0]["message"].clone();
        assert!(said["executed_tools"].is_array(), "the client sees all of it");
        history.push(says(said["content"].as_str().unwrap()));
    }
    let sent: Vec<Vec<Value>> = upstream.asked().iter().map(messages).collect();
    assert!(sent[19][0].to_string().contains("<contents-"), "it has folded");
    let grown = |pair: &&[Vec<Value>]| pair[0][0] == pair[1][0];
    assert!(sent.windows(2).filter(grown).all(|pair| pair[1].starts_with(&pair[0])));
}

fn messages(asked: &Said) -> Vec<Value> {
    asked.json()["messages"].as_array().unwrap().clone()
}

#[test]
fn a_picture_stays_when_its_result_is_held() {
    let upstream = Upstream::new(|_, _| reply(&says("Fine.")));
    let server = Server::new(upstream.port, "");
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
    let words = json!({"type": "text", "text": "The gauge reads two metres. ".repeat(600)});
    let call = json!({"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    server.ask(&chat(&[
        user("Look."),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "a", "content": [words, picture]}),
        says("Two metres."),
        user("And now?"),
    ]));
    let told = messages(&upstream.asked()[0])[2]["content"].clone();
    assert!(told[0]["text"].as_str().unwrap().starts_with("[Tool result h"), "{told}");
    assert_eq!((&told[1], told.as_array().unwrap().len()), (&picture, 2));
}

/// A connection that breaks after the end of a reply takes nothing of it along.
#[test]
fn a_reply_that_has_ended_is_kept_though_its_connection_breaks() {
    let text = events(&[json!({"role": "assistant", "content": "All said."})], "stop").replace("data: [DONE]\n\n", "");
    let sent = text.clone();
    let upstream = Upstream::new(move |_, _| stream(&sent, 4096, false));
    let server = Server::new(upstream.port, "");
    let mut body = chat(&[user("hello")]);
    body["stream"] = json!(true);
    assert_eq!(server.ask(&body).text(), text);
    assert_eq!(server.messages().len(), 2);
}

/// Of a history that was cut, the newest reply may be all that tells where it goes on: it is waited for.
#[test]
fn a_client_that_is_back_at_once_with_a_cut_history_goes_on() {
    let upstream =
        Upstream::new(|number, _| reply(&says(&format!("Reply {number}: {}", "the tide turns at noon. ".repeat(10)))));
    let server = Server::new(upstream.port, "");
    let mut history = vec![user("How are the tides today?")];
    let mut sessions = std::collections::HashSet::new();
    for turn in 0..12 {
        let last = &history[history.len().saturating_sub(3)..];
        let answer = server.ask(&chat(&[&[json!({"role": "system", "content": "Be brief."})], last].concat()));
        sessions.insert(answer.header("x-scrollback-session").unwrap().to_owned());
        history.extend([answer.json()["choices"][0]["message"].clone(), user(&format!("And in {turn} days?"))]);
    }
    assert_eq!(sessions.len(), 1);
}

#[test]
fn two_at_once_do_not_disturb_each_other() {
    let upstream = Upstream::new(|_, asked| {
        let asked = asked.json();
        let last = asked["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        reply(&says(&format!("you said: {last}")))
    });
    let server = Server::new(upstream.port, "");
    let port = server.port;
    let threads: Vec<_> = (0..8)
        .map(|i| {
            std::thread::spawn(move || {
                let mut history = vec![user("the same beginning")];
                for turn in 0..5 {
                    let answer =
                        send(port, "POST /v1/chat/completions", "x-session-id: one\r\n", &chat(&history).to_string());
                    let message = answer.json()["choices"][0]["message"].clone();
                    let last = history.last().unwrap()["content"].as_str().unwrap();
                    assert_eq!(message["content"], format!("you said: {last}"));
                    history.push(message);
                    history.push(user(&format!("agent {i}, turn {turn}")));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    for asked in upstream.asked() {
        let text = asked.text();
        let agents = (0..8).filter(|i| text.contains(&format!("agent {i},"))).count();
        assert!(agents <= 1, "{text}");
    }
}
