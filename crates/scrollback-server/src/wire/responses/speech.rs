//! Replies as whole bodies.

use bytes::Bytes;
use serde_json::Value;

use super::relay::Items;
use super::{answer, echo, items};
use crate::wire::edit::openai_error;
use crate::wire::said::{End, Said};
use crate::wire::{Echo, ErrorKind, Output, Own, Relay, Speech};

/// How replies are read and written here.
pub(super) struct Outputs;

impl Speech for Outputs {
    fn read(&self, body: &[u8]) -> Option<Said> {
        let response: Value = serde_json::from_slice(body).ok()?;
        let output = response["output"].as_array()?;
        let ended = ended(&response);
        ended.end.map(|_| Said { pieces: items::pieces(output), ..ended })
    }

    fn edited(&self, body: &[u8], said: &Said, earlier: Output) -> Bytes {
        let Ok(mut response) = serde_json::from_slice::<Value>(body) else { return Bytes::copy_from_slice(body) };
        response["output"] = self.messages(said).into();
        items::add_output(&mut response, earlier);
        response.to_string().into()
    }

    fn restored(&self, body: Bytes, echo: &Echo) -> Bytes {
        echo::restored(body, echo)
    }

    fn messages(&self, said: &Said) -> Vec<Value> {
        said.pieces.iter().filter_map(items::item).collect()
    }

    fn own(&self, own: &Own<'_>) -> Bytes {
        answer::written(own)
    }

    fn error(&self, kind: ErrorKind, code: &str, what: &str) -> Value {
        openai_error(kind, code, what)
    }

    fn relay(&self, hides_markers: bool) -> Box<dyn Relay> {
        Box::new(Items::new(hides_markers))
    }
}

/// What a response says of itself, without its items.
pub(super) fn ended(response: &Value) -> Said {
    let status = response["status"].as_str();
    let end = match status {
        Some("completed") | None => Some(End::Whole),
        Some("incomplete") => Some(End::Cut),
        // One that is still made elsewhere has not ended, one that failed is no reply.
        Some(_) => None,
    };
    Said {
        id: response["id"].as_str().map(str::to_owned),
        pieces: Vec::new(),
        end,
        usage: response.get("usage").filter(|usage| usage.is_object()).cloned(),
        failed: matches!(status, Some("failed" | "cancelled")),
        ..Said::default()
    }
}
