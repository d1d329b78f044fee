//! What is done after a reply is on its way, and waited for before the program ends.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::task::JoinSet;

#[derive(Default)]
pub(super) struct Later {
    under_way: Mutex<JoinSet<()>>,
    /// Replies that are being kept, by the session their client declared; each ends when its sender is gone.
    replies: Mutex<Vec<(Option<String>, watch::Receiver<()>)>>,
}

impl Later {
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut under_way = held(&self.under_way);
        while under_way.try_join_next().is_some() {}
        under_way.spawn(work);
    }

    /// Keeps a reply; it is kept even if nobody waits for it.
    pub(super) fn keep(&self, session: Option<String>, work: impl Future<Output = ()> + Send + 'static) {
        let (under_way, end) = watch::channel(());
        let mut replies = held(&self.replies);
        replies.retain(|(_, end)| end.has_changed().is_ok());
        replies.push((session, end));
        drop(replies);
        self.spawn(async move {
            work.await;
            drop(under_way);
        });
    }

    /// Waits until the replies of a session that are being kept now are kept.
    pub(super) async fn replies(&self, session: Option<&str>) {
        let same = |(of, _): &&(Option<String>, _)| of.as_deref() == session;
        let ends: Vec<_> = held(&self.replies).iter().filter(same).map(|(_, end)| end.clone()).collect();
        for mut end in ends {
            while end.changed().await.is_ok() {}
        }
    }

    /// Waits until nothing is left, also of what is put off meanwhile.
    pub(super) async fn done(&self) {
        loop {
            let mut under_way = std::mem::take(&mut *held(&self.under_way));
            if under_way.is_empty() {
                return;
            }
            while under_way.join_next().await.is_some() {}
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
