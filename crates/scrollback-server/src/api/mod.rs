//! The API: what people and their programs ask and decide about conversations, as JSON under `/api`.
//!
//! `routes` lists every route, `ask` is a request apart from its transport, `place` finds the session, branch and limit
//! it is about, `turns` lets a tenant do one thing after another; the other files answer, one for each resource. The
//! command line asks the same requests of the same code: in its own process, or over HTTP of the server that holds the
//! store (`cli/control/door`).

mod address;
mod artifacts;
mod ask;
pub(crate) mod chat;
mod contents;
mod context;
mod controls;
mod erase;
mod expansion;
mod files;
mod folds;
mod holds;
mod jobs;
mod ledger;
mod markdown;
mod me;
mod messages;
mod models;
mod named;
mod notes;
mod openapi;
mod place;
mod refusal;
mod routes;
mod rules;
mod search;
mod sessions;
mod settings;
mod sse;
mod streams;
mod summarize;
mod tellings;
mod tokens;
mod topics;
mod turns;
mod views;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::routing::{any, get};
use bytes::Bytes;
use scrollback::{Engine, SessionKey, Store, Tenant};
use serde_json::Value;

pub(crate) use artifacts::{Compared, Listed as Artifacts, Versions, Whole as WholeArtifact};
pub(crate) use ask::Ask;
pub(crate) use controls::{Controlled, Effect, Line as MessageLine};
pub(crate) use erase::Erased;
pub(crate) use files::Shape;
pub(crate) use folds::{Chosen, Moved};
pub(crate) use ledger::{Task as HelperTask, tasks};
pub(crate) use messages::{Case, Said, places, preamble};
pub(crate) use named::{LISTED, find_session, find_whole};
pub(crate) use notes::{Entry as NoteEntry, NoteKind, NoteList, Whole as WholeNote, all as notes_at};
pub(crate) use place::{Place, branch};
pub(crate) use refusal::Refusal;
pub(crate) use rules::{RuleLine, Rules};
pub(crate) use search::ROLES;
pub(crate) use sessions::{one_line, title_of, title_without};
pub(crate) use tellings::{Telling, tellings};
pub(crate) use views::{Change, Line as ViewLine, NEWEST, changes, cost, named as view_named};

use crate::access::{Guest, Tokens};
use crate::config::Serve;
use crate::erasing::Eraser;
use crate::live::What;
use crate::proxy::{Incoming, Proxy};
use crate::serve::body;
use turns::Turns;

/// What every request works with.
#[derive(Clone)]
pub(crate) struct Room {
    pub(crate) engine: Arc<Engine>,
    pub(crate) tenant: Tenant,
    /// Who asks.
    pub(crate) guest: Guest,
    pub(crate) serve: Arc<Serve>,
    pub(crate) tokens: Arc<Tokens>,
    /// The server that asks on, if there is one: commands work without.
    pub(crate) proxy: Option<Arc<Proxy>>,
    /// Who erases, unless the store is only read.
    pub(crate) eraser: Option<Eraser>,
}

impl Room {
    /// What somebody's requests to a server work with.
    pub(crate) fn of(proxy: &Arc<Proxy>, guest: Guest) -> Self {
        let (engine, serve, tokens) = (proxy.engine.clone(), proxy.serve.clone(), proxy.access.tokens.clone());
        let eraser = Some(proxy.eraser.clone());
        Self { engine, tenant: guest.tenant.clone(), guest, serve, tokens, proxy: Some(proxy.clone()), eraser }
    }

    /// Where everything is kept.
    pub(crate) fn store(&self) -> &dyn Store {
        &**self.engine.log().store()
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, ask: &Ask) -> Result<Value, Refusal> {
        Ok(routes::answer(self, ask).await?.1)
    }

    /// Tells what happened to a session.
    fn publish(&self, of: &SessionKey, what: impl FnOnce() -> What) {
        if let Some(proxy) = &self.proxy {
            proxy.live.publish(of, what);
        }
    }
}

#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) proxy: Arc<Proxy>,
    /// Held by whoever changes only what they saw: of two who saw the same, one is first.
    seen: Turns,
}

impl Door {
    pub(crate) fn new(proxy: &Arc<Proxy>) -> Self {
        Self { proxy: proxy.clone(), seen: Turns::default() }
    }

    /// What the requests of whoever asks work with.
    pub(crate) fn room(&self, parts: &Parts) -> Result<Room, Refusal> {
        Ok(Room::of(&self.proxy, guest(parts)?))
    }
}

/// Who asks, as was decided before.
pub(crate) fn guest(parts: &Parts) -> Result<Guest, Refusal> {
    let nobody = || Refusal::new(StatusCode::UNAUTHORIZED, "token_needed", "nobody knows who asks");
    parts.extensions.get::<Guest>().cloned().ok_or_else(nobody)
}

/// The routes, for a server.
pub(crate) fn router(proxy: &Arc<Proxy>) -> Router {
    let door = Door::new(proxy);
    Router::new()
        .route("/api/openapi.json", get(described).fallback(asked))
        .route("/api/{*path}", any(asked))
        .route(summarize::PATH, any(summarized))
        .route(context::RENDER, any(rendered))
        .route(context::RECALL, any(recalled))
        .with_state(door.clone())
        .merge(files::router(&door))
        .merge(chat::router(&door))
}

async fn asked(State(door): State<Door>, mut request: Request) -> Response<Body> {
    // The same as GET; its body stays behind where it is sent.
    if request.method() == Method::HEAD {
        *request.method_mut() = Method::GET;
    }
    let known = request.headers().get(header::IF_NONE_MATCH).cloned().filter(|_| request.method() == Method::GET);
    let changes = request.method() != Method::GET;
    let answering = Box::pin(answered(door, request));
    let answer = if changes { to_its_end(answering).await } else { answering.await };
    answer.map_or_else(
        |refusal| refusal.response(),
        |(status, value)| {
            let mut response = written(&value);
            *response.status_mut() = status;
            tagged(response, &value, known.as_ref())
        },
    )
}

/// What is changed is changed to the end, also if whoever asked for it has gone: in the middle, the store has the
/// change and nobody who has the conversation in mind knows.
async fn to_its_end<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The process ends.
        Err(_) => std::future::pending().await,
    }
}

/// An answer with a tag that tells whether it changed; without its body for whoever has it.
fn tagged(mut response: Response<Body>, value: &Value, known: Option<&HeaderValue>) -> Response<Body> {
    let tag = tag_of(value);
    if known.is_some_and(|known| names(known, &tag)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
    }
    response.headers_mut().extend(HeaderValue::from_str(&tag).map(|tag| (header::ETAG, tag)));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

fn tag_of(value: &Value) -> String {
    format!("\"{:032x}\"", twox_hash::XxHash3_128::oneshot(value.to_string().as_bytes()))
}

/// Whether a header has a tag.
fn names(header: &HeaderValue, tag: &str) -> bool {
    header == "*" || header.as_bytes().windows(tag.len()).any(|part| part == tag.as_bytes())
}

/// That what is changed is still what somebody saw of it; false if it cannot be seen.
async fn unchanged(room: &Room, ask: &Ask, seen: &HeaderValue) -> Result<bool, Refusal> {
    let mut look = ask.clone();
    (look.method, look.body) = (Method::GET, Bytes::new());
    match routes::answer(room, &look).await {
        Ok((_, value)) if !names(seen, &tag_of(&value)) => {
            let what = "it is not what you saw, so nothing was changed: read it again, and send the tag it has now";
            Err(Refusal::new(StatusCode::PRECONDITION_FAILED, "changed", what))
        }
        Ok(_) => Ok(true),
        Err(refusal) if refusal.status == StatusCode::METHOD_NOT_ALLOWED => Ok(false),
        Err(refusal) => Err(refusal),
    }
}

async fn described() -> Response<Body> {
    written(&openapi::document())
}

async fn answered(door: Door, request: Request) -> Result<(StatusCode, Value), Refusal> {
    let (parts, body) = opened(request, door.proxy.serve.body_bytes).await?;
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let (room, ask) = (door.room(&parts)?, Ask::read(&parts.method, path, body)?);
    let Some(seen) = parts.headers.get(header::IF_MATCH).filter(|_| ask.method != Method::GET) else {
        return routes::answer(&room, &ask).await;
    };
    // Nobody looks for the sake of what cannot be done.
    routes::known(&ask)?;
    let alone = door.seen.wait(&room.tenant).await;
    // Nobody waits for what nobody can have seen: some of it takes long.
    let _alone = unchanged(&room, &ask, seen).await?.then_some(alone);
    routes::answer(&room, &ask).await
}

async fn summarized(State(door): State<Door>, request: Request) -> Response<Body> {
    let answer = async {
        let (parts, body) = opened(request, door.proxy.serve.body_bytes).await?;
        summarize::answer(&door.proxy.engine, &parts.method, &body).await
    };
    Box::pin(answer).await.map_or_else(|refusal: Refusal| refusal.response(), |value| written(&value))
}

async fn rendered(State(door): State<Door>, request: Request) -> Response<Body> {
    let answer = async {
        let (parts, body) = opened(request, door.proxy.serve.body_bytes).await?;
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
        let ask = Ask::read(&parts.method, path, body)?;
        context::posted(&ask.method, context::RENDER)?;
        let wire = context::dialect(&ask, &parts.headers)?;
        let (tenant, path) = (guest(&parts)?.tenant, wire.name().path().to_owned());
        let incoming =
            Incoming { tenant, method: parts.method, path, headers: parts.headers, body: ask.body, ours: None };
        Ok(door.proxy.rendered(wire, &incoming).await)
    };
    Box::pin(answer).await.unwrap_or_else(|refusal: Refusal| refusal.response())
}

async fn recalled(State(door): State<Door>, request: Request) -> Response<Body> {
    let answer = async {
        let (parts, body) = opened(request, door.proxy.serve.body_bytes).await?;
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
        let ask = Ask::read(&parts.method, path, body)?;
        context::posted(&ask.method, context::RECALL)?;
        context::recall(&door.room(&parts)?, &ask).await
    };
    Box::pin(answer).await.map_or_else(|refusal: Refusal| refusal.response(), |value| written(&value))
}

/// A request with its whole body.
async fn opened(request: Request, limit: usize) -> Result<(Parts, Bytes), Refusal> {
    let (parts, body) = request.into_parts();
    body::is_plain(&parts.headers)?;
    let body = body::read(body, limit, &parts).await?;
    Ok((parts, body))
}

fn written(value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
