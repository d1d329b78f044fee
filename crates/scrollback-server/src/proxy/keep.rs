//! The end of a request: its calls go into the ledger, its reply into the log.

use axum::http::{HeaderMap, HeaderValue, header};
use scrollback::Message;
use scrollback::engine::Finish;
use scrollback::store::Urgency;
use serde_json::Value;
use serde_json::value::RawValue;

use super::book::Ended;
use super::exchange::Exchange;
use crate::clock::now;
use crate::wire::edit::raw;
use crate::wire::reply::Gathered;

impl Exchange {
    /// Writes a call into the ledger.
    pub(super) fn enter(&mut self, usage: Option<&Value>) {
        let millis = u32::try_from(self.sent.elapsed().as_millis()).unwrap_or(u32::MAX);
        let ended = Ended {
            model: &self.plan.model,
            upstream: &self.upstream.name,
            tools: self.plan.tools,
            usage,
            millis,
            at: now(),
            first: self.calls.is_empty(),
        };
        let call = self.proxy.book.entry(&self.turn, &ended);
        if let Some(reported) = call.reported {
            self.proxy.gauge.learn(&self.plan.model, self.turn.window(), self.plan.tools, reported.input);
        }
        self.calls.push(call);
    }

    /// The output of the rounds so far, as reported.
    pub(super) fn output_before(&self) -> u64 {
        self.calls.iter().filter_map(|call| call.reported).map(|usage| u64::from(usage.output)).sum()
    }

    /// What tells the client where its request is in the log.
    pub(super) fn labels(&self) -> HeaderMap {
        let session = self.turn.received().session.id.to_string();
        let values = [("x-scrollback-session", session), ("x-scrollback-view", self.turn.view())];
        let label = |(name, value): (&'static str, String)| {
            Some((header::HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?))
        };
        values.into_iter().filter_map(label).collect()
    }

    /// Keeps the reply. What the client may need before it comes back is on the disk when this returns; the rest follows, also
    /// if the client goes away meanwhile.
    pub(super) async fn finish(mut self, gathered: &Gathered, theirs: &[Value], parked: Option<Vec<Value>>) {
        let said = std::mem::take(&mut self.said);
        let in_rounds = !said.is_empty() && !theirs.is_empty();
        let whole = parked
            .or_else(|| in_rounds.then(Vec::new))
            .map(|results| (raw(&gathered.message(&gathered.calls)), results.iter().map(raw).collect::<Vec<_>>()));
        let must_wait = whole.is_some() || self.must_wait();
        let mut message = gathered.message(theirs);
        if !said.is_empty() {
            message["content"] = (said + gathered.text()).into();
        }
        let urgency = if must_wait { Urgency::Now } else { Urgency::Soon };
        let (proxy, conversation) = (self.proxy.clone(), self.plan.conversation.clone());
        let message = Message::new(raw(&message));
        let strong = message.strong();
        proxy.later.keep(conversation.clone(), strong, self.keep(Some(message), whole, urgency));
        if must_wait {
            proxy.later.replies(&conversation, |_| false).await;
        }
    }

    /// Records that no reply came.
    pub(super) fn fail(self) {
        metrics::counter!("scrollback_failed_turns_total").increment(1);
        let proxy = self.proxy.clone();
        proxy.later.spawn(self.keep(None, None, Urgency::Soon));
    }

    async fn keep(
        self,
        message: Option<Message>,
        whole: Option<(Box<RawValue>, Vec<Box<RawValue>>)>,
        urgency: Urgency,
    ) {
        let Self { proxy, plan, turn, calls, .. } = self;
        let chores = turn.chores();
        let finish = Finish { message, whole, model: &plan.model, response: None, calls, urgency, at: now() };
        let kept = match proxy.engine.finish(turn, finish).await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::error!(%error, "a reply could not be kept; the client will send it again");
                return;
            }
        };
        let Some(head) = kept.and_then(|stored| stored.position()) else { return };
        let engine = proxy.engine.clone();
        proxy.later.spawn(async move {
            if let Err(error) = engine.tidy(chores.at(head), now()).await {
                tracing::warn!(%error, "tidying can wait for the next turn");
            }
        });
    }
}
