//! Queued work: submitted, claimed, renewed, done or failed. Whatever process there is may do it, one at a time.
//!
//! What fails is tried again, later each time, and given up after a few tries, with its reason. A try that was cut
//! short by a crash counts too, so that work that brings the process down is given up as well.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;

use super::super::Engine;
use super::job::{Claimed, Job, JobLine, JobState, Kept, LEASE_MICROSECONDS, MOST_PAUSE_MICROSECONDS, WORK};
use crate::error::{Error, Result};
use crate::ids::{At, Tenant};
use crate::store::{Batch, Expect, Keys, Kind, Put, Record, Scope};

/// After how many tries work is given up.
const MOST_TRIES: u32 = 5;
/// How long work waits after its first failure, and how much longer after each.
const FIRST_PAUSE_MICROSECONDS: i64 = 30_000_000;
const PAUSE_GROWS: i64 = 4;

/// How often a record is read again that others keep changing.
pub(super) const MOST_ROUNDS: usize = 16;

impl Engine {
    /// Queues work; false if it waits already or somebody has it. Work that waits is done for the newest head, work
    /// that somebody has once more after that; work that came to an end is queued anew. What a newer version queued and
    /// is not understood is left to it.
    pub fn submit<'a>(&'a self, tenant: &'a Tenant, job: Job, at: At) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let key = job.key();
            // Whoever changed the record meanwhile may have ended what was about to be asked for again.
            for _ in 0..MOST_ROUNDS {
                let record = self.job_record(tenant, &key).await?;
                let expect = record.as_ref().map_or(Expect::Absent, |record| Expect::Version(record.version));
                let known = record.as_ref().map(Kept::read);
                let is_foreign = matches!(known, Some(None));
                let Some((kept, is_new)) = submitted(known.flatten(), &job, at).filter(|_| !is_foreign) else {
                    return Ok(false);
                };
                if self.put_job(tenant, &kept, expect, at).await? {
                    return Ok(is_new);
                }
            }
            Err(Error::Conflict(key))
        })
    }

    /// Waits until work is submitted here that may be claimed at once. Each piece wakes one who waits; what comes while
    /// nobody does wakes the next.
    pub fn wait_for_work(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.due.woken().await;
        })
    }

    /// Claims the work that has been due for longest, if there is any.
    pub fn claim<'a>(&'a self, tenant: &'a Tenant, now: At) -> BoxFuture<'a, Result<Option<Claimed>>> {
        Box::pin(async move {
            if !self.due.knows(tenant) {
                self.resume(tenant).await?;
            }
            while let Some(key) = self.due.earliest(tenant, now) {
                let record = self.job_record(tenant, &key).await?;
                if record.is_none() {
                    self.unlist_job(tenant, &key).await?;
                }
                let known = record.and_then(|record| Some((Kept::read(&record)?, record.version)));
                let wait = known.as_ref().and_then(|(kept, _)| kept.state.wait());
                match known.filter(|_| wait.is_some_and(|wait| wait.is_over(now))) {
                    None => self.due.note(tenant, &key, wait),
                    Some((kept, version)) => {
                        let claimed = self.taken(tenant, kept, version, now).await?;
                        if claimed.is_some() {
                            return Ok(claimed);
                        }
                    }
                }
            }
            Ok(None)
        })
    }

    /// Takes work that is due; none if somebody else did, or it was cut short too often.
    async fn taken(&self, tenant: &Tenant, kept: Kept, version: u64, now: At) -> Result<Option<Claimed>> {
        let was_cut_short = matches!(kept.state, JobState::Claimed { .. });
        let last_error = if was_cut_short { Some("it was cut short".to_owned()) } else { kept.last_error };
        let given_up = was_cut_short && kept.tries >= MOST_TRIES;
        let tries = if given_up { kept.tries } else { kept.tries + 1 };
        let (job, until) = (kept.again.unwrap_or(kept.job), At(now.0 + LEASE_MICROSECONDS));
        let claimed = Claimed { job, tries, tenant: tenant.clone(), until, last_error };
        let state = if given_up {
            JobState::Failed { reason: format!("it was begun {tries} times and cut short") }
        } else {
            JobState::Claimed { until }
        };
        let is_ours = self.put_job(tenant, &claimed.kept(state), Expect::Version(version), now).await?;
        Ok((is_ours && !given_up).then_some(claimed))
    }

    /// Keeps a claim for longer; `None` if it counts no more, and the work belongs to somebody else.
    pub fn renew(&self, claimed: Claimed, now: At) -> BoxFuture<'_, Result<Option<Claimed>>> {
        Box::pin(async move {
            let until = At(now.0 + LEASE_MICROSECONDS);
            let renewed = claimed.kept(JobState::Claimed { until });
            let is_ours = self.end_claim(&claimed, now, |again| Kept { again, ..renewed.clone() }).await?;
            Ok(is_ours.then_some(Claimed { until, ..claimed }))
        })
    }

    /// Notes that work is done; what was asked for meanwhile waits. Says nothing if somebody else has it by now.
    pub fn done(&self, claimed: Claimed, at: At) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let done = Kept { last_error: None, ..claimed.kept(JobState::Done) };
            let ended = |again: Option<Job>| again.map_or_else(|| done.clone(), |job| Kept::new(job, at));
            self.end_claim(&claimed, at, ended).await.map(drop)
        })
    }

    /// Notes that work failed: it is tried again after a while, or given up. Says nothing if somebody else has it by
    /// now.
    pub fn failed<'a>(&'a self, claimed: Claimed, reason: &'a str, at: At) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let state = if claimed.tries >= MOST_TRIES {
                JobState::Failed { reason: reason.to_owned() }
            } else {
                let pause = FIRST_PAUSE_MICROSECONDS * PAUSE_GROWS.pow(claimed.tries.saturating_sub(1));
                JobState::Waiting { not_before: At(at.0 + pause.min(MOST_PAUSE_MICROSECONDS)) }
            };
            let failed = Kept { last_error: Some(reason.to_owned()), ..claimed.kept(state) };
            let ended = |again: Option<Job>| match (again, &failed.state) {
                (Some(job), JobState::Failed { .. }) => Kept::new(job, at),
                (Some(job), _) => Kept { job, ..failed.clone() },
                (None, _) => failed.clone(),
            };
            self.end_claim(&claimed, at, ended).await.map(drop)
        })
    }

    /// Looks through the list of what is not done and keeps it in mind; returns its keys. For the start: from then on
    /// what is submitted here is known. What was done is not read.
    pub fn resume<'a>(&'a self, tenant: &'a Tenant) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            let mut found = BTreeMap::new();
            for key in self.open_jobs(tenant).await? {
                let mut wait = self.due.of(tenant, &key);
                if wait.is_none() {
                    let record = self.job_record(tenant, &key).await?;
                    if record.is_none() {
                        self.unlist_job(tenant, &key).await?;
                    }
                    wait = record.as_ref().and_then(Kept::read).and_then(|kept| kept.state.wait());
                }
                found.extend(wait.map(|wait| (key, wait)));
            }
            let keys = found.keys().cloned().collect();
            self.due.learn(tenant, found);
            Ok(keys)
        })
    }

    /// All queued work, done or not, for people.
    pub fn jobs<'a>(&'a self, tenant: &'a Tenant) -> BoxFuture<'a, Result<Vec<JobLine>>> {
        Box::pin(async move { Ok(self.job_records(tenant).await?.iter().filter_map(JobLine::of).collect()) })
    }

    /// Puts something in the place of a claim, depending on what was asked for meanwhile; whether the claim still
    /// counted.
    async fn end_claim(&self, claimed: &Claimed, at: At, next: impl Fn(Option<Job>) -> Kept) -> Result<bool> {
        let (tenant, key) = (&claimed.tenant, claimed.job.key());
        for _ in 0..MOST_ROUNDS {
            let record = self.job_record(tenant, &key).await?;
            let known = record.and_then(|record| Some((Kept::read(&record)?, record.version)));
            let Some((kept, version)) = known.filter(|(kept, _)| claimed.holds(kept)) else { return Ok(false) };
            if self.put_job(tenant, &next(kept.again), Expect::Version(version), at).await? {
                return Ok(true);
            }
        }
        Err(Error::Conflict(key))
    }

    pub(super) async fn job_record(&self, tenant: &Tenant, key: &str) -> Result<Option<Record>> {
        self.store().record(Scope::Tenant(tenant.clone()), Kind::Job, key.to_owned()).await
    }

    /// All work, done or not.
    pub(super) async fn job_records(&self, tenant: &Tenant) -> Result<Vec<Record>> {
        let (scope, keys) = (Scope::Tenant(tenant.clone()), Keys::Under(WORK.to_owned()));
        self.store().records(&scope, Kind::Job, keys).await
    }

    /// Writes the record, and what it changes in the list; whether nobody else has meanwhile.
    async fn put_job(&self, tenant: &Tenant, kept: &Kept, expect: Expect, at: At) -> Result<bool> {
        let key = kept.job.key();
        let put = Put::of_tenant(tenant, Kind::Job, key.clone(), at, kept).expecting(expect);
        let puts = [put].into_iter().chain(self.relisted_job(tenant, kept, at).await?).collect();
        match self.store().commit(Batch::of_tenant(tenant, puts)).await {
            Ok(_) => {
                let wait = kept.state.wait();
                self.due.note(tenant, &key, wait);
                if wait.is_some_and(|wait| wait.is_over(at)) {
                    self.due.wake();
                }
                Ok(true)
            }
            Err(Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The record of work that is asked for, and whether it is queued anew; none if it needs no change.
fn submitted(known: Option<Kept>, job: &Job, at: At) -> Option<(Kept, bool)> {
    match known {
        Some(kept) if matches!(kept.state, JobState::Claimed { .. }) => {
            let is_newer = kept.again.as_ref().unwrap_or(&kept.job) != job;
            is_newer.then(|| (Kept { again: Some(job.clone()), ..kept }, false))
        }
        Some(kept) if matches!(kept.state, JobState::Waiting { .. }) => {
            (kept.job != *job).then(|| (Kept { job: job.clone(), ..kept }, false))
        }
        Some(_) | None => Some((Kept::new(job.clone(), at), true)),
    }
}
