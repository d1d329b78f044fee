//! What a model says, gathered: from one body, or chunk by chunk.

use std::collections::HashMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::wire::said::{Called, End, Piece, Said};

/// The field in which `OpenRouter` tells reasoning in blocks, each of them in pieces.
const REASONING_BLOCKS: &str = "reasoning_details";

/// A reply, as far as it has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    /// The provider's id of the response.
    pub(super) id: Option<String>,
    /// Every field of the message but its calls.
    pub(super) fields: Map<String, Value>,
    /// Its calls, in order.
    pub(super) calls: Vec<Value>,
    /// Why it ended.
    pub(super) finish: Option<String>,
    /// What it cost, as reported.
    pub(super) usage: Option<Value>,
    /// Whether an error came in the place of its end.
    pub(super) failed: bool,
    /// The calls that have begun, by our number, the client's number for each, and their ids.
    opened: Vec<u64>,
    numbers: HashMap<u64, u64>,
    ids: HashMap<u64, String>,
}

/// A chunk of a stream.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "text")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "choices")]
    pub(super) choices: Vec<ChunkChoice>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChunkChoice {
    #[serde(default)]
    pub(super) index: u32,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) delta: Map<String, Value>,
    #[serde(default, deserialize_with = "reason")]
    pub(super) finish_reason: Option<String>,
    /// What the reply cost, where Moonshot tells it.
    #[serde(default)]
    usage: Option<Value>,
}

/// A field that some servers write as null.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Choices, each of them an object: a list would be taken for one.
fn choices<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ChunkChoice>, D::Error> {
    let choices: Vec<Map<String, Value>> = or_default(deserializer)?;
    let read = |fields| serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom);
    choices.into_iter().map(read).collect()
}

/// Why a reply ended; as long as it has not, some servers write an empty text.
fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|reason| !reason.is_empty()))
}

/// A text that some servers write as a number; as long as they know of none, they write an empty one.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let text = value.as_str().map(str::to_owned).or_else(|| value.as_u64().map(|number| number.to_string()));
    Ok(text.filter(|text| !text.is_empty()))
}

impl ChunkChoice {
    /// Whether it is of the answer that is kept; where several are asked for, the others are only passed on.
    pub(super) fn is_first(&self) -> bool {
        self.index == 0
    }
}

impl Chunk {
    /// Reads a chunk; `None` if it is none.
    pub(super) fn read(data: &[u8]) -> Option<Self> {
        let is_object = data.trim_ascii_start().starts_with(b"{");
        serde_json::from_slice(data).ok().filter(|_| is_object)
    }

    /// Whether it tells of an error.
    pub(super) fn is_error(&self) -> bool {
        self.error.as_ref().is_some_and(|error| !error.is_null())
    }
}

impl Gathered {
    /// Says which call each piece of a call belongs to: some servers leave the number out, or begin every call with 0.
    pub(super) fn number(&mut self, chunk: &mut Chunk) {
        let first = chunk.choices.iter_mut().filter(|choice| choice.is_first());
        let calls = first.filter_map(|choice| choice.delta.get_mut("tool_calls")?.as_array_mut());
        let pieces = calls.flat_map(|calls| {
            calls.retain(Value::is_object);
            calls
        });
        for piece in pieces {
            let said = piece["index"].as_u64();
            let id = piece["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
            let open = said.map_or(self.opened.last().copied(), |said| self.numbers.get(&said).copied());
            let index = match (&id, open) {
                (None, Some(open)) => open,
                (Some(id), Some(open)) if self.ids.get(&open).is_none_or(|known| known == id) => open,
                _ => self.opened.len() as u64,
            };
            if !self.opened.contains(&index) {
                self.opened.push(index);
            }
            self.numbers.insert(said.unwrap_or(index), index);
            self.ids.extend(id.map(|id| (index, id)));
            piece["index"] = index.into();
        }
    }

    /// Reads a whole reply; `None` if it is none.
    pub(super) fn whole(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let choice = body["choices"].get(0)?;
        let mut fields = choice["message"].as_object()?.clone();
        let calls = fields.shift_remove("tool_calls").and_then(|calls| calls.as_array().cloned()).unwrap_or_default();
        Some(Self {
            id: body["id"].as_str().map(str::to_owned),
            fields,
            calls,
            finish: choice["finish_reason"].as_str().map(str::to_owned),
            usage: body.get("usage").filter(|usage| usage.is_object()).cloned(),
            ..Self::default()
        })
    }

    /// Adds a chunk.
    pub(super) fn add(&mut self, chunk: &Chunk) {
        self.id = self.id.take().or_else(|| chunk.id.clone());
        self.failed |= chunk.error.is_some() && self.finish.is_none();
        let told = chunk.choices.iter().map(|choice| &choice.usage).chain([&chunk.usage]);
        for usage in told.filter(|usage| usage.as_ref().is_some_and(Value::is_object)) {
            self.usage.clone_from(usage);
        }
        for choice in chunk.choices.iter().filter(|choice| choice.is_first()) {
            for (name, value) in &choice.delta {
                self.add_field(name, value);
            }
            self.finish = choice.finish_reason.clone().or_else(|| self.finish.take());
        }
    }

    fn add_field(&mut self, name: &str, value: &Value) {
        if name == "tool_calls" {
            value.as_array().into_iter().flatten().for_each(|delta| self.add_call(delta));
            return;
        }
        if let (REASONING_BLOCKS, Some(pieces)) = (name, value.as_array()) {
            let known = self.fields.get_mut(name).and_then(Value::as_array_mut).map(std::mem::take);
            let blocks = pieces.iter().fold(known.unwrap_or_default(), thought_on);
            self.fields.insert(name.to_owned(), blocks.into());
            return;
        }
        add_to(&mut self.fields, name, value);
    }

    fn add_call(&mut self, delta: &Value) {
        let last = self.calls.len().saturating_sub(1);
        let index = delta["index"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(last).min(1_023);
        while self.calls.len() <= index {
            self.calls.push(template(delta));
        }
        let Some(call) = self.calls[index].as_object_mut() else { return };
        for (name, value) in delta.as_object().into_iter().flatten().filter(|(name, _)| *name != "index") {
            add_to(call, name, value);
        }
    }

    /// What was said.
    pub(super) fn said(self) -> Said {
        let text = self.fields.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
        let words = (!self.fields.is_empty()).then(|| Piece::Words { text, value: self.fields.into() });
        let calls = self.calls.into_iter().map(|value| Piece::Call(call_of(value)));
        let cut = matches!(self.finish.as_deref(), Some("length" | "content_filter"));
        Said {
            id: self.id,
            pieces: words.into_iter().chain(calls).collect(),
            end: self.finish.map(|_| if cut { End::Cut } else { End::Whole }),
            usage: self.usage,
            failed: self.failed,
            ..Said::default()
        }
    }
}

/// Adds a piece to what is known: texts go on, lists grow, objects do so field by field.
pub(super) fn add_to(known: &mut Map<String, Value>, name: &str, more: &Value) {
    match (known.get_mut(name), more) {
        (Some(Value::String(known)), Value::String(more)) if !is_said_at_once(name) => known.push_str(more),
        (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.iter().cloned()),
        (Some(Value::Object(known)), Value::Object(more)) => {
            more.iter().for_each(|(name, more)| add_to(known, name, more));
        }
        (Some(_), Value::Null) => {}
        (Some(_), Value::String(more)) if more.is_empty() => {}
        // Words may come as a text at one time and in a list at another, as Mistral's do around what they refer to.
        (Some(Value::Array(parts)), Value::String(more)) if name == "content" && parts.iter().any(is_no_thought) => {
            go_on(parts, more);
        }
        (Some(words), Value::Array(more)) if name == "content" && words.as_str().is_some_and(|it| !it.is_empty()) => {
            let before = json!({"type": "text", "text": words.take()});
            *words = std::iter::once(before).chain(more.iter().cloned()).collect();
        }
        _ => drop(known.insert(name.to_owned(), more.clone())),
    }
}

/// Adds a piece of reasoning to its block: those of one number are one, and what signs it signs all of it.
fn thought_on(mut blocks: Vec<Value>, piece: &Value) -> Vec<Value> {
    let is_its = |block: &&mut Value| ["index", "type"].iter().all(|name| block[*name] == piece[*name]);
    let block = blocks.iter_mut().filter(|_| piece["index"].is_u64()).find(is_its).and_then(Value::as_object_mut);
    match (block, piece.as_object()) {
        (Some(block), Some(more)) => more.iter().for_each(|(name, more)| add_to(block, name, more)),
        _ => blocks.push(piece.clone()),
    }
    blocks
}

/// Whether a part of a list is more than thoughts: those are not what is said.
fn is_no_thought(part: &Value) -> bool {
    part["type"] != "thinking"
}

/// Adds words to a list of parts.
fn go_on(parts: &mut Vec<Value>, more: &str) {
    let last = parts.last_mut().filter(|part| part["type"] == "text").and_then(|part| part.get_mut("text"));
    if let Some(Value::String(text)) = last {
        text.push_str(more);
        return;
    }
    parts.push(json!({"type": "text", "text": more}));
}

/// Whether a field comes whole, if more than once.
fn is_said_at_once(name: &str) -> bool {
    matches!(name, "role" | "id" | "type" | "format" | "signature")
}

/// A call of which nothing is known yet.
fn template(delta: &Value) -> Value {
    if delta["custom"].is_object() || delta["type"] == "custom" {
        json!({"id": "", "type": "custom", "custom": {"name": "", "input": ""}})
    } else {
        json!({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    }
}

fn call_of(value: Value) -> Called {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Called {
        id: text(&value["id"]),
        name: called(&value).to_owned(),
        arguments: text(&value["function"]["arguments"]),
        value,
    }
}

/// The name a call calls.
pub(super) fn called(call: &Value) -> &str {
    let names = [&call["function"]["name"], &call["custom"]["name"], &call["name"]];
    names.into_iter().find_map(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_stream_ends_no_reply() {
        let mut gathered = Gathered::default();
        gathered.add(&serde_json::from_value(json!({"choices":[{"index":0,"delta":{"content":"Hel"}}]})).unwrap());
        assert!(!gathered.failed);
        gathered.add(&serde_json::from_value(json!({"error":{"message":"overloaded"}})).unwrap());
        assert!(gathered.failed);
    }

    #[test]
    fn an_empty_reason_is_no_end() {
        let mut gathered = Gathered::default();
        for (reason, expected) in [("", None), ("stop", Some("stop")), ("", Some("stop"))] {
            let chunk = json!({"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":reason}]});
            gathered.add(&serde_json::from_value(chunk).unwrap());
            assert_eq!(gathered.finish.as_deref(), expected);
        }
    }

    #[test]
    fn chunks_add_up_to_the_whole() {
        let chunks = [
            json!({"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}),
            json!({"id":"c1","choices":[{"index":0,"delta":{"content":"Hel"}}]}),
            json!({"id":"c1","choices":[{"index":0,"delta":{"content":"lo","reasoning_content":"hm"}}]}),
            json!({"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}]}}]}),
            json!({"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}}]}),
            json!({"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"see"}},{"index":0,"function":{"arguments":":1}"}}]}}]}),
            json!({"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}),
            json!({"id":"c1","choices":[],"usage":{"prompt_tokens":3}}),
        ];
        let mut gathered = Gathered::default();
        for chunk in chunks {
            gathered.add(&serde_json::from_value(chunk).unwrap());
        }
        assert_eq!(
            (gathered.fields["content"].as_str().unwrap(), gathered.finish.as_deref(), gathered.id.as_deref()),
            ("Hello", Some("tool_calls"), Some("c1"))
        );
        assert_eq!(gathered.fields["reasoning_content"], "hm");
        assert_eq!(gathered.calls[0]["function"]["arguments"], "{\"x\":1}");
        assert_eq!((called(&gathered.calls[1]), &gathered.calls[1]["id"]), ("see", &json!("b")));
        assert_eq!(gathered.usage, Some(json!({"prompt_tokens":3})));
    }

    #[test]
    fn what_it_cost_may_stand_in_the_choice() {
        let mut gathered = Gathered::default();
        let chunk = |usage: Value| json!({"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":usage}]});
        for usage in [json!({"prompt_tokens":3}), Value::Null] {
            gathered.add(&serde_json::from_value(chunk(usage)).unwrap());
            assert_eq!(gathered.usage, Some(json!({"prompt_tokens":3})));
        }
    }

    #[test]
    fn words_and_lists_of_parts_go_on_from_each_other() {
        let check = |contents: &[Value], expected: Value| {
            let mut gathered = Gathered::default();
            for content in contents {
                let chunk = json!({"choices": [{"index": 0, "delta": {"content": content}}]});
                gathered.add(&serde_json::from_value(chunk).unwrap());
            }
            assert_eq!(gathered.fields["content"], expected);
        };
        let (words, source) =
            (|text: &str| json!({"type": "text", "text": text}), json!({"type": "reference", "reference_ids": [1]}));
        check(
            &[json!(""), json!("It is"), json!(" red"), json!([source]), json!(", and"), json!(""), json!(" tall.")],
            json!([words("It is red"), source, words(", and tall.")]),
        );
        check(&[json!(""), json!([words("It is")]), json!(" red.")], json!([words("It is red.")]));
        let thought = json!({"type": "thinking", "thinking": [words("Hm.")]});
        check(&[json!([thought]), json!("It is"), json!(" red.")], json!("It is red."));
    }

    #[test]
    fn what_comes_in_pieces_is_put_together_however_deep_it_is() {
        let deltas = [
            json!({"audio": {"id": "a1"}, "function_call": {"name": "look"}}),
            json!({"audio": {"transcript": "Hel"}, "function_call": {"arguments": "{\"x\""}}),
            json!({"audio": {"transcript": "lo", "expires_at": 7}, "function_call": {"arguments": ":1}"}}),
        ];
        let mut gathered = Gathered::default();
        for delta in deltas {
            gathered.add(&serde_json::from_value(json!({"choices": [{"index": 0, "delta": delta}]})).unwrap());
        }
        assert_eq!(gathered.fields["audio"], json!({"id": "a1", "transcript": "Hello", "expires_at": 7}));
        assert_eq!(gathered.fields["function_call"], json!({"name": "look", "arguments": "{\"x\":1}"}));
    }
}
