//! Erasing on a person's word. What is erased is gone for everybody at once; its bytes are written over soon after, when that is due.
//!
//! Writing a file anew takes time in proportion to the file, and whoever writes waits meanwhile. So it is done beside requests, once
//! for all that was erased by then, and not again until many times as long has passed as it took.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scrollback::{Forget, Result, SessionKey};
use tokio::sync::Notify;

/// The shortest pause between two times.
const PAUSE: Duration = Duration::from_mins(1);
/// So many times as long as it took is waited.
const RATIO: u32 = 20;

/// Whoever erases.
#[derive(Clone)]
pub(crate) struct Eraser {
    store: Arc<dyn Forget>,
    erased: Arc<Notify>,
}

impl Eraser {
    pub(crate) fn new(store: Arc<dyn Forget>) -> Self {
        Self { store, erased: Arc::default() }
    }

    /// Erases a session and returns how many messages it had.
    pub(crate) async fn forget(&self, session: &SessionKey) -> Result<u32> {
        let messages = self.store.forget(session).await?;
        self.erased.notify_one();
        Ok(messages)
    }

    /// Writes over what is left of what was erased.
    pub(crate) async fn wipe(&self) -> Result<()> {
        self.store.wipe().await
    }

    /// The same for a server, which goes on whatever comes of it.
    pub(crate) async fn wipe_now(&self) {
        if let Err(error) = self.wipe().await {
            tracing::warn!(%error, "what was erased is not written over yet; it is tried again at the next start");
        }
    }

    /// Does so whenever something was erased; first of all for what was erased before this process began.
    pub(crate) async fn keep_wiping(self) {
        loop {
            let began = Instant::now();
            self.wipe_now().await;
            tokio::time::sleep(PAUSE.max(began.elapsed() * RATIO)).await;
            self.erased.notified().await;
        }
    }
}
