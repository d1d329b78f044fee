//! A store in memory, for tests and for embedding where nothing needs to outlive the process.
//!
//! It keeps the same contract as the others in the plainest way, which also makes it their model in property tests.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;

use super::tombstone::tombstone;
use super::{
    Alias, Batch, Beside, Branch, CHILDREN, Committed, Draft, Forget, Keys, Kind, Known, Lineage, Mark, Matches,
    NodeRef, Place, Position, Put, Record, Scope, Session, Sidelong, Span, Store, Stored, Which, unkept,
};
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, MessageId, NodeId, SessionId, SessionKey, Tenant};
use crate::search::{Probe, Reach, index_terms};

/// Keeps everything in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

type RecordKey = (Tenant, Vec<u8>, Kind, String);

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<SessionKey, Kept>,
    /// Sessions in the order they came into being.
    order: Vec<SessionKey>,
    /// How many ever came.
    begun: i64,
    aliases: HashMap<(Tenant, SessionId, Depth, NodeId), Alias>,
    records: BTreeMap<RecordKey, Record>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Which it is, counted from the first that ever came.
    number: i64,
    declared: Option<String>,
    title: Option<String>,
    messages: Vec<Stored>,
    /// The terms each message is found by, in order.
    terms: Vec<Vec<String>>,
    nodes: HashMap<(Depth, NodeId), Position>,
    beside: HashMap<NodeId, MessageId>,
    forks: Vec<Option<Position>>,
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, put: Put) {
        let key = (put.scope.tenant().clone(), put.scope.session_bytes(), put.kind, put.key.clone());
        let version = self.records.get(&key).map_or(0, |record| record.version);
        self.records.insert(key, Record { key: put.key, version: version + 1, at: put.at, body: put.body });
    }

    fn version(&self, put: &Put) -> u64 {
        let key = (put.scope.tenant().clone(), put.scope.session_bytes(), put.kind, put.key.clone());
        self.records.get(&key).map_or(0, |record| record.version)
    }

    fn alias(&self, session: &SessionKey, from: NodeRef) -> Option<(SessionId, Position)> {
        let alias = self.aliases.get(&(session.tenant.clone(), session.id, from.depth, from.node))?;
        let target = SessionKey { tenant: session.tenant.clone(), id: alias.to_session };
        let position = self.sessions.get(&target)?.nodes.get(&(alias.to.depth, alias.to.node))?;
        Some((alias.to_session, *position))
    }
}

impl Kept {
    fn append(&mut self, parent: Option<Position>, draft: &Draft) -> Position {
        let depth = parent.map_or(Depth(0), |parent| parent.depth.plus(1));
        let id = self.next_id();
        let branch = match parent {
            Some(parent) if self.head(parent.branch) == Some(parent) => parent.branch,
            _ => {
                self.forks.push(parent);
                BranchId(u32::try_from(self.forks.len() - 1).expect("fewer than 2^32 branches"))
            }
        };
        let position = Position { id, branch, depth, node: draft.node };
        self.nodes.insert((depth, draft.node), position);
        self.push(id, parent.map(|parent| parent.id), Place::Path(position), draft);
        position
    }

    /// Whether messages after another begin a branch beside others.
    fn forks_for(&self, parent: Option<Position>, path: &[Draft]) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        match self.nodes.get(&(parent.map_or(Depth(0), |parent| parent.depth.plus(1)), first.node)) {
            Some(known) => self.forks_for(Some(*known), rest),
            None => parent.map_or(!self.forks.is_empty(), |parent| self.head(parent.branch) != Some(parent)),
        }
    }

    fn append_beside(&mut self, sidelong: &Sidelong, follows: Option<MessageId>, committed: &mut Committed) {
        let Sidelong { why, draft, .. } = sidelong;
        let follows = follows.filter(|_| *why == Beside::Aside);
        let id = self.beside.get(&draft.node).copied().unwrap_or_else(|| {
            let id = self.next_id();
            self.beside.insert(draft.node, id);
            self.push(id, follows, Place::Beside(*why), draft);
            committed.added += 1;
            id
        });
        committed.beside.push(id);
    }

    fn push(&mut self, id: MessageId, parent: Option<MessageId>, place: Place, draft: &Draft) {
        self.messages.push(draft.stored(id, parent, place));
        self.terms.push(index_terms(&draft.message));
    }

    fn next_id(&self) -> MessageId {
        MessageId(u32::try_from(self.messages.len()).expect("fewer than 2^32 messages"))
    }

    fn head(&self, branch: BranchId) -> Option<Position> {
        self.positions().rev().find(|position| position.branch == branch)
    }

    fn positions(&self) -> impl DoubleEndedIterator<Item = Position> {
        self.messages.iter().filter_map(Stored::position)
    }

    fn branches(&self) -> Vec<Branch> {
        let branch = |(no, fork): (usize, &Option<Position>)| {
            let id = BranchId(u32::try_from(no).ok()?);
            Some(Branch { id, fork: *fork, head: self.head(id)? })
        };
        self.forks.iter().enumerate().filter_map(branch).collect()
    }

    fn read(&self, span: Span) -> Vec<Stored> {
        let all = self.messages.iter();
        match span {
            Span::Ids(ids) => ids.iter().filter_map(|id| self.messages.get(id.0 as usize)).cloned().collect(),
            Span::Arrival { from, limit } => all.skip(from.0 as usize).take(limit).cloned().collect(),
            Span::Last => all.rev().find(|message| message.position().is_some()).cloned().into_iter().collect(),
            Span::End(branch) => {
                let on = |m: &&Stored| m.position().is_some_and(|position| position.branch == branch);
                all.rev().find(on).cloned().into_iter().collect()
            }
            Span::Forks(branch) => {
                let fork = |branch: BranchId| self.forks.get(branch.0 as usize).copied().flatten();
                let forks = std::iter::successors(fork(branch), |left| fork(left.branch));
                forks.filter_map(|left| self.messages.get(left.id.0 as usize)).cloned().collect()
            }
            Span::After(parent) => {
                let follows = |m: &&Stored| m.position().is_some() && m.parent == parent.map(|parent| parent.id);
                let mut newest: Vec<_> = all.rev().filter(follows).take(CHILDREN).cloned().collect();
                newest.reverse();
                newest
            }
            Span::Path { head, from, to } => self.path(head, |depth| (from..=to).contains(&depth)),
            Span::Depths { head, depths } => self.path(head, |depth| depths.contains(&depth)),
        }
    }

    /// The messages of a path at the depths wanted, oldest first.
    fn path(&self, head: Position, is_wanted: impl Fn(Depth) -> bool) -> Vec<Stored> {
        let lineage = Lineage::of(head, &self.branches());
        let depth = |stored: &Stored| stored.position().map(|position| position.depth);
        let on_it = |stored: &&Stored| lineage.holds(&stored.place) && depth(stored).is_some_and(&is_wanted);
        let mut path: Vec<_> = self.messages.iter().filter(on_it).cloned().collect();
        path.sort_by_key(depth);
        path
    }

    /// When something was said last.
    fn minute(&self) -> i64 {
        self.messages.iter().map(|message| message.at.minute()).max().unwrap_or_default()
    }

    fn listed(&self, id: SessionId) -> Session {
        Session {
            id,
            declared: self.declared.clone(),
            title: self.title.clone(),
            born: self.messages.first().map(|message| message.at).unwrap_or_default(),
            last: self.messages.last().map(|message| message.at).unwrap_or_default(),
            messages: self.next_id().0,
            branches: self.branches(),
            mark: Mark { minute: self.minute(), number: self.number },
        }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        let mut state = self.state();
        if let Some(put) = batch.records.iter().find(|put| !put.expect.allows(state.version(put))) {
            return Err(Error::Conflict(format!("the {} “{}”", put.kind.as_str(), put.key)));
        }
        if let Some(session) = batch.needs().into_iter().find(|session| !state.sessions.contains_key(session)) {
            return Err(unkept(session));
        }
        let mut committed = Committed::default();
        if batch.grows() {
            let mut parent = match batch.after {
                None => None,
                Some(after) => {
                    let kept = state.sessions.get(&batch.session);
                    let found = kept.and_then(|kept| kept.nodes.get(&(after.depth, after.node)));
                    let missing = || Error::NotFound("the message to continue from is not in the log".into());
                    Some(*found.ok_or_else(missing)?)
                }
            };
            let kept = state.sessions.get(&batch.session);
            batch.branching.allow(kept.is_some_and(|kept| kept.forks_for(parent, &batch.path)))?;
            if !state.sessions.contains_key(&batch.session) {
                state.order.push(batch.session.clone());
                state.begun += 1;
            }
            let number = state.begun;
            let kept = state.sessions.entry(batch.session.clone()).or_default();
            if kept.messages.is_empty() {
                kept.number = number;
                kept.declared = batch.declared;
            }
            kept.title = batch.title.or(kept.title.take());
            let mut beside = batch.beside.iter().peekable();
            for (i, draft) in batch.path.iter().enumerate() {
                let depth = parent.map_or(Depth(0), |parent| parent.depth.plus(1));
                let known = kept.nodes.get(&(depth, draft.node)).copied();
                let follows = parent.filter(|_| known.is_none()).map(|parent| parent.id);
                while let Some(sidelong) = beside.next_if(|sidelong| sidelong.before <= i) {
                    kept.append_beside(sidelong, follows, &mut committed);
                }
                let position = if let Some(known) = known {
                    known
                } else {
                    committed.added += 1;
                    kept.append(parent, draft)
                };
                committed.path.push(position);
                parent = Some(position);
            }
            for sidelong in beside {
                kept.append_beside(sidelong, None, &mut committed);
            }
        } else if let Some(kept) = state.sessions.get_mut(&batch.session) {
            kept.title = batch.title.or(kept.title.take());
        }
        for alias in batch.aliases {
            let tenant = batch.session.tenant.clone();
            state.aliases.insert((tenant, alias.session, alias.from.depth, alias.from.node), alias);
        }
        batch.records.into_iter().for_each(|put| state.put(put));
        Ok(committed)
    }

    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
        let state = self.state();
        for (i, node) in chain.iter().enumerate().rev() {
            let depth = from.plus(i);
            if let Some(at) = state.sessions.get(session).and_then(|kept| kept.nodes.get(&(depth, *node))) {
                return Ok(Some(Known { count: i + 1, session: session.id, at: *at, aliased: false }));
            }
            if let Some((target, at)) = state.alias(session, NodeRef { depth, node: *node }) {
                return Ok(Some(Known { count: i + 1, session: target, at, aliased: true }));
            }
        }
        Ok(None)
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        Ok(self.state().sessions.get(session).map(|kept| kept.read(span)).unwrap_or_default())
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        let state = self.state();
        let mut matches = Matches { frequencies: vec![0; probe.terms.len()], ..Matches::default() };
        let (mut found, hits_among) = (Vec::new(), probe.hits());
        for key in state.order.iter().rev().filter(|key| key.tenant == *tenant) {
            let kept = &state.sessions[key];
            let reached = match &probe.reach {
                Reach::Everywhere | Reach::Beginnings => true,
                Reach::Undeclared => kept.declared.is_none(),
                Reach::Session(id) | Reach::Path(id, _) | Reach::Upto(id, _) => *id == key.id,
            };
            let said = kept.messages.iter().zip(&kept.terms).rev();
            for (message, terms) in said.filter(|(message, _)| reached && message.id <= probe.reach.last()) {
                matches.total += 1;
                let hits = hits_among(terms);
                matches.frequencies.iter_mut().zip(&hits).for_each(|(count, hit)| *count += u32::from(*hit));
                if probe.suffices(&hits) && probe.admits(message) {
                    found.push((probe.weight(&hits), key.id, message));
                }
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        for one in probe.by_role() {
            let best = found.iter().filter(|(_, _, message)| one.admits(message)).take(one.limit);
            matches.messages.extend(best.map(|(_, session, message)| (*session, (*message).clone())));
        }
        Ok(matches)
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        let state = self.state();
        let key_of = |key: String| (scope.tenant().clone(), scope.session_bytes(), kind, key);
        let mine = |(tenant, session, of, _): &&RecordKey| {
            tenant == scope.tenant() && *session == scope.session_bytes() && *of == kind
        };
        Ok(match keys {
            Keys::One(key) => state.records.get(&key_of(key)).cloned().into_iter().collect(),
            Keys::Under(prefix) => {
                let from = state.records.range(key_of(prefix.clone())..);
                let ours = from.take_while(|(key, _)| mine(key) && key.3.starts_with(&prefix));
                ours.map(|(_, record)| record.clone()).collect()
            }
            Keys::After(after, limit) => {
                let from = (Bound::Excluded(key_of(after)), Bound::Unbounded);
                let page = state.records.range(from).take_while(|(key, _)| mine(key)).take(limit);
                page.map(|(_, record)| record.clone()).collect()
            }
            Keys::Before(before, limit) => {
                let from = (Bound::Excluded(key_of(String::new())), Bound::Unbounded);
                let all = state.records.range(from).take_while(|(key, _)| mine(key));
                let page: Vec<_> = all.take_while(|(key, _)| before.is_empty() || key.3 < before).collect();
                page.into_iter().rev().take(limit).map(|(_, record)| record.clone()).collect()
            }
        })
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        let state = self.state();
        let mine = state.order.iter().rev().filter(|key| key.tenant == *tenant);
        let mut mine: Vec<_> = mine.map(|key| (key.id, &state.sessions[key])).collect();
        mine.sort_by_key(|(_, kept)| std::cmp::Reverse(kept.minute()));
        let mine = mine.into_iter().map(|(id, kept)| kept.listed(id));
        Ok(match which {
            Which::Id(id) => mine.filter(|session| session.id == id).collect(),
            Which::Named { name, skip, limit } => {
                mine.filter(|session| session.is_named(&name)).skip(skip).take(limit).collect()
            }
            Which::Titled { text, after, limit } => {
                let before = after.unwrap_or(Mark::START);
                mine.filter(|session| session.mark < before && session.is_titled(&text)).take(limit).collect()
            }
            Which::Page { skip, limit } => mine.skip(skip).take(limit).collect(),
        })
    }
}

#[async_trait]
impl Forget for MemoryStore {
    async fn forget(&self, session: &SessionKey) -> Result<u32> {
        let mut state = self.state();
        let scope = Scope::Session(session.clone()).session_bytes();
        let is_known = state.records.keys().any(|(tenant, id, _, _)| *tenant == session.tenant && *id == scope);
        let Some(kept) = state.sessions.remove(session).or(is_known.then(Kept::default)) else {
            return Err(unkept(session));
        };
        state.order.retain(|key| key != session);
        state.aliases.retain(|(tenant, id, _, _), alias| {
            *tenant != session.tenant || *id != session.id && alias.to_session != session.id
        });
        let name = session.id.to_string();
        let about = |kind: Kind, record: &Record| {
            kind == Kind::Response && record.body.get().contains(&name)
                || kind == Kind::Job && record.key.contains(&name)
        };
        state
            .records
            .retain(|(tenant, id, kind, _), record| *tenant != session.tenant || *id != scope && !about(*kind, record));
        Ok(kept.next_id().0)
    }

    async fn forget_results(&self, session: &SessionKey, results: &[MessageId], at: At) -> Result<u32> {
        let mut state = self.state();
        let missing = || unkept(session);
        let kept = state.sessions.get_mut(session).ok_or_else(missing)?;
        let meant = |stored: &Stored| match stored.place {
            Place::Beside(Beside::Overlay(over)) => results.contains(&over),
            Place::Path(_) | Place::Beside(_) => results.contains(&stored.id),
        };
        let mut erased = 0;
        let with_terms = kept.messages.iter_mut().zip(&mut kept.terms);
        for (stored, terms) in with_terms.filter(|(stored, _)| meant(stored)) {
            if let Some(tombstone) = tombstone(stored, at) {
                erased += u32::from(results.contains(&stored.id));
                *terms = index_terms(&tombstone.message());
                *stored = tombstone;
            }
        }
        Ok(erased)
    }
}
