//! Replies as whole bodies.

use bytes::Bytes;
use serde_json::{Value, json};

use super::answer;
use super::relay::Blocks;
use super::reply::Gathered;
use crate::wire::edit::add_counts;
use crate::wire::said::{Piece, Said};
use crate::wire::{ErrorKind, Output, Own, Relay, Speech};

/// How replies are read and written here.
pub(super) struct Messages;

impl Speech for Messages {
    fn read(&self, body: &[u8]) -> Option<Said> {
        Gathered::whole(body).map(Gathered::said)
    }

    fn edited(&self, body: &[u8], said: &Said, earlier: Output) -> Bytes {
        let Ok(mut reply) = serde_json::from_slice::<Value>(body) else { return Bytes::copy_from_slice(body) };
        reply["content"] = content(said);
        reply.get_mut("stop_reason").into_iter().for_each(|stop| end(stop, said));
        reply.get_mut("usage").into_iter().for_each(|usage| add_output(usage, earlier));
        reply.to_string().into()
    }

    fn messages(&self, said: &Said) -> Vec<Value> {
        vec![json!({"role": "assistant", "content": content(said)})]
    }

    fn own(&self, own: &Own<'_>) -> Bytes {
        answer::written(own)
    }

    fn error(&self, kind: ErrorKind, code: &str, what: &str) -> Value {
        let kind = match kind {
            ErrorKind::Request => "invalid_request_error",
            ErrorKind::Upstream => "api_error",
        };
        // Clients pass over fields that they do not know; whoever reads codes finds it where the other dialects have
        // it.
        json!({"type": "error", "error": {"type": kind, "message": what, "code": code}})
    }

    fn relay(&self, hides_markers: bool) -> Box<dyn Relay> {
        Box::new(Blocks::new(hides_markers))
    }
}

/// The blocks of what was said. A block of words that says nothing would be refused when it comes back.
fn content(said: &Said) -> Value {
    said.pieces.iter().filter_map(block).collect()
}

fn block(piece: &Piece) -> Option<Value> {
    match piece {
        Piece::Words { text, .. } if text.is_empty() => None,
        Piece::Words { text, value } if value["text"] == **text => Some(value.clone()),
        Piece::Words { text, value } => {
            let mut value = value.clone();
            value["text"] = text.clone().into();
            Some(value)
        }
        Piece::Call(call) => Some(call.value.clone()),
        Piece::Other(value) => Some(value.clone()),
    }
}

/// A reply that waits for no result any more has simply ended.
pub(super) fn end(stop_reason: &mut Value, left: &Said) {
    if *stop_reason == "tool_use" && left.calls().next().is_none() {
        *stop_reason = "end_turn".into();
    }
}

/// Adds the output of earlier rounds to reported usage; their input is not, as clients size their window by it.
pub(super) fn add_output(usage: &mut Value, earlier: Output) {
    add_counts(usage, &[("/output_tokens", earlier.tokens)]);
}
