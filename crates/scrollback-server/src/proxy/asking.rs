//! Asking the model: as often as it only calls tools of ours, with a smaller window if it refuses one as too large, and
//! otherwise if it wants that.

use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;

use super::exchange::{Exchange, Verdict};
use super::responses::awaited_in;
use super::{Incoming, RETRY_SECONDS, error, pass, stream};
use crate::upstream::{Answer, AnswerBody, Outgoing, Silence};
use crate::wire::edit::is_overflow;
use crate::wire::said::Said;
use crate::wire::{Output, Wire};

/// What a client that sends only what is new is told in the place of a reply that could not be kept.
pub(super) const LOST: &str = "the model has answered, but its reply could not be stored, and what follows it would be \
                               answered without it; send the request again";
/// The same for programs.
pub(super) const LOST_CODE: &str = "store_unavailable";
/// A window that was too large for its model is made smaller once, to this share.
const SHRINK_PERCENT: u32 = 60;

/// What came of asking.
enum Answered {
    Refused(Response<Body>),
    Stream(Answer),
    Whole(Box<Whole>),
}

/// A reply that came in one piece.
struct Whole {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    said: Said,
    verdict: Verdict,
    /// What earlier rounds of it put out.
    earlier: Output,
}

/// An exchange that is recorded as failed if nobody takes it.
struct Held(Option<Exchange>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(exchange) = self.0.take() {
            exchange.fail();
        }
    }
}

impl Exchange {
    /// Answers the request. Should the client leave meanwhile, what was asked and paid for is recorded.
    pub(super) async fn run(self) -> Response<Body> {
        let mut held = Held(Some(self));
        let answered = Box::pin(held.0.as_mut().expect("nobody has taken it").ask()).await;
        let exchange = held.0.take().expect("nobody has taken it");
        match answered {
            // It is told later, and not here.
            Answered::Refused(response) if exchange.plan.fetched && response.status().is_success() => {
                exchange.record().await;
                response
            }
            Answered::Refused(response) => {
                exchange.warn(response.status());
                exchange.fail();
                response
            }
            Answered::Stream(answer) => stream::respond(exchange, answer),
            Answered::Whole(whole) => exchange.deliver(*whole).await,
        }
    }

    /// Asks the model, as often as it only calls tools of ours.
    async fn ask(&mut self) -> Answered {
        loop {
            let answer = match self.send().await {
                Ok(answer) if answer.status.is_success() && is_stream(&answer.headers) => {
                    return Answered::Stream(answer);
                }
                Ok(answer) => answer,
                Err(silence) => return self.silent(&silence),
            };
            let (status, headers) = (answer.status, answer.headers);
            let Ok(body) = answer.body.all().await else { return self.silent(&cut_off()) };
            let said = Some(&body).filter(|_| status.is_success()).and_then(|body| self.wire.speech().read(body));
            let Some(said) = said else {
                self.response = awaited_in(&body).filter(|_| self.plan.fetched && status.is_success());
                let body = if status.is_success() { self.wire.speech().restored(body, &self.echo()) } else { body };
                return Answered::Refused(pass::with(status, headers, Body::from(body)));
            };
            let earlier = self.output_before();
            self.record_call(&said);
            self.response.clone_from(&said.id);
            match self.judge(&said) {
                Verdict::Again(calls) => {
                    self.remember_shown(&said);
                    self.answer_calls(&said, &calls).await;
                }
                verdict @ (Verdict::Deliver | Verdict::Mixed(_)) => {
                    return Answered::Whole(Box::new(Whole { status, headers, body, said, verdict, earlier }));
                }
            }
        }
    }

    fn silent(&self, silence: &Silence) -> Answered {
        Answered::Refused(pass::silent(self.wire, &self.upstream.name, silence))
    }

    /// A whole reply goes to the client, after what was said in earlier rounds.
    async fn deliver(self, whole: Whole) -> Response<Body> {
        let Whole { status, mut headers, body, said, verdict, earlier } = whole;
        let (wire, speech) = (self.wire, self.wire.speech());
        headers.extend(self.labels());
        let left = self.for_client(&said);
        let shown = left.clone().after(self.earlier.shown.clone());
        let changed = shown.pieces != said.pieces || earlier != Output::default();
        let body = if changed { speech.edited(&body, &shown, earlier) } else { body };
        let body = speech.restored(body, &self.echo());
        if self.conclude(said, left, verdict).lost().await {
            return lost(wire);
        }
        pass::with(status, headers, Body::from(body))
    }

    /// Sends the window: a smaller one if the model counts more tokens than we do, and otherwise than it was if that is
    /// how the model wants it.
    pub(super) async fn send(&mut self) -> Result<Answer, Silence> {
        self.heed();
        let mut tried = Vec::new();
        loop {
            let Answer { status, headers, body } = self.send_once().await?;
            if status.is_success() {
                self.learn(&tried);
                return Ok(Answer { status, headers, body });
            }
            let body = body.all().await.map_err(|_| cut_off())?;
            let is_smaller = !self.manner.shrunk && is_overflow(status, &body) && self.shrink().await;
            if is_smaller {
                continue;
            }
            match self.give_way(status, &body) {
                Some(given) => tried.push(given),
                None => return Ok(Answer { status, headers, body: AnswerBody::Ready(Some(body)) }),
            }
        }
    }

    async fn send_once(&mut self) -> Result<Answer, Silence> {
        let body = self.compose();
        self.sent.at = Instant::now();
        let Incoming { method, path, headers, .. } = &self.incoming;
        self.upstream.send(Outgoing { method: method.clone(), path, headers, body }).await
    }

    /// Lays the window out smaller; whether that is possible.
    async fn shrink(&mut self) -> bool {
        let tokens = self.turn.window().tokens() / 100 * SHRINK_PERCENT;
        let model = &*self.plan.model;
        self.manner.shrunk = true;
        match self.proxy.engine.shrink(&mut self.turn, tokens).await {
            Ok(()) => {
                tracing::warn!(model, tokens, "the model refused the window as too large; a smaller one is sent");
                true
            }
            Err(error) => {
                tracing::warn!(model, tokens, %error, "the model refused the window as too large, and none is smaller");
                false
            }
        }
    }
}

/// An answer in the place of a reply that is lost.
fn lost(wire: &dyn Wire) -> Response<Body> {
    let mut response = error(wire, StatusCode::SERVICE_UNAVAILABLE, LOST_CODE, LOST);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
    response
}

fn cut_off() -> Silence {
    Silence::Broken("its answer was cut off".into())
}

pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}
