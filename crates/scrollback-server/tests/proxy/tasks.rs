//! Law 7: a helper model makes digests better, and the turn never depends on it.

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, plain, reply, says, user};

const SETTINGS: &str =
    "[window]\ntokens = 3000\nreply_tokens = 300\n[helper]\nmodel = \"small\"\ntimeout_seconds = 2\n";

fn is_task(asked: &Said) -> bool {
    asked.json()["model"] == "small"
}

/// Talks until much of it is folded, and returns what the main model was shown last.
fn talk(upstream: &Upstream, server: &Server) -> Value {
    let mut history = Vec::new();
    for i in 0..24 {
        history.push(user(&format!("Question {i} about the tide: {}", "how high is it at the pier today? ".repeat(9))));
        let answer = server.ask(&chat(&history));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        history.push(answer.json()["choices"][0]["message"].clone());
        // The helper works between the turns.
        std::thread::sleep(std::time::Duration::from_millis(80));
    }
    let asked = upstream.asked();
    asked.iter().rev().find(|asked| !is_task(asked)).unwrap().json()
}

#[test]
fn the_helpers_digests_are_on_the_contents_page() {
    // Lines for messages that are not on the page are dropped.
    let lines: serde_json::Map<String, Value> =
        (0..60).map(|i| (format!("m{i}"), json!("It was about the tide."))).collect();
    let digest = json!({"title": "Tide at the pier, told by the helper", "lines": lines}).to_string();
    let upstream =
        Upstream::new(move |_, asked| if is_task(asked) { reply(&says(&digest)) } else { reply(&says("Two metres.")) });
    let server = Server::new(upstream.port, SETTINGS);
    let shown = talk(&upstream, &server);
    assert!(upstream.asked().iter().any(is_task), "the helper was asked");
    let contents = shown["messages"][0]["content"].as_str().unwrap();
    assert!(contents.starts_with("<contents-") && contents.contains("told by the helper"), "{contents}");
}

#[test]
fn without_its_words_the_turn_happens() {
    for failure in ["nonsense", "error", "silence"] {
        let upstream = Upstream::new(move |_, asked| match (is_task(asked), failure) {
            (false, _) => reply(&says("Two metres.")),
            (true, "nonsense") => reply(&says("I would rather talk about boats.")),
            (true, "error") => plain("500 Oops", "", "no"),
            (true, _) => {
                std::thread::sleep(std::time::Duration::from_secs(5));
                vec![None]
            }
        });
        let server = Server::new(upstream.port, SETTINGS);
        let shown = talk(&upstream, &server);
        let contents = shown["messages"][0]["content"].as_str().unwrap();
        assert!(contents.contains("] Question"), "{failure}: {contents}");
        assert_eq!(json!(server.messages().len()), json!(48), "{failure}");
    }
}
