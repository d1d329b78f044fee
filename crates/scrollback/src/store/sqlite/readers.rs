//! A few threads that read, each with a connection of its own, beside the one that writes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::schema;
use super::trouble::Fault;
use crate::error::{Error, Result};

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// A handle to the threads; they end when it is dropped.
#[derive(Debug)]
pub(super) struct Readers {
    questions: Mutex<Sender<Question>>,
    path: PathBuf,
}

impl Readers {
    pub(super) fn start(path: &Path, count: usize) -> Result<Self> {
        let (questions, inbox) = channel::<Question>();
        let inbox = Arc::new(Mutex::new(inbox));
        for _ in 0..count.max(1) {
            let (connection, inbox) = (schema::open_reading(path)?, inbox.clone());
            std::thread::Builder::new()
                .name("scrollback-reader".into())
                .spawn(move || while next(&inbox).map(|question| question(&connection)).is_some() {})
                .map_err(|cause| Error::store("a reader thread could not be started", cause))?;
        }
        Ok(Self { questions: Mutex::new(questions), path: path.to_owned() })
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
        self.questions.lock().unwrap_or_else(PoisonError::into_inner).send(task).map_err(|_| closed())?;
        outcome.await.map_err(|_| closed())?.map_err(|fault| fault.told(&self.path))
    }
}

fn next(inbox: &Mutex<Receiver<Question>>) -> Option<Question> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
