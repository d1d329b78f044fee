//! The API: what people and their programs ask and decide about conversations, as JSON under `/api`.
//!
//! `routes` lists every route, `ask` is a request apart from its transport, `place` finds the session, branch and limit it is
//! about; the other files answer, one for each resource. The command line asks the same requests of the same code: in its own
//! process, or over HTTP of the server that holds the store (`cli/control/door`).

mod artifacts;
mod ask;
mod context;
mod controls;
mod expansion;
mod folds;
mod jobs;
mod notes;
mod place;
mod refusal;
mod routes;
mod rules;
mod sessions;
mod summarize;
mod tellings;
mod views;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::routing::any;
use bytes::Bytes;
use scrollback::{Engine, Tenant};
use serde_json::Value;

pub(crate) use artifacts::{Compared, Listed as Artifacts, Versions, Whole as WholeArtifact};
pub(crate) use ask::Ask;
pub(crate) use controls::{Controlled, Effect, Line as MessageLine};
pub(crate) use folds::{Chosen, Moved};
pub(crate) use notes::{Entry as NoteEntry, NoteKind, NoteList, Whole as WholeNote, all as notes_at};
pub(crate) use place::{branch, find_session};
pub(crate) use refusal::Refusal;
pub(crate) use rules::{RuleLine, Rules};
pub(crate) use sessions::title_of;
pub(crate) use tellings::{Telling, tellings};
pub(crate) use views::{Line as ViewLine, cost};

use crate::config::WindowSettings;
use crate::proxy::{Incoming, Proxy};
use crate::serve::{is_addressed, read};

/// What every request works with.
pub(crate) struct Room {
    pub(crate) engine: Arc<Engine>,
    pub(crate) tenant: Tenant,
    pub(crate) window: WindowSettings,
}

impl Room {
    /// Answers a request.
    pub(crate) async fn answer(&self, ask: &Ask) -> Result<Value, Refusal> {
        routes::answer(self, ask).await
    }
}

#[derive(Clone)]
struct Door {
    room: Arc<Room>,
    proxy: Arc<Proxy>,
}

/// The routes, for a server.
pub(crate) fn router(proxy: &Arc<Proxy>) -> Router {
    let (engine, window) = (proxy.engine.clone(), proxy.serve.window.clone());
    let room = Arc::new(Room { engine, tenant: Tenant::local(), window });
    Router::new()
        .route("/api/{*path}", any(asked))
        .route("/v1/summarize", any(summarized))
        .route(context::RENDER, any(rendered))
        .route(context::RECALL, any(recalled))
        .with_state(Door { room, proxy: proxy.clone() })
}

async fn asked(State(door): State<Door>, request: Request) -> Response<Body> {
    Box::pin(answered(door, request)).await.map_or_else(|refusal| refusal.response(), |value| written(&value))
}

async fn answered(door: Door, request: Request) -> Result<Value, Refusal> {
    let (parts, body) = opened(&door, request).await?;
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    door.room.answer(&Ask::read(&parts.method, path, body)?).await
}

async fn summarized(State(door): State<Door>, request: Request) -> Response<Body> {
    let answer = async {
        let (parts, body) = opened(&door, request).await?;
        summarize::answer(&door.room.engine, &parts.method, &body).await
    };
    Box::pin(answer).await.map_or_else(|refusal: Refusal| refusal.response(), |value| written(&value))
}

async fn rendered(State(door): State<Door>, request: Request) -> Response<Body> {
    let answer = async {
        let (parts, body) = opened(&door, request).await?;
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
        let ask = Ask::read(&parts.method, path, body)?;
        context::posted(&ask, context::RENDER)?;
        let wire = context::dialect(&ask, &parts.headers)?;
        let (method, path, headers) = (parts.method, wire.name().path().to_owned(), parts.headers);
        Ok(door.proxy.rendered(wire, &Incoming { method, path, headers, body: ask.body }).await)
    };
    Box::pin(answer).await.unwrap_or_else(|refusal: Refusal| refusal.response())
}

async fn recalled(State(door): State<Door>, request: Request) -> Response<Body> {
    let answer = async {
        let (parts, body) = opened(&door, request).await?;
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
        let ask = Ask::read(&parts.method, path, body)?;
        context::posted(&ask, context::RECALL)?;
        context::recall(&door.room, &ask).await
    };
    Box::pin(answer).await.map_or_else(|refusal: Refusal| refusal.response(), |value| written(&value))
}

/// A request from somebody who may ask, with its whole body.
async fn opened(door: &Door, request: Request) -> Result<(axum::http::request::Parts, Bytes), Refusal> {
    let (parts, body) = request.into_parts();
    if !is_addressed(&parts.headers, &door.proxy) {
        let what = "this name is not one of ours; add it to serve.hosts if it is yours";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "host_not_allowed", what));
    }
    let limit = door.proxy.serve.body_bytes;
    let broken = |_| Refusal::new(StatusCode::BAD_REQUEST, "request_broken", "the request broke off");
    let body = read(body, limit, &parts.headers).await.map_err(broken)?;
    let what = || format!("the request is larger than {} MB; serve.body_megabytes allows more", limit >> 20);
    let large = || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", what());
    Ok((parts, body.ok_or_else(large)?))
}

fn written(value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
