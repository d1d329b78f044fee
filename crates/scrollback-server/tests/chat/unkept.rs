//! A reply that was given and cannot be kept: whoever asked is told so, and what to do.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::{ask, chat, heard, names, speaks, text};
use crate::scene::{Server, Upstream};

/// Lets a process write files up to so many bytes, as on a disk that is full.
fn limit(process: u32, bytes: &str) {
    let limited = Command::new("prlimit").args(["--pid", &process.to_string(), &format!("--fsize={bytes}:")]).status();
    assert!(limited.unwrap().success());
}

#[test]
fn a_reply_that_cannot_be_stored_is_not_blamed_on_the_model() {
    let process = Arc::new(AtomicU32::new(0));
    let filled = process.clone();
    let upstream = Upstream::new(move |_, _| {
        let process = filled.load(Ordering::Relaxed);
        if process > 0 {
            limit(process, "1");
        }
        speaks("It is red.")
    });
    let server = Server::with(upstream.port, "[chat]\nmodel = \"gpt-4o\"\n", |program| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", program]);
        shell
    });
    let session = ask(&server, &json!({"message": "Hello."}))["session"].clone();
    process.store(server.process(), Ordering::Relaxed);
    let asks = json!({"session": session, "message": "Which colour is the lighthouse?"});
    let events = heard(&chat(&server, &asks));
    let (last, told) = events.last().unwrap();
    assert_eq!((text(&events).as_str(), last.as_str()), ("It is red.", "error"), "{:?}", names(&events));
    assert_eq!((&told["status"], &told["code"]), (&json!(503), &json!("store")));
    assert!(told["detail"].as_str().unwrap().contains("could not be stored"), "{told}");
    limit(server.process(), "unlimited");
    let mut whole = asks.clone();
    whole["stream"] = json!(false);
    let refused = chat(&server, &whole);
    assert_eq!(
        (refused.status(), refused.header("x-scrollback-session")),
        (503, session.as_str()),
        "{}",
        refused.text()
    );
    process.store(0, Ordering::Relaxed);
    limit(server.process(), "unlimited");
    let done = ask(&server, &asks);
    assert_eq!((&done["question"], &done["message"]), (&json!("m2"), &json!("m3")), "{done}");
}
