//! Turns: what a tenant does one after another, and keeps no other tenant waiting with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use scrollback::Tenant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whose turn it is, for each tenant.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<HashMap<Tenant, Arc<Semaphore>>>>);

impl Turns {
    /// Waits for somebody's turn, which lasts until it is dropped.
    pub(super) async fn wait(&self, tenant: &Tenant) -> Option<OwnedSemaphorePermit> {
        let one = || Arc::new(Semaphore::new(1));
        let turn = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(tenant.clone()).or_insert_with(one).clone()
        };
        turn.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_tenants_turns_come_one_after_another() {
        let (turns, soon) = (Turns::default(), Duration::from_secs(1));
        let (ann, bob) = (Tenant::new("ann"), Tenant::new("bob"));
        let first = turns.wait(&ann).await;
        assert!(timeout(soon, turns.wait(&bob)).await.is_ok());
        assert!(timeout(soon, turns.wait(&ann)).await.is_err());
        drop(first);
        assert!(timeout(soon, turns.wait(&ann)).await.is_ok());
    }
}
