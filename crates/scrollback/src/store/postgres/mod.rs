//! The store in PostgreSQL, which any number of nodes may share.
//!
//! Every batch is one short transaction under a lock of its session's row, so that numbers have no gaps and two nodes
//! never write at once to one session. `connect` is the way there, `schema` migrates; `append` (with `plan`, which
//! decides, `write` and `pieces`) and `query` are the log, `listing` is sessions and records, `words` the search index,
//! `sought` asks it, `forget` erases, `doctor` checks, `trouble` says what went wrong.

mod append;
mod attempt;
mod connect;
mod doctor;
mod forget;
mod listing;
mod parcel;
mod pieces;
mod plan;
mod query;
mod rows;
mod schema;
mod sought;
mod trouble;
mod words;
mod write;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use deadpool_postgres::Pool;
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use attempt::{Lent, Repeat};
use connect::Address;

use super::{Batch, Committed, Forget, Keys, Kind, Known, Matches, Record, Scope, Session, Span, Store, Stored, Which};
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, NodeId, SessionKey, Tenant};
use crate::search::{Probe, Reach};

/// Batches of sessions that fall on the same of so many queues are written one after the other.
const QUEUES: usize = 256;
/// How to reach a database, and how much to ask of it.
#[derive(Clone)]
pub struct PostgresOptions {
    /// Its address: `postgres://user:password@host:5432/database`. `sslmode=verify-full` (with `sslrootcert`) has it
    /// prove who it is; several hosts with `target_session_attrs=read-write` find the primary.
    pub url: String,
    /// The most connections that are held at once.
    pub connections: usize,
    /// How long somebody waits for one of them.
    pub wait: Duration,
    /// How long a statement may take.
    pub timeout: Duration,
    /// How long is tried again while the database is away, before the work is refused.
    pub patience: Duration,
    /// Addresses of replicas, for searches over everything and lists of sessions, which may be a moment old.
    pub replicas: Vec<String>,
}

impl PostgresOptions {
    /// The usual choice for an address.
    pub fn new(url: impl Into<String>) -> Self {
        let [wait, timeout, patience] = [5, 10, 5].map(Duration::from_secs);
        Self { url: url.into(), connections: 16, wait, timeout, patience, replicas: Vec::new() }
    }
}

/// Shown without the password.
impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = Address::read(&self.url).map_or_else(|_| "unreadable".to_owned(), |address| address.place());
        let mut shown = f.debug_struct("PostgresOptions");
        shown.field("place", &place).field("connections", &self.connections).field("wait", &self.wait);
        shown.field("timeout", &self.timeout).field("patience", &self.patience);
        shown.field("replicas", &self.replicas.len()).finish_non_exhaustive()
    }
}

/// Keeps everything in a PostgreSQL database.
pub struct PostgresStore {
    pool: Pool,
    replicas: Vec<Pool>,
    /// Which of them is asked next.
    turn: AtomicUsize,
    place: String,
    options: PostgresOptions,
    /// This process's number among all that ever wrote; `None` if it only reads.
    writer: Option<i64>,
    /// Batches of one session are written in the order they came.
    queues: Vec<Mutex<()>>,
    /// Whether the last try found nobody there; then nobody is kept waiting for it.
    away: AtomicBool,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore")
            .field("place", &self.place)
            .field("writer", &self.writer)
            .finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects, brings the tables up to date, and writes from then on.
    pub fn open(options: &PostgresOptions) -> BoxFuture<'_, Result<Self>> {
        Box::pin(async move {
            let mut store = Self::unchecked(options)?;
            let migrate = |mut client: Lent| async move {
                let writer = schema::migrate(&mut client).await;
                client.back(writer)
            };
            store.writer = Some(store.attempt(migrate, Repeat::FREELY).await?);
            Ok(store)
        })
    }

    /// Connects for reading only.
    pub fn open_reading(options: &PostgresOptions) -> BoxFuture<'_, Result<Self>> {
        Box::pin(async move {
            let store = Self::unchecked(options)?;
            let check = |mut client: Lent| async move {
                let checked = schema::check(&mut client).await;
                client.back(checked)
            };
            store.ask(check).await?;
            Ok(store)
        })
    }

    fn unchecked(options: &PostgresOptions) -> Result<Self> {
        let address = Address::read(&options.url)?;
        let place = address.place();
        let queues = std::iter::repeat_with(Mutex::default).take(QUEUES).collect();
        let of_replica = |url: &String| Address::read(url).and_then(|address| address.pool(options));
        let replicas = options.replicas.iter().map(of_replica).collect::<Result<_>>().map_err(as_replica)?;
        let (pool, options) = (address.pool(options)?, options.clone());
        let (turn, away) = Default::default();
        Ok(Self { pool, replicas, turn, place, options, writer: None, queues, away })
    }

    /// The database in words, without its password.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// How many connections there are, and how many of them nobody uses.
    pub fn connections(&self) -> (usize, usize) {
        let status = self.pool.status();
        (status.size, status.available)
    }

    fn writer(&self) -> Result<i64> {
        let read_only = || Error::Store { what: format!("{} was opened for reading only", self.place), source: None };
        self.writer.ok_or_else(read_only)
    }

    /// Tells whether anybody else wrote to a session, and whether a place is there.
    async fn verify(&self, batch: &Batch, writer: i64) -> Result<Committed> {
        self.ask(|client| async move {
            let found = append::verify(&client, batch, writer).await;
            client.back(found)
        })
        .await
    }

    /// The queue of a session's batches.
    fn queue(&self, session: &SessionKey) -> &Mutex<()> {
        &self.queues[usize::from(session.id.0.0[0]) % QUEUES]
    }
}

/// What is wrong with the address of a replica, and not of the database itself.
fn as_replica(error: Error) -> Error {
    if let Error::Invalid(what) = &error { Error::Invalid(format!("a replica: {what}")) } else { error }
}

#[async_trait]
impl Store for PostgresStore {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        let (writer, batch) = (self.writer()?, &batch);
        if batch.is_empty() && batch.title.is_none() {
            return self.verify(batch, writer).await;
        }
        let (asked, repeat) = (Instant::now(), Repeat::of(batch));
        let turn = self.turn(&batch.session, repeat).await?;
        let committed = self.attempt(
            |mut client| async move {
                let done = append::commit(&mut client, batch, writer).await;
                client.back(done)
            },
            repeat.asked_at(asked),
        );
        let committed = committed.await?;
        drop(turn);
        if batch.is_empty() { self.verify(batch, writer).await } else { Ok(committed) }
    }

    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
        let chain = &chain;
        self.ask(|client| async move {
            let found = query::prefix(&client, session, from, chain).await;
            client.back(found)
        })
        .await
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        let span = &span;
        self.ask(|client| async move {
            let found = query::read(&client, session, span).await;
            client.back(found)
        })
        .await
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        let probe = &probe;
        let search = |client: Lent| async move {
            let found = sought::matching(&client, tenant, probe).await;
            client.back(found)
        };
        // What a conversation may see of itself is never old; neither is what it is recognised by.
        match probe.reach {
            Reach::Everywhere | Reach::Beginnings => self.ask_anywhere(search).await,
            Reach::Undeclared | Reach::Session(_) | Reach::Path(..) | Reach::Upto(..) => self.ask(search).await,
        }
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        let keys = &keys;
        self.ask(|client| async move {
            let found = listing::records(&client, scope, kind, keys).await;
            client.back(found)
        })
        .await
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        let which = &which;
        let list = |client: Lent| async move {
            let found = listing::sessions(&client, tenant, which).await;
            client.back(found)
        };
        match which {
            Which::Page { .. } | Which::Named { .. } | Which::Titled { .. } => self.ask_anywhere(list).await,
            Which::Id(_) => self.ask(list).await,
        }
    }
}

#[async_trait]
impl Forget for PostgresStore {
    async fn forget(&self, session: &SessionKey) -> Result<u32> {
        self.writer()?;
        let _turn = self.turn(session, Repeat::FREELY).await?;
        let erasing = &OnceLock::new();
        self.attempt(
            |mut client| async move {
                let done = forget::forget(&mut client, session, erasing).await;
                client.back(done)
            },
            Repeat::FREELY,
        )
        .await
    }

    async fn forget_results(&self, session: &SessionKey, results: &[MessageId], at: At) -> Result<u32> {
        let (writer, repeat) = (self.writer()?, Repeat::IF_UNDONE.in_pieces(results.len()));
        let _turn = self.turn(session, repeat).await?;
        let erasing = &OnceLock::new();
        self.attempt(
            |mut client| async move {
                let done = forget::forget_results(&mut client, (session, writer), (results, erasing), at).await;
                client.back(done)
            },
            repeat,
        )
        .await
    }
}
