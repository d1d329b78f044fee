//! A streamed reply, event by event: blocks of ours are kept back, the others are numbered as if there were none, and
//! all rounds are one message.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use super::reply::Gathered;
use super::sieved::Sieved;
use super::speech::{Messages, add_output, end};
use crate::wire::said::Said;
use crate::wire::sse::{Event, event_of};
use crate::wire::{Ear, ErrorKind, Heard, Output, Relay, Speech};

/// What a later round's usage tells of its input, where its last event does not.
const INPUT: [&str; 3] = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

/// The blocks of a reply.
pub(super) struct Blocks {
    gathered: Gathered,
    /// The client's number of each block of this round; `None` for those that it does not see.
    numbers: HashMap<u64, Option<u64>>,
    /// The client's number of the next block.
    next: u64,
    /// Where words go that may hold calls of ours.
    words: Option<Sieved>,
    /// The words that were kept back when the round ended.
    rest: String,
    /// How the round ended, if the client may not know yet.
    kept_back: Option<Last>,
    /// What came after that and is nothing of ours: it must not overtake it.
    after: BytesMut,
    /// The last word of a stream, as it came.
    stop: Bytes,
    /// Whether another round came before this one.
    later: bool,
}

/// The event that says why a reply ended.
struct Last {
    value: Value,
    raw: Bytes,
    earlier: Output,
}

impl Blocks {
    pub(super) fn new(hides_markers: bool) -> Self {
        Self {
            gathered: Gathered::default(),
            numbers: HashMap::new(),
            next: 0,
            words: hides_markers.then(Sieved::default),
            rest: String::new(),
            kept_back: None,
            after: BytesMut::new(),
            stop: Bytes::new(),
            later: false,
        }
    }

    fn has_ours(&self) -> bool {
        self.numbers.values().any(Option::is_none)
    }

    /// A block begins: ours is known by its name.
    fn opened(&mut self, value: Value, raw: &Bytes, ear: &Ear<'_>, out: &mut BytesMut) {
        let (index, block) = (value["index"].as_u64().unwrap_or_default(), &value["content_block"]);
        let ours = block["type"] == "tool_use" && ear.offer.is_ours(block["name"].as_str().unwrap_or_default());
        if let Some(words) = self.words.as_mut().filter(|_| block["type"] == "text") {
            words.push(block["text"].as_str().unwrap_or_default(), &mut self.next, out);
            return;
        }
        self.words.iter_mut().for_each(|words| words.end(out));
        let number = (!ours).then_some(self.next);
        self.next += u64::from(!ours);
        self.numbers.insert(index, number);
        self.numbered(value, raw, out);
    }

    /// What belongs to a block goes on under the client's number of it, or not at all.
    fn numbered(&mut self, mut value: Value, raw: &Bytes, out: &mut BytesMut) {
        let index = value["index"].as_u64().unwrap_or_default();
        match (self.numbers.get(&index), &mut self.words) {
            (Some(None), _) => {}
            (Some(Some(number)), _) if *number == index => out.extend_from_slice(raw),
            (Some(Some(number)), _) => {
                value["index"] = (*number).into();
                out.extend_from_slice(&event_of(&value));
            }
            (None, Some(words)) => match value["delta"]["text"].as_str() {
                Some(text) => words.push(text, &mut self.next, out),
                // Our block of words ends when there are no more, and not where one of theirs does.
                None if value["type"] == "content_block_stop" => {}
                None => words.beside(value, out),
            },
            (None, None) => out.extend_from_slice(raw),
        }
    }

    /// Why the round ended. If the client may not know yet, it is kept back.
    fn ended(&mut self, value: Value, raw: &Bytes, ear: &Ear<'_>, out: &mut BytesMut) {
        let as_it_came = !self.later && self.words.is_none() && !ear.waits && !self.has_ours();
        if as_it_came {
            out.extend_from_slice(raw);
        } else {
            self.kept_back = Some(Last { value, raw: raw.clone(), earlier: ear.earlier });
        }
    }

    /// What is no part of the reply goes to the client as it comes, in its place.
    fn beside(&mut self, raw: &Bytes, out: &mut BytesMut) {
        let place = if self.kept_back.is_some() { &mut self.after } else { out };
        place.extend_from_slice(raw);
    }

    /// The last event as the client may see it.
    fn last(&self, last: Last, left: &Said) -> Bytes {
        let mut value = last.value.clone();
        value.pointer_mut("/delta/stop_reason").into_iter().for_each(|stop| end(stop, left));
        if let Some(usage) = value.get_mut("usage").filter(|usage| usage.is_object() && last.earlier.tokens > 0) {
            add_output(usage, last.earlier);
            for name in INPUT.iter().filter(|name| last.value["usage"].get(**name).is_none()) {
                if let Some(known) = self.gathered.usage().get(*name) {
                    usage[*name] = known.clone();
                }
            }
        }
        if value == last.value { last.raw } else { event_of(&value) }
    }
}

impl Relay for Blocks {
    fn hear(&mut self, event: &Event, ear: &Ear<'_>, out: &mut BytesMut) -> Heard {
        let value: Option<Value> = event.data.as_deref().and_then(|data| serde_json::from_slice(data).ok());
        let Some(value) = value.filter(Value::is_object) else {
            self.beside(&event.raw, out);
            return Heard::More;
        };
        self.gathered.add(&value);
        match value["type"].as_str().unwrap_or_default() {
            "message_start" if self.later => {}
            "content_block_start" => self.opened(value, &event.raw, ear, out),
            "message_delta" => self.ended(value, &event.raw, ear, out),
            "message_stop" => {
                self.stop = event.raw.clone();
                return Heard::End;
            }
            _ if value["index"].is_u64() => self.numbered(value, &event.raw, out),
            _ => self.beside(&event.raw, out),
        }
        Heard::More
    }

    fn take(&mut self) -> Said {
        self.rest = self.words.as_mut().map(Sieved::finish).unwrap_or_default();
        self.gathered.clone().said()
    }

    fn begin(&mut self, hides_markers: bool, out: &mut BytesMut) {
        self.words.iter_mut().for_each(|words| words.end(out));
        out.extend_from_slice(&self.after);
        let words = self.words.take().or(hides_markers.then(Sieved::default));
        *self = Self { next: self.next, words, later: true, ..Self::new(false) };
    }

    fn close(&mut self, left: &Said, out: &mut BytesMut) {
        if let Some(words) = &mut self.words {
            words.say(&std::mem::take(&mut self.rest), &mut self.next, out);
            words.end(out);
        }
        if let Some(last) = self.kept_back.take() {
            out.extend_from_slice(&self.last(last, left));
            out.extend_from_slice(&self.after.split());
        }
        out.extend_from_slice(&std::mem::take(&mut self.stop));
    }

    fn has_ended(&self) -> bool {
        self.gathered.stop.is_some() || !self.stop.is_empty()
    }

    fn fail(&mut self, why: &str, out: &mut BytesMut) {
        let told = serde_json::from_str::<Value>(why).ok().filter(|told| told["type"] == "error");
        let told = told.unwrap_or_else(|| Messages.error(ErrorKind::Upstream, "upstream_failed", why));
        out.extend_from_slice(&event_of(&told));
    }
}
