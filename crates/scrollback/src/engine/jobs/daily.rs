//! Work that happens once a day, whatever process is there to do it: a record says when it is due next and who has it
//! now.
//!
//! Whoever finds it due claims it for a while, only if nobody else has meanwhile; a claim that is neither renewed nor
//! done in time counts for nothing, so that a crashed run is done again.

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::super::Engine;
use crate::error::{Error, Result};
use crate::ids::{At, Tenant};
use crate::store::{Batch, Expect, Kind, Put, Scope, Store};

const HOUR_MICROSECONDS: i64 = 3_600_000_000;
const DAY_MICROSECONDS: i64 = 24 * HOUR_MICROSECONDS;
/// How long a claim counts; clocks of several machines differ by less.
const LEASE_MICROSECONDS: i64 = HOUR_MICROSECONDS;

/// Work that is due once a day at some hour, for one tenant.
#[derive(Clone, Copy)]
pub struct Daily<'a> {
    store: &'a dyn Store,
    tenant: &'a Tenant,
    name: &'static str,
    hour: u32,
}

/// The word that somebody may do the work now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// When the work was last done.
    pub last: Option<At>,
    version: u64,
    next: At,
}

/// When work is due, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Job {
    next: At,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<At>,
    /// Until when somebody has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed: Option<At>,
}

impl Engine {
    /// The daily review of topics, at an hour UTC.
    pub fn daily_review<'a>(&'a self, tenant: &'a Tenant, hour: u32) -> Daily<'a> {
        Daily { store: self.store(), tenant, name: "review", hour }
    }
}

impl Daily<'_> {
    /// Claims the work if it is due and nobody has it. The first time it only says when it will be.
    pub fn due(&self, now: At) -> BoxFuture<'_, Result<Option<Claim>>> {
        Box::pin(async move {
            let Some((job, version)) = self.job().await? else {
                let job = Job { next: self.next(now), last: None, claimed: None };
                self.put(&job, Expect::Absent, now).await?;
                return Ok(None);
            };
            // What lies further ahead than it may was noted by a clock that has gone back since.
            let waits =
                |until: At, most: i64| until > now && until.0.saturating_sub(now.0) <= most + LEASE_MICROSECONDS;
            if waits(job.next, DAY_MICROSECONDS) || job.claimed.is_some_and(|until| waits(until, LEASE_MICROSECONDS)) {
                return Ok(None);
            }
            let (last, next) = (job.last, job.next);
            let claimed = Job { claimed: Some(At(now.0 + LEASE_MICROSECONDS)), ..job };
            let is_ours = self.put(&claimed, Expect::Version(version), now).await?;
            Ok(is_ours.then_some(Claim { last, version: version + 1, next }))
        })
    }

    /// Keeps a claim for longer; `None` if it counts no more, and the work belongs to somebody else.
    #[expect(clippy::needless_pass_by_value, reason = "it is used up")]
    pub fn renewed(&self, claim: Claim, now: At) -> BoxFuture<'_, Result<Option<Claim>>> {
        Box::pin(async move {
            let job = Job { next: claim.next, last: claim.last, claimed: Some(At(now.0 + LEASE_MICROSECONDS)) };
            let is_ours = self.put(&job, Expect::Version(claim.version), now).await?;
            Ok(is_ours.then_some(Claim { version: claim.version + 1, ..claim }))
        })
    }

    /// Notes that the work is done: it is due again at its hour.
    #[expect(clippy::needless_pass_by_value, reason = "it is used up")]
    pub fn done(&self, claim: Claim, now: At) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let job = Job { next: self.next(now), last: Some(now), claimed: None };
            self.put(&job, Expect::Version(claim.version), now).await.map(|_| ())
        })
    }

    async fn job(&self) -> Result<Option<(Job, u64)>> {
        let scope = Scope::Tenant(self.tenant.clone());
        let record = self.store.record(scope, Kind::Job, self.name.to_owned()).await?;
        record.map(|record| Ok((record.read()?, record.version))).transpose()
    }

    /// Writes the record; whether nobody else has meanwhile.
    async fn put(&self, job: &Job, expect: Expect, at: At) -> Result<bool> {
        let put = Put::of_tenant(self.tenant, Kind::Job, self.name.to_owned(), at, job).expecting(expect);
        match self.store.commit(Batch::of_tenant(self.tenant, vec![put])).await {
            Ok(_) => Ok(true),
            Err(Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The next time it is the hour.
    fn next(&self, now: At) -> At {
        let hour = i64::from(self.hour % 24) * HOUR_MICROSECONDS;
        let today = now.0.div_euclid(DAY_MICROSECONDS) * DAY_MICROSECONDS + hour;
        At(if today > now.0 { today } else { today + DAY_MICROSECONDS })
    }
}
