//! Queued work: what is to be done, for which conversation, and how far it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{At, SessionId, SessionKey, Tenant};
use crate::store::{Position, Record};

/// What the keys of queued work begin with.
pub(super) const WORK: &str = "work/";

/// How long a claim counts; clocks of several machines differ by less.
pub(super) const LEASE_MICROSECONDS: i64 = 120_000_000;
/// How long work that failed waits at most.
pub(super) const MOST_PAUSE_MICROSECONDS: i64 = 3_600_000_000;

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// What can wait after a turn: digests, sorting, notes that the next fold will need.
    Tidy,
    /// Messages that were not read for rules yet.
    Rules,
    /// Messages that were not embedded yet.
    Embed,
    /// Folded messages that no summary and no document tells of yet.
    Tell,
}

impl JobKind {
    /// Its name, as records write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tidy => "tidy",
            Self::Rules => "rules",
            Self::Embed => "embed",
            Self::Tell => "tell",
        }
    }
}

impl fmt::Display for JobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Work to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What kind of work it is.
    pub kind: JobKind,
    /// The conversation it is for.
    pub session: SessionId,
    /// The end of the path it is for.
    pub head: Position,
    /// How windows of that path are laid out.
    pub layout: String,
    /// How many tokens such a window may have.
    pub budget: u32,
    /// The model that is shown them.
    pub model: String,
    /// Whether it can recall; records of earlier versions do not tell.
    #[serde(default = "can_recall")]
    pub recalls: bool,
}

fn can_recall() -> bool {
    true
}

impl Job {
    /// Under which key it is kept: the same work is there only once.
    pub(super) fn key(&self) -> String {
        format!("{WORK}{}/{}/{}/{}", self.kind, self.session, self.head.branch.0, self.layout)
    }
}

/// The conversation that a key names; `None` if it is no key of work.
pub(super) fn session_in(key: &str) -> Option<&str> {
    key.strip_prefix(WORK)?.split('/').nth(1).filter(|session| !session.is_empty())
}

/// How far work is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Nobody has it.
    Waiting {
        /// When it is due.
        not_before: At,
    },
    /// Somebody has it.
    Claimed {
        /// Until when, unless they say more.
        until: At,
    },
    /// It is done.
    Done,
    /// It was tried often enough.
    Failed {
        /// Why it failed the last time.
        reason: String,
    },
}

impl JobState {
    /// When it may be claimed; never if it came to an end.
    pub fn due(&self) -> Option<At> {
        self.wait().map(|wait| wait.until)
    }

    /// How long it has to wait; `None` if it came to an end.
    pub(super) fn wait(&self) -> Option<Wait> {
        match self {
            Self::Waiting { not_before: until } => Some(Wait { until: *until, most: MOST_PAUSE_MICROSECONDS }),
            Self::Claimed { until } => Some(Wait { until: *until, most: LEASE_MICROSECONDS }),
            Self::Done | Self::Failed { .. } => None,
        }
    }
}

/// Until when work waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) until: At,
    /// How long any such wait is at most, in microseconds.
    most: i64,
}

impl Wait {
    /// Whether it is over. What lies further ahead than it may was noted by a clock that has gone back since.
    pub(super) fn is_over(self, now: At) -> bool {
        self.until <= now || self.until.0.saturating_sub(now.0) > self.most + LEASE_MICROSECONDS
    }
}

/// Work as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) job: Job,
    pub(super) state: JobState,
    /// How often it was begun.
    pub(super) tries: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_error: Option<String>,
    /// What was asked for while somebody had it; it is done next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) again: Option<Job>,
}

impl Kept {
    /// Work that nobody has begun.
    pub(super) fn new(job: Job, at: At) -> Self {
        Self { job, state: JobState::Waiting { not_before: at }, tries: 0, last_error: None, again: None }
    }

    /// Reads a record. What a newer version wrote may not be understood, and is left to it.
    pub(super) fn read(record: &Record) -> Option<Self> {
        serde_json::from_str(record.body.get()).ok()
    }
}

/// The word that somebody may do some work now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The work.
    pub job: Job,
    /// How often it was begun, this time included.
    pub tries: u32,
    pub(super) tenant: Tenant,
    /// Until when it was claimed: the record says the same as long as nobody else has it.
    pub(super) until: At,
    pub(super) last_error: Option<String>,
}

impl Claimed {
    /// The conversation it is for.
    pub fn session(&self) -> SessionKey {
        SessionKey { tenant: self.tenant.clone(), id: self.job.session }
    }

    pub(super) fn kept(&self, state: JobState) -> Kept {
        Kept { job: self.job.clone(), state, tries: self.tries, last_error: self.last_error.clone(), again: None }
    }

    /// Whether a record is still that of this claim.
    pub(super) fn holds(&self, kept: &Kept) -> bool {
        kept.state == JobState::Claimed { until: self.until } && kept.tries == self.tries
    }
}

/// Work as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobLine {
    /// What kind of work it is.
    pub kind: JobKind,
    /// The conversation it is for.
    pub session: SessionId,
    /// How windows of its path are laid out.
    pub layout: String,
    /// How far it is.
    pub state: JobState,
    /// How often it was begun.
    pub tries: u32,
    /// Why it failed the last time.
    pub last_error: Option<String>,
    /// When it was last heard of.
    pub at: At,
}

impl JobLine {
    pub(super) fn of(record: &Record) -> Option<Self> {
        let Kept { job, state, tries, last_error, again: _ } = Kept::read(record)?;
        let (kind, session, layout) = (job.kind, job.session, job.layout);
        Some(Self { kind, session, layout, state, tries, last_error, at: record.at })
    }
}
