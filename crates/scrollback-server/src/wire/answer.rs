//! A reply that no model made, in the shape of those that models make.

use bytes::Bytes;
use serde_json::{Value, json};

use super::sse;

/// What is said, and as whose words.
#[derive(Debug)]
pub(crate) struct Own<'a> {
    pub(crate) id: &'a str,
    pub(crate) model: &'a str,
    pub(crate) message: &'a Value,
    pub(crate) finish: &'a str,
    /// What it cost, where that is told.
    pub(crate) usage: Option<Value>,
}

impl Own<'_> {
    /// The kind of its body, and the body: one piece, or the events of a stream.
    pub(crate) fn written(&self, streams: bool) -> (&'static str, Bytes) {
        if streams { ("text/event-stream", self.streamed()) } else { ("application/json", self.plain()) }
    }

    fn plain(&self) -> Bytes {
        let choice = json!({"index": 0, "message": self.message, "finish_reason": self.finish});
        let mut body = self.envelope("chat.completion", &json!([choice]));
        if let Some(usage) = &self.usage {
            body["usage"] = usage.clone();
        }
        body.to_string().into()
    }

    fn streamed(&self) -> Bytes {
        let chunk = |delta: &Value, finish: Option<&str>| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
            self.envelope("chat.completion.chunk", &json!([choice]))
        };
        let mut chunks = vec![chunk(self.message, None), chunk(&json!({}), Some(self.finish))];
        chunks.extend(self.usage.as_ref().map(|usage| {
            let mut last = self.envelope("chat.completion.chunk", &json!([]));
            last["usage"] = usage.clone();
            last
        }));
        let events = chunks.iter().map(|chunk| sse::written(&chunk.to_string())).chain([sse::written("[DONE]")]);
        events.collect::<Vec<_>>().concat().into()
    }

    fn envelope(&self, object: &str, choices: &Value) -> Value {
        json!({"id": self.id, "object": object, "created": 0, "model": self.model, "choices": choices})
    }
}
