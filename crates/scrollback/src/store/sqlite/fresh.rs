//! The terms of messages that are not indexed yet, made once: until they are indexed, every search looks at them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::rows::{id_of, key_of, session_of};
use super::trouble::Fault;
use super::words::message_at;
use crate::ids::MessageId;
use crate::search::{Probe, index_terms};

/// How many bytes of terms are kept in mind.
const FRESH_BYTES: usize = 4 << 20;

/// Which terms of a probe each message holds that holds any, by their keys.
pub(super) type Hits = BTreeMap<i64, Vec<bool>>;

#[derive(Debug, Default)]
pub(super) struct Fresh(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The keys of messages, each with what its terms take in memory, roughly.
    messages: BTreeMap<i64, usize>,
    /// Which of them hold a term.
    holding: BTreeMap<String, BTreeSet<i64>>,
    bytes: usize,
    /// How often all of it was forgotten.
    forgotten: u64,
}

/// The terms as a search sees them that began at some moment.
pub(super) struct Seen<'f> {
    fresh: &'f Fresh,
    /// How often all was forgotten by then: what the search reads of a store before an erasure is not kept after it.
    forgotten: u64,
}

impl Known {
    /// Keeps the terms of a message in mind, as long as there is room.
    fn keep(&mut self, key: i64, terms: Vec<String>) {
        let bytes = terms.iter().map(|term| term.len() + size_of::<(String, i64)>()).sum();
        if self.bytes + bytes > FRESH_BYTES || self.messages.insert(key, bytes).is_some() {
            return;
        }
        self.bytes += bytes;
        for term in terms {
            self.holding.entry(term).or_default().insert(key);
        }
    }

    fn hits(&self, keys: &RangeInclusive<i64>, probe: &Probe) -> Hits {
        let mut hits = Hits::new();
        for (i, term) in probe.terms.iter().enumerate() {
            for key in term.among(&self.holding).flat_map(|holding| holding.range(keys.clone())) {
                hits.entry(*key).or_insert_with(|| vec![false; probe.terms.len()])[i] = true;
            }
        }
        hits
    }

    /// The first message of each session.
    fn firsts(&self) -> impl Iterator<Item = i64> {
        let after = |key: i64| self.messages.range(key..).next().map(|(key, _)| *key);
        std::iter::successors(after(i64::MIN), move |key| after(key_of(session_of(*key) + 1, MessageId(0))))
    }

    fn retain(&mut self, stays: impl Fn(i64) -> bool) {
        self.messages.retain(|key, _| stays(*key));
        self.bytes = self.messages.values().sum();
        self.holding.retain(|_, keys| {
            keys.retain(|key| stays(*key));
            !keys.is_empty()
        });
    }
}

impl Seen<'_> {
    /// The messages of a stretch that hold terms of a probe. Damaged ones hold none.
    pub(super) fn hits(
        &self,
        connection: &Connection,
        keys: RangeInclusive<i64>,
        probe: &Probe,
    ) -> Result<Hits, Fault> {
        if keys.is_empty() {
            return Ok(Hits::new());
        }
        let (mut hits, unknown) = {
            let known = self.fresh.lock();
            let unknown: Vec<i64> = keys.clone().filter(|key| !known.messages.contains_key(key)).collect();
            (known.hits(&keys, probe), unknown)
        };
        let hits_among = probe.hits();
        for key in unknown {
            let Some(message) = message_at(connection, key)? else { continue };
            let terms = index_terms(&message.message());
            let held = hits_among(&terms);
            if held.contains(&true) {
                hits.insert(key, held);
            }
            self.keep(key, terms);
        }
        Ok(hits)
    }

    /// Keeps what was read, unless something was erased since.
    fn keep(&self, key: i64, terms: Vec<String>) {
        let mut known = self.fresh.lock();
        if known.forgotten == self.forgotten {
            known.keep(key, terms);
        }
    }

    /// Forgets those of messages that are indexed by now; sessions with others are given in order.
    pub(super) fn forget_indexed(&self, unindexed: &[(i64, MessageId)]) {
        let since = |session: i64| unindexed.binary_search_by_key(&session, |(no, _)| *no).map(|at| unindexed[at].1);
        let stays = |key: i64| since(session_of(key)).is_ok_and(|since| id_of(key) >= since);
        let mut known = self.fresh.lock();
        // Of each session the first are indexed first.
        if !known.firsts().all(stays) {
            known.retain(stays);
        }
    }
}

impl Fresh {
    /// What is known, for a search that begins now.
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { fresh: self, forgotten: self.lock().forgotten }
    }

    /// Forgets all; needed after something was erased.
    pub(super) fn forget(&self) {
        let mut known = self.lock();
        *known = Known { forgotten: known.forgotten + 1, ..Known::default() };
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(fresh: &Fresh) -> (usize, usize) {
        let known = fresh.lock();
        (known.messages.len(), known.bytes)
    }

    #[test]
    fn terms_in_mind_are_bounded_in_bytes() {
        let fresh = Fresh::default();
        let terms: Vec<String> = (0..1_000).map(|i| format!("{i:01000}")).collect();
        for id in 0..100 {
            fresh.lock().keep(key_of(1, MessageId(id)), terms.clone());
            let (count, bytes) = held(&fresh);
            assert!(count > 0 && count * 1_000_000 <= bytes && bytes <= FRESH_BYTES, "{count} in {bytes}");
        }
        fresh.seen().forget_indexed(&[]);
        let endless = vec![" ".repeat(FRESH_BYTES)];
        fresh.lock().keep(key_of(1, MessageId(100)), endless);
        assert_eq!(held(&fresh), (0, 0));
    }

    #[test]
    fn terms_of_what_is_indexed_are_forgotten() {
        let fresh = Fresh::default();
        for (session, id) in [(1, 7), (2, 3), (2, 4), (3, 0)] {
            fresh.lock().keep(key_of(session, MessageId(id)), vec!["term".to_owned()]);
        }
        fresh.seen().forget_indexed(&[(2, MessageId(4)), (3, MessageId(0)), (4, MessageId(0))]);
        let left = [key_of(2, MessageId(4)), key_of(3, MessageId(0))];
        assert_eq!(fresh.lock().messages.keys().copied().collect::<Vec<_>>(), left);
        assert_eq!(fresh.lock().holding["term"], left.into_iter().collect());
        fresh.seen().forget_indexed(&[]);
        assert_eq!(held(&fresh), (0, 0));
        assert!(fresh.lock().holding.is_empty());
    }
    /// A search may have read a message before it was erased, and go on after that.
    #[test]
    fn what_was_read_before_an_erasure_is_not_kept_after_it() {
        let (fresh, key) = (Fresh::default(), key_of(1, MessageId(0)));
        let before = fresh.seen();
        fresh.forget();
        before.keep(key, vec!["secret".to_owned()]);
        assert_eq!(held(&fresh).0, 0);
        fresh.seen().keep(key, vec!["gone".to_owned()]);
        assert_eq!(held(&fresh).0, 1);
    }
}
