//! A store whose answers go to others than the one who runs the server: where it is, is not told with what went wrong.
//! Admins read it in the settings. What fails is counted, and how long commits take.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use scrollback::ids::{Depth, NodeId};
use scrollback::search::Probe;
use scrollback::store::{Batch, Committed, Keys, Kind, Known, Matches, Record, Scope, Session, Span, Stored, Which};
use scrollback::{At, Error, Forget, MessageId, Result, SessionKey, Store, Tenant};

use super::Pulse;

/// What it is called instead.
const CALLED: &str = "the store";

pub(super) struct Served<S> {
    store: Arc<S>,
    place: String,
    pulse: Arc<Pulse>,
}

impl<S> Served<S> {
    pub(super) fn new(store: Arc<S>, place: String, pulse: Arc<Pulse>) -> Self {
        Self { store, place, pulse }
    }

    fn told<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(Error::Store { .. }) = &outcome {
            metrics::counter!("scrollback_store_failures_total").increment(1);
        }
        outcome.map_err(|error| self.without_place(error))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all that is left names what was asked for")]
    fn without_place(&self, error: Error) -> Error {
        let without = |what: String| {
            tracing::debug!(what, "a failure of the store");
            what.replace(&format!("{CALLED} {}", self.place), CALLED).replace(&self.place, CALLED)
        };
        match error {
            Error::Store { what, source } => Error::Store { what: without(what), source },
            Error::Damaged(what) => Error::Damaged(without(what)),
            Error::TooLarge(what) => Error::TooLarge(without(what)),
            Error::Invalid(what) => Error::Invalid(without(what)),
            Error::InUse { .. } => Error::Store { what: without(error.to_string()), source: Some(Box::new(error)) },
            other => other,
        }
    }
}

#[async_trait]
impl<S: Store> Store for Served<S> {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        let (began, writes) = (Instant::now(), !batch.is_empty());
        let outcome = self.store.commit(batch).await;
        metrics::histogram!("scrollback_commit_seconds").record(began.elapsed().as_secs_f64());
        if writes {
            self.pulse.felt(&outcome);
        }
        self.told(outcome)
    }

    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
        self.told(self.store.prefix(session, from, chain).await)
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        self.told(self.store.read(session, span).await)
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        self.told(self.store.matching(tenant, probe).await)
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        self.told(self.store.records(scope, kind, keys).await)
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        self.told(self.store.sessions(tenant, which).await)
    }
}

#[async_trait]
impl<S: Forget> Forget for Served<S> {
    async fn forget(&self, session: &SessionKey) -> Result<u32> {
        let outcome = self.store.forget(session).await;
        self.pulse.felt(&outcome);
        self.told(outcome)
    }

    async fn forget_results(&self, session: &SessionKey, results: &[MessageId], at: At) -> Result<u32> {
        let outcome = self.store.forget_results(session, results, at).await;
        self.pulse.felt(&outcome);
        self.told(outcome)
    }

    async fn wipe(&self) -> Result<()> {
        self.told(self.store.wipe().await)
    }
}

#[cfg(test)]
mod tests {
    use scrollback::MemoryStore;

    use super::*;

    #[test]
    fn what_went_wrong_is_told_and_not_where() {
        let store = Served::new(Arc::new(MemoryStore::default()), "/home/ann/log.db".into(), Arc::default());
        let told = |what: &str| store.without_place(Error::Store { what: what.into(), source: None }).to_string();
        assert_eq!(told("the store /home/ann/log.db failed"), "the store failed");
        assert_eq!(told("the disk that holds /home/ann/log.db is full"), "the disk that holds the store is full");
        let damaged = store.without_place(Error::Damaged("/home/ann/log.db has damaged pages".into()));
        assert_eq!(damaged.to_string(), "damaged: the store has damaged pages");
        let used = Error::InUse { path: "/home/ann/log.db".into(), holder: "another".into() };
        assert!(!store.without_place(used).to_string().contains("ann"));
    }
}
