//! How many tokens a request would be sent with: `POST /messages/count_tokens` and `POST /responses/input_tokens`.
//! Nothing is stored, and no model is asked: where the window is not just what the client sent, the count is our own.

use std::panic::AssertUnwindSafe;

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};
use bytes::Bytes;
use futures_util::FutureExt;
use scrollback::engine::Preview;
use scrollback::log::History;
use scrollback::tokens::Vocabulary;
use scrollback::{Error, Result};
use serde_json::json;

use super::gauge::Model;
use super::{Asked, BROKEN, Incoming, Proxy, pass, refused, shared};
use crate::config::RecallBy;
use crate::upstream::{Outgoing, QUOTE, Upstream};
use crate::wire::anthropic::Anthropic;
use crate::wire::offer::Offer;
use crate::wire::request::Request;
use crate::wire::responses::{Responses, holds_ours};
use crate::wire::{Wire, WireName};

/// The dialect in which a count is asked for; `None` if it is not.
pub(super) fn asked(incoming: &Incoming) -> Option<&'static dyn Wire> {
    let path = incoming.path.split('?').next().unwrap_or_default();
    match path.trim_end_matches('/') {
        "/messages/count_tokens" if incoming.method == Method::POST => Some(&Anthropic),
        "/responses/input_tokens" if incoming.method == Method::POST => Some(&Responses),
        _ => None,
    }
}

/// What a request would come to.
struct Foreseen {
    tokens: u32,
    /// The request as it would be sent, if its model would be shown just what the client sent; our tools are among its
    /// own.
    as_sent: Option<Bytes>,
    /// Whether its model may refuse reasoning in it that would not be sent.
    binds: bool,
}

impl Proxy {
    /// Counts a request. One that would go on as it came is counted by its upstream, if that can count.
    pub(super) async fn counted(&self, wire: &dyn Wire, upstream: &Upstream, incoming: Incoming) -> Response<Body> {
        let foreseen = AssertUnwindSafe(self.foreseen(wire, upstream, &incoming)).catch_unwind().await;
        let foreseen = foreseen.unwrap_or_else(|_| Err(Error::Store { what: BROKEN.into(), source: None }));
        let Foreseen { tokens, as_sent, binds } = match foreseen {
            Ok(foreseen) => foreseen,
            // Nobody else can read what we compacted.
            Err(error) if holds_ours(&incoming.body) => return refused(wire, "invalid_request", &error.to_string()),
            Err(Error::Invalid(_) | Error::TooLarge(_)) => return pass::as_it_is(upstream, incoming, None).await,
            Err(error) => return pass::as_it_is(upstream, incoming, Some(&error.to_string())).await,
        };
        if let Some(body) = as_sent.filter(|_| upstream.name != QUOTE) {
            let Incoming { method, path, headers, .. } = incoming;
            match upstream.send(Outgoing { method, path: &path, headers: &headers, body }).await {
                Ok(answer) if !cannot(answer.status, binds) => return pass::answered(answer),
                Ok(_) => {}
                Err(silence) => return pass::silent(wire, &upstream.name, &silence),
            }
        }
        told(wire.name(), tokens)
    }

    async fn foreseen(&self, wire: &dyn Wire, upstream: &Upstream, incoming: &Incoming) -> Result<Foreseen> {
        let request = Request::found(&incoming.body, wire.history());
        let request = request.ok_or_else(|| Error::Invalid("this is no request with messages".into()))?;
        let (mut opened, items) = self.opened(wire, &request, incoming).await;
        let refers = items.is_some();
        let said = request.raw(wire.history()).filter(|said| *said != "null").unwrap_or("[]");
        let spoken = request.spoken(wire.history());
        let text = items.or(opened.new.take()).or(spoken).unwrap_or_else(|| said.to_owned());
        let history = History::parse(&text)?;
        let history = match opened.heads.take() {
            Some(heads) => history.with_heads(heads),
            None => history,
        };
        let by = if opened.untouched.is_some() { RecallBy::Off } else { upstream.recall };
        let offer = Offer::new(by, self.engine.tools(), &opened, wire);
        let asked = Asked { request: &request, incoming, history: &history, opened: &opened };
        let plan = self.plan(upstream, &asked, &offer);
        self.knows_conversation(&plan).await?;
        let known = self.named_by_id(&plan).await?;
        let (arrival, after) = Self::arrival(&plan, known.as_ref())?;
        let preview = self.engine.preview(&plan.ask(arrival, after, &history)).await?;
        let preview = preview.ok_or_else(|| Error::Invalid("there is nothing to count".into()))?;
        let untouched = plan.untouched.is_some() && !plan.is_known_here_alone();
        let as_it_came = untouched || !plan.is_new() && !refers && is_untouched(&preview, plan.budget);
        // What may be others' is not asked about; our own count does.
        let may_be_sent = plan.model != QUOTE && !shared::names_stored(upstream, incoming, opened.follows.as_ref());
        let as_sent = (as_it_came && may_be_sent).then(|| with_tools(&request, &offer));
        let family = self.serve.window.prices.of(&plan.model).and_then(|price| price.family);
        let model = Model { upstream: &upstream.name, name: &plan.model, family };
        let tokens = self.gauge.told(model, tokens(&preview).saturating_add(plan.tools));
        Ok(Foreseen { tokens, as_sent, binds: plan.binds_thinking })
    }
}

/// Whether an upstream cannot count, or not this.
fn cannot(status: StatusCode, binds: bool) -> bool {
    let cannot = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED];
    cannot.contains(&status) || binds && status == StatusCode::BAD_REQUEST
}

/// A request with our tools after its own.
fn with_tools(request: &Request, offer: &Offer) -> Bytes {
    let tools = offer.tools(request.tools());
    let changes: Vec<_> = tools.as_deref().map(|tools| ("tools", Some(tools))).into_iter().collect();
    request.write(&changes)
}

fn is_untouched(preview: &Preview, budget: scrollback::window::Budget) -> bool {
    preview.window.as_ref().is_none_or(scrollback::window::Window::is_untouched) && tokens(preview) <= budget.tokens
}

fn tokens(preview: &Preview) -> u32 {
    let fresh: usize = preview.fresh.iter().map(|message| Vocabulary::O200k.count(&message.to_text()) + 4).sum();
    let shown = preview.window.as_ref().map_or(0, scrollback::window::Window::tokens);
    shown.saturating_add(u32::try_from(fresh).unwrap_or(u32::MAX))
}

fn told(name: WireName, tokens: u32) -> Response<Body> {
    let body = match name {
        WireName::Responses => json!({"object": "response.input_tokens", "input_tokens": tokens}),
        WireName::Anthropic | WireName::Chat => json!({"input_tokens": tokens}),
    };
    pass::json(StatusCode::OK, &body)
}
