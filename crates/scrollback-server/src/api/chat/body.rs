//! A person's message as a request in an upstream's dialect: one message, and for a new session its instructions.

use axum::http::{HeaderName, HeaderValue};
use serde_json::json;

use crate::wire::WireName;

/// What is said.
pub(super) struct Said<'a> {
    pub(super) model: &'a str,
    pub(super) instructions: Option<&'a str>,
    pub(super) message: &'a str,
    /// How long the reply may be, where the dialect must say.
    pub(super) reply_tokens: u32,
}

/// The request's body.
pub(super) fn written(wire: WireName, said: &Said<'_>) -> String {
    let message = json!({"role": "user", "content": said.message});
    let mut body = json!({"model": said.model, "stream": true});
    match wire {
        WireName::Chat => {
            let system = said.instructions.map(|text| json!({"role": "system", "content": text}));
            body["messages"] = system.into_iter().chain([message]).collect();
            body["stream_options"] = json!({"include_usage": true});
        }
        WireName::Anthropic => {
            body["max_tokens"] = said.reply_tokens.into();
            body["messages"] = json!([message]);
            if let Some(text) = said.instructions {
                body["system"] = text.into();
            }
        }
        WireName::Responses => {
            // Nothing need be kept elsewhere that we keep.
            body["store"] = false.into();
            body["input"] = json!([message]);
            if let Some(text) = said.instructions {
                body["instructions"] = text.into();
            }
        }
    }
    body.to_string()
}

/// What the dialect wants beside the body.
pub(super) fn headers(wire: WireName) -> Option<(HeaderName, HeaderValue)> {
    let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
    (wire == WireName::Anthropic).then_some(version)
}
