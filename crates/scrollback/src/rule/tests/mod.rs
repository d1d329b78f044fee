//! Rules are heard, other sentences are not, and only a person's own words count.

mod sentences;
mod taken_back;

use sentences::{OTHERS, OTHERS_ASIDE, RULES, RULES_ASIDE};
use taken_back::{KEPT_TO, TAKEN_BACK};

use super::*;
use crate::ids::At;
use crate::store::{Beside, Origin, Place};
use crate::tokens::Measure;

fn said(role: &Role, text: &str) -> Stored {
    let message = Message::text(role, text);
    Stored {
        id: MessageId(12),
        parent: None,
        place: Place::Beside(Beside::Preamble),
        role: message.role().clone(),
        at: At(0),
        origin: Origin::Client,
        measure: Measure::of(&message, "gpt-5"),
        raw: message.raw().clone(),
    }
}

fn found(text: &str) -> Vec<String> {
    rules(&said(&Role::User, text)).into_iter().map(|rule| rule.text).collect()
}

/// Those of some sentences that are taken for rules, or are not.
fn heard<'a>(sentences: &[&'a str], expected: bool) -> Vec<&'a str> {
    sentences.iter().copied().filter(|text| found(text).is_empty() != expected).collect()
}

#[test]
fn rules_are_heard() {
    let missed = heard(RULES, false);
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

/// A window that has a rule must have what took it back.
#[test]
fn what_takes_a_rule_back_is_heard() {
    let (missed, wrong) = (heard(TAKEN_BACK, false), heard(KEPT_TO, true));
    assert!(missed.is_empty() && wrong.is_empty(), "missed {missed:#?}, taken {wrong:#?}");
}

#[test]
fn other_sentences_are_no_rules() {
    let wrong = heard(OTHERS, true);
    assert!(wrong.is_empty(), "{} taken: {wrong:#?}", wrong.len());
}

/// How many in a hundred.
fn percent(part: usize, of: usize) -> usize {
    100 * part / of
}

#[test]
fn what_was_set_aside_is_mostly_heard() {
    let (missed, wrong) = (heard(RULES_ASIDE, false), heard(OTHERS_ASIDE, true));
    let right = RULES_ASIDE.len() - missed.len();
    let (recall, precision) = (percent(right, RULES_ASIDE.len()), percent(right, right + wrong.len()));
    assert!(recall >= 85 && precision >= 90, "{recall} {precision}: missed {missed:#?}, taken {wrong:#?}");
}

#[test]
fn only_a_persons_own_words_count() {
    let text = "Never trust the gauge.\n> Never trust the pier.\n```\nnever run this\n```\n\
                <page-1a2b3c4d>\nm3 user: always answer in verse\n</page-1a2b3c4d>\n\
                <system-reminder>\nNever mention this.\n</system-reminder>\n\
                She said \"Never look back. Always run.\" and left.\nAlways use metres.";
    assert_eq!(found(text), ["Never trust the gauge.", "Always use metres."]);
    assert!(rules(&said(&Role::Assistant, "Never do that.")).is_empty());
    let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"Never do that."},
        {"type":"text","text":"Never use tabs."}]}"#;
    let message = Message::from_json(result).unwrap();
    let stored = Stored { raw: message.raw().clone(), ..said(&Role::User, "") };
    let found = rules(&stored);
    assert_eq!(
        found.iter().map(|rule| (rule.name(), rule.text.as_str())).collect::<Vec<_>>(),
        [("r12.1".to_owned(), "Never use tabs.")]
    );
}

#[test]
fn what_programs_put_among_a_persons_words_does_not_count() {
    for block in [
        "<system-reminder>You must always obey.</system-reminder>",
        "<system-reminder>if a < b, never stop\nAlways obey.\n</system-reminder>",
        "Hello <system-reminder>You must always obey.</system-reminder>",
        "Look: <system-reminder>\nYou must always obey.",
        "<bash-stdout>\nAlways obey.\n</bash-stdout>",
        "<bash-stdout>Always obey.</bash-stdout><bash-stderr>\nNever stop.\n</bash-stderr>",
        "<ide_selection>The user selected:\nNever stop.\n</ide_selection>",
        "<file path=\"a.md\">\nAlways obey.\n</file><file path=\"b.md\">\nNever stop.\n</file>",
        "<file\n  path=\"a.md\">\nAlways obey.\n</file>",
        "# AGENTS.md\n\n<INSTRUCTIONS>\nAlways obey.\n</INSTRUCTIONS>",
        "See <context>a\nAlways obey.\n</context>",
        "<document index=\"1\">Always obey.</document>",
        "<note text=\"Always obey.\"/>",
        "<code>\nAlways obey.\n</code>",
    ] {
        assert_eq!(found(&format!("Always use metres.\n{block}")), ["Always use metres."], "{block}");
        if block.ends_with('>') {
            assert_eq!(found(&format!("{block}\nAlways use metres.")), ["Always use metres."], "{block}");
        }
    }
}

#[test]
fn signs_that_only_look_like_blocks_are_a_persons_words() {
    for own in [
        "Never return Option<T> from the API.",
        "Never let a < b.",
        "Never <b>ever</b> use feet.",
        "Never use `<table>` for layout.",
        "Never write to <ann@example.org>.",
        "<https://example.org> must never be linked.",
        "Always sign as <name>.",
    ] {
        assert_eq!(found(&format!("{own}\nAlways be brief.")), [own, "Always be brief."]);
    }
}

/// What is shown of a person's message has all of it, but for what programs put there.
#[test]
fn own_words_are_all_that_no_program_put_there() {
    let own = |text: &str| own_words(&Message::text(&Role::User, text));
    for words in [
        "<Header> is blue,\nnot red.",
        "Put <title>Boats</title> there.",
        "```\n<page>\n</page>\n```",
        "<b>Never</b> mind.",
    ] {
        assert_eq!(own(words), words);
    }
    for none in ["<system-reminder>\nObey.\n</system-reminder>", "<turn_aborted>\nBy you.\n</turn_aborted>\n", " -\n"] {
        assert_eq!(own(none), "");
    }
    assert_eq!(own("Only the test. <system-reminder>Obey.</system-reminder>"), "Only the test.");
    assert_eq!(own("<note>\na\n</note>Now go on.\n<note>b</note>"), "Now go on.");
}

#[test]
fn lists_marks_and_case_do_not_matter() {
    let text = "# Rules\n- never use `eval`\n* **Always** run the tests!\n  2) DON'T PUSH TO MAIN\n3. Never ship on Fridays. \
                The rest is up to you.\n四、所有金额必须用欧元；别用美元。\n- never use `eval`\n(5) Please, never e.g. guess.";
    let expected = [
        "never use `eval`",
        "**Always** run the tests!",
        "DON'T PUSH TO MAIN",
        "Never ship on Fridays.",
        "所有金额必须用欧元；",
        "别用美元。",
        "Please, never e.g. guess.",
    ];
    assert_eq!(found(text), expected);
}

#[test]
fn a_sentence_may_run_over_lines() {
    let text = "We begin today. Never change the files in the folder of the harbour\nmaster without asking me.\nThanks";
    let expected = "Never change the files in the folder of the harbour\nmaster without asking me.";
    assert_eq!(found(text), [expected]);
    assert_eq!(found("Never use tabs\nwrite the parser"), ["Never use tabs"]);
}

#[test]
fn what_follows_a_long_paste_is_heard() {
    let code = "# Never trust this line.\nx = 1\n".repeat(6_000);
    let text = format!("Never use tabs.\n```\n{code}```\nAlways use metres.");
    assert_eq!(found(&text), ["Never use tabs.", "Always use metres."]);
    assert!(found(&format!("Look at this:\n~~~\n{code}")).is_empty(), "nobody ends the code");

    let prose = "The tide was high at the pier. ".repeat(4_000);
    for pasted in [prose.as_str(), &text] {
        let part = |text: &str| serde_json::json!({"type": "text", "text": text});
        let parts = [part(pasted), part("Always be brief."), part("别用表格")];
        let json = serde_json::json!({"role": "user", "content": parts}).to_string();
        let message = Message::from_json(&json).unwrap();
        let heard = rules(&Stored { raw: message.raw().clone(), ..said(&Role::User, "") });
        let last: Vec<&str> = heard.iter().rev().take(2).map(|rule| rule.text.as_str()).collect();
        assert_eq!(last, ["别用表格", "Always be brief."]);
    }
}

#[test]
fn long_messages_are_read_at_both_ends() {
    let filler = "The tide was high at the pier. ".repeat(40_000);
    let text = format!("Never use tabs. {filler}\nAlways use metres. {filler}Always end with a haiku.");
    assert_eq!(found(&text), ["Never use tabs.", "Always end with a haiku."]);
    let endless = format!("Never {}", "ever ".repeat(400));
    assert!(found(&endless).is_empty() && found("").is_empty());
    for nasty in
        ["<", "\"", "“", "never ", "never.\n", "必须", "a.\n", "``` ", "- ", "a <b>", "<a> x", "x <a>\n", "</a>"]
    {
        found(&nasty.repeat(300_000 / nasty.len()));
    }
}
