//! The words of a model that recalls by writing: what may be a call is kept back, and with it everything that comes
//! after, so that an item ends with just the words that were shown of it. An item of which nothing may be shown never
//! begins.

use std::collections::HashMap;

use scrollback::recall::Sieve;
use serde_json::Value;

use super::items::is_words;

/// An item and a part of it.
type Place = (u64, u64);

/// The events of one round on their way through.
#[derive(Default)]
pub(super) struct Sieved {
    sieve: Sieve,
    held: Vec<Value>,
    /// What was shown of each text.
    shown: HashMap<Place, String>,
    /// The newest words.
    newest: Option<Value>,
}

impl Sieved {
    /// Takes an event and gives those that may be shown now.
    pub(super) fn push(&mut self, mut event: Value) -> Vec<Value> {
        let kind = event["type"].as_str().unwrap_or_default();
        if kind != "response.output_text.delta" {
            let opens = kind == "response.output_item.added" && event["item"]["type"] == "message";
            if opens || !self.held.is_empty() || is_end_of_words(&event) {
                self.held.push(event);
                return Vec::new();
            }
            return vec![event];
        }
        let said = self.sieve.push(event["delta"].as_str().unwrap_or_default());
        let known = self.shown.entry(place(&event)).or_default();
        known.push_str(&said);
        self.newest = Some(event.clone());
        if said.is_empty() {
            return Vec::new();
        }
        event["delta"] = said.into();
        self.released().into_iter().chain([event]).collect()
    }

    /// Whether something is kept back.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// What is left of a round whose calls are carried out.
    pub(super) fn asked(mut self) -> Vec<Value> {
        self.released()
    }

    /// What is left of the last round: what was kept back and is no call is said after all.
    pub(super) fn finish(mut self) -> Vec<Value> {
        let rest = std::mem::take(&mut self.sieve).finish().text;
        if let Some(mut newest) = self.newest.take().filter(|_| !rest.is_empty()) {
            let of = place(&newest);
            let end = |event: &Value| is_end_of_words(event) && event["output_index"] == newest["output_index"];
            let before = self.held.iter().position(end).unwrap_or(self.held.len());
            self.shown.entry(of).or_default().push_str(&rest);
            newest["delta"] = rest.into();
            self.held.insert(before, newest);
        }
        self.released()
    }

    /// What was kept back, with the words that were shown in the place of those that came.
    fn released(&mut self) -> Vec<Value> {
        let held = std::mem::take(&mut self.held);
        held.into_iter().filter(|event| !self.is_hidden(event)).map(|event| self.told(event)).collect()
    }

    /// Whether an event belongs to an item whose words are all kept back.
    fn is_hidden(&self, event: &Value) -> bool {
        let Some(index) = event["output_index"].as_u64() else { return false };
        let mut texts = self.shown.iter().filter(|((of, _), _)| *of == index).map(|(_, text)| text).peekable();
        texts.peek().is_some() && texts.all(String::is_empty)
    }

    fn told(&self, mut event: Value) -> Value {
        let (index, part) = place(&event);
        let shown = |part: u64| self.shown.get(&(index, part)).cloned();
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.done" => event["text"] = shown(part).unwrap_or_default().into(),
            "response.content_part.done" if is_words(&event["part"]) => {
                event["part"]["text"] = shown(part).unwrap_or_default().into();
            }
            "response.output_item.done" => {
                let content = event.get_mut("item").and_then(|item| item.get_mut("content"));
                let parts = content.and_then(Value::as_array_mut).into_iter().flatten();
                for (place, part) in (0..).zip(parts).filter(|(_, part)| is_words(part)) {
                    part["text"] = shown(place).unwrap_or_default().into();
                }
            }
            _ => {}
        }
        event
    }
}

fn place(event: &Value) -> Place {
    (event["output_index"].as_u64().unwrap_or(0), event["content_index"].as_u64().unwrap_or(0))
}

fn is_end_of_words(event: &Value) -> bool {
    match event["type"].as_str().unwrap_or_default() {
        "response.output_text.done" => true,
        "response.content_part.done" => is_words(&event["part"]),
        "response.output_item.done" => event["item"]["type"] == "message",
        _ => false,
    }
}
