//! Artifacts: the documents of a path, their versions, and what changed from one to another.

use std::sync::Arc;

use schemars::JsonSchema;
use scrollback::artifact::{Artifact, ArtifactId, Change, Section, changes};
use scrollback::engine::Version;
use scrollback::ids::BranchId;
use scrollback::note::Author;
use scrollback::{At, MessageId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::markdown::html;
use super::place::Place;
use super::{Ask, Refusal, Room};

/// The artifacts of the fold that counts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Artifacts")]
pub(crate) struct Listed {
    pub(crate) layout: String,
    pub(crate) artifacts: Vec<Line>,
}

/// An artifact in a line.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArtifactLine")]
pub(crate) struct Line {
    pub(crate) id: ArtifactId,
    pub(crate) version: u32,
    pub(crate) title: String,
    pub(crate) summary: String,
    pub(crate) by: Author,
    pub(crate) sections: Vec<String>,
    pub(crate) sources: Vec<MessageId>,
}

/// An artifact, whole.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Artifact")]
pub(crate) struct Whole {
    #[serde(flatten)]
    pub(crate) line: Line,
    /// What it says, with its sources.
    pub(crate) markdown: String,
    /// The same as harmless HTML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) html: Option<String>,
    /// Its sections one by one.
    #[serde(default)]
    pub(crate) parts: Vec<Part>,
}

/// A section of an artifact.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArtifactPart")]
pub(crate) struct Part {
    pub(crate) heading: String,
    pub(crate) text: String,
    /// The same as harmless HTML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) html: Option<String>,
    /// The messages it was made from.
    pub(crate) sources: Vec<MessageId>,
}

/// Every version of an artifact, the oldest first, on every branch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArtifactVersions")]
pub(crate) struct Versions {
    pub(crate) versions: Vec<VersionLine>,
}

/// A version.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArtifactVersion")]
pub(crate) struct VersionLine {
    pub(crate) version: u32,
    pub(crate) branch: BranchId,
    pub(crate) title: String,
    pub(crate) by: Author,
    pub(crate) at: At,
    /// The messages that it was the first to be made from.
    pub(crate) added: Vec<MessageId>,
}

/// What changed from one version to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArtifactDiff")]
pub(crate) struct Compared {
    pub(crate) id: ArtifactId,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) changes: Vec<Change>,
}

impl Line {
    fn of(artifact: &Artifact) -> Self {
        let Artifact { id, version, title, summary, by, sections } = artifact;
        Self {
            id: *id,
            version: *version,
            title: title.clone(),
            summary: summary.clone(),
            by: *by,
            sections: sections.iter().map(|section| section.heading.clone()).collect(),
            sources: artifact.sources().into_iter().collect(),
        }
    }
}

/// Lists the artifacts of the fold that counts, those changed last first.
pub(super) async fn list(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let artifacts = current(room, &place).await?.iter().map(|artifact| Line::of(artifact)).collect();
    Ok(serde_json::to_value(Listed { layout: place.layout.to_string(), artifacts })?)
}

/// One artifact: as it counts now, or else in its newest version; or in the version that is asked for.
pub(super) async fn one(room: &Room, ask: &Ask, name: &str, artifact: &str) -> Result<Value, Refusal> {
    let (place, id) = (room.place(ask, name).await?, artifact.parse::<ArtifactId>()?);
    let versions = known(room, &place, id).await?;
    let artifact = if let Some(number) = ask.number("version")? {
        versioned(&versions, number, place.head.branch)?.artifact.clone()
    } else {
        let counts = current(room, &place).await?.into_iter().find(|artifact| artifact.id == id);
        let newest = || versions.last().map(|version| version.artifact.clone());
        let missing = || Refusal::not_found(format!("there is no artifact {id}"));
        counts.map(Arc::unwrap_or_clone).or_else(newest).ok_or_else(missing)?
    };
    let markdown = artifact.markdown();
    let rendered = |text: &str| ask.wants("render", "html").then(|| html(text));
    let part = |Section { heading, text, sources }: &Section| Part {
        heading: heading.clone(),
        html: rendered(text),
        text: text.clone(),
        sources: sources.clone(),
    };
    let parts = artifact.sections.iter().map(part).collect();
    Ok(serde_json::to_value(Whole { line: Line::of(&artifact), html: rendered(&markdown), markdown, parts })?)
}

/// The versions of an artifact.
pub(super) async fn versions(room: &Room, ask: &Ask, name: &str, artifact: &str) -> Result<Value, Refusal> {
    let (place, id) = (room.place(ask, name).await?, artifact.parse::<ArtifactId>()?);
    let line = |Version { artifact, branch, added, at, .. }: Version| VersionLine {
        version: artifact.version,
        branch,
        title: artifact.title,
        by: artifact.by,
        at,
        added,
    };
    let versions = known(room, &place, id).await?.into_iter().map(line).collect();
    Ok(serde_json::to_value(Versions { versions })?)
}

/// What changed from one version to another.
pub(super) async fn diff(room: &Room, ask: &Ask, name: &str, artifact: &str) -> Result<Value, Refusal> {
    let (place, id) = (room.place(ask, name).await?, artifact.parse::<ArtifactId>()?);
    let versions = known(room, &place, id).await?;
    let wanted = |name| ask.number(name)?.ok_or_else(|| Refusal::invalid("name two versions: from=1&to=2"));
    let (from, to) = (wanted("from")?, wanted("to")?);
    let branch = place.head.branch;
    let (old, new) = (versioned(&versions, from, branch)?, versioned(&versions, to, branch)?);
    let changes = changes(&old.artifact, &new.artifact);
    Ok(serde_json::to_value(Compared { id, from, to, changes })?)
}

async fn current(room: &Room, place: &Place) -> Result<Vec<Arc<Artifact>>, Refusal> {
    let fold = room.fold(place).await?;
    Ok(room.engine.artifacts(&place.key, &fold).await?)
}

/// The versions of an artifact that must exist.
async fn known(room: &Room, place: &Place, id: ArtifactId) -> Result<Vec<Version>, Refusal> {
    let versions = room.engine.versions(&place.key, id).await?;
    if versions.is_empty() {
        return Err(Refusal::not_found(format!("this session has no artifact {id}")));
    }
    Ok(versions)
}

/// A version by its number: the one of a branch where there are several.
fn versioned(versions: &[Version], number: u32, branch: BranchId) -> Result<&Version, Refusal> {
    let mut same = versions.iter().rev().filter(|version| version.artifact.version == number);
    let own = same.clone().find(|version| version.branch == branch);
    let known: Vec<String> = versions.iter().map(|version| version.artifact.version.to_string()).collect();
    let missing = || Refusal::not_found(format!("there is no version {number}; there are {}", known.join(", ")));
    own.or_else(|| same.next()).ok_or_else(missing)
}
