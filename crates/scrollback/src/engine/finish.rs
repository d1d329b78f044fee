//! The end of a turn: the reply, the view and the ledger in one commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;

use super::Engine;
use super::lanes::Hidden;
use super::load::Parked;
use super::turn::{Turn, measured};
use crate::error::Result;
use crate::ids::{At, Hash128, NodeId, SessionKey};
use crate::ledger::Call;
use crate::log::{Answer, Received};
use crate::message::Message;
use crate::store::{Batch, Kind, Put, Stored, Urgency};
use crate::view::View;

/// How a turn ended.
#[derive(Debug)]
pub struct Finish<'a> {
    /// What the model answered, message by message, as the client will echo it; none if it gave no answer that can be
    /// kept.
    pub messages: Vec<Message>,
    /// What the client never saw before all of them; the rounds of the turn, unless it says otherwise.
    pub lead: Option<Vec<Box<RawValue>>>,
    /// What the client never saw around some of them.
    pub around: Vec<Around>,
    /// The model.
    pub model: &'a str,
    /// The provider's id of the response.
    pub response: Option<&'a str>,
    /// The calls it took.
    pub calls: Vec<Call>,
    /// What was done to the request on the way that its client should know.
    pub notices: Vec<String>,
    /// What the reply is bound to: it is good only where the same stands before it.
    pub bound: Option<Hash128>,
    /// Whether somebody waits until it is kept.
    pub urgency: Urgency,
    /// When.
    pub at: At,
}

/// What the client never saw around a message of a reply.
#[derive(Debug)]
pub struct Around {
    /// Which message of the reply.
    pub index: usize,
    /// What truly stands before it.
    pub before: Vec<Box<RawValue>>,
    /// The message as the model made it, if the client sees it otherwise.
    pub whole: Option<Box<RawValue>>,
    /// What stands after it: results of our calls.
    pub after: Vec<Box<RawValue>>,
}

impl<'a> Finish<'a> {
    /// A turn that brought no reply that can be kept.
    pub fn nothing(model: &'a str, at: At) -> Self {
        Self {
            messages: Vec::new(),
            lead: None,
            around: Vec::new(),
            model,
            response: None,
            calls: Vec::new(),
            notices: Vec::new(),
            bound: None,
            urgency: Urgency::Now,
            at,
        }
    }

    /// A turn that was answered with one message.
    pub fn of(message: Message, model: &'a str, at: At) -> Self {
        Self { messages: vec![message], ..Self::nothing(model, at) }
    }

    /// Whether the reply calls a tool, so that its turn goes on.
    fn makes_call(&self) -> bool {
        self.messages.iter().any(Message::makes_call)
    }
}

impl Engine {
    /// Keeps the reply, the view and the ledger, all in one commit. Returns the reply's last message on the path.
    pub fn finish<'a>(&'a self, mut turn: Turn, mut finish: Finish<'a>) -> BoxFuture<'a, Result<Option<Arc<Stored>>>> {
        Box::pin(async move {
            let view = viewed(&turn, &mut finish);
            let (session, at) = (&turn.received.session.clone(), finish.at);
            let mut records = vec![Put::new(session, Kind::View, View::key(turn.head.id, at), at, &view)];
            // What a model said is paid for: it is kept although what is counted beside it cannot be read just now.
            records.extend(self.recalled(&turn, at).await.unwrap_or_default());
            records.extend(self.scored(&mut turn, at).await);
            if finish.messages.is_empty() {
                if let Some(response) = finish.response {
                    records.extend(self.log.wordless(&turn.received, response, at).await);
                }
                self.store().commit(Batch::of_records(session.clone(), records)).await?;
                self.lanes.forget(Some(session.id));
                return Ok(None);
            }
            let hidden = hidden(&mut turn, &mut finish);
            records.extend(parked(session, &hidden, at));
            let Finish { messages, model, response, urgency, bound, .. } = finish;
            let answer = Answer { messages, model, response, records, urgency, at };
            let replied = self.log.replied(&turn.received, answer).await?;
            if replied.fresh.is_empty() || !replied.stint.lasts_since(turn.lane.stint) {
                self.lanes.forget(Some(session.id));
            } else {
                self.keep_replied(turn, &replied, &hidden, bound);
            }
            Ok(replied.fresh.last().cloned())
        })
    }

    /// Has a turn's lane in mind with its reply.
    fn keep_replied(&self, turn: Turn, replied: &Received, hidden: &ByNode, bound: Option<Hash128>) {
        let mut lane = turn.lane;
        lane.consulted = turn.consulted.map(|consulted| Arc::new(consulted.quoting(&turn.quoted.messages)));
        lane.extend(replied, &self.settings.strategies.holds);
        for stored in &replied.fresh {
            let around = stored.position().and_then(|position| hidden.get(&position.node));
            lane.hidden.extend(around.map(|hidden| (stored.id, hidden.clone())));
            lane.bound.extend(bound.map(|bound| (stored.id, bound)));
        }
        self.lanes.keep(lane);
    }
}

/// What the client does not see of a reply, by the message it stands around.
type ByNode = BTreeMap<NodeId, Arc<Hidden>>;

/// The view of a turn.
fn viewed(turn: &Turn, finish: &mut Finish<'_>) -> View {
    let mut view = View::of(&turn.window, turn.head, &turn.lane.layout, turn.lane.folded.id);
    view.kept = turn.lane.kept.filter(|_| view.kept_tokens > 0);
    view.recalls.clone_from(&turn.recalls);
    if let Some(consulted) = &turn.consulted {
        view.consulted(consulted.shown(), consulted.remark.clone(), turn.quoted.room);
        view.quoted.clone_from(&turn.quoted.messages);
        view.passed_over = consulted.passed_over;
    }
    view.calls = std::mem::take(&mut finish.calls);
    view.notices = std::mem::take(&mut finish.notices);
    view.bound = finish.bound;
    view.heads.clone_from(&turn.lane.heads);
    view
}

/// What the client does not see of a reply that goes on with results. Otherwise the turn is over, and it has served.
fn hidden(turn: &mut Turn, finish: &mut Finish<'_>) -> ByNode {
    let (rounds, around) = (std::mem::take(&mut turn.rounds), std::mem::take(&mut finish.around));
    if !finish.makes_call() {
        return ByNode::new();
    }
    let nodes = nodes(turn.head.node, &finish.messages);
    // What stands around reasoning stands before the message it led to.
    let at = |index: usize| nodes.iter().skip(index).flatten().next().or(nodes.iter().flatten().next_back()).copied();
    let mut hidden: BTreeMap<NodeId, Hidden> = BTreeMap::new();
    let all = |raws: Vec<Box<RawValue>>| raws.into_iter().map(measured);
    let rounds = finish.lead.take().map_or(rounds, |lead| all(lead).collect());
    if let Some(first) = at(0).filter(|_| !rounds.is_empty()) {
        hidden.entry(first).or_default().rounds = rounds;
    }
    for around in around {
        let Some(node) = at(around.index) else { continue };
        let known = hidden.entry(node).or_default();
        known.before.extend(all(around.before));
        known.whole = around.whole.map(measured).or(known.whole.take());
        known.after.extend(all(around.after));
    }
    hidden.into_iter().map(|(node, hidden)| (node, Arc::new(hidden))).collect()
}

/// The node of each message of a reply that is a link of the path.
fn nodes(mut end: NodeId, messages: &[Message]) -> Vec<Option<NodeId>> {
    let node = |message: &Message| {
        let linked = (!message.is_aside()).then(|| end.then(message.strong()));
        end = linked.unwrap_or(end);
        linked
    };
    messages.iter().map(node).collect()
}

fn parked<'h>(session: &'h SessionKey, hidden: &'h ByNode, at: At) -> impl Iterator<Item = Put> + 'h {
    let shown = hidden.iter().filter(|(_, hidden)| !hidden.is_empty());
    shown.map(move |(node, hidden)| Put::new(session, Kind::Round, node.0.to_string(), at, &Parked::of(hidden)))
}
