//! `POST /v1/summarize`: any conversation in few words. Nothing of it is stored.

use axum::http::Method;
use bytes::Bytes;
use scrollback::Engine;
use scrollback::engine::Wanted;
use scrollback::log::History;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Refusal;
use super::context::posted;

/// Where summaries are written.
pub(super) const PATH: &str = "/v1/summarize";

/// A shorter summary says nothing.
const LEAST_TOKENS: u32 = 50;

/// What a client asks for.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    style: Option<String>,
    #[serde(default)]
    model: Option<String>,
}

/// Sums up the messages of a request.
pub(super) async fn answer(engine: &Engine, method: &Method, body: &Bytes) -> Result<Value, Refusal> {
    posted(method, PATH)?;
    let like = r#"{"messages": [{"role": "user", "content": "…"}], "max_tokens": 400, "style": "auto"}"#;
    let bad = |error| Refusal::invalid(format!("the body is not understood ({error}); it looks like {like}"));
    let asked: Asked<'_> = serde_json::from_slice(body).map_err(bad)?;
    let style = asked.style.as_deref().unwrap_or("auto");
    if !["auto", "general", "technical"].contains(&style) {
        return Err(Refusal::invalid(format!("“{style}” is no style: there are general, technical and auto")));
    }
    if asked.max_tokens.is_some_and(|most| most < LEAST_TOKENS) {
        return Err(Refusal::invalid(format!("max_tokens is at least {LEAST_TOKENS}")));
    }
    if !are_messages(asked.messages.get()) {
        return Err(Refusal::invalid(format!("“messages” is a list of objects; the body looks like {like}")));
    }
    let model = asked.model.as_deref().unwrap_or_default();
    let wanted = Wanted { most_tokens: asked.max_tokens, style, model };
    let summary = engine.summarise(&History::parse(asked.messages.get())?, wanted).await?;
    let messages = summary.covers.count();
    Ok(
        json!({"summary": summary.text, "kept": summary.kept, "lost": summary.lost, "by": summary.by, "messages": messages}),
    )
}

/// Whether the entries of a list are objects: lists would be read as the fields of a message, in some order. What is no
/// list is told by whoever reads it.
fn are_messages(text: &str) -> bool {
    let messages: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    messages.iter().all(|message| message.get().starts_with('{'))
}
