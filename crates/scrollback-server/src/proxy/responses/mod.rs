//! What APIs offer beside replies, answered from the log: counts of tokens, and of the Responses API conversations that
//! have a name, compactions that lose nothing, and replies in the background, which it takes when they are fetched. What
//! the log does not know is left to the upstream.

mod compact;
mod conversations;
mod fetched;
mod items;
mod referred;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use futures_util::FutureExt;
use scrollback::Error;
use scrollback::message::value_of;
use scrollback::store::Stored;
use serde_json::{Value, json};

use super::{BROKEN, Incoming, Proxy, error, pass, refused};
use crate::upstream::Upstream;
use crate::wire::responses::{Responses, holds_ours};
pub(super) use fetched::{awaited, awaited_in};
pub(super) use items::Items;

/// What such a request comes to: an answer of ours, or `None` if it is not for us.
type Answered = scrollback::Result<Option<Response<Body>>>;

impl Proxy {
    /// Answers what is asked of the log and not of a model.
    pub(super) async fn served(self: &Arc<Self>, upstream: &Upstream, incoming: &Incoming) -> Option<Response<Body>> {
        let (path, query) = incoming.path.split_once('?').unwrap_or((&incoming.path, ""));
        let places: Vec<&str> = path.trim_matches('/').split('/').collect();
        let asked = (incoming.method.as_str(), &places[..]);
        let answered = AssertUnwindSafe(self.told_by_the_log(asked, query, upstream, incoming)).catch_unwind().await;
        let what = match answered {
            Ok(Ok(answered)) => return answered,
            Ok(Err(what)) => what,
            Err(_) => Error::Store { what: BROKEN.into(), source: None },
        };
        if let Error::Invalid(what) = &what {
            return Some(refused(&Responses, "invalid_request", what));
        }
        if let Error::TooLarge(what) = &what {
            return Some(refused(&Responses, "context_length_exceeded", what));
        }
        // What we do not know or fail at, the upstream may know and do all the same, if it can read it.
        if !matches!(places[..], ["conversations", ..]) && !holds_ours(&incoming.body) {
            return Some(Self::troubled(upstream, incoming.clone(), &what.to_string()).await);
        }
        let unknown = matches!(what, Error::NotFound(_));
        let (status, code) =
            if unknown { (StatusCode::NOT_FOUND, "not_found") } else { (StatusCode::INTERNAL_SERVER_ERROR, "trouble") };
        Some(error(&Responses, status, code, &what.to_string()))
    }

    async fn told_by_the_log(
        self: &Arc<Self>,
        asked: (&str, &[&str]),
        query: &str,
        upstream: &Upstream,
        incoming: &Incoming,
    ) -> Answered {
        let whose = &incoming.tenant;
        match asked {
            ("POST", ["conversations"]) => self.create(whose, &incoming.body).await,
            ("GET", ["conversations", id]) => self.conversation(whose, id).await,
            ("POST", ["conversations", id]) => self.describe(whose, id, &incoming.body).await,
            ("GET", ["conversations", id, "items"]) => self.listed(whose, id, query).await,
            ("POST", ["conversations", id, "items"]) => self.add(whose, id, &incoming.body).await,
            ("GET", ["conversations", id, "items", item]) => self.one(whose, id, item).await,
            ("DELETE", ["conversations", id, rest @ ..]) => self.deleted(whose, id, rest.is_empty()).await,
            ("GET", ["responses", id]) => self.fetch(upstream, incoming, id).await,
            ("POST", ["responses", "compact"]) => self.compact(upstream, incoming).await,
            _ => Ok(None),
        }
    }
}

fn told(value: &Value) -> Response<Body> {
    pass::json(StatusCode::OK, value)
}

/// The body of a request; an empty one says nothing.
fn read(body: &Bytes) -> scrollback::Result<Value> {
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    let value: Value = serde_json::from_slice(body)
        .map_err(|cause| Error::Invalid(format!("the body must be a JSON object: {cause}")))?;
    if value.is_object() { Ok(value) } else { Err(Error::Invalid("the body must be a JSON object".into())) }
}

/// A message as an item that is told: with an id, a type, and content in parts.
fn item(stored: &Stored) -> Value {
    let mut item: Value = value_of(stored.raw.get()).unwrap_or_default();
    if item["role"].is_string() {
        let kind = if item["role"] == "assistant" { "output_text" } else { "input_text" };
        let text = item["content"].as_str().map(|text| json!([{"type": kind, "text": text}]));
        item["content"] = text.unwrap_or_else(|| item["content"].clone());
    }
    for (name, value) in
        [("type", "message".to_owned()), ("id", format!("item_{}", stored.id.0)), ("status", "completed".to_owned())]
    {
        if item[name].is_null() {
            item[name] = value.into();
        }
    }
    item
}
