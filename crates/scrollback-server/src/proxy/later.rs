//! What is done after a reply is on its way, and waited for before the program ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scrollback::Tenant;
use scrollback::ids::Fingerprint;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Whoever stops a reply and goes on at once may be here before it is known that they left: a turn that is under way
/// has this long to end before another goes beside it.
const LEAVING: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(super) struct Later {
    under_way: Mutex<JoinSet<()>>,
    /// Replies that are being kept.
    replies: Mutex<Vec<Reply>>,
    /// Turns of our own that are under way, by their conversations.
    turns: Mutex<Vec<(String, Ending)>>,
}

/// Something that ends when its sender is gone.
pub(super) type Ending = watch::Receiver<()>;

/// A reply that is being kept.
pub(super) struct Keeping {
    pub(super) end: Ending,
    /// Set once nobody need be told that it is lost; `None` for whoever sends it again, or is told in other words.
    pub(super) is_kept: Option<Arc<AtomicBool>>,
}

impl Keeping {
    /// Waits for its end. Whether it is lost: it could not be kept, and its client will not send it again.
    pub(super) async fn lost(self) -> bool {
        ended(self.end).await;
        self.is_kept.is_some_and(|is_kept| !is_kept.load(Ordering::Acquire))
    }
}

/// Whose a conversation is, and what it may be called.
pub(super) struct Names {
    pub(super) tenant: Tenant,
    /// As its request called it, and its session's id, which whoever goes on with it may know.
    pub(super) names: [String; 2],
}

/// A reply that is being kept.
struct Reply {
    /// The conversation it belongs to.
    of: Names,
    /// Its message; `None` if a request that holds it has to wait all the same.
    message: Option<Fingerprint>,
    end: Ending,
}

impl Later {
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut under_way = held(&self.under_way);
        while under_way.try_join_next().is_some() {}
        under_way.spawn(work);
    }

    /// Says that a turn is under way, until what is given back is dropped.
    pub(super) fn turn(&self, of: String) -> watch::Sender<()> {
        let (under_way, end) = watch::channel(());
        let mut turns = held(&self.turns);
        turns.retain(|(_, end)| is_under_way(end));
        turns.push((of, end));
        under_way
    }

    /// Waits until what was said in a conversation is kept, if nobody says more just now.
    pub(super) async fn settled(&self, of: &str) {
        let turns = held(&self.turns).iter().filter(|turn| turn.0 == of).map(|turn| turn.1.clone()).collect();
        let _ = tokio::time::timeout(LEAVING, all(turns)).await;
        self.replies(of, |_| false).await;
    }

    /// Keeps a reply; it is kept even if nobody waits for its end.
    pub(super) fn keep(
        &self,
        of: Names,
        message: Option<Fingerprint>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Ending {
        let (under_way, end) = watch::channel(());
        let mut replies = held(&self.replies);
        replies.retain(|reply| is_under_way(&reply.end));
        replies.push(Reply { of, message, end: end.clone() });
        drop(replies);
        self.spawn(async move {
            work.await;
            drop(under_way);
        });
        end
    }

    /// Waits until the replies of a conversation that are being kept are kept, but for those that are known. Whether there
    /// were any.
    pub(super) async fn replies(&self, of: &str, known: impl Fn(Fingerprint) -> bool) -> bool {
        let known = |reply: &Reply| reply.message.is_some_and(&known);
        let awaited =
            |reply: &&Reply| reply.of.names.iter().any(|name| name == of) && is_under_way(&reply.end) && !known(reply);
        let mut has_waited = false;
        loop {
            let ends: Vec<Ending> = held(&self.replies).iter().filter(awaited).map(|reply| reply.end.clone()).collect();
            if ends.is_empty() {
                return has_waited;
            }
            all(ends).await;
            has_waited = true;
        }
    }

    /// Replies to somebody that are being kept and may be among those that a request brings back, in whatever
    /// conversation.
    pub(super) fn brought(&self, tenant: &Tenant, back: impl FnOnce() -> Vec<Fingerprint>) -> Vec<Ending> {
        let is_theirs = |reply: &&Reply| reply.of.tenant == *tenant && is_under_way(&reply.end);
        let replies = held(&self.replies);
        let theirs: Vec<_> = replies.iter().filter(is_theirs).map(|reply| (reply.message, reply.end.clone())).collect();
        drop(replies);
        let back = if theirs.is_empty() { Vec::new() } else { back() };
        let may_be = |message: Option<Fingerprint>| message.map_or(!back.is_empty(), |known| back.contains(&known));
        theirs.into_iter().filter(|(message, _)| may_be(*message)).map(|(_, end)| end).collect()
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

fn is_under_way(end: &Ending) -> bool {
    end.has_changed().is_ok()
}

/// Waits for an end.
pub(super) async fn ended(mut end: Ending) {
    while end.changed().await.is_ok() {}
}

pub(super) async fn all(ends: Vec<Ending>) {
    for end in ends {
        ended(end).await;
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
