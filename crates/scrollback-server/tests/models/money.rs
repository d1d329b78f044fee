//! What a run may cost, and what is not paid for twice.

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::upstream::{Asked, Reply, Upstream, judges};

/// Each call costs 0.05 dollars: five thousand tokens for 10 dollars a million.
fn dear(_: usize, asked: &Asked) -> Reply {
    let text = if asked.judges() { r#"{"reason": "", "verdict": "correct"}"# } else { "Miso." };
    Reply::Message(json!({"role": "assistant", "content": text}), [5_000, 0, 0])
}

const DEAR: [&str; 6] = ["--model", "gpt-4-turbo", "--at-once", "1", "--recall", "off"];

#[test]
fn nothing_is_sent_that_could_cost_too_much() {
    let (desk, upstream) = (Desk::new(6), Upstream::new(dear));
    let limited =
        [&DEAR[..], &["--spend-limit", "0.25", "--resume", "kept.jsonl", "--strategy", "pages,truncate"]].concat();
    let ran = desk.run("recall", &upstream, &limited);
    assert_eq!(ran.table()["rows"].as_array().unwrap().len(), 1, "what was not begun has no row");
    assert_eq!(ran.code, 3, "{}", ran.aside);
    assert!(ran.aside.contains("--spend-limit") && ran.aside.contains("over $0.2500"), "{}", ran.aside);
    let (asked, spent) = (upstream.count(), 0.05 * f64::from(u32::try_from(upstream.count()).unwrap()));
    assert!(asked >= 2 && spent <= 0.25, "{asked} calls for {spent}");
    let (done, about) = (ran.number("questions"), ran.table()["about"].to_string());
    assert!(about.contains("Not finished") && about.contains(&format!("{} of 12 questions", asked / 2)), "{about}");
    assert_eq!(done, json!(f64::from(u32::try_from(asked / 2).unwrap())));
    // The next run goes on where this one stopped, and the one after pays for nothing.
    let more = [&DEAR[..], &["--resume", "kept.jsonl"]].concat();
    let whole = desk.runs("recall", &upstream, &more);
    assert_eq!((upstream.count(), whole.number("questions")), (12, json!(6.0)));
    assert!(whole.aside.contains(&format!("{asked} more were known from before")), "{}", whole.aside);
    assert_eq!(desk.runs("recall", &upstream, &more).out, whole.out);
    assert_eq!(upstream.count(), 12);
    // Whoever starts anew gets the same numbers.
    assert_eq!(desk.runs("recall", &Upstream::new(dear), &DEAR).number("model $"), whole.number("model $"));
}

#[test]
fn without_money_nothing_is_sent_but_what_is_free() {
    let (desk, upstream) = (Desk::new(2), Upstream::new(dear));
    let ran = desk.run("recall", &upstream, &["--spend-limit", "0"]);
    assert_eq!((ran.code, upstream.count(), ran.out.as_str()), (3, 0, ""), "{}", ran.aside);
    let free = desk.runs("recall", &upstream, &["--spend-limit", "0", "--model", "my-own-model"]);
    assert_eq!((free.number("model $"), upstream.count()), (json!(0.0), 4));
    assert!(free.aside.contains("“my-own-model” is not in the catalogue"), "{}", free.aside);
}

#[test]
fn a_dry_run_tells_the_most_it_could_take() {
    let (desk, upstream) = (Desk::new(6), Upstream::new(dear));
    let told: Value =
        serde_json::from_str(&desk.runs("recall", &upstream, &[&DEAR[..], &["--dry-run"]].concat()).out).unwrap();
    // An answer, and two tries to judge it.
    assert_eq!((told["most_calls"].as_u64(), upstream.count()), (Some(18), 0));
    let most = told["most_dollars"].as_f64().unwrap();
    let tools = desk.runs("recall", &upstream, &["--model", "gpt-4-turbo", "--dry-run"]).out;
    assert_eq!(serde_json::from_str::<Value>(&tools).unwrap()["most_calls"], 6 * (1 + 3 + 2));
    desk.runs("recall", &upstream, &[&DEAR[..], &["--sample", "2"]].concat());
    assert_eq!(upstream.count(), 4, "two questions of six");
    assert!(most > 0.1 && most < 5.0, "{most}");
    assert!(upstream.asked()[2].text().contains("number 3 called?"), "spread over all");
}

#[test]
fn a_reply_that_does_not_tell_is_held_to_have_cost_the_most() {
    let desk = Desk::new(1);
    let untold = r#"{"choices": [{"message": {"role": "assistant", "content": "Miso."}}]}"#;
    let upstream = Upstream::new(
        move |_, asked| {
            if asked.judges() { judges("correct") } else { Reply::Status(200, None, untold) }
        },
    );
    let ran = desk.runs("recall", &upstream, &DEAR);
    // A thousand tokens of reply alone are 0.03 dollars.
    assert!(ran.number("model $").as_f64().unwrap() > 0.03 && ran.number("prompt, mean").is_null());
}
