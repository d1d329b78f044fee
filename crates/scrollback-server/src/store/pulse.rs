//! How a store is doing, as those find who write to it: whether requests should come here, and how many connections are left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use scrollback::{Error, PostgresStore, Result};

use super::Opened;

/// After a commit that failed, nobody should send requests here for so long. Then somebody may try: without requests nobody would
/// find out that all is well again.
const ILL: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Pulse {
    database: Option<Arc<PostgresStore>>,
    /// When a commit failed, if none has succeeded since.
    failed: Mutex<Option<Instant>>,
}

impl Pulse {
    pub(crate) fn of(store: &Opened) -> Self {
        let database = match store {
            Opened::File(_) => None,
            Opened::Database(store) => Some(store.clone()),
        };
        Self { database, failed: Mutex::default() }
    }

    /// Takes note of how something that was to be written went.
    pub(super) fn felt<T>(&self, outcome: &Result<T>) {
        match outcome {
            Ok(_) => *self.failed() = None,
            Err(Error::Store { .. }) => *self.failed() = Some(Instant::now()),
            // The store is well; what it was given is not.
            Err(_) => {}
        }
    }

    /// Whether what was written last failed, a moment ago.
    pub(crate) fn is_ill(&self) -> bool {
        self.failed().is_some_and(|at| at.elapsed() < ILL)
    }

    /// How many connections there are to a database, and how many of them nobody uses.
    pub(crate) fn connections(&self) -> Option<(usize, usize)> {
        self.database.as_ref().map(|store| store.connections())
    }

    fn failed(&self) -> MutexGuard<'_, Option<Instant>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_ill_from_a_failed_commit_to_the_next_one_or_for_a_while() {
        let pulse = Pulse::default();
        assert!(!pulse.is_ill());
        let failure = || Err::<(), _>(Error::Store { what: "full".into(), source: None });
        pulse.felt(&failure());
        assert!(pulse.is_ill());
        pulse.felt(&Err::<(), _>(Error::Conflict("a record".into())));
        assert!(pulse.is_ill(), "that was written by another");
        pulse.felt(&Ok(()));
        assert!(!pulse.is_ill());
        pulse.felt(&failure());
        *pulse.failed() = Instant::now().checked_sub(ILL);
        assert!(!pulse.is_ill(), "somebody may try again");
    }
}
