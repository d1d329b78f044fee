//! Streams of events for people's programs: `event: name` and a line of JSON.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde_json::Value;

/// Events that are still coming, as they are sent.
pub(super) fn response(events: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An event. JSON is written on one line, so it needs no other escape.
pub(super) fn event(name: &str, told: &Value) -> Bytes {
    format!("event: {name}\ndata: {told}\n\n").into()
}

/// The first of a stream, by which whoever comes back is known: browsers send the id they saw last.
pub(super) fn opening(words: &str) -> Bytes {
    format!("id: {words}\n: {words}\n\n").into()
}

/// A sign of life, which is no event.
pub(super) fn comment(words: &str) -> Bytes {
    format!(": {words}\n\n").into()
}
