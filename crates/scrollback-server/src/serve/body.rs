//! Bodies of requests, read whole: not larger than allowed, not slower than anybody needs to be, and not compressed.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::Instant;

use crate::api::Refusal;

/// A body that is too large is read up to so many times what is allowed.
const READ_ON: usize = 4;
/// A client that sends nothing for so long has gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// A whole request has so long, and longer the more of it has come: a second for each so many bytes.
const WHOLE: Duration = Duration::from_mins(2);
const BYTES_A_SECOND: u64 = 10_000;
/// Room is made for no more than this before it comes: anybody can say that much will.
const RESERVED: usize = 1 << 20;

/// That a body is not compressed: what looks small may be endless.
pub(crate) fn is_plain(headers: &HeaderMap) -> Result<(), Refusal> {
    let plain = |value: &axum::http::HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().all(plain) {
        return Ok(());
    }
    let what = "compressed requests are not read here: send it without Content-Encoding";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed_request", what))
}

/// A whole body. One that is too large is read to its end even so, as clients do not listen while they talk.
pub(crate) async fn read(body: Body, limit: usize, headers: &HeaderMap) -> Result<Bytes, Refusal> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let mut whole = Vec::with_capacity(length.unwrap_or(0).min(limit).min(RESERVED));
    let (mut pieces, mut passed, begun) = (body.into_data_stream(), 0_usize, Instant::now());
    while let Some(piece) = tokio::time::timeout(PATIENCE, pieces.next()).await.map_err(|_| stalled())? {
        if begun.elapsed() > WHOLE + Duration::from_secs(passed as u64 / BYTES_A_SECOND) {
            return Err(drips());
        }
        let piece = piece.map_err(|_| broken())?;
        passed += piece.len();
        if passed <= limit {
            whole.extend_from_slice(&piece);
        } else if passed > limit.saturating_mul(READ_ON) {
            break;
        }
    }
    if passed <= limit { Ok(whole.into()) } else { Err(too_large(limit)) }
}

fn broken() -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "request_broken", "the request broke off")
}

fn stalled() -> Refusal {
    let what = format!("nothing more of the request came for {} s: send it again", PATIENCE.as_secs());
    Refusal::new(StatusCode::REQUEST_TIMEOUT, "request_stalled", what)
}

fn drips() -> Refusal {
    let what = format!("the request comes too slowly: send at least {} kB a second", BYTES_A_SECOND / 1000);
    Refusal::new(StatusCode::REQUEST_TIMEOUT, "request_stalled", what)
}

fn too_large(limit: usize) -> Refusal {
    let what = format!("the request is larger than {} MB; serve.body_megabytes allows more", limit >> 20);
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", what)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use futures_util::stream;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_is_given_up_and_a_slow_one_is_not() {
        let first = || stream::iter([Ok::<_, std::io::Error>(Bytes::from("first"))]);
        let stalls = Body::from_stream(first().chain(stream::pending()));
        let refusal = read(stalls, 100, &HeaderMap::new()).await.unwrap_err();
        assert_eq!((refusal.status.as_u16(), refusal.code), (408, "request_stalled"));
        let slow = first().chain(stream::once(async {
            tokio::time::sleep(PATIENCE.saturating_sub(Duration::from_secs(1))).await;
            Ok(Bytes::from(" second"))
        }));
        assert_eq!(read(Body::from_stream(slow), 100, &HeaderMap::new()).await.unwrap(), "first second");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_given_up_and_a_long_one_is_not() {
        let every = |seconds: u64, bytes: usize| {
            stream::unfold((), move |()| async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                Some((Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; bytes])), ()))
            })
        };
        let begun = Instant::now();
        let refusal = read(Body::from_stream(every(20, 1)), 1 << 20, &HeaderMap::new()).await.unwrap_err();
        assert_eq!((refusal.status.as_u16(), refusal.code), (408, "request_stalled"));
        assert!(begun.elapsed() < WHOLE + PATIENCE, "{:?}", begun.elapsed());
        let long = every(1, 20_000).take(500);
        assert_eq!(read(Body::from_stream(long), 10 << 20, &HeaderMap::new()).await.unwrap().len(), 10_000_000);
    }

    #[tokio::test]
    async fn a_length_that_is_only_claimed_takes_no_room() {
        // More than any machine has: making room for it would end the program.
        let claims = HeaderMap::from_iter([(header::CONTENT_LENGTH, HeaderValue::from_static("9000000000000000000"))]);
        assert_eq!(read(Body::from("little"), usize::MAX >> 1, &claims).await.unwrap(), "little");
    }

    #[tokio::test]
    async fn what_is_too_large_takes_no_more_room_than_is_allowed() {
        let claims = HeaderMap::from_iter([(header::CONTENT_LENGTH, HeaderValue::from_static("99999999999"))]);
        let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 1000])));
        let refusal = read(Body::from_stream(endless), 10_000, &claims).await.unwrap_err();
        assert_eq!((refusal.status.as_u16(), refusal.code), (413, "request_too_large"));
    }

    #[test]
    fn compressed_bodies_are_told_apart() {
        let with = |value| HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(value))]);
        assert!(is_plain(&HeaderMap::new()).is_ok() && is_plain(&with("identity")).is_ok());
        for value in ["gzip", "zstd", "br", "identity, gzip", ""] {
            assert_eq!(is_plain(&with(value)).unwrap_err().status.as_u16(), 415, "{value}");
        }
    }
}
