//! Windows as they are sent: results behind their calls, marks, and reasoning after what it was made after.

use scrollback::ids::{Hash128, MessageId};
use scrollback::window::Reason;
use serde_json::{Value, json};

use super::super::line::{Line, Source};
use super::super::thinking::{self, Added, Binding};
use super::super::{marks, results};
use super::read;
use crate::wire::edit::UNANSWERED;

fn said(id: u32, value: &Value) -> Line<'static> {
    Line::new(value.to_string(), Source::Said(MessageId(id)), Reason::Open)
}

fn ours(source: Source, reason: Reason, value: &Value) -> Line<'static> {
    Line::new(value.to_string(), source, reason)
}

fn values(lines: Vec<Line<'_>>) -> Vec<Value> {
    lines.into_iter().map(|line| serde_json::from_str(&line.into_text()).unwrap()).collect()
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "look", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "seen"})
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn user(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

fn assistant(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

#[test]
fn results_stand_behind_their_calls_in_one_message() {
    let lines = vec![
        said(1, &json!({"role": "user", "content": "Go."})),
        said(2, &assistant(&[call("a"), call("own"), call("b")])),
        ours(Source::Round, Reason::Recalled, &user(&[result("own")])),
        ours(Source::Note, Reason::Relevant, &user(&[text("an excerpt")])),
        said(3, &user(&[result("b"), result("a"), text("and this")])),
        ours(Source::Note, Reason::Relevant, &user(&[text("later")])),
    ];
    let merged = results::gathered(lines);
    assert_eq!(merged[2].id(), Some(MessageId(3)));
    let expected = user(&[result("a"), result("own"), result("b"), text("an excerpt"), text("and this")]);
    let values = values(merged);
    assert_eq!((values.len(), &values[2]), (4, &expected));
    let alone = vec![said(1, &assistant(&[call("a")])), said(2, &user(&[text("odd"), result("a")]))];
    assert_eq!(self::values(results::gathered(alone.clone())), self::values(alone), "the client's own order");
}

#[test]
fn every_call_has_its_result_behind_it() {
    let open = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": UNANSWERED});
    let (go, on) = (user(&[text("Go.")]), assistant(&[text("On.")]));
    let check = |lines: &[&Value], expect: &[&Value]| {
        let lines = lines.iter().enumerate().map(|(i, line)| said(u32::try_from(i).unwrap(), line)).collect();
        assert_eq!(values(results::gathered(lines)), expect.iter().copied().cloned().collect::<Vec<_>>());
    };
    let (one, both) = (assistant(&[call("a")]), assistant(&[call("a"), call("b")]));
    check(&[&go, &one], &[&go, &one]);
    check(&[&one, &go], &[&one, &user(&[open("a")]), &go]);
    check(&[&one, &on], &[&one, &user(&[open("a")]), &on]);
    check(&[&both, &user(&[result("b")])], &[&both, &user(&[open("a"), result("b")])]);
    check(&[&one, &go, &user(&[result("a")])], &[&one, &user(&[result("a"), text("Go.")])]);
    let late = user(&[text("The result of the earlier call a:\n\nseen"), text("There.")]);
    let told = [&one, &user(&[open("a")]), &go, &on, &late];
    check(&[&one, &go, &on, &user(&[result("a"), text("There.")])], &told);
    // Its call is folded: the picture that came with it stays.
    let picture =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let whole = user(&[result("gone"), picture.clone()]);
    let told = user(&[text("The result of the earlier call gone:\n\nseen"), picture]);
    check(&[&whole, &on], &[&told, &on]);
    check(&[&go, &whole, &on], &[&go, &told, &on]);
    check(&[&on, &whole, &one], &[&on, &told, &one]);
    // Some clients name calls anew in every reply.
    check(&[&one, &go, &one, &user(&[result("a")])], &[&one, &user(&[open("a")]), &go, &one, &user(&[result("a")])]);
}

#[test]
fn a_result_that_ends_in_half_a_character_answers_its_call() {
    let cut = user(&[result("a")]).to_string().replace("seen", r"seen \ud83d");
    let last = user(&[text("And now?")]);
    let lines = vec![
        said(1, &assistant(&[call("a")])),
        Line::new(cut.clone(), Source::Said(MessageId(2)), Reason::Open),
        said(3, &last),
    ];
    let sent: Vec<_> = results::gathered(lines).into_iter().map(Line::into_text).collect();
    assert_eq!(sent[1..], [cut, last.to_string()], "as it came");
}

fn marked(lines: &[Value]) -> Vec<usize> {
    let marks =
        |line: &Value| line["content"].as_array().into_iter().flatten().any(|block| block["cache_control"].is_object());
    (0..lines.len()).filter(|i| marks(&lines[*i])).collect()
}

fn conversation(covers: Reason) -> Vec<Line<'static>> {
    let mut old = text("old");
    old["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
    vec![
        ours(Source::Note, covers, &user(&[text("what was folded")])),
        said(4, &user(&[old])),
        said(5, &assistant(&[text("Yes."), json!({"type": "thinking", "thinking": "t", "signature": "s"})])),
        ours(Source::Note, Reason::Relevant, &user(&[text("an excerpt")])),
        said(6, &json!({"role": "user", "content": "And now?"})),
    ]
}

fn placed(request: &str, covers: Reason) -> Vec<Value> {
    let mut lines = conversation(covers);
    marks::placed(&mut lines, &read(request));
    values(lines)
}

#[test]
fn marks_are_placed_anew_and_are_four_at_most() {
    let lines = placed(r#"{"messages":[]}"#, Reason::Covers);
    assert_eq!(marked(&lines), [0, 1, 2, 4], "the note, where the turn before began, before the quotes, the end");
    assert_eq!(
        lines[4]["content"][0],
        json!({"type": "text", "text": "And now?", "cache_control": {"type": "ephemeral"}})
    );
    assert_eq!(lines[2]["content"][0]["cache_control"], json!({"type": "ephemeral"}), "not on reasoning");
    assert!(marked(&placed(r#"{"messages":[]}"#, Reason::Kept)).is_empty(), "nobody asked for any");
    let block = r#"{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}"#;
    let system = format!(r#"{{"system":[{block},{block}],"messages":[]}}"#);
    assert_eq!(marked(&placed(&system, Reason::Covers)), [2, 4], "two and two");
    let more =
        format!(r#"{{"system":[{block},{block},{block}],"cache_control":{{"type":"ephemeral"}},"messages":[]}}"#);
    assert!(marked(&placed(&more, Reason::Covers)).is_empty());
    let automatic = r#"{"cache_control":{"type":"ephemeral","ttl":"1h"},"messages":[]}"#;
    let lines = placed(automatic, Reason::Covers);
    assert_eq!((marked(&lines), &lines[0]["content"][0]["cache_control"]["ttl"]), (vec![0, 1, 2], &json!("1h")));
}

/// The note of a fold.
fn note() -> Line<'static> {
    ours(Source::Note, Reason::Covers, &user(&[text("what was folded")]))
}

/// A turn of an agent: a question, so many replies with so many calls each and their results, an answer.
fn worked(replies: u32, calls: u32) -> Vec<Line<'static>> {
    let ids = |reply: u32| (0..calls).map(move |i| format!("c{reply}x{i}"));
    let step = |reply: u32| {
        let called: Vec<Value> = ids(reply).map(|id| call(&id)).collect();
        let seen: Vec<Value> = ids(reply).map(|id| result(&id)).collect();
        [assistant(&called), user(&seen)]
    };
    let steps = (0..replies).flat_map(step);
    let all = std::iter::once(user(&[text("Look.")])).chain(steps).chain([assistant(&[text("Done.")])]);
    (1..).zip(all).map(|(id, value)| said(id, &value)).collect()
}

/// Where marks stand in the messages of a request that has so many of its client's before them.
fn places(mut lines: Vec<Line<'static>>, theirs: usize) -> Vec<usize> {
    let block = json!({"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}});
    let request = json!({"system": vec![block; theirs], "messages": []});
    marks::placed(&mut lines, &read(&request.to_string()));
    marked(&values(lines))
}

#[test]
fn where_a_long_turn_began_is_marked() {
    let mut lines = vec![note()];
    lines.extend(worked(12, 1));
    let within = [&lines[..], &worked(12, 1)[..25]].concat();
    lines.push(said(99, &user(&[text("And now?")])));
    // What the turn before ended with may be held now: only its beginning is in the cache as it stands.
    assert_eq!(places(lines.clone(), 2), [1, 27]);
    assert_eq!(places(lines, 0), [0, 1, 26, 27]);
    assert_eq!(places(within, 2), [27, 51], "and so it is within a turn");
}

#[test]
fn what_stands_before_quotes_is_marked() {
    let quotes = || ours(Source::Note, Reason::Relevant, &user(&[text("an excerpt")]));
    let mut lines = vec![note()];
    lines.extend(worked(1, 1));
    lines.push(said(99, &user(&[text("And now?")])));
    let (mut before_the_turn, mut at_the_head) = (lines.clone(), lines);
    before_the_turn.insert(5, quotes());
    at_the_head.insert(1, quotes());
    assert_eq!(places(before_the_turn, 2), [4, 6]);
    assert_eq!(places(at_the_head, 2), [0, 6]);
}

#[test]
fn the_last_end_is_marked_where_many_calls_came_between() {
    let within = |calls: u32| [&[note()][..], &worked(2, calls)[..5]].concat();
    assert_eq!(places(within(9), 2), [1, 5], "it is found from the end");
    assert_eq!(places(within(10), 2), [3, 5]);
    assert_eq!(places(within(10), 1), [1, 3, 5]);
    assert_eq!(places(within(10), 0), [0, 1, 3, 5]);
}

#[test]
fn what_a_call_says_is_no_mark() {
    let mark = |blocks: &[Value]| {
        let lines = placed(&json!({"messages": [assistant(blocks)]}).to_string(), Reason::Covers);
        lines[4]["content"][0]["cache_control"].clone()
    };
    let (mut marked, mut called) = (text("old"), call("a"));
    marked["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
    called["input"] = json!({"properties": {"cache_control": {"type": "object"}}});
    assert_eq!(mark(&[called.clone()]), json!({"type": "ephemeral"}));
    assert_eq!(mark(&[marked.clone(), called]), marked["cache_control"]);
}

#[test]
fn an_hour_never_stands_behind_five_minutes() {
    let last = r#"[{"role":"user","content":[{"type":"text","text":"\"cache_control\":{}","cache_control" : {"type":"ephemeral","ttl":"1h"}}]}]"#;
    let lines = placed(&format!(r#"{{"messages":{last}}}"#), Reason::Covers);
    assert_eq!(lines[4]["content"][0]["cache_control"], json!({"type": "ephemeral", "ttl": "1h"}));
    let short = r#"[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]"#;
    let lines = placed(&format!(r#"{{"system":{short},"messages":{last}}}"#), Reason::Covers);
    assert_eq!(lines[4]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
}

fn thought(words: &str) -> Value {
    json!({"type": "thinking", "thinking": words, "signature": "s"})
}

/// Walks over a conversation in which the replies m2, m4 and m6 think.
fn walk(
    bound: &dyn Fn(MessageId) -> Option<Hash128>,
    (binds, added): (bool, Added),
) -> (Vec<Value>, Hash128, Option<String>) {
    let mut lines = vec![
        said(1, &user(&[text("One?")])),
        said(2, &assistant(&[thought("one"), text("Yes.")])),
        said(3, &user(&[text("Two?")])),
        said(4, &assistant(&[thought("two")])),
        said(5, &user(&[text("Three?")])),
        said(6, &assistant(&[thought("three"), call("a")])),
        said(7, &user(&[result("a")])),
    ];
    let begun = thinking::begun("m", Some("\"s\""), None);
    let walked = thinking::walked(&mut lines, begun, &Binding { bound, binds, added });
    (values(lines), walked.bound, walked.notice())
}

fn thinks(lines: &[Value]) -> Vec<bool> {
    let has = |line: &Value| line["content"].as_array().unwrap().iter().any(|block| block["type"] == "thinking");
    [1, 3, 5].map(|i| has(&lines[i])).to_vec()
}

/// What stands before each message, if all of it is sent.
#[expect(clippy::unnecessary_wraps, reason = "it stands for what a turn knows")]
fn before(id: MessageId) -> Option<Hash128> {
    let all = [
        user(&[text("One?")]),
        assistant(&[thought("one"), text("Yes.")]),
        user(&[text("Two?")]),
        assistant(&[thought("two")]),
        user(&[text("Three?")]),
    ];
    let mut lines: Vec<Line<'_>> = all.iter().take(id.0 as usize - 1).map(|value| said(0, value)).collect();
    let begun = thinking::begun("m", Some("\"s\""), None);
    Some(thinking::walked(&mut lines, begun, &Binding { bound: &|_| None, binds: true, added: Added::Nothing }).bound)
}

#[test]
fn reasoning_stays_where_it_was_made() {
    let (lines, _, notice) = walk(&before, (true, Added::Window));
    assert_eq!((thinks(&lines), notice), (vec![true, true, true], None));
}

#[test]
fn reasoning_after_something_else_is_left_out_and_so_is_what_was_made_after_it() {
    let other = |id: MessageId| if id == MessageId(2) { None } else { before(id) };
    let (lines, _, notice) = walk(&other, (true, Added::Window));
    assert_eq!(thinks(&lines), [false, false, false]);
    assert_eq!(notice.unwrap(), "reasoning of m2 and 2 later messages was left out: it was made under another window");
    assert_eq!(lines[3]["content"][0]["type"], "text", "a message is never empty");
    let (lines, ..) = walk(&other, (false, Added::Window));
    assert_eq!(thinks(&lines), [false, false, true], "older models need it while tools are at work");
}

/// Agents may say what happened meanwhile in a message of its own: to the provider it is one with the results.
#[test]
fn reasoning_stays_while_tools_are_at_work_though_something_is_said_behind_results() {
    let mut lines = vec![
        said(1, &user(&[text("One?")])),
        said(2, &assistant(&[thought("one"), call("a")])),
        said(3, &user(&[result("a")])),
        said(4, &user(&[text("It is noon.")])),
        said(5, &json!({"role": "user", "content": "It rains."})),
    ];
    let binding = Binding { bound: &|_| None, binds: false, added: Added::Window };
    let walked = thinking::walked(&mut lines, Hash128::default(), &binding);
    assert_eq!(walked.notice(), None);
    lines.insert(3, said(6, &assistant(&[text("Seen.")])));
    assert!(
        thinking::walked(&mut lines, Hash128::default(), &binding).notice().is_some(),
        "a turn begins behind words"
    );
}

#[test]
fn reasoning_made_under_the_window_as_it_is_stays() {
    let gone = |id: MessageId| if id == MessageId(2) { Some(Hash128::default()) } else { before(id) };
    let (lines, ..) = walk(&gone, (true, Added::Window));
    let sent: Vec<Line<'_>> = lines[..5].iter().map(|value| said(0, value)).collect();
    let begun = thinking::begun("m", Some("\"s\""), None);
    let now =
        thinking::walked(&mut sent.clone(), begun, &Binding { bound: &|_| None, binds: true, added: Added::Nothing })
            .bound;
    let bound = |id: MessageId| if id == MessageId(6) { Some(now) } else { gone(id) };
    let (lines, _, notice) = walk(&bound, (true, Added::Window));
    assert_eq!(thinks(&lines), [false, false, true]);
    assert_eq!(notice.unwrap(), "reasoning of m2 and 1 later message was left out: it was made under another window");
}

#[test]
fn rounds_before_the_window_was_laid_out_anew_are_bound_to_another() {
    let round = |source, id: &str| {
        let asked = ours(source, Reason::Recalled, &assistant(&[thought(id), call(id)]));
        [asked, ours(source, Reason::Recalled, &user(&[result(id)]))]
    };
    let mut lines = vec![said(1, &user(&[text("One?")]))];
    lines.extend([round(Source::Round, "a"), round(Source::Own, "b")].into_iter().flatten());
    let binding = Binding { bound: &|_| None, binds: true, added: Added::Window };
    let walked = thinking::walked(&mut lines, Hash128::default(), &binding);
    assert_eq!([lines[1].thinks(), lines[3].thinks()], [false, true]);
    assert_eq!(walked.notice().unwrap(), "reasoning of a recall was left out: it was made under another window");
}

#[test]
fn messages_that_go_on_as_they_came_lose_only_what_cannot_be_right() {
    let unknown = |_: MessageId| None;
    assert_eq!(thinks(&walk(&unknown, (true, Added::Nothing)).0), [true, true, true], "the client knows what it sends");
    let merged = |id: MessageId| (id == MessageId(4)).then(Hash128::default);
    assert_eq!(thinks(&walk(&merged, (true, Added::Nothing)).0), [true, false, false]);
    let (_, now, _) = walk(&|_| None, (true, Added::Window));
    assert_eq!(now.0[15] & 1, 1, "made under a window of ours");
    let under_ours = |id: MessageId| (id == MessageId(6)).then_some(now);
    assert_eq!(thinks(&walk(&under_ours, (true, Added::Nothing)).0), [true, true, false]);
}

#[test]
fn a_model_that_binds_minds_our_tools_before_reasoning_it_made_without_them() {
    let unknown = |_: MessageId| None;
    let (lines, bound, notice) = walk(&unknown, (true, Added::Tools));
    assert_eq!(thinks(&lines), [false, false, false]);
    let told = "reasoning of m2 and 2 later messages was left out: it was not made with the tools that Scrollback adds, and \
                its model accepts it with no others";
    assert_eq!((notice.as_deref(), bound.0[15] & 1), (Some(told), 1));
    assert_eq!(thinks(&walk(&before, (true, Added::Tools)).0), [true, true, true], "made with them");
    let at_last = |id: MessageId| if id == MessageId(2) { None } else { before(id) };
    assert_eq!(thinks(&walk(&at_last, (true, Added::Tools)).0), [false, false, false], "what is before it is gone");
    let (lines, _, notice) = walk(&unknown, (false, Added::Tools));
    assert_eq!((thinks(&lines), notice), (vec![true, true, true], None), "others do not mind");
    let elsewhere = |id: MessageId| Some(Hash128([2; 16])).filter(|_| id == MessageId(4));
    assert_eq!(thinks(&walk(&elsewhere, (true, Added::Nothing)).0), [true, false, false], "made with other tools");
    assert_eq!(thinks(&walk(&elsewhere, (false, Added::Nothing)).0), [true, true, true]);
}

#[test]
fn instructions_are_the_same_in_any_way_of_writing() {
    let hash = |system: &str| thinking::begun("m", Some(system), Some("[]"));
    let plain = hash(r#""Be brief.""#);
    assert_eq!(plain, hash(r#"[{"text":"Be brief.","type":"text","cache_control":{"type":"ephemeral"}}]"#));
    assert_ne!(plain, thinking::begun("m", Some(r#""Be brief.""#), None));
}

#[test]
fn marks_and_ways_of_writing_do_not_count() {
    let hash = |message: &str| {
        let mut lines = vec![Line::new(message.to_owned(), Source::Note, Reason::Open)];
        thinking::walked(
            &mut lines,
            Hash128::default(),
            &Binding { bound: &|_| None, binds: true, added: Added::Nothing },
        )
        .bound
    };
    let plain = hash(r#"{"role":"user","content":"hi"}"#);
    assert_eq!(
        plain,
        hash(
            r#"{"content":[{"text":"hi","type":"text","cache_control":{"type":"ephemeral"},"citations":null}],"role":"user"}"#
        )
    );
    assert_ne!(plain, hash(r#"{"role":"user","content":"ho"}"#));
}
