//! `scrollback serve`: the proxy, a word on its health, and numbers for Prometheus. Around all of it is one layer that
//! decides who may ask (`access`).
//!
//! `connections` serves them one by one (`patient`, `crowd`), `body` reads what requests say, `apart` has threads for
//! those that say much, and `numbers` are what is counted.

pub(crate) mod apart;
pub(crate) mod body;
mod connections;
mod crowd;
mod numbers;
mod patient;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{Response, StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use percent_encoding::percent_decode_str;
use scrollback::store::Which;
use scrollback::{SessionId, Tenant};
use tokio::net::{TcpListener, TcpSocket};

use crate::access::{self, Access, Guest};
use crate::api::Refusal;
use crate::hop::{self, Before};
use crate::live::Live;
use crate::proxy::{self, Incoming, Proxy, error};
use crate::wire;
use crate::wire::chat::Chat;
use numbers::Numbers;

/// How long the store may take to answer, before no requests should come here.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// A path that can be decoded more often hides something.
const MOST_DECODED: usize = 4;

/// So much is said again of a path that leads nowhere.
const PATH_CHARS: usize = 200;

/// What every route works with.
#[derive(Clone)]
struct Desk {
    proxy: Arc<Proxy>,
    numbers: Numbers,
}

/// A server that has its address and waits for nothing but to run.
pub(crate) struct Server {
    listener: TcpListener,
    router: Router,
    access: Arc<Access>,
    live: Live,
    numbers: Numbers,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Takes its address.
    pub(crate) async fn bind(proxy: Arc<Proxy>) -> anyhow::Result<Self> {
        Self::over(reserved(&proxy.serve.listen).await?, proxy).await
    }

    /// Listens at an address that was taken before.
    pub(crate) async fn over(reserved: TcpSocket, proxy: Arc<Proxy>) -> anyhow::Result<Self> {
        let listen = &proxy.serve.listen;
        let listener = connections::listen(reserved).map_err(|error| unheard(listen, error))?;
        let address = listener.local_addr()?;
        let numbers = Numbers::begin(proxy.pulse.clone());
        let router = Router::new()
            .route("/health", get(|| async { "ok\n" }))
            .route("/ready", get(ready))
            .route("/metrics", get(|State(desk): State<Desk>| async move { desk.numbers.told() }))
            .route("/v1/{*path}", axum::routing::any(usual))
            .route("/{upstream}/v1/{*path}", axum::routing::any(named))
            .with_state(Desk { proxy: proxy.clone(), numbers: numbers.clone() })
            .merge(crate::api::router(&proxy))
            .merge(crate::web::router())
            .merge(crate::mcp::router(&proxy))
            .fallback(nowhere)
            .layer(from_fn(apart::layer))
            .layer(from_fn_with_state(proxy.access.clone(), access::layer));
        proxy.access.tokens.read().await.context("the tokens cannot be read")?;
        Ok(Self { listener, router, access: proxy.access.clone(), live: proxy.live.clone(), numbers, address })
    }

    /// Serves until told to stop; requests that are under way are finished.
    pub(crate) async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
        let Self { listener, router, access, live, numbers, .. } = self;
        let counting = tokio::spawn(numbers.keep_up());
        let reading = tokio::spawn(async move { access.tokens.keep_reading().await });
        let stop = async move {
            stop.await;
            live.close();
        };
        connections::serve(listener, router, connections::Patience::default(), crowd::most(), stop).await;
        reading.abort();
        counting.abort();
        Ok(())
    }
}

/// Takes an address, so that nobody else can; who connects is refused until it is listened on.
pub(crate) async fn reserved(listen: &str) -> anyhow::Result<TcpSocket> {
    connections::reserve(listen).await.map_err(|error| unheard(listen, error))
}

/// What is told where an address cannot be listened on.
fn unheard(listen: &str, error: std::io::Error) -> anyhow::Error {
    let taken = "another program listens there, perhaps another Scrollback: stop it, or name another address with \
                 --listen or serve.listen";
    let told = format!("{listen} cannot be listened on");
    let told = if error.kind() == ErrorKind::AddrInUse { format!("{told}: {taken}") } else { told };
    anyhow::Error::from(error).context(told)
}

/// An error if something is no address at all.
pub(crate) async fn is_address(listen: &str) -> anyhow::Result<()> {
    let no_address = || format!("“{listen}” is no address to listen on: write one such as 127.0.0.1:4141");
    tokio::net::lookup_host(listen).await.map(drop).with_context(no_address)
}

/// Whether requests may come here: the store answers, and what was last written to it is kept. Whoever shares out
/// requests asks this, and nobody who is told to stop answers it, as no new connection is taken then.
async fn ready(State(desk): State<Desk>) -> (StatusCode, &'static str) {
    let no = |what| (StatusCode::SERVICE_UNAVAILABLE, what);
    let tenant = Tenant::local();
    // Asked for one conversation, a database answers itself, and no replica of it.
    let nobody = Which::Id(SessionId::declared(&tenant, ""));
    let asked = desk.proxy.engine.log().store().sessions(&tenant, nobody);
    match tokio::time::timeout(READY_WITHIN, asked).await {
        Ok(Ok(_)) if desk.proxy.pulse.is_ill() => {
            if let Some(error) = desk.proxy.pulse.why() {
                tracing::warn!(error, "not ready: what was last to be written to the store failed");
            }
            return no("the store cannot be written to\n");
        }
        Ok(Ok(_)) => return (StatusCode::OK, "ready\n"),
        // Anybody may ask; what exactly is wrong is for the log.
        Ok(Err(error)) => tracing::warn!(%error, "not ready"),
        Err(_) => tracing::warn!("not ready: the store does not answer in time"),
    }
    no("the store does not answer\n")
}

async fn usual(State(desk): State<Desk>, request: Request) -> Response<Body> {
    Box::pin(answer(desk, None, request)).await
}

async fn named(
    State(desk): State<Desk>,
    Path((upstream, _)): Path<(String, String)>,
    request: Request,
) -> Response<Body> {
    Box::pin(answer(desk, Some(upstream), request)).await
}

/// What is told of a path that leads nowhere.
async fn nowhere(uri: Uri) -> Response<Body> {
    let path: String = uri.path().chars().take(PATH_CHARS).collect();
    let is_short = lacks_version(&path);
    let what = if is_short {
        format!("there is nothing at {path}: the base URL ends in /v1, as in http://127.0.0.1:4141/v1")
    } else {
        format!("there is nothing at {path}: /api/openapi.json lists what there is")
    };
    if is_short || path.starts_with("/v1") || path.contains("/v1/") {
        return error(&Chat, StatusCode::NOT_FOUND, "not_found", &what);
    }
    Refusal::not_found(what).response()
}

/// Whether a client asks a model where `/v1` is missing, be it behind the name of an upstream.
fn lacks_version(path: &str) -> bool {
    let named = path.get(1..).and_then(|rest| rest.find('/')).map(|at| &path[1 + at..]);
    !path.starts_with("/api/") && [Some(path), named].into_iter().flatten().any(|path| wire::of_path(path).is_some())
}

async fn answer(desk: Desk, name: Option<String>, request: Request) -> Response<Body> {
    metrics::counter!("scrollback_requests_total").increment(1);
    let (parts, body) = request.into_parts();
    let whole = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let path = wire::below(whole).unwrap_or_default().to_owned();
    let wire = wire::of_path(&path).unwrap_or(&Chat);
    if climbs(&path) {
        let what = "a path with “.”, “..” or a backslash may lead elsewhere than it says: write it out";
        return error(wire, StatusCode::BAD_REQUEST, "path_climbs", what);
    }
    if path.starts_with("/v1/") {
        let what = "the path names /v1 twice: this client adds it by itself, so leave it out of the base URL, as in \
                    http://127.0.0.1:4141";
        return error(wire::of_path(&path["/v1".len()..]).unwrap_or(&Chat), StatusCode::NOT_FOUND, "v1_twice", what);
    }
    let Some(Guest { tenant, .. }) = parts.extensions.get::<Guest>().cloned() else {
        return error(wire, StatusCode::UNAUTHORIZED, "token_needed", "nobody knows who asks");
    };
    let before = hop::before(&parts.headers);
    if before == Before::Ourselves {
        let what = "this request was here before: the upstream leads back to this very Scrollback";
        return error(wire, StatusCode::LOOP_DETECTED, "proxy_loop", what);
    }
    let upstream = match &name {
        Some(name) => desk.proxy.upstream(name),
        None => desk.proxy.usual(&path, &parts.headers),
    };
    let Some(upstream) = upstream else {
        let what = format!("there is no upstream “{}”; the settings name them", name.unwrap_or_default());
        return error(wire, StatusCode::NOT_FOUND, "no_such_upstream", &what);
    };
    let read = async {
        if proxy::is_managed(&parts.method, &path) {
            body::is_plain(&parts.headers)?;
        }
        body::read(body, desk.proxy.serve.body_bytes, &parts).await
    };
    let body = match read.await {
        Ok(body) => body,
        Err(refusal) => {
            let mut response = error(wire, refusal.status, refusal.code, &refusal.message);
            response.headers_mut().extend(refusal.header);
            return response;
        }
    };
    let incoming = Incoming { tenant, method: parts.method, path, headers: parts.headers, body, ours: None };
    if before == Before::Another {
        return desk.proxy.beside_another(&upstream, incoming).await;
    }
    desk.proxy.answer(upstream, incoming).await
}

/// Whether somebody on the way may read a path as another one than we do: what is decided about it would not hold for
/// that one.
fn climbs(path: &str) -> bool {
    let mut path = path.split('?').next().unwrap_or_default().to_owned();
    // Each hop may decode it once more.
    for _ in 0..MOST_DECODED {
        if path.contains('\\') || path.split('/').any(is_step) {
            return true;
        }
        let decoded = percent_decode_str(&path).decode_utf8_lossy().into_owned();
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}

/// Whether a part of a path leads to its own place or the one above; what follows a semicolon, some take for a remark.
fn is_step(part: &str) -> bool {
    matches!(part.split(';').next(), Some("." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_a_version_is_told_apart() {
        for path in ["/chat/completions", "/responses", "/mock/chat/completions", "/messages"] {
            assert!(lacks_version(path), "{path}");
        }
        for path in ["/", "", "/api/messages", "/api/sessions/x/messages", "/v1/x/chat/completions", "/chat", "/é/x"] {
            assert!(!lacks_version(path), "{path}");
        }
    }

    #[test]
    fn a_path_that_may_lead_elsewhere_is_told_apart() {
        for path in
            ["/models/../files", "/models/%2e%2E/files", "/models/.%2e", "/./files", "/a\\b", "/a%5cb", "/a%2f..%2fb"]
        {
            assert!(climbs(path), "{path}");
        }
        for path in ["/models/%252e%252e/files", "/models/%25252e./files", "/models/..;x/files", "/a%2525252525b"] {
            assert!(climbs(path), "{path}");
        }
        for path in [
            "/models",
            "/models/gpt-4.1",
            "/models/a..b",
            "/models/...",
            "/models/a%2fb",
            "/models/a;b",
            "/x%20y",
            "/files?after=../x",
            "/",
        ] {
            assert!(!climbs(path), "{path}");
        }
    }
}
