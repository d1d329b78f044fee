//! What was resolved lately, so that a resent history costs one fast hash of its bytes.
//!
//! A client that sends its whole history every turn sends the same bytes plus a tail. For each conversation the last
//! few stretches are kept: how many messages, their hash, and the place in the log they led to. A miss only costs time.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::ids::{Hash128, NodeId, SessionId, Tenant};
use crate::store::Position;

/// How many conversations are kept before the older half is dropped.
const DOORS: usize = 4096;
/// How many stretches are kept for one beginning: branches, and agents that begin alike.
const STRETCHES: usize = 8;

/// How a conversation is recognised before anything is read: whose it is, and the hash of its first message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Door(pub(super) Tenant, pub(super) u128);

/// A stretch of messages that was resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Messages from the first one of the conversation on.
    pub(super) count: usize,
    /// How many bytes they take, and their hash.
    pub(super) bytes: usize,
    pub(super) hash: u128,
    /// What the session was declared as.
    pub(super) declared: Option<Hash128>,
    /// The session it computes to by itself.
    pub(super) claimed: SessionId,
    /// Where it led.
    pub(super) session: SessionId,
    /// When that session came into being.
    pub(super) arrived: i64,
    pub(super) at: Position,
    /// The chain of the client's own messages, which differs from `at` once it has rewritten something.
    pub(super) chain: NodeId,
    /// How many messages of the stretch are links of that chain.
    pub(super) links: usize,
    /// The instructions that were stored with it.
    pub(super) preamble: Hash128,
    /// Whether its client has left nothing out and changed nothing but how replies are worded.
    pub(super) as_sent: bool,
}

#[cfg(test)]
impl Default for Stretch {
    fn default() -> Self {
        let (id, node) = (SessionId(Hash128::default()), NodeId(Hash128::default()));
        let (branch, depth) = (crate::ids::BranchId(0), crate::ids::Depth(0));
        let at = Position { id: crate::ids::MessageId(0), branch, depth, node };
        Self {
            count: 0,
            bytes: 0,
            hash: 0,
            declared: None,
            claimed: id,
            session: id,
            arrived: 0,
            at,
            chain: node,
            links: 0,
            preamble: Hash128::default(),
            as_sent: true,
        }
    }
}

#[derive(Debug)]
pub(super) struct Recent {
    doors: Mutex<Generations>,
    /// Makes hashes differ from process to process, so that nobody can aim at a collision.
    pub(super) seed: u64,
}

impl Default for Recent {
    fn default() -> Self {
        Self { doors: Mutex::default(), seed: RandomState::new().build_hasher().finish() }
    }
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Door, Vec<Stretch>>,
    old: HashMap<Door, Vec<Stretch>>,
    young_tips: HashMap<NodeId, Tip>,
    old_tips: HashMap<NodeId, Tip>,
}

/// What follows a node, as far as it is known for certain: this process wrote it, and it alone writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tip {
    /// Nothing.
    Leaf,
    /// One message.
    Only(Position),
    /// More than one, or nobody knows.
    Many,
}

impl Recent {
    /// The known stretches behind a door, the shortest first.
    pub(super) fn behind(&self, door: &Door) -> Vec<Stretch> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stretches) = doors.old.remove(door) {
            doors.young.insert(door.clone(), stretches);
        }
        let mut stretches = doors.young.get(door).cloned().unwrap_or_default();
        drop(doors);
        stretches.sort_by_key(|stretch| stretch.bytes);
        stretches
    }

    /// Remembers a stretch; a longer one replaces those it continues.
    pub(super) fn keep(&self, door: Door, continued: Option<u128>, stretch: Stretch) {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if doors.young.len() >= DOORS / 2 && !doors.young.contains_key(&door) {
            doors.old = std::mem::take(&mut doors.young);
        }
        let stretches = doors.young.entry(door).or_default();
        let same = |known: &Stretch| known.declared == stretch.declared;
        let passed = |known: &Stretch| known.hash == stretch.hash || Some(known.hash) == continued;
        stretches.retain(|known| !(same(known) && passed(known)));
        if stretches.len() == STRETCHES {
            stretches.remove(0);
        }
        stretches.push(stretch);
    }

    /// What follows a node.
    pub(super) fn tip(&self, node: NodeId) -> Tip {
        let doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        let known = doors.young_tips.get(&node).or_else(|| doors.old_tips.get(&node));
        known.copied().unwrap_or(Tip::Many)
    }

    /// A path has grown: `path` follows `base`, and its last `fresh` messages were new.
    pub(super) fn grew(&self, base: Option<Position>, path: &[Position], fresh: usize) {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if doors.young_tips.len() >= DOORS {
            doors.old_tips = std::mem::take(&mut doors.young_tips);
        }
        for (i, child) in path.iter().enumerate() {
            let Some(parent) = (if i == 0 { base } else { Some(path[i - 1]) }) else { continue };
            // A node that was there before may have other children that nobody here saw.
            let known = doors.young_tips.get(&parent.node).or_else(|| doors.old_tips.get(&parent.node)).copied();
            let was_new = i > path.len() - fresh.min(path.len());
            let tip = match known {
                Some(Tip::Leaf) => Tip::Only(*child),
                Some(Tip::Only(only)) if only.node == child.node => Tip::Only(*child),
                None if was_new => Tip::Only(*child),
                Some(Tip::Only(_) | Tip::Many) | None => Tip::Many,
            };
            doors.young_tips.insert(parent.node, tip);
        }
        if let Some(last) = path.last().filter(|_| fresh > 0) {
            doors.young_tips.entry(last.node).or_insert(Tip::Leaf);
        }
    }

    /// Forgets everything; what follows is resolved from the store.
    pub(super) fn clear(&self) {
        *self.doors.lock().unwrap_or_else(PoisonError::into_inner) = Generations::default();
    }
}
