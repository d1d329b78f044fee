//! Notes: what stands for the folded messages of a path, listed, shown whole, or put in a person's own words.

use schemars::JsonSchema;
use scrollback::artifact::Artifact;
use scrollback::engine::NoteName;
use scrollback::note::{Author, Covers, Fold, Note};
use scrollback::summary::{Quote, Summary};
use scrollback::{At, MessageId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::{Dates, Place};
use super::{Ask, Refusal, Room};
use crate::clock::now;
use crate::live::What;

/// What a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoteKind {
    Page,
    Summary,
    Artifact,
}

/// The notes of the fold that counts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NoteList {
    pub(crate) layout: String,
    /// The first and last message that is folded.
    pub(crate) covers: Option<[MessageId; 2]>,
    pub(crate) notes: Vec<Entry>,
    /// How many folded messages no page on the contents page is about.
    pub(crate) unlisted: u32,
}

/// A note in a line.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NoteLine")]
pub(crate) struct Entry {
    /// What people call it: #42, s60, a12.
    pub(crate) name: String,
    pub(crate) kind: NoteKind,
    pub(crate) title: String,
    pub(crate) by: Author,
    /// How many messages it stands for.
    pub(crate) messages: u32,
    /// The first and last of them.
    pub(crate) covers: Option<[MessageId; 2]>,
    /// When these came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<[At; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recalls: Option<u32>,
    /// What of the originals a summary does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lost: Vec<String>,
    /// The messages it quotes word for word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) quotes: Vec<MessageId>,
}

/// A note, whole.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Note")]
pub(crate) struct Whole {
    #[serde(flatten)]
    pub(crate) entry: Entry,
    /// What it says; what a person writes takes its place.
    pub(crate) text: String,
    /// What it quotes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) kept: Vec<Quote>,
}

/// What a person puts in a note's place.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NoteWords")]
pub(super) struct Words {
    text: String,
}

/// Lists the notes of the fold that counts.
pub(super) async fn list(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let fold = room.fold(&place).await?;
    let mut notes: Vec<Entry> = all(room, &place, &fold).await?.into_iter().map(|whole| whole.entry).collect();
    let dates = Dates::read(room, &place.key, notes.iter().filter_map(|note| note.covers)).await?;
    for note in &mut notes {
        note.at = note.covers.and_then(|covers| dates.of(covers));
    }
    let pages = fold.summary.is_none() && fold.artifacts.is_empty();
    let unlisted = if pages { fold.unlisted() } else { 0 };
    Ok(serde_json::to_value(NoteList {
        layout: place.layout.to_string(),
        covers: fold.covers.map(Covers::ends),
        notes,
        unlisted,
    })?)
}

/// Shows a note whole.
pub(super) async fn one(room: &Room, ask: &Ask, session: &str, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, session).await?;
    let wanted: NoteName = name.parse()?;
    let fold = room.fold(&place).await?;
    Ok(serde_json::to_value(found(room, &place, &fold, wanted).await?)?)
}

/// Puts a person's words in the place of a note.
pub(super) async fn edit(room: &Room, ask: &Ask, session: &str, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, session).await?;
    let wanted: NoteName = name.parse()?;
    let Words { text } = ask.said(r#"{"text": "what the note is to say"}"#)?;
    // Whoever names a note that is not there is told which there are.
    found(room, &place, &room.fold(&place).await?, wanted).await?;
    let edited = room.engine.edit(place.folding(), wanted, &text, now()).await?;
    room.publish(&place.key, || What::Fold { covers: edited.covers.map(Covers::ends) });
    // Another may have edited it since.
    Ok(serde_json::to_value(found(room, &place, &edited, wanted).await?)?)
}

async fn found(room: &Room, place: &Place, fold: &Fold, wanted: NoteName) -> Result<Whole, Refusal> {
    let notes = all(room, place, fold).await?;
    let names: Vec<String> = notes.iter().map(|whole| whole.entry.name.clone()).collect();
    let missing = || match names.join(", ") {
        names if names.is_empty() => Refusal::not_found(format!("nothing is folded here, so there is no {wanted}")),
        names => Refusal::not_found(format!("there is no note {wanted} in the window; there are {names}")),
    };
    notes.into_iter().find(|whole| whole.entry.name == wanted.to_string()).ok_or_else(missing)
}

/// The names of a fold's notes.
pub(super) fn names(fold: &Fold) -> Vec<String> {
    let pages = fold.listed.iter().map(|note| NoteName::Page(note.number()).to_string());
    let artifacts = fold.artifacts.iter().map(|edition| edition.id.to_string());
    fold.summary.iter().map(Summary::name).chain(artifacts).chain(pages).collect()
}

/// The notes of a fold, whole.
pub(crate) async fn all(room: &Room, place: &Place, fold: &Fold) -> Result<Vec<Whole>, Refusal> {
    let artifacts = room.engine.artifacts(&place.key, fold).await?;
    let artifacts = artifacts.iter().map(|artifact| of_artifact(artifact));
    Ok(fold.summary.iter().map(of_summary).chain(artifacts).chain(fold.listed.iter().map(of_page)).collect())
}

fn of_page(note: &Note) -> Whole {
    let entry = Entry {
        name: NoteName::Page(note.number()).to_string(),
        kind: NoteKind::Page,
        title: note.title.clone(),
        by: note.by,
        messages: note.covers.count(),
        covers: Some([note.covers.first, note.covers.last]),
        at: None,
        version: None,
        recalls: Some(note.recalls),
        lost: Vec::new(),
        quotes: Vec::new(),
    };
    let lines: Vec<&str> = std::iter::once(&note.title).chain(&note.lines).map(String::as_str).collect();
    Whole { entry, text: lines.join("\n"), kept: Vec::new() }
}

fn of_summary(summary: &Summary) -> Whole {
    let mut quotes: Vec<MessageId> = summary.kept.iter().map(|quote| quote.message).collect();
    quotes.dedup();
    let entry = Entry {
        name: summary.name(),
        kind: NoteKind::Summary,
        title: summary.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned(),
        by: summary.by,
        messages: summary.covers.count(),
        covers: Some([summary.covers.first, summary.covers.last]),
        at: None,
        version: None,
        recalls: None,
        lost: summary.lost.clone(),
        quotes,
    };
    Whole { entry, text: summary.text.clone(), kept: summary.kept.clone() }
}

fn of_artifact(artifact: &Artifact) -> Whole {
    let sources = artifact.sources();
    let entry = Entry {
        name: artifact.id.to_string(),
        kind: NoteKind::Artifact,
        title: artifact.title.clone(),
        by: artifact.by,
        messages: u32::try_from(sources.len()).unwrap_or(u32::MAX),
        covers: sources.first().zip(sources.last()).map(|(first, last)| [*first, *last]),
        at: None,
        version: Some(artifact.version),
        recalls: None,
        lost: Vec::new(),
        quotes: Vec::new(),
    };
    Whole { entry, text: artifact.markdown(), kept: Vec::new() }
}
