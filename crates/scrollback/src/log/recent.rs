//! What was resolved lately, so that a resent history costs one hash of its bytes.
//!
//! A client that sends its whole history every turn sends the same bytes plus a tail. For each conversation the last few
//! stretches are kept: how many messages, their hash, and the place in the log they led to. A miss only costs time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::history::Reading;
use crate::ids::{Hash128, NodeId, SessionId, Tenant};
use crate::store::Position;

/// How many conversations are kept before the older half is dropped.
const DOORS: usize = 4096;
/// How many stretches are kept for one beginning: branches, and agents that begin alike.
const STRETCHES: usize = 8;

/// How a conversation is recognised before anything is read: whose it is, what it is called, and its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Door(Hash128);

impl Door {
    pub(super) fn new(tenant: &Tenant, declared: Option<&str>, first: &str) -> Self {
        let declared = declared.map_or_else(Vec::new, |name| [b"+", name.as_bytes()].concat());
        Self(Hash128::of("door", &[tenant.as_str().as_bytes(), &declared, first.as_bytes()]))
    }
}

/// A stretch of messages that was resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Messages from the first one of the conversation on.
    pub(super) count: usize,
    pub(super) hash: Hash128,
    /// The session it computes to by itself.
    pub(super) claimed: SessionId,
    /// Where it led.
    pub(super) session: SessionId,
    pub(super) at: Position,
    /// The chain of the client's own messages, which differs from `at` once it has rewritten something.
    pub(super) chain: NodeId,
    /// How many messages of the stretch are links of that chain.
    pub(super) links: usize,
    /// The instructions that were stored with it.
    pub(super) preamble: Hash128,
}

#[derive(Debug, Default)]
pub(super) struct Recent {
    doors: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Door, Vec<Stretch>>,
    old: HashMap<Door, Vec<Stretch>>,
}

impl Recent {
    /// The longest known stretch that a history begins with.
    pub(super) fn find(&self, door: Door, reading: &mut Reading<'_>) -> Option<Stretch> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stretches) = doors.old.remove(&door) {
            doors.young.insert(door, stretches);
        }
        let mut stretches = doors.young.get(&door)?.clone();
        drop(doors);
        stretches.sort_by_key(|stretch| stretch.count);
        stretches.retain(|stretch| stretch.count <= reading.len());
        stretches.into_iter().filter(|known| reading.hash(known.count) == known.hash).last()
    }

    /// Remembers a stretch; a longer one replaces those it continues.
    pub(super) fn keep(&self, door: Door, continued: Option<Hash128>, stretch: Stretch) {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if doors.young.len() >= DOORS / 2 && !doors.young.contains_key(&door) {
            doors.old = std::mem::take(&mut doors.young);
        }
        let stretches = doors.young.entry(door).or_default();
        stretches.retain(|known| known.hash != stretch.hash && Some(known.hash) != continued);
        if stretches.len() == STRETCHES {
            stretches.remove(0);
        }
        stretches.push(stretch);
    }

    /// Forgets everything; what follows is resolved from the store.
    pub(super) fn clear(&self) {
        *self.doors.lock().unwrap_or_else(PoisonError::into_inner) = Generations::default();
    }
}
