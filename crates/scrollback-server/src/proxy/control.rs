//! Control messages: what a person writes to Scrollback in the conversation itself. `/compress` folds now; no model is
//! asked.
//!
//! The command and what is answered are kept in the log like everything else, and shown to no model.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use futures_util::FutureExt;
use scrollback::control::Change;
use scrollback::engine::Folding;
use scrollback::ids::{Depth, Hash128};
use scrollback::log::{Answer, History, Received};
use scrollback::note::{Covers, Fold};
use scrollback::search::is_chinese;
use scrollback::store::{Position, Span, Stored};
use scrollback::{Error, Message, Part, Result, Role};

use super::{BROKEN, Kept, Plan, Proxy, Word, pass};
use crate::clock::now;
use crate::helper::at_most;
use crate::live::What;
use crate::proxy::told::{Done, Language};
use crate::wire::request::Request;
use crate::wire::{Own, Wire};

const COMPRESS: &str = "/compress";
/// How long helpers may take in all while somebody waits for a fold; the rest is done without them.
const PATIENCE: Duration = Duration::from_mins(1);
/// The language is that of what was said in so many messages.
const AROUND: u32 = 24;

/// Whether a request only asks us to fold.
pub(super) fn is_compress(history: &History<'_>) -> bool {
    let Some(last) = history.last().filter(|last| *last.role() == Role::User) else { return false };
    matches!(last.parts(), [Part::Text(text)] if text.trim() == COMPRESS)
}

impl Proxy {
    /// Folds what is old enough, and tells the client as a model would. Whatever goes wrong is told in the same way.
    pub(super) async fn compress(
        &self,
        wire: &dyn Wire,
        request: &Request,
        history: &History<'_>,
        plan: &Plan,
    ) -> Response<Body> {
        let outcome = AssertUnwindSafe(self.compressed(history, plan)).catch_unwind().await;
        let (text, done) = match outcome {
            Ok(Ok((text, received, fold))) => (text, Some((received, fold))),
            Ok(Err(error)) => (Language::English.failed(&error.to_string()), None),
            Err(_) => (Language::English.failed(BROKEN), None),
        };
        let received = done.as_ref().map(|(received, _)| received);
        let place = received.map(|received| format!("{:?} {:?}", received.session.id, received.head));
        let place = place.unwrap_or_default();
        let of = Hash128::of("control", &[text.as_bytes(), place.as_bytes(), &now().0.to_le_bytes()]);
        let id = format!("scrollback-{}", &of.to_string()[..16]);
        let streams = request.value("stream") == true;
        let tells_usage = !streams || request.value("stream_options")["include_usage"] == true;
        let own = Own { id: &id, model: &plan.model, text: &text, calls: Vec::new(), streams, tells_usage };
        let body = wire.speech().own(&own);
        let answer = Answer::of(Message::text(&Role::Assistant, &text), &plan.model, now());
        let answer = Answer { response: plan.followed.then_some(&id), ..answer };
        if let Some((received, fold)) = &done {
            match self.keep_control(received, answer).await {
                Ok(stored) => self.tell_control(received, fold.as_ref(), &stored, plan),
                Err(error) => tracing::warn!(%error, "a control message could not be left out of later windows"),
            }
        }
        let kind = if streams { "text/event-stream" } else { "application/json" };
        pass::with(StatusCode::OK, labels(kind, received), Body::from(body))
    }

    /// Takes the command into the log and folds. What goes wrong after that is told in the words of the answer.
    async fn compressed(&self, history: &History<'_>, plan: &Plan) -> Result<(String, Received, Option<Fold>)> {
        let received = self.received(history, plan).await?;
        let head = received.head.ok_or_else(|| Error::Invalid("the request has no message".into()))?;
        let language = self.language(&received, head).await;
        let (text, fold) = match self.fold_now(&received, head, plan).await {
            Ok(Some((before, after))) => {
                let session = received.session.id.to_string();
                let done = Done { before: &before, after: &after, session: &session[..8.min(session.len())] };
                (language.done(&done), Some(after))
            }
            Ok(None) => (language.nothing().to_owned(), None),
            Err(error) => (language.failed(&error.to_string()), None),
        };
        Ok((text, received, fold))
    }

    /// Folds what is old enough; what was folded before and after.
    pub(super) async fn fold_now(
        &self,
        received: &Received,
        head: Position,
        plan: &Plan,
    ) -> Result<Option<(Fold, Fold)>> {
        let session = &received.session;
        let controls = self.engine.controls(session).await?;
        let (budget, limit) = if plan.is_assumed {
            self.engine.unsure(&controls, plan.budget, plan.limit)
        } else {
            (plan.budget, plan.limit)
        };
        let layout = self.engine.layout_with(&controls, limit);
        let (_, before) = self.engine.fold_at(session, head, &layout).await?;
        let (layout, model, recalls) = (&*layout, &*plan.model, plan.recalls);
        let folding = Folding { session, head, layout, model, budget, recalls };
        let after = at_most(PATIENCE, self.engine.compress(folding, now())).await?;
        Ok(after.map(|after| (before, after)))
    }

    /// Keeps the answer, and leaves it and the command out of later windows.
    async fn keep_control(&self, received: &Received, answer: Answer<'_>) -> Result<Arc<Stored>> {
        let stored = self.engine.log().reply(received, answer).await?;
        for id in received.head.map(|head| head.id).into_iter().chain([stored.id]) {
            self.engine.change(&received.session, &Change::Exclude(id), now()).await?;
        }
        Ok(stored)
    }

    /// Tells that a control message is answered, and what it folded.
    fn tell_control(&self, received: &Received, fold: Option<&Fold>, stored: &Stored, plan: &Plan) {
        let covers = fold.and_then(|fold| fold.covers).map(Covers::ends);
        if fold.is_some() {
            self.live.publish(&received.session, || What::Fold { covers });
        }
        self.live.publish(&received.session, || What::Reply { message: stored.id, view: None });
        let Some(ours) = &plan.ours else { return };
        ours.tell(Word::Kept(Box::new(Kept {
            message: Some(stored.id),
            branch: stored.position().map_or(0, |at| at.branch.0),
            folded: fold.is_some(),
            covers,
            budget: plan.budget.tokens,
            model: plan.model.clone(),
            ..Kept::nothing(received)
        })));
    }

    /// The language of the person.
    async fn language(&self, received: &Received, head: Position) -> Language {
        let span = Span::path(head, Depth(head.depth.0.saturating_sub(AROUND)));
        let said = self.engine.log().store().read(&received.session, span).await.unwrap_or_default();
        let own = said.iter().filter(|stored| stored.role == Role::User).map(|stored| stored.message().to_text());
        let text: String = own.filter(|text| text.trim() != COMPRESS).collect();
        if is_chinese(&text) { Language::Chinese } else { Language::English }
    }
}

fn labels(kind: &'static str, received: Option<&Received>) -> HeaderMap {
    let mut labels = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
    let session = received.and_then(|received| HeaderValue::from_str(&received.session.id.to_string()).ok());
    labels.extend(session.map(|session| (header::HeaderName::from_static("x-scrollback-session"), session)));
    labels
}
