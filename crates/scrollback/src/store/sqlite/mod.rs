//! The store in one SQLite file.
//!
//! One thread writes (`writer`), a few read (`readers`); SQLite's write-ahead log lets them work side by side. One
//! process writes at a time, held by a lock file, while any number may read. `schema` opens and migrates, `append` and
//! `query` are the log, `words` is the search index, `doctor` checks a whole file, `backup` copies it, `forget` erases,
//! `parcel` moves.

mod append;
mod backup;
mod doctor;
mod forget;
mod fresh;
mod parcel;
mod query;
mod readers;
mod rows;
mod schema;
mod sought;
mod trouble;
mod words;
mod writer;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use rusqlite::Connection;

pub use backup::sweep_parts;
use readers::Readers;
use writer::Writer;

use super::{Batch, Committed, Forget, Keys, Kind, Known, Matches, Record, Scope, Session, Span, Store, Stored, Which};
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, NodeId, SessionKey, Tenant};
use crate::search::Probe;

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the disk: survives loss of power.
    Full,
    /// When it is with the operating system: survives the death of the process, not of the machine.
    Normal,
}

/// How to open a file.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The file.
    pub path: PathBuf,
    /// When a commit counts as done.
    pub durability: Durability,
    /// How many threads read.
    pub readers: usize,
}

impl SqliteOptions {
    /// The usual choice for a file: fully durable, two readers.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), durability: Durability::Full, readers: 2 }
    }
}

/// Keeps everything in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped in this order: the writer closes the file last, which empties the journal, and then gives up the lock.
    readers: Readers,
    writer: Option<Writer>,
    fresh: Arc<fresh::Fresh>,
    path: PathBuf,
    _lock: Option<File>,
}

impl SqliteStore {
    /// Opens a file for reading and writing, creating it (for its owner alone) if it does not exist.
    pub fn open(options: &SqliteOptions) -> Result<Self> {
        let path = &options.path;
        trouble::no_folder(path)?;
        create_private(path)?;
        let lock = lock(path)?;
        let connection = schema::open_writing(options)?;
        let readers = Readers::start(path, options.readers)?;
        let writer = Writer::start(connection, path.clone())?;
        Ok(Self { readers, writer: Some(writer), fresh: Arc::default(), path: path.clone(), _lock: Some(lock) })
    }

    /// Opens a file for reading only, beside whichever process writes to it.
    pub fn open_reading(options: &SqliteOptions) -> Result<Self> {
        let path = &options.path;
        if !path.exists() {
            return Err(Error::NotFound(format!("there is no store at {} yet", path.display())));
        }
        trouble::no_folder(path)?;
        let readers = Readers::start(path, options.readers)?;
        Ok(Self { readers, writer: None, fresh: Arc::default(), path: path.clone(), _lock: None })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn writer(&self) -> Result<&Writer> {
        let read_only =
            || Error::Store { what: format!("{} was opened for reading only", self.path.display()), source: None };
        self.writer.as_ref().ok_or_else(read_only)
    }

    /// Builds the search index anew.
    pub fn reindex(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.writer()?.run(Box::new(|connection| words::rebuild(connection).map(|()| 0))).await.map(drop)
        })
    }

    /// Takes out derived records that are not what was written, and returns how many.
    pub fn drop_damaged(&self) -> BoxFuture<'_, Result<u32>> {
        Box::pin(async move { self.writer()?.run(Box::new(|connection| forget::drop_damaged(connection, None))).await })
    }

    /// Writes the file anew, whether or not something was erased from it.
    pub fn rewrite(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.writer()?.run(Box::new(|connection| forget::rewrite(connection).map(|()| 0))).await.map(drop)
        })
    }
}

/// Creates the file so that only its owner can read it; the journal beside it inherits that.
fn create_private(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    private().open(path).map(drop).map_err(|cause| trouble::refused(path, "created", cause))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The lock of a file. It has one, whatever symbolic links lead to it.
fn lock_of(path: &Path) -> PathBuf {
    let own = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    PathBuf::from(format!("{}.lock", own.display()))
}

/// Takes the right to write. The lock ends with the process, however it ends.
fn lock(path: &Path) -> Result<File> {
    let failed = |cause| trouble::refused(path, "locked", cause);
    let mut file = private().open(lock_of(path)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            // Who holds it is told for courtesy; on a full disk the lock holds without.
            let _ = file.set_len(0).and_then(|()| write!(file, "process {}", std::process::id()));
            Ok(file)
        }
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let read = file.read_to_string(&mut holder);
            let holder = if read.is_ok() && !holder.is_empty() { holder } else { "unknown".into() };
            Err(Error::InUse { path: path.to_owned(), holder })
        }
        Err(std::fs::TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        let writer = self.writer()?;
        let is_nothing = batch.is_empty() && batch.title.is_none();
        if is_nothing { Ok(Committed::default()) } else { writer.commit(batch).await }
    }

    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
        let session = session.clone();
        let question = move |connection: &Connection| {
            let moment = connection.unchecked_transaction()?;
            query::prefix(&moment, &session, from, &chain)
        };
        self.readers.ask_briefly(question).await
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        let session = session.clone();
        let brief = matches!(span, Span::Last | Span::End(_) | Span::Forks(_) | Span::After(_));
        // Of one moment, however many statements it takes: a number that is free again may be another session's.
        let question = move |connection: &Connection| {
            let moment = connection.unchecked_transaction()?;
            query::read(&moment, &session, &span)
        };
        if brief { self.readers.ask_briefly(question).await } else { self.readers.ask(question).await }
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        let (tenant, fresh) = (tenant.clone(), self.fresh.clone());
        self.readers.ask(move |connection| sought::matching(connection, &fresh, &tenant, &probe)).await
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        let scope = scope.clone();
        let brief = matches!(keys, Keys::One(_) | Keys::After(_, 0..=4) | Keys::Before(_, 0..=4));
        let question = move |connection: &Connection| query::records(connection, &scope, kind, &keys);
        if brief { self.readers.ask_briefly(question).await } else { self.readers.ask(question).await }
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        let tenant = tenant.clone();
        self.readers.ask(move |connection| query::sessions(connection, &tenant, &which)).await
    }
}

#[async_trait]
impl Forget for SqliteStore {
    async fn forget(&self, session: &SessionKey) -> Result<u32> {
        let session = session.clone();
        let erased = self.writer()?.run(Box::new(move |connection| forget::forget(connection, &session))).await;
        self.fresh.forget();
        erased
    }

    async fn forget_results(&self, session: &SessionKey, results: &[MessageId], at: At) -> Result<u32> {
        let (session, results) = (session.clone(), results.to_vec());
        let erase = move |connection: &mut Connection| forget::forget_results(connection, &session, &results, at);
        let erased = self.writer()?.run(Box::new(erase)).await;
        self.fresh.forget();
        erased
    }

    async fn wipe(&self) -> Result<()> {
        self.writer()?.run(Box::new(|connection| forget::wipe(connection).map(|()| 0))).await.map(drop)
    }
}
