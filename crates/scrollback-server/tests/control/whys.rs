//! What was sent, told truly: kept blocks, messages left out, summaries and artifacts.

use serde_json::{Value, json};

use crate::home::{Home, Server, text};

/// A conversation that folds, in which m0 states a rule, m2 is pinned, and m4 and an open message are left out.
fn played(strategy: &str) -> (Home, Server) {
    let settings = format!(
        "[window]\ntokens = 3000\nstrategy = \"{strategy}\"\n[summary]\nkeep_recent = 4\nminimum = 8\nmargin = 40\n\
         [artifacts]\narchive_at = 16\nkeep = 4\n"
    );
    let home = Home::new(&settings);
    let server = Server::start(&home);
    let mut history: Vec<Value> = Vec::new();
    server.chat(&mut history, "Never poll the gauge more often than every 20 seconds.");
    for turn in 1..22 {
        server.chat(&mut history, &format!("Note {turn}: the ferry of quarter past {turn} carries {turn}40 crates of oranges, and somebody counts them twice before she sails from slip {turn}."));
    }
    home.says(&["pin", "harbour", "m2"]);
    home.says(&["exclude", "harbour", "m4"]);
    home.says(&["exclude", "harbour", "m42"]);
    server.chat(&mut history, "How many crates did the ferry of quarter past 9 carry?");
    assert!(home.says(&["show", "harbour", "--message", "m42"]).contains("Note 21"));
    let began = std::time::Instant::now();
    while home.json(&["show", "harbour", "--views"]).len() < 23 {
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "the last view is not recorded");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    (home, server)
}

fn common(home: &Home) {
    let why = |message: &str| home.says(&["why", "harbour", message]);
    assert!(why("m0").contains("the rule it states is kept word for word"), "{}", why("m0"));
    assert!(why("m2").contains("kept word for word, however old it is, because it is pinned"), "{}", why("m2"));
    assert!(why("m4").contains("the person wants it left out") && why("m4").contains("scrollback include"));
    assert!(why("m42").contains("the person wants it left out"), "{}", why("m42"));
    assert_eq!(home.json(&["why", "harbour", "m2"])[0]["standing"], "kept");
    let shown = home.says(&["show", "harbour", "--view"]);
    assert!(shown.contains("rules 1 · pins 1 · word for word") && shown.contains("left out · Note 21"), "{shown}");
    let full = home.says(&["show", "harbour", "--view", "--full"]);
    assert!(full.contains("(m42 is not sent)") && !full.contains("Note 21"), "{full}");
    let blocks = home.json(&["show", "harbour", "--view"]);
    assert!(blocks.iter().any(|block| block["message"] == "m42" && block["reason"] == "left_out"), "{blocks:?}");
}

#[test]
fn summaries_are_told_of() {
    let (home, server) = played("summary");
    common(&home);
    let told = home.says(&["why", "harbour", "m6"]);
    assert!(told.contains("told in summary s") && told.contains("expand_summary"), "{told}");
    let name = told.split("told in summary ").nth(1).unwrap().split([',', '.']).next().unwrap();
    assert!(home.says(&["recall", "harbour", "summary", name, "--from", "m6"]).contains("Note 3"));
    assert!(home.says(&["show", "harbour", "--view"]).contains(&format!("{name} · expand_summary")));
    let output = home.run(&["exclude", "harbour", "m8"]);
    assert!(text(&output.stdout).contains(&format!("already told of in {name}")), "{}", text(&output.stdout));
    assert!(home.says(&["undo", "harbour"]).contains("shown again"));
    drop(server);
    assert!(home.says(&["redo", "harbour"]).contains("are folded"), "the same without a server");
}

#[test]
fn artifacts_are_told_of() {
    let (home, server) = played("artifacts");
    common(&home);
    let told = home.says(&["why", "harbour", "m6"]);
    assert!(told.contains("It is a source of a") && told.contains(" § ") && told.contains("search_history"), "{told}");
    assert_eq!(home.json(&["why", "harbour", "m6"])[0]["standing"], "source");
    let of =
        |message: &str| server.asks(&format!("GET /api/sessions/harbour/messages/{message}"), "")["standing"].clone();
    let parts = &of("m6")["parts"];
    assert!(
        parts["fold"].is_u64() && parts["notes"][0]["section"].is_string(),
        "what is said can be said otherwise: {parts}"
    );
    assert_eq!(of("m2")["parts"]["kept"], "pin");
    let views = server.asks("GET /api/sessions/harbour/views?count=1", "");
    let view = views["views"][0]["view"].as_str().unwrap();
    let blocks = server.asks(&format!("GET /api/sessions/harbour/views/{view}"), "")["blocks"].clone();
    let tells = |kind: &str| blocks.as_array().unwrap().iter().find(|block| block["tells"]["kind"] == kind).cloned();
    assert_eq!(tells("kept").unwrap()["tells"], json!({"kind": "kept", "rules": 1, "pins": 1, "earlier": 0}));
    assert!(tells("documents").is_some(), "{blocks}");
    assert!(home.says(&["show", "harbour", "--view"]).contains(" artifacts · every source"));
    drop(server);
}

#[test]
fn two_windows_are_compared_block_by_block() {
    let (home, server) = played("pages");
    common(&home);
    let views = home.json(&["show", "harbour", "--views"]);
    let name = |index: usize| views[index]["view"].as_str().unwrap();
    let compared = home.says(&["diff", "harbour", name(0), name(22)]);
    assert!(compared.contains("pins 1") && compared.contains("contents ·"), "{compared}");
    drop(server);
}

#[test]
fn a_command_that_is_advised_names_the_branch_it_is_about() {
    let home = Home::new("");
    let server = Server::start(&home);
    let say = |body: Value| server.asks("POST /api/chat", &body.to_string());
    let first = say(json!({"session": "tides", "message": "And today?", "stream": false}));
    home.says(&["exclude", "tides", "m3"]);
    let second = say(json!({"session": "tides", "message": "Sure?", "stream": false}));
    let why = || {
        let view = second["view"].as_str().unwrap();
        let told = server.asks(&format!("GET /api/sessions/tides/messages/m3?view={view}"), "");
        told["standing"]["why"].as_str().unwrap().to_owned()
    };
    assert!(why().contains(" m3` shows it again"), "{}", why());
    say(json!({"session": "tides", "message": "And tomorrow?", "after": first["message"], "stream": false}));
    assert!(why().contains(" m3 --branch 0` shows it again"), "{}", why());
}
