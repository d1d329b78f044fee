//! What a model says in one round, gathered event by event.

use std::collections::BTreeMap;

use serde_json::Value;

use super::items;
use super::speech::ended;
use crate::wire::said::Said;

/// A reply, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    id: Option<String>,
    /// The items that are whole, by their places.
    done: BTreeMap<u64, Value>,
    /// The response as its last event tells it.
    last: Option<Value>,
    failed: bool,
}

impl Gathered {
    /// Adds an event.
    pub(super) fn add(&mut self, event: &Value) {
        match event["type"].as_str().unwrap_or_default() {
            "response.output_item.done" => {
                let place = event["output_index"].as_u64().unwrap_or(self.done.len() as u64);
                self.done.insert(place, event["item"].clone());
            }
            "response.completed" | "response.incomplete" => self.last = Some(event["response"].clone()),
            "response.failed" | "error" => self.failed = true,
            _ => {}
        }
        let id = event["response"]["id"].as_str().map(str::to_owned);
        self.id = self.id.take().or(id);
    }

    /// What was said.
    pub(super) fn said(self) -> Said {
        let told = self.last.as_ref().map(ended).unwrap_or_default();
        let output = self.last.as_ref().and_then(|last| last["output"].as_array()).cloned().unwrap_or_default();
        let whole = if self.done.is_empty() { output } else { self.done.into_values().collect() };
        Said {
            id: self.id,
            pieces: whole.iter().map(items::piece).collect(),
            failed: self.failed || told.failed,
            ..told
        }
    }
}
