//! The end of a request: its calls go into the ledger, its reply into the log.

use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use scrollback::engine::Finish;
use scrollback::ledger::{Call, Cost};
use scrollback::store::Urgency;
use scrollback::{Error, Message, Part};
use serde_json::{Value, json};

use super::book::{self, Ended};
use super::exchange::Exchange;
use super::gauge::Model;
use super::hidden::Hidden;
use super::later::ended;
use super::ours::Word;
use super::pass;
use super::rounds::Sent;
use crate::clock::now;
use crate::live::What;
use crate::serve::apart;
use crate::wire::Output;
use crate::wire::edit::{raw, reasoning_tokens};
use crate::wire::said::Said;

/// How the layouts of windows begin that sort messages into topics.
const TOPICS: &str = "topics@";

/// What the calls of a turn saved, in dollars; less than nothing if folding cost more than it saved.
pub(super) fn saved(calls: &[Call]) -> Option<f64> {
    let without = calls.iter().filter_map(|call| call.without).find_map(|without| without.cost)?;
    let cost = calls.iter().map(|call| call.cost.map(Cost::dollars)).sum::<Option<f64>>()?;
    Some(without.dollars() - cost)
}

impl Exchange {
    /// Writes a call into the ledger.
    pub(super) fn record_call(&mut self, said: &Said) {
        let usage = said.usage.as_ref();
        let millis = u32::try_from(self.sent.at.elapsed().as_millis()).unwrap_or(u32::MAX);
        let ended = Ended {
            model: &self.plan.model,
            upstream: &self.upstream.name,
            tools: self.plan.tools,
            usage,
            counted: book::counted(said, self.wire.speech(), &self.plan.model),
            millis,
            at: now(),
            first: self.calls.is_empty(),
            met: self.plan.met,
        };
        let call = self.proxy.book.entry(&self.turn, &ended);
        if let Some(reported) = call.reported.filter(|_| !said.ran_tools()) {
            let model = Model { upstream: &self.upstream.name, name: &self.plan.model, family: None };
            self.proxy.gauge.learn(model, self.turn.window(), self.plan.tools, reported.input);
        }
        self.calls.push(call);
        self.thought_tokens += usage.map_or(0, reasoning_tokens);
    }

    /// The output of the rounds so far, as reported.
    pub(super) fn output_before(&self) -> Output {
        let tokens = self.calls.iter().filter_map(|call| call.reported).map(|usage| u64::from(usage.output)).sum();
        Output { tokens, reasoning: self.thought_tokens }
    }

    /// What tells the client where its request is in the log, and what it was worth.
    pub(super) fn labels(&self) -> HeaderMap {
        let label = |(name, value): (&str, String)| {
            let name = header::HeaderName::from_bytes(format!("x-scrollback-{name}").as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(&value).ok()?))
        };
        self.told().into_iter().filter_map(label).collect()
    }

    /// The same as a comment for the end of a stream, if it is wanted.
    pub(super) fn comment(&self) -> Option<String> {
        let told: Vec<String> = self.told().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.proxy.serve.comments.then(|| format!(": scrollback {}\n\n", told.join(" ")))
    }

    /// The session, the view, the tokens that were sent and those that were not, and what that saved in dollars: as
    /// billed once the reply is there, and as foretold before.
    fn told(&self) -> Vec<(&'static str, String)> {
        let tokens = self.turn.window().tokens() + self.plan.tools;
        let whole = self.turn.path_tokens() + self.plan.tools;
        let mut told = vec![
            ("session", self.turn.received().session.id.to_string()),
            ("view", self.view.clone()),
            ("tokens", tokens.to_string()),
            ("saved-tokens", whole.saturating_sub(tokens).to_string()),
        ];
        let foretold = || self.proxy.book.foretold(&self.turn, &self.plan.model, self.plan.tools, self.plan.met);
        let saved = if self.calls.is_empty() { foretold() } else { saved(&self.calls) };
        told.extend(saved.map(|dollars| ("saved-dollars", format!("{dollars:.6}"))));
        told
    }

    /// Keeps the reply. What the client may need before it comes back is on the disk when this returns; the rest
    /// follows, also if the client goes away meanwhile.
    pub(super) async fn finish(self, messages: Vec<Value>, hidden: Hidden) {
        let must_wait = !hidden.lead.is_empty() || !hidden.around.is_empty() || self.must_wait();
        let urgency = if must_wait { Urgency::Now } else { Urgency::Soon };
        let (proxy, names) = (self.proxy.clone(), self.names());
        let messages: Vec<Message> = messages.iter().map(|message| Message::new(raw(message))).collect();
        let Some(last) = messages.iter().rev().find(|message| !message.is_aside()) else {
            return self.wordless().await;
        };
        // What is known of reasoning is kept with the reply: a request that brings it back cannot do without.
        let thinks = |message: &Message| message.parts().iter().any(|part| matches!(part, Part::Thinking(_)));
        let known = (!messages.iter().any(thinks)).then(|| last.strong());
        let bytes = messages.iter().map(|message| message.raw().get().len()).sum();
        let end = proxy.later.keep(names, known, apart::work(bytes, self.keep(messages, hidden, urgency)));
        if must_wait {
            ended(end).await;
        }
    }

    /// Keeps no words, for none were said, but the name by which a later request may follow them.
    async fn wordless(self) {
        metrics::counter!("scrollback_failed_turns_total").increment(1);
        Box::pin(self.keep(Vec::new(), Hidden::default(), Urgency::Now)).await;
    }

    /// What would be sent, and nothing is: the window as a request, and where it is in the log.
    pub(super) async fn rendered(mut self) -> Response<Body> {
        self.announce().await;
        let body = self.compose();
        let told = self.told().into_iter().map(|(name, value)| {
            let value = serde_json::from_str::<Value>(&value).ok().filter(Value::is_number).unwrap_or(value.into());
            format!(",\"{}\":{value}", name.replace('-', "_"))
        });
        let told: String = told.collect();
        let (request, notices) = (String::from_utf8_lossy(&body), json!(self.sent.notices));
        let rendered = format!("{{\"request\":{request}{told},\"notices\":{notices}}}");
        let mut headers = self.labels();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.keep(Vec::new(), Hidden::default(), Urgency::Now).await;
        pass::with(StatusCode::OK, headers, Body::from(rendered))
    }

    /// Tells whoever runs the server that its upstream gave no reply, and nothing of what was said.
    pub(super) fn warn(&self, status: StatusCode) {
        let (upstream, session) = (&*self.upstream.name, &self.turn.received().session.id);
        tracing::warn!(upstream, status = status.as_u16(), %session, "a turn failed: its upstream gave no whole reply");
    }

    /// Records that no reply came.
    pub(super) fn fail(self) {
        metrics::counter!("scrollback_failed_turns_total").increment(1);
        let proxy = self.proxy.clone();
        proxy.later.spawn(self.keep(Vec::new(), Hidden::default(), Urgency::Soon));
    }

    /// Records what was sent, and the name of the place where its reply belongs once that is made.
    pub(super) async fn record(self) {
        let (proxy, names) = (self.proxy.clone(), self.names());
        ended(proxy.later.keep(names, None, self.keep(Vec::new(), Hidden::default(), Urgency::Now))).await;
    }

    async fn keep(self, messages: Vec<Message>, hidden: Hidden, urgency: Urgency) {
        let (being_kept, says) = (self.being_kept(), !messages.is_empty());
        let Self { proxy, plan, turn, calls, sent, response, is_kept, .. } = self;
        let Sent { notices, bound, .. } = sent;
        let (chores, sorts) = (turn.chores(), turn.layout().starts_with(TOPICS));
        let session = turn.received().session.clone();
        let (model, response) = (plan.model.as_str(), response.as_deref().filter(|_| plan.followed));
        let Hidden { lead, around } = hidden;
        let lead = Some(lead);
        let finish = Finish { messages, lead, around, model, response, calls, notices, bound, urgency, at: now() };
        let kept = match proxy.engine.finish(turn, finish).await {
            Ok(kept) => kept,
            Err(error) => {
                let then = if plan.is_new() { "it is lost" } else { "the client will send it again" };
                tracing::error!(%error, "a reply could not be kept; {then}");
                // Who erased the conversation wants no reply of it kept, and what is too large stays so.
                is_kept.store(matches!(error, Error::NotFound(_) | Error::TooLarge(_)), Ordering::Release);
                plan.ours.iter().filter(|_| says).for_each(|ours| ours.tell(Word::Unkept));
                return;
            }
        };
        is_kept.store(true, Ordering::Release);
        let Some(kept) = kept else { return };
        being_kept.tell(&proxy, plan.ours.as_ref(), &kept);
        let Some(head) = kept.position() else { return };
        let (engine, live) = (proxy.engine.clone(), proxy.live.clone());
        proxy.later.spawn(async move {
            match engine.tidy(chores.at(head), now()).await {
                Ok(()) if sorts => live.publish(&session, || What::Topics),
                Ok(()) => {}
                Err(error) => tracing::warn!(%error, "tidying can wait for the next turn"),
            }
        });
    }
}
