//! Who comes through which door: keys in two headers, another Scrollback on the way, what every reply tells, and
//! windows for those who call their model themselves.

use serde_json::{Value, json};

use crate::scene::{Server, Upstream, chat, events, plain, reply, says, send, stream, user};
use crate::talk::{question, talk};

const WINDOW: &str = "[window]\ntokens = 5000\nreply_tokens = 300\n";

#[test]
fn two_keys_that_differ_are_refused_in_the_dialect_of_the_client() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let body = chat(&[user("hello")]).to_string();
    let both = |key: &str| format!("authorization: Bearer one\r\nx-api-key: {key}\r\n");
    let refused = server.send("POST /v1/chat/completions", &both("two"), &body);
    assert_eq!((refused.status(), &refused.json()["error"]["code"]), (400, &json!("two_keys")));
    let repeated = server.send("POST /v1/chat/completions", "x-api-key: one\r\nx-api-key: one\r\n", &body);
    assert_eq!(repeated.status(), 400);
    assert_eq!(server.send("POST /v1/chat/completions", &both("one"), &body).status(), 200);
    assert_eq!(upstream.asked().len(), 1, "what is refused goes nowhere");
}

#[test]
fn an_upstream_may_be_named_like_a_version() {
    let upstream = Upstream::new(|_, asked| plain("200 OK", "", asked.head.lines().next().unwrap()));
    let url = format!("url = \"http://127.0.0.1:{}/v1\"", upstream.port);
    let server = Server::new(upstream.port, &format!("[upstreams.v1x]\n{url}\n[upstreams.v1-beta]\n{url}\n"));
    for name in ["v1x", "v1-beta"] {
        let answer = server.send(&format!("GET /{name}/v1/models?of=/v1"), "", "");
        assert_eq!(answer.text(), "GET /v1/models?of=/v1 HTTP/1.1", "{name}");
        let keys = "authorization: Bearer one\r\nx-api-key: two\r\n";
        let refused = server.send(&format!("POST /{name}/v1/messages"), keys, "{}").json();
        assert_eq!(refused["type"], "error", "in the dialect of the client: {refused}");
    }
}

#[test]
fn a_second_scrollback_only_passes_on() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let inner = Server::new(upstream.port, "");
    let outer = Server::new(inner.port, "");
    let answer = outer.ask(&chat(&[user("hello")]));
    assert_eq!((answer.status(), upstream.asked().len()), (200, 1));
    let tools = upstream.asked()[0].json()["tools"].as_array().unwrap().len();
    assert_eq!(tools, 3, "our tools are offered once");
    assert_eq!((outer.messages().len(), inner.messages().len()), (2, 0), "one of them keeps the conversation");
    assert!(inner.log().contains("another Scrollback"), "{}", inner.log());
    let direct = inner.send(
        "POST /v1/chat/completions",
        "via: 1.1 scrollback-0123456789ab\r\n",
        &chat(&[user("x")]).to_string(),
    );
    assert!(direct.header("x-scrollback-trouble").unwrap().contains("another Scrollback"));
}

#[test]
fn a_circle_is_noticed() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    let server = Server::new(port, "");
    // A forwarder on the upstream's port makes the circle.
    let target = server.port;
    std::thread::spawn(move || {
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        for client in listener.incoming().flatten() {
            let behind = std::net::TcpStream::connect(("127.0.0.1", target)).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), behind.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let (mut from, mut to) = (behind, client);
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        }
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    let answer = server.ask(&chat(&[user("hello")]));
    assert_eq!((answer.status(), &answer.json()["error"]["code"]), (508, &json!("proxy_loop")), "{}", answer.text());
}

#[test]
fn every_reply_tells_where_it_is_and_what_it_saved() {
    let upstream = Upstream::new(|_, asked| {
        if asked.json()["stream"] == true {
            stream(&events(&[says("Noted.")], "stop"), 40, true)
        } else {
            reply(&says("Noted, and I will remember it."))
        }
    });
    let server = Server::new(upstream.port, WINDOW);
    let first = server.ask(&chat(&[user("hello")]));
    let number = |answer: &crate::scene::Said, name: &str| answer.header(name).unwrap().parse::<f64>().unwrap();
    assert!(first.header("x-scrollback-session").is_some() && first.header("x-scrollback-view") == Some("v0"));
    assert!(number(&first, "x-scrollback-tokens") > 5.0);
    assert!(number(&first, "x-scrollback-saved-tokens").abs() < 1.0, "nothing is folded yet");
    let mut history = Vec::new();
    talk(&server, &mut history, 0..40);
    history.push(user("And now?"));
    let mut body = chat(&history);
    body["stream"] = json!(true);
    let last = server.ask(&body);
    assert!(number(&last, "x-scrollback-saved-tokens") > 1000.0, "{}", last.head);
    assert!(number(&last, "x-scrollback-saved-dollars") > 0.0, "{}", last.head);
}

/// What is shown after a fold is in no cache, and what was shown before it would have been.
#[test]
fn a_stream_right_after_a_fold_is_foretold_to_cost_more() {
    let upstream = Upstream::new(|_, _| stream(&events(&[says("Noted.")], "stop"), 400, true));
    let server = Server::new(upstream.port, WINDOW);
    let mut history = Vec::new();
    for turn in 0..60 {
        history.push(user(&question(turn)));
        let answer = server.ask(&json!({"model": "gpt-5", "messages": history, "stream": true}));
        let number = |name: &str| answer.header(name).unwrap().parse::<f64>().unwrap();
        if number("x-scrollback-saved-tokens") > 0.0 {
            assert!(number("x-scrollback-saved-dollars") < 0.0, "{}", answer.head);
            return;
        }
        history.push(says("Noted."));
    }
    panic!("nothing was folded");
}

/// A model that has never seen a conversation would have to read all of it without us too.
#[test]
fn after_a_change_of_model_all_is_new_to_it_once() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted, and I will remember it.")));
    let mut server = Server::new(upstream.port, WINDOW);
    let mut history = Vec::new();
    talk(&server, &mut history, 0..40);
    let mut saved = |server: &Server| {
        history.push(user("And now?"));
        let mut body = chat(&history);
        body["model"] = json!("gpt-5");
        let answer = server.ask(&body);
        history.push(answer.json()["choices"][0]["message"].clone());
        // What it was shown is on record a moment after its reply.
        std::thread::sleep(std::time::Duration::from_millis(500));
        answer.header("x-scrollback-saved-dollars").unwrap().parse::<f64>().unwrap()
    };
    let [first, second] = [saved(&server), saved(&server)];
    assert!(first > 4.0 * second && second > 0.0, "{first}, {second}");
    server.restart(|_| ());
    let third = saved(&server);
    assert!(first > 4.0 * third, "what is on record counts: {first}, {third}");
}

#[test]
fn a_stream_can_end_with_a_comment_that_tells_the_same() {
    let upstream = Upstream::new(|_, _| stream(&events(&[says("Noted.")], "stop"), 40, true));
    let server = Server::serving(upstream.port, "comments = true\n", "");
    let mut body = chat(&[user("hello")]);
    body["stream"] = json!(true);
    let answer = server.ask(&body);
    let comment = answer.text().lines().find(|line| line.starts_with(": scrollback ")).map(str::to_owned).unwrap();
    for name in ["session", "view", "tokens", "saved-tokens", "saved-dollars"] {
        assert!(comment.contains(&format!(" {name}=")), "{comment}");
    }
    assert!(comment.contains(answer.header("x-scrollback-session").unwrap()));
}

/// A question that is asked again is answered under another view.
#[test]
fn each_reply_to_one_question_names_its_own_view() {
    let upstream = Upstream::new(|number, _| reply(&says(&format!("Answer {number}."))));
    let server = Server::new(upstream.port, "");
    let asked = chat(&[user("Which key?")]);
    for view in ["v0", "v0.2", "v0.3"] {
        let answer = server.ask(&asked);
        assert_eq!(answer.header("x-scrollback-view"), Some(view));
        server.messages();
        let told = server.shown_view(answer.header("x-scrollback-session").unwrap(), view);
        assert!(!told.is_empty(), "{view} is on record");
    }
    let laid_out = server.send("POST /v1/context/render", "", &asked.to_string()).json();
    assert_eq!(laid_out["view"], "v0.4");
}

#[test]
fn a_window_is_laid_out_without_being_sent() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted, and I will remember it.")));
    let server = Server::new(upstream.port, WINDOW);
    let mut history = Vec::new();
    talk(&server, &mut history, 0..40);
    let asked = upstream.asked().len();
    history.push(user("And now?"));
    let rendered = server.send("POST /v1/context/render", "", &chat(&history).to_string());
    assert_eq!(upstream.asked().len(), asked, "nothing is sent");
    let told = rendered.json();
    let messages = told["request"]["messages"].as_array().unwrap();
    assert!(messages.len() < history.len() && messages.last().unwrap() == history.last().unwrap(), "{told}");
    assert_eq!(told["request"]["x_unknown"], json!({"kept": true}));
    assert!(told["tokens"].as_u64().unwrap() <= 4700 && told["saved_tokens"].as_u64().unwrap() > 1000, "{told}");
    assert_eq!(server.messages().len(), history.len(), "it is kept all the same");
    // What the model then asks for can be told too.
    let call = json!({"session": told["session"], "name": "search_history", "arguments": {"words": question(0)}});
    let found = server.send("POST /v1/context/recall", "", &call.to_string()).json();
    assert!(found["content"].as_str().unwrap().contains("m0"), "{found}");
    let wrong = server.send(
        "POST /v1/context/recall",
        "",
        &json!({"session": "nobody", "name": "search_history", "arguments": {"words": "x"}}).to_string(),
    );
    assert_eq!(wrong.status(), 404);
    assert_eq!(server.send("POST /v1/context/render", "", "{}").status(), 400);
    assert_eq!(server.send("POST /v1/context/render?format=morse", "", "{}").status(), 400);
    assert_eq!(send(server.port, "GET /v1/context/render", "", "").status(), 405);
}

#[test]
fn a_request_is_laid_out_in_its_own_dialect_and_what_is_none_is_refused() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let lay = |body: &Value| server.send("POST /v1/context/render", "", &body.to_string());
    let call = json!({"type": "tool_use", "id": "t", "name": "look", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "a boat"});
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let said = |block: &Value| json!({"role": "assistant", "content": [block]});
    for body in [
        json!({"model": "claude", "messages": [user("hi")], "tools": [{"name": "look", "input_schema": {"type": "object"}}]}),
        json!({"model": "claude", "messages": [user("hi"), said(&call), {"role": "user", "content": [result]}]}),
        json!({"model": "claude", "messages": [user("hi"), said(&thought), user("well?")]}),
    ] {
        let told = lay(&body).json();
        let tools = told["request"]["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool["input_schema"].is_object()), "{told}");
    }
    let before = server.messages().len();
    for body in [
        json!({"messages": "x"}),
        json!({"messages": [1]}),
        json!({"messages": [{}]}),
        json!({"messages": [["user", "x"]]}),
        json!({"input": [{}]}),
        json!([1]),
    ] {
        let refused = lay(&body);
        assert_eq!(
            (refused.status(), refused.header("content-type")),
            (400, Some("application/problem+json")),
            "{body}"
        );
    }
    assert_eq!(server.messages().len(), before, "nothing of it is kept");
    assert_eq!(lay(&json!({"model": "gpt-5", "input": "hi"})).status(), 200, "a text is a message here");
}

/// Whoever lays out windows here and sends them elsewhere is told for its model what the proxy tells one.
#[test]
fn what_a_person_leaves_out_is_recalled_for_no_model() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted, and I will remember it.")));
    let server = Server::new(upstream.port, WINDOW);
    let mut history = vec![user("The harbour master's number is 4711.")];
    talk(&server, &mut history, 0..40);
    let session = server.send("POST /v1/context/render", "", &chat(&history).to_string()).json()["session"].clone();
    let recall = |name: &str, arguments: Value| {
        let call = json!({"session": session, "name": name, "arguments": arguments}).to_string();
        let told = server.send("POST /v1/context/recall", "", &call);
        assert_eq!(told.status(), 200, "{}", told.text());
        told.json()["content"].as_str().unwrap().to_owned()
    };
    assert!(recall("recall_page", json!({"index": 0})).contains("4711"), "before it is left out");
    let out = format!("PUT /api/sessions/{}/excluded/m0", session.as_str().unwrap());
    assert_eq!(server.send(&out, "", "").status(), 200);
    let asked = [
        ("recall_page", json!({"index": 0})),
        ("search_history", json!({"words": "harbour master's number"})),
        ("activate_topic", json!({"topic": "harbour master's number"})),
    ];
    for (name, arguments) in asked {
        let told = recall(name, arguments);
        assert!(!told.contains("4711"), "{name}: {told}");
    }
    // What is not there is told as the proxy tells it.
    assert!(recall("recall_page", json!({"index": 9999})).starts_with("There is no page #9999"));
}

/// Two models may go on from one beginning, each in its own words.
#[test]
fn what_is_recalled_for_a_window_is_of_its_own_branch() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted, and I will remember it.")));
    let server = Server::new(upstream.port, WINDOW);
    let branch = |words: &str| {
        let own = (0..40).map(|turn| format!("{words} {}", question(turn)));
        let said = std::iter::once("Which lamp?".to_owned()).chain(own);
        let turns = said.flat_map(|said| [user(&said), json!({"role": "assistant", "content": "Noted."})]);
        let history: Vec<Value> = turns.chain([user("And now?")]).collect();
        let headers = "x-scrollback-session: harbour\r\n";
        server.send("POST /v1/context/render", headers, &chat(&history).to_string()).json()
    };
    let (first, second) = (branch("The lamp in the north is lit."), branch("The lamp in the south is lit."));
    assert_eq!(first["session"], second["session"]);
    let recall = |view: &Value| {
        let call = json!({"session": first["session"], "view": view, "name": "search_history",
            "arguments": {"words": "lamp lit"}});
        server.send("POST /v1/context/recall", "", &call.to_string()).json()["content"].to_string()
    };
    let (north, south) = (recall(&first["view"]), recall(&second["view"]));
    assert!(north.contains("in the north") && !north.contains("in the south"), "{north}");
    assert!(south.contains("in the south") && !south.contains("in the north"), "{south}");
    assert_eq!(recall(&json!(null)), south, "the newest counts where none is named");
}

#[test]
fn anthropic_clients_go_to_their_own_upstream() {
    let openai = Upstream::new(|_, _| reply(&says("I am the usual one")));
    let anthropic = Upstream::new(|_, _| reply(&says("I am the other")));
    let settings =
        format!("[upstreams.anthropic]\nurl = \"http://127.0.0.1:{}/v1\"\nwire = \"anthropic\"\n", anthropic.port);
    let server = Server::new(openai.port, &settings);
    server.send("POST /v1/messages/batches", "anthropic-version: 2023-06-01\r\n", "{}");
    server.send("GET /v1/models", "anthropic-version: 2023-06-01\r\n", "");
    server.send("GET /v1/models", "", "");
    assert_eq!((anthropic.asked().len(), openai.asked().len()), (2, 1));
    assert_eq!(server.send("GET /", "", "").status(), 200);
}
