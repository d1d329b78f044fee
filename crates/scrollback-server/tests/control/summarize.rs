//! `POST /v1/summarize`: any conversation in few words, and nothing of it kept.

use serde_json::{Value, json};

use crate::home::{Home, Server};

fn talk() -> Vec<Value> {
    let said = |role: &str, text: String| json!({"role": role, "content": text});
    let turn = |n: usize| {
        let question = said("user", format!("How many crates did the Petrel carry on day {n}?"));
        [question, said("assistant", format!("On day {n} the Petrel carried {n}40 crates to slip {n}."))]
    };
    std::iter::once(said("system", "Be brief.".into())).chain((1..12).flat_map(turn)).collect()
}

#[test]
fn a_conversation_is_summed_up_and_not_kept() {
    let home = Home::new("");
    let server = Server::start(&home);
    let body = json!({"messages": talk(), "max_tokens": 300, "style": "general"}).to_string();
    let summed = server.asks("POST /v1/summarize", &body);
    assert_eq!((&summed["by"], &summed["messages"]), (&json!("offline"), &json!(22)));
    assert!(!summed["summary"].as_str().unwrap().is_empty() && summed["lost"].is_array(), "{summed}");
    assert!(summed["kept"].as_array().unwrap().iter().any(|quote| quote["text"].as_str().unwrap().contains("day 1")));
    assert_eq!(server.asks("GET /api/sessions", "")["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_summed_up_is_refused() {
    let home = Home::new("");
    let server = Server::start(&home);
    for (body, part) in [
        (json!({}), "messages"),
        (json!({"messages": []}), "no message"),
        (json!({"messages": "hello"}), "array"),
        (json!({"messages": [["user", "hello"]]}), "list of objects"),
        (json!({"messages": talk(), "style": "poetry"}), "general, technical and auto"),
        (json!({"messages": talk(), "max_tokens": 3}), "at least 50"),
    ] {
        let (status, told) = server.refuses("POST /v1/summarize", &body.to_string());
        assert!(status == 400 && told.contains(part), "{told}");
    }
    assert_eq!(server.refuses("GET /v1/summarize", "").0, 405);
}
