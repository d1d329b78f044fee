//! Embeddings in the engine: messages are embedded when nobody waits for it, and a turn asks for the vector of its
//! question alone, for a short time; without it, words decide.
//!
//! Vectors are kept in blocks beside the messages, and those of sessions that were asked lately in memory. What was
//! read of a session is not read again: a turn reads the block that still grows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Engine;
use super::quotes::{spoken, voice_of};
use crate::embed::{Block, Code, EmbedSettings, Embedder, Row, Scan, Similar, Sought, TextKind, passages};
use crate::error::{Error, Result};
use crate::ids::{At, MessageId, SessionKey};
use crate::search::gather::Voice;
use crate::store::{Batch, Expect, Keys, Kind, Lineage, Origin, Put, Record, Scope, Span, Stored, Urgency};
use crate::task::unharmed;

/// How many blocks are read at once.
const BLOCKS: usize = 64;
/// How much of a question is embedded, in characters.
const QUESTION_CHARS: usize = 1_000;

/// What makes vectors, and those in mind.
pub(super) struct Meaning {
    embedder: Arc<dyn Embedder>,
    settings: EmbedSettings,
    held: Mutex<Held>,
}

/// The vectors in mind, and how often any were asked for.
#[derive(Default)]
struct Held {
    sessions: HashMap<SessionKey, Entry>,
    clock: u64,
}

struct Entry {
    read: Arc<tokio::sync::Mutex<Read>>,
    bytes: usize,
    used: u64,
}

/// What was read of a session.
#[derive(Default)]
struct Read {
    scan: Scan,
    /// When the session came into being that it was read of.
    arrived: i64,
    /// The key of the last block that will not grow, and how many vectors there are up to its end.
    full: Option<(String, usize)>,
}

impl Meaning {
    pub(super) fn new(embedder: Arc<dyn Embedder>, settings: EmbedSettings) -> Self {
        Self { embedder, settings, held: Mutex::default() }
    }

    /// Drops what is in mind of a session, or of all.
    pub(super) fn forget(&self, session: Option<crate::ids::SessionId>) {
        self.held().sessions.retain(|key, _| session.is_some_and(|session| session != key.id));
    }

    fn read_of(&self, session: &SessionKey) -> Arc<tokio::sync::Mutex<Read>> {
        let mut held = self.held();
        held.clock += 1;
        let used = held.clock;
        let entry = held.sessions.entry(session.clone());
        let entry = entry.or_insert_with(|| Entry { read: Arc::default(), bytes: 0, used });
        entry.used = used;
        entry.read.clone()
    }

    /// Takes note of what a session takes, and drops those that nobody asked for longest if it is too much in all.
    fn weigh(&self, session: &SessionKey, bytes: usize) {
        let mut held = self.held();
        if let Some(entry) = held.sessions.get_mut(session) {
            entry.bytes = bytes;
        }
        let most = self.settings.memory_megabytes << 20;
        while held.sessions.len() > 1 && held.sessions.values().map(|entry| entry.bytes).sum::<usize>() > most {
            let oldest = held.sessions.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            oldest.and_then(|key| held.sessions.remove(&key));
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, block: u32) -> String {
        Block::key(self.embedder.name(), block)
    }

    /// How many passages of a message are embedded.
    fn most(&self, stored: &Stored) -> usize {
        match voice_of(&stored.message()) {
            Voice::Person => self.settings.passages,
            Voice::Model => self.settings.reply_passages,
        }
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>> {
        unharmed("the embedder", async { self.embedder.embed(texts, kind).await }).await
    }

    /// The vectors of some messages.
    async fn rows(&self, messages: &[Stored]) -> Result<Vec<Row>> {
        let texts: Vec<(&Stored, String)> =
            messages.iter().filter_map(|stored| Some((stored, spoken(&stored.message())?))).collect();
        let pieces: Vec<(&Stored, &str)> = texts
            .iter()
            .flat_map(|(stored, text)| passages(text, self.most(stored)).into_iter().map(|piece| (*stored, piece)))
            .collect();
        let mut rows = Vec::with_capacity(pieces.len());
        for batch in pieces.chunks(self.settings.batch.max(1)) {
            let texts: Vec<&str> = batch.iter().map(|(_, piece)| *piece).collect();
            let vectors = self.embed(&texts, TextKind::Passage).await?;
            if vectors.len() != texts.len() {
                return Err(Error::Model { what: "the embedder left texts out".into(), source: None });
            }
            let row = |((stored, _), vector): (&(&Stored, &str), Vec<f32>)| {
                let position = stored.position()?;
                Some(Row { branch: position.branch, depth: position.depth, code: Code::of(&vector)? })
            };
            rows.extend(batch.iter().zip(vectors).filter_map(row));
        }
        Ok(rows)
    }
}

impl Engine {
    /// The same with embeddings: what turns quote is chosen by meaning too.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>, settings: EmbedSettings) -> Self {
        self.meaning = Some(Meaning::new(embedder, settings));
        self
    }

    /// What vectors are kept under; `None` without embeddings.
    pub fn embedder(&self) -> Option<&str> {
        self.meaning.as_ref().map(|meaning| meaning.embedder.name())
    }

    /// How near the messages of a path are to a question; `None` without embeddings, and if they are late or fail.
    pub(super) async fn similar(&self, session: &SessionKey, path: &Lineage, question: &str) -> Option<Similar> {
        let meaning = self.meaning.as_ref()?;
        let most = Duration::from_millis(meaning.settings.question_ms);
        let sought = tokio::time::timeout(most, self.compared(meaning, session, path, question));
        sought.await.ok()?.ok()?
    }

    async fn compared(
        &self,
        meaning: &Meaning,
        session: &SessionKey,
        path: &Lineage,
        question: &str,
    ) -> Result<Option<Similar>> {
        let question: String = question.chars().take(QUESTION_CHARS).collect();
        let texts = [question.as_str()];
        let embedding = meaning.embed(&texts, TextKind::Question);
        // What there is to read is read meanwhile; another turn of the session may need it before this one does.
        let reading = async { self.vectors(meaning, session).await.map(drop) };
        let (vectors, ready) = futures_util::future::join(embedding, reading).await;
        let (vectors, ()) = (vectors?, ready?);
        let read = self.vectors(meaning, session).await?;
        let Some(sought) = vectors.first().and_then(|vector| Sought::of(vector)) else { return Ok(None) };
        let path = path.clone();
        let compared = tokio::task::spawn_blocking(move || read.scan.similar(&sought, &path)).await;
        Ok(compared.ok().filter(|similar| !similar.is_empty()))
    }

    /// The vectors of a session as they are now. What was read stays read, even if nobody waits for the rest.
    async fn vectors(&self, meaning: &Meaning, session: &SessionKey) -> Result<tokio::sync::OwnedMutexGuard<Read>> {
        let mut read = meaning.read_of(session).lock_owned().await;
        // Another process may have erased what was read, and the session was begun again.
        let arrived = self.log.arrived(session).await;
        if read.arrived != arrived {
            *read = Read { arrived, ..Read::default() };
        }
        let (scope, kept_under) = (Scope::Session(session.clone()), Block::keys(meaning.embedder.name()));
        loop {
            let after = read.full.as_ref().map_or_else(|| kept_under.clone(), |(key, _)| key.clone());
            let records = self.store().records(&scope, Kind::Vectors, Keys::After(after, BLOCKS)).await?;
            let is_last = records.len() < BLOCKS;
            read.add(records.iter().take_while(|record| record.key.starts_with(&kept_under)));
            meaning.weigh(session, read.scan.bytes());
            if is_last || records.iter().any(|record| !record.key.starts_with(&kept_under)) {
                return Ok(read);
            }
        }
    }

    /// Embeds what was not embedded yet of a session, block by block. What is done when it fails stays done.
    pub fn embed_session<'a>(&'a self, session: &'a SessionKey, at: At) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let Some(meaning) = &self.meaning else { return Ok(()) };
            while self.embed_block(meaning, session, at).await? {}
            Ok(())
        })
    }

    /// Embeds the messages that follow, as many as their block takes; whether there may be more.
    async fn embed_block(&self, meaning: &Meaning, session: &SessionKey, at: At) -> Result<bool> {
        let (mut block, number, expect) = self.last_block(meaning, session).await?;
        let limit = Block::end(number).saturating_sub(block.upto) as usize;
        let messages = self.store().read(session, Span::Arrival { from: MessageId(block.upto), limit }).await?;
        let Some(last) = messages.iter().map(|stored| stored.id.0).max() else { return Ok(false) };
        // What stands for a damaged message means nothing.
        let sound: Vec<Stored> = messages.into_iter().filter(|stored| stored.origin != Origin::Damaged).collect();
        block.rows.extend(meaning.rows(&sound).await?);
        block.upto = last + 1;
        let put = Put::new(session, Kind::Vectors, meaning.key(number), at, &block.written()).expecting(expect);
        let batch = Batch { urgency: Urgency::Soon, ..Batch::of_records(session.clone(), vec![put]) };
        match self.store().commit(batch).await {
            Ok(_) => Ok(true),
            // Somebody else embeds the same.
            Err(Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The block that still grows, its number, and what must be there when it is written.
    async fn last_block(&self, meaning: &Meaning, session: &SessionKey) -> Result<(Block, u32, Expect)> {
        let kept_under = Block::keys(meaning.embedder.name());
        let beyond = Keys::Before(format!("{kept_under}~"), 1);
        let record = self.store().records(&Scope::Session(session.clone()), Kind::Vectors, beyond).await?.pop();
        let known = record.and_then(|record| {
            let number: u32 = record.key.strip_prefix(&kept_under)?.parse().ok()?;
            Some((Block::read(record.body.get()), number, record.version))
        });
        Ok(match known {
            None => (Block::default(), 0, Expect::Absent),
            Some((Ok(block), number, _)) if block.is_full() => (Block::empty(number + 1), number + 1, Expect::Absent),
            Some((Ok(block), number, version)) => (block, number, Expect::Version(version)),
            // What is damaged is made anew.
            Some((Err(_), number, version)) => (Block::empty(number), number, Expect::Version(version)),
        })
    }
}

impl Read {
    /// Adds blocks in the place of the one that still grew. What is damaged is passed over; the last may be made anew.
    fn add<'a>(&mut self, records: impl Iterator<Item = &'a Record>) {
        self.scan.truncate(self.full.as_ref().map_or(0, |(_, len)| *len));
        let mut records = records.peekable();
        while let Some(record) = records.next() {
            let block = Block::read(record.body.get());
            if let Ok(block) = &block {
                self.scan.add(block);
            }
            if block.map_or(records.peek().is_some(), |block| block.is_full()) {
                self.full = Some((record.key.clone(), self.scan.len()));
            }
        }
    }
}
