//! MCP over HTTP, on the server's own port. Every request stands for itself, in every revision: no session is kept, no
//! stream stays open, so a client may go on after a restart and the server can stop at any time.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::routing::any;
use bytes::Bytes;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Reader, fault, stdio};
use crate::access;
use crate::api::{self, Refusal};
use crate::proxy::Proxy;
use crate::serve::body;

/// No request is larger: it names a session and some words.
const BODY_BYTES: usize = 4 << 20;
/// Headers that repeat what the body says, for whoever routes without reading it.
const REPEATED: [&str; 3] = ["mcp-protocol-version", "mcp-method", "mcp-name"];
/// The protocol's code for headers that do not agree with the body.
const HEADER_MISMATCH: ErrorCode = ErrorCode(-32020);
/// No batch has more requests.
const BATCH: usize = 50;
/// What is asked and answered.
const JSON: &str = "application/json";

type Protocol = StreamableHttpService<Reader, NeverSessionManager>;

#[derive(Clone)]
struct Door {
    api: api::Door,
    settings: StreamableHttpServerConfig,
}

/// The route, for a server.
pub(crate) fn router(proxy: &Arc<Proxy>) -> Router {
    // Who may ask was decided before, by the same rule as on every other route.
    let settings = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    Router::new().route("/mcp", any(asked)).with_state(Door { api: api::Door::new(proxy), settings })
}

async fn asked(State(door): State<Door>, request: Request) -> Response<Body> {
    Box::pin(answered(door, request)).await.unwrap_or_else(|refusal| refusal.response())
}

async fn answered(door: Door, request: Request) -> Result<Response<Body>, Refusal> {
    let (mut parts, body) = request.into_parts();
    readable(&parts)?;
    let body = body::read(body, BODY_BYTES, &parts).await.map_err(of_mcp)?;
    if serde_json::from_slice::<IgnoredAny>(&body).is_err() {
        return Ok(faulty(&Value::Null, ErrorCode::PARSE_ERROR, "the body is no JSON"));
    }
    if let Some(name) = repeated(&parts.headers) {
        return Ok(faulty(&id_of(&body), HEADER_MISMATCH, &format!("the header {name} is there more than once")));
    }
    // Every answer is JSON; whoever takes that need not take streams too.
    parts.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    // Each request has a reader of its own, for the conversations of whoever asks.
    let reader = Reader::of(Arc::new(door.api.room(&parts)?));
    let protocol = Protocol::new(move || Ok(reader.clone()), Arc::default(), door.settings);
    match stdio::batch(&body) {
        Some(requests) => all(&protocol, &parts, &requests).await,
        None => Ok(one(&protocol, parts, body).await),
    }
}

/// That a request can be one of the protocol.
fn readable(parts: &Parts) -> Result<(), Refusal> {
    body::is_plain(&parts.headers)?;
    let said = |name: HeaderName| parts.headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
    let (accepts, kind) = (said(header::ACCEPT).unwrap_or("*/*"), said(header::CONTENT_TYPE).unwrap_or_default());
    if parts.method != Method::POST {
        let what = format!("/mcp takes POST, not {}: no stream stays open, and no session is kept", parts.method);
        let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", what);
        return Err(refusal.with(header::ALLOW, "POST"));
    }
    if !kind.trim_start().to_ascii_lowercase().starts_with(JSON) {
        let what = "a request to /mcp is JSON: send it with `Content-Type: application/json`";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", what));
    }
    if ![JSON, "application/*", "*/*"].iter().any(|taken| accepts.to_ascii_lowercase().contains(taken)) {
        let what = "every answer of /mcp is JSON: send `Accept: application/json, text/event-stream`";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", what));
    }
    Ok(())
}

async fn one(protocol: &Protocol, parts: Parts, body: Bytes) -> Response<Body> {
    let id = id_of(&body);
    let response = protocol.handle(Request::from_parts(parts, Body::from(body))).await;
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        // It is JSON, as we have seen.
        return faulty(&id, ErrorCode::INVALID_REQUEST, "this is no request of the protocol (JSON-RPC 2.0)");
    }
    response.map(Body::new)
}

/// The answers to a batch, as clients of the revision 2025-03-26 may send one.
async fn all(protocol: &Protocol, parts: &Parts, requests: &[&RawValue]) -> Result<Response<Body>, Refusal> {
    if requests.len() > BATCH {
        let what = format!("a batch has at most {BATCH} requests, not {}", requests.len());
        return Ok(faulty(&Value::Null, ErrorCode::INVALID_REQUEST, &what));
    }
    access::counted(&api::guest(parts)?, requests.len())?;
    let mut answers = Vec::new();
    for request in requests {
        let response = one(protocol, parts.clone(), Bytes::from(request.get().to_owned())).await;
        let answer = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        answers.extend(serde_json::from_slice::<Box<RawValue>>(&answer));
    }
    if answers.is_empty() {
        let mut nothing = Response::new(Body::empty());
        *nothing.status_mut() = StatusCode::ACCEPTED;
        return Ok(nothing);
    }
    Ok(json_of(StatusCode::OK, serde_json::to_string(&answers)?))
}

/// A refusal that names no setting, as there is none.
fn of_mcp(refusal: Refusal) -> Refusal {
    if refusal.status != StatusCode::PAYLOAD_TOO_LARGE {
        return refusal;
    }
    let message = format!("a request to /mcp has at most {} MB: it names a session and some words", BODY_BYTES >> 20);
    Refusal { message, ..refusal }
}

/// A header that may be there once and is there twice: one reader would take the first, another the last.
fn repeated(headers: &HeaderMap) -> Option<&'static str> {
    REPEATED.into_iter().find(|name| headers.get_all(*name).iter().count() > 1)
}

fn id_of(body: &[u8]) -> Value {
    serde_json::from_slice::<Value>(body).map_or(Value::Null, |request| request["id"].clone())
}

/// An error of the protocol.
fn faulty(id: &Value, code: ErrorCode, message: &str) -> Response<Body> {
    json_of(StatusCode::BAD_REQUEST, fault(id, code, message))
}

fn json_of(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}
