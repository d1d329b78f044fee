//! Conversations as files: `POST /api/import` reads one and tells how far it is, `GET /api/sessions/{id}/export` writes
//! one.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use scrollback::SessionId;
use scrollback::export::Whole;
use scrollback::import::{self, Extent, Format, Import, Opened};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::coop::consume_budget;

use super::place::branch;
use super::sse::{self, event};
use super::turns::Turns;
use super::{Ask, Door, Refusal, Room, asked, opened, sessions, streams};
use crate::clock::now;
use crate::live::What;

/// How many sessions a report names.
const NAMED: usize = 50;
/// How many complaints it tells.
const COMPLAINTS: usize = 100;
/// How many events wait for whoever watches.
const WAITING: usize = 64;

/// A tenant's turn to import: one file after another, as each may take a lot of room.
type Turn = Option<OwnedSemaphorePermit>;

/// What an import did.
#[derive(Default, Serialize)]
struct Imported {
    format: &'static str,
    conversations: usize,
    /// The branches of all of them together,
    branches: usize,
    /// and their messages; what branches share is counted once.
    messages: usize,
    added: usize,
    /// What could not be understood, the first of it,
    skipped: Vec<String>,
    /// and how much more.
    skipped_more: usize,
    /// What holds nothing to keep, or what else is to be known, the first of it,
    remarks: Vec<String>,
    /// and how much more.
    remarks_more: usize,
    /// The sessions it went into, the first of them.
    sessions: Vec<SessionId>,
}

/// The routes.
pub(super) fn router(door: &Door) -> Router {
    Router::new()
        .route("/api/import", post(imported).fallback(asked))
        .layer(Extension(Turns::default()))
        .route("/api/sessions/{id}/export", get(exported).fallback(asked))
        .with_state(door.clone())
}

async fn imported(State(door): State<Door>, Extension(turns): Extension<Turns>, request: Request) -> Response<Body> {
    let begun = async {
        let (parts, body) = request.into_parts();
        let room = door.room(&parts)?;
        let turn = turns.wait(&room.tenant).await;
        let limit = door.proxy.serve.import_bytes;
        let (parts, body) =
            opened(Request::from_parts(parts, body), limit).await.map_err(|refusal| of_import(refusal, limit))?;
        let (format, import, turn) = read(&parts, body, limit, turn).await?;
        Ok::<_, Refusal>(told(room, format, import, turn))
    };
    Box::pin(begun).await.unwrap_or_else(|refusal| refusal.response())
}

/// A refusal that names the setting of imports.
fn of_import(refusal: Refusal, limit: usize) -> Refusal {
    if refusal.status != StatusCode::PAYLOAD_TOO_LARGE {
        return refusal;
    }
    let message = format!(
        "the file is larger than {} MB; serve.import_megabytes allows more, and `scrollback import` takes any",
        limit >> 20
    );
    Refusal { message, ..refusal }
}

/// Reads a file; large ones take a while, so it is done where nobody waits. It goes on when whoever asked has gone, and
/// so does the turn.
async fn read(parts: &Parts, body: Bytes, room: usize, turn: Turn) -> Result<(Format, Import, Turn), Refusal> {
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let ask = Ask::read(&parts.method, path, Bytes::new())?;
    streams::checked("/import", &ask)?;
    let named = ask.text("format").map(str::parse::<Format>).transpose()?;
    let read = move || match import::open(&body, named, room)? {
        Opened::Read(format, import) => Ok((format, import, turn)),
        Opened::Foreign(what) => Err(Refusal::invalid(what)),
        Opened::Nothing(why) => Err(Refusal::invalid(why)),
        Opened::Unknown => Err(Refusal::invalid(import::KNOWN)),
    };
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|_| Err(Refusal::invalid("the file could not be read")))
}

/// Stores what was read and tells how far it is. It goes on when nobody watches any more.
fn told(room: Room, format: Format, import: Import, turn: Turn) -> Response<Body> {
    let (tell, heard) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let done = match stored(&room, format, import, &tell).await {
            Ok(done) => event("done", &json!(done)),
            Err(refusal) => event("error", &json!({"detail": refusal.message, "code": refusal.code})),
        };
        // Whoever does not listen to the end keeps nobody waiting.
        drop(turn);
        // Whoever asked may have gone.
        let _ = tell.send(done).await;
    });
    sse::response(stream::unfold(heard, async |mut heard| Some((heard.recv().await?, heard))))
}

async fn stored(
    room: &Room,
    format: Format,
    mut import: Import,
    tell: &mpsc::Sender<Bytes>,
) -> Result<Imported, Refusal> {
    let (of, Extent { conversations, branches, messages }) = (import.conversations.len(), import.extent());
    let mut done = Imported { format: format.as_str(), conversations, branches, messages, ..Imported::default() };
    for (i, conversation) in import.conversations.iter().enumerate() {
        if room.guest.revoked.is_told() {
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, "token_unknown", "this token was taken back"));
        }
        let title = conversation.title.as_deref().map(sessions::line).unwrap_or_default();
        // A slow listener misses steps, not the end.
        let _ = tell.try_send(event("progress", &json!({"done": i, "of": of, "title": title})));
        let received = match import::store(room.engine.log(), &room.tenant, conversation, now()).await {
            Ok(received) => received,
            Err(error) => {
                import.skipped.push(conversation.skipped(error)?);
                continue;
            }
        };
        room.publish(&received.session, || What::Import { title });
        done.added += received.added;
        import.remarks.extend(conversation.mended(&received));
        import.skipped.extend(conversation.damaged(&received));
        if done.sessions.len() < NAMED && !done.sessions.contains(&received.session.id) {
            done.sessions.push(received.session.id);
        }
    }
    (done.skipped, done.skipped_more) = first(import.skipped);
    (done.remarks, done.remarks_more) = first(import.remarks);
    Ok(done)
}

/// What is told of many complaints, and how many more there are.
fn first(mut told: Vec<String>) -> (Vec<String>, usize) {
    let more = told.len().saturating_sub(COMPLAINTS);
    told.truncate(COMPLAINTS);
    (told, more)
}

async fn exported(State(door): State<Door>, Path(name): Path<String>, request: Request) -> Response<Body> {
    let answer = async {
        let (parts, _) = opened(request, door.proxy.serve.body_bytes).await?;
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
        let ask = Ask::read(&parts.method, path, Bytes::new())?;
        streams::checked("/sessions/{id}/export", &ask)?;
        let shape = Shape::read(ask.text("format").unwrap_or("jsonl"))?;
        let room = door.room(&parts)?;
        let (mut session, key) = room.session(&name).await?;
        if let Some(number) = ask.number("branch")? {
            session.branches = branch(&session, Some(number))?.into_iter().collect();
        }
        let id = session.id;
        let whole = Whole::read(&**room.engine.log().store(), &key, session).await?;
        Ok::<_, Refusal>(shape.file(id, whole))
    };
    Box::pin(answer).await.unwrap_or_else(|refusal| refusal.response())
}

/// What an export looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// One JSON line, everything as it came.
    Jsonl,
    /// A line for each branch, as OpenAI chat messages.
    OpenAi,
    /// For people.
    Markdown,
}

impl Shape {
    fn read(name: &str) -> Result<Self, Refusal> {
        match name {
            "jsonl" => Ok(Self::Jsonl),
            "openai" => Ok(Self::OpenAi),
            "markdown" => Ok(Self::Markdown),
            other => Err(Refusal::invalid(format!("“{other}” is no format: there are jsonl, openai and markdown"))),
        }
    }

    /// A session as text, piece by piece.
    pub(crate) fn pieces(self, whole: Whole) -> Box<dyn Iterator<Item = String> + Send> {
        match self {
            Self::Jsonl => Box::new(whole.jsonl()),
            Self::OpenAi => Box::new(whole.openai()),
            Self::Markdown => Box::new(whole.markdown()),
        }
    }

    fn file(self, id: SessionId, whole: Whole) -> Response<Body> {
        let (kind, ending) = match self {
            Self::Jsonl | Self::OpenAi => ("application/jsonl", "jsonl"),
            Self::Markdown => ("text/markdown; charset=utf-8", "md"),
        };
        let named = format!("attachment; filename=\"scrollback-{}.{ending}\"", &id.to_string()[..12]);
        let mut response = Response::new(sent(self.pieces(whole)));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.extend(HeaderValue::from_str(&named).ok().map(|named| (header::CONTENT_DISPOSITION, named)));
        response
    }
}

/// Pieces as a body, written in turn with whatever else the server does.
fn sent(pieces: impl Iterator<Item = String> + Send + 'static) -> Body {
    Body::from_stream(stream::iter(pieces).then(async |piece| {
        consume_budget().await;
        Ok::<_, Infallible>(Bytes::from(piece))
    }))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use scrollback::Tenant;

    use super::*;

    /// On the one thread that there is here.
    #[tokio::test]
    async fn a_long_file_keeps_nobody_waiting() {
        let other = tokio::spawn(async {});
        let file = sent((0..1_000).map(|i| format!("{i}\n")));
        let lines = axum::body::to_bytes(file, usize::MAX).await.unwrap();
        assert!(lines.ends_with(b"998\n999\n") && other.is_finished());
    }

    #[test]
    fn what_is_too_large_names_the_setting_of_imports() {
        let large =
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", "serve.body_megabytes allows more");
        let named = of_import(large, 3 << 20);
        assert!(named.message.contains("3 MB; serve.import_megabytes") && !named.message.contains("body_megabytes"));
        assert_eq!(of_import(Refusal::invalid("other"), 1), Refusal::invalid("other"));
    }

    /// The only thread that reads files is busy, and whoever asked does not wait for it.
    #[test]
    fn a_file_whose_sender_has_gone_is_read_before_the_next() {
        let one = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        one.block_on(async {
            let (turns, ann) = (Turns::default(), Tenant::new("ann"));
            let (go_on, waits) = std::sync::mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || waits.recv().is_ok());
            let (parts, ()) = Request::post("/api/import").body(()).unwrap().into_parts();
            let turn = turns.wait(&ann).await;
            let reading = read(&parts, Bytes::from("[]"), 1, turn);
            assert!(reading.now_or_never().is_none(), "it would have to wait");
            assert!(turns.wait(&ann).now_or_never().is_none(), "the file is still to be read");
            go_on.send(()).unwrap();
            assert!(busy.await.unwrap() && turns.wait(&ann).await.is_some());
        });
    }
}
