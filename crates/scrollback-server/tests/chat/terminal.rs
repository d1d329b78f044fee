//! `scrollback chat`: through pipes, and in a terminal that `script` of util-linux plays.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{SMALL, ask, begins, calls, long, speaks};
use crate::scene::{Server, Upstream, events, plain, stream};

/// A folder with settings and a store of its own.
pub(super) struct Home(pub(super) tempfile::TempDir);

impl Home {
    /// In front of an upstream that answers as `gpt-4o`.
    pub(super) fn new(upstream: &Upstream, settings: &str) -> Self {
        let port = upstream.port;
        let mock = format!("[serve]\nupstream = \"mock\"\n[upstreams.mock]\nurl = \"http://127.0.0.1:{port}/v1\"\n");
        Self::with(&format!("{mock}[chat]\nmodel = \"gpt-4o\"\n{settings}"))
    }

    fn with(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scrollback.toml"), settings).unwrap();
        Self(folder)
    }

    /// Of a server that runs.
    fn of(server: &Server) -> (&Path, [String; 4]) {
        let folder = server.folder.path();
        (folder, Self::flags(folder))
    }

    fn flags(folder: &Path) -> [String; 4] {
        let file = |name: &str| folder.join(name).display().to_string();
        ["--config".into(), file("scrollback.toml"), "--store".into(), file("log.db")]
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        command(self.0.path(), &Self::flags(self.0.path()), arguments)
    }

    /// Runs a command with something on its standard input.
    pub(super) fn pipe(&self, input: &str, arguments: &[&str]) -> Output {
        piped(self.command(arguments), input)
    }

    /// What a chat answers.
    pub(super) fn says(&self, input: &str, arguments: &[&str]) -> String {
        said(&self.pipe(input, arguments))
    }

    fn json(&self, input: &str, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.says(input, &[arguments, &["--json"]].concat())).unwrap()
    }

    /// The newest session.
    pub(super) fn session(&self) -> String {
        let listed = self.says("", &["sessions", "--limit", "1", "--json"]);
        let session: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
        session["id"].as_str().unwrap().to_owned()
    }
}

fn command(folder: &Path, flags: &[String], arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
    command.args(arguments).args(flags).current_dir(folder).env_clear().env("HOME", folder).env("TZ", "UTC");
    command
}

fn piped(mut command: Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What a command that succeeds wrote.
fn said(output: &Output) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert_eq!(err, "", "nobody looks at a terminal");
    out
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last thing an upstream was asked.
fn question(upstream: &Upstream) -> String {
    let asked = upstream.asked().last().unwrap().json();
    asked["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_message_through_a_pipe_is_answered_and_kept() {
    let upstream = Upstream::new(|_, _| speaks("The tide turns at six."));
    let home = Home::new(&upstream, "");
    assert_eq!(home.says("When does\nthe tide turn?\n", &["chat"]), "The tide turns at six.\n");
    assert_eq!(question(&upstream), "When does\nthe tide turn?");
    let session = home.session();
    assert_eq!(home.says("", &["chat", &session, "And tomorrow?"]), "The tide turns at six.\n");
    assert_eq!(question(&upstream), "And tomorrow?");
    assert_eq!(upstream.asked().last().unwrap().json()["messages"].as_array().unwrap().len(), 3, "it goes on");
    assert_eq!(
        home.says("log line 1\nlog line 2\n", &["chat", &session[..10], "What is wrong here?"]).lines().count(),
        1
    );
    assert_eq!(question(&upstream), "What is wrong here?\n\nlog line 1\nlog line 2");
    assert_eq!(home.says("", &["chat", "-", "Something else"]), "The tide turns at six.\n");
    assert_ne!(home.session(), session, "- begins a new one");
    assert!(!home.0.path().join("log.db.serve").exists() && !home.0.path().join("log.db.history").exists());
}

#[test]
fn json_is_one_value_with_the_whole_reply() {
    let upstream = Upstream::new(|number, _| match number {
        0 => calls("own_1", "search_history", &json!({"words": "lighthouse"})),
        _ => speaks("It is red."),
    });
    let home = Home::new(&upstream, "");
    let told = home
        .json("Which colour?", &["chat", "--model", "gpt-5", "--instructions", "Be brief.", "--strategy", "summary"]);
    assert_eq!((&told["text"], &told["model"], &told["recalls"]), (&json!("It is red."), &json!("gpt-5"), &json!(1)));
    assert!(told["layout"].as_str().unwrap().starts_with("summary@"), "{told}");
    assert_eq!(upstream.asked()[0].json()["messages"][0]["content"], "Be brief.");
    let session = told["session"].as_str().unwrap();
    let told = home.json("And now?", &["chat", session, "--strategy", "pages", "--branch", "0"]);
    assert!(told["layout"].as_str().unwrap().starts_with("pages@"), "{told}");
    // m0 are the instructions.
    assert_eq!((&told["session"], &told["question"]), (&json!(session), &json!("m3")));
}

#[test]
fn a_server_that_holds_the_store_is_asked() {
    let upstream = Upstream::new(|_, _| speaks("Aye."));
    let server = Server::serving(upstream.port, "access = \"tokens\"\n", "[chat]\nmodel = \"gpt-4o\"\n");
    let (folder, flags) = Home::of(&server);
    let output = piped(command(folder, &flags, &["chat"]), "Anybody there?");
    assert_eq!(said(&output), "Aye.\n");
    assert!(folder.join("log.db.serve").exists(), "it still holds the store, and lets in who can read this file");
}

#[test]
fn a_reply_that_was_broken_off_is_not_taken_for_a_whole_one() {
    let upstream = Upstream::new(|_, _| {
        let begun = events(&[json!({"role": "assistant", "content": "It begins"})], "stop");
        stream(&(begun.split("\n\n").next().unwrap().to_owned() + "\n\n"), 1_000, true)
    });
    let home = Home::new(&upstream, "");
    let output = home.pipe("", &["chat", "-", "Tell me a story."]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), "It begins\n"));
    assert!(text(&output.stderr).contains("broke the reply off"), "{}", text(&output.stderr));
    let output = home.pipe("", &["chat", "-", "Tell me another.", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &told["partial"], &told["text"]), (Some(1), &json!(true), &json!("It begins")));
}

#[test]
fn errors_say_what_to_do() {
    let upstream = Upstream::new(|_, _| plain("500 Oops", "content-type: text/plain\r\n", "out of coal"));
    let home = Home::new(&upstream, "");
    let complains = |home: &Home, input: &str, arguments: &[&str], words: &[&str]| {
        let output = home.pipe(input, arguments);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""), "{arguments:?}");
        let told = text(&output.stderr);
        assert!(words.iter().all(|word| told.contains(word)), "{arguments:?}: {told}");
    };
    complains(&home, "Hello?", &["chat"], &["mock", "out of coal"]);
    complains(&home, "Hello?", &["chat", "--upstream", "nobody"], &["nobody", "mock", "quote"]);
    complains(&home, "  \n", &["chat"], &["nothing to say"]);
    complains(&home, "Hello?", &["chat", "nowhere"], &["nowhere"]);
    complains(&home, "Hello?", &["chat", "-", "--strategy", "magic"], &["magic", "pages"]);
    let keyless = Home::with("");
    complains(&keyless, "Hello?", &["chat", "--model", "gpt-5"], &["OPENAI_API_KEY", "--upstream quote"]);
    assert!(!keyless.says("Where is the key?", &["chat", "--upstream", "quote"]).is_empty());
    let output = keyless.pipe("Where is the key?", &["chat"]);
    assert!(output.status.success() && !output.stdout.is_empty(), "without a key, quotations answer");
    assert!(text(&output.stderr).contains("no model is set up"), "{}", text(&output.stderr));
}

#[test]
fn what_was_refused_says_where_it_is_kept() {
    let upstream = Upstream::new(|number, _| match number {
        0..=2 => {
            plain("429 Too Many Requests", "content-type: application/json\r\n", r#"{"error":{"message":"wait"}}"#)
        }
        3 => stream("data: {\"error\": {\"message\": \"overloaded\"}}\n\n", 100, true),
        _ => speaks("Aye."),
    });
    let home = Home::new(&upstream, "");
    let first = home.pipe("", &["chat", "-", "Anybody there?"]);
    let session = &home.session()[..12];
    let kept = |output: &Output| {
        let told = text(&output.stderr);
        output.status.code() == Some(1)
            && told.contains(&format!("kept in session {session}: `scrollback chat {session}"))
    };
    assert!(kept(&first) && text(&first.stderr).contains("wait"), "{}", text(&first.stderr));
    let json = home.pipe("", &["chat", session, "Anybody there?", "--json"]);
    let told: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(kept(&json) && told["session"] == session && told["error"].as_str().unwrap().contains("wait"), "{told}");
    for _ in 0..2 {
        assert!(kept(&home.pipe("", &["chat", session, "Anybody there?"])));
    }
    assert_eq!(home.says("", &["chat", session, "Anybody there?"]), "Aye.\n");
    assert_eq!(upstream.asked()[4].json()["messages"].as_array().unwrap().len(), 1, "it was said once");
    let unsaid = home.pipe("", &["chat", session, "And now?", "--upstream", "nobody"]);
    assert!(!text(&unsaid.stderr).contains("kept"), "{}", text(&unsaid.stderr));
}

/// A chat in a terminal: what `script` sees of it while lines are typed.
pub(super) struct Terminal {
    child: std::process::Child,
    seen: std::sync::Arc<std::sync::Mutex<String>>,
}

impl Terminal {
    pub(super) fn open(home: &Home, arguments: &str) -> Self {
        Self::at(home.0.path(), arguments)
    }

    fn at(folder: &Path, arguments: &str) -> Self {
        let flags = Home::flags(folder).join(" ");
        let line = format!("stty cols 100; exec {} chat {arguments} {flags}", env!("CARGO_BIN_EXE_scrollback"));
        let mut command = Command::new("script");
        command
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .env("TERM", "xterm")
            .env_remove("NO_COLOR");
        command.current_dir(folder).env("SHELL", "/bin/sh");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("`script` of util-linux");
        let mut out = child.stdout.take().unwrap();
        let seen = std::sync::Arc::<std::sync::Mutex<String>>::default();
        let kept = seen.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = std::io::Read::read(&mut out, &mut piece) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..count]));
            }
        });
        Self { child, seen }
    }

    /// Waits until something is seen, and gives all that was seen up to now; then nothing of it is seen any more.
    pub(super) fn sees(&self, words: &str) -> String {
        let begun = Instant::now();
        loop {
            let mut seen = self.seen.lock().unwrap();
            if let Some(at) = seen.find(words) {
                let rest = seen.split_off(at + words.len());
                return std::mem::replace(&mut *seen, rest);
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "“{words}” is not seen in:\n{seen}");
            drop(seen);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    pub(super) fn ends(mut self) {
        let begun = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not leave: {}", self.seen.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_conversation_in_a_terminal_folds_and_is_steered() {
    let upstream = Upstream::new(|_, _| speaks("Noted."));
    let home = Home::new(&upstream, SMALL);
    let mut terminal = Terminal::open(&home, "");
    terminal.sees("Ctrl-D leaves");
    terminal.types("/help\r");
    terminal.sees("/compress");
    terminal.types("/undo\r");
    terminal.sees("no conversation yet");
    terminal.types("/unfold\r");
    terminal.sees("there is no /unfold");
    terminal.types("one line\\\rand another\r");
    terminal.sees("Noted.");
    terminal.sees("gpt-4o");
    assert_eq!(question(&upstream), "one line\nand another");
    let pasted = "curl -X POST \\\n  -H \"tide: low\" \\\n  https://harbour.example";
    terminal.types(&format!("\u{1b}[200~{pasted}\u{1b}[201~\r"));
    terminal.sees("Noted.");
    terminal.sees("gpt-4o");
    assert_eq!(question(&upstream), pasted, "what is pasted stays as it is");
    let mut folded = false;
    for i in 0..14 {
        terminal.types(&format!("{}\r", long(&format!("boat {i}"))));
        folded |= terminal.sees("Noted.").contains("/undo takes it back");
        terminal.sees("gpt-4o");
    }
    assert!(folded, "a small window folds, and that is told");
    terminal.types("/undo\r");
    terminal.sees("shown again");
    terminal.types("/redo\r");
    terminal.sees("are folded");
    terminal.types("/pin\r");
    terminal.sees("in every window from now on");
    terminal.types("/window\r");
    terminal.sees("nothing lost");
    terminal.types("/strategy summary\r");
    terminal.sees("chosen for this session");
    terminal.types("/export out.md\r");
    terminal.sees("1 session written");
    assert!(std::fs::read_to_string(home.0.path().join("out.md")).unwrap().contains("and another"));
    terminal.types("/new\r");
    terminal.sees("a new conversation");
    terminal.types("\u{4}");
    terminal.ends();
    let history = home.0.path().join("log.db.history");
    assert!(std::fs::read_to_string(&history).unwrap().contains("/strategy summary"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&history).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "nobody else reads it");
}

#[test]
fn who_names_a_model_where_quotations_answer_everything_is_told_so() {
    let home = Home::with("[serve]\nupstream = \"quote\"\n");
    let mut terminal = Terminal::open(&home, "");
    terminal.sees("Ctrl-D leaves");
    terminal.types("/model gpt-5\r");
    assert!(!terminal.sees("the settings send this to `quote`").contains("answers from now on"));
    terminal.types("/quit\r");
    terminal.ends();
}

#[test]
fn a_branch_that_somebody_else_begins_is_not_gone_on_with() {
    let upstream = Upstream::new(|number, _| speaks(&format!("Answer {number}.")));
    let server = Server::serving(upstream.port, "", "[chat]\nmodel = \"gpt-4o\"\n");
    let mut terminal = Terminal::at(server.folder.path(), "");
    terminal.sees("Ctrl-D leaves");
    for (typed, answer) in [("When is the ebb?\r", "Answer 0."), ("And the flood?\r", "Answer 1.")] {
        terminal.types(typed);
        terminal.sees(answer);
        terminal.sees("gpt-4o");
    }
    let sessions = server.send("GET /api/sessions", "", "").json();
    let other = json!({"session": sessions["sessions"][0]["id"], "after": "m1", "message": "And the wind?"});
    assert_eq!(ask(&server, &other)["branch"], 1);
    terminal.types("Thank you.\r");
    terminal.sees("Answer 3.");
    terminal.sees("gpt-4o");
    let sent = upstream.asked().last().unwrap().text();
    assert!(sent.contains("And the flood?") && !sent.contains("And the wind?"), "{sent}");
    terminal.types("/pin\r");
    terminal.sees("m7 is in every window");
    terminal.types("/quit\r");
    terminal.ends();
}

#[test]
fn a_server_that_cannot_start_beside_a_chat_says_so() {
    let upstream = Upstream::new(|_, _| speaks("Noted."));
    let home = Home::new(&upstream, "");
    let mut terminal = Terminal::open(&home, "");
    terminal.sees("Ctrl-D leaves");
    let output = home.pipe("", &["serve", "--listen", "127.0.0.1:0"]);
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("an open `scrollback chat` holds the store"), "{told}");
    assert!(told.contains("process "), "{told}");
    terminal.types("\u{4}");
    terminal.ends();
}

#[test]
fn ctrl_c_stops_a_reply_and_keeps_what_was_said() {
    let upstream = Upstream::new(|number, _| if number > 0 { speaks("Back again.") } else { begins("It begins and") });
    let home = Home::new(&upstream, "");
    let mut terminal = Terminal::open(&home, "");
    terminal.sees("Ctrl-D leaves");
    terminal.types("Tell me a long story.\r");
    terminal.sees("It begins and");
    terminal.types("\u{3}");
    terminal.sees("what was said is kept as m1");
    terminal.types("Go on.\r");
    terminal.sees("Back again.");
    let sent = upstream.asked()[1].json();
    let said: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().filter_map(|said| said["content"].as_str()).collect();
    assert_eq!(said, ["Tell me a long story.", "It begins and", "Go on."]);
    terminal.types("/quit\r");
    terminal.ends();
}

#[test]
fn what_failed_before_its_first_word_is_asked_again_in_the_same_conversation() {
    let upstream = Upstream::new(|number, _| match number {
        0 => stream("data: {\"error\": {\"message\": \"overloaded\"}}\n\n", 100, true),
        _ => speaks("Back again."),
    });
    let home = Home::new(&upstream, "");
    let mut terminal = Terminal::open(&home, "");
    terminal.sees("Ctrl-D leaves");
    terminal.types("Tell me a story.\r");
    terminal.sees("overloaded");
    terminal.types("/pin\r");
    terminal.sees("there is no reply yet");
    terminal.types("/\r");
    terminal.sees("there is no /:");
    terminal.types("Tell me a story.\r");
    terminal.sees("Back again.");
    terminal.types("/pin\r");
    terminal.sees("m1 is in every window");
    terminal.types("/quit\r");
    terminal.ends();
    let sessions = home.says("", &["sessions", "--json"]);
    assert_eq!(sessions.lines().count(), 1, "{sessions}");
}
