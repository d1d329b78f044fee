//! A reply on its way to a person: pieces of the model's words and words on what became of the request, in the order
//! they happened, then the end once the reply is kept.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{Response, StatusCode, header};
use bytes::Bytes;
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::hear::{Piece, heard};
use crate::api::{Refusal, sse};
use crate::live::What;
use crate::proxy::{Kept, Word};
use crate::wire::sse::Splitter;
use crate::wire::{self, WireName};

/// A comment is sent this often while a model thinks, so that nobody takes the stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Once all is said, a reply has this long to be kept.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a person is told.
#[derive(Debug)]
pub(super) enum Event {
    Turn(Value),
    Text(String),
    Thinking(String),
    Recall(Value),
    Done(Box<Kept>),
    Failed(Refusal),
    /// Nothing yet.
    Waiting,
}

impl Event {
    /// As it is sent.
    pub(super) fn written(&self) -> Bytes {
        let (name, value) = match self {
            Self::Turn(told) => ("turn", told.clone()),
            Self::Text(text) => ("text", json!({"text": text})),
            Self::Thinking(text) => ("thinking", json!({"text": text})),
            Self::Recall(told) => ("recall", told.clone()),
            Self::Done(kept) => ("done", json!(kept)),
            Self::Failed(refusal) => {
                ("error", json!({"detail": refusal.message, "code": refusal.code, "status": refusal.status.as_u16()}))
            }
            Self::Waiting => return sse::comment("waiting"),
        };
        sse::event(name, &value)
    }
}

/// A reply at once.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChatAnswer")]
pub(in crate::api) struct Whole {
    #[serde(flatten)]
    kept: Kept,
    /// What the model said.
    text: String,
}

/// Where a reply is.
enum Phase {
    Coming(BodyDataStream),
    /// All is said; it is being kept.
    Ending,
    Over,
}

/// A reply on its way.
pub(super) struct Talk {
    wire: WireName,
    phase: Phase,
    splitter: Splitter,
    words: UnboundedReceiver<Word>,
    kept: Option<Box<Kept>>,
    /// Whether it could not be kept.
    is_unkept: bool,
    /// Why it cannot go on, in the model's API's own words.
    failure: Option<String>,
    ready: VecDeque<Event>,
}

impl Talk {
    /// The reply that a response brings.
    pub(super) async fn over(
        wire: WireName,
        response: Response<Body>,
        words: UnboundedReceiver<Word>,
    ) -> Result<Self, Refusal> {
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let streams = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
        let mut talk = Self {
            wire,
            phase: Phase::Ending,
            splitter: Splitter::default(),
            words,
            kept: None,
            is_unkept: false,
            failure: None,
            ready: VecDeque::new(),
        };
        if streams {
            talk.phase = Phase::Coming(response.into_body().into_data_stream());
            return Ok(talk);
        }
        // Some APIs do not stream though they are asked to.
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        let said = body.ok().and_then(|body| wire::of_path(wire.path())?.speech().read(&body));
        let said = said.ok_or_else(|| broken("the model's API answered in a way that is not understood"))?;
        talk.hear_words();
        talk.ready.push_back(Event::Text(said.text()));
        Ok(talk)
    }

    /// What comes next; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            match &mut self.phase {
                Phase::Over => return None,
                Phase::Coming(body) => {
                    let piece = tokio::select! {
                        biased;
                        Some(word) = self.words.recv() => {
                            self.hear(word);
                            continue;
                        }
                        piece = tokio::time::timeout(KEEP_ALIVE, body.next()) => piece,
                    };
                    match piece {
                        Err(_) => return Some(Event::Waiting),
                        Ok(Some(Ok(bytes))) => self.listen(&bytes),
                        Ok(Some(Err(error))) => {
                            self.failure.get_or_insert_with(|| format!("the reply broke off: {error}"));
                            self.phase = Phase::Ending;
                        }
                        Ok(None) => self.phase = Phase::Ending,
                    }
                }
                Phase::Ending => self.end().await,
            }
        }
    }

    fn listen(&mut self, bytes: &[u8]) {
        self.hear_words();
        self.splitter.push(bytes);
        while let Some(event) = self.splitter.next() {
            for piece in event.data.as_deref().map(|data| heard(self.wire, data)).unwrap_or_default() {
                match piece {
                    Piece::Text(text) => self.ready.push_back(Event::Text(text)),
                    Piece::Thinking(text) => self.ready.push_back(Event::Thinking(text)),
                    Piece::Failed(why) => self.failure = Some(why),
                }
            }
        }
    }

    /// Takes what was told already: it happened before what comes now.
    fn hear_words(&mut self) {
        while let Ok(word) = self.words.try_recv() {
            self.hear(word);
        }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Turn(session, begun) => {
                let mut told = What::Turn(begun).told();
                told["session"] = json!(session);
                self.ready.push_back(Event::Turn(told));
            }
            Word::Recall(recalled) => self.ready.push_back(Event::Recall(What::Recall(recalled).told())),
            Word::Kept(kept) => self.kept = Some(kept),
            Word::Unkept => self.is_unkept = true,
        }
    }

    /// Waits until the reply is kept.
    async fn end(&mut self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while self.kept.is_none() && !self.is_unkept {
            match tokio::time::timeout_at(deadline, self.words.recv()).await {
                Ok(Some(word)) => self.hear(word),
                Ok(None) => break,
                Err(_) => self.is_unkept = true,
            }
        }
        self.phase = Phase::Over;
        let kept = self.kept.take();
        let said = kept.as_ref().and_then(|kept| kept.message);
        self.ready.push_back(match (self.failure.take(), kept) {
            (None, Some(kept)) => Event::Done(kept),
            (None, None) if self.is_unkept => Event::Failed(unkept()),
            (None, None) => Event::Failed(broken("the model gave no answer; ask again")),
            (Some(why), _) => Event::Failed(broken(match said {
                Some(said) => format!("{why} (what came of the reply is kept as {said})"),
                None => why,
            })),
        });
    }

    /// All of it at once.
    pub(super) async fn whole(mut self) -> Result<Value, Refusal> {
        let mut text = String::new();
        while let Some(event) = self.next().await {
            match event {
                Event::Text(piece) => text.push_str(&piece),
                Event::Failed(refusal) => return Err(refusal),
                Event::Done(kept) => {
                    return Ok(json!(Whole { kept: *kept, text }));
                }
                Event::Turn(_) | Event::Thinking(_) | Event::Recall(_) | Event::Waiting => {}
            }
        }
        Err(broken("the reply has no end; ask again"))
    }
}

fn unkept() -> Refusal {
    let what = "the model has answered, but its reply could not be stored; your message is kept: send it again";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "store", what)
}

fn broken(what: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_GATEWAY, "upstream_failed", what)
}
