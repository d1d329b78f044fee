//! Every command, on the store itself and through the server that holds it: both print the same.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::home::{Home, Server, text};

const SETTINGS: &str = "[window]\ntokens = 6000\nreply_tokens = 500\n";

/// With and without a server.
fn both(test: impl Fn(&Home)) {
    let home = Home::new(SETTINGS);
    test(&home);
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    test(&home);
    drop(server);
}

/// Commands that change something, and some that look at it.
const SCRIPT: [&[&str]; 36] = [
    &["pin", "petrel", "m3", "m9"],
    &["pin", "petrel", "m3"],
    &["unpin", "petrel", "m9"],
    &["exclude", "tides", "m2"],
    &["exclude", "petrel", "m5"],
    &["pins", "petrel"],
    &["pins", "tides"],
    &["include", "tides", "m1"],
    &["rules", "petrel"],
    &["rules", "petrel", "--drop", "r8.1"],
    &["rules", "petrel"],
    &["rules", "petrel", "--restore", "r8.1"],
    &["compress", "petrel"],
    &["notes", "petrel"],
    &["undo", "petrel"],
    &["redo", "petrel"],
    &["strategy", "petrel"],
    &["strategy", "petrel", "summary"],
    &["compress", "petrel"],
    &["notes", "petrel"],
    &["notes", "petrel", "s58"],
    &["exclude", "petrel", "m7"],
    &["edit", "petrel", "s58", "--file", "words.md"],
    &["notes", "petrel", "s58"],
    &["undo", "petrel"],
    &["strategy", "petrel", "artifacts"],
    &["compress", "petrel", "--limit", "5000"],
    &["artifacts", "petrel", "--limit", "5000"],
    &["artifacts", "petrel", "a1", "--limit", "5000"],
    &["edit", "petrel", "a1", "--file", "words.md", "--limit", "5000"],
    &["artifacts", "petrel", "a1", "--limit", "5000"],
    &["artifacts", "petrel", "a1", "--diff", "1", "2", "--limit", "5000"],
    &["recall", "petrel", "summary", "s58", "--from", "m50", "--limit", "6000"],
    &["show", "petrel", "--all"],
    &["strategy", "petrel", "default"],
    &["strategy", "petrel", "--json"],
];

fn played(home: &Home) -> Vec<String> {
    std::fs::write(home.0.path().join("words.md"), "# The ferry\n\nThe Petrel is a ferry of 1987.\n").unwrap();
    SCRIPT.iter().map(|arguments| format!("{arguments:?}\n{}", home.says(arguments))).collect()
}

#[test]
fn a_server_in_between_changes_nothing() {
    let alone = played(&Home::new(SETTINGS));
    let home = Home::new(SETTINGS);
    let server = Server::start(&home);
    let through = played(&home);
    // Imported messages of this fixture carry the time of their import, and a fence a tag made of what it holds.
    let told = |line: &&str| !line.contains("2026-") && !line.contains("messages-");
    let timeless = |text: &String| text.lines().filter(told).collect::<Vec<_>>().join("\n");
    for (alone, through) in alone.iter().zip(&through) {
        assert_eq!(timeless(alone), timeless(through));
    }
    drop(server);
}

#[test]
fn messages_are_pinned_and_left_out() {
    both(|home| {
        assert!(home.says(&["pin", "petrel", "m3"]).contains("m3 is in every window"));
        assert!(home.says(&["pin", "petrel", "m3"]).contains("pinned already"));
        let left = home.says(&["exclude", "tides", "m2"]);
        assert!(left.contains("m1, m2 are left out") && left.contains("belong together"), "{left}");
        let listed = home.says(&["pins", "tides"]);
        assert!(listed.contains("417 cm") && listed.contains("left out"), "{listed}");
        let json = home.json(&["pins", "petrel"]);
        assert_eq!((&json[0]["pinned"][0]["message"], &json[0]["excluded"]), (&"m3".into(), &serde_json::json!([])));
        let shown = home.says(&["show", "tides", "--all"]);
        assert!(shown.lines().filter(|line| line.ends_with("· left out")).count() == 2, "{shown}");
        assert!(home.says(&["include", "tides", "m1"]).contains("m1, m2 are shown again"));
        assert!(home.says(&["unpin", "petrel", "m3"]).contains("pinned no more"));
        assert!(home.run(&["pins", "petrel"]).stdout.is_empty());
    });
}

#[test]
fn who_leaves_out_what_is_told_already_is_told_so() {
    both(|home| {
        home.says(&["strategy", "petrel", "artifacts"]);
        home.says(&["compress", "petrel"]);
        let output = home.run(&["exclude", "petrel", "m7"]);
        let (said, talked) = (text(&output.stdout), text(&output.stderr));
        assert!(said.contains("already told of in a1 § "), "{said}");
        assert!(talked.contains("scrollback edit petrel a1") && talked.contains("scrollback undo petrel"), "{talked}");
        assert_eq!(home.json(&["exclude", "petrel", "m8"])[0]["told"][0]["note"], "a1");
    });
}

#[test]
fn rules_are_listed_dropped_and_restored() {
    both(|home| {
        let rules = home.json(&["rules", "tides"]);
        assert_eq!((rules.len(), &rules[0]["rule"], &rules[0]["holds"]), (1, &"r0.1".into(), &true.into()));
        assert_eq!(rules[0]["text"], "Never round the heights.");
        assert!(home.says(&["rules", "tides", "--drop", "r0.1"]).contains("holds no more"));
        assert!(home.says(&["rules", "tides"]).contains("dropped"));
        assert!(home.says(&["rules", "tides", "--restore", "r0.1"]).contains("r0.1 holds:"));
        assert!(home.complains(&["rules", "tides", "--drop", "r0.7"]).contains("m0 states no rule r0.7"));
        assert!(home.complains(&["rules", "tides", "--drop", "0.1"]).contains("written r12.1"));
    });
}

#[test]
fn a_rule_is_listed_and_dropped_however_long_ago_it_was_stated() {
    let home = Home::new(SETTINGS);
    let said = |role: &str, text: &str| format!(r#"{{"role": "{role}", "content": "{text}"}}"#);
    let first = std::iter::once("Never round the heights.".to_owned());
    let talk = first.chain((0..200).map(|n| format!("The gauge at {n}?")));
    let lines: Vec<String> = talk.flat_map(|text| [said("user", &text), said("assistant", "Noted.")]).collect();
    let file = format!(r#"{{"id": "gauge", "messages": [{}]}}"#, lines.join(", "));
    std::fs::write(home.0.path().join("gauge.jsonl"), file).unwrap();
    home.says(&["import", "gauge.jsonl"]);
    assert_eq!(home.json(&["rules", "gauge"])[0]["rule"], "r0.1");
    let dropped = home.says(&["rules", "gauge", "--drop", "r0.1"]);
    assert!(dropped.contains("r0.1 holds no more: Never round the heights."), "{dropped}");
}

#[test]
fn only_folding_wants_the_helpers_key() {
    let keyless = "[helper]\nmodel = \"small\"\nupstream = \"own\"\n\
                   [upstreams.own]\nurl = \"https://127.0.0.1:9/v1\"\nkey_env = \"NO_SUCH_KEY\"\n";
    let home = Home::new(&format!("{SETTINGS}{keyless}"));
    home.says(&["pin", "petrel", "m3"]);
    home.says(&["tokens", "add", "ann"]);
    home.says(&["forget", "tides", "--yes"]);
    assert!(home.complains(&["compress", "petrel"]).contains("NO_SUCH_KEY"));
}

#[test]
fn folds_are_made_taken_back_and_taken_up_again() {
    both(|home| {
        let folded = home.json(&["compress", "petrel"]);
        assert!(folded[0]["folded"].as_u64().unwrap() > 20 && folded[0]["changed"] == true, "{folded:?}");
        let undone = home.says(&["undo", "petrel"]);
        assert!(undone.contains("shown again") && undone.contains("nothing is folded any more"), "{undone}");
        assert!(home.complains(&["undo", "petrel"]).contains("nothing to undo"));
        let redone = home.says(&["redo", "petrel"]);
        assert!(redone.contains("are folded") && redone.contains("folded now: m1–"), "{redone}");
        assert!(home.complains(&["redo", "petrel"]).contains("nothing was undone"));
        assert!(home.says(&["compress", "tides"]).contains("nothing is old enough"));
        assert!(home.complains(&["compress", "petrel", "--limit", "9"]).contains("at least 500"));
        assert!(home.complains(&["undo", "petrel", "--branch", "4"]).contains("no branch 4"));
        assert!(home.says(&["show", "petrel", "--pages"]).contains("listed"));
    });
}

/// A home with a short conversation beside the long one.
fn with_harbour() -> Home {
    let home = Home::new("");
    let harbour = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/samples/harbour.jsonl");
    home.says(&["import", harbour.to_str().unwrap()]);
    home
}

#[test]
fn a_window_is_laid_out_over_what_is_folded() {
    let home = with_harbour();
    let window = || home.says(&["window", "harbour", "--tokens", "128000"]);
    let before = window();
    assert!(!before.contains("contents ·"), "{before}");
    home.says(&["compress", "harbour", "--limit", "128000"]);
    assert!(window().contains("contents ·") && window().contains("stands for what was folded"), "{}", window());
    home.says(&["undo", "harbour", "--limit", "128000"]);
    assert_eq!(window(), before);
}

#[test]
fn a_fold_that_gains_nothing_is_told() {
    let home = with_harbour();
    let told = |name: &str| text(&home.run(&["compress", name, "--limit", "128000"]).stderr);
    let (short, long) = (told("harbour"), told("petrel"));
    assert!(short.contains("nothing is gained") && !long.contains("nothing is gained"), "{short} {long}");
}

#[test]
fn notes_are_shown_and_put_in_a_persons_words() {
    both(|home| {
        home.says(&["compress", "petrel"]);
        let page = home.json(&["notes", "petrel"])[0]["name"].as_str().unwrap().to_owned();
        let mut child =
            home.command(&["edit", "petrel", &page]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all("My title\nMy line 一\n".as_bytes()).unwrap();
        assert!(text(&child.wait_with_output().unwrap().stdout).contains("My line 一"));
        let note = &home.json(&["notes", "petrel", &page])[0];
        assert_eq!((&note["title"], &note["by"]), (&"My title".into(), &"person".into()));
        assert_eq!(home.says(&["notes", "petrel", page.trim_start_matches('#')]), "My title\nMy line 一\n");
        assert!(home.says(&["undo", "petrel"]).contains("the same messages are folded, under other notes"));
        assert_eq!(home.json(&["notes", "petrel", &page])[0]["by"], "offline");
        let missing = home.complains(&["notes", "petrel", "s3"]);
        assert!(missing.contains("there is no note s3") && missing.contains(&page), "{missing}");
        assert!(home.complains(&["notes", "petrel", "x9"]).contains("written #42, s60 or a12"));
        assert!(home.complains(&["edit", "petrel", &page]).contains("a note needs words"));
        assert!(home.complains(&["edit", "petrel", &page, "--file", "absent"]).contains("absent"));
        assert!(home.complains(&["notes", "tides", "s3"]).contains("nothing is folded"));
    });
}

#[test]
fn summaries_tell_who_wrote_them_and_expand() {
    both(|home| {
        assert!(home.says(&["strategy", "petrel", "summary"]).contains("summary@6000, chosen for this session"));
        home.says(&["compress", "petrel"]);
        let listed = home.json(&["notes", "petrel"]);
        let (name, note) = (listed[0]["name"].as_str().unwrap(), &listed[0]);
        assert_eq!((listed.len(), &note["kind"], &note["by"]), (1, &"summary".into(), &"offline".into()));
        assert!(!note["quotes"].as_array().unwrap().is_empty(), "{note}");
        let expanded = home.says(&["recall", "petrel", "summary", name, "--words", "Gardner engine"]);
        assert!(expanded.contains("Gardner 6LXB") && expanded.contains("[m1 "), "{expanded}");
        let found = home.says(&["recall", "petrel", "search", "Gardner", "engine"]);
        assert_eq!(home.says(&["recall", "petrel", "Gardner", "engine"]), found, "words are searched for");
        assert!(found.contains("Gardner 6LXB"), "{found}");
        home.says(&["recall", "petrel", "the", "page", "--branch", "0"]);
        assert!(home.complains(&["recall", "petrel"]).contains("say what to recall"));
        let onwards = home.says(&["recall", "petrel", "summary", name, "--from", "m50"]);
        assert!(onwards.contains("[m50 ") && !onwards.contains("[m49 "), "{onwards}");
        assert!(home.complains(&["recall", "petrel", "summary", "s999"]).contains("no summary s999"));
        assert!(home.complains(&["recall", "petrel", "summary", "s7"]).contains("no summary s7: `scrollback notes"));
        let elsewhere = home.complains(&["recall", "petrel", "summary", "s7", "--branch", "0", "--limit", "6000"]);
        assert!(elsewhere.contains("`scrollback notes petrel --branch 0 --limit 6000`"), "{elsewhere}");
        let paged = text(&home.run(&["show", "petrel", "--pages", "--limit", "6000"]).stderr);
        assert!(paged.contains("scrollback notes") && paged.contains(" --branch 0 --limit 6000`"), "{paged}");
        assert!(home.says(&["strategy", "petrel", "default"]).contains("pages@6000, as the settings say"));
        assert!(home.complains(&["strategy", "petrel", "magic"]).contains("there are pages"));
    });
}

#[test]
fn artifacts_have_versions_and_differences() {
    both(|home| {
        home.says(&["strategy", "petrel", "artifacts"]);
        assert!(home.run(&["artifacts", "petrel"]).stdout.is_empty());
        home.says(&["compress", "petrel"]);
        let listed = home.json(&["artifacts", "petrel"]);
        assert!(listed.iter().any(|one| one["id"] == "a1" && one["version"] == 1), "{listed:?}");
        assert!(home.says(&["artifacts", "petrel", "a1"]).contains("<!-- sources: m1"));
        std::fs::write(home.0.path().join("mine.md"), "# The ferry\n\nBuilt in 1987.\n").unwrap();
        home.says(&["edit", "petrel", "a1", "--file", "mine.md"]);
        let versions = home.json(&["artifacts", "petrel", "a1", "--versions"]);
        assert_eq!(versions.iter().map(|one| one["version"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((&versions[1]["by"], &versions[1]["added"]), (&"person".into(), &serde_json::json!([])));
        assert!(home.says(&["artifacts", "petrel", "a1", "--versions"]).contains("m1–m"));
        let diff = home.says(&["artifacts", "petrel", "a1", "--diff", "1", "2"]);
        assert!(diff.contains("+ # The ferry") && diff.contains("\n- "), "{diff}");
        assert!(!diff.contains('\u{1b}'), "no colours where nobody looks");
        assert!(!home.says(&["artifacts", "petrel", "a1", "--version", "1"]).contains("# The ferry"));
        assert!(home.complains(&["artifacts", "petrel", "a1", "--diff", "1", "7"]).contains("there are 1, 2"));
        assert!(home.complains(&["artifacts", "petrel", "a99"]).contains("no artifact a99"));
        assert!(home.complains(&["artifacts", "petrel", "b"]).contains("written a12"));
    });
}

#[test]
fn sessions_are_told_by_their_names() {
    let home = Home::new("");
    let listed = home.says(&["sessions"]);
    assert!(listed.lines().next().unwrap().contains("name") && listed.contains(" tides "), "{listed}");
    assert!(text(&home.run(&["show", "tides"]).stderr).contains("Tides · tides · "));
    assert!(home.says(&["search", "datum"]).contains(" tides · Tides · m3 assistant · "));
    std::fs::write(
        home.0.path().join("more.jsonl"),
        r#"{"id": "tides-north", "messages": [{"role": "user", "content": "Hi."}]}"#,
    )
    .unwrap();
    home.says(&["import", "more.jsonl"]);
    let told = home.complains(&["show", "tid"]);
    assert!(told.contains(" “tides”") && told.contains(" “tides-north”"), "{told}");
    let told = home.complains(&["chat", "nobody", "Hello?", "--upstream", "quote"]);
    assert!(told.contains("scrollback sessions") && told.contains("scrollback chat - MESSAGE"), "{told}");
}

#[test]
fn who_is_answered_without_a_model_is_told_so() {
    let home = Home::new("");
    let output = home.run(&["chat", "-", "Where does the key hang?"]);
    assert!(output.status.success() && !output.stdout.is_empty(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no model is set up"), "{}", text(&output.stderr));
    let asked_for = home.run(&["chat", "-", "Where does the key hang?", "--upstream", "quote"]);
    assert!(!text(&asked_for.stderr).contains("no model is set up"));
}

#[test]
fn what_is_wrong_is_told_with_what_there_is() {
    let home = Home::new("");
    let told = home.complains(&["serve", "--upstream", "nosuch", "--listen", "127.0.0.1:0"]);
    assert!(told.contains("“nosuch”; there are ") && told.contains("quote"), "{told}");
    let told = home.complains(&["search", "datum", "--role", "nobody"]);
    assert!(told.contains("user, assistant, tool"), "{told}");
    let told = home.complains(&["forget", "tides"]);
    assert!(told.contains("nothing was erased") && told.contains("With --yes, “Tides”"), "{told}");
    for (text, wrong) in
        [("", "is empty"), ("{\"messages\": [{\"ro", "no JSON, or was cut short"), ("Dear diary", "no JSON")]
    {
        std::fs::write(home.0.path().join("odd.json"), text).unwrap();
        let told = home.complains(&["import", "odd.json"]);
        assert!(told.contains(wrong) && !told.contains("--format"), "{text}: {told}");
    }
}

#[test]
fn wrong_names_are_told() {
    both(|home| {
        assert!(home.complains(&["pin", "nobody", "m1"]).contains("scrollback sessions"));
        assert!(home.complains(&["pin", "petrel", "m999"]).contains("no message m999"));
        assert!(home.complains(&["pin", "petrel", "x"]).contains("message id such as m42"));
        assert!(home.complains(&["exclude", "petrel", "m0"]).contains("no part of the talk"), "instructions stay");
    });
    let empty = Home(tempfile::tempdir().unwrap());
    assert!(empty.complains(&["pin", "petrel", "m1"]).contains("scrollback import"));
    assert!(!empty.beside("").exists(), "asking in vain makes no store");
}

#[test]
fn sessions_are_found_though_no_address_can_hold_their_names() {
    let home = Home::new(SETTINGS);
    for name in [".", ".."] {
        let messages = [serde_json::json!({"role": "user", "content": format!("I am {name}")})];
        let line = serde_json::json!({"id": name, "messages": messages}).to_string();
        std::fs::write(home.0.path().join("dots.jsonl"), line).unwrap();
        home.says(&["import", "dots.jsonl"]);
    }
    let server = Server::start(&home);
    for name in [".", ".."] {
        home.says(&["pin", name, "m0"]);
        assert!(home.says(&["pins", name]).contains("m0"), "{name}");
    }
    drop(server);
}
