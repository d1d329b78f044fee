//! Results directly behind their calls: all results of one reply are in one message, in the order of the calls, before
//! anything else.

use serde_json::{Value, json};

use super::line::{Line, Source};

/// The same lines, with results that are spread over several messages brought together.
pub(super) fn gathered(lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    let mut out: Vec<Line<'_>> = Vec::with_capacity(lines.len());
    let mut rest = lines.into_iter().peekable();
    while let Some(line) = rest.next() {
        let calls = if line.role() == "assistant" { line.calls() } else { Vec::new() };
        out.push(line);
        if calls.is_empty() {
            continue;
        }
        let mut behind = Vec::new();
        while let Some(line) = rest.next_if(|line| line.role() != "assistant") {
            behind.push(line);
        }
        out.extend(answered(&calls, behind));
    }
    out
}

/// What stands between calls and the next reply, the results first.
fn answered<'w>(calls: &[String], mut behind: Vec<Line<'w>>) -> Vec<Line<'w>> {
    let Some(last) = behind.iter().rposition(|line| line.has("tool_result")) else { return behind };
    if last == 0 {
        return behind;
    }
    let after = behind.split_off(last + 1);
    let blocks: Vec<Value> = behind.iter().flat_map(blocks).collect();
    let (mut all, others): (Vec<Value>, Vec<Value>) =
        blocks.into_iter().partition(|block| block["type"] == "tool_result");
    let place = |block: &Value| calls.iter().position(|call| block["tool_use_id"] == **call).unwrap_or(calls.len());
    all.sort_by_key(place);
    all.extend(others);
    let said = behind.iter().rposition(|line| matches!(line.source, Source::Said(_))).unwrap_or(last);
    let mut one = behind.swap_remove(said);
    one.rewrite(all);
    std::iter::once(one).chain(after).collect()
}

/// The blocks of a message; a text is one.
pub(super) fn blocks(line: &Line<'_>) -> Vec<Value> {
    match line.value()["content"].as_str() {
        Some(text) => vec![json!({"type": "text", "text": text})],
        None => line.blocks().to_vec(),
    }
}
