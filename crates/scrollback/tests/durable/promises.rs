//! The promises a store makes, reported line by line by whoever received them, and the check that a file keeps every
//! one.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use scrollback::ids::Hash128;
use scrollback::log::Received;
use scrollback::store::{Keys, Kind, Scope, Span, Which};
use scrollback::{Error, Log, MessageId, SessionId, SessionKey, SqliteOptions, SqliteStore, Store, Tenant};

use crate::durable::{array, receive, said};

/// A message's JSON with a picture of so many bytes, which takes room but no counting of tokens.
pub(crate) fn shown(role: &str, text: &str, bytes: usize) -> String {
    let data = "iVBORw0KGgo+".repeat(bytes / 12);
    let picture =
        serde_json::json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
    serde_json::json!({"role": role, "content": [{"type": "text", "text": text}, picture]}).to_string()
}

/// The hash by which bytes are compared.
pub(crate) fn hash(raw: &str) -> Hash128 {
    Hash128::of("promised", &[raw.as_bytes()])
}

/// An error with its causes, for whoever reads a failed test.
pub(crate) fn explained(error: &Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Something a child reports; everything but an error was acknowledged by the store before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Report {
    /// A message with these bytes is stored, under this number if it is known.
    Message(SessionId, Option<MessageId>, Hash128),
    /// A note with these bytes is stored.
    Note(SessionId, String, Hash128),
    /// A session is about to be erased: from here on it may or may not be there.
    Forgetting(SessionId),
    /// A session is erased.
    Forgotten(SessionId),
    /// Something failed; what was said about it.
    Error(String),
    /// A thread panicked.
    Panic(String),
}

impl Report {
    /// A message that a log acknowledged as the last of a request.
    pub(crate) fn head(received: &Received, raw: &str) -> Self {
        Self::Message(received.session.id, received.head.map(|head| head.id), hash(raw))
    }

    /// One line.
    pub(crate) fn line(&self) -> String {
        let flat = |text: &str| text.replace('\n', " ");
        match self {
            Self::Message(session, Some(id), hash) => format!("message {session} {id} {hash}\n"),
            Self::Message(session, None, hash) => format!("message {session} - {hash}\n"),
            Self::Note(session, key, hash) => format!("note {session} {key} {hash}\n"),
            Self::Forgetting(session) => format!("forgetting {session}\n"),
            Self::Forgotten(session) => format!("forgotten {session}\n"),
            Self::Error(text) => format!("error {}\n", flat(text)),
            Self::Panic(text) => format!("panic {}\n", flat(text)),
        }
    }

    /// Reads a line; other lines (the test harness prints some) are `None`.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let session = || Some(SessionId(fields[0].parse().ok()?));
        match (word, fields.len()) {
            ("message", 3) => Some(Self::Message(session()?, fields[1].parse().ok(), fields[2].parse().ok()?)),
            ("note", 3) => Some(Self::Note(session()?, fields[1].to_owned(), fields[2].parse().ok()?)),
            ("forgetting", 1) => Some(Self::Forgetting(session()?)),
            ("forgotten", 1) => Some(Self::Forgotten(session()?)),
            ("error", _) => Some(Self::Error(rest.to_owned())),
            ("panic", _) => Some(Self::Panic(rest.to_owned())),
            _ => None,
        }
    }
}

/// Everything that was acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    messages: Vec<(SessionId, Option<MessageId>, Hash128)>,
    notes: HashMap<(SessionId, String), Hash128>,
    forgotten: HashSet<SessionId>,
}

impl Promises {
    /// Takes a report into account; an error promises nothing.
    pub(crate) fn take(&mut self, report: Report) {
        match report {
            Report::Message(session, id, hash) => self.messages.push((session, id, hash)),
            Report::Note(session, key, hash) => drop(self.notes.insert((session, key), hash)),
            Report::Forgetting(session) => {
                self.messages.retain(|(of, _, _)| *of != session);
                self.notes.retain(|(of, _), _| *of != session);
            }
            Report::Forgotten(session) => drop(self.forgotten.insert(session)),
            Report::Error(_) | Report::Panic(_) => {}
        }
    }

    /// How many messages were promised.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Opens a file after a mishap: everything promised is there byte for byte, nothing is there twice, the doctor has
    /// no complaint, and appending goes on. `mark` makes the appended message a new one.
    pub(crate) async fn hold_in(&self, path: &Path, mark: &str) -> Result<Report, String> {
        let told = |error: Error| explained(&error);
        let store = Arc::new(SqliteStore::open(&SqliteOptions::new(path)).map_err(told)?);
        let checkup = store.check(|_| {}).await.map_err(told)?;
        if checkup.problem_count > 0 {
            return Err(format!("the doctor says: {:?}", checkup.problems));
        }
        self.compare(&store).await?;
        let log = Log::new(store);
        let raw = said("user", &format!("And on it goes ({mark})."));
        let received = receive(&log, Some(&format!("after {mark}")), &array(std::slice::from_ref(&raw))).await;
        Ok(Report::head(&received.map_err(told)?, &raw))
    }

    async fn compare(&self, store: &SqliteStore) -> Result<(), String> {
        let told = |error: Error| explained(&error);
        let tenant = Tenant::local();
        let mut stored = HashMap::new();
        let mut seen = HashSet::new();
        let listed = store.sessions(&tenant, Which::Page { skip: 0, limit: 1_000_000 }).await.map_err(told)?;
        for session in &listed {
            let key = SessionKey { tenant: tenant.clone(), id: session.id };
            let all = Span::Arrival { from: MessageId(0), limit: 1_000_000 };
            for message in store.read(&key, all).await.map_err(told)? {
                let hash = hash(message.raw.get());
                if !seen.insert(hash) {
                    return Err(format!("{} of session {} is there twice", message.id, session.id));
                }
                stored.insert((session.id, hash), message.id);
            }
        }
        for (session, id, hash) in &self.messages {
            match stored.get(&(*session, *hash)) {
                None => return Err(format!("message {id:?} of session {session} was acknowledged and is gone")),
                Some(place) if id.is_some_and(|id| id != *place) => {
                    return Err(format!("message {id:?} of session {session} is now {place}"));
                }
                Some(_) => {}
            }
        }
        for ((session, key), promised) in &self.notes {
            let scope = Scope::Session(SessionKey { tenant: tenant.clone(), id: *session });
            let found = store.records(&scope, Kind::Note, Keys::One(key.clone())).await.map_err(told)?.pop();
            if found.is_none_or(|record| hash(record.body.get()) != *promised) {
                return Err(format!("note {key} of session {session} was acknowledged and is gone"));
            }
        }
        match listed.iter().find(|session| self.forgotten.contains(&session.id)) {
            Some(session) => Err(format!("session {} was erased and is back", session.id)),
            None => Ok(()),
        }
    }
}

/// Pseudo-random numbers from a seed (`SplitMix64`), so that a failed run can be had again.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}
