//! A database that is away: what cannot be kept is refused, with a hint when to come back, or passed on and said so.

use std::time::{Duration, Instant};

use crate::scene::postgres::Server as Database;
use crate::scene::{Said, Upstream, chat, reply, says, send, user};

/// A node over a database of its own, and its port.
struct Node {
    process: std::process::Child,
    port: u16,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Node {
    fn start(database: &Database, upstream: u16, settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("scrollback.toml");
        let text = format!(
            "[serve]\nupstream = \"mock\"\n[upstreams.mock]\nurl = \"http://127.0.0.1:{upstream}/v1\"\n[store]\npatience_seconds = 1\n{settings}"
        );
        std::fs::write(&config, text).unwrap();
        let port = crate::scene::postgres::free_port();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--store", &database.url(), "--config"]);
        let process = command.arg(&config).stderr(std::process::Stdio::null()).spawn().unwrap();
        crate::scene::postgres::wait_for(port);
        Self { process, port }
    }

    fn ask(&self, text: &str) -> Said {
        send(self.port, "POST /v1/chat/completions", "", &chat(&[user(text)]).to_string())
    }

    fn get(&self, path: &str) -> Said {
        send(self.port, &format!("GET {path}"), "", "")
    }
}

#[test]
fn what_cannot_be_kept_is_refused_until_the_database_is_back() {
    let (database, upstream) = (Database::start(""), Upstream::new(|_, _| reply(&says("Noted."))));
    let node = Node::start(&database, upstream.port, "");
    assert_eq!((node.ask("The lamp is red.").status(), node.get("/ready").status()), (200, 200));
    database.stop("immediate");
    let refused = node.ask("The door is blue.");
    assert_eq!((refused.status(), refused.header("retry-after")), (503, Some("2")), "{}", refused.text());
    assert_eq!(refused.json()["error"]["code"], "store_unavailable", "{}", refused.text());
    assert_eq!((node.get("/ready").status(), node.get("/health").status()), (503, 200));
    assert_eq!(node.get("/api/sessions").status(), 503);
    assert_eq!(upstream.asked().len(), 1, "nothing that is not kept reaches the model");
    database.launch();
    let began = Instant::now();
    while node.ask("The door is blue.").status() != 200 {
        assert!(began.elapsed() < Duration::from_secs(10), "it does not come back");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(node.get("/ready").status(), 200);
    let kept = database.sql("SELECT count(*) FROM message");
    assert_eq!(kept, "4");
}

#[test]
fn whoever_says_so_is_answered_all_the_same() {
    let (database, upstream) = (Database::start(""), Upstream::new(|_, _| reply(&says("Noted."))));
    let node = Node::start(&database, upstream.port, "unkept = \"pass\"\n");
    assert_eq!(node.get("/ready").status(), 200, "it has begun");
    database.stop("immediate");
    let passed = node.ask("The lamp is red.");
    assert_eq!(passed.status(), 200, "{}", passed.text());
    let trouble = passed.header("x-scrollback-trouble").unwrap_or_default();
    assert!(trouble.contains("does not answer") || trouble.contains("away"), "{trouble}");
    assert!(!trouble.contains("://"), "{trouble}");
}

/// Without what it follows, it would be answered as if nothing had been said before.
#[test]
fn what_holds_only_new_messages_is_refused_whatever_is_set() {
    let (database, upstream) = (Database::start(""), Upstream::new(|_, _| reply(&says("Noted."))));
    let node = Node::start(&database, upstream.port, "unkept = \"pass\"\n");
    assert_eq!(node.ask("The lamp is red.").status(), 200);
    database.stop("immediate");
    let new = "x-scrollback-session: lamp\r\nx-scrollback-history: new\r\n";
    let asked = chat(&[user("Which colour?")]).to_string();
    let follows = |name: &str| format!("{{\"model\": \"gpt-5\", \"{name}\": \"x_1\", \"input\": \"Which colour?\"}}");
    for refused in [
        send(node.port, "POST /v1/chat/completions", new, &asked),
        send(node.port, "POST /v1/responses", "", &follows("previous_response_id")),
        send(node.port, "POST /v1/responses", "", &follows("conversation")),
    ] {
        assert_eq!((refused.status(), refused.header("retry-after")), (503, Some("2")), "{}", refused.text());
    }
    assert_eq!(upstream.asked().len(), 1, "nothing is answered without its history");
}

/// Lists and searches may come from a replica, but a node that cannot keep anything is not ready.
#[test]
fn a_node_whose_primary_is_away_is_not_ready_though_a_replica_answers() {
    let (database, upstream) = (Database::start(""), Upstream::new(|_, _| reply(&says("Noted."))));
    let node = Node::start(&database, upstream.port, "");
    assert_eq!(node.ask("The lamp is red.").status(), 200);
    drop(node);
    let replica = database.replica("hot_standby=on\n");
    let node = Node::start(&database, upstream.port, &format!("replicas = [\"{}\"]\n", replica.url()));
    assert_eq!(node.get("/ready").status(), 200);
    database.stop("immediate");
    assert_eq!(node.get("/ready").status(), 503);
}

#[test]
fn a_node_whose_database_can_only_be_read_is_not_ready_until_it_can_be_written() {
    let (database, upstream) = (Database::start(""), Upstream::new(|_, _| reply(&says("Noted."))));
    let node = Node::start(&database, upstream.port, "");
    assert_eq!(node.ask("The lamp is red.").status(), 200);
    let switch = |to: &str| {
        database.sql(&format!("ALTER SYSTEM SET default_transaction_read_only = {to}"));
        database.sql("SELECT pg_reload_conf()");
        std::thread::sleep(Duration::from_millis(300));
    };
    switch("on");
    assert_eq!(node.ask("The door is blue.").status(), 503);
    let ready = node.get("/ready");
    assert_eq!((ready.status(), ready.text().as_str()), (503, "the store cannot be written to\n"));
    switch("off");
    assert_eq!((node.ask("The door is blue.").status(), node.get("/ready").status()), (200, 200));
}

#[test]
fn numbers_move_when_nothing_is_written() {
    let (database, upstream) = (Database::start(""), Upstream::new(|_, _| reply(&says("Noted."))));
    let node = Node::start(&database, upstream.port, "");
    let number = |name: &str| -> f64 {
        let told = node.get("/metrics").text();
        told.lines().find_map(|line| line.strip_prefix(&format!("{name} "))?.parse().ok()).unwrap_or(-1.0)
    };
    assert!(number("scrollback_store_connections") > 0.0, "{}", node.get("/metrics").text());
    let before = number("scrollback_store_failures_total");
    database.stop("immediate");
    assert_eq!(node.get("/api/sessions").status(), 503);
    assert!(before >= 0.0 && number("scrollback_store_failures_total") > before);
}
