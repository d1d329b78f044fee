//! What a model says in one round, gathered event by event.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::items;
use super::speech::ended;
use crate::wire::said::Said;

/// A reply, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    id: Option<String>,
    /// The items that are whole, by their places.
    done: BTreeMap<u64, Value>,
    /// The words of those that are under way.
    open: BTreeMap<u64, String>,
    /// The response as its last event tells it.
    last: Option<Value>,
    failed: bool,
}

impl Gathered {
    /// Adds an event.
    pub(super) fn add(&mut self, event: &Value) {
        let place = event["output_index"].as_u64().unwrap_or(self.done.len() as u64);
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" => {
                self.open.entry(place).or_default().push_str(event["delta"].as_str().unwrap_or_default());
            }
            "response.output_item.done" => {
                self.open.remove(&place);
                self.done.insert(place, event["item"].clone());
            }
            "response.completed" | "response.incomplete" => self.last = Some(event["response"].clone()),
            "response.failed" | "error" => self.failed = true,
            _ => {}
        }
        let id = event["response"]["id"].as_str().map(str::to_owned);
        self.id = self.id.take().or(id);
    }

    /// What was said; where the end does not tell it, or has not come, also the words that are under way.
    pub(super) fn said(mut self) -> Said {
        let output = self.last.as_ref().and_then(|last| last["output"].as_array()).cloned().unwrap_or_default();
        if output.is_empty() {
            let words = |text: String| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
            self.done.extend(self.open.into_iter().map(|(place, text)| (place, words(text))));
        }
        let told = self.last.as_ref().map(ended).unwrap_or_default();
        let whole = if self.done.is_empty() { output } else { self.done.into_values().collect() };
        Said { id: self.id, pieces: items::pieces(&whole), failed: self.failed || told.failed, ..told }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::said::End;

    #[test]
    fn words_under_way_count_until_their_item_is_whole() {
        let mut gathered = Gathered::default();
        let delta = |text: &str| json!({"type": "response.output_text.delta", "output_index": 1, "delta": text});
        gathered.add(&delta("It beg"));
        gathered.add(&delta("ins"));
        let said = gathered.said();
        assert_eq!((said.text().as_str(), said.end), ("It begins", None));
        let mut gathered = Gathered::default();
        gathered.add(&delta("It beg"));
        let content = json!([{"type": "output_text", "text": "It begins."}]);
        let item = json!({"type": "message", "role": "assistant", "content": content});
        gathered.add(&json!({"type": "response.output_item.done", "output_index": 1, "item": item}));
        assert_eq!(gathered.said().text(), "It begins.");
    }

    /// The last event of some servers tells how it ended and not what was said, and some tell no item whole.
    #[test]
    fn words_that_the_end_does_not_tell_are_kept() {
        let mut gathered = Gathered::default();
        gathered.add(&json!({"type": "response.output_text.delta", "output_index": 0, "delta": "It is red."}));
        let response = json!({"id": "resp_1", "status": "completed", "output": []});
        gathered.add(&json!({"type": "response.completed", "response": response}));
        let said = gathered.said();
        assert_eq!((said.text().as_str(), said.end), ("It is red.", Some(End::Whole)));
    }
}
