//! What dialects do alike when they write.

use std::borrow::Cow;

use axum::http::StatusCode;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::ErrorKind;

/// What stands for results that are held together with an earlier one of the same message.
pub(crate) const HELD_TOO: &str = "Held with the result above.";

/// What stands in the place of a result that never came.
pub(crate) const UNANSWERED: &str = "No result of this call is known.";

/// What stands before a result that is told in words: its call is folded, or another reply came between.
pub(crate) fn of_earlier(id: &str) -> String {
    format!("The result of the earlier call {id}:")
}

/// A JSON value as text.
pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("a JSON value is valid JSON")
}

/// A JSON array of values that are JSON already.
pub(crate) fn array<'a>(values: impl Iterator<Item = Cow<'a, str>>) -> String {
    let mut out = String::new();
    for value in values {
        out.push(if out.is_empty() { '[' } else { ',' });
        out.push_str(&value);
    }
    out.push_str(if out.is_empty() { "[]" } else { "]" });
    out
}

/// Adds to the counts that a reply tells, where it tells them.
pub(crate) fn add_counts(reply: &mut Value, counts: &[(&str, u64)]) {
    for (place, more) in counts {
        if let Some(count) = reply.pointer_mut(place)
            && let Some(told) = count.as_u64()
        {
            *count = (told + more).into();
        }
    }
}

/// The tokens that a reported usage says were thought and not said.
pub(crate) fn reasoning_tokens(usage: &Value) -> u64 {
    let details = [&usage["output_tokens_details"], &usage["completion_tokens_details"]];
    details.into_iter().find_map(|details| details["reasoning_tokens"].as_u64()).unwrap_or(0)
}

/// A text of ours, with the name of the session where the model has to say it to recall something.
pub(crate) fn addressed<'t>(text: &'t str, handle: Option<&str>) -> Cow<'t, str> {
    match handle {
        Some(handle) => format!("{text}\n{}", addressing(handle)).into(),
        None => text.into(),
    }
}

/// What a model has to say to recall something of a session.
pub(crate) fn addressing(handle: &str) -> String {
    format!("(Call the tools of Scrollback with session = \"{handle}\".)")
}

/// An error of ours, as OpenAI writes errors.
pub(crate) fn openai_error(kind: ErrorKind, code: &str, what: &str) -> Value {
    let kind = match kind {
        ErrorKind::Request => "invalid_request_error",
        ErrorKind::Upstream => "upstream_error",
    };
    json!({"error": {"message": what, "type": kind, "param": null, "code": code}})
}

/// Whether a refusal says that the request is too long. One that says so of tokens in a minute is another matter.
pub(crate) fn is_overflow(status: StatusCode, body: &[u8]) -> bool {
    let may = [
        StatusCode::BAD_REQUEST,
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::UNPROCESSABLE_ENTITY,
        StatusCode::INTERNAL_SERVER_ERROR,
    ];
    if !may.contains(&status) {
        return false;
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(4_096)]).to_ascii_lowercase();
    let signs = [
        "context_length_exceeded",
        "too much media",
        "many-image requests",
        "maximum context length",
        "context window",
        "exceed context limit",
        "prompt is too long",
        "too many tokens",
        "available context size",
        "exceed_context_size",
        "context size has been exceeded",
        "exceeds the maximum number of tokens",
        "maximum prompt length is",
        "reduce the length of the messages",
        "input is too long for requested model",
        "greater than the context length",
        "exceeded model token limit",
        "longer than the model's context length",
        "longer than the maximum model length",
        "context the overflows",
        "model_max_prompt_tokens_exceeded",
    ];
    // Pictures and documents have more bytes than tokens.
    let bytes = ["request_too_large", "request entity too large", "maximum allowed number of bytes"];
    let too_heavy = status == StatusCode::PAYLOAD_TOO_LARGE && bytes.iter().any(|sign| text.contains(sign));
    too_heavy || signs.iter().any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_several_servers_are_understood() {
        let said = [
            (400, "This model's maximum context length is 8192 tokens."),
            (400, "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it"),
            (400, "The input token count (40000) exceeds the maximum number of tokens allowed (32768)."),
            (413, "prompt is too long: 210000 tokens > 200000 maximum"),
            (500, "Context size has been exceeded."),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
            (400, "The input (516368 tokens) is longer than the model's context length (262144 tokens)."),
            (400, "The decoder prompt (length 9254) is longer than the maximum model length of 4096."),
            (400, "Trying to keep the first 5406 tokens when context the overflows."),
            (413, r#"{"error":{"code":"model_max_prompt_tokens_exceeded"}}"#),
        ];
        for (status, text) in said {
            assert!(is_overflow(StatusCode::from_u16(status).unwrap(), text.as_bytes()), "{text}");
        }
        assert!(!is_overflow(StatusCode::TOO_MANY_REQUESTS, b"too many tokens in this minute"));
        let a_minute = b"Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 7000";
        assert!(!is_overflow(StatusCode::PAYLOAD_TOO_LARGE, a_minute));
        assert!(!is_overflow(StatusCode::BAD_REQUEST, b"unknown model"));
    }
}
