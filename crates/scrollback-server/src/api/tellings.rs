//! Where a message is told of: notes that stand for it in a fold. A person who wants it gone must know.

use schemars::JsonSchema;
use scrollback::engine::NoteName;
use scrollback::note::Fold;
use scrollback::store::Stored;
use scrollback::{Engine, SessionKey};
use serde::{Deserialize, Serialize};

/// A note that tells of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Telling {
    /// The note, as people call it: #42, s60 or a12.
    pub(crate) note: String,
    /// The section of it, in an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) section: Option<String>,
}

impl Telling {
    fn of(note: NoteName) -> Self {
        Self { note: note.to_string(), section: None }
    }
}

/// The notes of a fold that tell of a message of its path.
pub(crate) async fn tellings(
    engine: &Engine,
    key: &SessionKey,
    fold: &Fold,
    stored: &Stored,
) -> scrollback::Result<Vec<Telling>> {
    let Some(position) = stored.position() else { return Ok(Vec::new()) };
    let pages = fold.listed.iter().filter(|note| note.covers.holds(position.depth));
    let mut found: Vec<Telling> = pages.map(|note| Telling::of(NoteName::Page(note.number()))).collect();
    let summary = fold.summary.as_ref().filter(|summary| summary.covers.holds(position.depth));
    found.extend(summary.map(|summary| Telling::of(NoteName::Summary(summary.covers.last.0))));
    for artifact in engine.artifacts(key, fold).await? {
        let from = artifact.sections.iter().filter(|section| section.sources.contains(&stored.id));
        let note = NoteName::Artifact(artifact.id);
        found.extend(from.map(|section| Telling { section: Some(section.heading.clone()), ..Telling::of(note) }));
    }
    Ok(found)
}
