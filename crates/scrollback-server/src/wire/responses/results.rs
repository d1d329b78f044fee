//! A result for every call, and a call for every result. Whoever sends only what is new may go on without having
//! answered one, or answer it once it is folded.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::wire::edit::{UNANSWERED, of_earlier};

/// A call that loads definitions of tools, and the result that brings them.
const SEARCH: &str = "tool_search_call";
const FOUND: &str = "tool_search_output";

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
        // Without an id the provider searches by itself.
        matches!(self.kind.as_str(), Some("function_call" | "custom_tool_call" | SEARCH)) && self.call_id.is_string()
    }

    fn answers(&self, call: &Self) -> bool {
        let of = self.kind.as_str().and_then(call_of);
        of.is_some() && of == call.kind.as_str() && self.call_id == call.call_id
    }

    /// Of a result: what it answers, by kind and id.
    fn answered(&self) -> Option<(&str, &str)> {
        Some((call_of(self.kind.as_str()?)?, self.call_id.as_str()?))
    }

    /// A result that says that there is none.
    fn unanswered(&self) -> String {
        let (kind, id) = (self.kind.as_str().unwrap_or_default(), &self.call_id);
        let result = if kind == SEARCH {
            json!({"type": FOUND, "call_id": id, "status": "completed", "execution": "client", "tools": []})
        } else {
            json!({"type": format!("{kind}_output"), "call_id": id, "output": UNANSWERED})
        };
        result.to_string()
    }
}

/// The kind of call that a kind of result answers.
fn call_of(result: &str) -> Option<&str> {
    if result == FOUND { Some(SEARCH) } else { result.strip_suffix("_output") }
}

/// Whether a call was made. Codex answers a local shell as it answers a function.
fn is_made<'h>(made: &HashSet<(&'h str, &'h str)>, (kind, id): (&'h str, &'h str)) -> bool {
    made.contains(&(kind, id)) || kind == "function_call" && made.contains(&("local_shell_call", id))
}

/// The same items, with a result that says so behind calls that nobody has answered and that something was said after;
/// a result whose call is folded is told in words, and left out if it brings tools, which no words can bring.
pub(super) fn completed(items: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    if !items.iter().any(|item| item.contains("\"call_id\"")) {
        return items;
    }
    let heads: Vec<Head> = items.iter().map(|item| serde_json::from_str(item).unwrap_or_default()).collect();
    // What an id stands for is known to the provider alone.
    let refers = heads.iter().any(|head| head.kind == "item_reference");
    let (mut out, mut open, mut made) = (Vec::with_capacity(items.len()), Vec::new(), HashSet::new());
    for (at, item) in items.into_iter().enumerate() {
        let head = &heads[at];
        if head.is_call() {
            let is_answered = heads[at + 1..].iter().any(|later| later.answers(head));
            open.extend((!is_answered).then(|| Cow::from(head.unanswered())));
        } else {
            out.append(&mut open);
        }
        made.extend(head.kind.as_str().zip(head.call_id.as_str()));
        let orphan = head.answered().filter(|call| !refers && !is_made(&made, *call));
        match orphan {
            Some((SEARCH, _)) => {}
            Some((_, id)) => out.push(told(id, &item).into()),
            None => out.push(item),
        }
    }
    out
}

/// A result that cannot stand without its call, in words.
fn told(id: &str, item: &str) -> String {
    let item: Value = serde_json::from_str(item).unwrap_or_default();
    let (lead, output) = (of_earlier(id), &item["output"]);
    let text = |words: String| json!({"type": "input_text", "text": words});
    let is_part = |part: &Value| part["type"].as_str().is_some_and(|kind| kind.starts_with("input_"));
    let content: Vec<Value> = match (output.as_str(), output.as_array()) {
        (None, Some(parts)) if parts.iter().all(is_part) => {
            std::iter::once(text(lead)).chain(parts.iter().cloned()).collect()
        }
        (words, _) => vec![text(format!("{lead}\n\n{}", words.map_or_else(|| output.to_string(), str::to_owned)))],
    };
    json!({"type": "message", "role": "user", "content": content}).to_string()
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
    #[test]
    fn a_result_whose_call_is_folded_is_told_in_words() {
        let said = |content: Value| json!({"type": "message", "role": "user", "content": content}).to_string();
        let words = said(json!("words"));
        let output =
            |output: Value| json!({"type": "function_call_output", "call_id": "a", "output": output}).to_string();
        let check = |items: &[&String], expect: &[&String]| {
            let completed = completed(items.iter().map(|item| item.as_str().into()).collect());
            assert_eq!(completed, expect.iter().map(|item| item.as_str()).collect::<Vec<_>>());
        };
        let text = |text: &str| json!({"type": "input_text", "text": text});
        let picture = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="});
        let lead = "The result of the earlier call a:";
        let (plain, parts) = (output(json!("a boat")), output(json!([text("a boat"), picture])));
        check(&[&words, &plain], &[&words, &said(json!([text(&format!("{lead}\n\na boat"))]))]);
        check(&[&parts, &words], &[&said(json!([text(lead), text("a boat"), picture])), &words]);
        let call = json!({"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}).to_string();
        check(&[&call, &plain], &[&call, &plain]);
        let reference = json!({"type": "item_reference", "id": "fc_1"}).to_string();
        check(&[&reference, &plain], &[&reference, &plain]);
        let shell = json!({"type": "local_shell_call", "call_id": "a", "action": {"command": ["ls"]}}).to_string();
        check(&[&shell, &plain], &[&shell, &plain]);
    }

    #[test]
    fn tools_that_were_searched_for_stay_with_their_search() {
        let check = |items: &[&Value], expect: &[&Value]| {
            let items = items.iter().map(|item| item.to_string().into()).collect();
            let completed = completed(items);
            let completed: Vec<Value> = completed.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
            assert_eq!(completed.iter().collect::<Vec<_>>(), expect);
        };
        let search = |id: Value, by: &str| json!({"type": SEARCH, "call_id": id, "execution": by, "arguments": {}});
        let found = |tools: Value| {
            json!({"type": FOUND, "call_id": "c1", "status": "completed",
                   "execution": "client", "tools": tools})
        };
        let words = json!({"type": "message", "role": "user", "content": "words"});
        let (call, result) = (search(json!("c1"), "client"), found(json!([{"type": "function", "name": "look"}])));
        check(&[&words, &call, &result], &[&words, &call, &result]);
        check(&[&call, &words], &[&call, &found(json!([])), &words]);
        check(&[&result, &words], &[&words]);
        let hosted = json!({"type": FOUND, "call_id": null, "execution": "server", "tools": []});
        let searched = search(Value::Null, "server");
        check(&[&searched, &hosted, &words], &[&searched, &hosted, &words]);
        check(&[&searched, &words], &[&searched, &words]);
    }
}
