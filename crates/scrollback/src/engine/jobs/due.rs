//! Which work is not done yet, kept in mind so that no store has to be asked while none is due.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::job::Wait;
use crate::ids::{At, Tenant};

/// What is known of a tenant's work.
#[derive(Default)]
struct Known {
    /// Whether the list of it was looked through.
    all: bool,
    /// The keys of what is not done, and until when each waits.
    keys: BTreeMap<String, Wait>,
}

/// What is to be looked at, and when. The records decide; this only says where to look.
#[derive(Default)]
pub(in crate::engine) struct Due {
    known: Mutex<HashMap<Tenant, Known>>,
    /// Told of work that may be claimed at once.
    woken: Notify,
}

impl Due {
    /// Whether the list of a tenant's work was looked through.
    pub(super) fn knows(&self, tenant: &Tenant) -> bool {
        self.held().get(tenant).is_some_and(|known| known.all)
    }

    /// Until when some work waits, if it is in mind.
    pub(super) fn of(&self, tenant: &Tenant, key: &str) -> Option<Wait> {
        self.held().get(tenant)?.keys.get(key).copied()
    }

    /// Takes in all that was found; what was noted meanwhile stays.
    pub(super) fn learn(&self, tenant: &Tenant, found: BTreeMap<String, Wait>) {
        let mut held = self.held();
        let known = held.entry(tenant.clone()).or_default();
        known.all = true;
        known.keys.extend(found);
    }

    /// Takes note of until when some work waits; `None` if it came to an end.
    pub(super) fn note(&self, tenant: &Tenant, key: &str, wait: Option<Wait>) {
        let mut held = self.held();
        let keys = &mut held.entry(tenant.clone()).or_default().keys;
        match wait {
            Some(wait) => keys.insert(key.to_owned(), wait),
            None => keys.remove(key),
        };
    }

    /// Wakes one who waits for work, or the next who will.
    pub(super) fn wake(&self) {
        self.woken.notify_one();
    }

    pub(super) async fn woken(&self) {
        self.woken.notified().await;
    }

    /// The work that has been due for longest.
    pub(super) fn earliest(&self, tenant: &Tenant, now: At) -> Option<String> {
        let held = self.held();
        let due = held.get(tenant)?.keys.iter().filter(|(_, wait)| wait.is_over(now));
        due.min_by_key(|(_, wait)| wait.until).map(|(key, _)| key.clone())
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Tenant, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
