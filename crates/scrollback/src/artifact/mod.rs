//! Artifacts: documents that archived stretches of a conversation are worked into, section by section, each with its
//! sources.
//!
//! An artifact is named after its first source: a12 begins with what m12 said. It only ever changes by a new version,
//! and no source is lost on the way. `markdown` writes and reads them (`lines` and `sources` know how models write),
//! `complete` gives every message a section, `find` looks for sections by their words, `changes` tells two versions
//! apart.

mod changes;
mod complete;
mod find;
mod lines;
mod markdown;
mod sources;

pub use changes::{Change, Sign, changes};
pub use find::find;
pub(crate) use markdown::Document;
pub(crate) use sources::ids;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::ids::MessageId;
use crate::note::Author;

/// An artifact, by its first source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtifactId(pub MessageId);

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}", self.0.0)
    }
}

impl FromStr for ArtifactId {
    type Err = Error;

    /// Reads `a12`, and `12` as models write it.
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Invalid(format!("“{text}” is no artifact: they are written a12"));
        let digits = text.trim().trim_start_matches(['a', 'A']);
        digits.parse().map(|number| Self(MessageId(number))).map_err(|_| bad())
    }
}

impl Serialize for ArtifactId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ArtifactId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A document made of archived messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Which.
    pub id: ArtifactId,
    /// Its number among the versions of this artifact, from 1.
    pub version: u32,
    /// What it is about, broadly.
    pub title: String,
    /// What it says, in a sentence or two.
    pub summary: String,
    /// What it says.
    pub sections: Vec<Section>,
    /// Who wrote this version.
    pub by: Author,
}

impl Artifact {
    /// Every message it was made from.
    pub fn sources(&self) -> BTreeSet<MessageId> {
        self.sections.iter().flat_map(|section| section.sources.iter().copied()).collect()
    }

    /// How many messages its sections name; one that two of them name counts twice.
    pub(crate) fn sources_count(&self) -> usize {
        self.sections.iter().map(|section| section.sources.len()).sum()
    }

    /// What it takes in memory, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let section = |one: &Section| one.heading.len() + one.text.len() + 4 * one.sources.len() + 128;
        self.title.len() + self.summary.len() + self.sections.iter().map(section).sum::<usize>() + 128
    }

    /// The same in a person's words. Sources that they do not name stay with the section that had them, or with the
    /// first.
    #[must_use]
    pub fn rewritten(&self, markdown: &str) -> Self {
        let known = self.sources();
        let Document { lead, title, summary, sections } = Document::read(markdown, &known);
        let mut sections: Vec<Section> = lead.into_iter().chain(sections).collect();
        if sections.is_empty() {
            sections.push(Section::new(&self.title, markdown, []));
        }
        let cited: BTreeSet<MessageId> = sections.iter().flat_map(|section| section.sources.clone()).collect();
        for missing in known.difference(&cited) {
            let had = self.sections.iter().find(|section| section.sources.contains(missing));
            let same = |section: &Section| had.is_some_and(|had| had.heading == section.heading);
            let place = sections.iter().position(same).unwrap_or(0);
            let Section { heading, text, sources } = sections[place].clone();
            sections[place] = Section::new(&heading, &text, sources.into_iter().chain([*missing]));
        }
        let summary = if summary.is_empty() { self.summary.clone() } else { summary };
        Self { title: title.unwrap_or_else(|| self.title.clone()), summary, sections, ..self.clone() }
    }
}

/// A part of an artifact; made with [`Section::new`], it can be written and read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// What it is about.
    pub heading: String,
    /// What it says, in Markdown.
    pub text: String,
    /// The messages it was made from, in the order they were said; every one is archived in this artifact.
    pub sources: Vec<MessageId>,
}
