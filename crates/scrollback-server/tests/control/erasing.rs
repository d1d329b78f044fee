//! Erasing a conversation while a server holds the store: by the API, and by the command, which asks it.

use std::process::Command;

use serde_json::Value;

use crate::home::{Home, Server, text};

const SECRET: &str = "the combination is 4711-periwinkle";

/// A server with a conversation `harbour` that has a secret in it.
fn told(home: &Home) -> (Server, String) {
    let server = Server::start(home);
    let mut history = Vec::new();
    server.chat(&mut history, SECRET);
    let id = server.send("GET /api/sessions/harbour", "").1["id"].as_str().unwrap().to_owned();
    (server, id)
}

/// How often a word is in the files of the store.
fn traces(home: &Home, word: &str) -> usize {
    let files = ["", "-wal"].map(|ending| std::fs::read(home.beside(ending)).unwrap_or_default());
    let times = |bytes: &Vec<u8>| bytes.windows(word.len()).filter(|window| *window == word.as_bytes()).count();
    files.iter().map(times).sum()
}

fn stopped(server: &mut Server) {
    assert!(Command::new("kill").arg(server.child.id().to_string()).status().unwrap().success());
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn a_conversation_is_erased_while_others_go_on() {
    let home = Home::new("");
    let (mut server, id) = told(&home);
    assert!(traces(&home, "periwinkle") > 0);
    let (status, refused) = server.send(&format!("DELETE /api/sessions/{}", &id[..8]), "");
    assert_eq!((status, refused["detail"].as_str().unwrap().contains(&id)), (400, true), "{refused}");
    let (status, erased) = server.send(&format!("DELETE /api/sessions/{id}"), "");
    assert_eq!((status, &erased["session"], &erased["erased"]), (200, &id.clone().into(), &2.into()), "{erased}");
    assert_eq!(server.send(&format!("DELETE /api/sessions/{id}"), "").0, 404);
    assert_eq!(server.send(&format!("GET /api/sessions/{id}"), "").0, 404);
    assert_eq!(server.send("GET /api/search?words=periwinkle", "").1["found"], Value::Array(Vec::new()));
    assert_eq!(server.send("GET /api/sessions/petrel", "").0, 200);
    stopped(&mut server);
    assert_eq!(traces(&home, "periwinkle"), 0);
    assert_eq!(home.json(&["doctor"])[0]["problem_count"], 0);
}

#[test]
fn a_client_that_goes_on_brings_back_what_it_has() {
    let home = Home::new("");
    let (server, id) = told(&home);
    assert_eq!(server.send(&format!("DELETE /api/sessions/{id}"), "").0, 200);
    let mut history = vec![serde_json::json!({"role": "user", "content": SECRET})];
    history.push(serde_json::json!({"role": "assistant", "content": "Noted."}));
    server.chat(&mut history, "And the safe?");
    assert_eq!(server.send(&format!("GET /api/sessions/{id}"), "").1["messages"], 4);
}

#[test]
fn the_command_asks_the_server_that_holds_the_store() {
    let home = Home::new("");
    let (mut server, _) = told(&home);
    assert!(text(&home.run(&["forget", "harbour", "--yes"]).stderr).contains("erased 2 messages"));
    assert_eq!(server.send("GET /api/sessions/harbour", "").0, 404);
    stopped(&mut server);
    assert_eq!(traces(&home, "periwinkle"), 0);
}

/// A script that is run again comes upon no other whose name begins like that.
#[test]
fn who_is_not_asked_names_a_conversation_whole() {
    let home = Home::new("");
    let told = home.complains(&["forget", "tid", "--yes"]);
    assert!(told.contains("nothing was erased") && told.contains("Did you mean") && told.contains("“tides”"), "{told}");
    assert_eq!(home.json(&["sessions"]).len(), 2);
    let history = home.beside(".history");
    std::fs::write(&history, "what I typed").unwrap();
    let asked = home.complains(&["forget", "tid"]);
    assert!(asked.contains("With --yes, “Tides”") && asked.contains("typed in all chats"), "{asked}");
    let id = home.json(&["sessions"]).into_iter().find(|one| one["declared"] == "tides").unwrap()["id"].clone();
    let told = text(&home.run(&["forget", "tides", "--yes"]).stderr);
    assert!(told.contains("Tides") && told.contains(id.as_str().unwrap()), "{told}");
    assert!(told.contains("typed in all chats") && !history.exists(), "{told}");
}

#[test]
fn nobody_erases_what_is_not_theirs() {
    let home = Home::new("");
    let token = home.says(&["tokens", "add", "mira", "--tenant", "crew"]);
    let (server, id) = told(&home);
    let headers = format!("host: localhost\r\nauthorization: Bearer {}\r\n", token.trim());
    assert_eq!(server.send_with(&format!("DELETE /api/sessions/{id}"), &headers, "").0, 404);
    assert_eq!(server.send(&format!("GET /api/sessions/{id}"), "").0, 200);
}

#[test]
fn what_a_killed_server_did_not_write_over_the_next_one_does() {
    let home = Home::new("");
    let (server, id) = told(&home);
    assert_eq!(server.send(&format!("DELETE /api/sessions/{id}"), "").0, 200);
    drop(server);
    let mut next = Server::start(&home);
    stopped(&mut next);
    assert_eq!(traces(&home, "periwinkle"), 0);
}

/// A person who imports and cleans is not told that there was nothing.
#[test]
fn large_results_that_no_window_had_are_listed_and_cleaned() {
    let home = Home::new("");
    let long = "frame 7: berth periwinkle\\n".repeat(800);
    let call = r#"{"id": "c1", "type": "function", "function": {"name": "read_frames", "arguments": "{}"}}"#;
    let file = format!(
        r#"{{"id": "berths", "messages": [{{"role": "user", "content": "Read the frames."}}, {{"role": "assistant", "content": null, "tool_calls": [{call}]}}, {{"role": "tool", "tool_call_id": "c1", "content": "{long}"}}]}}"#
    );
    std::fs::write(home.0.path().join("berths.jsonl"), file).unwrap();
    home.says(&["import", "berths.jsonl"]);
    let held = home.json(&["holds", "berths"]);
    assert_eq!((&held[0]["id"], &held[0]["tool"], held.len()), (&"h2".into(), &"read_frames".into(), 1));
    assert!(home.json(&["holds"]).len() >= held.len() && traces(&home, "berth periwinkle") > 0);
    let clean = ["holds", "berths", "--clean", "--older-than", "0d", "--yes"];
    assert_eq!(home.json(&clean)[0]["erased"], 1);
    assert_eq!((traces(&home, "berth periwinkle"), home.json(&clean)[0]["erased"].as_u64()), (0, Some(0)));
    assert!(home.json(&["holds", "berths"]).is_empty());
}

#[test]
fn the_doctor_tells_that_something_is_not_written_over_yet() {
    let home = Home::new("");
    let (server, id) = told(&home);
    server.asks(&format!("DELETE /api/sessions/{id}"), "");
    drop(server);
    let found = home.says(&["doctor"]);
    assert!(found.contains("copies of its words are left") && found.contains("nothing is damaged"), "{found}");
    assert_eq!(home.json(&["doctor"])[0]["remarks"].as_array().unwrap().len(), 1);
    assert!(home.says(&["doctor", "--repair"]).contains("all is well"));
    assert_eq!(traces(&home, "periwinkle"), 0);
}
