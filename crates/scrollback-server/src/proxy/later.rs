//! What is done after a reply is on its way, and waited for before the program ends.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;
use tokio::task::JoinSet;

#[derive(Default)]
pub(super) struct Later(Mutex<JoinSet<()>>);

impl Later {
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while under_way.try_join_next().is_some() {}
        under_way.spawn(work);
    }

    /// Does something and waits for it; it is done even if nobody waits any more.
    pub(super) async fn finished(&self, work: impl Future<Output = ()> + Send + 'static) {
        let (tell, told) = oneshot::channel();
        self.spawn(async move {
            work.await;
            // Nobody may be listening.
            let _ = tell.send(());
        });
        // An error means that the work panicked, which is told elsewhere.
        let _ = told.await;
    }

    /// Waits until nothing is left, also of what is put off meanwhile.
    pub(super) async fn done(&self) {
        loop {
            let mut under_way = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
            if under_way.is_empty() {
                return;
            }
            while under_way.join_next().await.is_some() {}
        }
    }
}
