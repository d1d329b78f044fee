//! What is new in a request? Finds the place in the log that a history continues.
//!
//! Four questions, the cheap ones first: was it seen lately (`recent`), how much of its chain of nodes is known, is its
//! next message the echo of a reply, and has the client rewritten it (`rewrite`)? A declared id only says where to
//! look.

use std::collections::HashSet;

use super::Arrival;
use super::history::History;
use super::outcome::Outcome;
use super::recent::{Recent, Stretch, Tip};
use super::rewrite::{Candidate, Change, Features, Rewrite, recognise};
use super::sighting::{Lane, Sighting, ranked, said_in_one};
use super::summed::{Summed, Told};
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, Hash128, MessageId, NodeId, SessionId, SessionKey, Tenant};
use crate::message::Message;
use crate::search::{Need, Probe, Reach, Term, anchors};
use crate::store::{Origin, Place, Position, Span, Store, Stored};

/// How many messages are looked up by their anchors when a history has to be recognised: from its end, and its
/// beginning.
const ANCHORED: usize = 16;
/// How many messages of the log are considered then.
const CANDIDATES: usize = 256;
/// A path is read this far before the first message found on it, for what the client shortened beyond recognition.
const MARGIN: u32 = 64;

/// A message of the request and its number in it.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) index: usize,
    pub(super) message: Message,
}

/// The place a request continues, and what of it is new.
pub(super) struct Aligned {
    pub(super) outcome: Outcome,
    pub(super) session: SessionId,
    /// The last message that is known; `None` if none is.
    pub(super) base: Option<Position>,
    /// Links beyond the base: they are to be appended.
    pub(super) fresh: Vec<Link>,
    /// Messages the client put among older ones, their numbers, and what they stand in for.
    pub(super) replaced: Vec<(Message, usize, Option<MessageId>)>,
    /// The summary that the history begins anew with, if it does.
    pub(super) summed: Option<Summed>,
    /// How many of the fresh links stood before that summary.
    pub(super) again: usize,
    /// Texts that tell what a model said, and no word of the person's.
    pub(super) told: Vec<Told>,
    /// Instructions at the head, if they are not known to be stored.
    pub(super) preamble: Vec<Message>,
    pub(super) preamble_known: bool,
    pub(super) as_sent: bool,
    /// Reasoning beside the path, beyond the base: what led to known messages was stored with them.
    pub(super) asides: Vec<Link>,
    /// The session the request computes to by itself, the node of its own chain, and the number of links in it.
    pub(super) claimed: SessionId,
    pub(super) chain: NodeId,
    /// That chain from the base on: at the base, and after each fresh link.
    pub(super) chains: Vec<NodeId>,
    pub(super) links: usize,
    /// For remembering it: the stretch it continues.
    pub(super) continued: Option<u128>,
    pub(super) preamble_hash: Hash128,
}

/// Who asks, and under which name.
pub(super) struct Asker<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) declared: Option<&'a str>,
    /// Whether several conversations may go by that name.
    shared: bool,
    /// When each message was said, if the history is read from a file: then nobody has rewritten it.
    pub(super) file: Option<&'a [At]>,
}

impl<'a> Asker<'a> {
    pub(super) fn of(arrival: &Arrival<'a>) -> Self {
        let file = (arrival.origin == Origin::Import).then(|| arrival.times.unwrap_or_default());
        Self { tenant: arrival.tenant, declared: arrival.declared, shared: arrival.shared, file }
    }

    pub(super) fn declared_hash(&self) -> Option<Hash128> {
        self.declared.map(|name| Hash128::of("declared", &[name.as_bytes()]))
    }
}

/// The request, read as far as necessary.
struct Opened {
    preamble: Vec<Message>,
    preamble_hash: Hash128,
    preamble_known: bool,
    stretch: Option<Stretch>,
    links: Vec<Link>,
    asides: Vec<Link>,
}

fn open(asker: &Asker<'_>, history: &History<'_>) -> Result<Opened> {
    let declared = asker.declared_hash();
    let rejected = history.known.is_some_and(|stretch| stretch.declared != declared);
    let whole;
    let history = if rejected {
        whole = history.whole()?;
        &whole
    } else {
        history
    };
    let stretch = history.known;
    let raws: Vec<&[u8]> = history.instructions().collect();
    let preamble_hash = Hash128::of("preamble", &raws);
    let preamble_known = stretch.is_some_and(|stretch| stretch.preamble == preamble_hash);
    let read = if preamble_known { 0 } else { history.preamble };
    let preamble = (0..read).map(|index| history.message(index)).collect();
    let (mut links, mut asides) = (Vec::new(), Vec::new());
    for index in history.preamble + stretch.map_or(0, |stretch| stretch.count)..history.len() {
        let link = Link { index, message: history.message(index) };
        if link.message.is_aside() {
            asides.push(link);
        } else {
            links.push(link);
        }
    }
    Ok(Opened { preamble, preamble_hash, preamble_known, stretch, links, asides })
}

/// Aligns a whole history.
pub(super) async fn align(
    store: &dyn Store,
    recent: &Recent,
    asker: Asker<'_>,
    history: &History<'_>,
) -> Result<Aligned> {
    let opened = open(&asker, history)?;
    let claimed = claimed(&asker, &opened)?;
    let stretch = opened.stretch;
    let start = stretch.map_or_else(|| NodeId::root(claimed), |stretch| stretch.chain);
    let mut chains = vec![start];
    chains.extend(opened.links.iter().scan(start, |node, link| {
        *node = node.then(link.message.strong());
        Some(*node)
    }));
    let chain = chains[opened.links.len()];
    let known_before = stretch.map_or(0, |stretch| stretch.links);
    let mut place = Finding {
        store,
        recent,
        tenant: asker.tenant,
        declared: asker.declared.is_some(),
        shared: asker.shared,
        file: asker.file,
        session: stretch.map_or(claimed, |stretch| stretch.session),
        base: stretch.map(|stretch| stretch.at),
        rest: opened.links,
        taken: 0,
        reached: 0,
        replaced: Vec::new(),
        summed: None,
        again: 0,
        told: Vec::new(),
    };
    let outcome = place.find().await?;
    let as_sent = place.as_sent(outcome, stretch, chain);
    Ok(Aligned {
        outcome,
        as_sent,
        session: place.session,
        base: place.base,
        links: known_before + place.taken + place.rest.len(),
        fresh: place.rest,
        replaced: place.replaced,
        summed: place.summed,
        again: place.again,
        told: place.told,
        preamble: opened.preamble,
        preamble_known: opened.preamble_known,
        asides: opened.asides.into_iter().filter(|aside| aside.index >= place.reached).collect(),
        claimed,
        chain,
        chains: chains.split_off(place.taken),
        continued: stretch.map(|stretch| stretch.hash),
        preamble_hash: opened.preamble_hash,
    })
}

/// The session a request computes to by itself.
fn claimed(asker: &Asker<'_>, opened: &Opened) -> Result<SessionId> {
    if let Some(name) = asker.declared {
        return Ok(SessionId::declared(asker.tenant, name));
    }
    if let Some(stretch) = opened.stretch {
        return Ok(stretch.claimed);
    }
    let first = opened.links.first().map(|link| &link.message).or(opened.preamble.first());
    let first = first.or(opened.asides.first().map(|link| &link.message));
    let first = first.ok_or_else(|| Error::Invalid("the request has no messages".into()))?;
    Ok(SessionId::opening(asker.tenant, first.strong()))
}

/// The search for a place, step by step: `taken` links are accounted for by `base`, `rest` is left.
pub(super) struct Finding<'a> {
    pub(super) store: &'a dyn Store,
    recent: &'a Recent,
    pub(super) tenant: &'a Tenant,
    pub(super) declared: bool,
    /// Whether several conversations may go by the name it declares.
    pub(super) shared: bool,
    /// When each message was said, if the history is read from a file.
    pub(super) file: Option<&'a [At]>,
    pub(super) session: SessionId,
    pub(super) base: Option<Position>,
    pub(super) rest: Vec<Link>,
    taken: usize,
    /// The number in the request of the first message that is not accounted for.
    reached: usize,
    pub(super) replaced: Vec<(Message, usize, Option<MessageId>)>,
    summed: Option<Summed>,
    /// How many links of the rest stood before that summary.
    again: usize,
    pub(super) told: Vec<Told>,
}

impl Finding<'_> {
    async fn find(&mut self) -> Result<Outcome> {
        let mut outcome = None;
        if self.follow_tips() {
            return Ok(Outcome::Continue);
        }
        loop {
            self.follow_chain().await?;
            if self.rest.is_empty() {
                return Ok(outcome.unwrap_or(Outcome::Replay));
            }
            let children = match (self.base, self.file) {
                (None, None) => Vec::new(),
                _ => self.store.read(&self.key(), Span::After(self.base)).await?,
            };
            if self.take_echo(&children) || self.take_again(&children) {
                continue;
            }
            let possible = self.file.is_none() && outcome.is_none() && (self.base.is_none() || !children.is_empty());
            let rewritten = if possible { self.rewritten().await? } else { None };
            let rewritten = if possible && rewritten.is_none() { self.summed().await? } else { rewritten };
            match rewritten {
                Some((session, rewrite)) => outcome = Some(self.accept(session, &rewrite)),
                None if self.base.is_none() => return Ok(Outcome::New),
                None if children.is_empty() => return Ok(outcome.unwrap_or(Outcome::Continue)),
                None => return Ok(outcome.unwrap_or(Outcome::Branch)),
            }
        }
    }

    /// Whether the history may be sent on as it came. Once something was left out or rewritten, it never may again.
    fn as_sent(&self, outcome: Outcome, stretch: Option<Stretch>, chain: NodeId) -> bool {
        let start = self.base.map_or_else(|| NodeId::root(self.session), |base| base.node);
        let end = || self.rest.iter().fold(start, |node, link| node.then(link.message.strong()));
        match outcome {
            Outcome::Edited | Outcome::Truncated | Outcome::Compacted => false,
            Outcome::Replay | Outcome::Continue | Outcome::Branch | Outcome::New => {
                stretch.map_or_else(|| chain == end(), |stretch| stretch.as_sent)
            }
        }
    }

    pub(super) fn key(&self) -> SessionKey {
        SessionKey { tenant: self.tenant.clone(), id: self.session }
    }

    pub(super) fn take(&mut self, count: usize, base: Position) {
        let last = self.rest.drain(..count).next_back();
        self.reached = last.map_or(self.reached, |link| self.reached.max(link.index + 1));
        self.taken += count;
        self.again = self.again.saturating_sub(count);
        self.base = Some(base);
    }

    /// Follows what was written lately, without asking the store. True if the rest begins after a message that nothing
    /// follows, so that all of it is new.
    fn follow_tips(&mut self) -> bool {
        while let (Some(base), Some(link)) = (self.base, self.rest.first()) {
            match self.recent.tip(base.node) {
                Tip::Leaf => return true,
                Tip::Only(next) if next.node == base.node.then(link.message.strong()) => self.take(1, next),
                Tip::Only(_) | Tip::Many => break,
            }
        }
        false
    }

    /// Goes as far as nodes are known. After an alias the chain goes on from the true node, so it is computed anew.
    async fn follow_chain(&mut self) -> Result<()> {
        while !self.rest.is_empty() {
            let mut node = self.base.map_or_else(|| NodeId::root(self.session), |base| base.node);
            let chain = self.rest.iter().map(|link| {
                node = node.then(link.message.strong());
                node
            });
            let (chain, from) = (chain.collect(), self.base.map_or(Depth(0), |base| base.depth.plus(1)));
            let Some(known) = self.store.prefix(&self.key(), from, chain).await? else { return Ok(()) };
            self.session = known.session;
            self.take(known.count, known.at);
            if !known.aliased {
                return Ok(());
            }
        }
        Ok(())
    }

    fn accept(&mut self, session: SessionId, rewrite: &Rewrite) -> Outcome {
        self.session = session;
        for (i, over) in &rewrite.replaced {
            let over = over.filter(|_| rewrite.change != Change::Compacted);
            self.replaced.push((self.rest[*i].message.clone(), self.rest[*i].index, over));
        }
        let again: Vec<Link> = rewrite.again().map(|index| self.rest[index].clone()).collect();
        self.take(rewrite.count, rewrite.at);
        self.taken -= again.len();
        self.again = again.len();
        self.rest.splice(..0, again);
        self.summed.clone_from(&rewrite.summed);
        match rewrite.change {
            Change::Reworded => Outcome::Continue,
            Change::Edited => Outcome::Edited,
            Change::Truncated => Outcome::Truncated,
            Change::Compacted => Outcome::Compacted,
        }
    }

    /// Looks for the rest of the history on a path that it may continue.
    async fn rewritten(&self) -> Result<Option<(SessionId, Rewrite)>> {
        if !self.rest.iter().any(|link| Features::could_prove(&link.message)) {
            return Ok(None);
        }
        let theirs: Vec<Features> = self.rest.iter().map(|link| Features::of(&link.message)).collect();
        let sightings = self.sightings().await?;
        let resembling = |theirs| sightings.iter().filter(|sighting| sighting.features.resembles(theirs)).collect();
        let seen_at: Vec<Vec<&Sighting>> = theirs.iter().map(resembling).collect();
        // What is said in several conversations proves nothing of any: their paths need not be read.
        let told_by: HashSet<SessionId> = seen_at.iter().filter_map(|seen| said_in_one(seen)).collect();
        let ranked = ranked(&sightings, &theirs).into_iter().filter(|(session, _)| told_by.contains(session));
        for (session, branch) in ranked {
            let Some(lane) = self.lane(session, branch).await? else { continue };
            let telling: Vec<bool> = seen_at.iter().map(|seen| lane.alone_has(seen)).collect();
            if !telling.contains(&true) {
                continue;
            }
            let seen =
                sightings.iter().filter(|sighting| lane.holds(sighting)).map(|sighting| sighting.at.depth.0).min();
            let earliest = self.base.map_or(0, |base| base.depth.0 + 1);
            let from = seen.unwrap_or(0).saturating_sub(MARGIN).max(earliest);
            let key = SessionKey { tenant: self.tenant.clone(), id: session };
            let path = self.store.read(&key, Span::path(lane.head, Depth(from))).await?;
            let skipped = (from - earliest) as usize;
            let (based, named) = (self.base.is_some(), self.declared);
            let candidate = Candidate { path: &path, skipped, based, named, telling: &telling };
            if let Some(rewrite) = recognise(&theirs, &candidate) {
                return Ok(Some((session, rewrite)));
            }
        }
        Ok(None)
    }

    /// The whole path of a branch, if the history could continue it.
    async fn lane(&self, session: SessionId, branch: BranchId) -> Result<Option<Lane>> {
        let key = SessionKey { tenant: self.tenant.clone(), id: session };
        let Some(head) = self.store.end_of(&key, branch).await? else { return Ok(None) };
        let lineage = self.store.lineage(&key, head).await?;
        let continues = |base: Position| session == self.session && lineage.holds(&Place::Path(base));
        let possible = self.base.is_none_or(continues);
        Ok(possible.then_some(Lane { session, head, lineage }))
    }

    /// Where in the log messages of the rest are found, by their words or calls.
    async fn sightings(&self) -> Result<Vec<Sighting>> {
        let (head, tail) = (self.rest.iter().take(ANCHORED), self.rest.iter().rev().take(ANCHORED));
        let terms: HashSet<String> = head.chain(tail).flat_map(|link| anchors(&link.message)).collect();
        let reach = if self.declared || self.base.is_some() { Reach::Session(self.session) } else { Reach::Undeclared };
        let mut probe = Probe::new(terms.into_iter().map(Term::exact).collect(), Need::Any, reach, CANDIDATES);
        let mut found = self.store.matching(self.tenant, probe.clone()).await?;
        if found.messages.len() == CANDIDATES {
            probe.keep_rare(&found.frequencies, CANDIDATES);
            found = self.store.matching(self.tenant, probe).await?;
        }
        let sighting = |(session, stored): &(SessionId, Stored)| {
            Some(Sighting { session: *session, at: stored.position()?, features: Features::of(&stored.message()) })
        };
        Ok(found.messages.iter().filter_map(sighting).collect())
    }
}
