//! The list of work that is not done, so that nobody has to look through all that ever was.
//!
//! It stands beside the records of work, in a few parts that are written together with what they name: work is in the
//! list from when it is submitted until it comes to an end.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Engine;
use super::job::{Job, Kept, session_in};
use super::queue::MOST_ROUNDS;
use crate::error::{Error, Result};
use crate::ids::{At, Tenant};
use crate::store::{Batch, Expect, Keys, Kind, Put, Record, Scope};

/// What the keys of the list begin with. The record under this key alone says that work from before there was a list is
/// in it.
const OPEN: &str = "open";
/// How many letters of a session's id name the part its work is in: enough that those who write at once seldom meet.
const PART_LETTERS: usize = 1;

/// A part of the list: the keys of work.
type Part = BTreeSet<String>;

impl Engine {
    /// The keys of all work that is not done.
    pub(super) async fn open_jobs(&self, tenant: &Tenant) -> Result<Vec<String>> {
        let (scope, keys) = (Scope::Tenant(tenant.clone()), Keys::Under(OPEN.to_owned()));
        for _ in 0..MOST_ROUNDS {
            let records = self.store().records(&scope, Kind::Job, keys.clone()).await?;
            if records.iter().any(|record| record.key == OPEN) {
                return Ok(records.iter().filter_map(read).flatten().collect());
            }
            self.list_all(tenant, &records).await?;
        }
        Err(Error::Conflict(OPEN.to_owned()))
    }

    /// Adds to the list what was submitted before there was one.
    async fn list_all(&self, tenant: &Tenant, parts: &[Record]) -> Result<()> {
        let mut listed: BTreeMap<String, Part> = BTreeMap::new();
        for record in parts {
            listed.insert(record.key.clone(), understood(record)?);
        }
        for record in self.job_records(tenant).await? {
            let kept = Kept::read(&record).filter(|kept| kept.state.due().is_some());
            if let Some(kept) = kept {
                listed.entry(part_of(&kept.job)).or_default().insert(record.key);
            }
        }
        let version = |key: &str| parts.iter().find(|record| record.key == key).map(|record| record.version);
        let put = |(key, part): (String, Part)| {
            let expect = expecting(version(&key));
            Put::of_tenant(tenant, Kind::Job, key, At(0), &part).expecting(expect)
        };
        let all = Put::of_tenant(tenant, Kind::Job, OPEN.to_owned(), At(0), &Part::new()).expecting(Expect::Absent);
        let puts = listed.into_iter().map(put).chain([all]).collect();
        match self.store().commit(Batch::of_tenant(tenant, puts)).await {
            Ok(_) | Err(Error::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// How the list changes with a record of work, if it does.
    pub(super) async fn relisted_job(&self, tenant: &Tenant, kept: &Kept, at: At) -> Result<Option<Put>> {
        let (key, name) = (kept.job.key(), part_of(&kept.job));
        let record = self.job_record(tenant, &name).await?;
        let mut part = record.as_ref().map(understood).transpose()?.unwrap_or_default();
        let has_changed = if kept.state.due().is_some() { part.insert(key) } else { part.remove(&key) };
        let expect = expecting(record.map(|record| record.version));
        Ok(has_changed.then(|| Put::of_tenant(tenant, Kind::Job, name, at, &part).expecting(expect)))
    }

    /// Takes work off the list that went with its conversation. If others write the list meanwhile, it is found again.
    pub(super) async fn unlist_job(&self, tenant: &Tenant, key: &str) -> Result<()> {
        let Some(name) = session_in(key).map(part_named) else { return Ok(()) };
        let Some(record) = self.job_record(tenant, &name).await? else { return Ok(()) };
        let mut part = understood(&record)?;
        if !part.remove(key) {
            return Ok(());
        }
        let put = Put::of_tenant(tenant, Kind::Job, name, record.at, &part).expecting(Expect::Version(record.version));
        match self.store().commit(Batch::of_tenant(tenant, vec![put])).await {
            Ok(_) | Err(Error::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The key of the part that some work is in.
fn part_of(job: &Job) -> String {
    part_named(&job.session.to_string())
}

fn part_named(session: &str) -> String {
    format!("{OPEN}/{}", &session[..PART_LETTERS])
}

fn expecting(version: Option<u64>) -> Expect {
    version.map_or(Expect::Absent, Expect::Version)
}

/// Reads a part; `None` if a newer version wrote it and it is not understood.
fn read(record: &Record) -> Option<Part> {
    serde_json::from_str(record.body.get()).ok()
}

/// Reads a part that is to be written anew: one that is not understood is left to whoever wrote it.
fn understood(record: &Record) -> Result<Part> {
    let unread = || Error::Damaged(format!("the list of work “{}” is none that this version understands", record.key));
    read(record).ok_or_else(unread)
}
