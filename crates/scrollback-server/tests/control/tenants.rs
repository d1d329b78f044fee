//! Conversations of other tenants: whoever runs the machine can list, show and erase them.

use crate::home::{Home, Server, text};

#[test]
fn commands_reach_the_conversations_of_the_tenant_they_name() {
    let home = Home::new("");
    home.says(&["import", "tides.jsonl", "--tenant", "mira"]);
    assert_eq!(home.json(&["sessions"]).len(), 2, "petrel and tides of our own");
    let theirs = home.json(&["sessions", "--tenant", "mira"]);
    assert_eq!((theirs.len(), &theirs[0]["declared"]), (1, &"tides".into()));
    assert_eq!(home.json(&["show", "tides", "--tenant", "mira", "--all"]).len(), 5);
    assert!(home.complains(&["show", "petrel", "--tenant", "mira"]).contains("no session"));
    assert_eq!(home.json(&["forget", "tides", "--yes", "--tenant", "mira"])[0]["erased"], 5);
    assert!(home.json(&["sessions", "--tenant", "mira"]).is_empty());
    assert_eq!(home.json(&["sessions"]).len(), 2, "what is our own stays");
}

#[test]
fn what_a_token_wrote_is_found_under_its_tenant() {
    let home = Home::new("");
    let token = home.says(&["tokens", "add", "mira", "--tenant", "crew"]);
    let server = Server::start(&home);
    let headers =
        format!("host: localhost\r\nauthorization: Bearer {}\r\nx-scrollback-session: buoys\r\n", token.trim());
    let body = r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "Where is the red buoy?"}]}"#;
    assert_eq!(server.send_with("POST /v1/chat/completions", &headers, body).0, 200);
    assert_eq!(home.json(&["sessions", "--tenant", "crew"])[0]["declared"], "buoys");
    let told = home.complains(&["pin", "buoys", "m0", "--tenant", "crew"]);
    assert!(told.contains("a server holds the store") && told.contains("--tenant"), "{told}");
    assert!(home.complains(&["chat", "buoys", "hello", "--tenant", "crew"]).contains("of your own"));
    drop(server);
    assert!(text(&home.run(&["forget", "buoys", "--yes", "--tenant", "crew"]).stderr).contains("erased 2 messages"));
}
