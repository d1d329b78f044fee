//! Documents: `[NEED_CONTEXT: words]` brings the messages behind a section, out of the client's sight, whether or not
//! the model has tools as well.

use std::time::Duration;

use serde_json::{Value, json};

use crate::scene::{Said, Server, Upstream, chat, events, reply, says, stream, user};
use crate::talk::{heard_up_to, messages, question, shown, streamed, streaming, talk, words};

const SETTINGS: &str = "[window]\nstrategy = \"artifacts\"\ntokens = 9000\nreply_tokens = 300\n\
                        [artifacts]\narchive_at = 16\nkeep = 8\n";

/// Says a text, whole or in pieces of so many characters and bytes.
fn spoken(text: &str, piece: usize) -> Vec<Option<Vec<u8>>> {
    if piece == 0 {
        return reply(&says(text));
    }
    let letters: Vec<char> = text.chars().collect();
    let deltas: Vec<Value> =
        letters.chunks(piece).map(|piece| json!({"content": piece.iter().collect::<String>()})).collect();
    stream(&events(&deltas, "stop"), piece, true)
}

/// A model that writes what it is told to after `WRITE `, answers once it is told more, and asks on if it is to be
/// endless.
fn model(_: usize, asked: &Said) -> Vec<Option<Vec<u8>>> {
    let messages = messages(asked);
    let said: Vec<String> = messages.iter().map(words).collect();
    let wanted = said.iter().rev().find(|text| text.starts_with("WRITE "));
    let last = said.last().unwrap();
    let piece = asked.json()["piece"].as_u64().map_or(0, |piece| usize::try_from(piece).unwrap());
    match wanted {
        Some(wanted) if last == wanted || wanted.contains("endless") => spoken(&wanted[6..], piece),
        _ => spoken("It cost 4417 crowns.", piece),
    }
}

struct Scene {
    upstream: Upstream,
    server: Server,
    history: Vec<Value>,
}

impl Scene {
    fn new() -> Self {
        Self::recalling("text")
    }

    fn recalling(by: &str) -> Self {
        let upstream = Upstream::new(model);
        let server = Server::new(upstream.port, &format!("recall = \"{by}\"\n{SETTINGS}"));
        let mut history = Vec::new();
        talk(&server, &mut history, 0..18);
        Self { upstream, server, history }
    }

    /// Has the model write something; what the client saw, and the requests it took.
    fn write(&mut self, text: &str, piece: usize) -> (String, Vec<Said>) {
        self.history.push(user(&format!("WRITE {text}")));
        let mut body = if piece == 0 { chat(&self.history) } else { streaming(&self.history) };
        body["piece"] = json!(piece);
        let before = self.upstream.asked().len();
        let answer = self.server.ask(&body);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let told = if piece == 0 {
            words(&answer.json()["choices"][0]["message"])
        } else {
            assert_eq!(answer.text().matches("[DONE]").count(), 1);
            streamed(&answer)
        };
        assert!(!answer.text().contains("NEED_CON"), "{}", answer.text());
        self.history.push(says(&told));
        (told, self.upstream.asked().split_off(before))
    }
}

/// What the model is told after it asked.
fn told(asked: &Said) -> String {
    words(&messages(asked).pop().unwrap())
}

#[test]
fn the_sources_of_a_section_are_brought() {
    for by in ["text", "tools"] {
        let mut scene = Scene::recalling(by);
        for piece in 0..=5 {
            let (seen, asked) = scene.write(&format!("{piece} [NEED_CONTEXT: lamp bought from Larsen]"), piece);
            assert!(seen.trim_end().ends_with("It cost 4417 crowns."), "{by}, pieces of {piece}: {seen}");
            assert_eq!(asked.len(), 2, "{by}, pieces of {piece}");
            assert!(shown(&asked[0]).contains("<artifacts-"), "{}", shown(&asked[0]));
            assert_eq!(asked[0].json().get("tools").is_none(), by == "text");
            let told = told(&asked[1]);
            assert!(told.contains("Sources of “") && told.contains(question(0).trim()), "{by}, {piece}: {told}");
        }
        let kept = scene.server.messages();
        assert_eq!(kept.len(), 48);
        assert!(!kept.iter().any(|message| message["role"] == "assistant" && words(message).contains("NEED_CON")));
    }
}

/// Law 2: nothing is named that a request does not offer.
#[test]
fn a_model_that_cannot_recall_is_told_of_no_way_to() {
    let tools = ["NEED_CONTEXT", "search_history", "recall_page", "activate_topic", "expand_summary"];
    for strategy in ["artifacts", "pages", "topics", "summary"] {
        let upstream = Upstream::new(model);
        let settings = SETTINGS.replace("\"artifacts\"", &format!("\"{strategy}\"")).replace("9000", "3000");
        let server = Server::new(upstream.port, &format!("recall = \"off\"\n{settings}"));
        talk(&server, &mut Vec::new(), 0..30);
        let window = shown(upstream.asked().last().unwrap());
        assert!(window.contains("kept word for word"), "{strategy} folds: {window}");
        for tool in tools {
            assert!(!window.contains(tool), "{strategy} names {tool}: {window}");
        }
    }
}

#[test]
fn several_markers_are_all_answered() {
    let mut scene = Scene::new();
    for piece in [0, 3] {
        let text = "[NEED_CONTEXT: ferry Solveig berth] and [NEED_CONTEXT: brass sextant Ingrid]";
        let (_, asked) = scene.write(text, piece);
        let told = told(&asked[1]);
        assert!(told.contains("leaves from berth nine at twenty past six"), "{told}");
        assert!(told.contains("only with a letter from Ingrid"), "{told}");
    }
}

#[test]
fn a_marker_that_matches_nothing_is_told_so() {
    let mut scene = Scene::new();
    for piece in [0, 4] {
        let (seen, asked) = scene.write("[NEED_CONTEXT: zeppelin quasar xylophone]", piece);
        assert_eq!(seen, "It cost 4417 crowns.");
        assert!(told(&asked[1]).contains("Nothing outside the window matches"), "{}", told(&asked[1]));
    }
}

#[test]
fn a_model_that_asks_without_end_is_stopped() {
    let mut scene = Scene::new();
    for piece in [0, 2] {
        let (seen, asked) = scene.write("Let me see. [NEED_CONTEXT: endless harbour crane] Perhaps.", piece);
        assert_eq!(asked.len(), 4, "three rounds and the answer");
        assert!(told(&asked[3]).contains("No more can be recalled"), "{}", told(&asked[3]));
        assert!(seen.contains("Let me see.") && seen.ends_with("Perhaps."), "{seen}");
    }
}

/// A client that leaves before the last word has seen no marker, so none is kept.
#[test]
fn no_marker_is_kept_of_a_stream_that_its_client_leaves() {
    let upstream = Upstream::new(|_, _| {
        let deltas = [json!({"role": "assistant", "content": "Perhaps. [NEED_CONTEXT: lamp]"})];
        let text = events(&deltas, "stop").replace("data: [DONE]\n\n", "");
        let mut pieces = stream(&text, 64, true);
        // Nothing more comes, and the connection stays.
        pieces.pop();
        pieces
    });
    let server = Server::new(upstream.port, "recall = \"text\"\n[recall]\nrounds = 0\n");
    let client = heard_up_to("Perhaps.", &server, "", &streaming(&[user("Which lamp?")]));
    // What is read next may already be the marker.
    std::thread::sleep(Duration::from_millis(400));
    drop(client);
    let begun = std::time::Instant::now();
    while server.messages().len() < 2 && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.messages(), [user("Which lamp?"), says("Perhaps. ")]);
}
