//! Queued work while the proxy runs: what an earlier run left undone, then whatever comes, a few pieces at a time.
//!
//! Turns never wait for it. Of several processes on one store, one has each piece; if that one stops on the way,
//! another takes over once its claim runs out.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use scrollback::engine::Claimed;
use scrollback::{Engine, Error, Tenant};
use tokio::time::Instant;

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

/// Those whose work cannot be read or written though that of others can: until when it waits, and how long that is.
type Troubled = BTreeMap<Tenant, (Instant, Duration)>;

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
        let (mut pause, mut troubled) = (FIRST_PAUSE, Troubled::new());
        loop {
            match self.work_on(&mut troubled).await {
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

    /// Does all that is due, in turns: whoever has much to do does not keep the others waiting, nor does whoever has a
    /// damaged record.
    async fn work_on(&self, troubled: &mut Troubled) -> scrollback::Result<()> {
        loop {
            let mut was_any = false;
            for tenant in self.tokens.tenants() {
                let pause = troubled.get(&tenant).copied();
                if pause.is_some_and(|(until, _)| until > Instant::now()) {
                    continue;
                }
                match self.work_for(&tenant).await {
                    Ok(worked) => {
                        troubled.remove(&tenant);
                        was_any |= worked;
                    }
                    // A store that fails fails for all.
                    Err(error @ Error::Store { .. }) => return Err(error),
                    Err(error) => {
                        tracing::error!(%error, "queued work of one person has to wait");
                        let pause = pause.map_or(FIRST_PAUSE, |(_, pause)| (pause * 2).min(MOST_PAUSE));
                        troubled.insert(tenant, (Instant::now() + pause, pause));
                    }
                }
            }
            if !was_any {
                return Ok(());
            }
        }
    }

    /// Does one piece of somebody's work; whether any was due.
    async fn work_for(&self, tenant: &Tenant) -> scrollback::Result<bool> {
        let Some(claimed) = self.engine.claim(tenant, now()).await? else { return Ok(false) };
        self.work(claimed).await.map(|()| true)
    }

    /// Does one piece of work, and says how it went.
    async fn work(&self, mut claimed: Claimed) -> scrollback::Result<()> {
        let task = claimed.clone();
        let mut work = pin!(AssertUnwindSafe(self.engine.work(&task, now())).catch_unwind());
        let outcome = loop {
            tokio::select! {
                outcome = &mut work => break outcome,
                () = tokio::time::sleep(RENEWED_EVERY) => {}
            }
            // The work goes on meanwhile: it may hold what this waits for.
            let renewing = pin!(self.engine.renew(claimed, now()));
            let (renewed, outcome) = match select(&mut work, renewing).await {
                Either::Left((outcome, renewing)) => (renewing.await?, Some(outcome)),
                Either::Right((renewed, _)) => (renewed?, None),
            };
            // Somebody else has it by now.
            let Some(renewed) = renewed else { return Ok(()) };
            claimed = renewed;
            if let Some(outcome) = outcome {
                break outcome;
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
    use async_trait::async_trait;
    use scrollback::engine::{EngineSettings, Job, JobKind, JobState};
    use scrollback::ids::{BranchId, Depth, Hash128, NodeId};
    use scrollback::search::Probe;
    use scrollback::store::{
        Batch, Committed, Keys, Kind, Known, Matches, Position, Record, Scope, Session, Span, Stored, Which,
    };
    use scrollback::task::Tasks;
    use scrollback::{At, MemoryStore, MessageId, Result, SessionId, SessionKey, Store};

    use super::*;
    use crate::access::KeptToken;

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
        Job { kind: JobKind::Tidy, session: SessionId(hash), head, layout, budget: 28_000, model, recalls: true }
    }

    /// Submits a job once others wait for one; how long it is until that is done.
    async fn done_after(submits: &Engine) -> Duration {
        tokio::time::sleep(EVERY * 3 / 2).await;
        let (tenant, begun) = (Tenant::local(), Instant::now());
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

    /// A store in which nobody can read what work Ann has, and in which everybody waits for whoever reads messages.
    #[derive(Default)]
    struct Rough {
        store: MemoryStore,
        busy: tokio::sync::Mutex<()>,
        reading: Duration,
    }

    #[async_trait]
    impl Store for Rough {
        async fn commit(&self, batch: Batch) -> Result<Committed> {
            let _busy = self.busy.lock().await;
            self.store.commit(batch).await
        }

        async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
            self.store.prefix(session, from, chain).await
        }

        async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
            let _busy = self.busy.lock().await;
            tokio::time::sleep(self.reading).await;
            self.store.read(session, span).await
        }

        async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
            self.store.matching(tenant, probe).await
        }

        async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
            if kind == Kind::Job && *scope == Scope::Tenant(Tenant::new("ann")) {
                return Err(Error::Damaged("a record of work is not what was written".into()));
            }
            self.store.records(scope, kind, keys).await
        }

        async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
            self.store.sessions(tenant, which).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_damaged_record_of_one_person_keeps_nobody_else_waiting() {
        let store = Arc::new(Rough::default());
        let engine = Arc::new(Engine::new(store.clone(), Tasks::offline(), EngineSettings::default()));
        let tokens = Arc::new(Tokens::new(store, 0));
        let (name, tenant) = ("laptop".to_owned(), "ann".to_owned());
        assert!(Tenant::new(&tenant) < Tenant::local(), "hers comes first");
        tokens.add(&KeptToken { name, tenant, created: At(7), admin: false, revoked: None }).await.unwrap();
        let running = tokio::spawn(Jobs { engine: engine.clone(), tokens }.run());
        let done = tokio::time::timeout(Duration::from_mins(10), done_after(&engine)).await;
        assert!(done.expect("it is done") < EVERY * 2);
        running.abort();
    }
    #[tokio::test(start_paused = true)]
    async fn a_claim_is_renewed_while_its_work_holds_what_that_waits_for() {
        let store = Arc::new(Rough { reading: RENEWED_EVERY * 3 / 2, ..Rough::default() });
        let engine = Arc::new(Engine::new(store.clone(), Tasks::offline(), EngineSettings::default()));
        let tokens = Arc::new(Tokens::new(store, 0));
        let running = tokio::spawn(Jobs { engine: engine.clone(), tokens }.run());
        let done = tokio::time::timeout(Duration::from_mins(10), done_after(&engine)).await;
        assert!(done.expect("it is done") > RENEWED_EVERY);
        running.abort();
    }
}
