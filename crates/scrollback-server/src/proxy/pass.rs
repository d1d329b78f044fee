//! Sends a request on as it came: what is no chat, what we cannot read, and what we failed at.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use super::{Incoming, TROUBLE_HEADER, error, shared};
use crate::upstream::{Answer, AnswerBody, Outgoing, Silence, Upstream};
use crate::wire::chat::Chat;
use crate::wire::{self, Wire};

/// What has come has this long to go out before the connection is cut, as it was on the other side.
const BEFORE_AN_END: Duration = Duration::from_millis(20);

/// The answer to the request as it came; `trouble` is told beside it.
pub(super) async fn as_it_is(upstream: &Upstream, incoming: Incoming, trouble: Option<&str>) -> Response<Body> {
    if let Some(response) = shared::refused(upstream, &incoming) {
        return response;
    }
    let Incoming { method, path, headers, body, .. } = incoming;
    let mut response = match upstream.send(Outgoing { method, path: &path, headers: &headers, body }).await {
        Ok(answer) => answered(answer),
        Err(silence) => silent(wire::of_path(&path).unwrap_or(&Chat), &upstream.name, &silence),
    };
    let trouble = trouble.map(|trouble| trouble.replace(|c: char| c.is_control() || !c.is_ascii(), " "));
    if let Some(value) = trouble.and_then(|trouble| HeaderValue::from_str(&trouble).ok()) {
        response.headers_mut().insert(TROUBLE_HEADER, value);
    }
    response
}

/// An upstream's answer, as it is.
pub(super) fn answered(answer: Answer) -> Response<Body> {
    let Answer { status, headers, body } = answer;
    let body = match body {
        AnswerBody::Ready(bytes) => Body::from(bytes.unwrap_or_default()),
        coming @ AnswerBody::Coming(..) => Body::from_stream(stream::unfold(coming, |mut coming| async {
            let chunk = coming.chunk().await.transpose()?;
            Some((after_what_came(chunk).await, coming))
        })),
    };
    with(status, headers, body)
}

/// A piece of a body. An error ends the connection at once, with whatever is not sent yet, so it waits for that.
pub(super) async fn after_what_came(piece: Result<Bytes, std::io::Error>) -> Result<Bytes, std::io::Error> {
    if piece.is_err() {
        tokio::time::sleep(BEFORE_AN_END).await;
    }
    piece
}

pub(super) fn with(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// An answer of ours.
pub(super) fn json(status: StatusCode, value: &Value) -> Response<Body> {
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    with(status, HeaderMap::from_iter([kind]), Body::from(value.to_string()))
}

/// What is said when an upstream says nothing.
pub(super) fn silent(wire: &dyn Wire, name: &str, silence: &Silence) -> Response<Body> {
    let what = format!("the upstream “{name}” failed: {silence}");
    match silence {
        Silence::Late => error(wire, StatusCode::GATEWAY_TIMEOUT, "upstream_timeout", &what),
        Silence::Unreachable(_) | Silence::Broken(_) => {
            error(wire, StatusCode::BAD_GATEWAY, "upstream_unreachable", &what)
        }
    }
}
