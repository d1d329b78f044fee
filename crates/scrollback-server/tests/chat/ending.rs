//! A chat in the terminal that ends from outside, and what it has typed about a conversation that is erased.

use std::io::Read;
use std::process::{Command, Stdio};

use super::terminal::{Home, Terminal, text};
use super::{begins, speaks};
use crate::scene::Upstream;

#[test]
fn a_chat_that_is_told_to_end_keeps_what_was_said() {
    let upstream = Upstream::new(|_, _| begins("It begins and"));
    let home = Home::new(&upstream, "");
    let mut command = home.command(&["chat", "-", "Tell me a long story."]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut seen = String::new();
    let mut out = child.stdout.take().unwrap();
    while !seen.contains("It begins and") {
        let mut piece = [0; 64];
        let read = out.read(&mut piece).unwrap();
        assert!(read > 0, "{seen}");
        seen += &text(&piece[..read]);
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let kept = text(&home.pipe("", &["show", &home.session()]).stdout);
    assert!(kept.contains("Tell me a long story.") && kept.contains("It begins and"), "{kept}");
}

#[test]
fn what_was_typed_about_an_erased_conversation_is_not_written_again() {
    let upstream = Upstream::new(|_, _| speaks("Noted."));
    let home = Home::new(&upstream, "");
    let mut terminal = Terminal::open(&home, "");
    terminal.sees("Ctrl-D leaves");
    terminal.types("My card is 4929-1111.\r");
    terminal.sees("Noted.");
    let typed = home.0.path().join("log.db.history");
    assert!(std::fs::read_to_string(&typed).unwrap().contains("4929"));
    let erased = home.pipe("", &["forget", "--yes", &home.session()]);
    assert!(erased.status.success() && !typed.exists(), "{}", text(&erased.stderr));
    terminal.types("/new\r");
    terminal.sees("a new conversation");
    terminal.types("/quit\r");
    terminal.ends();
    let left = std::fs::read_to_string(&typed).unwrap();
    assert!(left.contains("/new") && !left.contains("4929"), "{left}");
}
