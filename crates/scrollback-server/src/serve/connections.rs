//! Connections: each is served by a task of its own. Whoever takes too long to say what they want is let go; whoever is
//! being answered when the server stops is answered to the end, unless that takes too long. `patient` lets go of
//! whoever takes nothing of an answer, `crowd` says how many there may be at once.

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
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

use super::crowd::Crowd;
use super::patient::Patient;

/// How long others are waited for.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// How long a client may take for the head of a request, and stay without asking anything.
    head: Duration,
    /// How long a client may take nothing of what is written to it.
    write: Duration,
    /// How long whoever is being answered may take when the server is to stop.
    end: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { head: Duration::from_secs(30), write: Duration::from_mins(1), end: Duration::from_secs(30) }
    }
}

/// How long is waited when the system has no connection to give, as when too many files are open.
const PAUSE: Duration = Duration::from_secs(1);
/// How many connections may wait to be taken.
const WAITING: u32 = 1024;
/// How much may wait to be sent on a connection. If left alone, systems let megabytes wait, and whoever takes them
/// slowly would seem to take nothing for minutes.
const UNSENT_BYTES: u32 = 256 << 10;

/// Takes an address to listen on, or the first that can be had of those that a name has.
pub(super) async fn reserve(on: &str) -> std::io::Result<TcpSocket> {
    let mut taken = Err(std::io::Error::other("this name has no address"));
    for address in tokio::net::lookup_host(on).await? {
        taken = take(address);
        if taken.is_ok() {
            break;
        }
    }
    taken
}

fn take(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Those that connect have it from the one that listens.
    socket.set_send_buffer_size(UNSENT_BYTES)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Listens at an address that was taken.
pub(super) fn listen(taken: TcpSocket) -> std::io::Result<TcpListener> {
    taken.listen(WAITING)
}

/// Serves whoever connects, at most so many at once, until told to stop.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    patience: Patience,
    most: usize,
    stop: impl Future<Output = ()>,
) {
    let mut stop = std::pin::pin!(stop);
    let (under_way, mut crowd, mut tasks) = (GracefulShutdown::new(), Crowd::of(most), JoinSet::new());
    loop {
        let (accepted, seat) = tokio::select! {
            next = next(&listener, &mut crowd) => next,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, peer)) => spawn(stream, (peer, seat), &router, patience, (&under_way, &mut tasks)),
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
        // What came of a reply is kept when its stream is dropped, and whoever stops waits for that.
        tasks.shutdown().await;
    }
}

type Seat = Option<OwnedSemaphorePermit>;

/// The next connection, once there is a seat for it.
async fn next(listener: &TcpListener, crowd: &mut Crowd) -> (std::io::Result<(TcpStream, SocketAddr)>, Seat) {
    let seat = crowd.seat().await;
    (listener.accept().await, seat)
}

fn spawn(
    stream: TcpStream,
    (peer, seat): (SocketAddr, Seat),
    router: &Router,
    patience: Patience,
    (under_way, tasks): (&GracefulShutdown, &mut JoinSet<()>),
) {
    while tasks.try_join_next().is_some() {}
    // Without this, small pieces of a stream wait for each other.
    let _ = stream.set_nodelay(true);
    let doors = TowerToHyperService::new(router.clone());
    let answers = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        doors.call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience.head);
    let stream = TokioIo::new(Patient::new(stream, patience.write));
    let connection = under_way.watch(builder.serve_connection(stream, answers));
    tasks.spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection broke");
        }
        drop(seat);
    });
}

/// Whether a connection was given up on the other side before it was taken.
fn is_theirs(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use axum::body::Body;
    use axum::routing::get;
    use futures_util::stream;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;
    use tokio::time::{sleep, timeout};

    use super::*;

    const ASKS: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    const LARGE: usize = 16 << 20;

    fn large() -> Router {
        Router::new().route("/", get(|| async { "x".repeat(LARGE) }))
    }

    /// A client that has asked, of a server with so many seats that goes on until the test ends.
    async fn asked(patience: Patience, most: usize) -> (TcpStream, SocketAddr) {
        let listener = listen(reserve("127.0.0.1:0").await.unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, large(), patience, most, std::future::pending()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(ASKS).await.unwrap();
        (client, address)
    }

    #[tokio::test]
    async fn a_client_that_stops_reading_keeps_no_server_from_its_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let router = Router::new().route("/", get(|| async { "x".repeat(64 << 20) }));
        let patience = Patience { end: Duration::from_millis(300), ..Patience::default() };
        let stop = sleep(Duration::from_secs(1));
        let served = timeout(Duration::from_secs(10), serve(listener, router, patience, 9, stop)).await;
        assert!(served.is_ok(), "it waits for ever");
        drop(client);
    }

    /// Tells that it was dropped.
    struct Dropped(Arc<AtomicBool>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// A reply that goes on for ever.
    fn endless(told: Arc<AtomicBool>) -> Body {
        Body::from_stream(stream::unfold(Dropped(told), |told| async move {
            sleep(Duration::from_millis(10)).await;
            Some((Ok::<_, Infallible>("x"), told))
        }))
    }

    #[tokio::test]
    async fn what_is_cut_has_ended_before_the_server_has() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let is_cut = Arc::new(AtomicBool::new(false));
        let told = is_cut.clone();
        let router = Router::new().route("/", get(|| async move { endless(told) }));
        let patience = Patience { end: Duration::from_millis(300), ..Patience::default() };
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve(listener, router, patience, 9, async { drop(stopped.await) }));
        client.write_all(ASKS).await.unwrap();
        client.read_u8().await.unwrap();
        assert!(!is_cut.load(Ordering::Relaxed));
        stop.send(()).unwrap();
        timeout(Duration::from_secs(10), serving).await.expect("it ends").unwrap();
        assert!(is_cut.load(Ordering::Relaxed), "what it says is still under way");
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_let_go_and_a_slow_one_is_not() {
        let patience = Patience { write: Duration::from_millis(500), ..Patience::default() };
        let (mut client, address) = asked(patience, 9).await;
        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(ASKS).await.unwrap();
        let (mut taken, mut piece) = (0, vec![0; 1 << 20]);
        loop {
            sleep(Duration::from_millis(100)).await;
            match slow.read(&mut piece).await.unwrap() {
                0 => break,
                count => taken += count,
            }
        }
        assert!(taken > LARGE, "{taken}");
        let mut rest = Vec::new();
        // It ends early, or with an error.
        let _ = timeout(Duration::from_secs(10), client.read_to_end(&mut rest)).await.expect("it is let go");
        assert!(rest.len() < LARGE, "{}", rest.len());
    }

    #[tokio::test]
    async fn whoever_comes_when_all_seats_are_taken_waits_for_one() {
        let (first, address) = asked(Patience::default(), 1).await;
        sleep(Duration::from_millis(200)).await;
        let mut second = TcpStream::connect(address).await.unwrap();
        second.write_all(ASKS).await.unwrap();
        let mut all = Vec::new();
        assert!(timeout(Duration::from_millis(500), second.read_to_end(&mut all)).await.is_err() && all.is_empty());
        drop(first);
        timeout(Duration::from_secs(10), second.read_to_end(&mut all)).await.expect("a seat is free").unwrap();
        assert!(all.starts_with(b"HTTP/1.1 200"));
    }
}
