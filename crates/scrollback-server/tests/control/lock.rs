//! Who holds the store, and how others find out where to ask.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::home::{Home, Server, text};

#[test]
fn a_server_says_where_it_listens_until_it_ends() {
    let home = Home::new("");
    let mut server = Server::start(&home);
    let told = std::fs::read_to_string(home.beside(".serve")).unwrap();
    let (listens, pass) = told.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(listens, format!("process {}\nhttp://{}", server.child.id(), server.address));
    assert!(pass.starts_with("sb_"), "{told}");
    assert!(Command::new("kill").arg(server.child.id().to_string()).status().unwrap().success());
    assert!(server.child.wait().unwrap().success());
    assert!(!home.beside(".serve").exists());
    home.says(&["pin", "petrel", "m3"]);
}

#[test]
fn what_a_killed_server_left_leads_nowhere() {
    let home = Home::new("");
    drop(Server::start(&home));
    assert!(home.beside(".serve").exists());
    home.says(&["pin", "petrel", "m3"]);
    // Somebody else has the store now, and is no server: an import that waits for its input.
    let mut other = home.command(&["import", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let holder = format!("process {}", other.id());
    let began = Instant::now();
    while std::fs::read_to_string(home.beside(".lock")).unwrap_or_default() != holder {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody took the lock");
        std::thread::sleep(Duration::from_millis(10));
    }
    let told = home.complains(&["pin", "petrel", "m4"]);
    assert!(told.contains(&holder) && told.contains("Stop that process"), "{told}");
    assert!(home.says(&["pins", "petrel"]).contains("m3"), "what only reads works all the same");
    drop(other.stdin.take());
    other.wait().unwrap();
}

#[test]
fn what_no_server_does_for_a_command_says_what_to_do_instead() {
    let home = Home::new("");
    let server = Server::start(&home);
    let told = home.complains(&["import", "tides.jsonl"]);
    assert!(told.contains(&server.address) && told.contains("POST /api/import"), "{told}");
    let commands: [&[&str]; 3] = [&["review"], &["doctor", "--repair"], &["topics", "import", "tides", "."]];
    for command in commands {
        let told = home.complains(command);
        assert!(told.contains(&server.address) && told.contains("stop that process first"), "{command:?}: {told}");
    }
    assert!(text(&home.run(&["review", "--dry-run"]).stderr).contains("0 topics would be reviewed"));
}

#[test]
fn a_level_that_is_none_is_refused() {
    let home = Home::new("");
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    let output = command.env("SCROLLBACK_LOG", "inof").stdin(Stdio::null()).output().unwrap();
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("SCROLLBACK_LOG is “inof”") && told.contains("info"), "{told}");
}

#[test]
fn a_log_that_nobody_looks_at_has_no_colours() {
    let home = Home::new("");
    let mut command = home.command(&["mcp"]);
    command.env("SCROLLBACK_LOG", "info").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let hello = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}"#;
    writeln!(child.stdin.take().unwrap(), "{}", hello.replace('\n', " ")).unwrap();
    let told = text(&child.wait_with_output().unwrap().stderr);
    assert!(!told.is_empty() && !told.contains('\u{1b}'), "{told}");
}
