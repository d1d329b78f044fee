//! Questions, answers and judgements.

use std::time::Duration;

use serde_json::{Value, json};

use crate::desk::{Desk, cell};
use crate::upstream::{Asked, Reply, Upstream, judges, says, searches};

/// Right about pets with even numbers, of no opinion about others; the judge knows.
fn sensible(_: usize, asked: &Asked) -> Reply {
    let text = asked.text();
    match asked.judges() {
        true if text.contains("I do not know") => judges("unknown"),
        true if text.contains("was Miso1") => judges("wrong"),
        true => judges("correct"),
        false if text.contains("number 1 called?") => says("It was Miso11."),
        false if text.contains("number 3 called?") => says("I do not know."),
        false => says("It is called Miso."),
    }
}

#[test]
fn answers_are_judged_and_what_they_took_is_told() {
    let (desk, upstream) = (Desk::new(5), Upstream::new(sensible));
    let ran = desk.runs("recall", &upstream, &["--judge", "gpt-4.1-nano", "--transcripts", "said"]);
    let verdicts = ["questions", "correct %", "wrong %", "does not know %", "not judged", "no answer", "evidence %"];
    assert_eq!(verdicts.map(|name| ran.number(name)), [5., 60., 20., 20., 0., 0., 100.].map(|number| json!(number)));
    assert_eq!((ran.number("prompt, mean"), ran.number("cached %")), (json!(100.0), json!(40.0)));
    // 60 at 0.15, 40 at 0.075 and 10 at 0.6 dollars a million; the judge 60 at 0.1, 40 at 0.025 and 10 at 0.4.
    assert_eq!((ran.number("model $"), ran.number("judge $")), (json!(0.000_09), json!(0.000_055)));
    assert!(ran.aside.contains("10 calls, $0.000145 spent"), "{}", ran.aside);
    let kinds: Value = serde_json::from_str(&ran.out).unwrap();
    let kinds = &kinds["details"][0];
    assert_eq!((&kinds["rows"][0]["name"], cell(kinds, 0, "correct %")), (&json!("pages, 8000: even"), json!(100.0)));
    assert_eq!(cell(kinds, 1, "does not know %"), json!(50.0));
    let asked = upstream.asked();
    assert!(asked.iter().all(|asked| asked.body["temperature"] == 0 && asked.path == "/v1/chat/completions"));
    assert!(asked.iter().all(|asked| !asked.headers.contains_key("authorization")), "no key goes where none belongs");
    let judged = asked.iter().find(|asked| asked.judges()).unwrap();
    assert!(judged.body["model"] == "gpt-4.1-nano" && judged.text().contains("<reference>\\nMiso"), "{judged:?}");
    let lines = desk.transcript("said/recall/pets/pages-8000/1-2.jsonl");
    assert_eq!((&lines[0]["who"], &lines[1]["who"], lines.len()), (&json!("model"), &json!("judge"), 2));
    assert_eq!(lines[0]["reply"]["choices"][0]["message"]["content"], "It was Miso11.");
    assert!(lines[1]["reply"].to_string().contains("It is so."));
}

#[test]
fn the_report_keeps_its_order_however_replies_come() {
    let desk = Desk::new(6);
    let fast = desk.runs("recall", &Upstream::new(sensible), &[]);
    let upstream = Upstream::new(|number, asked| {
        let late = Duration::from_millis(if number.is_multiple_of(3) { 120 } else { 5 });
        Reply::Slow(late, Box::new(sensible(number, asked)))
    });
    assert_eq!(desk.runs("recall", &upstream, &["--at-once", "6"]).out, fast.out);
}

#[test]
fn the_model_may_recall_three_times() {
    let desk = Desk::new(1);
    let upstream = Upstream::new(|_, asked| match asked.body.get("tool_choice") {
        _ if asked.judges() => judges("correct"),
        Some(_) => says("It is Miso0."),
        None => searches("Miso0"),
    });
    let ran = desk.runs("recall", &upstream, &[]);
    assert_eq!((ran.number("rounds"), ran.number("prompt, mean")), (json!(3.0), json!(100.0)));
    let asked = upstream.asked();
    assert_eq!(asked.len(), 5, "a reply, three rounds, the judge");
    assert!(asked[0].text().contains("search_history") && asked[0].body.get("tool_choice").is_none());
    let told = asked[1].body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&told["role"], &told["tool_call_id"]), (&json!("tool"), &json!("call_1")));
    assert_eq!(asked[3].body["tool_choice"], "none");
    assert!(asked[3].text().contains("No more can be recalled"), "{}", asked[3].text());
}

#[test]
fn models_without_tools_recall_in_their_text() {
    let desk = Desk::new(1);
    let upstream = Upstream::new(|number, asked| match (asked.judges(), number) {
        (true, _) => judges("correct"),
        (false, 0) => says("[NEED_CONTEXT: Miso0]"),
        (false, _) => says("It is Miso0."),
    });
    let ran = desk.runs("recall", &upstream, &["--recall", "text"]);
    assert_eq!((ran.number("rounds"), ran.number("correct %")), (json!(1.0), json!(100.0)));
    let asked = upstream.asked();
    assert!(asked[0].body.get("tools").is_none() && asked[0].text().contains("NEED_CONTEXT"));
    let off = Upstream::new(|_, asked| if asked.judges() { judges("correct") } else { says("It is Miso0.") });
    desk.runs("recall", &off, &["--recall", "off"]);
    assert!(off.asked()[0].body.get("tools").is_none() && !off.asked()[0].text().contains("NEED_CONTEXT"));
}

#[test]
fn a_judge_that_talks_nonsense_is_asked_once_more_and_then_left_out() {
    let desk = Desk::new(2);
    let upstream = Upstream::new(|_, asked| match (asked.judges(), asked.text()) {
        (false, _) => says("It is called Miso."),
        (true, text) if text.contains("number 0 called?") && text.contains("could not be used") => judges("partly"),
        (true, _) => says("I like cats."),
    });
    let ran = desk.runs("recall", &upstream, &["--transcripts", "said"]);
    assert_eq!((ran.number("not judged"), ran.number("partly %")), (json!(1.0), json!(100.0)));
    assert_eq!(upstream.count(), 6, "two answers, each judged twice");
    assert!(desk.read("said/recall/pets/pages-8000/1-2.jsonl").contains("I like cats."));
}

#[test]
fn what_answers_alone_is_the_best_that_can_be_had() {
    let (desk, upstream) = (Desk::new(4), Upstream::new(sensible));
    let ran = desk.runs("recall", &upstream, &["--oracle", "--transcripts", "said"]);
    assert_eq!((&ran.table()["rows"][0]["name"], ran.number("evidence %")), (&json!("evidence alone"), json!(100.0)));
    assert_eq!((ran.table()["rows"][0]["limit"].clone(), upstream.count()), (json!(true), 16));
    let shown = desk.transcript("said/recall/pets/evidence-alone/1-1.jsonl")[0]["request"].clone();
    assert!(
        shown.get("tools").is_none() && shown["messages"][0]["content"].as_str().unwrap().contains("Miso0"),
        "{shown}"
    );
}

#[test]
fn words_are_wanted_of_an_answer() {
    let desk = Desk::new(1);
    let upstream = Upstream::new(|_, _| says(" "));
    let ran = desk.runs("recall", &upstream, &[]);
    assert_eq!((ran.number("no answer"), ran.number("not judged"), upstream.count()), (json!(1.0), json!(0.0), 1));
    assert!(ran.number("model $").as_f64().unwrap() > 0.0, "it was paid for all the same");
}
