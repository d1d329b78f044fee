//! Who may ask: one layer around every door decides it, and puts a `Guest` into the request. No token of ours goes
//! beyond it.
//!
//! `guest` is who asks, `keys` the headers that keys travel in, `hosts` whom a request is addressed to and where it
//! comes from, `tokens` who has one, `rate` how often it may be used, `ending` what becomes of answers when it is taken
//! back, `joining` how those of two stores become one's.

mod ending;
mod guest;
mod hosts;
mod joining;
mod keys;
mod rate;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::Next;
use scrollback::Store;
use scrollback::ids::Hash128;
use tokio::sync::OwnedSemaphorePermit as Seat;

pub(crate) use guest::Guest;
pub(crate) use joining::join as join_tokens;
pub(crate) use keys::{Key, TOKEN as TOKEN_HEADER};
pub(crate) use tokens::{KEEPER as TOKENS, Kept as KeptToken, Tokens};

use crate::api::Refusal;
use crate::config::{AccessRule, Serve};
use crate::proxy::error;
use crate::wire;
use crate::wire::chat::Chat;

/// Paths that nobody is asked a token for; what is under `/ui` holds nothing of anybody.
const PUBLIC: [&str; 4] = ["/", "/health", "/ready", "/ui"];

/// Tells browsers which pages may embed an answer.
const EMBEDDED_BY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What decides who may ask.
pub(crate) struct Access {
    rule: AccessRule,
    hosts: Vec<String>,
    pub(crate) tokens: Arc<Tokens>,
    /// Lets in whoever can read the file that says where we listen, for as long as we do.
    pub(crate) pass: String,
    pass_hash: Hash128,
}

impl Access {
    /// As the settings say, with the tokens of a store.
    pub(crate) fn new(serve: &Serve, store: Arc<dyn Store>) -> anyhow::Result<Self> {
        let pass = tokens::drawn()?;
        let (pass_hash, tokens) = (tokens::hashed(pass.as_bytes()), Tokens::new(store, serve.requests_per_minute));
        Ok(Self { rule: serve.access, hosts: serve.hosts.clone(), tokens: Arc::new(tokens), pass, pass_hash })
    }

    /// Decides who asks, for every door. Takes the token of ours out of the request.
    async fn admit(
        &self,
        path: &str,
        headers: &mut HeaderMap,
        peer: Option<SocketAddr>,
    ) -> Result<Option<Guest>, Refusal> {
        if path == "/health" || path == "/ready" {
            return Ok(None);
        }
        if !hosts::is_addressed(headers, &self.hosts) {
            let what = "this name is not one of ours; add it to serve.hosts if it is yours";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "host_not_allowed", what));
        }
        let token = keys::taken(headers).map_err(|what| Refusal::new(StatusCode::BAD_REQUEST, "two_keys", what))?;
        if PUBLIC.contains(&path) || path.starts_with("/ui/") {
            return Ok(None);
        }
        if token.is_none() && hosts::is_embedded(headers) {
            let what = "a page from elsewhere asks this: open it from here, or send a token";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "host_not_allowed", what));
        }
        let guest = match token {
            Some(token) => self.known(token.as_bytes()).await?,
            None if self.rule == AccessRule::Local && hosts::is_local(headers, peer) => Guest::local(),
            None => return Err(unauthorised("token_needed", "you need a token")),
        };
        if path == "/metrics" && !guest.is_admin {
            let what = "these numbers are about everybody: ask with the token of an admin";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "not_admin", what));
        }
        Ok(Some(guest))
    }

    /// Who comes with a token.
    async fn known(&self, token: &[u8]) -> Result<Guest, Refusal> {
        if tokens::hashed(token) == self.pass_hash {
            return Ok(Guest::local());
        }
        let mut known = self.tokens.guest(token, Instant::now());
        if known.is_none() {
            self.tokens.look_up(token).await?;
            known = self.tokens.guest(token, Instant::now());
        }
        let guest = known.ok_or_else(|| unauthorised("token_unknown", "this token is unknown, or was taken back"))?;
        guest.map_err(|wait| too_often("this token asks too often", wait))
    }
}

/// That requests which came as one count as many as they are; one was counted when they came.
pub(crate) fn counted(guest: &Guest, requests: usize) -> Result<(), Refusal> {
    let more = u32::try_from(requests.saturating_sub(1)).unwrap_or(u32::MAX);
    if let Some(most) = guest.most_at_once().filter(|most| more >= *most) {
        let what = format!("a batch has at most {most} requests here, as many as this token may send in a minute");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "too_many_requests", what));
    }
    let why = "this token asks too often, and each request of a batch counts";
    guest.asks(more, Instant::now()).map_err(|wait| too_often(why, wait))
}

fn too_often(why: &str, wait: Duration) -> Refusal {
    let seconds = wait.as_secs() + 1;
    let what = format!("{why}: try again in {seconds} s; serve.requests_per_minute allows more");
    let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", what);
    refusal.with(header::RETRY_AFTER, seconds.to_string())
}

fn unauthorised(code: &'static str, why: &str) -> Refusal {
    let what = format!(
        "{why}: whoever runs this server makes one with `scrollback tokens add NAME`; send it as “Authorization: Bearer \
         sb_…”, or in the header x-scrollback-token beside a key of your own"
    );
    Refusal::new(StatusCode::UNAUTHORIZED, code, what)
        .with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

/// The layer around every door.
pub(crate) async fn layer(State(access): State<Arc<Access>>, mut request: Request, next: Next) -> Response<Body> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0);
    let path = request.uri().path().to_owned();
    let guest = match access.admit(&path, request.headers_mut(), peer).await {
        Ok(Some(guest)) => guest,
        Ok(None) => return next.run(request).await,
        Err(refusal) => return private(refused(&refusal, &path)),
    };
    let seat = match seat(&guest, request.method(), &path) {
        Ok(seat) => seat,
        Err(refusal) => return private(refusal.response()),
    };
    let (revoked, has_token) = (guest.revoked.clone(), guest.token.is_some());
    request.extensions_mut().insert(guest);
    if !has_token {
        return private(next.run(request).await);
    }
    let answer = ending::answered(next.run(request), revoked, seat).await;
    let gone = || refused(&unauthorised("token_unknown", "this token was taken back"), &path);
    private(answer.unwrap_or_else(gone))
}

/// A seat for whoever wants to listen, which may be for ever.
fn seat(guest: &Guest, method: &Method, path: &str) -> Result<Option<Seat>, Refusal> {
    if path != "/api/events" || method != Method::GET {
        return Ok(None);
    }
    let what = format!(
        "{} streams of events are open with this token: close one, or listen to all sessions with one",
        guest::SEATS
    );
    let seat = guest.seats.clone().try_acquire_owned();
    seat.map(Some).map_err(|_| Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", what))
}

/// What is somebody's own is kept by nobody on the way, and shown in no page of others, unless the answer itself says
/// more.
fn private(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
    if !headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        headers.entry(EMBEDDED_BY).or_insert(HeaderValue::from_static("same-origin"));
    }
    response
}

/// A refusal in the shape of the door that was knocked at.
fn refused(refusal: &Refusal, path: &str) -> Response<Body> {
    let ours = ["/api", "/mcp", "/metrics", "/v1/summarize", "/v1/context/"];
    let below = wire::below(path).filter(|_| !ours.iter().any(|ours| path.starts_with(ours)));
    let Some(below) = below else { return refusal.response() };
    let Refusal { status, code, message, header } = refusal;
    let mut response = error(wire::of_path(below).unwrap_or(&Chat), *status, code, message);
    response.headers_mut().extend(header.clone());
    response
}
