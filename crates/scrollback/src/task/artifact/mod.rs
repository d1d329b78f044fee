//! The tasks of artifacts: drafting one from messages, deciding which one takes a draft in, and working both into one.
//!
//! Models answer in Markdown (`reading`); `fitting` joins sections and keeps them in bounds. Whatever a model leaves
//! out, no source is lost: a draft cites every message it was made from, and a merge every source of both sides.

mod decide;
mod draft;
mod fitting;
mod reading;
#[cfg(test)]
mod testing;
mod weave;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use decide::Decide;
pub use draft::Draft;
pub use weave::Weave;

use crate::artifact::{Artifact, ArtifactId, Section};
use crate::ids::MessageId;
use crate::note::Author;

/// How long a title may be.
const TITLE_CHARS: usize = 60;
/// How long a summary may be.
const SUMMARY_CHARS: usize = 400;
/// How long a heading may be.
const HEADING_CHARS: usize = 120;
/// How long the texts of all sections together may be.
const MOST_CHARS: usize = 24_000;
/// How many sections there may be.
const MOST_SECTIONS: usize = 200;

/// An artifact without a number: what a stretch of a conversation comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drafted {
    /// What it is about, broadly.
    pub title: String,
    /// What it says, in a sentence or two.
    pub summary: String,
    /// What it says.
    pub sections: Vec<Section>,
}

impl Drafted {
    /// Every message it was made from.
    pub fn sources(&self) -> BTreeSet<MessageId> {
        self.sections.iter().flat_map(|section| section.sources.iter().copied()).collect()
    }

    /// All that it says.
    fn told(&self) -> String {
        told(&self.title, &self.summary, &self.sections)
    }

    /// A version of an artifact that says this.
    pub fn artifact(self, id: ArtifactId, version: u32, by: Author) -> Artifact {
        let Self { title, summary, sections } = self;
        Artifact { id, version, title, summary, sections, by }
    }
}

/// All that a document says.
fn told(title: &str, summary: &str, sections: &[Section]) -> String {
    let sections = sections.iter().flat_map(|section| [section.heading.as_str(), section.text.as_str()]);
    [title, summary].into_iter().chain(sections).collect::<Vec<_>>().join("\n")
}
