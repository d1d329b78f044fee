//! A streamed reply: passed on as it comes, listened to on the way. Calls of ours are kept back; when they are
//! answered, the next round goes on in the same stream.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use scrollback::recall::RecallCall;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::asking::{LOST, LOST_CODE};
use super::exchange::{BROKEN_OFF, Exchange, STOPPED, Verdict};
use super::pass;
use super::responses::awaited;
use crate::upstream::{ANSWER_BYTES, Answer, AnswerBody, Silence, endless};
use crate::wire::said::Said;
use crate::wire::sse::{Event, Splitter};
use crate::wire::{ErrorKind, Heard, Relay};

/// When a reply has ended, its upstream has this long for a last word.
const LAST_WORD: Duration = Duration::from_millis(250);
/// While a round is prepared, a comment is sent this often, so that nobody takes the stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is told of a round that ended before it began.
const NOTHING_CAME: &str =
    "the upstream failed while the reply was under way: its answer ended before it said anything";

type Next = Pin<Box<dyn Future<Output = Result<Answer, Silence>> + Send>>;

/// Where a stream is.
enum Phase {
    /// A reply is coming.
    Coming(Box<Exchange>, AnswerBody),
    /// Calls of ours are answered, and the model is asked again.
    Between(Between),
    /// The reply has ended and is kept. What its upstream still says goes to the client as it comes.
    Rest(AnswerBody),
    /// All is said.
    Over,
}

/// What happens between two rounds. The exchange is not part of it: what was said before stays if the client leaves.
struct Between {
    next: Next,
    exchange: Arc<Mutex<Exchange>>,
}

impl Between {
    fn new(exchange: Exchange, said: Said, calls: Vec<Result<RecallCall, String>>) -> Self {
        let exchange = Arc::new(Mutex::new(exchange));
        let mine = exchange.clone();
        let next = Box::pin(async move {
            let mut exchange = mine.lock().await;
            exchange.answer_calls(&said, &calls).await;
            exchange.send().await
        });
        Self { next, exchange }
    }

    /// The exchange; what is still under way ends here.
    fn exchange(self) -> Exchange {
        drop(self.next);
        Arc::into_inner(self.exchange).expect("only the next round held it too").into_inner()
    }
}

struct Streaming {
    phase: Phase,
    splitter: Splitter,
    /// How many bytes came.
    came: usize,
    relay: Box<dyn Relay>,
    /// Whether an error stands in the place of the reply's end.
    is_lost: bool,
    out: BytesMut,
    ready: VecDeque<Result<Bytes, std::io::Error>>,
}

/// The response that streams a reply.
pub(super) fn respond(exchange: Exchange, answer: Answer) -> Response<Body> {
    let mut headers = answer.headers;
    headers.extend(exchange.labels());
    let mut relay = exchange.wire.speech().relay(exchange.hides_markers());
    relay.expect(exchange.echo());
    let streaming = Streaming {
        phase: Phase::Coming(Box::new(exchange), answer.body),
        splitter: Splitter::default(),
        came: 0,
        relay,
        is_lost: false,
        out: BytesMut::new(),
        ready: VecDeque::new(),
    };
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
            let (mut piece, mut answer) = (Ok(None), None);
            match &mut self.phase {
                Phase::Coming(_, body) => piece = within(&mut self.came, body.chunk().await),
                Phase::Rest(body) => piece = timeout(LAST_WORD, body.chunk()).await.unwrap_or(Ok(None)),
                Phase::Between(between) => match timeout(KEEP_ALIVE, &mut between.next).await {
                    Ok(came) => answer = Some(came),
                    Err(_) => return Some(Ok(Bytes::from_static(b": recalling\n\n"))),
                },
                Phase::Over => {}
            }
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
                        broken_off(*exchange, self.relay.take());
                        self.ready.push_back(Err(error));
                    }
                },
                Phase::Between(between) => {
                    if let Some(answer) = answer {
                        self.phase = self.next_round(between.exchange(), answer).await;
                    }
                }
            }
        }
    }

    /// Takes every event that is complete.
    async fn listen(&mut self, exchange: Box<Exchange>, body: AnswerBody) -> Phase {
        while let Some(event) = self.splitter.next() {
            if self.relay.hear(&event, &exchange.ear(), &mut self.out) == Heard::End {
                let phase = Box::pin(self.done(*exchange)).await;
                let over = matches!(phase, Phase::Over) && !self.is_lost;
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
        if said.is_empty() || said.failed {
            self.relay.close(&said, &mut self.out);
            broken_off(exchange, said);
            return Phase::Over;
        }
        exchange.record_call(&said);
        exchange.response = exchange.response.take().or_else(|| said.id.clone());
        let verdict = exchange.judge(&said);
        if let Verdict::Again(calls) = verdict {
            exchange.remember_shown(&said);
            return Phase::Between(Between::new(exchange, said, calls));
        }
        let left = exchange.for_client(&said);
        let (comment, speech) = (exchange.comment(), exchange.wire.speech());
        self.is_lost = exchange.conclude(said, left.clone(), verdict).lost().await;
        if self.is_lost {
            let why = speech.error(ErrorKind::Upstream, LOST_CODE, LOST);
            self.relay.fail(&why.to_string(), &mut self.out);
            return Phase::Over;
        }
        self.out.extend_from_slice(comment.unwrap_or_default().as_bytes());
        self.relay.close(&left, &mut self.out);
        Phase::Over
    }

    /// The upstream's stream is over, with or without a word of goodbye.
    async fn ended(&mut self, exchange: Exchange) -> Phase {
        let mut rest = std::mem::take(&mut self.splitter).rest();
        // The last event may lack the empty line after it.
        let mut last = Splitter::default();
        last.push(&[&rest, &b"\n\n"[..]].concat());
        if let Some(event) = last.next().filter(|event| event.data.is_some()) {
            self.relay.hear(&Event { raw: std::mem::take(&mut rest), ..event }, &exchange.ear(), &mut self.out);
        }
        let phase = if self.relay.has_ended() {
            Box::pin(self.done(exchange)).await
        } else {
            let said = self.relay.take();
            self.relay.close(&said, &mut self.out);
            // Without a word of the upstream's own, nothing would tell the client that the reply has no end.
            if exchange.is_later() && said.is_empty() && !said.failed {
                self.relay.fail(NOTHING_CAME, &mut self.out);
            }
            broken_off(exchange, said);
            Phase::Over
        };
        // What is left is no event: some servers tell an error so, whatever they call their answer.
        if matches!(phase, Phase::Over) && !self.is_lost {
            self.out.extend_from_slice(&rest);
        }
        self.flush();
        phase
    }

    /// The next round of the same reply.
    async fn next_round(&mut self, exchange: Exchange, answer: Result<Answer, Silence>) -> Phase {
        self.splitter = Splitter::default();
        self.relay.begin(exchange.hides_markers(), &mut self.out);
        let refusal = match answer {
            Ok(answer) if answer.status.is_success() => return Phase::Coming(Box::new(exchange), answer.body),
            refusal => refusal,
        };
        exchange.warn(refusal.as_ref().map_or(StatusCode::BAD_GATEWAY, |answer| answer.status));
        // What a person has read of earlier rounds is kept.
        cut_short(exchange, Said::default(), BROKEN_OFF, false);
        let why = match refusal {
            Ok(answer) => String::from_utf8_lossy(&answer.body.all().await.unwrap_or_default()).into_owned(),
            Err(silence) => format!("the upstream failed while the reply was under way: {silence}"),
        };
        // A stream that has begun has no status left to change: the error comes as an event.
        self.relay.fail(&why, &mut self.out);
        self.flush();
        Phase::Over
    }
}

/// A piece, unless so much came before it that no model says that much.
fn within(came: &mut usize, piece: Result<Option<Bytes>, std::io::Error>) -> Result<Option<Bytes>, std::io::Error> {
    *came += piece.as_ref().map_or(0, |piece| piece.as_ref().map_or(0, Bytes::len));
    if *came > ANSWER_BYTES { Err(endless()) } else { piece }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Coming(exchange, _) => cut_short(*exchange, self.relay.take(), STOPPED, true),
            Phase::Between(between) => cut_short(between.exchange(), Said::default(), STOPPED, false),
            Phase::Rest(_) | Phase::Over => {}
        }
    }
}

/// An answer that had begun has no end: it is paid for all the same. What was read of it is kept, if nobody says it
/// again.
fn broken_off(mut exchange: Exchange, said: Said) {
    exchange.warn(StatusCode::OK);
    if exchange.plan.is_said_once() || exchange.plan.fetched {
        return cut_short(exchange, said, BROKEN_OFF, true);
    }
    exchange.record_call(&said);
    exchange.fail();
}

/// A client that has seen why a reply ended may leave without waiting for the end: the reply is kept all the same, and
/// so is what was read of a reply without an end, if its client sends only what is new and never says it again.
/// Otherwise what was asked and paid for is recorded.
fn cut_short(mut exchange: Exchange, mut said: Said, why: &str, is_answered: bool) {
    // All that came is paid for, also what nobody has any use for.
    if is_answered {
        exchange.record_call(&said);
    }
    if exchange.plan.fetched && said.end.is_none() {
        // It is made all the same, and may be fetched.
        exchange.response = said.id.as_deref().map(awaited);
        return exchange.fail();
    }
    if (said.end.is_none() || said.failed) && exchange.plan.is_said_once() {
        said = exchange.stopped(said, why);
    }
    let ended = said.end.is_some() && !said.failed;
    if !ended || !matches!(exchange.judge(&said), Verdict::Deliver) {
        return exchange.fail();
    }
    exchange.response = exchange.response.take().or_else(|| said.id.clone());
    let left = exchange.for_client(&said);
    exchange.conclude(said, left, Verdict::Deliver);
}
