//! Requests of our own, for people who talk to us and not to a client: what only our code may say of a request, and who
//! hears what becomes of it. They take the same path as any client's.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use schemars::JsonSchema;
use scrollback::log::{After, Received};
use scrollback::note::Covers;
use scrollback::store::Stored;
use scrollback::{Error, MessageId, SessionId, SessionKey};
use serde::Serialize;
use tokio::sync::mpsc;

use super::exchange::Exchange;
use super::keep::saved;
use super::{BROKEN, Incoming, Proxy, Stop};
use crate::live::{Begun, Recalled, What};
use crate::upstream::Upstream;
use crate::wire;

/// What our own code says of a request.
#[derive(Clone, Debug)]
pub(crate) struct Ours {
    pub(crate) place: Place,
    words: mpsc::UnboundedSender<Word>,
}

/// Where a request goes on.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// It begins a session of this name.
    New(String),
    /// After a message of a session, or before its first.
    After(SessionId, Option<MessageId>),
}

/// A word on what becomes of a request.
#[derive(Debug)]
pub(crate) enum Word {
    /// Its window is laid out.
    Turn(SessionId, Begun),
    /// The model asked to see something again.
    Recall(Recalled),
    /// Its reply is kept.
    Kept(Box<Kept>),
    /// Its reply could not be kept.
    Unkept,
}

/// A reply that is kept, and what it took.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Kept {
    pub(crate) session: SessionId,
    pub(crate) question: MessageId,
    pub(crate) message: Option<MessageId>,
    pub(crate) branch: u32,
    /// Its window; none if no model was asked.
    pub(crate) view: Option<String>,
    pub(crate) layout: Option<String>,
    pub(crate) tokens: u32,
    pub(crate) budget: u32,
    pub(crate) saved_tokens: u32,
    pub(crate) saved_dollars: Option<f64>,
    pub(crate) folded: bool,
    pub(crate) covers: Option<[MessageId; 2]>,
    pub(crate) recalls: usize,
    pub(crate) notices: Vec<String>,
    /// Whether the model's API broke it off.
    pub(crate) partial: bool,
    pub(crate) model: String,
    pub(crate) upstream: String,
}

impl Kept {
    /// An answer that took nothing.
    pub(super) fn nothing(received: &Received) -> Self {
        Self {
            session: received.session.id,
            question: received.head.map_or(MessageId(0), |head| head.id),
            message: None,
            branch: 0,
            view: None,
            layout: None,
            tokens: 0,
            budget: 0,
            saved_tokens: 0,
            saved_dollars: None,
            folded: false,
            covers: None,
            recalls: 0,
            notices: Vec::new(),
            partial: false,
            model: String::new(),
            upstream: String::new(),
        }
    }
}

/// Why a request of our own has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// It cannot be answered as it is.
    Refused(Error),
    /// We failed.
    Broken(String),
}

impl Ours {
    /// A request that goes on at a place; words on it come out at the other end, which closes once all is said.
    pub(crate) fn at(place: Place) -> (Self, mpsc::UnboundedReceiver<Word>) {
        let (words, heard) = mpsc::unbounded_channel();
        (Self { place, words }, heard)
    }

    /// What it follows in the log.
    pub(super) fn after(&self) -> After<'_> {
        match &self.place {
            Place::New(name) => After::Last(name),
            Place::After(session, message) => After::Place { session: *session, message: *message },
        }
    }

    /// Tells whoever asked, who may have left.
    pub(super) fn tell(&self, word: Word) {
        let _ = self.words.send(word);
    }
}

impl Proxy {
    /// Answers a request of our own, on the path of any client's. It never goes on as it came: it holds one message.
    pub(crate) async fn own(
        self: Arc<Self>,
        upstream: Arc<Upstream>,
        incoming: Incoming,
    ) -> Result<Response<Body>, Unanswered> {
        let wire = wire::of_path(&incoming.path).ok_or_else(|| Unanswered::Broken(BROKEN.into()))?;
        match self.exchange(wire, upstream, &incoming).await {
            Ok(exchange) => {
                // Whoever listens must hear the end: nobody else may hold the other end open.
                drop(incoming);
                Ok(Box::pin(exchange.announce_and_run()).await)
            }
            Err(Stop::Said(response)) => Ok(*response),
            Err(Stop::Refused(error)) => Err(Unanswered::Refused(error)),
            Err(Stop::AsItIs(why)) => Err(Unanswered::Broken(why.unwrap_or_else(|| BROKEN.into()))),
        }
    }
}

impl Exchange {
    /// Learns what people will call its view. Only what was sent before can have been answered before.
    async fn name_view(&mut self) {
        if self.turn.received().added == 0 {
            self.view = self.proxy.engine.next_view(&self.turn).await.unwrap_or_else(|_| self.turn.view());
        }
    }

    /// Tells that the turn has begun, and answers the request.
    pub(super) async fn announce_and_run(mut self) -> Response<Body> {
        self.announce().await;
        Box::pin(self.run()).await
    }

    /// Tells that the turn has begun.
    pub(super) async fn announce(&mut self) {
        self.name_view().await;
        let begun = || Begun {
            question: self.question(),
            branch: self.turn.received().head.map_or(0, |head| head.branch.0),
            view: self.view.clone(),
            layout: self.turn.layout().to_owned(),
            tokens: self.turn.window().tokens(),
            budget: self.turn.window().budget().tokens,
            folded: self.turn.has_folded(),
            covers: self.turn.covers().map(Covers::ends),
        };
        let session = &self.turn.received().session;
        if let Some(ours) = &self.plan.ours {
            ours.tell(Word::Turn(session.id, begun()));
        }
        self.proxy.live.publish(session, || What::Turn(begun()));
    }

    /// Tells what the model recalled beyond so much.
    pub(super) fn tell_recalls(&self, known: usize, round: u32) {
        for asked in self.turn.recalls().iter().skip(known) {
            let recalled = || Recalled { asked: asked.clone(), round };
            if let Some(ours) = &self.plan.ours {
                ours.tell(Word::Recall(recalled()));
            }
            self.proxy.live.publish(&self.turn.received().session, || What::Recall(recalled()));
        }
    }

    /// What will be told once the reply is kept.
    pub(super) fn being_kept(&self) -> BeingKept {
        let turn = &self.turn;
        let (tokens, whole) = (turn.window().tokens(), turn.path_tokens());
        let kept = Kept {
            view: Some(self.view.clone()),
            layout: Some(turn.layout().to_owned()),
            tokens,
            budget: turn.window().budget().tokens,
            saved_tokens: whole.saturating_sub(tokens),
            saved_dollars: saved(&self.calls),
            folded: turn.has_folded(),
            covers: turn.covers().map(Covers::ends),
            recalls: turn.recalls().len(),
            notices: self.sent.notices.clone(),
            partial: self.sent.partial,
            model: self.plan.model.clone(),
            upstream: self.upstream.name.clone(),
            ..Kept::nothing(turn.received())
        };
        BeingKept { of: turn.received().session.clone(), kept }
    }

    fn question(&self) -> MessageId {
        self.turn.received().head.map_or(MessageId(0), |head| head.id)
    }
}

/// A reply that is being kept.
pub(super) struct BeingKept {
    of: SessionKey,
    kept: Kept,
}

impl BeingKept {
    /// Tells that it is kept.
    pub(super) fn tell(self, proxy: &Proxy, ours: Option<&Ours>, stored: &Stored) {
        let Self { of, mut kept } = self;
        let view = kept.view.clone();
        proxy.live.publish(&of, || What::Reply { message: stored.id, view });
        kept.message = Some(stored.id);
        kept.branch = stored.position().map_or(kept.branch, |at| at.branch.0);
        if let Some(ours) = ours {
            ours.tell(Word::Kept(Box::new(kept)));
        }
    }
}
