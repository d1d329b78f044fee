//! `scrollback window`: what a model would be shown, with all that the person decided.

use crate::home::Home;

/// A window of so few tokens that most of `petrel` is folded.
const SMALL: [&str; 4] = ["window", "petrel", "--tokens", "2000"];

#[test]
fn a_window_has_what_was_pinned_and_not_what_was_left_out() {
    let home = Home::new("");
    let texts = |home: &Home| -> Vec<String> {
        home.json(&SMALL).iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!texts(&home).iter().any(|text| text.starts_with("<pinned-")));
    home.says(&["pin", "petrel", "m3"]);
    let pinned = texts(&home);
    assert!(pinned.iter().any(|text| text.contains("<pinned-") && text.contains("[m3 ")), "{pinned:?}");
    let drawn = home.says(&SMALL);
    assert!(drawn.contains("pins 1") && drawn.contains("kept however old it is"), "{drawn}");
    home.says(&["exclude", "petrel", "m3"]);
    assert!(!texts(&home).iter().any(|text| text.contains("<pinned-")));
    home.says(&["exclude", "tides", "m3"]);
    assert!(home.says(&["window", "tides"]).contains("left out · 417 cm above datum"));
}

#[test]
fn rules_of_what_is_folded_are_in_the_window_until_dropped() {
    let home = Home::new("");
    let talk = |n: u32| {
        format!(
            r#"{{"role": "user", "content": "Ferry {n} carries crates of oranges, and somebody counts them twice before she sails."}}"#
        )
    };
    let mut lines = vec![r#"{"role": "user", "content": "Never round the heights."}"#.to_owned()];
    for n in 0..60 {
        lines.extend([
            r#"{"role": "assistant", "content": "Noted, and kept in the book of ferries."}"#.to_owned(),
            talk(n),
        ]);
    }
    let file = format!(r#"{{"id": "ferries", "messages": [{}]}}"#, lines.join(", "));
    std::fs::write(home.0.path().join("ferries.jsonl"), file).unwrap();
    home.says(&["import", "ferries.jsonl"]);
    let window = ["window", "ferries", "--tokens", "1500"];
    assert!(home.says(&window).contains("rules 1 · pins 0"), "{}", home.says(&window));
    let rules = home.json(&["rules", "ferries"]);
    home.says(&["rules", "ferries", "--drop", rules[0]["rule"].as_str().unwrap()]);
    assert!(!home.says(&window).contains("rules 1"));
}

#[test]
fn a_window_tells_how_many_rules_do_not_fit() {
    let home = Home::new("");
    let said = |role: &str, text: &str| format!(r#"{{"role": "{role}", "content": "{text}"}}"#);
    let rules = (0..100).map(|n| format!("Never round the height of pier {n} in a report."));
    let talk = (0..900).map(|n| format!("Ferry {n} carries crates of oranges, and somebody counts them twice."));
    let lines = rules.chain(talk).flat_map(|text| [said("user", &text), said("assistant", "Noted in the book.")]);
    let file = format!(r#"{{"id": "piers", "messages": [{}]}}"#, lines.collect::<Vec<_>>().join(", "));
    std::fs::write(home.0.path().join("piers.jsonl"), file).unwrap();
    home.says(&["import", "piers.jsonl"]);
    let small = home.says(&["window", "piers", "--tokens", "4000"]);
    assert!(small.contains(" more rules do not fit") && !small.contains("rules 100 "), "{small}");
    let large = home.says(&["window", "piers", "--tokens", "20000"]);
    assert!(large.contains("rules 100 ") && !large.contains("do not fit"), "{large}");
}

#[test]
fn a_window_is_laid_out_as_the_session_is() {
    let home = Home::new("[window]\nstrategy = \"truncate\"\n");
    assert!(!home.says(&SMALL).contains("contents · "));
    home.says(&["strategy", "petrel", "pages"]);
    assert!(home.says(&SMALL).contains("contents · "));
    home.says(&["strategy", "petrel", "default"]);
    assert!(!home.says(&SMALL).contains("contents · "));
    assert!(home.says(&[&SMALL[..], &["--strategy", "pages"]].concat()).contains("contents · "));
}
