//! `GET /api/events`: what happens to a person's sessions, or to one of them, as long as they listen.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use bytes::Bytes;
use scrollback::{SessionId, Tenant};
use serde_json::json;
use tokio::time::Instant;

use crate::api::{Ask, Door, Refusal, opened, sse, streams};
use crate::live::{Heard, Listener};

/// A comment is sent this often, so that nobody takes the stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Somebody who listens.
struct Ear {
    listener: Listener,
    tenant: Tenant,
    session: Option<SessionId>,
    begun: bool,
    /// Whether they listened before: what happened meanwhile, nobody told them.
    is_back: bool,
}

pub(super) async fn listened(State(door): State<Door>, request: Request) -> Response<Body> {
    Box::pin(listening(&door, request)).await.unwrap_or_else(|refusal| refusal.response())
}

async fn listening(door: &Door, request: Request) -> Result<Response<Body>, Refusal> {
    let (parts, body) = opened(request, door.proxy.serve.body_bytes).await?;
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let ask = Ask::read(&parts.method, path, body)?;
    streams::checked("/events", &ask)?;
    let room = door.room(&parts)?;
    let session = match ask.text("session") {
        Some(name) => Some(room.session(name).await?.0.id),
        None => None,
    };
    let is_back = parts.headers.contains_key("last-event-id");
    let ear = Ear { listener: door.proxy.live.listen(), tenant: room.tenant, session, begun: false, is_back };
    Ok(sse::response(futures_util::stream::unfold(ear, |mut ear| async {
        let event = ear.next().await?;
        Some((event, ear))
    })))
}

impl Ear {
    /// The next event, or a sign of life.
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(sse::opening("listening"));
        }
        if std::mem::take(&mut self.is_back) {
            return Some(sse::event("missed", &json!({})));
        }
        // What is none of theirs does not put it off.
        let deadline = Instant::now() + KEEP_ALIVE;
        loop {
            let Ok(heard) = tokio::time::timeout_at(deadline, self.listener.next()).await else {
                return Some(sse::comment("still here"));
            };
            let (name, told) = match heard? {
                Heard::Missed => ("missed", json!({})),
                Heard::Happened(what) if what.of.tenant != self.tenant => continue,
                Heard::Happened(what) if self.session.is_some_and(|session| session != what.of.id) => continue,
                Heard::Happened(what) => (what.what.name(), what.told()),
            };
            return Some(sse::event(name, &told));
        }
    }
}

#[cfg(test)]
mod tests {
    use scrollback::SessionKey;

    use super::*;
    use crate::live::{Live, What};

    #[tokio::test(start_paused = true)]
    async fn others_who_talk_do_not_put_off_a_sign_of_life() {
        let (live, tenant) = (Live::default(), Tenant::local());
        let session = |name: &str| SessionKey { tenant: tenant.clone(), id: SessionId::declared(&tenant, name) };
        let (mine, other) = (session("mine").id, session("other"));
        let mut ear =
            Ear { listener: live.listen(), tenant: tenant.clone(), session: Some(mine), begun: true, is_back: false };
        let talk = async {
            for _ in 0..6 {
                tokio::time::sleep(Duration::from_secs(10)).await;
                live.publish(&other, || What::Controls);
            }
        };
        let heard = tokio::select! {
            heard = ear.next() => heard,
            () = talk => panic!("nothing is heard for a minute"),
        };
        assert_eq!(heard, Some(sse::comment("still here")));
    }
}
