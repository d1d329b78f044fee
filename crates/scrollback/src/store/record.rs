//! Records: everything derived, under a scope, a kind and a key, with a version for those who write at the same time.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::ids::{At, SessionKey, Tenant};

/// Whose record it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A session's.
    Session(SessionKey),
    /// A tenant's.
    Tenant(Tenant),
}

impl Scope {
    pub(crate) fn session(&self) -> Option<&SessionKey> {
        match self {
            Self::Session(key) => Some(key),
            Self::Tenant(_) => None,
        }
    }

    pub(crate) fn tenant(&self) -> &Tenant {
        match self {
            Self::Session(key) => &key.tenant,
            Self::Tenant(tenant) => tenant,
        }
    }

    /// The session part of a record's key; a tenant's own records have none.
    pub(crate) fn session_bytes(&self) -> Vec<u8> {
        self.session().map(|key| key.id.0.0.to_vec()).unwrap_or_default()
    }
}

/// The kinds of derived records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A note that covers messages.
    Note,
    /// The record of a window.
    View,
    /// Something that happened.
    Event,
    /// Work to be done.
    Job,
    /// A choice somebody made.
    Setting,
    /// What a call cost.
    Ledger,
    /// What was learned about how a model counts tokens.
    Calibration,
    /// Which message a provider's response id stands for.
    Response,
    /// What a client never saw of a reply: calls of ours and their results.
    Round,
    /// What messages mean, as vectors of one embedder.
    Vectors,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Note,
        Self::View,
        Self::Event,
        Self::Job,
        Self::Setting,
        Self::Ledger,
        Self::Calibration,
        Self::Response,
        Self::Round,
        Self::Vectors,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::View => "view",
            Self::Event => "event",
            Self::Job => "job",
            Self::Setting => "setting",
            Self::Ledger => "ledger",
            Self::Calibration => "calibration",
            Self::Response => "response",
            Self::Round => "round",
            Self::Vectors => "vectors",
        }
    }
}

/// Which records to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// The one with this key.
    One(String),
    /// Those whose keys begin like this, in order; no others are looked at.
    Under(String),
    /// Those with greater keys, so many at most. Every key is greater than the empty one.
    After(String, usize),
    /// Those with smaller keys, so many at most, the greatest first. Every key is smaller than the empty one.
    Before(String, usize),
}

/// A derived record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its key within scope and kind.
    pub key: String,
    /// How often it was written, from 1.
    pub version: u64,
    /// When it was last written.
    pub at: At,
    /// What it says.
    pub body: Box<RawValue>,
}

impl Record {
    /// What it says, read.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        let damaged = |cause| Error::Damaged(format!("the record “{}” is unreadable: {cause}", self.key));
        serde_json::from_str(self.body.get()).map_err(damaged)
    }
}

/// A record to write.
#[derive(Clone, Debug)]
pub struct Put {
    /// Whose.
    pub scope: Scope,
    /// Of which kind.
    pub kind: Kind,
    /// Under which key.
    pub key: String,
    /// When.
    pub at: At,
    /// What.
    pub body: Box<RawValue>,
    /// What must be there before; otherwise the whole batch is refused as a conflict.
    pub expect: Expect,
}

impl Put {
    /// A session's record, whatever was there before.
    pub(crate) fn new(session: &SessionKey, kind: Kind, key: String, at: At, body: &impl Serialize) -> Self {
        Self::of(Scope::Session(session.clone()), kind, key, at, body)
    }

    /// A tenant's own record, whatever was there before.
    pub(crate) fn of_tenant(tenant: &Tenant, kind: Kind, key: String, at: At, body: &impl Serialize) -> Self {
        Self::of(Scope::Tenant(tenant.clone()), kind, key, at, body)
    }

    fn of(scope: Scope, kind: Kind, key: String, at: At, body: &impl Serialize) -> Self {
        let body = serde_json::value::to_raw_value(body).expect("our own types are valid JSON");
        Self { scope, kind, key, at, body, expect: Expect::Any }
    }

    /// The same, if this was there before.
    #[must_use]
    pub(crate) fn expecting(self, expect: Expect) -> Self {
        Self { expect, ..self }
    }
}

/// What a record must be before it is written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Anything.
    Any,
    /// Not there.
    Absent,
    /// At this version.
    Version(u64),
}

impl Expect {
    /// The version that must be there, 0 for none and -1 for any.
    #[cfg(feature = "postgres")]
    pub(crate) fn version(self) -> i64 {
        match self {
            Self::Any => -1,
            Self::Absent => 0,
            Self::Version(version) => version.cast_signed(),
        }
    }

    /// Whether a record at `version` (0: none) may be written over.
    pub(crate) fn allows(self, version: u64) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => version == 0,
            Self::Version(expected) => version == expected,
        }
    }
}
