//! `scrollback eval` as people run it, on a small folder written by hand.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Everything that reads data: what needs none takes long.
const ALL: [&str; 5] = ["all", "--data", "sets", "--only", "pets,fruit"];

/// A folder with data in it.
struct Desk(tempfile::TempDir);

impl Desk {
    /// Nothing but the folder.
    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With a dataset for each suite.
    fn new() -> Self {
        let desk = Self::empty();
        desk.write("sets/recall/pets.jsonl", &recall("I have a cat called Miso."));
        desk.write("sets/topics/fruit.jsonl", &topics());
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.arg("eval").args(arguments).current_dir(self.0.path()).env_clear().env("HOME", self.0.path());
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// What is printed, and what is said beside it.
    fn both(&self, arguments: &[&str]) -> (String, String) {
        let Output { status, stdout, stderr } = self.run(arguments);
        let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        assert!(status.success(), "{arguments:?}: {stderr}");
        (stdout, stderr)
    }

    fn says(&self, arguments: &[&str]) -> String {
        self.both(arguments).0
    }

    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [arguments, &["--json"]].concat();
        self.says(&all).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn complains(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} should fail");
        String::from_utf8(output.stderr).unwrap()
    }
}

fn recall(told: &str) -> String {
    let message = |id: &str, text: &str| json!({"id": id, "role": "user", "name": null, "time": null, "text": text});
    let question = json!({"id": "q", "kind": "fact", "text": "What is my cat called?", "evidence": ["a"]});
    json!({"id": "1", "messages": [message("a", told), message("b", "It rains.")], "questions": [question]}).to_string()
}

fn topics() -> String {
    let message = |text: &str, topic: u32| json!({"text": text, "topic": topic});
    json!({"interleaved": false, "messages": [message("red apples", 0), message("blue whales", 1)]}).to_string()
}

#[test]
fn everything_is_measured_in_one_go() {
    let desk = Desk::new();
    let (text, aside) = desk.both(&ALL);
    let (recall, topics) = (text.find("### Recall, pets").unwrap(), text.find("### Topics, fruit").unwrap());
    assert!(recall < topics && text.contains("| topics | **100.0** |") && text.contains("Pk ↓"), "{text}");
    assert!(!text.contains("skipped") && !aside.contains("recall") && !aside.contains('\u{1b}'), "{aside}");
    assert_eq!(desk.says(&ALL), text, "the same data gives the same bytes");
    std::fs::remove_dir_all(desk.path("sets/topics")).unwrap();
    let (text, aside) = desk.both(&ALL);
    assert!(text.contains("Recall, pets") && aside.contains("topics is skipped"), "{aside}");
}

#[test]
fn a_scorecard_tells_what_is_found_with_all_conversations_in_one_session() {
    let desk = Desk::new();
    assert!(!desk.says(&ALL).contains("pooled"), "there is but one");
    let two =
        format!("{}\n{}", recall("I have a cat called Miso."), recall("My cat is called Umi. ".repeat(9_000).trim()));
    desk.write("sets/recall/pets.jsonl", &two);
    let text = desk.says(&ALL);
    let (apart, pooled) = text.split_once("### Recall, pets, pooled\n").unwrap();
    let columns = |text: &str| text.lines().find(|line| line.starts_with("| |")).unwrap().to_owned();
    assert_eq!(columns(apart.split_once("### Recall, pets\n").unwrap().1), columns(pooled), "of the same sizes");
    assert_eq!(columns(pooled), "| | 8k | 8k, all | 16k | 16k, all |", "that of which costs are told as well");
    assert!(pooled.contains("2 questions about 1 conversation"), "{pooled}");
}

#[test]
fn a_suite_finds_its_own_folder() {
    let desk = Desk::new();
    let whole = desk.says(&["topics", "--data", "sets"]);
    assert!(whole.contains("| Scrollback |") && !whole.contains("Recall"), "{whole}");
    assert_eq!(desk.says(&["topics", "--data", "sets/topics"]), whole);
    let measured = desk.json(&["recall", "--data", "sets", "--budget", "500,1000"]);
    assert_eq!((&measured[0]["suite"], &measured[0]["dataset"]), (&json!("recall"), &json!("pets")));
    let table = &measured[0]["tables"][0];
    let columns: Vec<&str> =
        table["columns"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(columns, ["500", "500, all", "1k", "1k, all"]);
    assert_eq!(table["rows"].as_array().unwrap().last().unwrap()["cells"], json!([100.0, 100.0, 100.0, 100.0]));
    let pooled = desk.says(&["recall", "--data", "sets", "--pooled"]);
    assert!(pooled.contains("### Recall, pets\n") && pooled.contains("### Recall, pets, pooled\n"), "{pooled}");
    assert_eq!(measured[0]["details"][0]["rows"][0]["name"], "fact (1)");
}

#[test]
fn what_is_missing_is_said() {
    let desk = Desk::empty();
    assert!(desk.complains(&["topics", "--data", "nowhere"]).contains("docs/evaluation.md"));
    std::fs::create_dir(desk.path("sets")).unwrap();
    assert!(desk.complains(&["all", "--data", "sets"]).contains("docs/evaluation.md"));
    desk.write("sets/recall/bad.jsonl", "{\"id\": 1}\n");
    let complaint = desk.complains(&["all", "--data", "sets", "--only", "bad"]);
    assert!(complaint.contains("bad could not be measured") && complaint.contains("line 1"), "{complaint}");
    assert!(desk.complains(&["all", "--data", "sets", "--only", "good,fine"]).contains("“good” or “fine”"));
    assert!(desk.complains(&["recall"]).contains("--data DIR"));
}

#[test]
fn what_was_measured_is_not_measured_again() {
    let desk = Desk::new();
    let arguments = [&ALL[..], &["--resume", "kept.jsonl"]].concat();
    let text = desk.says(&arguments);
    assert_eq!(text, desk.says(&ALL));
    let kept = desk.read("kept.jsonl");
    assert_eq!(
        kept.lines().count(),
        4,
        "recall, topics, and two with nothing to say: a cache, and one pooled conversation"
    );
    assert_eq!(desk.says(&arguments), text);
    assert_eq!(desk.read("kept.jsonl"), kept, "nothing was measured");
    // What is kept is what is told.
    desk.write("kept.jsonl", &kept.replace("Topics, fruit", "Topics, as kept"));
    assert!(desk.says(&arguments).contains("### Topics, as kept"));
    // Cut off in the middle of the last line: that one is measured again.
    desk.write("kept.jsonl", &kept[..kept.len() - 40]);
    assert_eq!(desk.says(&arguments), text);
    assert_eq!(desk.read("kept.jsonl").lines().count(), 5);
    assert_eq!(desk.says(&arguments), text);
    assert_eq!(desk.read("kept.jsonl").lines().count(), 5);
    // Other data and other settings are measured anew.
    desk.says(&["recall", "--data", "sets", "--budget", "700", "--resume", "kept.jsonl"]);
    desk.write("sets/recall/pets.jsonl", &recall("My cat is called Nori."));
    desk.says(&arguments);
    assert_eq!(desk.read("kept.jsonl").lines().count(), 9);
    desk.write("letter.txt", "Dear Ann,");
    assert!(desk.complains(&["all", "--data", "sets", "--resume", "letter.txt"]).contains("letter.txt"));
}

#[test]
fn goals_and_a_page() {
    let desk = Desk::new();
    let goals = "[[goal]]\ntable = \"Recall, pets\"\nrow = \"topics\"\ncolumn = \"4k\"\nleast = 87\n\
        [[goal]]\ntable = \"Recall, pets\"\nrow = \"topics\"\ncolumn = \"2k\"\nleast = 101.5\n";
    desk.write("goals.toml", goals);
    let arguments = [&ALL[..], &["--goals", "goals.toml", "--html", "page.html", "--note", "<b>May</b>"]].concat();
    let text = desk.says(&arguments);
    assert!(text.starts_with("## Goals\n\n1 of 2 met.\n"), "{text}");
    assert!(text.contains("| 100.0 | ≥ 101.5 | missed by 1.5 |") && text.contains("| 100.0 | ≥ 87 | met |"), "{text}");
    let page = desk.read("page.html");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("&lt;b&gt;May&lt;/b&gt;") && page.contains("<svg") && page.contains("1 of 2 met"));
    desk.says(&arguments);
    assert_eq!(desk.read("page.html"), page, "the same data gives the same bytes");
    let told = desk.json(&["recall", "--data", "sets", "--goals", "goals.toml"]);
    assert_eq!((told[1]["verdict"].clone(), told[2]["verdict"]["missed"].clone()), (json!("met"), json!(1.5)));
    desk.write("goals.toml", "[[goal]]\ntable = \"t\"\n");
    assert!(desk.complains(&["all", "--data", "sets", "--goals", "goals.toml"]).contains("goals.toml"));
}

#[test]
fn the_shipped_goals_are_read() {
    let desk = Desk::new();
    let goals = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/goals.toml");
    let text = desk.says(&["topics", "--data", "sets", "--goals", goals.to_str().unwrap()]);
    assert!(text.contains("not measured"), "{text}");
}

#[test]
fn caches_and_tools_are_replayed() {
    let desk = Desk::new();
    let said = |id: usize| {
        let role = if id.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"id": id.to_string(), "role": role, "name": null, "time": null, "text": format!("Tide {id} comes in.")})
    };
    let messages: Vec<Value> = (0..6).map(said).collect();
    desk.write("sets/recall/tides.jsonl", &json!({"id": "1", "messages": messages, "questions": []}).to_string());
    let event = |role: &str, text: &str| json!({"role": role, "name": "read", "text": text});
    let events = [event("user", "Why?"), event("tool_call", "log"), event("tool_result", "out of memory")];
    let events = [&events[..], &[event("assistant", "It ran out of memory.")]].concat();
    desk.write("sets/traces/agents.jsonl", &json!({"id": "1", "events": events}).to_string());
    let text = desk.says(&["all", "--data", "sets", "--only", "pets,tides,agents"]);
    let places: Vec<Option<usize>> =
        ["### Recall, pets", "### Cache, tides", "### Tools, agents"].map(|title| text.find(title)).to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    assert!(!text.contains("### Cache, pets"), "nothing is sent where no model speaks: {text}");
    let tools = desk.says(&["tools", "--data", "sets/traces", "--budget", "5000", "--strategy", "pages"]);
    assert!(tools.contains("| pages, 5000 |") && !tools.contains("200000") && !tools.contains("| topics"), "{tools}");
    assert!(desk.says(&["cache", "--data", "sets", "--only", "tides"]).contains("| pages |"));
}

#[test]
fn what_measures_memory_comes_before_others_take_it() {
    let desk = Desk::new();
    let only = ["all", "--data", "sets", "--only", "pets,scale", "--length", "2000", "--resume", "kept.jsonl"];
    assert!(desk.says(&only).contains("### Recall, pets"));
    let kept = desk.read("kept.jsonl");
    assert!(kept.starts_with(r#"{"key":{"suite":"scale""#) && kept.lines().count() > 1, "{kept}");
}

#[test]
fn a_growing_conversation_needs_no_data() {
    let desk = Desk::empty();
    let arguments = ["scale", "--length", "2000,8000", "--budget", "4000", "--resume", "kept.jsonl"];
    let text = desk.says(&arguments);
    assert!(text.contains("| 2000 tokens |") && text.contains("| 8000 tokens |"), "{text}");
    assert_eq!(desk.says(&arguments), text, "times are not measured again");
}
