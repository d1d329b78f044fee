//! A streamed reply: passed on as it comes, listened to on the way. Calls of ours are kept back; when they are answered, the
//! next round goes on in the same stream.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;

use super::exchange::{Exchange, Verdict};
use super::pass;
use crate::upstream::{Answer, AnswerBody, Silence};
use crate::wire::sse::{Event, Splitter};
use crate::wire::{Heard, Relay};

/// When a reply has ended, its upstream has this long for a last word.
const LAST_WORD: Duration = Duration::from_millis(250);
/// While a round is prepared, a comment is sent this often, so that nobody takes the stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

type Next = Pin<Box<dyn Future<Output = (Exchange, Result<Answer, Silence>)> + Send>>;

/// Where a stream is.
enum Phase {
    /// A reply is coming.
    Coming(Box<Exchange>, AnswerBody),
    /// Calls of ours are answered, and the model is asked again.
    Between(Next),
    /// The reply has ended and is kept. What its upstream still says goes to the client as it comes.
    Rest(AnswerBody),
    /// All is said.
    Over,
}

struct Streaming {
    phase: Phase,
    splitter: Splitter,
    relay: Box<dyn Relay>,
    out: BytesMut,
    ready: VecDeque<Result<Bytes, std::io::Error>>,
}

/// The response that streams a reply.
pub(super) fn respond(exchange: Exchange, answer: Answer) -> Response<Body> {
    let mut headers = answer.headers;
    headers.extend(exchange.labels());
    let mut relay = exchange.wire.speech().relay(exchange.hides_markers());
    relay.expect(exchange.echo());
    let phase = Phase::Coming(Box::new(exchange), answer.body);
    let (splitter, out, ready) = Default::default();
    let streaming = Streaming { phase, splitter, relay, out, ready };
    let body = stream::unfold(streaming, |mut streaming| async {
        let piece = streaming.next().await?;
        Some((piece, streaming))
    });
    pass::with(answer.status, headers, Body::from_stream(body))
}

impl Streaming {
    /// The next piece for the client.
    async fn next(&mut self) -> Option<Result<Bytes, std::io::Error>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(pass::after_what_came(piece).await);
            }
            // While it waits, the phase stays where it is: a client that leaves then must not take the reply with it.
            let piece = match &mut self.phase {
                Phase::Coming(_, body) => body.chunk().await,
                Phase::Rest(body) => tokio::time::timeout(LAST_WORD, body.chunk()).await.unwrap_or(Ok(None)),
                Phase::Between(_) | Phase::Over => Ok(None),
            };
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Rest(body) => {
                    if let Ok(Some(bytes)) = piece {
                        self.ready.push_back(Ok(bytes));
                        self.phase = Phase::Rest(body);
                    }
                }
                Phase::Coming(exchange, body) => match piece {
                    Ok(Some(bytes)) => {
                        self.splitter.push(&bytes);
                        self.phase = self.listen(exchange, body).await;
                    }
                    Ok(None) => self.phase = self.ended(*exchange).await,
                    // All was said before the connection broke.
                    Err(_) if self.relay.has_ended() => {
                        self.phase = Box::pin(self.done(*exchange)).await;
                        self.flush();
                    }
                    Err(error) => {
                        self.flush();
                        exchange.fail();
                        self.ready.push_back(Err(error));
                    }
                },
                Phase::Between(mut next) => match tokio::time::timeout(KEEP_ALIVE, &mut next).await {
                    Err(_) => {
                        self.phase = Phase::Between(next);
                        return Some(Ok(Bytes::from_static(b": recalling\n\n")));
                    }
                    Ok((exchange, answer)) => self.phase = self.next_round(exchange, answer).await,
                },
            }
        }
    }

    /// Takes every event that is complete.
    async fn listen(&mut self, exchange: Box<Exchange>, body: AnswerBody) -> Phase {
        while let Some(event) = self.splitter.next() {
            if self.relay.hear(&event, &exchange.ear(), &mut self.out) == Heard::End {
                let phase = Box::pin(self.done(*exchange)).await;
                let over = matches!(phase, Phase::Over);
                if over {
                    self.out.extend_from_slice(&std::mem::take(&mut self.splitter).rest());
                }
                self.flush();
                return if over { Phase::Rest(body) } else { phase };
            }
        }
        self.flush();
        Phase::Coming(exchange, body)
    }

    fn flush(&mut self) {
        if !self.out.is_empty() {
            self.ready.push_back(Ok(self.out.split().freeze()));
        }
    }

    /// The round has ended as it should.
    async fn done(&mut self, mut exchange: Exchange) -> Phase {
        let said = self.relay.take();
        if said.is_empty() {
            exchange.fail();
            self.relay.close(&said, &mut self.out);
            return Phase::Over;
        }
        exchange.enter(said.usage.as_ref());
        if said.failed {
            exchange.fail();
            self.relay.close(&said, &mut self.out);
            return Phase::Over;
        }
        exchange.response = exchange.response.take().or_else(|| said.id.clone());
        let verdict = exchange.judge(&said);
        if let Verdict::Again(calls) = verdict {
            exchange.has_shown(&said);
            let next = async move {
                exchange.again(&said, &calls).await;
                let answer = exchange.send().await;
                (exchange, answer)
            };
            return Phase::Between(Box::pin(next));
        }
        let left = exchange.left(&said);
        let comment = exchange.comment();
        exchange.conclude(&said, left.clone(), verdict).await;
        self.out.extend_from_slice(comment.unwrap_or_default().as_bytes());
        self.relay.close(&left, &mut self.out);
        Phase::Over
    }

    /// The upstream's stream is over, with or without a word of goodbye.
    async fn ended(&mut self, exchange: Exchange) -> Phase {
        let rest = std::mem::take(&mut self.splitter).rest();
        // The last event may lack the empty line after it.
        let mut last = Splitter::default();
        last.push(&[&rest, &b"\n\n"[..]].concat());
        while let Some(event) = last.next().filter(|event| event.data.is_some() && !rest.is_empty()) {
            self.relay.hear(&Event { raw: rest.clone(), ..event }, &exchange.ear(), &mut self.out);
        }
        let phase = if self.relay.has_ended() {
            Box::pin(self.done(exchange)).await
        } else {
            exchange.fail();
            let said = self.relay.take();
            self.relay.close(&said, &mut self.out);
            Phase::Over
        };
        self.flush();
        phase
    }

    /// The next round of the same reply.
    async fn next_round(&mut self, exchange: Exchange, answer: Result<Answer, Silence>) -> Phase {
        self.splitter = Splitter::default();
        let why = match answer {
            Ok(answer) if answer.status.is_success() => return Phase::Coming(Box::new(exchange), answer.body),
            Ok(answer) => String::from_utf8_lossy(&answer.body.all().await.unwrap_or_default()).into_owned(),
            Err(silence) => format!("the upstream failed while the reply was under way: {silence}"),
        };
        exchange.fail();
        // A stream that has begun has no status left to change: the error comes as an event.
        self.relay.fail(&why, &mut self.out);
        self.flush();
        Phase::Over
    }
}

/// A client that has seen why a reply ended may leave without waiting for the end: the reply is kept all the same. Otherwise what
/// was asked and paid for is recorded.
impl Drop for Streaming {
    fn drop(&mut self) {
        let Phase::Coming(mut exchange, _) = std::mem::replace(&mut self.phase, Phase::Over) else { return };
        let said = self.relay.take();
        let ended = said.end.is_some() && !said.failed;
        if !ended || !matches!(exchange.judge(&said), Verdict::Deliver) {
            return exchange.fail();
        }
        exchange.response = exchange.response.take().or_else(|| said.id.clone());
        let proxy = exchange.proxy.clone();
        proxy.later.spawn(async move {
            exchange.enter(said.usage.as_ref());
            let left = exchange.left(&said);
            exchange.conclude(&said, left, Verdict::Deliver).await;
        });
    }
}
