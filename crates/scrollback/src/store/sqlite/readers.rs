//! A few threads that read, each with a connection of its own, beside the one that writes.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::schema;
use super::trouble::Fault;
use crate::error::{Error, Result};

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// What is asked and not answered yet. One question wakes one thread; of those that wait for the lock of a channel,
/// each one that takes a question would wake the next.
#[derive(Default)]
struct Inbox {
    waiting: Mutex<Waiting>,
    asked: Condvar,
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Waiting {
    questions: VecDeque<Question>,
    closed: bool,
}

impl Inbox {
    fn put(&self, question: Question) {
        self.waiting().questions.push_back(question);
        self.asked.notify_one();
    }

    /// The next question, as soon as there is one; `None` once there will be no more.
    fn next(&self) -> Option<Question> {
        let idle = |waiting: &mut Waiting| waiting.questions.is_empty() && !waiting.closed;
        let waiting = self.asked.wait_while(self.waiting(), idle);
        waiting.unwrap_or_else(PoisonError::into_inner).questions.pop_front()
    }

    fn close(&self) {
        self.waiting().closed = true;
        self.asked.notify_all();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle to the threads; dropping it lets them answer what was asked and end.
#[derive(Debug)]
pub(super) struct Readers {
    inbox: Arc<Inbox>,
    /// A connection for questions so short that a change of threads would take longer than the answer.
    near: Mutex<Connection>,
    threads: Vec<JoinHandle<()>>,
    path: PathBuf,
}

impl Readers {
    pub(super) fn start(path: &Path, count: usize) -> Result<Self> {
        let near = Mutex::new(schema::open_reading(path)?);
        let mut readers = Self { inbox: Arc::default(), near, threads: Vec::new(), path: path.to_owned() };
        for _ in 0..count.max(1) {
            let (connection, inbox) = (schema::open_reading(path)?, readers.inbox.clone());
            let thread = std::thread::Builder::new()
                .name("scrollback-reader".into())
                .spawn(move || answer(&inbox, &connection))
                .map_err(|cause| Error::store("a reader thread could not be started", cause))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Answers a short question on the spot, unless another is being answered so.
    pub(super) async fn ask_briefly<T, F>(&self, question: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        if let Ok(near) = self.near.try_lock() {
            return question(&near).map_err(|fault| fault.told(&self.path));
        }
        self.ask(question).await
    }

    /// Runs a question on a reading connection.
    pub(super) async fn ask<T, F>(&self, question: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (answer, outcome) = oneshot::channel();
        self.inbox.put(Box::new(move |connection| drop(answer.send(question(connection)))));
        let broken = |_| Error::Store { what: "a fault of ours kept the store from being read".into(), source: None };
        outcome.await.map_err(broken)?.map_err(|fault| fault.told(&self.path))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.inbox.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has no connection open any more.
            let _ = thread.join();
        }
    }
}

/// Answers what is asked until there is no more. A question that panics fails alone: its thread goes on with the next.
fn answer(inbox: &Inbox, connection: &Connection) {
    while let Some(question) = inbox.next() {
        let _ = catch_unwind(AssertUnwindSafe(|| question(connection)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SqliteOptions;

    #[tokio::test]
    async fn a_question_that_panics_fails_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log.db");
        drop(schema::open_writing(&SqliteOptions::new(&path)).unwrap());
        let readers = Readers::start(&path, 2).unwrap();
        for _ in 0..4 {
            let failed = readers.ask(|_| -> Result<u32, Fault> { panic!("a fault of ours") }).await;
            assert!(failed.unwrap_err().to_string().contains("a fault of ours kept"));
        }
        for i in 0..4 {
            assert_eq!(readers.ask(move |_| Ok(i)).await.unwrap(), i);
        }
    }
}
