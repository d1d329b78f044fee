//! Messages on their way into the log: a batch that grows link by link, with what stands beside the path in its place.

use super::{Arrival, Position};
use crate::ids::{At, NodeId};
use crate::message::Message;
use crate::store::{Batch, Beside, Draft, Sidelong, node_beside, node_of_aside};
use crate::tokens::Measure;

/// A batch in the making.
pub(super) struct Strand<'a> {
    arrival: Arrival<'a>,
    batch: Batch,
    /// The node that the next link follows.
    pub(super) node: NodeId,
    /// Reasoning, and how many links come before it.
    asides: Vec<(usize, At, Message)>,
}

impl<'a> Strand<'a> {
    /// A strand that goes on after `base`, or begins its session.
    pub(super) fn new(arrival: Arrival<'a>, batch: Batch, base: Option<Position>) -> Self {
        let node = base.map_or_else(|| NodeId::root(batch.session.id), |base| base.node);
        let batch = Batch { after: base.map(|base| base.node_ref()), ..batch };
        Self { arrival, batch, node, asides: Vec::new() }
    }

    /// Adds a link of the path.
    pub(super) fn link(&mut self, at: At, message: Message) {
        self.node = self.node.then(message.strong());
        self.batch.path.push(draft(self.arrival, at, self.node, message));
    }

    /// Adds a message, reasoning beside the path.
    pub(super) fn push(&mut self, at: At, message: Message) {
        if message.is_aside() {
            self.aside_end(at, message);
        } else {
            self.link(at, message);
        }
    }

    /// Adds reasoning that stands after all links that there are.
    pub(super) fn aside_end(&mut self, at: At, message: Message) {
        self.aside(self.batch.path.len(), at, message);
    }

    /// Adds reasoning that stands after so many links.
    pub(super) fn aside(&mut self, before: usize, at: At, message: Message) {
        self.asides.push((before, at, message));
    }

    /// Adds something else that stands beside the path, after so many links.
    pub(super) fn beside(&mut self, why: Beside, before: usize, at: At, message: Message) {
        let draft = draft(self.arrival, at, node_beside(why, &message), message);
        self.batch.beside.push(Sidelong { why, before, draft });
    }

    /// The same, after all links that there are.
    pub(super) fn beside_end(&mut self, why: Beside, at: At, message: Message) {
        self.beside(why, self.batch.path.len(), at, message);
    }

    /// The batch. Reasoning stands next to the link that it led to.
    pub(super) fn end(mut self) -> Batch {
        for (before, at, message) in std::mem::take(&mut self.asides) {
            let owner = self.batch.path.get(before).map(|link| link.node);
            let draft = draft(self.arrival, at, node_of_aside(owner, self.node, &message), message);
            self.batch.beside.push(Sidelong { why: Beside::Aside, before, draft });
        }
        let last = |sidelong: &Sidelong| matches!(sidelong.why, Beside::Aside);
        self.batch.beside.sort_by_key(|sidelong| (sidelong.before, last(sidelong)));
        self.batch
    }
}

pub(super) fn draft(arrival: Arrival<'_>, at: At, node: NodeId, message: Message) -> Draft {
    let measure = Measure::of(&message, arrival.model);
    Draft { message, node, at, origin: arrival.origin, measure }
}
