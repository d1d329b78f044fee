//! What a model says, gathered: from one body, or event by event.

use serde_json::{Value, json};

use crate::wire::said::{Called, End, Piece, Said};

/// A reply, as far as it has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    /// The provider's id of the message.
    pub(super) id: Option<String>,
    blocks: Vec<Growing>,
    /// Why it ended.
    pub(super) stop: Option<String>,
    /// What it cost, as reported.
    usage: Option<Value>,
    /// Where programs were run for it.
    container: Option<String>,
    /// Whether an error came in the place of its end.
    failed: bool,
}

/// A block, as far as it has come.
#[derive(Clone, Debug, Default)]
struct Growing {
    index: u64,
    value: Value,
    /// What is said of its input, as text.
    input: String,
}

impl Gathered {
    /// Reads a whole reply; `None` if it is none.
    pub(super) fn whole(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let blocks = body["content"].as_array().filter(|_| body["role"] == "assistant")?;
        let block = |value: &Value| Growing { value: value.clone(), ..Growing::default() };
        Some(Self {
            id: text(&body["id"]),
            blocks: blocks.iter().map(block).collect(),
            stop: text(&body["stop_reason"]),
            usage: body.get("usage").filter(|usage| usage.is_object()).cloned(),
            container: text(&body["container"]["id"]),
            failed: false,
        })
    }

    /// Adds an event.
    pub(super) fn add(&mut self, event: &Value) {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.id = text(&event["message"]["id"]);
                self.add_usage(&event["message"]["usage"]);
            }
            "content_block_start" => self.blocks.push(Growing {
                index: event["index"].as_u64().unwrap_or_default(),
                value: Some(event["content_block"].clone()).filter(Value::is_object).unwrap_or_default(),
                input: String::new(),
            }),
            "content_block_delta" => {
                let index = event["index"].as_u64().unwrap_or_default();
                if let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == index) {
                    block.add(&event["delta"]);
                }
            }
            "message_delta" => {
                self.stop = text(&event["delta"]["stop_reason"]).or(self.stop.take());
                self.container = text(&event["delta"]["container"]["id"]).or(self.container.take());
                self.add_usage(&event["usage"]);
            }
            "error" => self.failed |= self.stop.is_none(),
            _ => {}
        }
    }

    /// Counts of a stream are told more than once, each time in full.
    fn add_usage(&mut self, told: &Value) {
        let Some(told) = told.as_object() else { return };
        let usage = self.usage.get_or_insert_with(|| json!({}));
        told.iter().filter(|(_, value)| !value.is_null()).for_each(|(name, value)| usage[name] = value.clone());
    }

    /// What it cost so far.
    pub(super) fn usage(&self) -> &Value {
        self.usage.as_ref().unwrap_or(&Value::Null)
    }

    /// What was said.
    pub(super) fn said(self) -> Said {
        let whole = matches!(self.stop.as_deref(), Some("end_turn" | "tool_use" | "stop_sequence"));
        Said {
            id: self.id,
            pieces: self.blocks.into_iter().map(Growing::piece).collect(),
            end: self.stop.map(|_| if whole { End::Whole } else { End::Cut }),
            usage: self.usage,
            container: self.container,
            failed: self.failed,
        }
    }
}

impl Growing {
    fn add(&mut self, delta: &Value) {
        let Some(fields) = delta.as_object() else { return };
        match delta["type"].as_str().unwrap_or_default() {
            "input_json_delta" => self.input.push_str(delta["partial_json"].as_str().unwrap_or_default()),
            "signature_delta" => self.value["signature"] = delta["signature"].clone(),
            "citations_delta" => self.cite(&delta["citation"]),
            // How far it has come may stand beside a thought, and is no part of it.
            "thinking_delta" => self.append(fields.iter().filter(|(name, _)| *name == "thinking")),
            _ => self.append(fields.iter()),
        }
    }

    fn cite(&mut self, citation: &Value) {
        match self.value["citations"].as_array_mut() {
            Some(known) => known.push(citation.clone()),
            None => self.value["citations"] = json!([citation]),
        }
    }

    /// Texts grow; what is no text is told at once.
    fn append<'a>(&mut self, fields: impl Iterator<Item = (&'a String, &'a Value)>) {
        for (name, more) in fields.filter(|(name, value)| *name != "type" && !value.is_null()) {
            match (self.value.get_mut(name), more) {
                (Some(Value::String(known)), Value::String(more)) => known.push_str(more),
                _ => self.value[name] = more.clone(),
            }
        }
    }

    fn piece(mut self) -> Piece {
        if !self.input.is_empty() {
            // A call that was cut off in the middle has no input that can be read.
            self.value["input"] = serde_json::from_str(&self.input).unwrap_or_else(|_| json!({}));
        }
        match self.value["type"].as_str().unwrap_or_default() {
            "text" => Piece::Words { text: text(&self.value["text"]).unwrap_or_default(), value: self.value },
            "tool_use" => Piece::Call(self.call()),
            _ => Piece::Other(self.value),
        }
    }

    fn call(self) -> Called {
        let arguments = if self.input.is_empty() { self.value["input"].to_string() } else { self.input };
        let name = text(&self.value["name"]).unwrap_or_default();
        Called { id: text(&self.value["id"]).unwrap_or_default(), name, arguments, value: self.value }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
