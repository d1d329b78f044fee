//! An API that answers by a script, and what is made of its answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// What the API was asked.
type Heard = Arc<Mutex<Vec<(String, Value)>>>;

/// Answers each connection with the next line of a script, the last one again and again.
async fn api(script: &'static [&'static str]) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/", listener.local_addr().unwrap());
    let (heard, count) = (Heard::default(), AtomicUsize::new(0));
    let log = heard.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            let (head, body) = loop {
                let mut piece = [0; 4_096];
                let read = stream.read(&mut piece).await.unwrap();
                bytes.extend(&piece[..read]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if let Some((head, body)) = text.split_once("\r\n\r\n")
                    && let Ok(body) = serde_json::from_str(body)
                {
                    break (head.to_owned(), body);
                }
            };
            log.lock().unwrap().push((head, body));
            let turn = count.fetch_add(1, Ordering::Relaxed).min(script.len() - 1);
            let (status, body) = script[turn].split_once(' ').unwrap();
            let length = body.len();
            let answer = format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, heard)
}

fn endpoint(url: &str) -> Endpoint {
    let settings = EmbeddingSettings {
        source: EmbeddingSource::Api(url.to_owned()),
        model: "small".into(),
        key_env: String::new(),
        dimensions: 2,
        question_prefix: "query: ".into(),
        passage_prefix: String::new(),
        threads: 1,
        engine: scrollback::embed::EmbedSettings::default(),
    };
    let (pauses, left_alone) = ([Duration::from_millis(1); 2], Duration::from_millis(200));
    Endpoint { pauses, left_alone, ..Endpoint::new(url, &settings).unwrap() }
}

const TWO: &str = r#"200 {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1.5, 0]}]}"#;
const ONE: &str = r#"200 {"data": [{"index": 0, "embedding": [1, 0]}]}"#;

#[tokio::test]
async fn texts_are_sent_together_and_vectors_come_in_their_order() {
    let (url, heard) = api(&[TWO, ONE]).await;
    let endpoint = endpoint(&url);
    let vectors = endpoint.embed(&["a", "b"], TextKind::Passage).await.unwrap();
    assert_eq!(vectors, [vec![1.5, 0.0], vec![0.0, 1.0]]);
    endpoint.embed(&["who?"], TextKind::Question).await.unwrap();
    let heard = heard.lock().unwrap();
    assert!(heard[0].0.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{}", heard[0].0);
    assert_eq!(heard[0].1, json!({"model": "small", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2}));
    assert_eq!(heard[1].1["input"], json!(["query: who?"]));
}

#[tokio::test]
async fn what_passes_is_asked_again_for_passages_and_not_for_questions() {
    let (url, heard) = api(&["503 {}", "429 {}", ONE]).await;
    assert_eq!(endpoint(&url).embed(&["a"], TextKind::Passage).await.unwrap(), [vec![1.0, 0.0]]);
    assert_eq!(heard.lock().unwrap().len(), 3);
    let (url, heard) = api(&["503 {}", ONE]).await;
    let failure = endpoint(&url).embed(&["a"], TextKind::Question).await.unwrap_err();
    assert!(failure.to_string().contains("503"), "{failure}");
    assert_eq!(heard.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_does_not_pass_is_not_asked_again() {
    for (script, why) in [
        (&["401 {}"][..], "401"),
        (&["200 {}"][..], "without vectors"),
        (&[r#"200 {"data": []}"#][..], "left texts out"),
        (&[r#"200 {"data": [{"index": 7, "embedding": [1]}]}"#][..], "left texts out"),
    ] {
        let (url, heard) = api(script).await;
        let failure = endpoint(&url).embed(&["a"], TextKind::Passage).await.unwrap_err();
        assert!(failure.to_string().contains(why), "{failure}");
        assert_eq!(heard.lock().unwrap().len(), 1, "{why}");
    }
}

#[tokio::test]
async fn an_api_that_keeps_failing_is_left_alone_for_a_while() {
    let (url, heard) = api(&["500 {}", "500 {}", "500 {}", ONE]).await;
    let endpoint = endpoint(&url);
    assert!(endpoint.embed(&["a"], TextKind::Passage).await.is_err());
    let failure = endpoint.embed(&["a"], TextKind::Question).await.unwrap_err();
    assert!(matches!(failure, Error::Unreachable(_)), "{failure}");
    assert_eq!(heard.lock().unwrap().len(), 3, "it is not asked while it is left alone");
    tokio::time::sleep(endpoint.left_alone).await;
    assert_eq!(endpoint.embed(&["a"], TextKind::Question).await.unwrap(), [vec![1.0, 0.0]]);
}
