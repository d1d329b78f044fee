//! One request. Its window goes upstream; when the model calls Scrollback's tools, it is answered and asked again, up
//! to a limit; calls of the client's own tools go to the client. Whatever number of rounds it took, the client gets one
//! reply.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use scrollback::engine::Turn;
use scrollback::ids::Hash128;
use scrollback::ledger::Call;
use scrollback::recall::{RecallCall, Sieve, calls_in};
use scrollback::window::{Block, Reason};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::hidden::Hidden;
use super::later::{Keeping, Names};
use super::rounds::{Manner, Rounds, Sent};
use super::{Incoming, Managed, Plan, Proxy};
use crate::config::RecallBy;
use crate::upstream::Upstream;
use crate::wire::chat::joined;
use crate::wire::edit::raw;
use crate::wire::offer::{NO_MORE, Offer};
use crate::wire::request::Request;
use crate::wire::responses::reasoning_in;
use crate::wire::said::{Called, End, Said};
use crate::wire::{Dress, Ear, Echo, Reasoning, Wire, WireName};

/// How many characters of a session's id are enough to name it.
const HANDLE: usize = 12;
/// What the view says of a reply that a person has stopped.
pub(super) const STOPPED: &str = "the reply was stopped before its end";
/// What it says of one that the model's API did not finish.
pub(super) const BROKEN_OFF: &str = "the model's API broke the reply off; what came of it is kept";

/// The state of one request.
pub(super) struct Exchange {
    pub(super) proxy: Arc<Proxy>,
    pub(super) upstream: Arc<Upstream>,
    pub(super) wire: &'static dyn Wire,
    pub(super) incoming: Incoming,
    request: Request,
    offer: Offer,
    pub(super) plan: Plan,
    pub(super) turn: Turn,
    /// The name of its view, `v42`.
    pub(super) view: String,
    pub(super) earlier: Rounds,
    pub(super) manner: Manner,
    pub(super) sent: Sent,
    /// The id by which the client knows the response.
    pub(super) response: Option<String>,
    /// The calls it took so far.
    pub(super) calls: Vec<Call>,
    /// How much of their output was thought and not said, in tokens.
    pub(super) thought_tokens: u64,
    /// Set once its reply is kept.
    pub(super) is_kept: Arc<AtomicBool>,
    /// Dropping it tells that a turn of our own is over.
    _under_way: Option<watch::Sender<()>>,
}

/// What a reply asks for.
pub(super) enum Verdict {
    /// Nothing of ours: it goes to the client.
    Deliver,
    /// It calls only our tools: they are answered, and the model is asked again.
    Again(Vec<Result<RecallCall, String>>),
    /// It calls our tools and the client's: ours are answered and kept until the client is back with its results.
    Mixed(Vec<Result<RecallCall, String>>),
}

impl Exchange {
    pub(super) fn new(proxy: Arc<Proxy>, upstream: Arc<Upstream>, managed: Managed, plan: Plan, turn: Turn) -> Self {
        let Managed { wire, incoming, request, offer } = managed;
        let view = turn.view();
        let under_way = plan.ours.as_ref().map(|_| proxy.later.turn(plan.conversation.clone()));
        let binds = plan.binds_thinking && wire.name() == WireName::Anthropic;
        let reasoning = if binds { Reasoning::Bound } else { Reasoning::Usual };
        Self {
            proxy,
            upstream,
            wire,
            incoming,
            request,
            offer,
            plan,
            turn,
            view,
            earlier: Rounds::default(),
            manner: Manner { reasoning, joins: false, shrunk: false },
            sent: Sent::nothing(),
            response: None,
            calls: Vec::new(),
            thought_tokens: 0,
            is_kept: Arc::default(),
            _under_way: under_way,
        }
    }

    /// The client's body with the window in the place of its messages and our tools after its own.
    pub(super) fn compose(&mut self) -> Bytes {
        let last = self.is_later() && self.earlier.count >= self.most_rounds() && self.offer.by() == RecallBy::Tools;
        let left_out = last && (self.must_call() || self.earlier.count > self.most_rounds());
        if left_out {
            self.plan.tools = self.request.tools().map_or(0, |tools| self.proxy.book.tokens_of(tools));
        }
        let window = self.turn.window();
        let as_sent = self.turn.received().as_sent && !self.plan.is_new() && !self.plan.refers;
        let instruction = self.offer.instruction();
        let untouched = as_sent && instruction.is_none() && window.is_untouched() && !self.brings_more();
        let touched = self.plan.is_known_here_alone() || !untouched && self.plan.untouched.is_none();
        let session = self.turn.received().session.id.to_string();
        let handle = self.offer.is_elsewhere().then_some(&session[..HANDLE.min(session.len())]);
        let ours = self.offer.tools(self.request.tools()).filter(|_| !left_out);
        let tools = ours.as_deref().or(self.request.tools());
        let (turn, request, mixed) = (&self.turn, &self.request, self.plan.ours.is_some());
        let dress =
            Dress { turn, request, tools, touched, instruction, handle, reasoning: self.manner.reasoning, mixed };
        let mut rendered = self.wire.render(&dress);
        for (_, messages) in rendered.changes.iter_mut().filter(|(name, _)| self.manner.joins && *name == "messages") {
            *messages = messages.take().map(|messages| joined(&messages));
        }
        let choice = (last && !left_out).then(|| self.wire.toolbox().without_ours(&self.request));
        let container = self.earlier.container.as_deref().map(|id| contained(&self.request, id));
        let mut changes: Vec<(&str, Option<&str>)> = Vec::new();
        changes.extend(rendered.changes.iter().map(|(name, value)| (*name, value.as_deref())));
        changes.extend(ours.as_deref().map(|tools| ("tools", Some(tools))));
        changes.extend(choice.as_deref().map(|choice| ("tool_choice", Some(choice))));
        changes.extend(container.as_deref().map(|container| ("container", Some(container))));
        let body = self.request.write(&changes);
        self.sent.changed = !changes.is_empty();
        let did = if touched { "offered nothing" } else { "passed on as it came" };
        self.sent.gone = rendered.changes.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name).collect();
        (self.sent.notices, self.sent.bound) = (rendered.notices, rendered.bound);
        self.sent.notices.extend(self.plan.untouched.map(|why| format!("{did}: {why}")));
        body
    }

    /// Whether the client sends reasoning that the window does not show, because it led to a call that the client never
    /// saw.
    fn brings_more(&self) -> bool {
        let is_shown = |block: &&Block| block.reason == Reason::Reasoning;
        let shown = || self.turn.window().blocks().iter().filter(is_shown).count();
        self.wire.name() == WireName::Responses && reasoning_in(&self.request) > shown()
    }

    /// Whether an earlier round was answered, and this is a later one.
    pub(super) fn is_later(&self) -> bool {
        self.earlier.count > 0
    }

    /// How many rounds of recall the model may have. If the client has tools, there is one more: the model is first
    /// asked to leave ours alone, and only if it does not, kept from calling any tool, or from ours if it must call one.
    fn most_rounds(&self) -> u32 {
        self.proxy.serve.rounds + u32::from(self.has_tools())
    }

    /// Whether the model may have another round. Servers that know no `tool_choice` let it call our tools all the same:
    /// then it is asked once more without them, because nobody is helped by a reply of nothing but calls of ours.
    fn may_go_on(&self) -> bool {
        let is_kept_from = self.is_later() && self.offer.by() == RecallBy::Tools;
        self.earlier.count < self.most_rounds() + u32::from(is_kept_from)
    }

    /// Whether the model must call a tool, whichever. Over Responses it can be told to choose among the client's; over
    /// Chat Completions few servers know such a choice, and Anthropic has none: there, ours are not sent.
    fn must_call(&self) -> bool {
        let choice = self.request.value("tool_choice");
        let word = match self.wire.name() {
            WireName::Chat => choice.as_str(),
            WireName::Anthropic => choice["type"].as_str(),
            WireName::Responses => None,
        };
        self.has_tools() && matches!(word, Some("required" | "any"))
    }

    /// Whether the client has tools.
    fn has_tools(&self) -> bool {
        self.request.tools().is_some_and(|tools| !tools.trim_matches(['[', ']', ' ']).is_empty())
    }

    /// Has the model recall by writing instead of by tools, if no functions but ours were sent: tools that a provider
    /// runs itself stay. Whether that changes anything.
    pub(super) fn withdraw_tools(&mut self) -> bool {
        if self.offer.by() != RecallBy::Tools || has_functions(&self.request) || self.is_later() {
            return false;
        }
        self.offer = self.offer.clone().in_text();
        self.plan.tools = self.proxy.cost(&self.offer, &self.request);
        true
    }

    /// Has neighbouring messages of one speaker sent as one, since our notes stand next to what people say. Whether
    /// that changes anything.
    pub(super) fn join_neighbours(&mut self) -> bool {
        let may = self.wire.name() == WireName::Chat && !self.manner.joins;
        self.manner.joins |= may;
        may
    }

    /// Changes which of its earlier reasoning the model is sent, once for each wish, with nothing as the last resort.
    /// Whether that changes anything.
    pub(super) fn send_reasoning(&mut self, wanted: Reasoning) -> bool {
        let may = match (self.manner.reasoning, wanted) {
            (Reasoning::Usual, Reasoning::Bound) | (Reasoning::Usual | Reasoning::Bound, Reasoning::All) => true,
            (sent, wanted) => wanted == Reasoning::Nothing && sent != wanted,
        };
        let may = may && self.wire.name() != WireName::Responses;
        if may {
            self.manner.reasoning = wanted;
        }
        may
    }

    /// What a reply asks for.
    pub(super) fn judge(&self, said: &Said) -> Verdict {
        let cut_off = said.end == Some(End::Cut);
        let may = self.may_go_on() && !cut_off;
        let count = said.calls().count();
        if self.hides_markers() && count == 0 {
            return calls_in(&said.text()).filter(|_| may).map_or(Verdict::Deliver, Verdict::Again);
        }
        let ours: Vec<_> =
            said.calls().filter_map(|call| self.offer.tool(&call.name).map(|tool| (tool, call))).collect();
        if ours.is_empty() || cut_off {
            return Verdict::Deliver;
        }
        let mixed = ours.len() < count;
        let ours = ours.into_iter().map(|(tool, call)| RecallCall::read(tool, &call.arguments)).collect();
        match (mixed, may) {
            (true, _) => Verdict::Mixed(ours),
            (false, true) => Verdict::Again(ours),
            (false, false) => Verdict::Deliver,
        }
    }

    fn is_ours(&self, call: &Called) -> bool {
        self.offer.is_ours(&call.name)
    }

    /// Whether the client may see the end of the reply only once it is kept. With several nodes, the client's next
    /// request may go to one that knows only what is in the store.
    pub(super) fn must_wait(&self) -> bool {
        self.proxy.serve.shared || self.turn.has_recalled() || self.plan.is_new() || self.plan.followed
    }

    /// What a relay has to know of this request.
    pub(super) fn ear(&self) -> Ear<'_> {
        Ear { offer: &self.offer, waits: self.must_wait(), earlier: self.output_before() }
    }

    /// The request as the client sent it, for replies that repeat it.
    pub(super) fn echo(&self) -> Echo {
        Echo { offer: self.offer.clone(), request: self.request.clone(), gone: self.sent.gone.clone() }
    }

    /// Whether the model may recall by writing markers, which the client must not see.
    pub(super) fn hides_markers(&self) -> bool {
        self.offer.by() == RecallBy::Text || self.turn.invites_markers()
    }

    /// What the client sees of a reply: no calls of ours, and no markers that were not carried out.
    pub(super) fn for_client(&self, said: &Said) -> Said {
        let (mut sieve, text) = (Sieve::default(), said.text());
        let words = if self.hides_markers() { sieve.push(&text) + &sieve.finish().text } else { text };
        said.shown(&words, |call| self.is_ours(call))
    }

    /// Remembers what the client is shown of a round that is not the last.
    pub(super) fn remember_shown(&mut self, said: &Said) {
        let text = said.text();
        let words = if self.hides_markers() { Sieve::default().push(&text) } else { text };
        let shown = said.shown(&words, |call| self.is_ours(call));
        self.earlier.shown.extend(shown.pieces);
    }

    /// Answers the model's calls and adds the round to the window. What the model said goes in first, because it takes
    /// room from the answers.
    pub(super) async fn answer_calls(&mut self, said: &Said, calls: &[Result<RecallCall, String>]) {
        self.earlier.count += 1;
        self.earlier.container = said.container.clone().or(self.earlier.container.take());
        self.add_to_round(self.wire.speech().messages(said));
        let known = self.turn.recalls().len();
        let mut answers = self.proxy.engine.recall(&mut self.turn, calls).await;
        self.tell_recalls(known, self.earlier.count);
        metrics::counter!("scrollback_recalls_total").increment(answers.len() as u64);
        if self.earlier.count >= self.proxy.serve.rounds {
            for answer in &mut answers {
                answer.push_str(NO_MORE);
            }
        }
        let answered = if said.calls().next().is_none() {
            vec![json!({"role": "user", "content": answers.join("\n\n")})]
        } else {
            let answered: Vec<_> = said.calls().zip(answers.iter().map(String::as_str)).collect();
            self.wire.answers(&answered)
        };
        self.add_to_round(answered);
    }

    fn add_to_round(&mut self, messages: Vec<Value>) {
        self.turn.push_round(messages.iter().map(raw).collect());
        self.earlier.messages.extend(messages);
    }

    /// The part of a stopped reply that a person has read, with a notice of why it was stopped. If the last round said
    /// nothing yet, that is the words of earlier rounds, and what those recalled is dropped.
    pub(super) fn stopped(&mut self, said: Said, why: &str) -> Said {
        self.sent.notices.push(why.into());
        self.sent.partial = true;
        let said = said.stopped();
        if !said.is_empty() {
            return said;
        }
        self.earlier.messages.clear();
        Said { pieces: std::mem::take(&mut self.earlier.shown), ..said }.stopped()
    }

    /// The names by which a later request may refer to its conversation.
    pub(super) fn names(&self) -> Names {
        let names = [self.plan.conversation.clone(), self.turn.received().session.id.to_string()];
        Names { tenant: self.plan.tenant.clone(), names }
    }

    /// Keeps a reply, even if the client leaves meanwhile; the next request of its conversation waits for that.
    pub(super) fn conclude(self, said: Said, left: Said, verdict: Verdict) -> Keeping {
        let (proxy, names) = (self.proxy.clone(), self.names());
        // People who talk to us are told in words of our own.
        let is_kept = (self.plan.is_new() && self.plan.ours.is_none()).then(|| self.is_kept.clone());
        let end = proxy.later.keep(names, None, async move { self.finish_with(&said, left, verdict).await });
        Keeping { end, is_kept }
    }

    /// Answers calls of ours among the client's, which are put back when the client returns with its results, and keeps
    /// the reply.
    async fn finish_with(mut self, said: &Said, left: Said, verdict: Verdict) {
        let (speech, left_calls) = (self.wire.speech(), left.calls().count());
        let mut results = Vec::new();
        let mixed = if let Verdict::Mixed(calls) = &verdict {
            let known = self.turn.recalls().len();
            let answers = self.proxy.engine.recall_for_later(&mut self.turn, calls).await;
            self.tell_recalls(known, self.earlier.count + 1);
            let ours = said.calls().filter(|call| self.is_ours(call));
            let answered: Vec<_> = ours.zip(answers.iter().map(String::as_str)).collect();
            results = self.wire.answers(&answered);
            true
        } else {
            false
        };
        let shown = speech.messages(&left.after(std::mem::take(&mut self.earlier.shown)));
        let mut all = std::mem::take(&mut self.earlier.messages);
        if !all.is_empty() && left_calls == 0 {
            // The client has the reasoning of several rounds in one message, which no model made like that.
            self.sent.bound = self.sent.bound.map(|_| Hash128::default());
        }
        // What is not answered must not come back: a call of ours in a reply that was cut off.
        let whole = if mixed { said.clone() } else { said.shown(&said.text(), |call| self.is_ours(call)) };
        all.extend(speech.messages(&whole));
        let hidden =
            if mixed || all.len() > shown.len() { Hidden::around(&all, &shown, &results) } else { Hidden::default() };
        self.finish(shown, hidden).await;
    }
}

/// Whether a client has tools that it runs itself, however its dialect writes them.
fn has_functions(request: &Request) -> bool {
    let is_function = |tool: &Value| match tool["type"].as_str() {
        Some(kind) => matches!(kind, "function" | "custom" | "namespace"),
        None => ["function", "input_schema"].iter().any(|name| tool[*name].is_object()),
    };
    request.value("tools").as_array().into_iter().flatten().any(is_function)
}

/// The request's `container` field, naming the container where programs ran before.
fn contained(request: &Request, id: &str) -> String {
    let mut container = request.value("container");
    match container.as_object_mut() {
        Some(fields) => drop(fields.insert("id".into(), id.into())),
        None => container = id.into(),
    }
    container.to_string()
}
