//! What a model changes in the other suites, and what the helper does.

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::upstream::{Reply, Upstream, judges, says};

#[test]
fn rules_are_asked_for_long_after_they_were_stated() {
    let desk = Desk::new(1);
    let upstream = Upstream::new(|_, asked| match (asked.judges(), asked.text()) {
        (true, text) if text.contains("tomatoes") => judges("broken"),
        (true, _) => judges("kept"),
        (false, _) => says("Aye."),
    });
    let more = ["--sample", "2", "--budget", "3000", "--strategy", "truncate,pages", "--transcripts", "said"];
    let ran = desk.runs("constraints", &upstream, &more);
    let table = ran.table();
    assert_eq!(table["title"], "Rules kept, English");
    let row = |row: usize, column: &str| crate::desk::cell(&table, row, column);
    // The window of one says the rules, that of the other has dropped them; the judge is of one mind.
    assert_eq!((row(0, "16 folds, shown %"), row(1, "16 folds, shown %")), (json!(0.0), json!(100.0)));
    assert_eq!((row(0, "16 folds, kept %"), row(1, "1 fold, kept %")), (json!(50.0), json!(50.0)));
    assert_eq!(upstream.count(), 2 * 2 * 2 * 3 * 2, "rules, languages, strategies, looks, each judged");
    let lines = desk.transcript("said/constraints/English/pages-3000/1-1-after-16.jsonl");
    assert!(lines[1]["request"].to_string().contains("<rule>\\nNever put tomatoes"), "{lines:?}");
}

#[test]
fn every_call_is_sent_for_what_the_provider_reports() {
    let desk = Desk::new(12);
    let event = |role: &str, text: &str| json!({"role": role, "name": "read", "text": text});
    let events = [event("user", "Why?"), event("tool_call", "log"), event("tool_result", "out of memory")];
    let events = [&events[..], &[event("assistant", "It ran out of memory.")]].concat();
    desk.write("sets/traces/agents.jsonl", &json!({"id": "1", "events": events}).to_string());
    let upstream = Upstream::new(|_, _| Reply::Message(json!({"role": "assistant", "content": "…"}), [200, 150, 1]));
    let ran = desk.runs("cache", &upstream, &["--strategy", "pages,passthrough"]);
    let table = ran.table();
    assert_eq!(table["title"], "Cache as reported, pets");
    assert_eq!(
        (ran.number("calls"), ran.number("cached %"), ran.number("prompt, mean")),
        (json!(6.0), json!(75.0), json!(200.0))
    );
    assert!(ran.number("counted, mean").as_f64().unwrap() > 50.0);
    assert_eq!(upstream.count(), 12);
    let asked = upstream.asked();
    assert!(asked.iter().all(|asked| asked.body["max_tokens"] == 16 && asked.body["messages"][0]["role"] == "system"));
    let heads: std::collections::BTreeSet<_> =
        asked.iter().map(|asked| asked.body["messages"][0].to_string()).collect();
    assert_eq!(heads.len(), 2, "strategies share no beginning: {heads:?}");
    let tools = desk.runs("tools", &upstream, &["--budget", "32000"]);
    assert_eq!(
        (tools.table()["title"].as_str(), tools.number("calls")),
        (Some("Tools as reported, agents"), json!(2.0))
    );
}

#[test]
fn the_helper_serves_strategies_and_is_paid() {
    let desk = Desk::new(60);
    let upstream = Upstream::new(|_, asked| match asked.body["model"].as_str() {
        Some("gpt-4.1-nano") => says("no JSON at all"),
        _ if asked.judges() => judges("correct"),
        _ => says("Miso."),
    });
    let more = [
        "--helper",
        "gpt-4.1-nano",
        "--sample",
        "1",
        "--strategy",
        "summary",
        "--budget",
        "1000",
        "--transcripts",
        "said",
    ];
    let ran = desk.runs("recall", &upstream, &more);
    assert!(ran.number("helper $").as_f64().unwrap() > 0.0, "{}", ran.out);
    assert!(ran.table()["about"].as_str().unwrap().contains("helper “gpt-4.1-nano”"));
    let lines: Vec<Value> = desk.transcript("said/recall/pets/summary-1000/1-helper.jsonl");
    assert!(lines.iter().all(|line| line["who"] == "helper"));
}

#[test]
fn anthropic_and_responses_are_spoken_too() {
    let desk = Desk::new(1);
    for (wire, path, reply) in [
        (
            "anthropic",
            "/v1/messages",
            json!({"type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "TEXT"}], "usage": {"input_tokens": 9, "cache_read_input_tokens": 91, "output_tokens": 2}}),
        ),
        (
            "responses",
            "/v1/responses",
            json!({"object": "response", "status": "completed", "output": [{"type": "message", "role": "assistant",
            "status": "completed", "content": [{"type": "output_text", "text": "TEXT", "annotations": []}]}],
            "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 91}, "output_tokens": 2}}),
        ),
    ] {
        let text = |says: &str| Box::leak(reply.to_string().replace("TEXT", says).into_boxed_str());
        let (answer, verdict): (&'static str, &'static str) =
            (text("Miso."), text(r#"{\"reason\":\"\",\"verdict\":\"correct\"}"#));
        let upstream =
            Upstream::new(move |_, asked| Reply::Status(200, None, if asked.judges() { verdict } else { answer }));
        let ran = desk.runs("recall", &upstream, &["--wire", wire]);
        assert_eq!((ran.number("correct %"), ran.number("cached %")), (json!(100.0), json!(91.0)), "{wire}");
        assert!(upstream.asked().iter().all(|asked| asked.path == path));
    }
}
