//! Connections: each is served by a task of its own. Whoever takes too long to say what they want is let go; whoever is being
//! answered when the server stops is answered to the end, unless that takes too long.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

/// How long others are waited for.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// How long a client may take for the head of a request, and stay without asking anything.
    head: Duration,
    /// How long whoever is being answered may take when the server is to stop.
    end: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { head: Duration::from_secs(30), end: Duration::from_secs(30) }
    }
}

/// How long is waited when the system has no connection to give, as when too many files are open.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves whoever connects until told to stop.
pub(super) async fn serve(listener: TcpListener, router: Router, patience: Patience, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let under_way = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, peer)) => spawn(stream, peer, &router, patience.head, &under_way),
            Err(error) if is_theirs(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be taken; that is tried again");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    // A client that stops reading would keep it here for ever.
    if tokio::time::timeout(patience.end, under_way.shutdown()).await.is_err() {
        tracing::warn!("answers were still under way; they are cut");
    }
}

fn spawn(stream: TcpStream, peer: SocketAddr, router: &Router, patience: Duration, under_way: &GracefulShutdown) {
    // Without this, small pieces of a stream wait for each other.
    let _ = stream.set_nodelay(true);
    let doors = TowerToHyperService::new(router.clone());
    let answers = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        doors.call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience);
    let connection = under_way.watch(builder.serve_connection(TokioIo::new(stream), answers));
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection broke");
        }
    });
}

/// Whether a connection was given up on the other side before it was taken.
fn is_theirs(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn a_client_that_stops_reading_keeps_no_server_from_its_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let router = Router::new().route("/", get(|| async { "x".repeat(64 << 20) }));
        let patience = Patience { end: Duration::from_millis(300), ..Patience::default() };
        let stop = tokio::time::sleep(Duration::from_secs(1));
        let served = tokio::time::timeout(Duration::from_secs(10), serve(listener, router, patience, stop)).await;
        assert!(served.is_ok(), "it waits for ever");
        drop(client);
    }
}
