//! The one thread that writes.
//!
//! Whatever waits when it is free is committed together, so that many writers share one flush to disk. Each batch
//! stands in a savepoint of its own: one that is refused does not disturb the others. When nobody waits, it indexes and
//! tidies; between two orders it indexes no more than a group.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::append::{Applied, apply};
use super::trouble::{Fault, repeated};
use super::words;
use crate::error::{Error, Result};
use crate::store::{Batch, Committed, Urgency};

/// How many batches share a commit at most.
const GROUP_BATCHES: usize = 512;
/// When so many messages are not indexed, some are even while others wait.
const INDEX_AT: usize = 256;
/// So long a batch that nobody waits for waits for others.
const SOON: Duration = Duration::from_millis(5);
/// After so long without work, the rest is indexed.
const IDLE: Duration = Duration::from_millis(200);

pub(super) type Work<T> = Box<dyn FnOnce(&mut Connection) -> Result<T, Fault> + Send>;

/// A batch and whoever is told when it is written.
type Waiting = (Box<Batch>, oneshot::Sender<Result<Committed>>);

enum Order {
    Commit(Box<Batch>, oneshot::Sender<Result<Committed>>),
    Run(Work<u32>, oneshot::Sender<Result<u32>>),
}

/// A handle to the thread; dropping it lets the thread finish what was ordered and end.
#[derive(Debug)]
pub(super) struct Writer {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: PathBuf) -> Result<Self> {
        let (orders, inbox) = channel();
        let mut desk = Desk { connection, path, marked: HashSet::new(), unindexed: 0, journal: true };
        desk.recount()?;
        let thread = std::thread::Builder::new()
            .name("scrollback-writer".into())
            .spawn(move || desk.work(&inbox))
            .map_err(|cause| Error::store("the writer thread could not be started", cause))?;
        Ok(Self { orders: Some(orders), thread: Some(thread) })
    }

    pub(super) async fn commit(&self, batch: Batch) -> Result<Committed> {
        let (answer, outcome) = oneshot::channel();
        self.send(Order::Commit(Box::new(batch), answer))?;
        outcome.await.map_err(|_| gone())?
    }

    /// Runs something alone on the writing connection, outside any transaction.
    pub(super) async fn run(&self, work: Work<u32>) -> Result<u32> {
        let (answer, outcome) = oneshot::channel();
        self.send(Order::Run(work, answer))?;
        outcome.await.map_err(|_| gone())?
    }

    fn send(&self, order: Order) -> Result<()> {
        self.orders.as_ref().and_then(|orders| orders.send(order).ok()).ok_or_else(gone)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; if it did, there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

fn gone() -> Error {
    Error::Store { what: "the store has been closed".into(), source: None }
}

struct Desk {
    connection: Connection,
    path: PathBuf,
    /// Sessions already marked as having unindexed messages.
    marked: HashSet<i64>,
    unindexed: usize,
    /// Whether the journal holds anything that is not in the file yet.
    journal: bool,
}

impl Desk {
    fn work(&mut self, inbox: &Receiver<Order>) {
        let mut wait = IDLE;
        loop {
            let order = inbox.recv_timeout(wait);
            let is_idle = order.is_err();
            match order {
                Ok(order) => self.serve(order, inbox),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let has_more = self.index(if is_idle { 1 } else { INDEX_AT });
            if is_idle && !has_more {
                self.checkpoint();
            }
            wait = if has_more { Duration::ZERO } else { IDLE };
        }
        while self.index(1) {}
    }

    fn serve(&mut self, first: Order, inbox: &Receiver<Order>) {
        let mut group = Vec::new();
        let mut until = None;
        let mut next = Some(first);
        while let Some(order) = next {
            match order {
                Order::Commit(batch, answer) => group.push((batch, answer)),
                Order::Run(work, answer) => {
                    self.commit(std::mem::take(&mut group));
                    let outcome = work(&mut self.connection).map_err(|fault| fault.told(&self.path));
                    let recounted = self.recount();
                    // A caller that no longer waits is no reason to stop.
                    let _ = answer.send(outcome.and_then(|value| recounted.map(|()| value)));
                }
            }
            next = if group.len() >= GROUP_BATCHES { None } else { Self::another(&group, &mut until, inbox) };
        }
        self.commit(group);
    }

    /// What else is ordered. Only a group that nobody waits for is waited with, and no longer than agreed.
    fn another(group: &[Waiting], until: &mut Option<Instant>, inbox: &Receiver<Order>) -> Option<Order> {
        let waits = !group.is_empty() && group.iter().all(|(batch, _)| batch.urgency == Urgency::Soon);
        if !waits {
            return inbox.try_recv().ok();
        }
        let until = *until.get_or_insert_with(|| Instant::now() + SOON);
        inbox.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }

    fn commit(&mut self, group: Vec<Waiting>) {
        if group.is_empty() {
            return;
        }
        let (batches, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        match self.write(&batches) {
            Ok(outcomes) => answers.into_iter().zip(outcomes).for_each(|(answer, outcome)| drop(answer.send(outcome))),
            Err(fault) => {
                let error = fault.told(&self.path);
                if !self.connection.is_autocommit() {
                    // If even this fails the next BEGIN will say so; nothing was acknowledged.
                    let _ = self.connection.execute_batch("ROLLBACK");
                }
                let _ = self.recount();
                for answer in answers {
                    drop(answer.send(Err(repeated(&error))));
                }
            }
        }
    }

    fn write(&mut self, batches: &[Box<Batch>]) -> Result<Vec<Result<Committed>>, Fault> {
        self.journal = true;
        self.say("BEGIN IMMEDIATE")?;
        let mut outcomes = Vec::with_capacity(batches.len());
        if let [batch] = batches {
            let applied = apply(&self.connection, batch)?;
            outcomes.push(Ok(self.note(applied)?));
        } else {
            for batch in batches {
                outcomes.push(self.write_among_others(batch)?);
            }
        }
        self.say("COMMIT")?;
        Ok(outcomes)
    }

    /// Writes a batch so that it can be refused without the others. A failure of the file itself hits them all.
    fn write_among_others(&mut self, batch: &Batch) -> Result<Result<Committed>, Fault> {
        self.say("SAVEPOINT batch")?;
        let outcome = match apply(&self.connection, batch) {
            Ok(applied) => Ok(self.note(applied)?),
            Err(fault @ Fault::Sqlite(_)) => return Err(fault),
            Err(Fault::Ours(error)) => {
                self.say("ROLLBACK TO batch")?;
                Err(error)
            }
        };
        self.say("RELEASE batch")?;
        Ok(outcome)
    }

    fn say(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// Marks what has to be indexed, once for a session.
    fn note(&mut self, applied: Applied) -> Result<Committed, Fault> {
        if let Some((session, since)) = applied.unindexed {
            if self.marked.insert(session) {
                words::mark_unindexed(&self.connection, session, since)?;
            }
            self.unindexed += applied.committed.added;
        }
        Ok(applied.committed)
    }

    /// Moves the journal into the file.
    fn checkpoint(&mut self) {
        if std::mem::take(&mut self.journal) {
            // What cannot be moved now, because somebody reads it, is moved at the next chance.
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }

    /// Indexes a group if so many messages wait for that; whether more do, and can be indexed.
    fn index(&mut self, at: usize) -> bool {
        if self.unindexed < at {
            return false;
        }
        // A failure here leaves the messages marked: they are found by reading, and indexed at the next chance.
        let Ok(indexed) = words::index_some(&self.connection) else { return false };
        self.unindexed = self.unindexed.saturating_sub(indexed.messages);
        for session in &indexed.whole {
            self.marked.remove(session);
        }
        self.unindexed > 0 && indexed.messages > 0
    }

    /// Reads from the file what this thread keeps in mind.
    fn recount(&mut self) -> Result<()> {
        // To mark a session twice does no harm, to take it for marked would hide its messages from search.
        self.marked.clear();
        let read = || -> rusqlite::Result<_> {
            let marked = words::unindexed(&self.connection)?.into_iter().map(|(session, _)| session).collect();
            Ok((marked, words::unindexed_count(&self.connection)?))
        };
        let (marked, unindexed) = read().map_err(|cause| super::trouble::told(&self.path, cause))?;
        (self.marked, self.unindexed) = (marked, unindexed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SqliteOptions, schema};
    use super::*;
    use crate::ids::{At, Hash128, NodeId, SessionId, SessionKey, Tenant};
    use crate::message::{Message, Role};
    use crate::store::{Draft, Origin};
    use crate::tokens::Measure;

    fn desk(path: PathBuf) -> Desk {
        let connection = schema::open_writing(&SqliteOptions::new(&path)).unwrap();
        Desk { connection, path, marked: HashSet::new(), unindexed: 0, journal: true }
    }

    /// A session of so many messages, each so long.
    fn batch(count: u32, bytes: usize) -> Box<Batch> {
        let measure = Measure::of(&Message::text(&Role::User, ""), "gpt-5");
        let draft = |i: u32| Draft {
            message: Message::text(&Role::User, &format!("{i} {}", "x".repeat(bytes))),
            node: NodeId(Hash128::of("test", &[&i.to_le_bytes()])),
            at: At(0),
            origin: Origin::Import,
            measure,
        };
        let session = SessionKey { tenant: Tenant::local(), id: SessionId(Hash128([1; 16])) };
        Box::new(Batch { path: (0..count).map(draft).collect(), ..Batch::new(session) })
    }

    /// Whoever writes next waits for a group, however much was imported.
    #[test]
    fn between_two_orders_no_more_than_a_group_is_indexed() {
        for (count, bytes, group) in [(2_500, 10, 512), (300, 50_000, 6)] {
            let folder = tempfile::tempdir().unwrap();
            let mut desk = desk(folder.path().join("store.db"));
            desk.write(&[batch(count, bytes)]).unwrap();
            assert!(desk.index(INDEX_AT), "there is more");
            assert_eq!(desk.unindexed, count as usize - group);
            while desk.index(1) {}
            assert_eq!((desk.unindexed, desk.marked.len()), (0, 0));
            assert_eq!(words::unindexed_count(&desk.connection).unwrap(), 0);
            assert_eq!(words::first_gap(&desk.connection, &HashSet::new()).unwrap(), None);
            assert!(words::is_whole(&desk.connection).unwrap());
        }
    }
}
