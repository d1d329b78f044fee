//! Doing something over a connection on loan, and again where that may help.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use deadpool_postgres::{ClientWrapper, Object, Pool};

use super::PostgresStore;
use super::pieces::pieces;
use super::trouble::{Cure, Fault};
use crate::error::Result;
use crate::store::{Batch, Expect, Origin};

/// How many times the usual patience what a model answered has.
const REPLIES_INSIST: u32 = 6;
/// How long is waited before another try, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MOST_PAUSE: Duration = Duration::from_millis(250);

impl PostgresStore {
    /// Reads something.
    pub(super) async fn ask<T, F, W>(&self, question: F) -> Result<T>
    where
        F: Fn(Lent) -> W + Send,
        W: Future<Output = Result<T, Fault>> + Send,
    {
        self.attempt(question, Repeat::FREELY).await
    }

    /// Reads something that may be a moment old: from a replica, if there is one that answers.
    pub(super) async fn ask_anywhere<T, F, W>(&self, question: F) -> Result<T>
    where
        F: Fn(Lent) -> W + Send,
        W: Future<Output = Result<T, Fault>> + Send,
    {
        if !self.replicas.is_empty() {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.replicas.len();
            match self.once(&self.replicas[turn], &question, 1).await {
                Ok(found) => return Ok(found),
                Err(Fault::Ours(error)) => return Err(error),
                // It is away, or behind the layout of the tables: the primary knows everything.
                Err(_) => {}
            }
        }
        self.ask(question).await
    }

    /// Does something over a connection, again if that may help.
    pub(super) async fn attempt<T, F, W>(&self, work: F, repeat: Repeat) -> Result<T>
    where
        F: Fn(Lent) -> W + Send,
        W: Future<Output = Result<T, Fault>> + Send,
    {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let fault = match self.once(&self.pool, &work, repeat.pieces).await {
                Ok(done) => {
                    self.away.store(false, Ordering::Relaxed);
                    return Ok(done);
                }
                Err(fault) => fault,
            };
            let cure = if repeat.allows(&fault) { fault.cure() } else { Cure::None };
            // Whoever comes while the database is known to be away is told at once: waiting requests would only pile
            // up. What a model answered is paid for and there only once, so that it waits for longer.
            let gone = cure == Cure::Reconnect && self.away.load(Ordering::Relaxed) && repeat.insists == 1;
            let patience = self.options.patience * repeat.insists;
            if cure == Cure::None || gone || began.elapsed() + pause > patience {
                self.away.store(fault.cure() == Cure::Reconnect, Ordering::Relaxed);
                return Err(fault.told(&self.place));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MOST_PAUSE);
        }
    }

    async fn once<T, F, W>(&self, pool: &Pool, work: &F, pieces: u32) -> Result<T, Fault>
    where
        F: Fn(Lent) -> W + Send,
        W: Future<Output = Result<T, Fault>> + Send,
    {
        let client = Lent { client: Some(pool.get().await?) };
        // The database keeps its own limit for each statement, of which a piece needs two; this one is for a database
        // that says nothing at all.
        let limit = self.options.timeout.saturating_mul(pieces.saturating_mul(2).saturating_add(1));
        tokio::time::timeout(limit, work(client)).await.unwrap_or(Err(Fault::Silent(limit)))
    }
}

/// A connection on loan. Only one that is given back in order is used again: whoever was cut short leaves it in the
/// midst of something.
pub(super) struct Lent {
    client: Option<Object>,
}

impl Lent {
    /// Gives it back after work that ended so.
    pub(super) fn back<T>(mut self, outcome: Result<T, Fault>) -> Result<T, Fault> {
        if !outcome.as_ref().is_err_and(Fault::spoils) {
            drop(self.client.take());
        }
        outcome
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        drop(self.client.take().map(Object::take));
    }
}

impl std::ops::Deref for Lent {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        self.client.as_ref().expect("it is there until it is given back")
    }
}

impl std::ops::DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut ClientWrapper {
        self.client.as_mut().expect("it is there until it is given back")
    }
}

/// Whether work may be done again when nobody knows whether it was, and for how much longer than usual it is tried and
/// may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeat {
    /// Whether twice is the same as once.
    freely: bool,
    /// How many times the usual patience it has.
    insists: u32,
    /// In how many pieces it is done, each of which has its time.
    pieces: u32,
}

impl Repeat {
    pub(super) const FREELY: Self = Self { freely: true, insists: 1, pieces: 1 };
    pub(super) const IF_UNDONE: Self = Self { freely: false, insists: 1, pieces: 1 };

    pub(super) fn of(batch: &Batch) -> Self {
        let freely = batch.records.iter().all(|put| put.expect == Expect::Any);
        let replies = batch.path.iter().any(|draft| draft.origin == Origin::Reply);
        let insists = if replies { REPLIES_INSIST } else { 1 };
        let path = pieces(&batch.path, |draft| draft.message.raw().get().len()).count();
        let beside = pieces(&batch.beside, |sidelong| sidelong.draft.message.raw().get().len()).count();
        Self { freely, insists, pieces: 1 }.in_pieces(path + beside)
    }

    /// The same for work of so many pieces.
    pub(super) fn in_pieces(self, pieces: usize) -> Self {
        Self { pieces: u32::try_from(pieces.max(1)).unwrap_or(u32::MAX), ..self }
    }

    fn allows(self, fault: &Fault) -> bool {
        self.freely || !matches!(fault, Fault::Unsure(_))
    }
}
