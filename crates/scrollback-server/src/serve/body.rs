//! Bodies of requests, read whole: not larger than allowed, not slower than anybody needs to be, not compressed, and no
//! more of them at once than there is room for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use futures_util::StreamExt;
use scrollback::Tenant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::access::Guest;
use crate::api::Refusal;
use crate::proxy::RETRY_SECONDS;

/// A body that is too large is read up to so many times what is allowed.
const READ_ON: usize = 4;
/// A client that sends nothing for so long has gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// A whole request has so long, and longer the more of it has come: a second for each so many bytes.
const WHOLE: Duration = Duration::from_mins(2);
const BYTES_A_SECOND: u64 = 10_000;
/// Room is made for no more than this before it comes: anybody can say that much will.
const RESERVED: usize = 1 << 20;
/// Bodies of a kind have so much room together, or so many times what one of them is allowed if that is more; those of
/// one tenant have a part of it in so many.
const TOGETHER: usize = 1 << 30;
const TIMES_ALLOWED: usize = 8;
const SHARES: usize = 2;
/// Room is taken in pieces of so many bytes. Smaller bodies take none.
const PIECE: usize = 64 << 10;

/// The room for bodies by whose it is and how much. Those that are allowed much more than others, such as files to
/// import, have a room of their own and keep no request out.
static ROOMS: Mutex<Rooms> = Mutex::new(BTreeMap::new());

type Rooms = BTreeMap<(Option<Tenant>, usize), Arc<Semaphore>>;

/// The room that somebody has, and the room of all in which that is.
struct Room {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

impl Room {
    /// The room for bodies that are allowed so many bytes.
    fn of(tenant: Tenant, limit: usize) -> Self {
        let most = limit.saturating_mul(TIMES_ALLOWED).max(TOGETHER);
        let pieces = most.div_ceil(PIECE).min(Semaphore::MAX_PERMITS);
        let mut rooms = ROOMS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = |whose, pieces| rooms.entry((whose, pieces)).or_insert_with(|| with(pieces)).clone();
        Self { own: room(Some(tenant), pieces / SHARES), all: room(None, pieces) }
    }

    fn take(&self, pieces: u32) -> Option<[OwnedSemaphorePermit; 2]> {
        let take = |room: &Arc<Semaphore>| room.clone().try_acquire_many_owned(pieces).ok();
        Some([take(&self.own)?, take(&self.all)?])
    }
}

fn with(pieces: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(pieces))
}

/// A body as far as it has come, and the room that it takes.
#[derive(Default)]
struct Whole {
    bytes: Vec<u8>,
    room: Option<[OwnedSemaphorePermit; 2]>,
}

impl AsRef<[u8]> for Whole {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Whole {
    /// Adds a piece, if there is room for it.
    fn add(&mut self, piece: &[u8], room: &Room) -> bool {
        let taken = self.room.as_ref().map_or(0, |[own, _]| own.num_permits());
        let more = ((self.bytes.len() + piece.len()) / PIECE).saturating_sub(taken);
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            let Some(more) = room.take(more) else { return false };
            match &mut self.room {
                Some(taken) => taken.iter_mut().zip(more).for_each(|(taken, more)| taken.merge(more)),
                None => self.room = Some(more),
            }
        }
        self.bytes.extend_from_slice(piece);
        true
    }

    /// Its bytes, which hold the room for as long as anybody has any of them.
    fn bytes(self) -> Bytes {
        if self.room.is_none() { self.bytes.into() } else { Bytes::from_owner(self) }
    }
}

/// That a body is not compressed: what looks small may be endless.
pub(crate) fn is_plain(headers: &HeaderMap) -> Result<(), Refusal> {
    let plain = |value: &axum::http::HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().all(plain) {
        return Ok(());
    }
    let what = "compressed requests are not read here: send it without Content-Encoding";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed_request", what))
}

/// A whole body. One that is too large, or finds no room, is read to its end even so, as clients do not listen while
/// they talk.
pub(crate) async fn read(body: Body, limit: usize, parts: &Parts) -> Result<Bytes, Refusal> {
    let tenant = parts.extensions.get::<Guest>().map_or_else(Tenant::local, |guest| guest.tenant.clone());
    read_into(&Room::of(tenant, limit), body, limit, &parts.headers).await
}

async fn read_into(room: &Room, body: Body, limit: usize, headers: &HeaderMap) -> Result<Bytes, Refusal> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let expected = length.unwrap_or(0).min(limit).min(RESERVED);
    let (mut whole, mut has_room) = (Whole { bytes: Vec::with_capacity(expected), room: None }, true);
    let (mut pieces, mut passed, begun) = (body.into_data_stream(), 0_usize, Instant::now());
    while let Some(piece) = tokio::time::timeout(PATIENCE, pieces.next()).await.map_err(|_| stalled())? {
        if begun.elapsed() > WHOLE + Duration::from_secs(passed as u64 / BYTES_A_SECOND) {
            return Err(drips());
        }
        let piece = piece.map_err(|_| broken())?;
        passed += piece.len();
        if passed > limit.saturating_mul(READ_ON) {
            break;
        }
        has_room = has_room && (passed > limit || whole.add(&piece, room));
        if passed > limit || !has_room {
            // What nobody will read takes no room meanwhile.
            whole = Whole::default();
        }
    }
    if passed > limit {
        return Err(too_large(limit));
    }
    if has_room { Ok(whole.bytes()) } else { Err(busy()) }
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

fn busy() -> Refusal {
    let what = "the server is reading as many large requests as it has room for: try again in a moment";
    let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "server_busy", what);
    refusal.with(header::RETRY_AFTER, RETRY_SECONDS)
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

    async fn read(body: Body, limit: usize, headers: &HeaderMap) -> Result<Bytes, Refusal> {
        read_into(&Room::of(Tenant::local(), limit), body, limit, headers).await
    }

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

    #[tokio::test]
    async fn bodies_take_no_more_room_together_than_there_is() {
        let (room, none, limit) = (Room { own: with(3), all: with(9) }, HeaderMap::new(), 10 * PIECE);
        let of = |bytes: usize| {
            let pieces = vec![vec![b'x'; PIECE / 2]; bytes * 2 / PIECE];
            Body::from_stream(stream::iter(pieces.into_iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)))))
        };
        let first = read_into(&room, of(2 * PIECE), limit, &none).await.unwrap();
        assert_eq!((first.len(), room.own.available_permits()), (2 * PIECE, 1));
        let refusal = read_into(&room, of(2 * PIECE), limit, &none).await.unwrap_err();
        assert_eq!((refusal.status.as_u16(), refusal.code), (503, "server_busy"));
        assert!(refusal.header.is_some_and(|(name, _)| name == header::RETRY_AFTER));
        assert_eq!(room.own.available_permits(), 1, "what was refused takes none");
        let refusal = read_into(&room, of(limit + PIECE), limit, &none).await.unwrap_err();
        assert_eq!(refusal.code, "request_too_large");
        let part = first.slice(..1);
        drop(first);
        assert_eq!(room.own.available_permits(), 1, "a part holds all of it");
        drop(part);
        assert_eq!((room.own.available_permits(), room.all.available_permits()), (3, 9));
        let full = Room { own: with(9), all: with(0) };
        let small = read_into(&full, of(PIECE / 2), limit, &none).await.unwrap();
        assert_eq!(small.len(), PIECE / 2, "small ones take none");
    }

    #[test]
    fn files_to_import_keep_no_request_out() {
        let of = |limit: usize| Room::of(Tenant::local(), limit);
        let (requests, files, others) = (of(64 << 20), of(1 << 30), Room::of(Tenant::new("mira"), 64 << 20));
        assert!(Arc::ptr_eq(&requests.all, &of(4 << 20).all) && !Arc::ptr_eq(&requests.all, &files.all));
        assert!(Arc::ptr_eq(&requests.all, &others.all) && !Arc::ptr_eq(&requests.own, &others.own));
        let bytes = [requests, files, of(usize::MAX)].map(|room| room.all.available_permits().saturating_mul(PIECE));
        assert!(bytes[0] <= TOGETHER && bytes[1] <= TIMES_ALLOWED << 30 && bytes[2] > bytes[1], "{bytes:?}");
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
