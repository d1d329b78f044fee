//! The words of a reply whose model recalls by writing: what it writes to us is kept back, and a block begins only when
//! there is something to say in it.

use bytes::BytesMut;
use scrollback::recall::Sieve;
use serde_json::{Value, json};

use crate::wire::sse::event_of;

/// Words on their way through a sieve.
#[derive(Default)]
pub(super) struct Sieved {
    sieve: Sieve,
    /// The client's number of the block that is open, if one is.
    open: Option<u64>,
    /// What belongs to words that may not be shown yet.
    waiting: Vec<Value>,
}

impl Sieved {
    /// Says a piece, as far as it may be shown.
    pub(super) fn push(&mut self, text: &str, next: &mut u64, out: &mut BytesMut) {
        let shown = self.sieve.push(text);
        self.say(&shown, next, out);
    }

    /// Says what was kept back and was no call, if anything.
    pub(super) fn say(&mut self, text: &str, next: &mut u64, out: &mut BytesMut) {
        if text.is_empty() {
            return;
        }
        let index = self.open.unwrap_or_else(|| {
            let index = *next;
            *next += 1;
            let block = json!({"type": "text", "text": ""});
            put(&json!({"type": "content_block_start", "index": index, "content_block": block}), out);
            index
        });
        self.open = Some(index);
        let delta = json!({"type": "text_delta", "text": text});
        put(&json!({"type": "content_block_delta", "index": index, "delta": delta}), out);
        for event in std::mem::take(&mut self.waiting) {
            self.beside(event, out);
        }
    }

    /// Passes on what belongs to the words and is none, such as where they are quoted from, once there are words.
    pub(super) fn beside(&mut self, mut event: Value, out: &mut BytesMut) {
        match self.open {
            Some(index) => {
                event["index"] = index.into();
                put(&event, out);
            }
            None => self.waiting.push(event),
        }
    }

    /// Ends the block that is open.
    pub(super) fn end(&mut self, out: &mut BytesMut) {
        self.waiting.clear();
        if let Some(index) = self.open.take() {
            put(&json!({"type": "content_block_stop", "index": index}), out);
        }
    }

    /// The round has ended; the next one is read from its beginning. Returns what was kept back and is no call.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.sieve).finish().text
    }
}

fn put(value: &Value, out: &mut BytesMut) {
    out.extend_from_slice(&event_of(value));
}
