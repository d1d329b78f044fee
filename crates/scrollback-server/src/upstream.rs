//! Upstreams: the APIs that requests are sent on to, by the names in the settings and no others.
//!
//! A client cannot choose an address, redirects are not followed, and a key from our environment goes only to the
//! upstream it is meant for. `quote` is built in: a responder that answers from what it is shown, for when there is no
//! model.

use std::time::Duration;

use anyhow::{Context, ensure};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use bytes::{Bytes, BytesMut};
use scrollback::quote;
use serde_json::{Value, json};

use crate::access::Key;
use crate::config::{RecallBy, UpstreamSettings};
use crate::hop;
use crate::wire::edit::openai_error;
use crate::wire::said::Called;
use crate::wire::{self, ErrorKind, Own, WireName};

/// The built-in upstream, and its model.
pub(crate) const QUOTE: &str = "quote";

/// More than any model says in one answer, pictures among it: whoever answers more is not listened to any longer.
pub(crate) const ANSWER_BYTES: usize = 64 << 20;

/// Headers that belong to one connection, or that we set ourselves.
const NOT_PASSED: [&str; 13] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
    "accept-encoding",
    "expect",
];

/// An API that requests are sent on to.
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) recall: RecallBy,
    pub(crate) window: u32,
    /// How we speak to it ourselves.
    pub(crate) wire: WireName,
    /// The key of the person who runs us, for what they ask themselves and what their helper is asked; no client's
    /// request is sent with it.
    chat_key: Option<Key>,
    kind: Kind,
}

enum Kind {
    Http { client: reqwest::Client, url: String, key: Option<Key>, timeout: Duration },
    Quote,
}

/// What an upstream answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: AnswerBody,
}

/// The body of an answer, piece by piece.
pub(crate) enum AnswerBody {
    /// From the network; no piece may take longer than this.
    Coming(reqwest::Response, Duration),
    Ready(Option<Bytes>),
}

/// A request to an upstream.
pub(crate) struct Outgoing<'a> {
    pub(crate) method: Method,
    /// The path below the upstream's address, with its query.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Silence {
    /// Nothing came in time.
    Late,
    /// It could not be reached.
    Unreachable(String),
    /// It was reached, and the connection broke off.
    Broken(String),
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Late => f.write_str("it did not answer in time"),
            Self::Unreachable(why) => write!(f, "it could not be reached: {why}"),
            Self::Broken(why) => f.write_str(why),
        }
    }
}

/// The client that all upstreams share.
pub(crate) fn client() -> anyhow::Result<reqwest::Client> {
    // A second installation changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).tcp_nodelay(true).no_proxy();
    builder.pool_idle_timeout(Duration::from_mins(1)).build().context("the HTTP client could not be made")
}

/// The key in the variable that a setting names, if it names one.
pub(crate) fn key_of(setting: &str, variable: &str, wire: WireName) -> anyhow::Result<Option<Key>> {
    if variable.is_empty() {
        return Ok(None);
    }
    let named = |what: &str| format!("{setting} names {variable}, which {what}");
    let key = std::env::var(variable).with_context(|| named("is not set"))?;
    ensure!(!key.trim().is_empty(), named("is empty"));
    Key::new(&key, wire).with_context(|| named("holds characters that no key has")).map(Some)
}

impl Upstream {
    pub(crate) fn quote() -> Self {
        Self {
            name: QUOTE.into(),
            recall: RecallBy::Tools,
            window: 0,
            wire: WireName::Chat,
            chat_key: None,
            kind: Kind::Quote,
        }
    }

    pub(crate) fn http(name: &str, settings: &UpstreamSettings, client: reqwest::Client) -> anyhow::Result<Self> {
        let key = key_of(&format!("upstreams.{name}.key_env"), &settings.key_env, settings.wire)?;
        let kind = Kind::Http { client, url: settings.url.clone(), key, timeout: settings.timeout };
        let (recall, window, wire) = (settings.recall, settings.window, settings.wire);
        let chat_key = settings.chat_key.as_ref().and_then(|key| Key::new(&key.0, wire));
        Ok(Self { name: name.to_owned(), recall, window, wire, chat_key, kind })
    }

    /// Whether we can ask it ourselves: we have a key for it, or it needs none, as on this machine or in this house.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.kind {
            Kind::Http { url, key, .. } => key.is_some() || self.chat_key.is_some() || is_near(url),
            Kind::Quote => true,
        }
    }

    /// Signs what a person asks through us, or we for them, if no other key will be put in its place.
    pub(crate) fn sign(&self, headers: &mut HeaderMap) {
        if let Some(key) = &self.chat_key {
            key.replace(headers);
        }
    }

    /// Whether it is asked with a key of ours, whoever asks.
    pub(crate) fn has_key(&self) -> bool {
        matches!(self.kind, Kind::Http { key: Some(_), .. })
    }

    /// Sends a request and waits for the beginning of the answer.
    pub(crate) async fn send(&self, request: Outgoing<'_>) -> Result<Answer, Silence> {
        match &self.kind {
            Kind::Quote => Ok(responded(&request)),
            Kind::Http { client, url, key, timeout } => {
                let mut headers = passed(request.headers);
                if let Some(key) = key {
                    key.replace(&mut headers);
                }
                hop::mark(&mut headers);
                let sending = client.request(request.method, format!("{url}{}", request.path)).headers(headers);
                let sending = sending.body(request.body).send();
                let response = tokio::time::timeout(*timeout, sending).await.map_err(|_| Silence::Late)?;
                let response = response.map_err(|error| broken(&error))?;
                Ok(Answer {
                    status: response.status(),
                    headers: passed(response.headers()),
                    body: AnswerBody::Coming(response, *timeout),
                })
            }
        }
    }
}

impl AnswerBody {
    /// The next piece.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        match self {
            Self::Coming(response, timeout) => {
                let chunk = tokio::time::timeout(*timeout, response.chunk()).await.map_err(|_| stalled())?;
                chunk.map_err(std::io::Error::other)
            }
            Self::Ready(bytes) => Ok(bytes.take()),
        }
    }

    /// All of it, if it is not too large.
    pub(crate) async fn all(mut self) -> Result<Bytes, std::io::Error> {
        let timeout = match &mut self {
            Self::Coming(_, timeout) => *timeout,
            Self::Ready(bytes) => return Ok(bytes.take().unwrap_or_default()),
        };
        let gathered = async {
            let mut all = BytesMut::new();
            while let Some(chunk) = self.chunk().await? {
                all.extend_from_slice(&chunk);
                if all.len() > ANSWER_BYTES {
                    return Err(endless());
                }
            }
            Ok(all.freeze())
        };
        tokio::time::timeout(timeout, gathered).await.map_err(|_| stalled())?
    }
}

/// Whether an address is on this machine, or not worth a key: nobody sends keys in the clear.
fn is_near(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let local = ["localhost", "127.", "[::1]"].iter().any(|near| host.starts_with(near));
    local || url.starts_with("http://")
}

/// What is said of an answer that is larger than any model's.
pub(crate) fn endless() -> std::io::Error {
    std::io::Error::other(format!("the upstream answered more than {} MB", ANSWER_BYTES >> 20))
}

fn stalled() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "the upstream stopped in the middle of its answer")
}

/// Headers without those that belong to one connection: the usual ones, and what `connection` names.
fn passed(headers: &HeaderMap) -> HeaderMap {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = named.flat_map(|names| names.split(',')).map(str::trim).collect();
    let ours = |name: &HeaderName| {
        let name = name.as_str();
        let is_named = named.iter().any(|named| named.eq_ignore_ascii_case(name));
        is_named || NOT_PASSED.contains(&name) || name.starts_with("x-scrollback-")
    };
    headers.iter().filter(|(name, _)| !ours(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn broken(error: &reqwest::Error) -> Silence {
    let why = explained(error);
    if error.is_connect() { Silence::Unreachable(why) } else { Silence::Broken(why) }
}

/// An error and its causes, without the address, which may hold a key.
fn explained(error: &reqwest::Error) -> String {
    let mut text = if error.is_connect() { "no connection".to_owned() } else { "the request failed".to_owned() };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The answer of the built-in responder.
fn responded(request: &Outgoing<'_>) -> Answer {
    let path = request.path.split('?').next().unwrap_or_default();
    if request.method == Method::GET && path.contains("/models") {
        let models = json!({"object": "list", "data": [{"id": QUOTE, "object": "model", "owned_by": "scrollback"}]});
        return ready("application/json", models.to_string().into());
    }
    let Some(wire) = wire::of_path(request.path).filter(|_| request.method == Method::POST) else {
        let what =
            format!("the built-in responder has no {} {path}; it quotes what was said, and no more", request.method);
        return refused(StatusCode::NOT_FOUND, "not_found", &what);
    };
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        return refused(StatusCode::BAD_REQUEST, "invalid_json", "the request is not JSON");
    };
    let said = quote::answer(&body);
    // Two conversations that say the same are two all the same.
    let asked = scrollback::ids::Hash128::of("quote", &[&request.body, &crate::clock::now().0.to_le_bytes()]);
    let id = format!("quote-{}", &asked.to_string()[..16]);
    let call = |(i, call): (usize, &quote::Called)| Called {
        id: format!("call_{i}_{}", &id[6..]),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        value: Value::Null,
    };
    let calls = said.calls.iter().enumerate().map(call).collect();
    let streams = body["stream"] == true;
    let text = said.content.as_deref().unwrap_or_default();
    let own = Own { id: &id, model: QUOTE, text, calls, streams, tells_usage: false };
    ready(if streams { "text/event-stream" } else { "application/json" }, wire.speech().own(&own))
}

fn refused(status: StatusCode, code: &str, what: &str) -> Answer {
    let body = openai_error(ErrorKind::Request, code, what).to_string();
    Answer { status, ..ready("application/json", body.into()) }
}

fn ready(kind: &'static str, body: Bytes) -> Answer {
    let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
    Answer { status: StatusCode::OK, headers, body: AnswerBody::Ready(Some(body)) }
}
