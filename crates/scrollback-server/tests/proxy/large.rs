//! Large requests and large replies: nobody else waits for them, and a reply without end is not listened to for ever.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scene::{Server, Upstream, chat, events, plain, reply, says, stream, try_send, user};

/// On a machine with few cores one thread answers everybody; what takes long is done by others.
#[test]
fn nobody_waits_for_a_large_request_of_somebody_else() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, "");
    let said: Vec<Value> = (0..6_000).map(|i| user(&format!("The {i}th boat came in from the sea at dawn."))).collect();
    let (body, port) = (json!({"messages": said}).to_string(), server.port);
    let large = std::thread::spawn(move || try_send(port, "POST /v1/summarize", "", &body));
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..10 {
        assert_eq!(server.send("GET /health", "", "").status(), 200);
    }
    assert!(!large.is_finished(), "others were answered only when it was done");
}

#[test]
fn nobody_waits_for_a_large_reply_to_somebody_else() {
    let upstream = Upstream::new(|_, _| reply(&says(&"a".repeat(4 << 20))));
    let server = Server::new(upstream.port, "");
    server.ask(&chat(&[user("Say a lot.")]));
    let begun = Instant::now();
    assert_eq!(server.send("GET /health", "", "").status(), 200);
    let waited = begun.elapsed();
    while server.messages().len() < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = begun.elapsed();
    assert!(waited * 3 < took, "waited {waited:?} where keeping the reply took {took:?}");
}

#[test]
fn a_reply_that_is_larger_than_any_models_is_refused() {
    let huge = "a".repeat(65 << 20);
    let streamed = events(&[json!({"role": "assistant", "content": huge})], "stop");
    let upstream = Upstream::new(move |number, _| match number {
        0 => plain("200 OK", "content-type: application/json\r\n", &says(&huge).to_string()),
        1 => stream(&streamed, 1 << 20, true),
        _ => reply(&says("Short.")),
    });
    let server = Server::new(upstream.port, "");
    assert_eq!(server.ask(&chat(&[user("Say it all.")])).status(), 502);
    let mut body = chat(&[user("Say it all.")]);
    body["stream"] = true.into();
    let cut = try_send(server.port, "POST /v1/chat/completions", "", &body.to_string());
    assert!(cut.is_none_or(|answer| !answer.text().contains("[DONE]")), "it did not end as a reply does");
    assert!(server.ask(&chat(&[user("Shorter.")])).text().contains("Short."));
}
