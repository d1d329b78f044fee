//! MCP over HTTP, on the server's own port. Every request stands for itself, in every revision: no session is kept, no
//! stream stays open, so a client may go on after a restart and the server can stop at any time.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::routing::any;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::Reader;
use crate::api::{self, Refusal};
use crate::proxy::Proxy;
use crate::serve::body;

/// No request is larger: it names a session and some words.
const BODY_BYTES: usize = 4 << 20;
/// Headers that repeat what the body says, for whoever routes without reading it.
const REPEATED: [&str; 3] = ["mcp-protocol-version", "mcp-method", "mcp-name"];
/// The protocol's code for headers that do not agree with the body.
const HEADER_MISMATCH: i32 = -32020;

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
    let (parts, body) = request.into_parts();
    body::is_plain(&parts.headers)?;
    let body = body::read(body, BODY_BYTES, &parts.headers).await.map_err(of_mcp)?;
    if let Some(name) = repeated(&parts.headers) {
        return Ok(mismatch(name, &body));
    }
    // Each request has a reader of its own, for the conversations of whoever asks.
    let reader = Reader::of(Arc::new(door.api.room(&parts)?));
    let protocol: StreamableHttpService<Reader, NeverSessionManager> =
        StreamableHttpService::new(move || Ok(reader.clone()), Arc::default(), door.settings);
    let response = protocol.handle(Request::from_parts(parts, Body::from(body))).await;
    Ok(response.map(Body::new))
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

fn mismatch(name: &str, body: &[u8]) -> Response<Body> {
    let id = serde_json::from_slice::<Value>(body).map_or(Value::Null, |request| request["id"].clone());
    let error = json!({"code": HEADER_MISMATCH, "message": format!("the header {name} is there more than once")});
    let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
    let mut response = Response::new(Body::from(answer.to_string()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
