//! Tenants: whatever somebody asks for, in whichever words, they get what is theirs, or are told that there is nothing.

use serde_json::{Value, json};

use super::bearer;
use crate::scene::{Said, Server, Upstream, chat, reply, says, user};
use crate::talk::{messages, question};

const WINDOW: &str = "[window]\ntokens = 5000\nreply_tokens = 300\n";
/// Said by one of them and known to nobody else.
const SECRET: &str = "The vault of the lighthouse opens with 7731-quince.";

/// Two people with tokens, `ann` with a long conversation of her own; the headers of both, her history and her session.
struct Pair {
    upstream: Upstream,
    server: Server,
    ann: String,
    bob: String,
    history: Vec<Value>,
    session: String,
}

fn pair() -> Pair {
    let upstream = Upstream::new(|_, _| reply(&says("Noted, and I will remember it.")));
    let server = Server::new(upstream.port, WINDOW);
    let (ann, bob) = (server.token("ann"), server.token("bob"));
    let (mut history, mut session) = (Vec::new(), String::new());
    for turn in 0..30 {
        let secret = if turn == 0 { SECRET } else { "" };
        history.push(user(&format!("{secret} {}", question(turn))));
        let answer = server.ask_as(&ann, &chat(&history));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.header("x-scrollback-session").unwrap().clone_into(&mut session);
        history.push(answer.json()["choices"][0]["message"].clone());
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    Pair { upstream, server, ann, bob, history, session }
}

impl Pair {
    fn mcp(&self, token: &str, name: &str, arguments: &Value) -> Said {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        let headers = format!("{}accept: application/json, text/event-stream\r\n", bearer(token));
        self.server.send("POST /mcp", &headers, &body.to_string())
    }

    fn recall(&self, token: &str, session: &str, name: &str, arguments: &Value) -> Said {
        let body = json!({"session": session, "name": name, "arguments": arguments});
        self.server.send("POST /v1/context/recall", &bearer(token), &body.to_string())
    }
}

#[test]
fn what_is_anothers_is_not_there_in_the_same_words_as_what_is_nowhere() {
    let pair = pair();
    let nowhere = "0123456789abcdef0123456789abcdef";
    let asked = [
        ("GET", "", ""),
        ("GET", "/messages", ""),
        ("GET", "/messages/m0", ""),
        ("GET", "/contents", ""),
        ("GET", "/pages/0", ""),
        ("GET", "/holds", ""),
        ("GET", "/holds/h0", ""),
        ("GET", "/topics", ""),
        ("GET", "/topics/t0", ""),
        ("GET", "/topics/events", ""),
        ("GET", "/topics/files", ""),
        ("GET", "/views", ""),
        ("GET", "/views/newest", ""),
        ("GET", "/views/v0/diff?with=v2", ""),
        ("GET", "/ledger", ""),
        ("GET", "/export", ""),
        ("GET", "/artifacts/a0/versions", ""),
        ("GET", "/notes", ""),
        ("GET", "/notes/0", ""),
        ("GET", "/notes/s0", ""),
        ("PUT", "/notes/0", "{\"text\":\"mine now\"}"),
        ("GET", "/summary/s0", ""),
        ("GET", "/artifacts", ""),
        ("GET", "/artifacts/a0", ""),
        ("GET", "/controls", ""),
        ("GET", "/rules", ""),
        ("PUT", "/pins/m0", ""),
        ("PUT", "/excluded/m0", ""),
        ("POST", "/undo", ""),
        ("POST", "/compress", ""),
        ("PUT", "/strategy", "{\"strategy\":\"summary\"}"),
    ];
    for (method, thing, body) in asked {
        let ask = |token: &str, session: &str| {
            let line = format!("{method} /api/sessions/{session}{thing}");
            pair.server.send(&line, &bearer(token), body)
        };
        let (hers, none) = (ask(&pair.bob, &pair.session), ask(&pair.bob, nowhere));
        assert_eq!((hers.status(), none.status()), (404, 404), "{method} {thing}: {}", hers.text());
        assert_eq!(hers.text().replace(&pair.session, nowhere), none.text(), "{method} {thing}");
        assert_eq!(ask(&pair.bob, &pair.session[..8]).status(), 404, "nor by how it begins");
        assert_ne!(ask(&pair.ann, &pair.session).status(), 401);
    }
    assert_eq!(pair.server.get_as(&pair.bob, "/api/sessions").json()["sessions"], json!([]));
    assert_eq!(pair.server.send("GET /api/sessions", "", "").json()["sessions"], json!([]), "nor to the person here");
    assert_eq!(pair.server.get_as(&pair.ann, "/api/sessions").json()["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(pair.server.get_as(&pair.bob, "/api/jobs").json()["jobs"], json!([]));
    let found = |token: &str| pair.server.get_as(token, "/api/search?words=vault+quince").json()["found"].clone();
    assert_eq!(found(&pair.bob), json!([]));
    assert_eq!(found(&pair.ann)[0]["session"], json!(pair.session));
    let within = format!("/api/search?words=vault&session={}", pair.session);
    assert_eq!(pair.server.get_as(&pair.bob, &within).status(), 404);
    assert_eq!(pair.server.get_as(&pair.bob, &format!("/api/events?session={}", pair.session)).status(), 404);
    let said = json!({"session": pair.session, "message": "What opens the vault?"}).to_string();
    assert_eq!(pair.server.send("POST /api/chat", &bearer(&pair.bob), &said).status(), 404);
}

#[test]
fn nothing_of_anothers_is_recalled_by_whichever_id() {
    let pair = pair();
    let calls = [
        ("recall_page", json!({"page": 0})),
        ("recall_page", json!({"pages": [0]})),
        ("search_history", json!({"words": "vault quince"})),
        ("load_tool_history", json!({"id": format!("h0@{}", &pair.session[..8])})),
        ("load_tool_history", json!({"id": "h0"})),
    ];
    for (name, arguments) in &calls {
        let recalled = pair.recall(&pair.bob, &pair.session, name, arguments);
        assert_eq!(recalled.status(), 404, "{name} {arguments}: {}", recalled.text());
        let mut with_session = arguments.clone();
        with_session["session"] = json!(pair.session);
        let told = pair.mcp(&pair.bob, name, &with_session).text();
        let none = pair.mcp(&pair.bob, name, &{
            with_session["session"] = json!("0123456789abcdef0123456789abcdef");
            with_session.clone()
        });
        assert!(!told.contains("quince"), "{told}");
        assert_eq!(told.replace(&pair.session, "0123456789abcdef0123456789abcdef"), none.text());
    }
    // It is all there for her.
    let hers = pair.recall(&pair.ann, &pair.session, "search_history", &json!({"words": "vault quince"}));
    assert!(hers.text().contains("7731-quince"), "{}", hers.text());
    assert!(pair.mcp(&pair.ann, "list_sessions", &json!({})).text().contains(&pair.session));
    assert!(pair.mcp(&pair.bob, "list_sessions", &json!({})).text().contains("No conversation"));
    // Nor from a conversation of his own, by the name of hers.
    let own = pair.server.ask_as(&pair.bob, &chat(&[user("hello")]));
    let own = own.header("x-scrollback-session").unwrap().to_owned();
    let words = pair.recall(&pair.bob, &own, "search_history", &json!({"words": "vault quince lighthouse"})).text();
    let hold = json!({"id": format!("h0@{}", &pair.session[..8])});
    let held = pair.recall(&pair.bob, &own, "load_tool_history", &hold).text();
    // What nothing matches is told with the words that were asked for.
    assert!(!words.contains("7731") && !held.contains("7731"), "{words} {held}");
}

#[test]
fn whoever_sends_anothers_very_history_shares_nothing_with_her() {
    let pair = pair();
    let asked = pair.upstream.asked().len();
    // All of it, its beginning under her name for it, and one message under the id of her session.
    let mut longer = pair.history.clone();
    longer.push(user("And now?"));
    let whole = pair.server.ask_as(&pair.bob, &chat(&longer));
    let his = whole.header("x-scrollback-session").unwrap().to_owned();
    assert_ne!(his, pair.session);
    let only = json!({"model": "gpt-4o", "messages": [user("What opens the vault?")]}).to_string();
    for headers in [
        format!("x-scrollback-session: {}\r\n", pair.session),
        format!("x-scrollback-session: {}\r\nx-scrollback-history: new\r\n", pair.session),
        format!("x-claude-code-session-id: {}\r\n", pair.session),
        format!("x-session-id: {}\r\n", pair.session),
    ] {
        let answer = pair.server.send("POST /v1/chat/completions", &format!("{}{headers}", bearer(&pair.bob)), &only);
        assert_ne!(answer.header("x-scrollback-session"), Some(pair.session.as_str()), "{headers}");
    }
    for sent in &pair.upstream.asked()[asked + 1..] {
        assert!(!sent.text().contains("quince"), "{}", sent.text());
    }
    let views = |token: &str, session: &str| {
        let views = pair.server.get_as(token, &format!("/api/sessions/{session}/views")).json();
        views["views"].as_array().unwrap().len()
    };
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(views(&pair.ann, &pair.session), 30, "hers is as it was");
    assert_eq!(views(&pair.bob, &his), 1);
    let hers = pair.server.get_as(&pair.ann, &format!("/api/sessions/{}", pair.session)).json();
    assert_eq!(hers["messages"], 60, "{hers}");
}

#[test]
fn a_response_of_anothers_is_followed_by_nobody_not_even_at_the_provider() {
    let upstream = Upstream::new(|number, _| {
        let body = json!({"id": format!("resp_{number}"), "object": "response", "status": "completed", "model": "gpt-4o",
            "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": "Noted.", "annotations": []}]}],
            "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}});
        crate::scene::plain("200 OK", "content-type: application/json\r\n", &body.to_string())
    });
    let server = Server::new(upstream.port, "key_env = \"MOCK_KEY\"\n");
    let (ann, bob) = (server.token("ann"), server.token("bob"));
    let ask = |token: &str, body: &Value| server.send("POST /v1/responses", &bearer(token), &body.to_string());
    let first = ask(&ann, &json!({"model": "gpt-4o", "input": SECRET}));
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let asked = upstream.asked().len();
    let follows = json!({"model": "gpt-4o", "input": "What opens it?", "previous_response_id": id});
    let refused = ask(&bob, &follows);
    assert_eq!((refused.status(), super::code(&refused)), (403, "shared_account".into()), "{}", refused.text());
    assert_eq!(ask(&bob, &json!({"model": "gpt-4o", "previous_response_id": id})).status(), 403);
    assert_eq!(ask(&bob, &json!({"model": "gpt-4o", "input": "x", "conversation": "conv_hers"})).status(), 403);
    for path in [format!("/v1/responses/{id}"), "/v1/files".into(), "/v1/conversations/conv_hers".into()] {
        assert_eq!(server.get_as(&bob, &path).status(), 403, "{path}");
    }
    assert_eq!(upstream.asked().len(), asked, "none of it went to the provider");
    let told = server.send("GET /metrics", "", "").text();
    assert!(told.lines().any(|line| line == "scrollback_trouble_total 0"), "{told}");
    assert!(!server.log().contains("sent on as it came"), "{}", server.log());
    assert_eq!(server.get_as(&bob, "/v1/models").status(), 200);
    assert_eq!(ask(&ann, &follows).status(), 200, "hers goes on");
    // A conversation with a name is its maker's alone.
    let made = server.send("POST /v1/conversations", &bearer(&ann), "{\"metadata\":{\"of\":\"ann\"}}").json();
    let conversation = made["id"].as_str().unwrap();
    assert_eq!(server.get_as(&ann, &format!("/v1/conversations/{conversation}")).status(), 200);
    let his = server.get_as(&bob, &format!("/v1/conversations/{conversation}"));
    assert_eq!(his.status(), 403, "{}", his.text());
}

#[test]
fn two_chats_of_one_token_that_begin_alike_recall_nothing_of_each_other() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, WINDOW);
    let token = server.token("ann");
    let chats = ["one", "two"].map(|name| {
        let headers = format!("{}x-scrollback-session: {name}\r\n", bearer(&token));
        let secret = user(&format!("hello. The word is {name}-apricot."));
        let answer =
            server.send("POST /v1/chat/completions", &headers, &chat(&[user("hello"), says("hi"), secret]).to_string());
        answer.header("x-scrollback-session").unwrap().to_owned()
    });
    assert_ne!(chats[0], chats[1]);
    let words = json!({"session": chats[0], "name": "search_history", "arguments": {"words": "apricot"}}).to_string();
    let found = server.send("POST /v1/context/recall", &bearer(&token), &words).text();
    assert!(!found.contains("two-apricot"), "{found}");
}

#[test]
fn forged_headers_lead_to_ones_own_scope() {
    let pair = pair();
    let body = chat(&[user("What opens the vault?")]).to_string();
    let id = json!({"device_id": "d", "account_uuid": "ann", "session_id": pair.session}).to_string();
    let forged = [
        "x-tenant: ann".to_owned(),
        "x-scrollback-tenant: ann".to_owned(),
        "x-user: ann".to_owned(),
        format!("x-claude-code-session-id: {}\r\nx-claude-code-agent-id: ann", pair.session),
        format!("user-agent: codex\r\nthread-id: {}", pair.session),
        format!("x-grok-conv-id: {}", pair.session),
    ];
    let asked = pair.upstream.asked().len();
    for header in forged {
        let headers = format!("{}{header}\r\n", bearer(&pair.bob));
        let answer = pair.server.send("POST /v1/chat/completions", &headers, &body);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_ne!(answer.header("x-scrollback-session"), Some(pair.session.as_str()));
        let me = pair.server.send("GET /api/me", &headers, "").json();
        assert_eq!(me["tenant"], "bob");
    }
    let mut in_body = chat(&[user("What opens the vault?")]);
    in_body["metadata"] = json!({"user_id": id, "tenant": "ann"});
    in_body["prompt_cache_key"] = json!(pair.session);
    in_body["user"] = json!("ann");
    pair.server.ask_as(&pair.bob, &in_body);
    assert!(pair.upstream.asked()[asked..].iter().all(|sent| !sent.text().contains("quince")));
}

#[test]
fn a_sub_agent_cannot_read_what_its_sibling_was_told() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, WINDOW);
    // One agent, one session id, two lanes that begin alike and go their own ways.
    let task = user("You are a sub-agent. Wait for your task.");
    let lanes = ["left-plum", "right-fig"].map(|word| {
        let history = [task.clone(), says("hi"), user(&format!("Your word is {word}."))];
        let answer =
            server.send("POST /v1/chat/completions", "x-scrollback-session: agent\r\n", &chat(&history).to_string());
        assert_eq!(answer.status(), 200);
        history
    });
    let asked = upstream.asked();
    assert!(!asked[0].text().contains("right-fig") && !asked[1].text().contains("left-plum"));
    std::thread::sleep(std::time::Duration::from_millis(200));
    // What the model recalls on its way comes from its own path: the upstream asks for the sibling's word.
    let recalls = Upstream::new(|number, _| {
        let call = json!({"id": "c1", "type": "function", "function": {"name": "search_history", "arguments": "{\"words\": \"plum fig word\"}"}});
        if number == 0 {
            reply(&json!({"role": "assistant", "content": null, "tool_calls": [call]}))
        } else {
            reply(&says("done"))
        }
    });
    let inner = Server::new(recalls.port, WINDOW);
    for history in &lanes {
        inner.send("POST /v1/chat/completions", "x-scrollback-session: agent\r\n", &chat(&history[..]).to_string());
    }
    let second = inner.send(
        "POST /v1/context/recall?branch=0",
        "",
        &json!({"session": "agent", "name": "search_history", "arguments": {"words": "plum fig"}}).to_string(),
    );
    let (text, all) = (second.text(), recalls.asked());
    assert!(text.contains("plum") != text.contains("right-fig"), "one lane only: {text}");
    assert!(all.iter().all(|sent| !(sent.text().contains("left-plum") && sent.text().contains("right-fig"))));
    assert!(messages(&all[1]).len() > messages(&all[0]).len(), "it was asked again with what it recalled");
}
