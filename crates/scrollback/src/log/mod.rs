//! The log: every message that was ever received, as a tree addressed by content.
//!
//! [`Log::receive`] takes a request's whole history, finds the place it continues (`align`) and stores what is new, before
//! anything is sent anywhere; [`Log::reply`] adds what the model answered. Histories sent again add nothing, edited ones
//! branch, and what a conversation may see is its own path and nothing else.

mod align;
mod declared;
mod history;
mod outcome;
mod recent;
mod rewrite;

use std::sync::Arc;

pub use declared::{Declared, SESSION_HEADER};
pub use history::{History, array_of};
pub use outcome::Outcome;

use align::{Aligned, Asker};
use history::Marks;
use recent::{Door, Recent, Stretch};

use crate::error::{Error, Result};
use crate::ids::{At, Depth, Hash128, NodeId, SessionId, SessionKey, Tenant};
use crate::message::Message;
use crate::store::{
    Alias, Batch, Beside, Draft, Expect, Keys, Kind, NodeRef, Origin, Place, Position, Put, Scope, Sidelong, Span,
    Store, Stored, Urgency, node_beside,
};
use crate::tokens::Measure;

/// A request, as far as the log is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// The session it declares.
    pub declared: Option<&'a str>,
    /// A title that comes with it.
    pub title: Option<&'a str>,
    /// The model it is for, which decides how tokens are counted.
    pub model: &'a str,
    /// How it came.
    pub origin: Origin,
    /// When.
    pub at: At,
    /// When each message was said, if that is known; as many as there are messages.
    pub times: Option<&'a [At]>,
}

impl<'a> Arrival<'a> {
    /// A client's request.
    pub fn new(tenant: &'a Tenant, declared: Option<&'a str>, model: &'a str, at: At) -> Self {
        Self { tenant, declared, title: None, model, origin: Origin::Client, at, times: None }
    }

    fn time_of(&self, index: usize) -> At {
        self.times.and_then(|times| times.get(index).copied()).unwrap_or(self.at)
    }
}

/// What became of a request.
#[derive(Clone, Debug)]
pub struct Received {
    /// How it relates to what was known.
    pub outcome: Outcome,
    /// The session it belongs to.
    pub session: SessionKey,
    /// The last message that was known before; `None` if none was.
    pub base: Option<Position>,
    /// Its last message; `None` if it holds nothing but instructions.
    pub head: Option<Position>,
    /// The messages of its path beyond the base.
    pub fresh: Vec<Arc<Stored>>,
    /// Its standing instructions; `None` if they are those of the request it continues.
    pub preamble: Option<Vec<Arc<Stored>>>,
    /// How many messages were stored.
    pub added: usize,
    /// Whether the history is the path, but for how replies are worded in it, so that it may be sent on as it came.
    pub as_sent: bool,
}

impl Received {
    fn nothing_new(outcome: Outcome, session: SessionKey, base: Option<Position>) -> Self {
        Self { outcome, session, base, head: base, fresh: Vec::new(), preamble: None, added: 0, as_sent: false }
    }
}

/// The log over a store.
pub struct Log {
    store: Arc<dyn Store>,
    recent: Recent,
}

impl Log {
    /// A log kept in `store`.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, recent: Recent::default() }
    }

    /// The store it is kept in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Splits the JSON array that a text begins with into messages, and tells where it ends. What was seen lately of the same
    /// conversation is passed over, so that a long history costs little more than its new tail.
    pub fn open<'t>(&self, tenant: &Tenant, text: &'t str) -> Result<(History<'t>, usize)> {
        History::open(text, self.recent.seed, |first| self.recent.behind(&Door(tenant.clone(), first)))
    }

    /// Takes a whole history and stores what is new in it. When this returns, nothing of it can be lost.
    pub async fn receive(&self, arrival: Arrival<'_>, history: &History<'_>) -> Result<Received> {
        let rewrites = arrival.origin != Origin::Import;
        let asker = Asker { tenant: arrival.tenant, declared: arrival.declared, rewrites };
        let declared = asker.declared_hash();
        let aligned = align::align(&*self.store, &self.recent, asker, history).await?;
        let session = SessionKey { tenant: arrival.tenant.clone(), id: aligned.session };
        let batch = batch_of(arrival, &session, &aligned);
        let mut received = Received::nothing_new(aligned.outcome, session, aligned.base);
        received.preamble = (!aligned.preamble_known).then(Vec::new);
        self.append(&mut received, batch).await?;
        received.as_sent = aligned.as_sent;
        if let (Some(marks), Some(at)) = (history.marks, received.head) {
            self.remember(
                &aligned,
                arrival.tenant,
                Seen { marks, count: history.len() - history.preamble, declared, at },
            );
        }
        Ok(received)
    }

    /// Takes only what is new, after the last message of a declared session or after an earlier response.
    pub async fn receive_new(&self, arrival: Arrival<'_>, after: After<'_>, history: &History<'_>) -> Result<Received> {
        let (session, head) = self.resolve(arrival.tenant, after).await?;
        let history = history.whole()?;
        let messages: Vec<Message> = (0..history.len()).map(|index| history.message(index)).collect();
        if let (After::Last(_), Some(head)) = (after, head)
            && self.was_just_sent(&session, head, &messages).await?
        {
            return Ok(Received::nothing_new(Outcome::Replay, session, Some(head)));
        }
        let mut batch = Batch::new(session.clone());
        batch.declared = arrival.declared.map(str::to_owned);
        batch.after = head.map(|head| head.node_ref());
        let mut node = head.map_or_else(|| NodeId::root(session.id), |head| head.node);
        for (index, message) in messages.into_iter().enumerate() {
            let time = arrival.time_of(index);
            if is_link(&message) {
                node = node.then(message.strong());
                batch.path.push(draft(arrival, time, node, message));
            } else {
                let why = if message.is_aside() { Beside::Aside } else { Beside::Preamble };
                let before = batch.path.len();
                let draft = draft(arrival, time, node_beside(why, &message), message);
                batch.beside.push(Sidelong { why, before, draft });
            }
        }
        let outcome = if head.is_some() { Outcome::Continue } else { Outcome::New };
        let mut received = Received::nothing_new(outcome, session, head);
        self.append(&mut received, batch).await?;
        Ok(received)
    }

    /// Commits a batch and tells what became of its messages.
    async fn append(&self, received: &mut Received, batch: Batch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let path: Vec<Stored> = batch.path.iter().map(Draft::unplaced).collect();
        let instructs = |sidelong: &Sidelong| sidelong.why == Beside::Preamble;
        let beside: Vec<(bool, Stored)> =
            batch.beside.iter().map(|sidelong| (instructs(sidelong), sidelong.draft.unplaced())).collect();
        let committed = self.store.commit(batch).await?;
        received.added = committed.added;
        let fresh = if beside.is_empty() { committed.added } else { 0 };
        self.recent.grew(received.head, &committed.path, fresh);
        for (stored, at) in path.into_iter().zip(committed.path) {
            let parent = received.head.map(|head| head.id);
            received.fresh.push(Arc::new(Stored { id: at.id, parent, place: Place::Path(at), ..stored }));
            received.head = Some(at);
        }
        let instructions = beside.into_iter().zip(committed.beside).filter(|((instructs, _), _)| *instructs);
        let instructions: Vec<_> = instructions.map(|((_, stored), id)| Arc::new(Stored { id, ..stored })).collect();
        if !instructions.is_empty() {
            received.preamble = Some(instructions);
        }
        Ok(())
    }

    /// Stores what the model answered, as the client will echo it.
    pub async fn reply(&self, to: &Received, answer: Answer<'_>) -> Result<Arc<Stored>> {
        let head = to.head.ok_or_else(|| Error::Invalid("there is no message to answer".into()))?;
        let arrival =
            Arrival { origin: Origin::Reply, ..Arrival::new(&to.session.tenant, None, answer.model, answer.at) };
        let node = head.node.then(answer.message.strong());
        let mut batch = Batch { records: answer.records, urgency: answer.urgency, ..Batch::new(to.session.clone()) };
        batch.after = Some(head.node_ref());
        if let Some(response) = answer.response {
            let followed = Followed { session: to.session.id, depth: head.depth.plus(1), node };
            batch.records.push(followed.record(&to.session.tenant, response, answer.at));
        }
        batch.path.push(draft(arrival, answer.at, node, answer.message));
        let mut received = Received::nothing_new(Outcome::Continue, to.session.clone(), Some(head));
        self.append(&mut received, batch).await?;
        received.fresh.pop().ok_or_else(|| Error::Damaged("a reply was stored nowhere".into()))
    }

    /// The standing instructions of a whole history, as they are stored.
    pub async fn instructions(
        &self,
        arrival: Arrival<'_>,
        session: &SessionKey,
        history: &History<'_>,
    ) -> Result<Vec<Arc<Stored>>> {
        let mut batch = Batch::new(session.clone());
        for message in (0..history.preamble).map(|index| history.message(index)) {
            let draft = draft(arrival, arrival.at, node_beside(Beside::Preamble, &message), message);
            batch.beside.push(Sidelong { why: Beside::Preamble, before: 0, draft });
        }
        let mut received = Received::nothing_new(Outcome::Replay, session.clone(), None);
        self.append(&mut received, batch).await?;
        Ok(received.preamble.unwrap_or_default())
    }

    /// Drops what is remembered of recent requests; needed after a session was erased.
    pub fn forget_recent(&self) {
        self.recent.clear();
    }

    async fn resolve(&self, tenant: &Tenant, after: After<'_>) -> Result<(SessionKey, Option<Position>)> {
        match after {
            After::Last(name) => {
                let session = SessionKey { tenant: tenant.clone(), id: SessionId::declared(tenant, name) };
                let last = self.store.read(&session, Span::Last).await?.pop();
                Ok((session, last.and_then(|last| last.position())))
            }
            After::Response(id) => {
                let unknown =
                    || Error::NotFound(format!("the response “{id}” is not in the log; send the whole history"));
                let scope = Scope::Tenant(tenant.clone());
                let record = self.store.records(&scope, Kind::Response, Keys::One(id.to_owned())).await?.pop();
                let body = record.ok_or_else(unknown)?.body;
                let followed: Followed = serde_json::from_str(body.get())
                    .map_err(|_| Error::Damaged(format!("the record of response “{id}” is unreadable")))?;
                let session = SessionKey { tenant: tenant.clone(), id: followed.session };
                let known =
                    self.store.prefix(&session, followed.depth, vec![followed.node]).await?.ok_or_else(unknown)?;
                Ok((session, Some(known.at)))
            }
        }
    }

    /// Whether these messages are the last ones before `head`, sent once more because no answer came.
    async fn was_just_sent(&self, session: &SessionKey, head: Position, messages: &[Message]) -> Result<bool> {
        let links: Vec<&Message> = messages.iter().filter(|message| is_link(message)).collect();
        let Some(before) = (head.depth.0 as usize + 1).checked_sub(links.len()).filter(|_| !links.is_empty()) else {
            return Ok(false);
        };
        let from = Depth(0).plus(before.saturating_sub(1));
        let end = self.store.read(session, Span::path(head, from)).await?;
        let start = match before {
            0 => Some(NodeId::root(session.id)),
            _ => end.first().and_then(Stored::position).map(|position| position.node),
        };
        Ok(start.is_some_and(|start| links.iter().fold(start, |node, link| node.then(link.strong())) == head.node))
    }

    fn remember(&self, aligned: &Aligned, tenant: &Tenant, seen: Seen) {
        let Seen { marks, count, declared, at } = seen;
        let stretch = Stretch {
            count,
            bytes: marks.bytes,
            hash: marks.all,
            declared,
            claimed: aligned.claimed,
            session: aligned.session,
            at,
            chain: aligned.chain,
            links: aligned.links,
            preamble: aligned.preamble_hash,
            as_sent: aligned.as_sent,
        };
        self.recent.keep(Door(tenant.clone(), marks.first), aligned.continued, stretch);
    }
}

/// A history that was just resolved.
#[derive(Clone, Copy)]
struct Seen {
    marks: Marks,
    count: usize,
    declared: Option<Hash128>,
    at: Position,
}

/// What a request that holds only new messages follows.
#[derive(Clone, Copy, Debug)]
pub enum After<'a> {
    /// The last message of a session, by its declared name.
    Last(&'a str),
    /// A response, by its provider's id.
    Response(&'a str),
}

/// What a model answered.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The message, as the client will echo it.
    pub message: Message,
    /// The model.
    pub model: &'a str,
    /// The provider's id of the response, by which a later request may refer to it.
    pub response: Option<&'a str>,
    /// What is to be recorded together with it.
    pub records: Vec<Put>,
    /// Whether somebody waits until it is kept. A reply that is lost comes back with the client's next request.
    pub urgency: Urgency,
    /// When.
    pub at: At,
}

/// Where a response is in the log.
#[derive(serde::Serialize, serde::Deserialize)]
struct Followed {
    session: SessionId,
    depth: Depth,
    node: NodeId,
}

impl Followed {
    fn record(&self, tenant: &Tenant, response: &str, at: At) -> Put {
        let body = serde_json::value::to_raw_value(self).expect("plain fields are valid JSON");
        let scope = Scope::Tenant(tenant.clone());
        Put { scope, kind: Kind::Response, key: response.to_owned(), at, body, expect: Expect::Any }
    }
}

/// Whether a message is a link of the path, not an instruction or reasoning beside it.
fn is_link(message: &Message) -> bool {
    !message.is_aside() && !message.role().instructs()
}

fn draft(arrival: Arrival<'_>, at: At, node: NodeId, message: Message) -> Draft {
    let measure = Measure::of(&message, arrival.model);
    Draft { message, node, at, origin: arrival.origin, measure }
}

/// Everything an aligned request adds to the log.
fn batch_of(arrival: Arrival<'_>, session: &SessionKey, aligned: &Aligned) -> Batch {
    let root = NodeId::root(session.id);
    let mut end = aligned.base.map_or(root, |base| base.node);
    let mut batch = Batch::new(session.clone());
    batch.declared = arrival.declared.map(str::to_owned);
    batch.title = arrival.title.map(str::to_owned);
    batch.after = aligned.base.map(|base| base.node_ref());
    for link in &aligned.fresh {
        end = end.then(link.message.strong());
        batch.path.push(draft(arrival, arrival.time_of(link.index), end, link.message.clone()));
    }
    let mut beside = |why, before, at, message: &Message| {
        let draft = draft(arrival, at, node_beside(why, message), message.clone());
        batch.beside.push(Sidelong { why, before, draft });
    };
    aligned.preamble.iter().for_each(|message| beside(Beside::Preamble, 0, arrival.at, message));
    for aside in &aligned.asides {
        let before = aligned.fresh.partition_point(|link| link.index < aside.index);
        beside(Beside::Aside, before, arrival.time_of(aside.index), &aside.message);
    }
    for (message, index, over) in &aligned.replaced {
        let why = over.map_or(Beside::Insert, Beside::Overlay);
        beside(why, aligned.fresh.len(), arrival.time_of(*index), message);
    }
    if aligned.chain != end && end != root {
        let depth = aligned.base.map_or(Depth(0), |base| base.depth.plus(1)).plus(aligned.fresh.len());
        let from = NodeRef { depth: Depth(0).plus(aligned.links - 1), node: aligned.chain };
        let to = NodeRef { depth: Depth(depth.0 - 1), node: end };
        batch.aliases.push(Alias { session: aligned.claimed, from, to_session: session.id, to });
    }
    batch
}
