//! Queued work while the proxy runs: what an earlier run left undone, then whatever comes, a few pieces at a time.
//!
//! Turns never wait for it. Of several processes on one store, one has each piece; if that one stops on the way,
//! another takes over once its claim runs out.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use scrollback::Engine;
use scrollback::engine::Claimed;

use crate::access::Tokens;
use crate::clock::now;

/// How often it is looked whether there is work that had to wait; that looks at no store while there is none. What is
/// submitted here is begun at once.
const EVERY: Duration = Duration::from_secs(1);
/// How often all work is looked through, for what another process left behind.
const LOOKED_THROUGH_EVERY: Duration = Duration::from_mins(3);
/// How often the store is asked again after it failed, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MOST_PAUSE: Duration = Duration::from_mins(5);
/// How often a claim is renewed while its work goes on.
const RENEWED_EVERY: Duration = Duration::from_secs(40);
/// How many pieces of work are done at once.
const WORKERS: usize = 4;

/// Who works, and for whom.
pub(crate) struct Jobs {
    pub(crate) engine: Arc<Engine>,
    /// Whoever has a token, and the person at this machine.
    pub(crate) tokens: Arc<Tokens>,
}

impl Jobs {
    /// Works until it is dropped.
    pub(crate) async fn run(self) {
        for tenant in self.tokens.tenants() {
            match self.engine.resume(&tenant).await {
                Ok(keys) if keys.is_empty() => {}
                Ok(keys) => tracing::info!("work from an earlier run goes on: {}", keys.join(", ")),
                Err(error) => tracing::warn!(%error, "queued work could not be listed; that is tried again"),
            }
        }
        let working = futures_util::future::join_all((0..WORKERS).map(|_| self.keep_working()));
        futures_util::future::join(working, self.keep_looking()).await;
    }

    /// Finds what other processes submitted or stopped in the midst of.
    async fn keep_looking(&self) {
        loop {
            tokio::time::sleep(LOOKED_THROUGH_EVERY).await;
            for tenant in self.tokens.tenants() {
                if let Err(error) = self.engine.resume(&tenant).await {
                    tracing::warn!(%error, "queued work could not be listed; that is tried again");
                }
            }
        }
    }

    async fn keep_working(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.work_on().await {
                Ok(()) => pause = FIRST_PAUSE,
                Err(error) => {
                    tracing::error!(%error, "queued work has to wait");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MOST_PAUSE);
                }
            }
            tokio::select! {
                () = self.engine.wait_for_work() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Does all that is due, in turns: whoever has much to do does not keep the others waiting.
    async fn work_on(&self) -> scrollback::Result<()> {
        loop {
            let mut was_any = false;
            for tenant in self.tokens.tenants() {
                let Some(claimed) = self.engine.claim(&tenant, now()).await? else { continue };
                self.work(claimed).await?;
                was_any = true;
            }
            if !was_any {
                return Ok(());
            }
        }
    }

    /// Does one piece of work, and says how it went.
    async fn work(&self, mut claimed: Claimed) -> scrollback::Result<()> {
        let task = claimed.clone();
        let mut work = pin!(AssertUnwindSafe(self.engine.work(&task, now())).catch_unwind());
        let outcome = loop {
            tokio::select! {
                outcome = &mut work => break outcome,
                () = tokio::time::sleep(RENEWED_EVERY) => {
                    // Somebody else has it by now.
                    let Some(renewed) = self.engine.renew(claimed, now()).await? else { return Ok(()) };
                    claimed = renewed;
                }
            }
        };
        let reason = match outcome {
            Ok(Ok(())) => return self.engine.done(claimed, now()).await,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "an error in Scrollback itself; please report it".to_owned(),
        };
        let job = &claimed.job;
        tracing::warn!("{} for {} failed, try {}: {reason}", job.kind, job.session, claimed.tries);
        self.engine.failed(claimed, &reason, now()).await
    }
}

#[cfg(test)]
mod tests {
    use scrollback::engine::{EngineSettings, Job, JobKind, JobState};
    use scrollback::ids::{BranchId, Depth, Hash128, NodeId};
    use scrollback::store::Position;
    use scrollback::task::Tasks;
    use scrollback::{MemoryStore, MessageId, SessionId, Tenant};

    use super::*;

    /// An engine whose work is done, and another on the same store.
    fn two() -> (Arc<Engine>, Arc<Engine>, tokio::task::JoinHandle<()>) {
        let store = Arc::new(MemoryStore::default());
        let engine = || Arc::new(Engine::new(store.clone(), Tasks::offline(), EngineSettings::default()));
        let (ours, other) = (engine(), engine());
        let running = Jobs { engine: ours.clone(), tokens: Arc::new(Tokens::new(store.clone(), 0)) }.run();
        (ours, other, tokio::spawn(running))
    }

    fn job() -> Job {
        let hash = Hash128([1; 16]);
        let head = Position { id: MessageId(7), branch: BranchId(0), depth: Depth(7), node: NodeId(hash) };
        let (layout, model) = ("pages@32000".to_owned(), "gpt-5".to_owned());
        Job { kind: JobKind::Tidy, session: SessionId(hash), head, layout, budget: 28_000, model }
    }

    /// Submits a job once others wait for one; how long it is until that is done.
    async fn done_after(submits: &Engine) -> Duration {
        tokio::time::sleep(EVERY * 3 / 2).await;
        let (tenant, begun) = (Tenant::local(), tokio::time::Instant::now());
        assert!(submits.submit(&tenant, job(), now()).await.unwrap());
        while submits.jobs(&tenant).await.unwrap()[0].state != JobState::Done {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn work_submitted_here_is_begun_at_once() {
        let (ours, _, running) = two();
        assert!(done_after(&ours).await < EVERY / 4);
        running.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn work_of_another_process_is_found_after_a_while() {
        let (_, other, running) = two();
        assert!(done_after(&other).await < LOOKED_THROUGH_EVERY + 3 * EVERY);
        running.abort();
    }
}
