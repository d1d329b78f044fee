//! What whoever runs a server sees of it: whether it is ready, what it counts and logs, and how it ends.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scene::{Server, Upstream, chat, events, plain, reply, says, send, stream, user};

/// A server that is told `settings`, and to ignore some signal.
fn ignoring(signal: &'static str, upstream: u16, settings: &str) -> Server {
    Server::with(upstream, settings, |program| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' {signal}; exec \"$0\" \"$@\""), program]);
        shell
    })
}

/// Lets a process write files up to so many bytes, as on a disk that is full.
fn limit(process: u32, bytes: &str) {
    let limited = Command::new("prlimit").args(["--pid", &process.to_string(), &format!("--fsize={bytes}:")]).status();
    assert!(limited.unwrap().success());
}

fn told(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// A number as it is told now.
fn number(server: &Server, name: &str) -> Option<f64> {
    let told = server.send("GET /metrics", "", "").text();
    told.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

fn new(server: &Server, text: &str) -> crate::scene::Said {
    let headers = "x-scrollback-session: lamp\r\nx-scrollback-history: new\r\n";
    server.send("POST /v1/chat/completions", headers, &chat(&[user(text)]).to_string())
}

/// The line of the log that has these words. It is read beside.
fn logged(server: &Server, words: &str) -> String {
    let began = Instant::now();
    loop {
        if let Some(line) = server.log().lines().find(|line| line.contains(words)) {
            return line.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A file passes what it cannot keep; but without what it follows, a request would be answered as if nothing had been
/// said before.
#[test]
fn on_a_full_disk_nothing_is_answered_without_its_history_and_nobody_is_sent_here() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = ignoring("XFSZ", upstream.port, "");
    assert_eq!(new(&server, "The lamp is red.").status(), 200);
    let ready = || server.send("GET /ready", "", "").status();
    assert_eq!(ready(), 200);
    limit(server.process(), "1");
    let refused = new(&server, "Which colour?");
    assert_eq!((refused.status(), refused.header("retry-after")), (503, Some("2")), "{}", refused.text());
    assert_eq!(ready(), 503, "what was to be written last failed");
    let line = logged(&server, "not ready");
    assert!(line.contains("what was last to be written to the store failed") && line.contains("error="), "{line}");
    let whole = server.ask(&chat(&[user("How high is the tide?")]));
    assert_eq!(whole.status(), 200, "{}", whole.text());
    assert!(whole.header("x-scrollback-trouble").is_some(), "{}", whole.head);
    assert!(number(&server, "scrollback_store_failures_total").unwrap() > 1.0);
    limit(server.process(), "unlimited");
    assert_eq!((new(&server, "Which colour?").status(), ready()), (200, 200));
    let sent = upstream.asked().pop().unwrap().json();
    assert!(sent["messages"].to_string().contains("The lamp is red."), "{sent}");
}

/// It would never be sent again, and what follows it would be answered without it.
#[test]
fn a_reply_that_is_not_kept_has_no_end_for_whoever_sends_only_what_is_new() {
    let process = Arc::new(AtomicU32::new(0));
    let filled = process.clone();
    let upstream = Upstream::new(move |_, asked| {
        let process = filled.load(Ordering::Relaxed);
        if process > 0 {
            limit(process, "1");
        }
        let words = events(&[says("Noted.")], "stop");
        if asked.json()["stream"] == true { stream(&words, 40, true) } else { reply(&says("Noted.")) }
    });
    let server = ignoring("XFSZ", upstream.port, "");
    assert_eq!(new(&server, "The lamp is red.").status(), 200);
    process.store(server.process(), Ordering::Relaxed);
    let refused = new(&server, "Which colour?");
    assert_eq!((refused.status(), refused.header("retry-after")), (503, Some("2")), "{}", refused.text());
    assert_eq!(refused.json()["error"]["code"], "store_unavailable", "{}", refused.text());
    limit(server.process(), "unlimited");
    let mut body = chat(&[user("Which colour?")]);
    body["stream"] = json!(true);
    let headers = "x-scrollback-session: lamp\r\nx-scrollback-history: new\r\n";
    let streamed = server.send("POST /v1/chat/completions", headers, &body.to_string()).text();
    assert!(streamed.contains("Noted.") && streamed.contains("store_unavailable"), "{streamed}");
    assert!(!streamed.contains("[DONE]") && !streamed.contains("\"finish_reason\":\"stop\""), "{streamed}");
    process.store(0, Ordering::Relaxed);
    limit(server.process(), "unlimited");
    assert_eq!(new(&server, "Which colour?").status(), 200);
    let sent = upstream.asked().pop().unwrap().json()["messages"].to_string();
    assert_eq!((sent.matches("Which colour?").count(), sent.matches("Noted.").count()), (1, 1), "{sent}");
    assert_eq!(server.messages().len(), 4);
}

#[test]
fn all_numbers_are_there_from_the_start() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, "");
    for name in ["requests", "refused", "trouble", "failed_turns", "store_failures", "recalls"] {
        assert_eq!(number(&server, &format!("scrollback_{name}_total")), Some(0.0), "{name}");
    }
    for outcome in ["answered", "failed", "nonsense", "left_alone", "spent", "no_time"] {
        assert_eq!(
            number(&server, &format!("scrollback_helper_total{{outcome=\"{outcome}\"}}")),
            Some(0.0),
            "{outcome}"
        );
    }
}

#[test]
fn a_turn_that_fails_upstream_is_told_without_its_words() {
    let upstream = Upstream::new(|_, _| plain("429 Too Many", "", "{\"error\":{\"message\":\"the word is sextant\"}}"));
    let server = Server::new(upstream.port, "");
    let answer = server.ask(&chat(&[user("The harbour master is called Ilse.")]));
    assert_eq!(answer.status(), 429);
    let line = logged(&server, "a turn failed");
    let session = answer.header("x-scrollback-session").map(str::to_owned);
    assert!(line.contains("WARN") && line.contains("upstream=\"mock\"") && line.contains("status=429"), "{line}");
    assert!(line.contains("session=") && session.is_none_or(|session| line.contains(&session)), "{line}");
    assert!(!line.contains("Ilse") && !line.contains("sextant"), "{line}");
}

#[test]
fn what_is_passed_on_is_told_without_what_it_names() {
    let upstream = Upstream::new(|_, _| plain("200 OK", "content-type: application/json\r\n", "{}"));
    let server = Server::new(upstream.port, "");
    let body = json!({"model": "gpt-5", "input": "Hello?", "previous_response_id": "resp_of_Ilse"});
    let answer = server.send("POST /v1/responses", "", &body.to_string());
    let trouble = answer.header("x-scrollback-trouble").unwrap_or_default();
    assert!(trouble.contains("resp_of_Ilse"), "{}", answer.head);
    let line = logged(&server, "sent on as it came");
    assert!(line.contains("is not in the log") && !line.contains("Ilse"), "{line}");
    assert_eq!(number(&server, "scrollback_trouble_total"), Some(1.0));
}

/// A terminal that is closed ends what runs in it, but not in the middle of a reply.
#[test]
fn a_terminal_that_is_gone_lets_replies_end() {
    let upstream = Upstream::new(|_, _| {
        std::thread::sleep(Duration::from_secs(2));
        reply(&says("Noted."))
    });
    let mut server = Server::new(upstream.port, "");
    let port = server.port;
    let asking =
        std::thread::spawn(move || send(port, "POST /v1/chat/completions", "", &chat(&[user("hi")]).to_string()));
    let began = Instant::now();
    while upstream.asked().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    told(server.process(), "-HUP");
    let answer = asking.join().unwrap();
    assert_eq!((answer.status(), &answer.json()["choices"][0]["message"]["content"]), (200, &json!("Noted.")));
    let began = Instant::now();
    while !server.is_over() || !server.log().contains("stopped") {
        assert!(began.elapsed() < Duration::from_secs(20), "it goes on: {}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_was_started_to_go_on_without_a_terminal_goes_on() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let mut server = ignoring("HUP", upstream.port, "");
    told(server.process(), "-HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!server.is_over());
    assert_eq!(server.ask(&chat(&[user("hi")])).status(), 200);
}

/// One more upstream takes none away, and the settings tell which there are and what is in force.
#[test]
fn upstreams_of_the_file_are_beside_those_that_everybody_knows() {
    let upstream = Upstream::new(|_, _| reply(&says("Noted.")));
    let server = Server::new(upstream.port, "");
    let told = server.send("GET /api/settings", "", "").json();
    let value = |name: &str| -> Value {
        let lines = told["settings"].as_array().unwrap();
        lines.iter().find(|line| line["name"] == name).map_or(Value::Null, |line| line["value"].clone())
    };
    assert_eq!(value("upstreams.mock.url"), json!(format!("http://127.0.0.1:{}/v1", upstream.port)));
    assert_eq!(value("upstreams.mock.timeout_seconds"), 600);
    assert_eq!((value("serve.listen"), value("serve.upstream")), (json!("127.0.0.1:0"), json!("mock")));
    assert_eq!(value("serve.messages_upstream"), "mock", "all goes there");
    assert_eq!(value("store.path"), json!(server.store()));
    let models = server.send("GET /api/models", "", "").json();
    let names: Vec<&Value> = models["upstreams"].as_array().unwrap().iter().map(|line| &line["name"]).collect();
    assert_eq!(names, ["anthropic", "mock", "openai", "quote"]);
}
