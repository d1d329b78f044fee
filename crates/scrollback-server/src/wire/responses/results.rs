//! A result for every call. Whoever sends only what is new may go on without having answered one.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::wire::edit::UNANSWERED;

/// What is known of an item without its words.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    #[serde(rename = "type")]
    kind: Value,
    call_id: Value,
}

impl Head {
    fn is_call(&self) -> bool {
        matches!(self.kind.as_str(), Some("function_call" | "custom_tool_call")) && self.call_id.is_string()
    }

    fn answers(&self, call: &Self) -> bool {
        let of = self.kind.as_str().and_then(|kind| kind.strip_suffix("_output"));
        of.is_some() && of == call.kind.as_str() && self.call_id == call.call_id
    }

    /// A result that says that there is none.
    fn unanswered(&self) -> String {
        let kind = format!("{}_output", self.kind.as_str().unwrap_or_default());
        json!({"type": kind, "call_id": self.call_id, "output": UNANSWERED}).to_string()
    }
}

/// The same items, with a result that says so behind calls that nobody has answered and that something was said after.
pub(super) fn completed(items: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    if !items.iter().any(|item| item.contains("\"call_id\"")) {
        return items;
    }
    let heads: Vec<Head> = items.iter().map(|item| serde_json::from_str(item).unwrap_or_default()).collect();
    let (mut out, mut open) = (Vec::with_capacity(items.len()), Vec::new());
    for (at, item) in items.into_iter().enumerate() {
        let head = &heads[at];
        if head.is_call() {
            let is_answered = heads[at + 1..].iter().any(|later| later.answers(head));
            open.extend((!is_answered).then(|| Cow::from(head.unanswered())));
        } else {
            out.append(&mut open);
        }
        out.push(item);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_gone_past_has_a_result() {
        let item = |kind: &str, id: &str| json!({"type": kind, "call_id": id, "output": "a boat"}).to_string();
        let open = |kind: &str, id: &str| json!({"type": kind, "call_id": id, "output": UNANSWERED}).to_string();
        let words = json!({"type": "message", "role": "user", "content": "words"}).to_string();
        let (a, b) = (item("function_call", "a"), item("custom_tool_call", "b"));
        let (of_a, of_b) = (item("function_call_output", "a"), item("custom_tool_call_output", "b"));
        let check = |items: &[&String], expect: &[&String]| {
            let completed = completed(items.iter().map(|item| item.as_str().into()).collect());
            assert_eq!(completed, expect.iter().map(|item| item.as_str()).collect::<Vec<_>>());
        };
        check(&[&a, &b, &of_b, &words, &of_a], &[&a, &b, &of_b, &words, &of_a]);
        check(&[&words, &a], &[&words, &a]);
        check(&[&a, &b, &of_a, &words], &[&a, &b, &open("custom_tool_call_output", "b"), &of_a, &words]);
        check(&[&a, &words], &[&a, &open("function_call_output", "a"), &words]);
    }
}
