//! Artifacts in the store: every version is kept for good, under the branch and the fold that made it. Which versions
//! count, the fold says; undoing it brings the earlier ones back.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, ArtifactId};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{At, BranchId, MessageId, SessionKey};
use crate::note::{Edition, Fold};
use crate::store::{Expect, Keys, Kind, Put, Scope};
use crate::strategy::{Filed, LISTED};

/// How many newer versions are looked at together.
const AT_ONCE: usize = 4;
/// How long the part of a key is that all versions of an artifact on a branch share.
const PREFIX: usize = "artifact/0000000000/000000/".len();

/// A version of an artifact as it is stored.
#[derive(Serialize, Deserialize)]
pub(in crate::engine) struct EditionRecord {
    pub(in crate::engine) artifact: Artifact,
    /// The version it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Edition>,
}

/// A version of an artifact, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// What it says.
    pub artifact: Artifact,
    /// The branch it was made on.
    pub branch: BranchId,
    /// The version it was made from, if there is one.
    pub before: Option<Edition>,
    /// The messages it was made with that the one before did not have.
    pub added: Vec<MessageId>,
    /// When.
    pub at: At,
}

impl Engine {
    /// The artifacts of a fold that a model may be told of. One that is lost is not told; what it was made of is found.
    pub(in crate::engine) async fn filed(&self, session: &SessionKey, fold: &Fold) -> Result<Vec<Filed>> {
        let mut filed = Vec::with_capacity(fold.artifacts.len().min(LISTED));
        for edition in fold.artifacts.iter().take(LISTED) {
            let artifact = self.legible(session, *edition).await?;
            filed.extend(artifact.map(|artifact| (edition.branch, artifact)));
        }
        Ok(filed)
    }

    /// All artifacts of a fold, those changed last first.
    pub fn artifacts<'a>(
        &'a self,
        session: &'a SessionKey,
        fold: &'a Fold,
    ) -> BoxFuture<'a, Result<Vec<Arc<Artifact>>>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(fold.artifacts.len());
            for edition in &fold.artifacts {
                all.extend(self.legible(session, *edition).await?);
            }
            Ok(all)
        })
    }

    /// A version of an artifact; where it is lost, the one before.
    pub(in crate::engine) async fn issued(&self, session: &SessionKey, edition: Edition) -> Result<Arc<Artifact>> {
        let missing = || Error::Damaged(format!("version {} of {} is missing", edition.version, edition.id));
        self.legible(session, edition).await?.ok_or_else(missing)
    }

    async fn legible(&self, session: &SessionKey, edition: Edition) -> Result<Option<Arc<Artifact>>> {
        let key = edition_key(edition);
        let (scope, keys) = (Scope::Session(session.clone()), Keys::Before(format!("{key}~"), 1));
        let found = self.store().records(&scope, Kind::Note, keys).await?.pop();
        let found = found.filter(|record| record.key.starts_with(&key[..PREFIX]));
        found.map(|record| Ok(Arc::new(record.read::<EditionRecord>()?.artifact))).transpose()
    }

    /// Every version of an artifact, the oldest first, on every branch.
    pub fn versions<'a>(&'a self, session: &'a SessionKey, id: ArtifactId) -> BoxFuture<'a, Result<Vec<Version>>> {
        Box::pin(async move {
            let of = format!("artifact/{:010}/", id.0.0);
            let keys = Keys::Under(of.clone());
            let records = self.store().records(&Scope::Session(session.clone()), Kind::Note, keys).await?;
            let mut versions: Vec<Version> = Vec::new();
            for record in &records {
                let branch = record.key[of.len()..].split('/').next().and_then(|branch| branch.parse().ok());
                let EditionRecord { artifact, before } = record.read()?;
                let known = |edition: Edition| {
                    versions
                        .iter()
                        .find(|known| known.branch == edition.branch && known.artifact.version == edition.version)
                };
                let had = before.and_then(known).map(|known| known.artifact.sources()).unwrap_or_default();
                let added = artifact.sources().difference(&had).copied().collect();
                versions.push(Version {
                    artifact,
                    branch: BranchId(branch.unwrap_or(0)),
                    before,
                    added,
                    at: record.at,
                });
            }
            versions.sort_by_key(|version| (version.at, version.artifact.version));
            Ok(versions)
        })
    }

    /// The number of the version after one, 0 if none is known: models with other limits make versions of their own.
    pub(super) async fn next_version(&self, session: &SessionKey, known: Edition) -> Result<u32> {
        let (scope, mut last) = (Scope::Session(session.clone()), known);
        loop {
            let keys = Keys::After(edition_key(last), AT_ONCE);
            let records = self.store().records(&scope, Kind::Note, keys).await?;
            let of = edition_key(last)[..PREFIX].to_owned();
            let mut newer = records.iter().filter_map(|record| record.key.strip_prefix(&of)?.parse().ok());
            let Some(version) = newer.next_back() else { return Ok(last.version + 1) };
            last.version = version;
        }
    }
}

/// The records of versions that a fold makes: those that it lists and the one before did not.
pub(in crate::engine) fn editions(
    session: &SessionKey,
    filed: &[Filed],
    before: &Fold,
    after: &Fold,
    at: At,
) -> Vec<Put> {
    let edition_of = |id: ArtifactId| before.artifacts.iter().find(|edition| edition.id == id).copied();
    let new = after.newer_than(before);
    let put = |edition: &Edition| {
        let (_, artifact) = filed.iter().find(|(_, artifact)| artifact.id == edition.id)?;
        let record = EditionRecord { artifact: Artifact::clone(artifact), before: edition_of(edition.id) };
        Some(Put::new(session, Kind::Note, edition_key(*edition), at, &record).expecting(Expect::Absent))
    };
    new.filter_map(put).collect()
}

pub(in crate::engine) fn edition_key(edition: Edition) -> String {
    format!("artifact/{:010}/{:06}/{:06}", edition.id.0.0, edition.branch.0, edition.version)
}
