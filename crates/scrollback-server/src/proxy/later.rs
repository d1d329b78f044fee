//! What is done after a reply is on its way, and waited for before the program ends.

use std::sync::{Mutex, MutexGuard, PoisonError};

use scrollback::ids::Fingerprint;
use tokio::sync::watch;
use tokio::task::JoinSet;

#[derive(Default)]
pub(super) struct Later {
    under_way: Mutex<JoinSet<()>>,
    /// Replies that are being kept.
    replies: Mutex<Vec<Reply>>,
}

/// A reply that is being kept.
struct Reply {
    /// The conversation it belongs to.
    of: String,
    /// Its message; `None` if a request that holds it has to wait all the same.
    message: Option<Fingerprint>,
    /// Ends when its sender is gone.
    end: watch::Receiver<()>,
}

impl Later {
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut under_way = held(&self.under_way);
        while under_way.try_join_next().is_some() {}
        under_way.spawn(work);
    }

    /// Keeps a reply; it is kept even if nobody waits for it.
    pub(super) fn keep(
        &self,
        of: String,
        message: Option<Fingerprint>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let (under_way, end) = watch::channel(());
        let mut replies = held(&self.replies);
        replies.retain(|reply| reply.end.has_changed().is_ok());
        replies.push(Reply { of, message, end });
        drop(replies);
        self.spawn(async move {
            work.await;
            drop(under_way);
        });
    }

    /// Waits until the replies of a conversation that are being kept now are kept, but for those that are known.
    pub(super) async fn replies(&self, of: &str, known: impl Fn(Fingerprint) -> bool) {
        let awaited = |reply: &&Reply| reply.of == of && !reply.message.is_some_and(&known);
        let ends: Vec<_> = held(&self.replies).iter().filter(awaited).map(|reply| reply.end.clone()).collect();
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
