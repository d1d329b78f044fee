//! Embeddings of an API: `scrollback eval recall --embed URL`.

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::upstream::{Asked, Reply, Upstream};

/// A talk in which a question shares no word with what answers it.
fn talk() -> String {
    let message =
        |i: usize, text: String| json!({"id": i.to_string(), "role": "user", "name": null, "time": null, "text": text});
    let told = |i: usize| {
        let text = format!("Tide table {i}: high water at the pier in the morning, low water after noon.");
        message(
            i,
            if i == 7 {
                "Miso purrs on the sill above the stove, all day long, and comes down only for fish and cream."
                    .to_owned()
            } else {
                text
            },
        )
    };
    let question = json!({"id": "q", "kind": "fact", "text": "Where does our cat rest?", "evidence": ["7"]});
    json!({"id": "1", "messages": (0..60).map(told).collect::<Vec<_>>(), "questions": [question]}).to_string()
}

/// Vectors that know what is about cats.
fn vectors(_: usize, asked: &Asked) -> Reply {
    let vector = |text: &Value| {
        let text = text.as_str().unwrap();
        if text.contains("cat") || text.contains("Miso") { [1.0, 0.1] } else { [0.1, 1.0] }
    };
    let texts = asked.body["input"].as_array().unwrap().iter().enumerate();
    let data: Vec<Value> = texts.map(|(i, text)| json!({"index": i, "embedding": vector(text)})).collect();
    Reply::Json(json!({"object": "list", "data": data, "model": asked.body["model"]}))
}

#[test]
fn what_shares_no_word_is_found_by_its_meaning_and_embedded_once() {
    let (desk, upstream) = (Desk::new(1), Upstream::new(vectors));
    desk.write("sets/recall/cats.jsonl", &talk());
    let eval =
        ["eval", "recall", "--data", "sets", "--only", "cats", "--budget", "500", "--strategy", "topics", "--json"];
    let embed = ["--embed", &upstream.url, "--embed-model", "small", "--embed-cache", "vectors"];
    let rows = |arguments: &[&str]| {
        let ran = desk.scrollback(arguments);
        assert_eq!(ran.code, 0, "{}", ran.aside);
        let rows = ran.table()["rows"].as_array().unwrap().clone();
        move |name: &str| rows.iter().find(|row| row["name"] == name).map(|row| row["cells"][0].clone())
    };
    let with = rows(&[&eval[..], &embed].concat());
    assert_eq!(
        [with("BM25"), with("embeddings"), with("topics")],
        [Some(json!(0.0)), Some(json!(100.0)), Some(json!(100.0))]
    );
    assert!(upstream.asked().iter().all(|asked| asked.path == "/v1/embeddings" && asked.body["model"] == "small"));
    let count = upstream.count();
    assert_eq!(rows(&[&eval[..], &embed].concat())("topics"), Some(json!(100.0)));
    assert_eq!(upstream.count(), count, "vectors are kept");
    let without = rows(&eval);
    assert_eq!((without("embeddings"), without("topics")), (None, Some(json!(0.0))));
}

#[test]
fn how_much_is_embedded_and_how_much_at_once_is_as_the_settings_say() {
    let (desk, upstream) = (Desk::new(1), Upstream::new(vectors));
    desk.write("sets/recall/cats.jsonl", &talk());
    let eval = ["eval", "recall", "--data", "sets", "--only", "cats", "--budget", "500", "--strategy", "topics"];
    let embed = ["--json", "--embed", &upstream.url, "--embed-model", "small"];
    let found = |settings: &str| {
        desk.write("scrollback.toml", &format!("[embeddings]\n{settings}"));
        let ran = desk.scrollback(&[&eval[..], &embed].concat());
        assert_eq!(ran.code, 0, "{}", ran.aside);
        let rows = ran.table()["rows"].as_array().unwrap().clone();
        ["embeddings", "topics"].map(|name| rows.iter().find(|row| row["name"] == name).unwrap()["cells"][0].clone())
    };
    assert_eq!(found("batch = 5"), [json!(100.0), json!(100.0)]);
    assert!(upstream.asked().iter().all(|asked| asked.body["input"].as_array().unwrap().len() <= 5));
    assert_eq!(found("passages = 0"), [json!(0.0), json!(0.0)], "nothing a person says is embedded");
}
