//! `scrollback serve`: the proxy, a word on its health, and numbers for Prometheus.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::get;
use axum::serve::ListenerExt;
use bytes::Bytes;
use futures_util::StreamExt;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;

use crate::door;
use crate::hop::{self, Before};
use crate::proxy::{Incoming, Proxy, error};
use crate::wire;
use crate::wire::chat::Chat;

/// A body that is too large is read up to so many times what is allowed.
const PATIENCE: usize = 4;

/// What every route works with.
#[derive(Clone)]
struct Desk {
    proxy: Arc<Proxy>,
    numbers: PrometheusHandle,
}

/// A server that has its address and waits for nothing but to run.
pub(crate) struct Server {
    listener: TcpListener,
    router: Router,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Takes its address.
    pub(crate) async fn bind(proxy: Arc<Proxy>) -> anyhow::Result<Self> {
        let listen = &proxy.serve.listen;
        let listener = TcpListener::bind(listen).await.with_context(|| format!("{listen} cannot be listened on"))?;
        let address = listener.local_addr()?;
        let recorder = PrometheusBuilder::new().build_recorder();
        let numbers = recorder.handle();
        // A second server in one process counts into the first one's numbers.
        let _ = metrics::set_global_recorder(recorder);
        let router = Router::new()
            .route("/", get(|| async { "Scrollback\n" }))
            .route("/health", get(|| async { "ok\n" }))
            .route("/metrics", get(|State(desk): State<Desk>| async move { desk.numbers.render() }))
            .route("/v1/{*path}", axum::routing::any(usual))
            .route("/{upstream}/v1/{*path}", axum::routing::any(named))
            .with_state(Desk { proxy: proxy.clone(), numbers })
            .merge(crate::api::router(&proxy))
            .merge(crate::mcp::router(&proxy));
        Ok(Self { listener, router, address })
    }

    /// Serves until told to stop; requests that are under way are finished.
    pub(crate) async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
        let listener = self.listener.tap_io(|stream| {
            // Without this, small pieces of a stream wait for each other.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, self.router).with_graceful_shutdown(stop).await.context("serving failed")
    }
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

async fn answer(desk: Desk, name: Option<String>, request: Request) -> Response<Body> {
    metrics::counter!("scrollback_requests_total").increment(1);
    let (parts, body) = request.into_parts();
    let whole = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let path = whole.split_once("/v1").map_or("", |(_, path)| path).to_owned();
    let wire = wire::of_path(&path).unwrap_or(&Chat);
    if !is_addressed(&parts.headers, &desk.proxy) {
        let what = "this name is not one of ours; add it to serve.hosts if it is yours";
        return error(wire, StatusCode::FORBIDDEN, "host_not_allowed", what);
    }
    if let Some(what) = door::quarrel(&parts.headers) {
        return error(wire, StatusCode::BAD_REQUEST, "two_keys", what);
    }
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
    let limit = desk.proxy.serve.body_bytes;
    let Ok(body) = read(body, limit, &parts.headers).await else {
        let what = "the request broke off";
        return error(wire, StatusCode::BAD_REQUEST, "request_broken", what);
    };
    let Some(body) = body else {
        let what = format!("the request is larger than {} MB; serve.body_megabytes allows more", limit >> 20);
        return error(wire, StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", &what);
    };
    let incoming = Incoming { method: parts.method, path, headers: parts.headers, body };
    if before == Before::Another {
        return desk.proxy.beside_another(&upstream, incoming).await;
    }
    desk.proxy.answer(upstream, incoming).await
}

/// A whole body; `None` if it is larger than allowed. It is read to its end even so, as clients do not listen while they talk.
pub(crate) async fn read(body: Body, limit: usize, headers: &HeaderMap) -> Result<Option<Bytes>, axum::Error> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let mut whole = Vec::with_capacity(length.unwrap_or(0).min(limit));
    let (mut pieces, mut passed) = (body.into_data_stream(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        passed += piece.len();
        if passed <= limit {
            whole.extend_from_slice(&piece);
        } else if passed > limit.saturating_mul(PATIENCE) {
            break;
        }
    }
    Ok((passed <= limit).then(|| whole.into()))
}

/// Whether a request is addressed to us by a name of ours, and not sent by a web page from elsewhere.
pub(crate) fn is_addressed(headers: &HeaderMap, proxy: &Proxy) -> bool {
    let text = |name| headers.get(name).map(|value: &axum::http::HeaderValue| value.to_str().unwrap_or("?"));
    let origin = text(header::ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    [text(header::HOST), origin].into_iter().flatten().all(|host| is_ours(host, proxy))
}

fn is_ours(host: &str, proxy: &Proxy) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    let local = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok() || name == "localhost";
    local || proxy.serve.hosts.iter().any(|known| known == name || known == "*")
}
