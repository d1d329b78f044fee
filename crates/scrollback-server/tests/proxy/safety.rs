//! What must not happen: keys that leak, addresses that clients choose, pages elsewhere that talk to us.

use serde_json::json;

use crate::scene::{Server, Upstream, chat, plain, reply, says, user};

fn holds(server: &Server, secret: &str) -> bool {
    let files =
        std::fs::read_dir(server.folder.path()).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    let in_files = files.into_iter().any(|bytes| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    in_files || server.log().contains(secret)
}

#[test]
fn a_clients_key_goes_upstream_and_nowhere_else() {
    let upstream =
        Upstream::new(
            |number, _| {
                if number == 0 { reply(&says("hi")) } else { plain("401 Unauthorized", "", "{\"error\":{}}") }
            },
        );
    let server = Server::new(upstream.port, "");
    server.ask(&chat(&[user("hello")]));
    server.ask(&chat(&[user("hello again")]));
    assert_eq!(upstream.asked()[0].header("authorization"), Some("Bearer sk-canary"));
    assert_eq!(server.messages().len(), 3);
    assert!(!holds(&server, "sk-canary"));
    assert!(!server.send("GET /metrics", "", "").text().contains("canary"));
}

#[test]
fn a_key_of_ours_goes_to_its_upstream_alone() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "key_env = \"MOCK_KEY\"\n");
    server.ask(&chat(&[user("hello")]));
    assert_eq!(upstream.asked()[0].header("authorization"), Some("Bearer sk-from-the-environment"));
    assert!(!holds(&server, "sk-from-the-environment"));
}

#[test]
fn redirects_are_not_followed() {
    let elsewhere = Upstream::new(|_, _| reply(&says("caught")));
    let port = elsewhere.port;
    let upstream =
        Upstream::new(move |_, _| plain("302 Found", &format!("location: http://127.0.0.1:{port}/v1\r\n"), ""));
    let server = Server::new(upstream.port, "");
    assert_eq!(server.ask(&chat(&[user("hello")])).status(), 302);
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn a_client_cannot_choose_an_address() {
    let elsewhere = Upstream::new(|_, _| reply(&says("caught")));
    let url = format!("http://127.0.0.1:{}/v1", elsewhere.port);
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let mut body = chat(&[user("hello")]);
    for name in ["api_base", "base_url", "url"] {
        body[name] = json!(url);
    }
    server.ask(&body);
    server.send("POST /v1/chat/completions?api_base=x", &format!("x-base-url: {url}\r\n"), &body.to_string());
    server.send(&format!("POST /{}/v1/chat/completions", elsewhere.port), "", &body.to_string());
    assert!(elsewhere.asked().is_empty());
    assert_eq!(upstream.asked().len(), 2);
}

#[test]
fn a_page_elsewhere_cannot_talk_to_us() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let answer =
        server.send("POST /v1/chat/completions", "host: evil.example\r\n", &chat(&[user("hello")]).to_string());
    assert_eq!(answer.status(), 403);
    let posted = server.send(
        "POST /v1/chat/completions",
        "origin: https://evil.example\r\n",
        &chat(&[user("hello")]).to_string(),
    );
    assert_eq!(posted.status(), 403);
    assert!(upstream.asked().is_empty());
    let own = server.send(
        "POST /v1/chat/completions",
        "origin: http://localhost:3000\r\n",
        &chat(&[user("hello")]).to_string(),
    );
    assert_eq!(own.status(), 200);
}

#[test]
fn what_is_too_large_is_refused_with_a_word() {
    let upstream = Upstream::new(|_, _| reply(&says("hi")));
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user(&"x".repeat(5 << 20))]));
    assert_eq!((answer.status(), &answer.json()["error"]["code"]), (413, &json!("request_too_large")));
    let answer = server.ask(&chat(&[user(&"tide ".repeat(300_000))]));
    assert_eq!((answer.status(), &answer.json()["error"]["code"]), (400, &json!("context_length_exceeded")));
    let told = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(told.contains("m0 user with") && told.contains("exceeds the context window"), "{told}");
    assert!(told.contains("this model's maximum context length is"), "by this litellm knows it: {told}");
    let body = json!({"model": "claude", "max_tokens": 9, "messages": [user(&"tide ".repeat(300_000))]});
    let answer = server.send("POST /v1/messages", "", &body.to_string());
    let told = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(answer.status() == 400 && told.starts_with("prompt is too long: "), "by this clients know it: {told}");
    assert_eq!(server.ask(&chat(&[user("short")])).status(), 200);
}
