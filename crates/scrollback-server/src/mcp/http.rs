//! MCP over HTTP, on the server's own port. Every request stands for itself, in every revision: no session is kept, no stream
//! stays open, so a client may go on after a restart and the server can stop at any time.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::routing::any;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use scrollback::Tenant;
use serde_json::{Value, json};

use super::Reader;
use crate::api::{Refusal, Room};
use crate::proxy::Proxy;
use crate::serve::{is_addressed, read};

/// No request is larger: it names a session and some words.
const BODY_BYTES: usize = 4 << 20;
/// Headers that repeat what the body says, for whoever routes without reading it.
const REPEATED: [&str; 3] = ["mcp-protocol-version", "mcp-method", "mcp-name"];
/// The protocol's code for headers that do not agree with the body.
const HEADER_MISMATCH: i32 = -32020;

#[derive(Clone)]
struct Door {
    proxy: Arc<Proxy>,
    protocol: StreamableHttpService<Reader, NeverSessionManager>,
}

/// The route, for a server.
pub(crate) fn router(proxy: &Arc<Proxy>) -> Router {
    let (engine, window) = (proxy.engine.clone(), proxy.serve.window.clone());
    let reader = Reader::of(Arc::new(Room { engine, tenant: Tenant::local(), window }));
    // Who may ask was decided before, by the same rule as on every other route.
    let settings = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let protocol = StreamableHttpService::new(move || Ok(reader.clone()), Arc::default(), settings);
    Router::new().route("/mcp", any(asked)).with_state(Door { proxy: proxy.clone(), protocol })
}

async fn asked(State(door): State<Door>, request: Request) -> Response<Body> {
    Box::pin(answered(door, request)).await.unwrap_or_else(|refusal| refusal.response())
}

async fn answered(door: Door, request: Request) -> Result<Response<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    if !is_addressed(&parts.headers, &door.proxy) {
        let what = "this name is not one of ours; add it to serve.hosts if it is yours";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "host_not_allowed", what));
    }
    let broken = |_| Refusal::new(StatusCode::BAD_REQUEST, "request_broken", "the request broke off");
    let body = read(body, BODY_BYTES, &parts.headers).await.map_err(broken)?;
    let what = || format!("the request is larger than {} MB", BODY_BYTES >> 20);
    let large = || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", what());
    let body = body.ok_or_else(large)?;
    if let Some(name) = repeated(&parts.headers) {
        return Ok(mismatch(name, &body));
    }
    let response = door.protocol.handle(Request::from_parts(parts, Body::from(body))).await;
    Ok(response.map(Body::new))
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
