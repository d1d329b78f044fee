//! Large requests and replies are worked on by threads of their own. Reading, counting and folding what they say can take seconds,
//! and whoever asks for little, or is being streamed to, should not wait for that.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// From so many bytes on a request is large.
const LARGE: u64 = 256 << 10;

/// The threads for large requests. They last as long as the process: what is kept of a reply after its client has gone
/// is kept by them.
static THREADS: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(threads).thread_name("scrollback-large").enable_all().build();
    runtime.inspect_err(|error| tracing::warn!(%error, "large requests have no threads of their own")).ok()
});

/// Answers a request, apart from others if it is large. Whoever goes away stops the work on it.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let threads = if is_large(&request) { THREADS.as_ref() } else { None };
    let Some(runtime) = threads else {
        return next.run(request).await;
    };
    let mut work = JoinSet::new();
    work.spawn_on(next.run(request), runtime.handle());
    match work.join_next().await {
        Some(Ok(response)) => response,
        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Some(Err(_)) | None => (StatusCode::SERVICE_UNAVAILABLE, "the server stops\n").into_response(),
    }
}

/// Does some work on so many bytes that came, apart from other work if they are many.
pub(crate) async fn work(bytes: usize, work: impl Future<Output = ()> + Send + 'static) {
    let threads = if bytes as u64 >= LARGE { THREADS.as_ref() } else { None };
    match threads {
        None => work.await,
        Some(runtime) => {
            if let Err(error) = runtime.spawn(work).await
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    }
}

/// Whether a request says much, or asks for a whole conversation; one that does not tell how much it says may say
/// anything.
fn is_large(request: &Request) -> bool {
    let headers = request.headers();
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let says_much = length.map_or_else(|| headers.contains_key(TRANSFER_ENCODING), |length| length >= LARGE);
    says_much || request.uri().path().ends_with("/export")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn what_is_large_is_told_by_its_head() {
        let request = |path: &str, name: &str, value: &str| {
            Request::builder().uri(path).header(name, value).body(Body::empty()).unwrap()
        };
        for large in [
            request("/v1/messages", "content-length", "262144"),
            request("/v1/messages", "transfer-encoding", "chunked"),
            request("/api/sessions/a/export?branch=1", "host", "localhost"),
        ] {
            assert!(is_large(&large), "{large:?}");
        }
        for small in [request("/v1/messages", "content-length", "262143"), request("/health", "host", "localhost")] {
            assert!(!is_large(&small), "{small:?}");
        }
    }
}
