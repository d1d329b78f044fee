//! What some models do not take, learned from their refusals.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::Value;

/// What an upstream's models do not take.
#[derive(Debug, Default)]
pub(super) struct Quirks {
    temperature: AtomicBool,
    max_tokens: AtomicBool,
}

impl Quirks {
    /// Learns from a refusal what is not taken; whether the same request can be sent without it.
    pub(super) fn learn(&self, status: StatusCode, refusal: &[u8], sent: &[u8]) -> bool {
        let Ok(sent) = serde_json::from_slice::<Value>(sent) else { return false };
        let text = String::from_utf8_lossy(refusal);
        let is_meant = |field: &str, words: &[&str]| {
            let is_named = words.iter().all(|word| text.contains(word));
            status == StatusCode::BAD_REQUEST && is_named && sent.get(field).is_some()
        };
        let max_tokens = is_meant("max_tokens", &["max_tokens", "max_completion_tokens"]);
        let temperature = !max_tokens && is_meant("temperature", &["temperature"]);
        // What one call has learned, others that were under way need not.
        self.max_tokens.fetch_or(max_tokens, Ordering::Relaxed);
        self.temperature.fetch_or(temperature, Ordering::Relaxed);
        max_tokens || temperature
    }

    /// A request without what is not taken.
    pub(super) fn adapted(&self, body: &Bytes) -> Bytes {
        let (temperature, max_tokens) =
            (self.temperature.load(Ordering::Relaxed), self.max_tokens.load(Ordering::Relaxed));
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(body) else { return body.clone() };
        if !temperature && !max_tokens {
            return body.clone();
        }
        if temperature {
            fields.remove("temperature");
        }
        if let Some(most) = fields.remove("max_tokens") {
            fields.insert(if max_tokens { "max_completion_tokens" } else { "max_tokens" }.into(), most);
        }
        Value::Object(fields).to_string().into()
    }
}
