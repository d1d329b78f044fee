//! Commands in a terminal, which `script` of util-linux plays: what is stored does not steer it, and lines are as wide
//! as it is.

use std::process::{Command, Stdio};

use crate::home::{Home, text};

/// What a terminal of so many columns gets of a command.
fn seen(home: &Home, columns: usize, arguments: &str) -> String {
    let (succeeded, shown) = played(home, columns, arguments);
    assert!(succeeded, "{arguments}: {shown}");
    shown
}

/// The same, and whether the command succeeded.
fn played(home: &Home, columns: usize, arguments: &str) -> (bool, String) {
    let line = format!("stty cols {columns}; exec {} {arguments}", env!("CARGO_BIN_EXE_scrollback"));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(home.0.path());
    script.env("HOME", home.0.path()).env("SHELL", "/bin/sh").env("TERM", "xterm").env("TZ", "UTC");
    let output = script.stdin(Stdio::null()).output().expect("`script` of util-linux");
    (output.status.success(), text(&output.stdout).replace("\r\n", "\n"))
}

#[test]
fn what_a_person_writes_in_an_editor_replaces_nothing_that_they_did_not_see() {
    let home = Home::new("[window]\ntokens = 6000\nreply_tokens = 500\n");
    let folded = &home.json(&["compress", "petrel"])[0];
    let note = folded["notes"][0].as_str().unwrap().trim_start_matches('#').to_owned();
    std::fs::write(home.0.path().join("theirs.md"), "Theirs\n").unwrap();
    let program = env!("CARGO_BIN_EXE_scrollback");
    let script = format!("{program} edit petrel {note} --file theirs.md >/dev/null 2>&1; echo Mine >$1\n");
    std::fs::write(home.0.path().join("meddling.sh"), script).unwrap();
    std::fs::write(home.0.path().join("alone.sh"), "echo Mine >$1\n").unwrap();
    let edits = |editor: &str| played(&home, 120, &format!("edit petrel {note} --editor 'sh {editor}'"));
    let now = || home.json(&["notes", "petrel", &note])[0]["text"].as_str().unwrap().trim().to_owned();
    let (succeeded, told) = edits("meddling.sh");
    assert!(!succeeded && told.contains("changed meanwhile") && told.contains("what you wrote is in"), "{told}");
    assert_eq!(now(), "Theirs");
    let draft = told.split("what you wrote is in ").nth(1).unwrap().split([':', '\n']).next().unwrap();
    assert_eq!(std::fs::read_to_string(draft).unwrap(), "Mine\n");
    std::fs::remove_file(draft).unwrap();
    assert!(edits("alone.sh").0);
    assert_eq!(now(), "Mine");
}

/// A home with a conversation that would clear the screen, ring, change the title and turn what follows around.
fn hostile() -> Home {
    let home = Home::new("");
    let words = "gull \u{1b}[2J\u{7}\u{1b}]0;owned\u{7}\0 \u{202e}live\u{202c} \u{2066}feather\u{2069} \u{9b}31m";
    let line = serde_json::json!({"id": format!("odd{words}"), "title": words, "messages": [
        {"role": "user", "content": words}, {"role": "assistant", "content": words}]});
    std::fs::write(home.0.path().join("odd.jsonl"), line.to_string()).unwrap();
    home.says(&["import", "odd.jsonl"]);
    home
}

#[test]
fn what_is_stored_does_not_steer_the_terminal() {
    let home = hostile();
    let commands = [
        "sessions",
        "show odd",
        "search gull",
        "window odd",
        "window odd --full",
        "export odd 2>/dev/null",
        "sessions --json",
    ];
    for arguments in commands {
        let mut shown = seen(&home, 120, arguments);
        assert!(shown.contains("gull") && shown.contains("live"), "{arguments}: {shown}");
        for ours in ["\u{1b}[1m", "\u{1b}[0m"] {
            shown = shown.replace(ours, "");
        }
        let steers = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{202c}\u{2066}\u{2069}".contains(c);
        assert_eq!(shown.find(steers), None, "{arguments}: {shown:?}");
    }
    assert!(seen(&home, 120, "show odd").contains("\u{1b}[1mm0 user\u{1b}[0m"), "our own emphasis stays");
}

#[test]
fn a_pipe_gets_every_byte() {
    let home = hostile();
    let shown = home.says(&["show", "odd"]);
    assert!(shown.contains("gull \u{1b}[2J\u{7}") && shown.contains("\u{202e}live"), "{shown:?}");
}

fn widest(shown: &str) -> usize {
    shown.lines().map(|line| line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").chars().count()).max().unwrap()
}

#[test]
fn narrow_terminals_get_narrow_lines() {
    let home = Home::new("");
    let id = home.json(&["sessions"])[0]["id"].as_str().unwrap()[..12].to_owned();
    for columns in [60, 80] {
        let listed = seen(&home, columns, "sessions");
        assert!(listed.contains(&id) && listed.contains("petrel"), "{listed}");
        for arguments in ["sessions", "window petrel --tokens 1500", "models"] {
            let shown = seen(&home, columns, arguments);
            assert!(widest(&shown) <= columns, "{arguments} at {columns}: {shown}");
        }
    }
}

#[test]
fn a_terminal_that_does_not_say_how_wide_it_is_is_wide() {
    let home = Home::new("");
    let listed = seen(&home, 0, "sessions");
    assert_eq!(listed.trim_end(), home.says(&["sessions"]).trim_end());
}
