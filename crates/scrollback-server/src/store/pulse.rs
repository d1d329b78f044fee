//! How a store is doing, as those find who write to it: whether requests should come here, and how many connections are
//! left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use scrollback::{Error, PostgresStore, Result};

use super::Opened;

/// After a commit that failed, nobody should send requests here for so long. Then somebody may try: without requests
/// nobody would find out that all is well again.
const ILL: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Pulse {
    database: Option<Arc<PostgresStore>>,
    /// The last commit that failed, if none has succeeded since.
    failed: Mutex<Option<Failure>>,
}

/// A commit that failed.
struct Failure {
    at: Instant,
    why: String,
    /// Whether somebody was told why one failed, since one succeeded.
    is_told: bool,
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
            Err(error @ Error::Store { .. }) => {
                let mut failed = self.failed();
                let is_told = failed.as_ref().is_some_and(|before| before.is_told);
                *failed = Some(Failure { at: Instant::now(), why: error.to_string(), is_told });
            }
            // The store is well; what it was given is not.
            Err(_) => {}
        }
    }

    /// Whether what was written last failed, a moment ago.
    pub(crate) fn is_ill(&self) -> bool {
        self.failed().as_ref().is_some_and(|failure| failure.at.elapsed() < ILL)
    }

    /// Why what was written last failed; once, however often it is asked, until something is written again.
    pub(crate) fn why(&self) -> Option<String> {
        let mut failed = self.failed();
        let failure = failed.as_mut().filter(|failure| !failure.is_told)?;
        failure.is_told = true;
        Some(failure.why.clone())
    }

    /// How many connections there are to a database, and how many of them nobody uses.
    pub(crate) fn connections(&self) -> Option<(usize, usize)> {
        self.database.as_ref().map(|store| store.connections())
    }

    fn failed(&self) -> MutexGuard<'_, Option<Failure>> {
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
        pulse.failed().as_mut().unwrap().at = Instant::now().checked_sub(ILL).unwrap();
        assert!(!pulse.is_ill(), "somebody may try again");
    }

    #[test]
    fn why_is_told_once_until_something_is_written() {
        let pulse = Pulse::default();
        let failure = || Err::<(), _>(Error::Store { what: "full".into(), source: None });
        for _ in 0..2 {
            assert_eq!(pulse.why(), None);
            pulse.felt(&failure());
            assert_eq!(pulse.why().as_deref(), Some("full"));
            pulse.felt(&failure());
            assert_eq!(pulse.why(), None);
            pulse.felt(&Ok(()));
        }
    }
}
