//! Upstreams that refuse, fail, cut off or do not answer.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::desk::Desk;
use crate::upstream::{Asked, Reply, Upstream, judges, says};

const AT_ONCE: Option<(&str, &str)> = Some(("retry-after", "0"));

fn fine(asked: &Asked) -> Reply {
    if asked.judges() { judges("correct") } else { says("Miso.") }
}

#[test]
fn what_may_succeed_later_is_tried_again() {
    let desk = Desk::new(2);
    let upstream = Upstream::new(|number, asked| match number {
        0 => Reply::Cut,
        1 => Reply::Status(429, Some(("retry-after", "1")), "slow down"),
        2 | 3 => Reply::Status(503, AT_ONCE, "busy"),
        _ => fine(asked),
    });
    let begun = Instant::now();
    let ran = desk.runs("recall", &upstream, &["--at-once", "1", "--transcripts", "said"]);
    assert_eq!((ran.number("correct %"), ran.number("no answer")), (json!(100.0), json!(0.0)));
    assert!(ran.aside.contains("4 were tried again") && begun.elapsed() >= Duration::from_secs(1), "{}", ran.aside);
    let statuses: Vec<_> =
        desk.transcript("said/recall/pets/pages-8000/1-1.jsonl").iter().map(|line| line["status"].clone()).collect();
    assert_eq!(statuses, [200, 429, 503, 503, 200, 200].map(|status| json!(status)));
}

#[test]
fn a_question_that_is_never_answered_is_counted_as_such() {
    let desk = Desk::new(3);
    let upstream = Upstream::new(|_, asked| {
        let fails = asked.text().contains("number 1 called?");
        if fails { Reply::Status(500, AT_ONCE, "oops") } else { fine(asked) }
    });
    let ran = desk.runs("recall", &upstream, &[]);
    assert_eq!((ran.number("questions"), ran.number("no answer")), (json!(3.0), json!(1.0)));
    assert_eq!(upstream.count(), 2 * 2 + 5);
    let refusal = Reply::Status(400, None, r#"{"error": {"message": "too long"}}"#);
    let strict = Upstream::new(move |_, _| refusal.clone());
    let ran = desk.runs("recall", &strict, &[]);
    assert_eq!((ran.number("no answer"), strict.count()), (json!(3.0), 3), "what is refused is not tried again");
}

#[test]
fn an_upstream_that_does_not_answer_is_not_waited_for_for_ever() {
    let (desk, begun) = (Desk::new(1), Instant::now());
    let upstream = Upstream::new(|number, asked| match number {
        0 => Reply::Slow(Duration::from_mins(1), Box::new(says("Miso."))),
        _ => fine(asked),
    });
    let ran = desk.runs("recall", &upstream, &["--reply-timeout", "1"]);
    assert!(ran.number("correct %") == json!(100.0) && begun.elapsed() < Duration::from_secs(30), "{}", ran.aside);
}

#[test]
fn a_refused_key_is_named() {
    let desk = Desk::new(3);
    let upstream = Upstream::new(|_, _| Reply::Status(401, None, r#"{"error": {"message": "bad key"}}"#));
    let ran = desk.run("recall", &upstream, &["--key-env", "LAB_KEY", "--at-once", "1"]);
    assert!(
        ran.code == 1 && ran.aside.contains("refused the key in LAB_KEY") && ran.aside.contains("bad key"),
        "{}",
        ran.aside
    );
    assert_eq!(
        (upstream.count(), upstream.asked()[0].headers["authorization"].to_str().unwrap()),
        (1, "Bearer sk-lab")
    );
    let ran = desk.run("recall", &upstream, &["--at-once", "1"]);
    assert!(ran.aside.contains("wants a key") && ran.aside.contains("--key-env"), "{}", ran.aside);
    let ran = desk.run("recall", &upstream, &["--key-env", "NO_SUCH_KEY"]);
    assert!(ran.aside.contains("NO_SUCH_KEY is not set") && upstream.count() == 2, "{}", ran.aside);
}

#[test]
fn an_upstream_that_keeps_failing_is_given_up() {
    let desk = Desk::new(20);
    let upstream = Upstream::new(|_, _| Reply::Status(422, None, "no"));
    let ran = desk.run("recall", &upstream, &["--at-once", "1"]);
    assert!(
        ran.code == 1 && ran.aside.contains("8 calls in a row failed") && ran.aside.contains("422"),
        "{}",
        ran.aside
    );
    assert_eq!(upstream.count(), 8);
}

#[test]
fn models_that_take_other_settings_get_them() {
    let desk = Desk::new(4);
    let upstream = Upstream::new(|_, asked| match &asked.body {
        body if body.get("max_tokens").is_some() => Reply::Status(
            400,
            None,
            r#"{"error": {"message": "'max_tokens' is not supported: use 'max_completion_tokens'"}}"#,
        ),
        body if body.get("temperature").is_some() => {
            Reply::Status(400, None, r#"{"error": {"message": "'temperature' does not support 0"}}"#)
        }
        body => {
            assert!(body["max_completion_tokens"].is_u64());
            fine(asked)
        }
    });
    let ran = desk.runs("recall", &upstream, &["--at-once", "1"]);
    assert_eq!(
        (ran.number("correct %"), upstream.count()),
        (json!(100.0), 4 * 2 + 2),
        "learned once, by the first call"
    );
    let ran = desk.runs("recall", &upstream, &["--at-once", "4"]);
    assert_eq!(
        (ran.number("correct %"), ran.number("no answer")),
        (json!(100.0), json!(0.0)),
        "by calls under way too"
    );
}
