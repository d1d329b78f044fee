//! One request: its window goes upstream, calls of ours are answered and the model is asked again, at most so many times;
//! calls of the client's go to the client. What comes back to the client is one reply.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use bytes::Bytes;
use scrollback::engine::{Ask, Turn};
use scrollback::ledger::Call;
use scrollback::log::{Arrival, History};
use scrollback::recall::{RecallCall, calls_in};
use scrollback::window::Budget;
use serde_json::{Value, json};

use super::{Incoming, Managed, Plan, Proxy, pass, refused, stream};
use crate::clock::now;
use crate::config::RecallBy;
use crate::upstream::{Answer, Outgoing, Silence, Upstream};
use crate::wire::edit::{edited, is_overflow, raw, stopped, summed};
use crate::wire::offer::Offer;
use crate::wire::render;
use crate::wire::reply::{Gathered, answered, called};
use crate::wire::request::Request;

/// A window that was too large for its model is made smaller once, to this share.
const SHRINK_PERCENT: u32 = 60;

/// The state of one request.
pub(super) struct Exchange {
    pub(super) proxy: Arc<Proxy>,
    pub(super) upstream: Arc<Upstream>,
    incoming: Incoming,
    request: Request,
    offer: Offer,
    pub(super) plan: Plan,
    pub(super) turn: Turn,
    round: u32,
    /// What the client has already been shown of earlier rounds.
    pub(super) said: String,
    pub(super) calls: Vec<Call>,
    pub(super) sent: Instant,
    shrunk: bool,
}

/// What a reply asks for.
pub(super) enum Verdict {
    /// It goes to the client.
    Deliver,
    /// It only calls tools of ours: they are answered and the model goes on.
    Again(Vec<Result<RecallCall, String>>),
    /// It calls tools of ours and of the client's.
    Mixed(Vec<Result<RecallCall, String>>),
}

impl Exchange {
    pub(super) fn new(proxy: Arc<Proxy>, upstream: Arc<Upstream>, managed: Managed, plan: Plan, turn: Turn) -> Self {
        let (Managed { incoming, request, offer }, sent) = (managed, Instant::now());
        let (round, said, calls, shrunk) = Default::default();
        Self { proxy, upstream, incoming, request, offer, plan, turn, round, said, calls, sent, shrunk }
    }

    /// Answers the request.
    pub(super) async fn run(mut self) -> Response<Body> {
        loop {
            let answer = match self.send().await {
                Ok(answer) => answer,
                Err(silence) => {
                    let response = pass::silent(&self.upstream.name, &silence);
                    self.fail();
                    return response;
                }
            };
            if !answer.status.is_success() {
                match self.refused(answer).await {
                    Ok(response) => return response,
                    Err(smaller) => self = *smaller,
                }
                continue;
            }
            if is_stream(&answer.headers) {
                return stream::respond(self, answer);
            }
            match self.whole(answer).await {
                Ok(response) => return response,
                Err(again) => self = *again,
            }
        }
    }

    /// Sends the window.
    pub(super) async fn send(&mut self) -> Result<Answer, Silence> {
        let body = self.compose();
        self.sent = Instant::now();
        let Incoming { method, path, headers, .. } = &self.incoming;
        self.upstream.send(Outgoing { method: method.clone(), path, headers, body }).await
    }

    /// The client's body with the window in the place of its messages and our tools after its own.
    fn compose(&self) -> Bytes {
        let window = self.turn.window();
        let instruction = self.offer.instruction();
        let as_sent = self.turn.received().as_sent;
        let untouched = as_sent && !self.plan.only_new && instruction.is_none() && window.is_untouched();
        let messages = (!untouched).then(|| render::messages(window, instruction.as_deref()));
        let tools = self.offer.tools(self.request.tools());
        let last = self.round >= self.most_rounds() && self.offer.by() == RecallBy::Tools;
        let choice = last.then(|| last_choice(&self.request));
        let mut changes: Vec<(&str, &str)> = Vec::new();
        changes.extend(messages.as_deref().map(|messages| ("messages", messages)));
        changes.extend(tools.as_deref().map(|tools| ("tools", tools)));
        changes.extend(choice.as_deref().filter(|_| self.round > 0).map(|choice| ("tool_choice", choice)));
        self.request.write(&changes)
    }

    /// An upstream's refusal goes to the client, unless a smaller window may help.
    async fn refused(self, answer: Answer) -> Result<Response<Body>, Box<Self>> {
        let (status, headers) = (answer.status, answer.headers);
        let Ok(body) = answer.body.all().await else {
            let silence = Silence::Broken("its answer was cut off".into());
            let response = pass::silent(&self.upstream.name, &silence);
            self.fail();
            return Ok(response);
        };
        if !self.shrunk && status == StatusCode::BAD_REQUEST && is_overflow(&body) {
            match self.shrink().await {
                Ok(smaller) => return Err(Box::new(smaller)),
                Err(response) => return Ok(*response),
            }
        }
        self.fail();
        Ok(pass::with(status, headers, Body::from(body)))
    }

    /// Lays the window out smaller, because the model counts more tokens than we do.
    async fn shrink(mut self) -> Result<Self, Box<Response<Body>>> {
        let tokens = self.turn.window().tokens() / 100 * SHRINK_PERCENT;
        let model = self.plan.model.clone();
        let tenant = self.proxy.tenant.clone();
        let history = History::parse("[]").map_err(|error| Box::new(refused("invalid_request", &error.to_string())))?;
        let arrival = Arrival::new(&tenant, None, &model, now());
        let budget = Budget { tokens };
        let ask = Ask { arrival, history: &history, after: None, budget, limit_tokens: self.turn.limit_tokens() };
        let shrunk = self.proxy.engine.shrink(self.turn, &ask).await;
        self.turn = shrunk.map_err(|error| Box::new(refused("context_length_exceeded", &error.to_string())))?;
        self.shrunk = true;
        tracing::warn!(model, tokens, "the model refused the window as too large; a smaller one is sent");
        Ok(self)
    }

    /// A whole reply: delivered, or answered and asked again.
    async fn whole(mut self, answer: Answer) -> Result<Response<Body>, Box<Self>> {
        let (status, mut headers) = (answer.status, answer.headers);
        let Ok(body) = answer.body.all().await else {
            let silence = Silence::Broken("its answer was cut off".into());
            let response = pass::silent(&self.upstream.name, &silence);
            self.fail();
            return Ok(response);
        };
        let Some(gathered) = Gathered::whole(&body) else {
            self.fail();
            return Ok(pass::with(status, headers, Body::from(body)));
        };
        let earlier = self.output_before();
        self.enter(gathered.usage.as_ref());
        headers.extend(self.labels());
        match self.judge(&gathered) {
            Verdict::Again(calls) => {
                self.again(&gathered, &calls).await;
                Err(Box::new(self))
            }
            Verdict::Mixed(calls) => {
                let (theirs, results) = self.park(&gathered, &calls).await;
                let body = edited(&body, &gathered.message(&theirs), None);
                self.finish(&gathered, &theirs, Some(results)).await;
                Ok(pass::with(status, headers, Body::from(summed(body, earlier))))
            }
            Verdict::Deliver => {
                let theirs = self.theirs(&gathered.calls);
                let text = self.visible(&gathered);
                let changed = theirs.len() != gathered.calls.len() || text.is_some();
                let mut shown = gathered.clone();
                shown.fields.extend(text.map(|text| ("content".to_owned(), text.into())));
                let body =
                    if changed { edited(&body, &shown.message(&theirs), stopped(&gathered, &theirs)) } else { body };
                self.finish(&shown, &theirs, None).await;
                Ok(pass::with(status, headers, Body::from(summed(body, earlier))))
            }
        }
    }

    /// How often the model may recall. One with tools of the client's is first asked to leave ours alone, and only then
    /// kept from all.
    fn most_rounds(&self) -> u32 {
        let theirs = self.request.tools().is_some_and(|tools| !tools.trim_matches(['[', ']', ' ']).is_empty());
        self.proxy.serve.rounds + u32::from(theirs)
    }

    /// What a reply asks for.
    pub(super) fn judge(&self, gathered: &Gathered) -> Verdict {
        let cut_off = matches!(gathered.finish.as_deref(), Some("length" | "content_filter"));
        let may = self.round < self.most_rounds() && !cut_off;
        if self.offer.by() == RecallBy::Text {
            let calls = calls_in(gathered.text()).filter(|_| may && gathered.calls.is_empty());
            return calls.map_or(Verdict::Deliver, Verdict::Again);
        }
        let ours = self.ours(&gathered.calls);
        if ours.is_empty() || cut_off {
            return Verdict::Deliver;
        }
        let mixed = ours.len() < gathered.calls.len();
        match (mixed, may) {
            (true, _) => Verdict::Mixed(ours),
            (false, true) => Verdict::Again(ours),
            (false, false) => Verdict::Deliver,
        }
    }

    fn ours(&self, calls: &[Value]) -> Vec<Result<RecallCall, String>> {
        let ours = calls.iter().filter_map(|call| Some((self.offer.tool(called(call))?, call)));
        ours.map(|(tool, call)| RecallCall::read(tool, call["function"]["arguments"].as_str().unwrap_or_default()))
            .collect()
    }

    pub(super) fn is_ours(&self, name: &str) -> bool {
        self.offer.tool(name).is_some()
    }

    /// Whether a name could still become one of ours.
    pub(super) fn could_be_ours(&self, name: &str) -> bool {
        self.offer.begins(name)
    }

    /// Whether the end of the reply may only be told once it is kept.
    pub(super) fn must_wait(&self) -> bool {
        self.turn.has_recalled() || self.plan.only_new
    }

    pub(super) fn reads_text(&self) -> bool {
        self.offer.by() == RecallBy::Text
    }

    /// The client's calls among all.
    pub(super) fn theirs(&self, calls: &[Value]) -> Vec<Value> {
        calls.iter().filter(|call| !self.is_ours(called(call))).cloned().collect()
    }

    /// A reply's text without markers that were not carried out.
    pub(super) fn visible(&self, gathered: &Gathered) -> Option<String> {
        if !self.reads_text() {
            return None;
        }
        let mut sieve = scrollback::recall::Sieve::default();
        let shown = sieve.push(gathered.text());
        let text = shown + &sieve.finish().text;
        (text != gathered.text()).then_some(text)
    }

    /// Remembers what the client was shown of a round that is not the last.
    pub(super) fn has_said(&mut self, text: &str) {
        self.said.push_str(text);
    }

    /// Answers the model's calls and adds the round to the window.
    pub(super) async fn again(&mut self, gathered: &Gathered, calls: &[Result<RecallCall, String>]) {
        self.round += 1;
        let mut answers = self.proxy.engine.recall(&mut self.turn, calls).await;
        metrics::counter!("scrollback_recalls_total").increment(answers.len() as u64);
        if self.round >= self.proxy.serve.rounds {
            for answer in &mut answers {
                answer.push_str("\nNo more can be recalled in this turn: answer now.");
            }
        }
        let mut messages = vec![gathered.message(&gathered.calls)];
        if self.reads_text() {
            messages.push(json!({"role": "user", "content": answers.join("\n\n")}));
        } else {
            messages.extend(gathered.calls.iter().zip(&answers).map(|(call, text)| answered(call, text)));
        }
        self.turn.push_round(messages.iter().map(raw).collect());
    }

    /// Answers the model's own calls among the client's, to be put back when the client returns with its results.
    pub(super) async fn park(
        &mut self,
        gathered: &Gathered,
        calls: &[Result<RecallCall, String>],
    ) -> (Vec<Value>, Vec<Value>) {
        let answers = self.proxy.engine.recall(&mut self.turn, calls).await;
        let ours = gathered.calls.iter().filter(|call| self.is_ours(called(call)));
        let results = ours.zip(&answers).map(|(call, text)| answered(call, text)).collect();
        (self.theirs(&gathered.calls), results)
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// The choice of tools in the last round: none of ours.
fn last_choice(request: &Request) -> String {
    let tools = request.value("tools");
    let functions = tools.as_array().into_iter().flatten().filter_map(|tool| tool["function"]["name"].as_str());
    let named = |name: &str| json!({"type": "function", "function": {"name": name}});
    let theirs: Vec<Value> = functions.map(named).collect();
    if request.value("tool_choice") == "required" && !theirs.is_empty() {
        return json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": theirs}}).to_string();
    }
    "\"none\"".to_owned()
}
