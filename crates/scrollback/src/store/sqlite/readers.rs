//! A few threads that read, each with a connection of its own, beside the one that writes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::schema;
use super::trouble::Fault;
use crate::error::{Error, Result};

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// A handle to the threads; dropping it lets them answer what was asked and end.
#[derive(Debug)]
pub(super) struct Readers {
    questions: Option<Mutex<Sender<Question>>>,
    /// A connection for questions so short that a change of threads would take longer than the answer.
    near: Mutex<Connection>,
    threads: Vec<JoinHandle<()>>,
    path: PathBuf,
}

impl Readers {
    pub(super) fn start(path: &Path, count: usize) -> Result<Self> {
        let (questions, inbox) = channel::<Question>();
        let inbox = Arc::new(Mutex::new(inbox));
        let near = Mutex::new(schema::open_reading(path)?);
        let questions = Some(Mutex::new(questions));
        let mut readers = Self { questions, near, threads: Vec::new(), path: path.to_owned() };
        for _ in 0..count.max(1) {
            let (connection, inbox) = (schema::open_reading(path)?, inbox.clone());
            let thread = std::thread::Builder::new()
                .name("scrollback-reader".into())
                .spawn(move || while next(&inbox).map(|question| question(&connection)).is_some() {})
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
        let task: Question = Box::new(move |connection| drop(answer.send(question(connection))));
        let closed = || Error::Store { what: "the store has been closed".into(), source: None };
        let questions = self.questions.as_ref().ok_or_else(closed)?;
        questions.lock().unwrap_or_else(PoisonError::into_inner).send(task).map_err(|_| closed())?;
        outcome.await.map_err(|_| closed())?.map_err(|fault| fault.told(&self.path))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.questions = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has no connection open any more.
            let _ = thread.join();
        }
    }
}

fn next(inbox: &Mutex<Receiver<Question>>) -> Option<Question> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
