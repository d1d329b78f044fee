//! The helper model over HTTP, for tasks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use scrollback::Error;
use scrollback::task::{Model, Question, Said};
use serde_json::{Value, json};

use crate::upstream::{Outgoing, Upstream};

/// A model of an upstream, asked one question at a time.
pub(crate) struct Helper {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) model: String,
    pub(crate) timeout: Duration,
}

#[async_trait]
impl Model for Helper {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        let asked = tokio::time::timeout(self.timeout, self.asked(question)).await;
        asked.unwrap_or_else(|_| Err(failed("it did not answer in time")))
    }
}

impl Helper {
    async fn asked(&self, question: &Question) -> scrollback::Result<Said> {
        let messages =
            json!([{"role": "system", "content": question.instructions}, {"role": "user", "content": question.text}]);
        let body = json!({"model": self.model, "messages": messages, "max_tokens": question.most_tokens});
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let (path, body) = ("/chat/completions", body.to_string().into());
        let outgoing = Outgoing { method: Method::POST, path, headers: &headers, body };
        let answer = self.upstream.send(outgoing).await.map_err(|silence| failed(&silence.to_string()))?;
        let status = answer.status;
        let body = answer.body.all().await.map_err(|error| failed(&error.to_string()))?;
        let reply: Value = serde_json::from_slice(&body).map_err(|error| failed(&error.to_string()))?;
        let text = reply["choices"][0]["message"]["content"].as_str();
        let text = text.ok_or_else(|| failed(&format!("it answered {status} without any words")))?;
        let count = |name: &str| reply["usage"][name].as_u64().and_then(|tokens| u32::try_from(tokens).ok());
        Ok(Said {
            text: text.to_owned(),
            input_tokens: count("prompt_tokens").unwrap_or(0),
            output_tokens: count("completion_tokens").unwrap_or(0),
        })
    }
}

fn failed(why: &str) -> Error {
    Error::Model { what: format!("the helper model failed: {why}"), source: None }
}
