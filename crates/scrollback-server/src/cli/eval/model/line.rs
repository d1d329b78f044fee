//! A turn as it is sent: windows are written and replies read just as the proxy does it.

use axum::http::HeaderMap;
use bytes::Bytes;
use scrollback::engine::Turn;
use scrollback::recall::{RecallCall, Sieve, calls_in};
use serde_json::{Map, Value, json};

use crate::config::RecallBy;
use crate::upstream::Upstream;
use crate::wire::offer::Offer;
use crate::wire::request::Request;
use crate::wire::said::{Called, End, Said};
use crate::wire::{self, Dress, Reasoning, Wire, WireName};

/// A turn that is sent: where it goes and what it offers.
pub(super) struct Line {
    wire: &'static dyn Wire,
    request: Request,
    offer: Offer,
}

impl Line {
    /// A request without its messages; none if it cannot be written.
    pub(super) fn new(upstream: &Upstream, model: &str, turn: &Turn, reply_tokens: u32) -> Option<Self> {
        let wire = wire::of_path(upstream.wire.path())?;
        let body: Bytes = bare(model, wire, reply_tokens).to_string().into();
        let request = Request::read(&body, wire.history(), |_| Some("[]".len()))?;
        let opened = wire.opened(&request, &HeaderMap::new());
        let offer = Offer::new(upstream.recall, turn.tools(), &opened, wire);
        Some(Self { wire, request, offer })
    }

    /// How its model may recall.
    pub(super) fn recalls_by(&self) -> RecallBy {
        self.offer.by()
    }

    /// The request with a window in it; in the last round nothing more may be recalled.
    pub(super) fn compose(&self, turn: &Turn, is_last: bool) -> Bytes {
        let tools = self.offer.tools(None);
        let dress = Dress {
            turn,
            request: &self.request,
            tools: tools.as_deref(),
            touched: true,
            instruction: self.offer.instruction(),
            handle: None,
            reasoning: Reasoning::Usual,
            mixed: false,
        };
        let rendered = self.wire.render(&dress);
        let last = is_last && self.offer.by() == RecallBy::Tools;
        let choice = last.then(|| self.wire.toolbox().without_ours(&self.request));
        let mut changes: Vec<(&str, Option<&str>)> = Vec::new();
        changes.extend(rendered.changes.iter().map(|(name, value)| (*name, value.as_deref())));
        changes.extend(tools.as_deref().map(|tools| ("tools", Some(tools))));
        changes.extend(choice.as_deref().map(|choice| ("tool_choice", Some(choice))));
        self.request.write(&changes)
    }

    /// What a reply asks to see again.
    pub(super) fn recalls(&self, said: &Said) -> Vec<Result<RecallCall, String>> {
        if said.end == Some(End::Cut) {
            return Vec::new();
        }
        if self.offer.by() == RecallBy::Text {
            return calls_in(&said.text()).unwrap_or_default();
        }
        // There are no tools but ours: a call of any other is told so.
        let read = |call: &Called| match self.offer.tool(&call.name) {
            Some(tool) => RecallCall::read(tool, &call.arguments),
            None => Err(format!("There is no tool called {}.", call.name)),
        };
        said.calls().map(read).collect()
    }

    /// A round of recall, as messages.
    pub(super) fn round(&self, said: &Said, answers: &[String]) -> Vec<Value> {
        let mut messages = self.wire.speech().messages(said);
        if self.offer.by() == RecallBy::Text {
            messages.push(json!({"role": "user", "content": answers.join("\n\n")}));
        } else {
            let answered: Vec<_> = said.calls().zip(answers.iter().map(String::as_str)).collect();
            messages.extend(self.wire.answers(&answered));
        }
        messages
    }

    /// What a person would read of a reply.
    pub(super) fn words(&self, said: &Said) -> String {
        let text = said.text();
        if self.offer.by() != RecallBy::Text {
            return text;
        }
        let mut sieve = Sieve::default();
        sieve.push(&text) + &sieve.finish().text
    }
}

/// A request that says nothing yet.
fn bare(model: &str, wire: &dyn Wire, reply_tokens: u32) -> Value {
    let mut fields = Map::new();
    fields.insert("model".into(), model.into());
    fields.insert(wire.history().into(), json!([]));
    fields.insert("temperature".into(), 0.into());
    let most = if wire.name() == WireName::Responses { "max_output_tokens" } else { "max_tokens" };
    fields.insert(most.into(), reply_tokens.into());
    if wire.name() == WireName::Responses {
        fields.insert("store".into(), false.into());
    }
    fields.into()
}
