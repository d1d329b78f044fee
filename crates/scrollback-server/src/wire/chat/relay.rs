//! A streamed reply, chunk by chunk: calls of ours are kept back, the client's are numbered as if there were no others.

use std::collections::{BTreeSet, HashMap};

use bytes::{Bytes, BytesMut};
use scrollback::recall::Sieve;
use serde_json::{Map, Value, json};

use super::reply::{Chunk, ChunkChoice, Gathered, add_to, called};
use super::speech::{Completions, add_output};
use crate::wire::offer::Offer;
use crate::wire::said::Said;
use crate::wire::sse::{Event, written};
use crate::wire::{Ear, ErrorKind, Heard, Relay, Speech};

/// The chunks of a reply.
pub(super) struct Chunks {
    gathered: Gathered,
    sieve: Option<Sieve>,
    /// The words that the sieve held when the round ended.
    rest: String,
    /// The last chunk that the sieve looked at: what else it says, the rest says too.
    last: Value,
    /// The client's number of each call that is the client's; `None` for ours.
    numbers: HashMap<u64, Option<u64>>,
    /// Pieces of calls whose name is not whole yet.
    undecided: Vec<(u64, Value)>,
    /// What is kept back until it is known how the round ends.
    kept_back: Vec<Value>,
    first_id: Option<String>,
    /// The last word of a stream, as it came.
    done: Bytes,
    /// Whether another round came before this one.
    later: bool,
}

impl Chunks {
    pub(super) fn new(hides_markers: bool) -> Self {
        Self {
            gathered: Gathered::default(),
            sieve: hides_markers.then(Sieve::default),
            rest: String::new(),
            last: Value::Null,
            numbers: HashMap::new(),
            undecided: Vec::new(),
            kept_back: Vec::new(),
            first_id: None,
            done: Bytes::new(),
            later: false,
        }
    }

    fn chunk(&mut self, chunk: &Chunk, event: &Event, ear: &Ear<'_>, out: &mut BytesMut) {
        self.first_id = self.first_id.take().or_else(|| chunk.id.clone());
        let calls = chunk.choices.iter().any(|choice| choice.delta.get("tool_calls").is_some_and(Value::is_array));
        // What comes after the end, as the usage does, belongs to it.
        let ends = self.gathered.finish.is_some();
        let (later, sieved) = (self.later, self.sieve.is_some());
        let held = self.has_ours() || ends && (ear.waits || !self.undecided.is_empty());
        let must_look = calls || later || sieved || held;
        // What is passed over in a chunk may be a text that cannot be read.
        let read = || event.data.as_deref().and_then(|data| serde_json::from_slice::<Value>(data).ok());
        let Some(original) = must_look.then(read).flatten() else {
            out.extend_from_slice(&event.raw);
            return;
        };
        let changed = self.rewritten(ear, original.clone(), chunk);
        let waits = (self.has_ours() || sieved || ear.waits) && (ends || chunk.choices.is_empty());
        match changed {
            Some(value) if waits && (self.has_ours() || sieved) => self.keep_end(value, out),
            Some(value) if waits => self.kept_back.push(value),
            Some(value) if value == original => out.extend_from_slice(&event.raw),
            Some(value) => out.extend_from_slice(&written(&value.to_string())),
            None if calls || self.has_ours() || sieved || later => {}
            None => out.extend_from_slice(&event.raw),
        }
    }

    /// Keeps the end of a round back. What is said with it is said at once: should another round follow, the end goes
    /// nowhere.
    fn keep_end(&mut self, mut end: Value, out: &mut BytesMut) {
        if end["choices"][0]["delta"].as_object().is_some_and(says) {
            let mut words = end.clone();
            words["choices"][0]["finish_reason"] = Value::Null;
            without(&mut words, "usage");
            out.extend_from_slice(&written(&words.to_string()));
            end["choices"][0]["delta"] = json!({});
            without(&mut end["choices"][0], "logprobs");
        }
        self.kept_back.push(end);
    }

    fn has_ours(&self) -> bool {
        self.numbers.values().any(Option::is_none)
    }

    /// A chunk as the client may see it; `None` if nothing of it is left.
    fn rewritten(&mut self, ear: &Ear<'_>, mut value: Value, chunk: &Chunk) -> Option<Value> {
        if let Some(id) = &self.first_id {
            value["id"] = id.clone().into();
        }
        add_output(&mut value, ear.earlier);
        if chunk.choices.is_empty() {
            return Some(value);
        }
        if self.sieve.is_some() {
            self.last.clone_from(&value);
        }
        if !value["choices"][0]["delta"].is_object() {
            value["choices"][0]["delta"] = json!({});
        }
        let delta = value["choices"][0]["delta"].as_object_mut()?;
        if self.later {
            delta.shift_remove("role");
        }
        if let (Some(sieve), Some(Value::String(text))) = (&mut self.sieve, delta.get_mut("content")) {
            *text = sieve.push(text);
        }
        let ends = self.gathered.finish.is_some();
        delta.shift_remove("tool_calls");
        let theirs = self.theirs(ear.offer, chunk, ends);
        if !theirs.is_empty() {
            delta.insert("tool_calls".into(), theirs.into());
        }
        let says = says(delta);
        (says || ends).then_some(value)
    }

    /// The pieces in a chunk of calls that are the client's. At the end every name is whole.
    fn theirs(&mut self, offer: &Offer, chunk: &Chunk, ends: bool) -> Vec<Value> {
        let calls = chunk.choices.iter().filter_map(|choice| choice.delta.get("tool_calls")?.as_array()).flatten();
        let mut theirs = Vec::new();
        for call in calls {
            let index = call["index"].as_u64().unwrap_or(0);
            self.undecided.push((index, call.clone()));
            theirs.extend(self.renumbered(offer, index, false));
        }
        let waiting: BTreeSet<u64> = self.undecided.iter().map(|(index, _)| *index).filter(|_| ends).collect();
        theirs.extend(waiting.into_iter().flat_map(|index| self.renumbered(offer, index, true)).collect::<Vec<_>>());
        joined(theirs)
    }

    /// Pieces of a call of the client's, numbered as if there were no others. None if the call is ours, or as long as
    /// its name could still become one of ours.
    fn renumbered(&mut self, offer: &Offer, index: u64, is_whole: bool) -> Vec<Value> {
        if !self.numbers.contains_key(&index) {
            let place = usize::try_from(index).unwrap_or(usize::MAX);
            let Some(gathered) = self.gathered.calls.get(place) else { return Vec::new() };
            let has_begun = [&gathered["function"]["arguments"], &gathered["custom"]["input"]]
                .into_iter()
                .any(|input| input.as_str().is_some_and(|input| !input.is_empty()));
            let name = called(gathered);
            if !is_whole && (name.is_empty() || !has_begun && offer.begins(name)) {
                return Vec::new();
            }
            let count = self.numbers.values().flatten().count() as u64;
            self.numbers.insert(index, (!offer.is_ours(name)).then_some(count));
        }
        let number = self.numbers.get(&index).copied().flatten();
        let (mine, others) = std::mem::take(&mut self.undecided).into_iter().partition(|(of, _)| *of == index);
        self.undecided = others;
        let mine: Vec<(u64, Value)> = mine;
        let numbered = mine.into_iter().filter_map(|(_, mut piece)| {
            piece["index"] = number?.into();
            Some(piece)
        });
        numbered.collect()
    }

    /// Lets out what was kept back.
    fn release(&mut self, out: &mut BytesMut) {
        for value in std::mem::take(&mut self.kept_back) {
            out.extend_from_slice(&written(&value.to_string()));
        }
    }

    /// Says the rest of the words in a chunk of its own.
    fn say_rest(&mut self, out: &mut BytesMut) {
        let text = std::mem::take(&mut self.rest);
        if !text.is_empty() {
            let mut chunk = std::mem::take(&mut self.last);
            chunk["choices"] = json!([{"index": 0, "delta": {"content": text}, "finish_reason": null}]);
            without(&mut chunk, "usage");
            out.extend_from_slice(&written(&chunk.to_string()));
        }
    }
}

/// Pieces of calls, those of one call as one: some clients read only the first that a chunk has.
fn joined(pieces: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for piece in pieces {
        let known = joined.iter_mut().find(|known| known["index"] == piece["index"]).and_then(Value::as_object_mut);
        match (known, piece.as_object()) {
            (Some(known), Some(more)) => more.iter().for_each(|(name, more)| add_to(known, name, more)),
            _ => joined.push(piece),
        }
    }
    joined
}

fn without(value: &mut Value, name: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove(name);
    }
}

/// Whether a delta says anything.
fn says(delta: &Map<String, Value>) -> bool {
    delta.values().any(|value| !value.is_null() && value.as_str() != Some(""))
}

impl Relay for Chunks {
    fn hear(&mut self, event: &Event, ear: &Ear<'_>, out: &mut BytesMut) -> Heard {
        if event.data.as_deref() == Some(b"[DONE]") {
            self.done = event.raw.clone();
            return Heard::End;
        }
        let Some(mut chunk) = event.data.as_deref().and_then(Chunk::read) else {
            out.extend_from_slice(&event.raw);
            return Heard::More;
        };
        self.gathered.number(&mut chunk);
        self.gathered.add(&chunk);
        if chunk.is_error() {
            self.release(out);
            out.extend_from_slice(&event.raw);
        } else if !chunk.choices.iter().all(ChunkChoice::is_first) {
            out.extend_from_slice(&event.raw);
        } else {
            self.chunk(&chunk, event, ear, out);
        }
        Heard::More
    }

    fn take(&mut self) -> Said {
        self.rest = self.sieve.take().map(|sieve| sieve.finish().text).unwrap_or_default();
        std::mem::take(&mut self.gathered).said()
    }

    fn begin(&mut self, hides_markers: bool, _: &mut BytesMut) {
        let first_id = self.first_id.take();
        *self = Self { first_id, later: true, ..Self::new(hides_markers) };
    }

    fn has_ended(&self) -> bool {
        self.gathered.finish.is_some() || !self.done.is_empty()
    }

    fn close(&mut self, left: &Said, out: &mut BytesMut) {
        self.say_rest(out);
        let none_left = left.calls().next().is_none();
        for value in self.kept_back.iter_mut().filter(|_| none_left) {
            if value["choices"][0]["finish_reason"] == "tool_calls" {
                value["choices"][0]["finish_reason"] = "stop".into();
            }
        }
        self.release(out);
        out.extend_from_slice(&std::mem::take(&mut self.done));
    }

    fn fail(&mut self, why: &str, out: &mut BytesMut) {
        let told = serde_json::from_str::<Value>(why).ok().filter(Value::is_object);
        let told = told.unwrap_or_else(|| Completions.error(ErrorKind::Upstream, "upstream_failed", why));
        out.extend_from_slice(&written(&told.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use scrollback::recall::RecallTool;

    use super::*;
    use crate::config::RecallBy;
    use crate::wire::chat::Chat;
    use crate::wire::sse::Splitter;
    use crate::wire::{Opened, Output};

    #[test]
    fn a_chunk_with_a_text_that_cannot_be_read_passes_as_it_came() {
        let offer = Offer::new(RecallBy::Tools, &RecallTool::ALL, &Opened::default(), &Chat);
        let ear = Ear { offer: &offer, waits: true, earlier: Output::default() };
        let stream =
            r#"data: {"system_fingerprint":"cut \ud83d","choices":[{"delta":{"tool_calls":[]}}]}"#.to_owned() + "\n\n";
        let (mut relay, mut splitter, mut out) = (Chunks::new(false), Splitter::default(), BytesMut::new());
        splitter.push(stream.as_bytes());
        assert_eq!(relay.hear(&splitter.next().unwrap(), &ear, &mut out), Heard::More);
        assert_eq!(out, stream);
    }

    /// Azure says first how it judges the question, before there is an id.
    #[test]
    fn the_id_of_a_stream_is_the_first_that_says_something() {
        let offer = Offer::new(RecallBy::Tools, &RecallTool::ALL, &Opened::default(), &Chat);
        let ear = Ear { offer: &offer, waits: false, earlier: Output::default() };
        let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "see", "arguments": "{}"}});
        let chunks = [
            json!({"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
            json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}),
        ];
        let stream = chunks.map(|chunk| format!("data: {chunk}\n\n")).concat();
        let (mut relay, mut splitter, mut out) = (Chunks::new(false), Splitter::default(), BytesMut::new());
        splitter.push(stream.as_bytes());
        while let Some(event) = splitter.next() {
            relay.hear(&event, &ear, &mut out);
        }
        assert_eq!(out, stream, "it passes as it came");
        assert_eq!(relay.take().id.as_deref(), Some("chatcmpl-1"));
    }

    #[test]
    fn what_waited_for_a_name_comes_as_one_piece() {
        let offer = Offer::new(RecallBy::Tools, &RecallTool::ALL, &Opened::default(), &Chat);
        let ear = Ear { offer: &offer, waits: false, earlier: Output::default() };
        let chunk =
            |call: Value| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}));
        let (mut relay, mut splitter, mut out) = (Chunks::new(false), Splitter::default(), BytesMut::new());
        let begun =
            json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "search", "arguments": ""}});
        splitter.push(chunk(begun).as_bytes());
        splitter.push(chunk(json!({"index": 0, "function": {"arguments": "{\"q"}})).as_bytes());
        while let Some(event) = splitter.next() {
            relay.hear(&event, &ear, &mut out);
        }
        let whole =
            json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "search", "arguments": "{\"q"}}]);
        let told: Value = serde_json::from_slice(&out[b"data: ".len()..]).unwrap();
        assert_eq!(told["choices"][0]["delta"]["tool_calls"], whole);
    }
}
