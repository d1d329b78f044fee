//! The program as people run it: real processes, real files.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A home of its own, so that no test sees another's store or the developer's settings.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.args(arguments).current_dir(self.0.path()).env_clear().env("HOME", self.0.path()).env("TZ", "UTC");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// What a command that succeeds prints.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [arguments, &["--json"]].concat();
        self.says(&all).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What a command that fails complains about.
    fn complains(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} should fail: {}", text(&output.stdout));
        text(&output.stderr)
    }

    fn store(&self) -> PathBuf {
        self.0.path().join(".local/share/scrollback/scrollback.db")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).display().to_string()
}

#[test]
fn the_demo_needs_nothing() {
    let home = Home::new();
    let shown = home.says(&["demo"]);
    for told in [
        "behind the barometer",
        "m1,",
        "外婆的茶叶罐放在二楼",
        "m3,",
        "ask Ines Carvalho",
        "regatta day, one trip over",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    assert!(
        shown.contains("68 of 68 messages") && shown.contains(" 0 lost") && shown.contains("adds 0 messages"),
        "{shown}"
    );
    assert!(shown.contains("not a bill") && shown.contains("OPENAI_BASE_URL="), "{shown}");
    assert!(!shown.contains('\u{1b}'), "no bar and no colours where nobody looks");
    assert!(shown.contains("scrollback demo --ui"), "{shown}");
    assert!(!home.store().exists(), "the demo leaves the person's own store alone");
}

#[test]
fn a_demo_that_is_told_to_end_leaves_nothing_behind() {
    let home = Home::new();
    let temporary = home.0.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    for arguments in [&["demo", "--ui"][..], &["demo"]] {
        let mut command = home.command(arguments);
        let command = command.env("TMPDIR", &temporary).stdin(Stdio::null()).stdout(Stdio::null());
        let mut demo = command.stderr(Stdio::null()).spawn().unwrap();
        let begun = std::time::Instant::now();
        let is_under_way =
            || std::fs::read_dir(&temporary).unwrap().flatten().any(|entry| entry.path().join("demo.db").exists());
        while !is_under_way() {
            assert!(begun.elapsed().as_secs() < 20 && demo.try_wait().unwrap().is_none(), "it does not begin");
        }
        assert!(Command::new("kill").args(["-TERM", &demo.id().to_string()]).status().unwrap().success());
        demo.wait().unwrap();
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{arguments:?}");
    }
}

#[test]
fn importing_twice_adds_nothing() {
    let home = Home::new();
    let first = home.json(&["import", &fixture("samples/harbour.jsonl")]);
    assert_eq!(
        (&first[0]["messages"], &first[0]["added"], &first[0]["format"]),
        (&27.into(), &27.into(), &"openai".into())
    );
    let again = home.json(&["import", &fixture("samples/harbour.jsonl")]);
    assert_eq!(again[0]["added"], 0);
    let folder = home.run(&["import", &fixture("exports"), "--json"]);
    assert_eq!(folder.status.code(), Some(1), "most files have something that cannot be read");
    let folder: Vec<Value> = text(&folder.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(folder.len(), 7);
    assert!(folder.iter().all(|file| file["added"].as_u64().unwrap() > 0));
    assert_eq!(folder.iter().filter(|file| file["skipped"][0].is_string()).count(), 5);
}

#[test]
fn a_folder_is_read_once_and_what_is_no_conversation_is_named() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let said = "{\"role\":\"user\",\"content\":\"hello\"}\n";
    put("a.JSONL", said);
    put("index.json", "{\"version\":1}");
    put("none.jsonl", "");
    put("projects.json", r#"[{"uuid":"p","name":"Boat","prompt_template":"","docs":[]}]"#);
    #[cfg(unix)]
    std::os::unix::fs::symlink(".", folder.path().join("loop")).unwrap();
    let import = |home: &Home| home.run(&["import", &folder.path().display().to_string()]);
    let done = import(&home);
    let told = text(&done.stderr);
    assert!(done.status.success(), "{told}");
    assert_eq!(text(&done.stdout).lines().count(), 1, "{done:?}");
    assert!(told.contains("2 files without conversations: ") && told.contains("index.json, "), "{told}");
    assert!(told.contains("projects.json: these are Claude's projects") && !told.contains("--format"), "{told}");
    put("rollout-a.jsonl.zst", "");
    let packed = import(&home);
    assert!(!packed.status.success() && text(&packed.stderr).contains("1 file to be unpacked first, with zstd -d: "));
    std::fs::remove_file(folder.path().join("rollout-a.jsonl.zst")).unwrap();
    put("a.JSONL", &format!("{said}{{\"role\":"));
    let cut = import(&home);
    assert!(!cut.status.success() && text(&cut.stderr).contains("a.JSONL: not read: line 2 is cut off"), "{cut:?}");
}

#[test]
fn a_codex_session_in_two_files_is_one_path() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let line = |minute: usize, kind: &str, payload: &str| {
        format!("{{\"timestamp\":\"2026-09-01T10:0{minute}:00Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    };
    let said = |minute: usize, words: &str| {
        line(minute, "response_item", &format!(r#"{{"type":"message","role":"user","content":"{words}"}}"#))
    };
    let first = line(0, "session_meta", r#"{"id":"aa-bb"}"#) + &said(1, "Which pier?");
    let base = format!(r#"{{"id":"aa-bb","history_base":{{"thread_id":"aa-bb","end_byte_offset":{}}}}}"#, first.len());
    let resumed = line(2, "session_meta", &base) + &said(3, "And when?");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    file("rollout-2026-09-01T10-00-00-aa-bb.jsonl", &first);
    let second = file("rollout-2026-09-01T10-02-00-aa-bb_cc.jsonl", &resumed);
    assert!(home.says(&["import", &second]).contains("2 messages, 2 new"), "what is beside it is found");
    assert!(home.says(&["import", &folder.path().display().to_string()]).contains("2 messages, 0 new"));
    assert_eq!(home.json(&["sessions"])[0]["branches"].as_array().unwrap().len(), 1);
}

#[test]
fn a_conversation_can_be_listed_shown_and_searched() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    let sessions = home.json(&["sessions"]);
    assert_eq!((&sessions[0]["declared"], &sessions[0]["title"]), (&"harbour-office".into(), &"Harbour office".into()));
    let id = sessions[0]["id"].as_str().unwrap();
    for name in ["harbour-office", "Harbour Office", "harbour", &id[..6]] {
        assert_eq!(home.json(&["show", name, "--all"]).len(), 27);
    }
    assert_eq!(home.json(&["show", "harbour", "--last", "3"]).len(), 3);
    let one = home.json(&["show", "harbour", "--message", "m1"]);
    assert!(one[0]["message"]["content"].as_str().unwrap().contains("/dev/ttyS3"));
    let found = home.json(&["search", "押金", "--session", "harbour", "--role", "user"]);
    assert_eq!((found.len(), &found[0]["role"]), (1, &"user".into()));
    assert_eq!(home.json(&["search", "tide", "--since", "2027-01-01"]).len(), 0);
    assert!(
        home.says(&["search", "NORTH-8"]).contains("«") && home.says(&["search", "NORTH-8"]).contains("Harbour office")
    );
    let told = |limit: &str| text(&home.run(&["search", "the", "--limit", limit]).stderr);
    assert!(told("2").contains("there is more; --limit 4 "), "{}", told("2"));
    assert!(!told("100").contains("more"), "{}", told("100"));
}

#[test]
fn results_without_words_are_shown_all_the_same() {
    let home = Home::new();
    home.says(&["import", &fixture("exports/chatgpt-kinds.json"), &fixture("exports/claude-tools.json")]);
    let shown = home.says(&["show", "chatgpt:c-kinds", "--all"]);
    assert!(shown.contains("← [image: "), "{shown}");
    let shown = home.says(&["show", "claude:k-cello", "--all"]);
    assert!(shown.contains("← one page\n") && shown.contains("C2 G2 D3 A3"), "{shown}");
    assert!(shown.contains("[file: photo.png]"), "{shown}");
}

#[test]
fn a_window_can_be_looked_at() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    let drawn = home.says(&["window", "harbour", "--tokens", "1500"]);
    assert!(drawn.contains("contents") && drawn.contains("nothing lost"), "{drawn}");
    assert!(drawn.contains("tokens: stands for what was folded"), "{drawn}");
    assert!(home.says(&["window", "harbour", "--tokens", "1500", "--full"]).contains("recall_page"));
    let blocks = home.json(&["window", "harbour", "--tokens", "1500"]);
    let tokens: u64 = blocks.iter().map(|block| block["tokens"].as_u64().unwrap()).sum();
    assert!(tokens <= 1500 && blocks[0]["reason"] == "instructions", "{blocks:?}");
    assert!(home.says(&["window", "harbour", "--tokens", "1500", "--strategy", "truncate"]).contains(" lost"));
    assert!(home.complains(&["window", "harbour", "--tokens", "20"]).contains("The largest"));
    assert!(home.complains(&["window", "harbour", "--strategy", "magic"]).contains("there are pages"));
}

#[test]
fn what_is_exported_can_be_imported() {
    let home = Home::new();
    home.run(&["import", &fixture("exports"), &fixture("samples")]);
    home.says(&["export", "--output", "all.jsonl"]);
    let other = Home::new();
    let file = home.0.path().join("all.jsonl").display().to_string();
    let imported = other.json(&["import", &file]);
    assert_eq!(imported[0]["skipped"].as_array().unwrap().len(), 0);
    assert_eq!(other.says(&["export"]), home.says(&["export"]));
    let messages = |home: &Home| -> u64 {
        home.json(&["sessions"]).iter().map(|session| session["messages"].as_u64().unwrap()).sum()
    };
    assert_eq!(messages(&other), messages(&home), "instructions and reasoning come along");
    assert_eq!(home.json(&["import", &file])[0]["added"], 0);
    let markdown = home.says(&["export", "harbour", "--format", "markdown"]);
    assert!(markdown.starts_with("# Harbour office"), "{markdown}");
}

#[test]
fn the_doctor_finds_a_changed_byte() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    assert_eq!(home.json(&["doctor"])[0]["problem_count"], 0);
    let mut bytes = std::fs::read(home.store()).unwrap();
    // Everywhere, because pages keep stale copies of rows that were moved.
    let places: Vec<_> = (0..bytes.len() - 6).filter(|&at| &bytes[at..at + 6] == b"ttyS3 ").collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + 4] = b'4';
    }
    std::fs::write(home.store(), bytes).unwrap();
    let output = home.run(&["doctor"]);
    assert!(!output.status.success());
    let told = text(&output.stdout);
    assert!(told.contains("are not what was written") && told.contains("problem"), "{told}");
    assert!(home.says(&["search", "renewal deadline"]).contains("HB-2291"), "the rest is still found");
}

#[test]
fn the_docs_show_a_window_as_it_is_printed() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    let page = std::fs::read_to_string(fixture("../docs/strategies/pages.md")).unwrap();
    let shown = page.split("`scrollback window harbour --tokens 1500`").nth(1).unwrap().split("```\n").nth(1).unwrap();
    let printed = home.says(&["window", "harbour", "--tokens", "1500"]);
    assert!(printed.starts_with(shown), "{printed}");
    let whole = home.says(&["window", "harbour", "--tokens", "100000", "--strategy", "passthrough"]);
    let tokens = whole.split(" blocks, ").nth(1).unwrap().split(" of ").next().unwrap();
    assert!(page.contains(&format!("the same conversation takes {tokens} tokens")), "{tokens}");
}

/// Whoever asks for what there is not is told so in a person's words.
#[test]
fn what_cannot_be_recalled_is_told_a_person() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    for (what, told) in [
        (&[""][..], "say what to recall: words, page N"),
        (&["search", " "], "say what to recall"),
        (&["topic", "t42"], "no topic matches “t42”: `scrollback topics harbour` lists them"),
        (&["page", "x"], "a page is a number"),
        (&["hold", "x"], "an id such as h12"),
    ] {
        let complaint = home.complains(&[&["recall", "harbour"], what].concat());
        let is_for_models =
            ["search_history", "recall_page", "load_tool", "{"].iter().any(|word| complaint.contains(word));
        assert!(complaint.contains(told) && !is_for_models, "{what:?}: {complaint}");
    }
    assert!(home.says(&["recall", "harbour", "hold", "h11", "--part", "500-600"]).contains("there are 96 lines"));
    let output = home.command(&["show"]).env("SCROLLBACK_STORE", "x.db").output().unwrap();
    assert!(
        text(&output.stderr).contains("scrollback show") && !text(&output.stderr).contains("--store"),
        "no need for it"
    );
    let output = home.command(&["sessions"]).env("SCROLLBACK_STORE", "~/x.db").output().unwrap();
    assert!(text(&output.stderr).contains(&home.0.path().join("x.db").display().to_string()));
}

#[test]
fn forgetting_needs_a_persons_word() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    assert!(home.complains(&["forget", "harbour"]).contains("--yes"));
    assert_eq!(home.json(&["sessions"]).len(), 1);
    assert_eq!(home.json(&["forget", "harbour-office", "--yes"])[0]["erased"], 27);
    assert_eq!(home.json(&["sessions"]).len(), 0);
    let bytes = std::fs::read(home.store()).unwrap();
    assert!(!bytes.windows(5).any(|window| window == b"ttyS3"), "nothing of it is left in the file");
}

#[test]
fn errors_say_what_to_do() {
    let home = Home::new();
    assert!(home.complains(&["sessions"]).contains("scrollback import"));
    assert!(home.complains(&["import", "absent.json"]).contains("absent.json"));
    std::fs::write(home.0.path().join("odd.json"), "{\"what\": 1}").unwrap();
    let odd = home.complains(&["import", "odd.json"]);
    assert!(odd.contains("conversations.json of ChatGPT") && !odd.contains("--format"), "{odd}");
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    assert!(home.complains(&["show", "nobody"]).contains("scrollback sessions"));
    assert!(home.complains(&["show", "harbour", "--branch", "7"]).contains("no branch 7"));
    assert!(home.complains(&["search", "…"]).contains("no word"));
    std::fs::write(home.0.path().join("scrollback.toml"), "[store]\nspeed = 9\n").unwrap();
    let told = home.complains(&["sessions"]);
    assert!(told.contains("scrollback.toml") && told.contains("speed"), "{told}");
}

#[test]
fn standard_input_and_another_file_are_possible() {
    let home = Home::new();
    let mut child = home
        .command(&["import", "-", "--store", "mine.db"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"role\":\"user\",\"content\":\"hello there\"}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && text(&output.stdout).contains("1 new"));
    assert!(home.0.path().join("mine.db").exists() && !home.store().exists());
    assert!(home.says(&["search", "hello", "--store", "mine.db"]).contains("«hello»"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let home = Home::new();
    home.says(&["import", &fixture("samples/harbour.jsonl")]);
    let mut child =
        home.command(&["show", "harbour", "--all"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A proxy that runs while it is kept; its store can be read beside it.
struct Proxy(std::process::Child, String);

impl Proxy {
    fn start(home: &Home, settings: &str) -> Self {
        std::fs::write(home.0.path().join("scrollback.toml"), settings).unwrap();
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--upstream", "quote"];
        let mut child = home.command(&arguments).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stderr.take().unwrap()), &mut told).unwrap();
        let address = told.trim().rsplit("http://").next().unwrap().to_owned();
        Self(child, address)
    }

    /// Sends a history over a plain socket and gives the reply.
    fn chat(&self, history: &[Value]) -> String {
        let body = serde_json::json!({"model": "gpt-5", "max_tokens": 400, "messages": history}).to_string();
        let mut stream = std::net::TcpStream::connect(&self.1).unwrap();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                    x-scrollback-session: harbour\r\ncontent-type: application/json\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut response = String::new();
        std::io::Read::read_to_string(&mut stream, &mut response).unwrap();
        let reply: Value = serde_json::from_str(response.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn frames() -> String {
    (0..500).map(|i| format!("frame {i}: berth {} reads {} cm", i * 7, 100 + i % 90)).collect::<Vec<_>>().join("\n")
}

/// A conversation that folds and holds, through the real proxy.
fn played(home: &Home) -> Proxy {
    let (proxy, answer) = played_with(home, "[window]\ntokens = 3000\n[pages]\nkeep_pages = 4\n");
    assert!(answer.contains("m0"), "{answer}");
    proxy
}

/// The same under other settings, and its last answer.
fn played_with(home: &Home, settings: &str) -> (Proxy, String) {
    let proxy = Proxy::start(home, settings);
    let said = |role: &str, text: String| serde_json::json!({"role": role, "content": text});
    let call = serde_json::json!({"id": "c1", "type": "function", "function": {"name": "read_frames", "arguments": "{\"days\": 2}"}});
    let mut history = vec![
        said("user", "The spare key hangs behind the barometer. Read the frames.".into()),
        serde_json::json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        serde_json::json!({"role": "tool", "tool_call_id": "c1", "content": frames()}),
    ];
    for turn in 0..24 {
        let reply = proxy.chat(&history);
        history.push(said("assistant", reply));
        history.push(said("user", format!("Note {turn}: the ferry of quarter past {turn} carries crates of oranges, and somebody counts them twice before she sails.")));
    }
    history.pop();
    history.push(said("user", "Where does the spare key hang?".into()));
    let answer = proxy.chat(&history);
    assert!(answer.contains("behind the barometer"), "{answer}");
    (proxy, answer)
}

/// Waits until the last view is recorded, which happens a moment after its reply.
fn views(home: &Home) -> Vec<Value> {
    let mut views = Vec::new();
    for _ in 0..100 {
        views = home.json(&["show", "harbour", "--views"]);
        if views.len() >= 25 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    views
}

#[test]
fn what_was_sent_can_be_looked_at_beside_the_server() {
    let home = Home::new();
    let proxy = played(&home);
    let views = views(&home);
    assert_eq!(views.len(), 25);
    let newest = &views[24];
    assert!(newest["fold"]["epoch"].as_u64().unwrap() >= 1 && !newest["recalls"].as_array().unwrap().is_empty());
    let shown = home.says(&["show", "harbour", "--view"]);
    assert!(shown.contains("nothing lost") && shown.contains("stands for what was folded"), "{shown}");
    assert!(shown.contains("recalled on the way") && shown.contains("search_history(spare key hang)"), "{shown}");
    let first = views[0]["view"].as_str().unwrap();
    assert!(home.says(&["show", "harbour", "--view", first, "--full"]).contains("part of the turn being answered"));
    assert!(home.complains(&["show", "harbour", "--view", "v9999"]).contains("--views"));
    let ledger = home.says(&["show", "harbour", "--ledger"]);
    assert!(ledger.contains("gpt-5") && ledger.contains("% saved") && ledger.contains("from the cache"), "{ledger}");
    let totals = home.json(&["show", "harbour", "--ledger"]).pop().unwrap();
    assert!(totals["totals"]["calls"].as_u64().unwrap() > 25, "{totals}");
    assert!(totals["totals"]["without_cost"].as_f64().unwrap() < 10.0, "in dollars: {totals}");
    let called = &home.json(&["show", "harbour", "--ledger"])[0];
    assert!(called["cost"].is_f64() && called["without"]["cost"].is_f64(), "in dollars: {called}");
    let pages = home.says(&["show", "harbour", "--pages"]);
    assert!(pages.contains("listed") && pages.contains("found by search alone"), "{pages}");
    assert!(home.says(&["undo", "harbour"]).contains("shown again"), "the server that holds the store does it");
    drop(proxy);
}

#[test]
fn windows_are_compared_and_asked_why() {
    let home = Home::new();
    drop(played(&home));
    let names: Vec<String> = views(&home).iter().map(|view| view["view"].as_str().unwrap().to_owned()).collect();
    let compared = home.says(&["diff", "harbour", &names[0], names.last().unwrap()]);
    assert!(compared.contains("\n- ") && compared.contains("+ ") && compared.contains("contents"), "{compared}");
    assert!(home.says(&["diff", "harbour", &names[3], &names[3]]).contains("the same blocks"));
    let why = |message: &str, view: &str| home.says(&["why", "harbour", message, "--view", view]);
    let last = names.last().unwrap();
    assert!(why("m0", &names[0]).contains("shown as it came"));
    assert!(why("m2", &names[0]).contains("held") && why("m9", &names[0]).contains("said later"));
    let folded = why("m0", last);
    assert!(folded.contains("folded in fold 1") && folded.contains("scrollback recall"), "{folded}");
    assert_eq!(home.json(&["why", "harbour", "m0", "--view", last])[0]["view"], last.as_str());
    assert!(home.complains(&["why", "harbour", "m999"]).contains("m999"));
}

#[test]
fn a_fold_is_taken_back_and_pages_and_holds_are_recalled() {
    let home = Home::new();
    drop(played(&home));
    views(&home);
    assert!(home.says(&["recall", "harbour", "page", "0"]).contains("behind the barometer"));
    assert!(home.says(&["recall", "harbour", "hold", "h2", "--part", "berth 2100"]).contains("frame 300: berth 2100"));
    assert!(home.says(&["recall", "harbour", "hold", "h2", "--part", "10-11"]).contains("frame 10: berth 70"));
    assert!(home.complains(&["recall", "harbour", "page", "3000"]).contains("no page #3000"));
    let pages =
        |home: &Home| home.json(&["show", "harbour", "--pages"]).pop().unwrap()["open_from_depth"].as_u64().unwrap();
    let before = pages(&home);
    assert!(home.says(&["undo", "harbour"]).contains("shown again"));
    assert!(pages(&home) < before);
    for _ in 0..20 {
        if !home.run(&["undo", "harbour"]).status.success() {
            break;
        }
    }
    assert!(home.complains(&["undo", "harbour"]).contains("nothing to undo"));
}

#[test]
fn held_results_are_listed_and_cleaned() {
    let home = Home::new();
    drop(played(&home));
    views(&home);
    let held = home.json(&["holds"]);
    assert_eq!((&held[0]["id"], &held[0]["tool"], held.len()), (&"h2".into(), &"read_frames".into(), 1));
    assert!(home.says(&["holds", "harbour"]).contains("read_frames"));
    assert!(home.complains(&["holds", "--clean"]).contains("--older-than"));
    assert!(home.complains(&["holds", "--clean", "--older-than", "0d"]).contains("--yes"));
    assert_eq!(home.json(&["holds", "--clean", "--older-than", "1d", "--yes"])[0]["erased"], 0);
    assert_eq!(home.json(&["holds", "--clean", "--older-than", "0d", "--yes"])[0]["erased"], 1);
    for file in ["scrollback.db", "scrollback.db-wal"] {
        let bytes = std::fs::read(home.store().with_file_name(file)).unwrap_or_default();
        assert!(!bytes.windows(6).any(|window| window == b"berth "), "nothing of it is left in {file}");
    }
    assert!(home.says(&["recall", "harbour", "hold", "h2"]).contains("erased for good by its owner"));
    assert!(home.json(&["holds"])[0]["erased"] == true && home.json(&["search", "berth"]).is_empty());
    assert_eq!(home.json(&["doctor"])[0]["problem_count"], 0);
    assert_eq!(home.json(&["holds", "--clean", "--older-than", "0d", "--yes"])[0]["erased"], 0);
}

#[test]
fn stories_of_topics_are_played() {
    let home = Home::new();
    let story = fixture("topics/interleaved.run");
    let text = home.says(&["topics", "simulate", &story, "--svg", "story.svg"]);
    assert_eq!(text, std::fs::read_to_string(fixture("topics/interleaved.txt")).unwrap());
    assert!(std::fs::read_to_string(home.0.path().join("story.svg")).unwrap().starts_with("<svg"));
    assert_eq!(home.json(&["topics", "simulate", &story]).len(), 38);
    std::fs::write(home.0.path().join("bad.run"), "turn: t1=0.9\nturn: nothing\n").unwrap();
    assert!(home.complains(&["topics", "simulate", "bad.run"]).contains("line 2: “nothing”"));
}

/// A conversation that was sorted into topics.
fn sorted(home: &Home) {
    let proxy = played_with(home, "[window]\ntokens = 2000\nstrategy = \"topics\"\n[topics]\nkeep_messages = 4\n");
    views(home);
    drop(proxy);
}

#[test]
fn topics_are_listed_shown_and_reviewed() {
    let home = Home::new();
    sorted(&home);
    let topics = home.json(&["topics", "harbour"]);
    assert!(!topics.is_empty() && topics[0]["topic"] == "t0" && topics[0]["state"] == "active", "{topics:?}");
    let listed = home.says(&["topics", "harbour"]);
    assert!(listed.contains("t0") && listed.contains("active"), "{listed}");
    assert_eq!(home.says(&["show", "harbour", "--topics"]), listed);
    assert!(home.says(&["show", "harbour", "--events"]).contains("sorted"));
    assert!(home.json(&["show", "harbour", "--events"])[0]["event"]["sorted"]["fresh"] == true);
    assert!(home.says(&["topics", "show", "harbour", "t0"]).contains("behind the barometer"));
    assert!(home.complains(&["topics", "show", "harbour", "t999"]).contains("no topic t999"));
    assert!(home.complains(&["topics"]).contains("name a session"));
    let why = home.says(&["why", "harbour", "m0"]);
    assert!(why.contains("in the topic t0"), "{why}");
    let dry = home.json(&["review", "--dry-run"]);
    assert!(dry[0]["what"] == "kept" && dry[0]["importance"].is_number(), "{dry:?}");
    assert!(home.json(&["topics", "harbour"])[0]["summary"] == "", "a dry run wrote");
    let reviewed = home.says(&["review", "harbour"]);
    assert!(reviewed.contains("what happens") && reviewed.contains("kept"), "{reviewed}");
    assert!(home.json(&["topics", "harbour"])[0]["summary"].as_str().unwrap().len() > 10);
    assert!(home.json(&["review"]).is_empty(), "nothing was added since");
}

/// A helper that says the same to everything: its address, and a word for each time it was asked.
fn helper() -> (String, std::sync::mpsc::Receiver<()>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (told, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = std::io::Read::read(&mut stream, &mut vec![0; 1 << 16]);
            let body = r#"{"choices":[{"message":{"content":"Well."}}]}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
            let _ = told.send(());
        }
    });
    (address, asked)
}

#[test]
fn a_review_by_hand_asks_the_helper() {
    let home = Home::new();
    sorted(&home);
    let (address, asked) = helper();
    let settings = format!(
        "[window]\nstrategy = \"topics\"\n[helper]\nupstream = \"local\"\nmodel = \"small\"\n\
         [serve]\nupstream = \"local\"\n[upstreams.local]\nurl = \"http://{address}/v1\"\n"
    );
    std::fs::write(home.0.path().join("scrollback.toml"), settings).unwrap();
    home.says(&["review"]);
    assert!(asked.try_recv().is_ok(), "nobody asked the helper");
}

#[test]
fn topics_are_written_to_files_edited_and_read_back() {
    let home = Home::new();
    sorted(&home);
    home.says(&["review"]);
    home.says(&["topics", "export", "harbour", "out"]);
    let file = home.0.path().join("out/topics/topic-0.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.lines().next().unwrap().starts_with(r#"{"id":"m0","role":"user","at":""#), "{text}");
    assert!(std::fs::read_to_string(home.0.path().join("out/topics/index.jsonl")).unwrap().contains("t0"));
    let same = home.json(&["topics", "import", "harbour", "out"]);
    assert_eq!((&same[0]["changed"], &same[0]["unknown"]), (&serde_json::json!([]), &serde_json::json!([])));
    let name = home.json(&["topics", "harbour"])[0]["name"].as_str().unwrap().to_owned();
    let (said, closing) = text.trim_end().rsplit_once('\n').unwrap();
    let closing = closing.replacen(&serde_json::to_string(&name).unwrap(), "\"Keys and ferries\"", 1);
    std::fs::write(&file, format!("{said}\n{closing}\n")).unwrap();
    assert_eq!(home.json(&["topics", "import", "harbour", "out"])[0]["changed"], serde_json::json!(["t0"]));
    let edited = home.json(&["topics", "harbour"]);
    assert_eq!(edited[0]["name"], "Keys and ferries");
    home.says(&["export", "--output", "all.jsonl"]);
    let other = Home::new();
    other.says(&["import", &home.0.path().join("all.jsonl").display().to_string()]);
    assert!(other.json(&["topics", "harbour"]).is_empty());
    let restored = other.json(&["topics", "import", "harbour", &home.0.path().join("out").display().to_string()]);
    assert_eq!(restored[0]["unknown"], serde_json::json!([]));
    let there = other.json(&["topics", "harbour"]);
    for what in ["topic", "name", "state", "messages", "brief", "summary", "importance"] {
        assert_eq!(there[0][what], edited[0][what], "{what}");
    }
    let (stray, merged) = (home.0.path().join("out/topics/topic-1.jsonl"), "out/topics/archived/2026-01/topic-0.jsonl");
    std::fs::write(&stray, "{}\n").unwrap();
    assert!(home.complains(&["topics", "import", "harbour", "out"]).contains("no topic file"));
    let merged = home.0.path().join(merged);
    std::fs::create_dir_all(merged.parent().unwrap()).unwrap();
    std::fs::copy(&file, &merged).unwrap();
    std::fs::remove_file(&stray).unwrap();
    assert!(home.complains(&["topics", "import", "harbour", "out"]).contains("both tell of t0"));
    std::fs::write(&stray, "mine\n").unwrap();
    home.says(&["topics", "export", "harbour", "out"]);
    assert!(!merged.exists() && stray.exists(), "what an earlier export left is removed, and nothing else");
    let ours = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, ours.replacen("\"session\":\"", "\"session\":\"f", 1)).unwrap();
    assert!(home.complains(&["topics", "export", "harbour", "out"]).contains("choose another folder"));
}

#[test]
fn queued_work_is_listed() {
    use scrollback::engine::{EngineSettings, Job, JobKind};
    use scrollback::ids::{BranchId, Depth, Hash128, NodeId};
    use scrollback::store::Position;
    use scrollback::{At, Engine, MessageId, SessionId, SqliteOptions, SqliteStore, Tenant};

    let home = Home::new();
    std::fs::create_dir_all(home.store().parent().unwrap()).unwrap();
    let store = std::sync::Arc::new(SqliteStore::open(&SqliteOptions::new(home.store())).unwrap());
    let engine = Engine::new(store, scrollback::task::Tasks::offline(), EngineSettings::default());
    let hash = Hash128([1; 16]);
    let head = Position { id: MessageId(7), branch: BranchId(0), depth: Depth(7), node: NodeId(hash) };
    let (session, layout, model) = (SessionId(hash), "pages@32000".to_owned(), "gpt-5".to_owned());
    let job = Job { kind: JobKind::Tidy, session, head, layout, budget: 28_000, model, recalls: true };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let tenant = Tenant::local();
        assert!(engine.submit(&tenant, Job { kind: JobKind::Rules, ..job.clone() }, At(2)).await.unwrap());
        assert!(engine.submit(&tenant, job, At(1)).await.unwrap());
        let claimed = engine.claim(&tenant, At(3)).await.unwrap().unwrap();
        engine.failed(claimed, "the disk is full", At(4)).await.unwrap();
    });
    // The store is open for writing here, as in a running server.
    let shown = home.says(&["jobs"]);
    assert!(
        shown.contains("waiting") && shown.contains("the disk is full") && shown.contains("2 jobs, 2 not done"),
        "{shown}"
    );
    let lines = home.json(&["jobs"]);
    assert_eq!((lines[1]["kind"].as_str(), lines[1]["tries"].as_u64()), (Some("tidy"), Some(1)));
    assert_eq!(lines[1]["state"]["waiting"]["not_before"], "1970-01-01T00:00:30.000004Z");
    drop(engine);
    // A server does it.
    let proxy = Proxy::start(&home, "");
    for _ in 0..200 {
        if home.json(&["jobs"]).iter().all(|line| line["state"] == "done") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(proxy);
    panic!("{:?}", home.json(&["jobs"]));
}
