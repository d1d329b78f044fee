//! A few threads that read, each with a connection of its own, beside the one that writes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::schema;
use super::trouble::Fault;
use crate::error::{Error, Result};

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// A handle to the threads; dropping it waits for them to end.
#[derive(Debug)]
pub(super) struct Readers {
    questions: Mutex<Option<Sender<Question>>>,
    threads: Vec<JoinHandle<()>>,
    path: PathBuf,
}

impl Readers {
    pub(super) fn start(path: &Path, count: usize) -> Result<Self> {
        let (questions, inbox) = channel::<Question>();
        let inbox = Arc::new(Mutex::new(inbox));
        let mut threads = Vec::new();
        for _ in 0..count.max(1) {
            let (connection, inbox) = (schema::open_reading(path)?, inbox.clone());
            let thread = std::thread::Builder::new()
                .name("scrollback-reader".into())
                .spawn(move || while next(&inbox).map(|question| question(&connection)).is_some() {});
            threads.push(thread.map_err(|cause| Error::store("a reader thread could not be started", cause))?);
        }
        Ok(Self { questions: Mutex::new(Some(questions)), threads, path: path.to_owned() })
    }

    fn questions(&self) -> MutexGuard<'_, Option<Sender<Question>>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a question on a reading connection.
    pub(super) async fn ask<T, F>(&self, question: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (answer, outcome) = oneshot::channel();
        let task: Question = Box::new(move |connection| drop(answer.send(question(connection))));
        let closed = || Error::Store { what: "the store has been closed".into(), source: None };
        let sent = self.questions().as_ref().and_then(|questions| questions.send(task).ok());
        sent.ok_or_else(closed)?;
        outcome.await.map_err(|_| closed())?.map_err(|fault| fault.told(&self.path))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        *self.questions() = None;
        for thread in self.threads.drain(..) {
            // A reader that panicked has told its caller already.
            let _ = thread.join();
        }
    }
}

fn next(inbox: &Mutex<Receiver<Question>>) -> Option<Question> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
