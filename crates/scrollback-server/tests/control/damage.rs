//! One message that is not what was written: everything else is still listed, shown, written out and found.

use crate::home::{Home, Server, text};

/// A home in which a word of one message of `petrel` was changed behind the store's back.
fn damaged() -> Home {
    damaged_in(b"slip 3. He wants 40 percent")
}

/// A home in which the first letter of some words was changed wherever they stand.
fn damaged_in(words: &[u8]) -> Home {
    let home = Home::new("");
    let file = home.beside("");
    let mut bytes = std::fs::read(&file).unwrap();
    // Everywhere, because pages keep stale copies of rows that were moved.
    let places: Vec<usize> = (0..bytes.len() - words.len()).filter(|&at| bytes[at..].starts_with(words)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 0x20;
    }
    std::fs::write(file, bytes).unwrap();
    home
}

#[test]
fn the_rest_is_exported_and_what_is_left_out_is_told() {
    let home = damaged();
    for arguments in [&["export"][..], &["export", "petrel"], &["export", "--format", "markdown"]] {
        let output = home.run(arguments);
        let (out, told) = (text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success(), "{arguments:?} says that something is missing");
        assert!(told.contains("left out: m3 of ") && told.contains(" · petrel") && told.contains("damaged"), "{told}");
        assert!(out.contains("barometer"), "{arguments:?}: {out}");
        assert_eq!(out.contains("417 cm above datum"), arguments != ["export", "petrel"], "the other session: {out}");
    }
    home.run(&["export", "--output", "all.jsonl"]);
    let other = home.json(&["import", "all.jsonl", "--store", "other.db"]);
    assert_eq!((&other[0]["messages"], &other[0]["skipped"]), (&73.into(), &serde_json::json!([])));
}

#[test]
fn a_session_that_cannot_be_listed_keeps_no_other_from_being_exported() {
    let home = damaged_in(b"The Petrel");
    let output = home.run(&["export"]);
    let (out, told) = (text(&output.stdout), text(&output.stderr));
    assert!(!output.status.success() && told.contains("left out: the row of session "), "{told}");
    assert!(out.contains("417 cm above datum"), "{out}");
}

#[test]
fn a_session_that_cannot_be_listed_keeps_no_other_from_being_listed_and_nothing_from_being_found() {
    let home = damaged_in(b"The Petrel");
    for arguments in [&["sessions"][..], &["sessions", "--limit", "2", "--json"]] {
        let output = home.run(arguments);
        let (out, told) = (text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success() && told.contains("not listed: the row of session "), "{told}");
        assert!(out.contains("tides"), "{out}");
    }
    assert!(home.says(&["search", "barometer"]).contains("«barometer»"));
}

#[test]
fn the_rest_is_listed_and_shown() {
    let home = damaged();
    assert_eq!(home.json(&["sessions"]).len(), 2);
    assert!(home.says(&["sessions"]).contains("petrel"));
    let output = home.run(&["show", "petrel", "--last", "100", "--json"]);
    assert!(!output.status.success() && text(&output.stderr).contains("not shown: m3, damaged"));
    assert_eq!(text(&output.stdout).lines().count(), 68);
    assert_eq!(home.json(&["show", "petrel", "--last", "3"]).len(), 3, "those are intact");
}

#[test]
fn the_conversation_goes_on_and_what_is_lost_says_so() {
    let home = damaged();
    home.says(&["exclude", "petrel", "m3"]);
    let output = home.run(&["show", "petrel", "--message", "m3"]);
    assert!(!output.status.success() && text(&output.stderr).contains("not shown: m3, damaged"));
    let server = Server::start(&home);
    let listed = server.asks("GET /api/sessions/petrel/messages?count=500", "");
    let one = listed["messages"].as_array().unwrap().iter().find(|message| message["id"] == "m3").unwrap();
    assert_eq!((&one["origin"], &one["excluded"]), (&"damaged".into(), &true.into()), "{one}");
    assert!(one["parts"][0]["text"].as_str().unwrap().contains("m3 cannot be read"), "{one}");
    let (status, reply) = server.send_with(
        "POST /v1/chat/completions",
        "host: localhost\r\nx-scrollback-session: petrel\r\n",
        r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "What of the barometer?"}]}"#,
    );
    assert_eq!(status, 200, "{reply}");
    let (_, told) = server.refuses("GET /api/sessions/petrel/export", "");
    assert!(told.contains("m3"), "an export is whole or says that it is not: {told}");
}

#[test]
fn what_is_damaged_is_moved_and_told() {
    let home = damaged();
    let output = home.run(&["migrate-store", home.beside("").to_str().unwrap(), "other.db"]);
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("2 sessions, 74 messages"), "{told}");
    assert!(told.contains(": message m3 is damaged there as well"), "{told}");
    let checked = text(&home.run(&["doctor", "--store", "other.db"]).stdout);
    assert!(checked.contains("message m3 of session") && checked.contains("2 problems."), "{checked}");
    let [here, there] = [&["export"][..], &["export", "--store", "other.db"]].map(|of| home.run(of).stdout);
    assert_eq!(here, there);
    let home = damaged_in(b"The Petrel");
    let output = home.run(&["migrate-store", home.beside("").to_str().unwrap(), "other.db"]);
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("left behind: session "), "{told}");
    assert!(home.says(&["sessions", "--store", "other.db"]).contains("tides"));
}

#[test]
fn after_a_repair_the_doctor_advises_no_repair() {
    let home = damaged();
    for _ in 0..2 {
        let output = home.run(&["doctor", "--repair"]);
        let told = text(&output.stdout);
        assert!(!output.status.success() && !told.contains("--repair") && !told.contains("misses"), "{told}");
        assert!(!told.contains("session number") && told.contains("message m3 of session"), "{told}");
        let id = home.json(&["sessions"]).iter().find(|one| one["declared"] == "petrel").unwrap()["id"].clone();
        assert!(told.contains(&format!("{} (petrel)", &id.as_str().unwrap()[..12])), "{told}");
    }
    assert!(text(&home.run(&["doctor"]).stdout).contains("--repair"));
}

#[test]
fn earlier_messages_are_counted_with_the_instructions() {
    let home = Home::new("");
    let told = |last: &str| text(&home.run(&["show", "petrel", "--last", last]).stderr);
    assert!(told("3").contains("… 66 earlier messages"), "{}", told("3"));
    assert!(told("0").contains("… 69 earlier messages"), "{}", told("0"));
    assert!(!told("69").contains("earlier"), "{}", told("69"));
}
