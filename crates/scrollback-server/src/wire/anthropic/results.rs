//! Results directly behind their calls: all results of one reply are in one message, in the order of the calls, before
//! anything else. Whoever sends only what is new may go on without having answered a call, or answer it too late.

use scrollback::window::Reason;
use serde_json::{Value, json};

use super::line::{Line, Source};
use crate::wire::edit::{UNANSWERED, of_earlier};

/// The same lines, with results that are spread over several messages brought together. A call that nobody has answered
/// gets a result that says so, and an answer that comes after the next reply, or whose call is folded, is told in words.
pub(super) fn gathered(lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    let mut out: Vec<Line<'_>> = Vec::with_capacity(lines.len());
    let (mut calls, mut rest) = (Vec::new(), lines.into_iter().peekable());
    loop {
        let mut behind = Vec::new();
        while let Some(mut line) = rest.next_if(|line| line.role() != "assistant") {
            told(&mut line, &calls);
            behind.push(line);
        }
        // The last word may be a call: nobody can have answered it yet.
        let open = if behind.is_empty() && rest.peek().is_none() { Vec::new() } else { open(&calls, &behind) };
        out.extend(if calls.is_empty() { behind } else { answered(&calls, &open, behind) });
        let Some(reply) = rest.next() else { return out };
        calls = reply.calls();
        out.push(reply);
    }
}

/// The calls that no message answers.
fn open(calls: &[String], behind: &[Line<'_>]) -> Vec<String> {
    let answers = |call: &String| behind.iter().flat_map(Line::blocks).any(|block| is_answer(block, call));
    calls.iter().filter(|call| !answers(call)).cloned().collect()
}

/// What stands between calls and the next reply, the results first.
fn answered<'w>(calls: &[String], open: &[String], mut behind: Vec<Line<'w>>) -> Vec<Line<'w>> {
    let missing = open.iter().map(|call| json!({"type": "tool_result", "tool_use_id": call, "content": UNANSWERED}));
    let missing: Vec<Value> = missing.collect();
    let last = match behind.iter().rposition(|line| line.has("tool_result")) {
        Some(0) | None if missing.is_empty() => return behind,
        Some(last) => last,
        None => {
            let results = json!({"role": "user", "content": missing}).to_string();
            behind.insert(0, Line::new(results, Source::Note, Reason::Kept));
            return behind;
        }
    };
    let after = behind.split_off(last + 1);
    let blocks = behind.iter().flat_map(blocks).chain(missing);
    let (mut all, others): (Vec<Value>, Vec<Value>) = blocks.partition(|block| block["type"] == "tool_result");
    all.sort_by_key(|block| calls.iter().position(|call| is_answer(block, call)).unwrap_or(calls.len()));
    all.extend(others);
    let said = behind.iter().rposition(|line| matches!(line.source, Source::Said(_))).unwrap_or(last);
    let mut one = behind.swap_remove(said);
    one.rewrite(all);
    std::iter::once(one).chain(after).collect()
}

fn is_answer(block: &Value, call: &str) -> bool {
    block["type"] == "tool_result" && block["tool_use_id"] == call
}

/// Tells in words what answers none of the calls just before it.
fn told(line: &mut Line<'_>, calls: &[String]) {
    let earlier = |block: &Value| -> Option<String> {
        let id = block["tool_use_id"].as_str().filter(|_| block["type"] == "tool_result")?;
        (!calls.iter().any(|call| call == id)).then(|| of_earlier(id))
    };
    if !line.has("tool_result") || !line.blocks().iter().any(|block| earlier(block).is_some()) {
        return;
    }
    let mut all = Vec::new();
    for block in line.blocks() {
        let lead = earlier(block);
        match (&lead, block["content"].as_array(), block["content"].as_str()) {
            (None, ..) => all.push(block.clone()),
            (Some(lead), Some(parts), _) => {
                all.push(json!({"type": "text", "text": lead}));
                all.extend(parts.iter().cloned());
            }
            (Some(lead), None, words) => {
                all.push(json!({"type": "text", "text": format!("{lead}\n\n{}", words.unwrap_or_default())}));
            }
        }
    }
    line.rewrite(all);
}

/// The blocks of a message; a text is one.
pub(super) fn blocks(line: &Line<'_>) -> Vec<Value> {
    match line.value()["content"].as_str() {
        Some(text) => vec![json!({"type": "text", "text": text})],
        None => line.blocks().to_vec(),
    }
}
