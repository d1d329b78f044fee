//! Replies with something changed in them, and what can be told from one that refuses.

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::reply::Gathered;

/// A JSON value as text.
pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("a JSON value is valid JSON")
}

/// Whether a refusal says that the request is too long.
pub(crate) fn is_overflow(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&body[..body.len().min(4_096)]).to_ascii_lowercase();
    let signs = [
        "context_length_exceeded",
        "maximum context length",
        "context window",
        "prompt is too long",
        "too many tokens",
    ];
    signs.iter().any(|sign| text.contains(sign))
}

/// Why a reply ended, once calls of ours are taken out of it.
pub(crate) fn stopped(gathered: &Gathered, theirs: &[Value]) -> Option<&'static str> {
    (theirs.is_empty() && gathered.finish.as_deref() == Some("tool_calls")).then_some("stop")
}

/// A whole reply's body with the output of earlier rounds counted in; their input is not, as clients size their window by it.
pub(crate) fn summed(body: Bytes, earlier: u64) -> Bytes {
    if earlier == 0 {
        return body;
    }
    let reply = serde_json::from_slice::<Value>(&body).ok().filter(|reply| reply["usage"].is_object());
    let Some(mut reply) = reply else { return body };
    add_output(&mut reply, earlier);
    reply.to_string().into()
}

/// Adds the output of earlier rounds to reported usage.
pub(crate) fn add_output(reply: &mut Value, earlier: u64) {
    for name in ["completion_tokens", "total_tokens"] {
        if let Some(tokens) = reply["usage"][name].as_u64() {
            reply["usage"][name] = (tokens + earlier).into();
        }
    }
}

/// A reply's body with another message in it.
pub(crate) fn edited(body: &[u8], message: &Value, finish: Option<&str>) -> Bytes {
    let Ok(mut reply) = serde_json::from_slice::<Value>(body) else { return Bytes::copy_from_slice(body) };
    reply["choices"][0]["message"] = message.clone();
    if let Some(finish) = finish {
        reply["choices"][0]["finish_reason"] = finish.into();
    }
    reply.to_string().into()
}
