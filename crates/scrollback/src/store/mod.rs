//! The contract every store keeps, and the shapes that cross it.
//!
//! A store holds the log (ground truth: messages at their places) and records (everything derived, which can be
//! rebuilt). [`Store`] has no verb that deletes: erasing is [`Forget`], which people command and the engine never does.
//! The suite in `tests/stores.rs` is this contract as code and runs against every store.

mod asked;
mod batch;
mod checkup;
mod memory;
mod parcel;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
mod row;
mod session;
mod sqlite;
mod tombstone;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use asked::{CHILDREN, Matches, Span, Which};
pub use batch::{Batch, Branching, Draft, Sidelong, Urgency};
pub use checkup::Checkup;
pub use memory::MemoryStore;
pub use parcel::{Label, Moving, Parcel};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
pub use record::{Expect, Keys, Kind, Put, Record, Scope};
pub use session::{Branch, Lineage, Mark, Session};
pub use sqlite::{Durability, SqliteOptions, SqliteStore, sweep_parts};

use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, Hash128, MessageId, NodeId, SessionId, SessionKey, Tenant};
use crate::message::{Message, Part, Role};
use crate::search::Probe;
use crate::tokens::Measure;

/// Keeps what it is given. Every method sees one consistent moment; nothing of one tenant is visible to another.
#[async_trait]
pub trait Store: Send + Sync {
    /// Writes a batch, all of it or none, and returns when it would survive a crash.
    ///
    /// Messages already at their place are not written again, so the same batch may be committed any number of times;
    /// but for those that are damaged: what arrives is what they said.
    /// What is derived needs its log: records of a session that is not there, such as one that was erased meanwhile,
    /// are refused, unless they are somebody's choice ([`Kind::Setting`]). A batch that holds nothing writes nothing:
    /// where others write too, it tells whether they did, and whether `after` is still there.
    async fn commit(&self, batch: Batch) -> Result<Committed>;

    /// How much of `chain` (nodes at consecutive depths from `from` on) is known, directly or through an alias.
    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>>;

    /// Messages of a session, in the order of the span. An unknown session has none. For one that is damaged a sentence
    /// stands that says so ([`Origin::Damaged`]): nobody has to do without the others, or to take it for what was said.
    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>>;

    /// Messages that hold the terms of a probe, at most `probe.limit`: the newest first, or those whose terms weigh
    /// most.
    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches>;

    /// Derived records of one kind, in the order the keys are asked for. One that is damaged is as good as not there,
    /// for whoever writes as well.
    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>>;

    /// The sessions of a tenant, newest first.
    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>>;
}

impl dyn Store + '_ {
    /// The path of a head. It costs as much as there are branches on it, however many others there are.
    pub(crate) async fn lineage(&self, session: &SessionKey, head: Position) -> Result<Lineage> {
        // The first branch leaves none.
        let forks = if head.branch.0 == 0 { Vec::new() } else { self.read(session, Span::Forks(head.branch)).await? };
        let stretch = |position: Position| (position.branch, position.depth);
        Ok(Lineage([head].into_iter().chain(forks.iter().filter_map(Stored::position)).map(stretch).collect()))
    }

    /// One derived record.
    pub fn record(&self, scope: Scope, kind: Kind, key: String) -> BoxFuture<'_, Result<Option<Record>>> {
        Box::pin(async move { Ok(self.records(&scope, kind, Keys::One(key)).await?.pop()) })
    }

    /// Where a branch ends.
    pub(crate) async fn end_of(&self, session: &SessionKey, branch: BranchId) -> Result<Option<Position>> {
        Ok(self.read(session, Span::End(branch)).await?.pop().and_then(|last| last.position()))
    }
}

/// Erases what a person asks to be erased. Kept apart from [`Store`] so that no engine can.
#[async_trait]
pub trait Forget: Send + Sync {
    /// Erases a session: messages, notes and index. Nobody finds it from then on; its bytes may be left until
    /// [`Self::wipe`]. Returns how many messages are gone.
    async fn forget(&self, session: &SessionKey) -> Result<u32>;

    /// Erases what tool results say. Each message keeps its place, number and node, so that a history sent again finds
    /// it, and says from then on that its owner had it erased. Returns how many were; messages without a result stay as
    /// they are.
    async fn forget_results(&self, session: &SessionKey, results: &[MessageId], at: At) -> Result<u32>;

    /// Writes over what is left of the bytes of what was erased, if anything is, and as far as that is the store's to
    /// do. It takes time in proportion to the store, and whoever writes waits meanwhile.
    async fn wipe(&self) -> Result<()> {
        Ok(())
    }
}

/// What is said of a session that is not there: it never was, or was erased.
pub(crate) fn unkept(session: &SessionKey) -> Error {
    Error::NotFound(format!("there is no session {}", session.id))
}

/// How a message came into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A client sent it.
    Client,
    /// The model answered it through us; the client will echo it with its next request.
    Reply,
    /// It was read from a file.
    Import,
    /// Its owner had its words erased; what it says now is ours.
    Erased,
    /// Its bytes are not what was written; what it says now is ours, and nothing that is stored.
    Damaged,
}

/// A node and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRef {
    /// Its depth.
    pub depth: Depth,
    /// The node.
    pub node: NodeId,
}

/// Why a message stands beside the path instead of on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Standing instructions at the head of a request; they change without being a new conversation.
    Preamble,
    /// The client's rewritten version of a message; the original stays on the path.
    Overlay(MessageId),
    /// Text the client put among older messages: its own summary of them, for example.
    Insert,
    /// Reasoning without words, which clients drop at will.
    Aside,
}

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a path.
    Path(Position),
    /// Beside it.
    Beside(Beside),
}

/// A place on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The message there.
    pub id: MessageId,
    /// Its branch.
    pub branch: BranchId,
    /// How many messages precede it.
    pub depth: Depth,
    /// Its node.
    pub node: NodeId,
}

impl Position {
    /// The node at this position.
    pub fn node_ref(&self) -> NodeRef {
        NodeRef { depth: self.depth, node: self.node }
    }
}

/// A message as stored.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its number in the session.
    pub id: MessageId,
    /// The message it follows; `None` at the beginning and beside the path. Reasoning follows one if it was stored
    /// together with the message it led to, whose number is the next.
    pub parent: Option<MessageId>,
    /// Where it is.
    pub place: Place,
    /// Who speaks.
    pub role: Role,
    /// When it was said.
    pub at: At,
    /// How it came here.
    pub origin: Origin,
    /// Its size.
    pub measure: Measure,
    /// Its exact JSON.
    pub raw: Arc<RawValue>,
}

impl Stored {
    /// The message, read.
    pub fn message(&self) -> Message {
        Message::new(self.raw.clone())
    }

    /// An error if it is damaged, for those who must not take what stands for it as what was said.
    pub(crate) fn sound(self) -> Result<Self> {
        let damaged = || Error::Damaged(format!("message {}: its bytes are not what was written", self.id));
        if self.origin == Origin::Damaged { Err(damaged()) } else { Ok(self) }
    }

    /// Whether it brings a picture or a file, whose tokens are a guess.
    pub fn has_attachments(&self) -> bool {
        self.measure.may_have_attachments() && self.message().parts().iter().any(|part| part.attachments() > 0)
    }

    /// Whether a person speaks in it, which begins a turn.
    pub(crate) fn begins_turn(&self) -> bool {
        self.role == Role::User && self.message().begins_turn()
    }

    /// Who speaks, for those who read and search: what tools return counts as theirs, also where an API sends it in the
    /// role of the person.
    pub fn speaker(&self) -> &str {
        if self.role == Role::User && self.message().is_results() { "tool" } else { self.role.as_str() }
    }

    /// Whether a speaker has part in it: what tools return is said by `tool`, and whatever stands beside it by the role
    /// it came in.
    pub fn is_said_by(&self, speaker: &str) -> bool {
        match (speaker, &self.role) {
            ("tool", Role::User) => self.message().parts().iter().any(|part| matches!(part, Part::Result { .. })),
            ("user", Role::User) => !self.message().is_results(),
            _ => self.role.as_str() == speaker,
        }
    }

    /// Its place on a path, if it has one.
    pub fn position(&self) -> Option<Position> {
        match self.place {
            Place::Path(position) => Some(position),
            Place::Beside(_) => None,
        }
    }
}

/// What a commit did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed {
    /// The position of each message of the batch's path, known before or not.
    pub path: Vec<Position>,
    /// The number of each message beside it, in the batch's order.
    pub beside: Vec<MessageId>,
    /// How many messages were new.
    pub added: usize,
    /// How many were damaged and are what they were again.
    pub mended: usize,
    /// Whether anybody else changed the session meanwhile.
    pub stint: Stint,
    /// When the session came into being, by the clock of a store that others write to as well: one that somebody erased
    /// and began again is another. 0 where nobody else writes.
    pub arrived: i64,
}

/// An unbroken run of changes of a session by one process. What the process has in mind of the session is true as long
/// as it lasts: whoever else changes anything ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stint {
    /// Nobody else writes to this store.
    #[default]
    Alone,
    /// It began with this version of the session.
    Since(u64),
    /// Somebody else changed the session last, or it is not there.
    Unknown,
}

impl Stint {
    /// Whether an earlier moment was in the same stint, so that what was known then is known now.
    pub(crate) fn lasts_since(self, earlier: Self) -> bool {
        self != Self::Unknown && self == earlier
    }
}

/// The known part of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// How many nodes of the chain it covers.
    pub count: usize,
    /// The session it leads to; another one only through an alias.
    pub session: SessionId,
    /// The last known node.
    pub at: Position,
    /// Whether the way led through an alias, so that the rest of the chain has to be computed anew from `at`.
    pub aliased: bool,
}

/// Another name for a place: a node of a rewritten history and the true node it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alias {
    /// The session the rewritten history claims.
    pub session: SessionId,
    /// The node it computes to.
    pub from: NodeRef,
    /// The session it truly continues.
    pub to_session: SessionId,
    /// The true node.
    pub to: NodeRef,
}

/// The node of a message beside the path: like all nodes a hash, so that storing it twice adds nothing.
pub(crate) fn node_beside(why: Beside, message: &Message) -> NodeId {
    let (tag, over) = match why {
        Beside::Preamble => ("preamble", 0),
        Beside::Overlay(over) => ("overlay", over.0),
        Beside::Insert => ("insert", 0),
        Beside::Aside => ("aside", 0),
    };
    NodeId(Hash128::of(tag, &[&over.to_le_bytes(), message.raw().get().as_bytes()]))
}

/// The node of reasoning: of its bytes, and of its place. It stands before `owner`, or else after the end of a path.
pub(crate) fn node_of_aside(owner: Option<NodeId>, end: NodeId, message: &Message) -> NodeId {
    let (tag, place) = owner.map_or(("aside-after", end), |owner| ("aside-before", owner));
    NodeId(Hash128::of(tag, &[&place.0.0, message.raw().get().as_bytes()]))
}
