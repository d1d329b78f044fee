//! The log: every message that was ever received, as a tree addressed by content.
//!
//! [`Log::receive`] takes a request's whole history, finds the place it continues (`align`) and stores what is new,
//! before anything is sent anywhere; [`Log::reply`] adds what the model answered. Histories sent again add nothing,
//! edited ones branch, and what a conversation may see is its own path and nothing else.

mod after;
mod again;
mod align;
mod declared;
mod foresee;
mod history;
mod mend;
mod outcome;
mod recent;
mod reply;
mod restore;
mod rewrite;
mod sighting;
mod strand;
mod summed;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use after::After;
pub use declared::{Declared, SESSION_HEADER};
pub use history::{History, array_of};
pub use outcome::Outcome;
pub use reply::Answer;
pub(crate) use restore::Returning;
pub(crate) use summed::Sums;

use align::{Aligned, Asker};
use history::{Marks, Unmarked};
use recent::{Door, Recent, Stretch};
use strand::Strand;

use crate::error::{Error, Result};
use crate::ids::{At, Depth, Hash128, MessageId, NodeId, SessionKey, Tenant};
use crate::store::{Alias, Batch, Beside, Draft, NodeRef, Origin, Place, Position, Sidelong, Stint, Store, Stored};

/// A request, as far as the log is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// The session it declares.
    pub declared: Option<&'a str>,
    /// Whether several conversations may go by that name.
    pub shared: bool,
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
        Self { tenant, declared, shared: false, title: None, model, origin: Origin::Client, at, times: None }
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
    /// Reasoning that led to one of those, and to which.
    pub asides: Vec<(MessageId, Arc<Stored>)>,
    /// Its standing instructions; `None` if they are those of the request it continues.
    pub preamble: Option<Vec<Arc<Stored>>>,
    /// How many messages were stored.
    pub added: usize,
    /// How many known messages were damaged and are what they were again.
    pub mended: usize,
    /// Which of its path are damaged still, if it was read from a file.
    pub damaged: Vec<MessageId>,
    /// Whether anybody else changed the session since something of it was in mind.
    pub stint: Stint,
    /// When the session came into being; see [`Committed`](crate::store::Committed).
    pub arrived: i64,
    /// Where on the path its client's own summary stands, if the history begins anew with one.
    pub summed: Option<Depth>,
    /// Whether the history is the path, but for how replies are worded in it, so that it may be sent on as it came.
    pub as_sent: bool,
}

impl Received {
    fn nothing_new(outcome: Outcome, session: SessionKey, base: Option<Position>) -> Self {
        Self {
            outcome,
            session,
            base,
            head: base,
            fresh: Vec::new(),
            asides: Vec::new(),
            preamble: None,
            added: 0,
            mended: 0,
            damaged: Vec::new(),
            stint: Stint::default(),
            arrived: 0,
            summed: None,
            as_sent: false,
        }
    }

    /// Notes reasoning that stands before a fresh message, if it was stored next to it and that message follows
    /// another.
    fn reason(&mut self, before: usize, aside: Stored) {
        let Some(owner) = self.fresh.get(before).filter(|owner| owner.id > aside.id) else { return };
        let (owner, parent) = (owner.id, owner.parent);
        if parent.is_some() && self.asides.iter().all(|(_, known)| known.id != aside.id) {
            self.asides.push((owner, Arc::new(Stored { parent, ..aside })));
        }
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

    /// Splits the JSON array that a text begins with into messages, and tells where it ends. What was seen lately of
    /// the same conversation is passed over, so that a long history costs little more than its new tail.
    pub fn open<'t>(&self, tenant: &Tenant, text: &'t str) -> Result<(History<'t>, usize)> {
        History::open(text, self.recent.seed, |first| self.recent.behind(&Door(tenant.clone(), first)))
    }

    /// Takes a whole history and stores what is new in it. When this returns, nothing of it can be lost.
    pub fn receive<'a>(&'a self, arrival: Arrival<'a>, history: &'a History<'a>) -> BoxFuture<'a, Result<Received>> {
        Box::pin(async move {
            let received = self.receive_seen(arrival, history).await;
            // Another process has erased what was seen here lately; if it was begun again, its places are others.
            let is_gone = history.known.is_some_and(|seen| match &received {
                Ok(received) => seen.session == received.session.id && seen.arrived != received.arrived,
                Err(error) => matches!(error, Error::NotFound(_)),
            });
            if !is_gone {
                return received;
            }
            self.recent.clear();
            self.receive_seen(arrival, &history.whole()?).await
        })
    }

    async fn receive_seen(&self, arrival: Arrival<'_>, history: &History<'_>) -> Result<Received> {
        let asker = Asker::of(&arrival);
        let declared = asker.declared_hash();
        let aligned = align::align(&*self.store, &self.recent, asker, history).await?;
        let session = SessionKey { tenant: arrival.tenant.clone(), id: aligned.session };
        let batch = batch_of(arrival, &session, &aligned);
        let mut received = Received::nothing_new(aligned.outcome, session, aligned.base);
        received.preamble = (!aligned.preamble_known).then(Vec::new);
        self.append(&mut received, batch).await?;
        received.summed = aligned.summed.as_ref().map(|summed| summed.begins);
        received.as_sent = aligned.as_sent;
        if let (Some(marks), Some(at)) = (history.marks, received.head) {
            self.remember(
                &aligned,
                &received,
                Seen { marks, count: history.len() - history.preamble, preamble: history.preamble, declared, at },
            );
        }
        Ok(received)
    }

    /// Commits a batch and tells what became of its messages. One that holds nothing tells whether what is in mind
    /// still holds.
    async fn append(&self, received: &mut Received, batch: Batch) -> Result<()> {
        let path: Vec<Stored> = batch.path.iter().map(Draft::unplaced).collect();
        let unplaced = |sidelong: &Sidelong| (sidelong.why, sidelong.before, sidelong.draft.unplaced());
        let beside: Vec<(Beside, usize, Stored)> = batch.beside.iter().map(unplaced).collect();
        let committed = self.store.commit(batch).await?;
        (received.added, received.stint, received.arrived) = (committed.added, committed.stint, committed.arrived);
        received.mended += committed.mended;
        // Where others write too, what follows a message is known to the store alone.
        if committed.stint == Stint::Alone {
            let fresh = if beside.is_empty() { committed.added } else { 0 };
            self.recent.grew(received.head, &committed.path, fresh);
        }
        for (stored, at) in path.into_iter().zip(committed.path) {
            let parent = received.head.map(|head| head.id);
            received.fresh.push(Arc::new(Stored { id: at.id, parent, place: Place::Path(at), ..stored }));
            received.head = Some(at);
        }
        let mut instructions = Vec::new();
        for ((why, before, stored), id) in beside.into_iter().zip(committed.beside) {
            match why {
                Beside::Preamble => instructions.push(Arc::new(Stored { id, ..stored })),
                Beside::Aside => received.reason(before, Stored { id, place: Place::Beside(why), ..stored }),
                Beside::Overlay(_) | Beside::Insert => {}
            }
        }
        if !instructions.is_empty() {
            received.preamble = Some(instructions);
        }
        Ok(())
    }

    /// The standing instructions of a whole history, as they are stored.
    pub fn instructions<'a>(
        &'a self,
        arrival: Arrival<'a>,
        session: &'a SessionKey,
        history: &'a History<'a>,
    ) -> BoxFuture<'a, Result<Vec<Arc<Stored>>>> {
        Box::pin(async move {
            if history.preamble == 0 {
                return Ok(Vec::new());
            }
            let mut strand = Strand::new(arrival, Batch::new(session.clone()), None);
            for message in (0..history.preamble).map(|index| history.message(index)) {
                strand.beside(Beside::Preamble, 0, arrival.at, message);
            }
            let mut received = Received::nothing_new(Outcome::Replay, session.clone(), None);
            self.append(&mut received, strand.end()).await?;
            Ok(received.preamble.unwrap_or_default())
        })
    }

    /// Whether what is in mind of a session still holds, and a place in it is there.
    pub(crate) async fn stint(&self, session: &SessionKey, at: NodeRef) -> Result<Stint> {
        let batch = Batch { after: Some(at), ..Batch::new(session.clone()) };
        match self.store.commit(batch).await {
            Ok(committed) => Ok(committed.stint),
            Err(Error::NotFound(_)) => Ok(Stint::Unknown),
            Err(error) => Err(error),
        }
    }

    /// When a session came into being; 0 if nobody else could have erased it, and if nobody knows.
    pub(crate) async fn arrived(&self, session: &SessionKey) -> i64 {
        let told = self.store.commit(Batch::new(session.clone())).await;
        told.map_or(0, |committed| committed.arrived)
    }

    /// Drops what is remembered of recent requests; needed after a session was erased.
    pub fn forget_recent(&self) {
        self.recent.clear();
    }

    fn remember(&self, aligned: &Aligned, received: &Received, seen: Seen) {
        let Seen { marks, count, declared, at, .. } = seen;
        let whole = Stretch {
            count,
            bytes: marks.bytes,
            hash: marks.all,
            declared,
            claimed: aligned.claimed,
            session: aligned.session,
            arrived: received.arrived,
            at,
            chain: aligned.chain,
            links: aligned.links,
            preamble: aligned.preamble_hash,
            as_sent: aligned.as_sent,
        };
        let before = |unmarked: Unmarked| {
            let fresh = aligned.fresh.partition_point(|link| link.index < unmarked.count + seen.preamble);
            let at = fresh.checked_sub(1).map_or(aligned.base, |last| received.fresh.get(last)?.position())?;
            // A mark among what was known before is none that moves with the newest message.
            let known =
                aligned.fresh.get(aligned.again).is_some_and(|link| link.index <= unmarked.count + seen.preamble);
            let (chain, links) = (*aligned.chains.get(fresh)?, aligned.links - aligned.fresh.len() + fresh);
            let Unmarked { count, bytes, hash } = unmarked;
            known.then_some(Stretch { count, bytes, hash, at, chain, links, ..whole })
        };
        let stretch = marks.unmarked.and_then(before).unwrap_or(whole);
        self.recent.keep(Door(received.session.tenant.clone(), marks.first), aligned.continued, stretch);
    }
}

/// A history that was just resolved.
#[derive(Clone, Copy)]
struct Seen {
    marks: Marks,
    count: usize,
    preamble: usize,
    declared: Option<Hash128>,
    at: Position,
}

impl Arrival<'_> {
    /// What it says of its session.
    fn batch(&self, session: &SessionKey) -> Batch {
        let (declared, title) = (self.declared.map(str::to_owned), self.title.map(str::to_owned));
        Batch { declared, title, ..Batch::new(session.clone()) }
    }
}

/// Everything an aligned request adds to the log.
fn batch_of(arrival: Arrival<'_>, session: &SessionKey, aligned: &Aligned) -> Batch {
    let mut strand = Strand::new(arrival, arrival.batch(session), aligned.base);
    for link in &aligned.fresh {
        strand.link(arrival.time_of(link.index), link.message.clone());
    }
    for message in &aligned.preamble {
        strand.beside(Beside::Preamble, 0, arrival.at, message.clone());
    }
    for aside in &aligned.asides {
        let before = aligned.fresh.partition_point(|link| link.index < aside.index);
        strand.aside(before, arrival.time_of(aside.index), aside.message.clone());
    }
    for (message, index, over) in &aligned.replaced {
        let why = over.map_or(Beside::Insert, Beside::Overlay);
        strand.beside(why, aligned.fresh.len(), arrival.time_of(*index), message.clone());
    }
    let end = strand.node;
    let mut batch = strand.end();
    batch.records.extend(summed::noted(session, aligned, arrival.at));
    if aligned.chain != end && end != NodeId::root(session.id) {
        let depth = aligned.base.map_or(Depth(0), |base| base.depth.plus(1)).plus(aligned.fresh.len());
        let from = NodeRef { depth: Depth(0).plus(aligned.links - 1), node: aligned.chain };
        let to = NodeRef { depth: Depth(depth.0 - 1), node: end };
        batch.aliases.push(Alias { session: aligned.claimed, from, to_session: session.id, to });
    }
    batch
}
