//! What is answered from the log: conversations that have a name, and compactions that lose nothing.

use serde_json::{Value, json};

use super::{SMALL, answers, ask, begun, full, heard, input, kinds, output, replies, says, thought, user};
use crate::scene::{Server, Upstream, plain};
use crate::talk::question;

fn post(server: &Server, path: &str, body: &Value) -> Value {
    let answer = server.send(&format!("POST /v1{path}"), "", &body.to_string());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn a_conversation_is_made_and_told() {
    let upstream = Upstream::new(|number, asked| answers(asked, &format!("resp_{number}"), &[says("msg_1", "Noted.")]));
    let mut server = Server::new(upstream.port, "recall = \"off\"\n");
    let developer = json!({"type": "message", "role": "developer", "content": "Answer in Norwegian."});
    let made = post(&server, "/conversations", &json!({"metadata": {"of": "tides"}, "items": [developer]}));
    let id = made["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("conv_") && made["object"] == "conversation" && made["created_at"].is_i64());
    server.restart(drop);
    assert_eq!(server.send(&format!("GET /v1/conversations/{id}"), "", "").json(), made);
    let first = json!({"model": "gpt-5", "conversation": id, "input": "One.", "instructions": "Be brief."});
    heard(&server, &first);
    post(&server, &format!("/conversations/{id}/items"), &json!({"items": [user("By the way.")]}));
    heard(&server, &json!({"model": "gpt-5", "conversation": {"id": id}, "input": "Two."}));
    let asked = upstream.asked();
    assert_eq!(kinds(&input(&asked[0])), ["developer", "user"], "{}", asked[0].text());
    assert_eq!(kinds(&input(&asked[1])), ["developer", "user", "assistant", "user", "user"], "{}", asked[1].text());
    assert!(
        asked[1].json().get("instructions").is_none() && !asked[1].text().contains("brief"),
        "they are not carried over"
    );
    let listed = server.send(&format!("GET /v1/conversations/{id}/items?order=asc&limit=2"), "", "").json();
    assert_eq!((&listed["object"], &listed["has_more"]), (&json!("list"), &json!(true)));
    assert_eq!(listed["data"][0]["content"][0]["text"], "One.");
    let after = listed["last_id"].as_str().unwrap();
    let rest = server.send(&format!("GET /v1/conversations/{id}/items?order=asc&after={after}"), "", "").json();
    assert_eq!(kinds(rest["data"].as_array().unwrap()), ["user", "user", "assistant"]);
    let newest = server.send(&format!("GET /v1/conversations/{id}/items"), "", "").json();
    assert_eq!(newest["data"][0]["content"][0]["text"], "Noted.");
}

#[test]
fn the_items_of_a_conversation_tell_its_reasoning() {
    let said = [thought("rs_1", "SEALED"), says("msg_1", "Noted.")];
    let upstream = Upstream::new(move |number, asked| answers(asked, &format!("resp_{number}"), &said));
    let server = Server::new(upstream.port, "");
    let id = post(&server, "/conversations", &json!({}))["id"].as_str().unwrap().to_owned();
    heard(&server, &json!({"model": "gpt-5", "conversation": id, "input": "One.", "instructions": "Be brief."}));
    let listed = server.send(&format!("GET /v1/conversations/{id}/items?order=asc"), "", "").json();
    assert_eq!(kinds(listed["data"].as_array().unwrap()), ["user", "reasoning", "assistant"]);
}

#[test]
fn a_reply_that_is_fetched_later_has_not_failed() {
    let queued = json!({"id": "resp_1", "object": "response", "status": "queued", "output": []}).to_string();
    let upstream = Upstream::new(move |_, _| plain("200 OK", "content-type: application/json\r\n", &queued));
    let server = Server::new(upstream.port, "");
    let answer = ask(&server, &json!({"model": "gpt-5", "input": "Look.", "background": true}));
    assert_eq!((answer.status(), &answer.json()["status"]), (200, &json!("queued")));
    let told = server.send("GET /metrics", "", "").text();
    assert!(told.lines().any(|line| line == "scrollback_failed_turns_total 0"), "{told}");
}

/// Its provider tells it when it is asked for it, as often as it is, and from then on it can be followed.
#[test]
fn a_reply_in_the_background_is_kept_when_it_is_fetched() {
    let upstream = Upstream::new(|number, asked| {
        let said = [thought("rs_1", "SEALED"), says("msg_1", "Two metres.")];
        let is_begun = asked.head.starts_with("POST") && asked.json()["background"] == true || number == 2;
        match (is_begun, asked.head.starts_with("GET")) {
            (true, _) => plain("200 OK", "content-type: application/json\r\n", &begun("resp_b").to_string()),
            (false, true) => replies("resp_b", &said),
            (false, false) => answers(asked, &format!("resp_{number}"), &[says("msg_2", "Noted.")]),
        }
    });
    let mut server = Server::new(upstream.port, "");
    let first = heard(&server, &json!({"model": "gpt-5", "input": "The lamp is red."}));
    let asked =
        json!({"model": "gpt-5", "input": "How high?", "previous_response_id": first["id"], "background": true});
    assert_eq!(heard(&server, &asked)["status"], "in_progress");
    let fetched = || server.send("GET /v1/responses/resp_b", "", "").json()["status"].clone();
    assert_eq!([fetched(), fetched(), fetched()], ["in_progress", "completed", "completed"]);
    server.restart(drop);
    heard(&server, &json!({"model": "gpt-5", "input": "And now?", "previous_response_id": "resp_b"}));
    let sent = input(&upstream.asked().pop().unwrap());
    assert_eq!(kinds(&sent), ["user", "assistant", "user", "reasoning", "assistant", "user"], "{sent:?}");
    assert_eq!(server.messages().len(), 7, "each once, and the reply");
}

/// Its reply would be fetched from the provider, and never come into the conversation.
#[test]
fn a_conversation_that_is_kept_here_is_not_answered_in_the_background() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[says("msg_1", "Noted.")]));
    let server = Server::new(upstream.port, "");
    let id = post(&server, "/conversations", &json!({}))["id"].as_str().unwrap().to_owned();
    let answer = ask(&server, &json!({"model": "gpt-5", "conversation": id, "input": "One.", "background": true}));
    assert_eq!(answer.status(), 400);
    assert!(answer.text().contains("background") && upstream.asked().is_empty(), "{}", answer.text());
    heard(&server, &json!({"model": "gpt-5", "conversation": id, "input": "One."}));
}

/// Whoever says nothing new wants an answer to what was said. Its provider knows nothing of the conversation.
#[test]
fn a_conversation_that_is_kept_here_is_answered_without_input() {
    let upstream = Upstream::new(|number, asked| answers(asked, &format!("resp_{number}"), &[says("msg_1", "Noted.")]));
    let server = Server::new(upstream.port, "");
    for (number, input) in [None, Some(Value::Null)].into_iter().enumerate() {
        let made = post(&server, "/conversations", &json!({"items": [user(&format!("Number {number}."))]}));
        let mut body = json!({"model": "gpt-5", "conversation": made["id"]});
        body.as_object_mut().unwrap().extend(input.map(|input| ("input".to_owned(), input)));
        assert!(post(&server, "/responses/input_tokens", &body)["input_tokens"].as_u64().unwrap() > 3);
        assert_eq!(output(&heard(&server, &body)), [says("msg_1", "Noted.")]);
        assert_eq!(upstream.asked().len(), number + 1, "the count is ours");
        let asked = upstream.asked().pop().unwrap();
        assert_eq!(kinds(&self::input(&asked)), ["user"], "{}", asked.text());
        assert!(asked.json().get("conversation").is_none(), "{}", asked.text());
    }
    let empty = post(&server, "/conversations", &json!({}));
    let answer = ask(&server, &json!({"model": "gpt-5", "conversation": empty["id"]}));
    assert_eq!((answer.status(), &answer.json()["error"]["code"]), (400, &json!("invalid_request")));
    assert_eq!(upstream.asked().len(), 2, "nothing to answer");
}

#[test]
fn nothing_that_was_said_in_a_conversation_is_deleted() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[]));
    let server = Server::new(upstream.port, "");
    let made = |body: &Value| post(&server, "/conversations", body)["id"].as_str().unwrap().to_owned();
    let unsaid = made(&json!({"metadata": {"patient": "Ann Berg"}}));
    let delete = |path: &str| server.send(&format!("DELETE /v1/conversations/{path}"), "", "");
    assert_eq!(delete(&format!("{unsaid}/items/msg_1")).status(), 405);
    let gone = delete(&unsaid);
    assert_eq!((gone.status(), gone.json()["deleted"].clone()), (200, json!(true)), "{}", gone.text());
    let id = made(&json!({"items": [{"type": "message", "role": "user", "content": "Hello."}]}));
    let answer = server.send(&format!("DELETE /v1/conversations/{id}"), "", "");
    assert_eq!(answer.status(), 405);
    let why = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    let erase = why.split('`').nth(1).unwrap().to_owned();
    assert!(erase.starts_with("DELETE /api/sessions/"), "{why}");
    assert_eq!(server.send(&erase, "", "").json()["erased"], 1);
    assert!(upstream.asked().is_empty());
}

#[test]
fn a_conversation_made_elsewhere_is_left_to_its_provider() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[says("msg_1", "I know it.")]));
    let server = Server::new(upstream.port, "");
    let body = json!({"model": "gpt-5", "conversation": "conv_elsewhere", "input": "Go on."});
    let answer = ask(&server, &body);
    assert!(answer.header("x-scrollback-trouble").unwrap().contains("conv_elsewhere"), "{}", answer.head);
    server.send("GET /v1/conversations/conv_elsewhere/items", "", "");
    assert_eq!(upstream.asked()[0].text(), body.to_string());
    assert!(upstream.asked()[1].head.starts_with("GET /v1/conversations/conv_elsewhere/items "));
}

/// A conversation that was compacted, and what came back.
fn compacted(server: &Server) -> Vec<Value> {
    let mut history = vec![json!({"type": "message", "role": "developer", "content": "Answer in Norwegian."})];
    for turn in 0..12 {
        history.extend([user(&question(turn)), says(&format!("msg_{turn}"), &format!("Noted {turn}."))]);
    }
    let answer =
        post(server, "/responses/compact", &json!({"model": "gpt-5", "input": history, "instructions": "Be brief."}));
    assert_eq!(answer["object"], "response.compaction");
    assert!(answer["usage"]["total_tokens"].as_u64().unwrap() > 0, "{answer}");
    output(&answer)
}

#[test]
fn a_compaction_of_ours_goes_on_and_loses_nothing() {
    let upstream = Upstream::new(|number, asked| {
        answers(asked, &format!("resp_{number}"), &[says(&format!("m_{number}"), "Fine.")])
    });
    let mut server = Server::new(upstream.port, SMALL);
    let mut items = compacted(&server);
    let kinds_of = kinds(&items);
    assert_eq!(kinds_of.iter().filter(|kind| *kind == "user").count(), 12);
    assert_eq!(kinds_of.last().unwrap(), "compaction");
    assert!(upstream.asked().is_empty(), "no model was asked");
    server.restart(drop);
    for turn in 20..24 {
        items.push(user(&question(turn)));
        let mut body = full(&items);
        body["instructions"] = json!("Be brief.");
        items.extend(output(&heard(&server, &body)));
    }
    let asked = upstream.asked();
    let first = input(&asked[0]);
    assert_eq!(first[0]["content"], "Answer in Norwegian.", "{first:?}");
    assert!(!asked[0].text().contains("\"compaction\""), "its provider knows nothing of it");
    assert!(asked[0].text().contains("[#") && !asked[0].text().contains(&question(0)), "folded: {}", asked[0].text());
    let last = input(&asked[3]);
    let news: Vec<Value> = last[last.len() - 7..].to_vec();
    assert_eq!(kinds(&news), ["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    assert_eq!(server.messages().len(), 2 + 24 + 8, "each message once");
}

#[test]
fn what_only_a_provider_can_read_it_compacts_itself() {
    let upstream = Upstream::new(|_, _| {
        plain("200 OK", "content-type: application/json\r\n", "{\"object\":\"response.compaction\"}")
    });
    let server = Server::new(upstream.port, "");
    let sealed = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABn"});
    let body = json!({"model": "gpt-5", "input": [user("One."), sealed, user("Two.")]});
    post(&server, "/responses/compact", &body);
    let known = json!({"model": "gpt-5", "previous_response_id": "resp_elsewhere"});
    post(&server, "/responses/compact", &known);
    assert_eq!(upstream.asked()[0].text(), body.to_string());
    assert_eq!(upstream.asked()[1].text(), known.to_string());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[]));
    let server = Server::new(upstream.port, "");
    for (line, body) in [
        ("POST /v1/conversations", "[]"),
        ("POST /v1/conversations", "{"),
        ("POST /v1/responses/compact", "{\"model\":\"gpt-5\",\"input\":7}"),
        ("POST /v1/responses/compact", "{\"model\":\"gpt-5\",\"input\":[]}"),
    ] {
        let answer = server.send(line, "", body);
        assert_eq!(
            (answer.status(), &answer.json()["error"]["code"]),
            (400, &json!("invalid_request")),
            "{line} {body}"
        );
    }
}

#[test]
fn tokens_are_counted_and_nothing_is_kept() {
    let upstream = Upstream::new(|_, asked| {
        if asked.head.contains("input_tokens") {
            return plain(
                "200 OK",
                "content-type: application/json\r\n",
                "{\"object\":\"response.input_tokens\",\"input_tokens\":77}",
            );
        }
        answers(asked, "resp_1", &[says("msg_1", "Noted.")])
    });
    let server = Server::new(upstream.port, SMALL);
    let short = full(&[user("One.")]);
    assert_eq!(post(&server, "/responses/input_tokens", &short)["input_tokens"], 77, "as it came, by its upstream");
    assert_eq!(input(&upstream.asked()[0]), [user("One.")]);
    assert!(upstream.asked()[0].text().contains("search_history"), "our tools are counted");
    let first = heard(&server, &json!({"model": "gpt-5", "input": "One."}));
    let next = json!({"model": "gpt-5", "input": "Two.", "previous_response_id": first["id"]});
    let counted = post(&server, "/responses/input_tokens", &next);
    assert_eq!(counted["object"], "response.input_tokens");
    assert!((10..1500).contains(&counted["input_tokens"].as_u64().unwrap()), "{counted}");
    assert_eq!(upstream.asked().len(), 2, "the window is not what the client sent");
    assert_eq!(server.messages().len(), 2);
    let upstream = Upstream::new(|_, _| plain("404 Not Found", "", ""));
    let server = Server::new(upstream.port, "");
    assert!(post(&server, "/responses/input_tokens", &short)["input_tokens"].as_u64().unwrap() > 3);
}

/// What goes on from a compaction of ours is never sent on as it came, whatever else it asks for.
#[test]
fn a_compaction_of_ours_never_goes_upstream() {
    let upstream = Upstream::new(|number, asked| {
        answers(asked, &format!("resp_{number}"), &[says(&format!("m_{number}"), "Fine.")])
    });
    let server = Server::new(upstream.port, SMALL);
    let items = compacted(&server);
    let sealed = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABn"});
    let bodies = [
        (json!({"context_management": [{"type": "compaction", "compact_threshold": 1000}]}), None),
        (json!({"background": true}), None),
        (json!({"prompt": {"id": "pmpt_1"}}), None),
        (json!({}), Some(json!({"type": "item_reference", "id": "msg_77"}))),
        (json!({}), Some(sealed)),
    ];
    for (number, (fields, more)) in bodies.into_iter().enumerate() {
        let mut input = items.clone();
        input.extend(more);
        input.push(user(&format!("And now, {number}?")));
        let mut body = full(&input);
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        heard(&server, &body);
        let asked = upstream.asked().pop().unwrap();
        assert!(!asked.text().contains("scrollback:"), "{}", asked.text());
        assert!(asked.text().contains("[#") && asked.text().contains(&format!("And now, {number}?")), "{fields}");
        let again = post(&server, "/responses/compact", &body);
        assert_eq!(kinds(&output(&again)).last().unwrap(), "compaction");
        assert!(post(&server, "/responses/input_tokens", &body)["input_tokens"].as_u64().unwrap() > 9);
    }
    assert_eq!(upstream.asked().len(), 5, "only the replies");
}

#[test]
fn a_compaction_that_is_not_in_the_log_is_refused_here() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[]));
    let server = Server::new(upstream.port, "");
    let lost = json!({"type": "compaction", "id": "cmp_7", "encrypted_content": "scrollback:cmp_7"});
    let body = json!({"model": "gpt-5", "input": [lost, user("Go on.")]});
    for path in ["responses", "responses/compact", "responses/input_tokens"] {
        let answer = server.send(&format!("POST /v1/{path}"), "", &body.to_string());
        assert!([400, 404].contains(&answer.status()), "{path}: {}", answer.text());
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains("cmp_7"), "{path}: {}", answer.text());
    }
    assert!(upstream.asked().is_empty());
}

/// A client that goes on from a compaction brings its own instructions: they are the ones that count.
#[test]
fn instructions_before_a_compaction_are_the_newest() {
    let upstream = Upstream::new(|number, asked| {
        answers(asked, &format!("resp_{number}"), &[says(&format!("m_{number}"), "Fine.")])
    });
    let server = Server::new(upstream.port, SMALL);
    let compacted = compacted(&server);
    let tools = |name: &str| json!({"type": "additional_tools", "tools": [{"type": "function", "name": name}]});
    let developer = |text: &str| json!({"type": "message", "role": "developer", "content": text});
    let mut since = Vec::new();
    for (number, language) in ["Danish", "Danish", "Swedish"].into_iter().enumerate() {
        since.push(user(&format!("And now, {number}?")));
        let brought = [tools(language), developer(&format!("Answer in {language}."))];
        let items = [&brought[..], &compacted, &since].concat();
        let mut body = full(&items);
        body["instructions"] = json!("Be brief.");
        since.extend(output(&heard(&server, &body)));
        let asked = upstream.asked().pop().unwrap();
        assert_eq!(input(&asked)[..2], brought, "{}", asked.text());
        let instructing = kinds(&input(&asked)).iter().filter(|kind| *kind == "developer").count();
        assert_eq!((instructing, asked.text().matches("additional_tools").count()), (1, 1), "{}", asked.text());
        assert_eq!(asked.text().matches("Be brief.").count(), 1);
    }
}

/// Where our own code cannot do its work, the provider does it.
#[test]
fn if_the_store_fails_the_provider_compacts() {
    if crate::scene::NODES > 1 {
        return; // How a database fails is looked at in `nodes/away.rs`; this is about a file.
    }
    let upstream = Upstream::new(|_, _| {
        plain("200 OK", "content-type: application/json\r\n", "{\"object\":\"response.compaction\"}")
    });
    let server = Server::with(upstream.port, "", |program| {
        let mut shell = std::process::Command::new("sh");
        // No file may grow beyond 100 kB.
        shell.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\"", program]);
        shell
    });
    let body = json!({"model": "gpt-5", "input": [user(&"a line of a long story ".repeat(20_000))]});
    let answer = server.send("POST /v1/responses/compact", "", &body.to_string());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(answer.header("x-scrollback-trouble").is_some(), "{}", answer.head);
    assert_eq!(upstream.asked()[0].text(), body.to_string());
}

#[test]
fn what_is_followed_elsewhere_is_counted_elsewhere() {
    let upstream = Upstream::new(|_, _| {
        plain(
            "200 OK",
            "content-type: application/json\r\n",
            "{\"object\":\"response.input_tokens\",\"input_tokens\":77}",
        )
    });
    let server = Server::new(upstream.port, "");
    for (field, id) in [("previous_response_id", "resp_elsewhere"), ("conversation", "conv_elsewhere")] {
        let body = json!({"model": "gpt-5", "input": "Go on.", field: id}).to_string();
        let answer = server.send("POST /v1/responses/input_tokens", "", &body);
        assert_eq!(answer.json()["input_tokens"], 77);
        assert!(answer.header("x-scrollback-trouble").unwrap().contains(id), "{}", answer.head);
        let compacted = server.send("POST /v1/responses/compact", "", &body);
        assert!(compacted.header("x-scrollback-trouble").unwrap().contains(id), "{}", compacted.head);
        let asked = upstream.asked();
        assert!(asked[asked.len() - 2..].iter().all(|asked| asked.text() == body), "{asked:?}");
    }
    assert!(server.messages().is_empty());
}

#[test]
fn what_is_added_twice_is_there_twice() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[]));
    let server = Server::new(upstream.port, "");
    let id = post(&server, "/conversations", &json!({}))["id"].as_str().unwrap().to_owned();
    let path = format!("/conversations/{id}/items");
    for _ in 0..3 {
        let added = post(&server, &path, &json!({"items": [user("Tick."), user("Tock.")]}));
        assert_eq!(kinds(added["data"].as_array().unwrap()), ["user", "user"], "{added}");
    }
    let listed = server.send(&format!("GET /v1{path}?order=asc"), "", "").json();
    let ids: std::collections::BTreeSet<&str> =
        listed["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 6, "{listed}");
}

#[test]
fn one_item_is_told_and_an_unknown_one_is_not() {
    let upstream = Upstream::new(|_, _| replies("resp_1", &[]));
    let server = Server::new(upstream.port, "");
    let made = post(&server, "/conversations", &json!({"items": [user("Tick.")], "metadata": {"of": "tides"}}));
    let path = format!("/conversations/{}", made["id"].as_str().unwrap());
    let listed = server.send(&format!("GET /v1{path}/items"), "", "").json();
    let item = listed["first_id"].as_str().unwrap();
    assert_eq!(server.send(&format!("GET /v1{path}/items/{item}"), "", "").json(), listed["data"][0]);
    assert_eq!(server.send(&format!("GET /v1{path}/items/item_77"), "", "").status(), 404);
    let answer = server.send(&format!("GET /v1{path}/items?after=item_77"), "", "");
    assert_eq!((answer.status(), &answer.json()["error"]["code"]), (400, &json!("invalid_request")));
    let changed = post(&server, &path, &json!({"metadata": {"of": "winds"}}));
    assert_eq!(changed["metadata"], json!({"of": "winds"}));
    assert_eq!((&changed["id"], &changed["created_at"]), (&made["id"], &made["created_at"]));
    assert_eq!(server.send(&format!("GET /v1{path}"), "", "").json(), changed);
    assert_eq!(server.send(&format!("POST /v1{path}"), "", "{\"metadata\":7}").status(), 400);
    assert!(upstream.asked().is_empty());
}
