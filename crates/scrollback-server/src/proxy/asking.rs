//! Asking the model: as often as it only calls tools of ours, with a smaller window if it refuses one as too large,
//! without our tools if it takes none, and in turns if it wants them.

use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use bytes::Bytes;

use super::exchange::{Exchange, Verdict};
use super::later::ended;
use super::{Incoming, pass, stream};
use crate::upstream::{Answer, AnswerBody, Outgoing, Silence};
use crate::wire::Output;
use crate::wire::edit::is_overflow;
use crate::wire::said::Said;

/// A window that was too large for its model is made smaller once, to this share.
const SHRINK_PERCENT: u32 = 60;

/// How servers refuse tools: the model knows none, the server was not told to read its calls, or the reply is to be
/// JSON.
const NO_TOOLS: [&str; 11] = [
    "not support tool",
    "not support function call",
    "tools is not supported",
    "'tools' is not supported",
    "tool calling` is not supported",
    "function calling is not",
    "endpoints found that support tool use",
    "enable-auto-tool-choice",
    "tools param requires",
    "combined with tool",
    "function calling with a response mime type",
];

/// How servers refuse two messages of one speaker in a row.
const TURNS: [&str; 4] =
    ["roles must alternate", "should be alternating", "should alternate with assistant", "successive user"];

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
        let answered = Box::pin(held.0.as_mut().expect("nobody has taken it").answered()).await;
        let exchange = held.0.take().expect("nobody has taken it");
        match answered {
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
    async fn answered(&mut self) -> Answered {
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
                let body = if status.is_success() { self.wire.speech().restored(body, &self.echo()) } else { body };
                return Answered::Refused(pass::with(status, headers, Body::from(body)));
            };
            let earlier = self.output_before();
            self.enter(said.usage.as_ref());
            self.response.clone_from(&said.id);
            match self.judge(&said) {
                Verdict::Again(calls) => {
                    self.has_shown(&said);
                    self.again(&said, &calls).await;
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
        let speech = self.wire.speech();
        headers.extend(self.labels());
        let left = self.left(&said);
        let shown = left.clone().after(self.shown.clone());
        let changed = shown.pieces != said.pieces || earlier != Output::default();
        let body = if changed { speech.edited(&body, &shown, earlier) } else { body };
        let body = speech.restored(body, &self.echo());
        ended(self.concluded(said, left, verdict)).await;
        pass::with(status, headers, Body::from(body))
    }

    /// Sends the window: a smaller one if the model counts more tokens than we do, one without our tools if they are
    /// refused, and one in which people and the model take turns if nothing else is taken.
    pub(super) async fn send(&mut self) -> Result<Answer, Silence> {
        loop {
            let Answer { status, headers, body } = self.send_once().await?;
            if status.is_success() {
                return Ok(Answer { status, headers, body });
            }
            let body = body.all().await.map_err(|_| cut_off())?;
            let is_smaller = !self.shrunk && is_overflow(status, &body) && self.shrink().await;
            let is_other = is_smaller
                || refuses(status, &body, &NO_TOOLS) && self.withdraw_tools()
                || refuses(status, &body, &TURNS) && self.join_neighbours();
            if !is_other {
                return Ok(Answer { status, headers, body: AnswerBody::Ready(Some(body)) });
            }
        }
    }

    async fn send_once(&mut self) -> Result<Answer, Silence> {
        let body = self.compose();
        self.sent = Instant::now();
        let Incoming { method, path, headers, .. } = &self.incoming;
        self.upstream.send(Outgoing { method: method.clone(), path, headers, body }).await
    }

    /// Lays the window out smaller; whether that is possible.
    async fn shrink(&mut self) -> bool {
        let tokens = self.turn.window().tokens() / 100 * SHRINK_PERCENT;
        let model = &*self.plan.model;
        self.shrunk = true;
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

fn cut_off() -> Silence {
    Silence::Broken("its answer was cut off".into())
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Whether a refusal says one of these.
fn refuses(status: StatusCode, body: &[u8], signs: &[&str]) -> bool {
    let may = [
        StatusCode::BAD_REQUEST,
        StatusCode::NOT_FOUND,
        StatusCode::UNPROCESSABLE_ENTITY,
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::NOT_IMPLEMENTED,
    ];
    let text = String::from_utf8_lossy(&body[..body.len().min(4_096)]).to_ascii_lowercase();
    may.contains(&status) && signs.iter().any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_understood() {
        let said = [
            (400, "registry.ollama.ai/library/gemma3:4b does not support tools"),
            (400, r#"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"#),
            (404, "No endpoints found that support tool use."),
            (500, "tools param requires --jinja flag"),
            (400, "json mode cannot be combined with tool/function calling"),
            (400, "Function calling with a response mime type: 'application/json' is unsupported"),
            (400, "Unsupported parameter: 'tools' is not supported with this model."),
        ];
        for (status, text) in said {
            assert!(refuses(StatusCode::from_u16(status).unwrap(), text.as_bytes(), &NO_TOOLS), "{text}");
        }
        assert!(!refuses(StatusCode::TOO_MANY_REQUESTS, b"it does not support tools", &NO_TOOLS));
        assert!(!refuses(StatusCode::BAD_REQUEST, b"tools[0].function.name: string too long", &NO_TOOLS));
        assert!(refuses(StatusCode::BAD_REQUEST, b"Conversation roles must alternate user/assistant/...", &TURNS));
    }
}
