//! Talking to Scrollback itself: `POST /api/chat` takes one message and answers it, `GET /api/events` tells what
//! happens.
//!
//! `wanted` reads what a person asks for and where it goes on, `voice` chooses who answers, `body` writes the request
//! in that upstream's dialect, `hear` reads its reply, `talk` turns that into our events. In between lies the proxy, as
//! for any client.

mod body;
mod events;
mod hear;
mod talk;
mod voice;
mod wanted;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::routing::{get, post};
use scrollback::control::Change;
use scrollback::{SessionId, SessionKey};

use super::{Ask, Door, Refusal, Room, asked, opened, sse, written};
use crate::clock::now;
use crate::proxy::{Incoming, Ours, Place, Proxy, Unanswered};
use talk::Talk;
pub(in crate::api) use talk::Whole;
pub(in crate::api) use wanted::Wanted;
pub(crate) use wanted::is_drawn;

/// Names the session that an answer belongs to.
const SESSION: HeaderName = HeaderName::from_static("x-scrollback-session");

/// The routes, for a server.
pub(super) fn router(door: &Door) -> Router {
    Router::new()
        .route("/api/chat", post(posted).fallback(asked))
        .route("/api/events", get(events::listened).fallback(asked))
        .with_state(door.clone())
}

async fn posted(State(door): State<Door>, request: Request) -> Response<Body> {
    Box::pin(answered(door, request)).await.unwrap_or_else(|refusal| refusal.response())
}

async fn answered(door: Door, request: Request) -> Result<Response<Body>, Refusal> {
    let (parts, body) = opened(request, door.proxy.serve.body_bytes).await?;
    let ask = Ask::read(&parts.method, parts.uri.path(), body)?;
    let wanted: Wanted = ask.said(r#"{"session": "harbour", "message": "Which key opens the shed?"}"#)?;
    let (streams, room) = (wanted.stream, door.room(&parts)?);
    let place = wanted.place(&room, &door.proxy).await?;
    let session = match &place {
        Place::New(name) => SessionId::declared(&room.tenant, name),
        Place::After(session, _) => *session,
    };
    let answer = async {
        let talk = begun(&door.proxy, &room, &wanted, place).await?;
        Ok::<_, Refusal>(if streams { streamed(talk) } else { written(&talk.whole().await?) })
    };
    match Box::pin(answer).await {
        Ok(response) => Ok(response),
        // Whoever says it once more goes on in the session in which it is kept all the same.
        Err(refusal) => match wanted.is_kept(&room, session).await {
            Ok(true) if refusal.header.is_none() => Err(refusal.with(SESSION, session.to_string())),
            Ok(_) | Err(_) => Err(refusal),
        },
    }
}

/// Sends a person's message on its way, as a client would.
async fn begun(proxy: &Arc<Proxy>, room: &Room, wanted: &Wanted, place: Place) -> Result<Talk, Refusal> {
    let voice = proxy.voice(room, wanted, &place).await?;
    let strategy = wanted.strategy()?;
    let instructions = wanted.instructions(&place, &proxy.serve.chat.instructions)?;
    if let (Place::New(name), Some(strategy)) = (&place, strategy) {
        let tenant = &room.tenant;
        let session = SessionKey { tenant: tenant.clone(), id: SessionId::declared(tenant, name) };
        room.engine.change(&session, &Change::Strategy(Some(strategy)), now()).await?;
    }
    let (ours, words) = Ours::at(place);
    let wire = voice.upstream.wire;
    let body = body::written(
        wire,
        &body::Said {
            model: &voice.model,
            instructions,
            message: &wanted.message,
            reply_tokens: room.serve.window.reply_tokens,
        },
    );
    let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    headers.extend(body::headers(wire));
    voice.upstream.sign(&mut headers);
    let (method, path) = (Method::POST, wire.path().to_owned());
    let tenant = room.tenant.clone();
    let incoming = Incoming { tenant, method, path, headers, body: body.into(), ours: Some(ours) };
    let response = proxy.clone().own(voice.upstream.clone(), incoming).await.map_err(refusal)?;
    if !response.status().is_success() {
        return Err(voice.refusal(response).await);
    }
    Talk::over(wire, response, words).await
}

fn refusal(unanswered: Unanswered) -> Refusal {
    match unanswered {
        Unanswered::Refused(error) => error.into(),
        Unanswered::Broken(what) => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "trouble", what),
    }
}

fn streamed(talk: Talk) -> Response<Body> {
    sse::response(futures_util::stream::unfold(talk, |mut talk| async {
        let event = talk.next().await?;
        Some((event.written(), talk))
    }))
}
