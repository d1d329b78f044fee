//! Law 7: a helper model makes digests better, and the turn never depends on it.

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, plain, reply, says, user};

const SETTINGS: &str =
    "[window]\ntokens = 3000\nreply_tokens = 300\n[helper]\nmodel = \"small\"\ntimeout_seconds = 2\n";

fn is_task(asked: &Said) -> bool {
    asked.json()["model"] == "small"
}

/// By so many turns much is folded.
const FOLDED_AFTER: usize = 24;
/// The helper may be late, but not for longer than this.
const MOST_TURNS: usize = 240;

/// Talks until much is folded, and further until the contents page is as wanted; returns that page and how many turns
/// it took.
fn talk(upstream: &Upstream, server: &Server, is_wanted: impl Fn(&str) -> bool) -> (String, usize) {
    let (mut history, mut turn) = (Vec::new(), 0);
    loop {
        turn += 1;
        history
            .push(user(&format!("Question {turn} about the tide: {}", "how high is it at the pier today? ".repeat(9))));
        let answer = server.ask(&chat(&history));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        history.push(answer.json()["choices"][0]["message"].clone());
        let asked = upstream.asked();
        let shown = asked.iter().rev().find(|asked| !is_task(asked)).unwrap().json();
        let contents = shown["messages"][0]["content"].as_str().unwrap();
        if turn >= FOLDED_AFTER && (is_wanted(contents) || turn == MOST_TURNS) {
            return (contents.to_owned(), turn);
        }
        // The helper works between the turns, when it is looked whether there is work. People do not keep time: if as
        // many turns as fold took just as long as that, it might be looked right after a fold, always.
        std::thread::sleep(std::time::Duration::from_millis(40 + 37 * turn as u64 % 120));
    }
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
    let (contents, _) = talk(&upstream, &server, |contents| contents.contains("told by the helper"));
    assert!(upstream.asked().iter().any(is_task), "the helper was asked");
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
        let (contents, turns) = talk(&upstream, &server, |_| true);
        assert!(contents.contains("] Question"), "{failure}: {contents}");
        assert_eq!(server.messages().len(), 2 * turns, "{failure}");
    }
}
