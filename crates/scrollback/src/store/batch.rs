//! What is to be written: messages, records and aliases of one session, all of it or none.

use std::collections::BTreeSet;

use super::{Alias, Beside, Kind, NodeRef, Origin, Place, Put, Stored};
use crate::error::{Error, Result};
use crate::ids::{At, Hash128, MessageId, NodeId, SessionId, SessionKey, Tenant};
use crate::message::Message;
use crate::tokens::Measure;

/// One atomic change of one session.
#[derive(Debug)]
pub struct Batch {
    /// The session it belongs to; it comes into being with its first batch.
    pub session: SessionKey,
    /// What the client calls it, if it says.
    pub declared: Option<String>,
    /// A title that came with it; it takes the place of an earlier one, also where there is nothing else to write.
    pub title: Option<String>,
    /// Messages that continue the path.
    pub path: Vec<Draft>,
    /// The node the first of them follows; `None` for the beginning of a conversation.
    pub after: Option<NodeRef>,
    /// Whether it may begin a branch; one that may not is refused as a conflict where something follows that node.
    pub branching: Branching,
    /// Messages kept beside the path, in order of `before`.
    pub beside: Vec<Sidelong>,
    /// Other names by which a rewritten history finds its place again.
    pub aliases: Vec<Alias>,
    /// Derived records.
    pub records: Vec<Put>,
    /// Whether somebody waits for it.
    pub urgency: Urgency,
}

/// Whether a batch may begin a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branching {
    /// Where something follows already, what is new stands beside it.
    Free,
    /// What is new is the end of a branch, or nothing is written.
    Never,
}

impl Branching {
    /// An error if messages would begin a branch where none may; the first of a session always may.
    pub(super) fn allow(self, forks: bool) -> Result<()> {
        if self == Self::Never && forks {
            return Err(Error::Conflict("the end of the conversation".into()));
        }
        Ok(())
    }
}

/// Whether somebody waits for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It is written at once.
    Now,
    /// It may wait a moment for others, to share their flush to disk. Batches keep their order.
    Soon,
}

impl Batch {
    /// An empty batch.
    pub fn new(session: SessionKey) -> Self {
        Self {
            session,
            declared: None,
            title: None,
            path: Vec::new(),
            after: None,
            branching: Branching::Free,
            beside: Vec::new(),
            aliases: Vec::new(),
            records: Vec::new(),
            urgency: Urgency::Now,
        }
    }

    /// A batch that only writes records.
    pub fn of_records(session: SessionKey, records: Vec<Put>) -> Self {
        Self { records, ..Self::new(session) }
    }

    /// A batch that only writes a tenant's own records; no session comes into being.
    pub fn of_tenant(tenant: &Tenant, records: Vec<Put>) -> Self {
        Self::of_records(SessionKey { tenant: tenant.clone(), id: SessionId(Hash128([0; 16])) }, records)
    }

    /// Whether there is nothing to write, but for a title.
    pub fn is_empty(&self) -> bool {
        !self.grows() && self.aliases.is_empty() && self.records.is_empty()
    }

    /// Whether the log grows.
    pub(crate) fn grows(&self) -> bool {
        !self.path.is_empty() || !self.beside.is_empty()
    }

    /// The sessions that must be there already: those of its records, but for choices, which may be made before
    /// anything is said, and for the one that its messages may bring into being.
    pub(crate) fn needs(&self) -> BTreeSet<&SessionKey> {
        let comes = self.grows().then_some(&self.session);
        let derived = self.records.iter().filter(|put| put.kind != Kind::Setting);
        derived.filter_map(|put| put.scope.session()).filter(|session| Some(*session) != comes).collect()
    }
}

/// A message about to be stored.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The message.
    pub message: Message,
    /// Its node.
    pub node: NodeId,
    /// When it was said.
    pub at: At,
    /// How it came here.
    pub origin: Origin,
    /// Its size.
    pub measure: Measure,
}

impl Draft {
    /// The message before it has a number and a place.
    pub(crate) fn unplaced(&self) -> Stored {
        self.stored(MessageId(0), None, Place::Beside(Beside::Preamble))
    }

    /// The message as it is stored under a number.
    pub(crate) fn stored(&self, id: MessageId, parent: Option<MessageId>, place: Place) -> Stored {
        Stored {
            id,
            parent,
            place,
            role: self.message.role().clone(),
            at: self.at,
            origin: self.origin,
            measure: self.measure,
            raw: self.message.raw().clone(),
        }
    }
}

/// A message about to be stored beside the path.
#[derive(Clone, Debug)]
pub struct Sidelong {
    /// Why it is not on it.
    pub why: Beside,
    /// How many messages of the batch's path come before it.
    pub before: usize,
    /// The message.
    pub draft: Draft,
}
