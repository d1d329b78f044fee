//! Erasing on a person's word. What is erased is gone for everybody at once; its bytes are written over soon after,
//! when that is due.
//!
//! Writing a file anew takes time in proportion to the file, and whoever writes waits meanwhile. So it is done beside
//! requests, once for all that was erased by then, and not again until many times as long has passed as it took.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scrollback::{Forget, Result, SessionKey, Tenant};
use tokio::sync::Notify;

/// The shortest pause between two times.
const PAUSE: Duration = Duration::from_mins(1);
/// So many times as long as it took is waited.
const RATIO: u32 = 20;
/// However often it failed, it is tried again after so long.
const LONGEST: Duration = Duration::from_hours(1);

/// Whoever erases.
#[derive(Clone)]
pub(crate) struct Eraser {
    store: Arc<dyn Forget>,
    /// What was typed in chats in the terminal: it may be about what is erased, and nobody knows which lines are.
    typed: Option<PathBuf>,
    erased: Arc<Notify>,
}

impl Eraser {
    pub(crate) fn new(store: Arc<dyn Forget>) -> Self {
        Self { store, typed: None, erased: Arc::default() }
    }

    /// The same, which removes a file of what was typed with what is erased.
    pub(crate) fn with_typed(self, typed: PathBuf) -> Self {
        Self { typed: Some(typed), ..self }
    }

    /// Erases a session and returns how many messages it had.
    pub(crate) async fn forget(&self, session: &SessionKey) -> Result<u32> {
        let messages = self.store.forget(session).await?;
        self.erased.notify_one();
        if let Some(typed) = self.typed.as_ref().filter(|_| session.tenant == Tenant::local())
            && let Err(error) = std::fs::remove_file(typed)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "what was typed in chats stays in {}; remove that file", typed.display());
        }
        Ok(messages)
    }

    /// Writes over what is left of what was erased.
    pub(crate) async fn wipe(&self) -> Result<()> {
        self.store.wipe().await
    }

    /// The same for a server that ends, whatever comes of it.
    pub(crate) async fn wipe_now(&self) {
        if let Err(error) = self.wipe().await {
            tracing::warn!(%error, "what was erased is not written over yet; it is tried again at the next start");
        }
    }

    /// Does so whenever something was erased; first of all for what was erased before this process began. Where it
    /// fails, as it does while another process reads for long, it is tried again, after ever longer pauses.
    pub(crate) async fn keep_wiping(self) {
        let mut times: u32 = 1;
        loop {
            let began = Instant::now();
            let outcome = self.wipe().await;
            let pause = PAUSE.max(began.elapsed() * RATIO);
            if let Err(error) = outcome {
                tracing::warn!(%error, "what was erased is not written over yet; it is tried again after a while");
                tokio::time::sleep((pause * times).min(LONGEST.max(pause))).await;
                times = (times * 2).min(64);
            } else {
                times = 1;
                tokio::time::sleep(pause).await;
                self.erased.notified().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use scrollback::{At, Error, MessageId};

    use super::*;

    /// A store that somebody reads all the time, and when it was asked to write over what was erased.
    #[derive(Default)]
    struct Read(Mutex<Vec<tokio::time::Instant>>);

    #[async_trait]
    impl Forget for Read {
        async fn forget(&self, _: &SessionKey) -> Result<u32> {
            Ok(0)
        }

        async fn forget_results(&self, _: &SessionKey, _: &[MessageId], _: At) -> Result<u32> {
            Ok(0)
        }

        async fn wipe(&self) -> Result<()> {
            self.0.lock().unwrap().push(tokio::time::Instant::now());
            Err(Error::Store { what: "another process is reading it".into(), source: None })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_after_ever_longer_pauses() {
        let store = Arc::new(Read::default());
        let wiping = tokio::spawn(Eraser::new(store.clone()).keep_wiping());
        tokio::time::sleep(Duration::from_hours(4)).await;
        wiping.abort();
        let asked = store.0.lock().unwrap().clone();
        let minutes: Vec<u64> = asked.iter().map(|at| at.duration_since(asked[0]).as_secs() / 60).collect();
        assert_eq!(minutes, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
    }
}
