//! Doing something over a connection on loan, and again where that may help.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use deadpool_postgres::{ClientWrapper, Object, Pool};
use tokio::sync::MutexGuard;

use super::PostgresStore;
use super::pieces::pieces;
use super::trouble::{Cure, Fault};
use crate::error::{Error, Result};
use crate::ids::SessionKey;
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

    /// Waits until those who came before have written: batches of one session are written in the order they came. While
    /// the database is away, nobody waits longer for them than for the database itself.
    pub(super) async fn turn(&self, session: &SessionKey, repeat: Repeat) -> Result<MutexGuard<'_, ()>> {
        let (began, most) = (Instant::now(), self.options.patience * repeat.insists);
        let mut turn = std::pin::pin!(self.queue(session).lock());
        loop {
            if let Ok(turn) = tokio::time::timeout(MOST_PAUSE, turn.as_mut()).await {
                return Ok(turn);
            }
            if self.away.load(Ordering::Relaxed) && began.elapsed() > most {
                let what = format!("{} is away: nothing acknowledged is lost. Try again", self.place);
                return Err(Error::Store { what, source: None });
            }
        }
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
            // Whoever waited for others that found nobody there has waited for the database.
            let waited = repeat.asked.filter(|_| cure == Cure::Reconnect).unwrap_or(began).elapsed();
            if cure == Cure::None || gone || waited + pause > patience {
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
    /// When it was asked for, if it had to wait for its turn.
    asked: Option<Instant>,
}

impl Repeat {
    pub(super) const FREELY: Self = Self { freely: true, insists: 1, pieces: 1, asked: None };
    pub(super) const IF_UNDONE: Self = Self { freely: false, insists: 1, pieces: 1, asked: None };

    pub(super) fn of(batch: &Batch) -> Self {
        let freely = batch.records.iter().all(|put| put.expect == Expect::Any);
        let replies = batch.path.iter().any(|draft| draft.origin == Origin::Reply);
        let insists = if replies { REPLIES_INSIST } else { 1 };
        let path = pieces(&batch.path, |draft| draft.message.raw().get().len()).count();
        let beside = pieces(&batch.beside, |sidelong| sidelong.draft.message.raw().get().len()).count();
        Self { freely, insists, pieces: 1, asked: None }.in_pieces(path + beside)
    }

    /// The same for work that may take any time.
    pub(super) const fn without_end(self) -> Self {
        Self { pieces: u32::MAX, ..self }
    }

    /// The same for work of so many pieces.
    pub(super) fn in_pieces(self, pieces: usize) -> Self {
        Self { pieces: u32::try_from(pieces.max(1)).unwrap_or(u32::MAX), ..self }
    }

    /// The same for work that was asked for before its turn came.
    pub(super) fn asked_at(self, asked: Instant) -> Self {
        Self { asked: Some(asked), ..self }
    }

    fn allows(self, fault: &Fault) -> bool {
        self.freely || !matches!(fault, Fault::Unsure(_))
    }
}

#[cfg(test)]
mod tests {
    use super::super::PostgresOptions;
    use super::*;
    use crate::ids::{At, Hash128, NodeId, SessionId, Tenant};
    use crate::message::{Message, Role};
    use crate::store::{Draft, Store};
    use crate::tokens::Measure;

    const PATIENCE: Duration = Duration::from_millis(300);

    /// A store whose database nobody has started, as somebody has found out.
    fn away() -> PostgresStore {
        let nobody = PostgresOptions::new("postgres://nobody@127.0.0.1:1/nothing");
        let store = PostgresStore::unchecked(&PostgresOptions { patience: PATIENCE, ..nobody }).unwrap();
        store.away.store(true, Ordering::Relaxed);
        PostgresStore { writer: Some(1), ..store }
    }

    fn batch(origin: Origin) -> Batch {
        let message = Message::text(&Role::User, "Which boat?");
        let (node, measure) = (NodeId(Hash128([2; 16])), Measure::of(&message, "gpt-5"));
        let session = SessionKey { tenant: Tenant::local(), id: SessionId(Hash128([1; 16])) };
        Batch { path: vec![Draft { message, node, at: At(0), origin, measure }], ..Batch::new(session) }
    }

    /// A reply is tried for longer than anything else; whoever comes after it in the same queue is not.
    #[tokio::test]
    async fn nobody_waits_behind_a_reply_for_longer_than_for_a_database_that_is_away() {
        let (store, began) = (away(), Instant::now());
        let refused_after = async |origin: Origin| {
            assert!(matches!(store.commit(batch(origin)).await, Err(Error::Store { .. })));
            began.elapsed()
        };
        let replies = PATIENCE * REPLIES_INSIST;
        let (first, second, request) = futures_util::future::join3(
            refused_after(Origin::Reply),
            refused_after(Origin::Reply),
            refused_after(Origin::Client),
        )
        .await;
        assert!(first > replies / 2 && second < replies * 3 / 2, "{first:?}, {second:?}");
        assert!(request < replies / 2 + PATIENCE, "{request:?}");
    }
}
