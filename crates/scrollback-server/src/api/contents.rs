//! The contents page: what a model reads of what is folded, page by page, and the messages of each page.

use schemars::JsonSchema;
use scrollback::engine::NoteName;
use scrollback::note::{Author, Covers, Note};
use scrollback::{At, MessageId};
use serde::Serialize;
use serde_json::Value;

use super::messages::{self, How, Message};
use super::place::Dates;
use super::{Ask, Refusal, Room};

/// What stands for what is folded.
#[derive(Serialize, JsonSchema)]
pub(super) struct Contents {
    layout: String,
    /// The first and last message that is folded.
    covers: Option<[MessageId; 2]>,
    /// What the model reads in their place.
    text: String,
    tokens: u32,
    /// What the messages themselves cost.
    original_tokens: u32,
    pages: Vec<Line>,
    /// How many folded messages no page here is about.
    unlisted: u32,
}

/// A page as it is listed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ContentsLine")]
struct Line {
    page: u32,
    title: String,
    lines: Vec<String>,
    covers: [MessageId; 2],
    /// When the first and the last of them came.
    at: Option<[At; 2]>,
    messages: u32,
    turn: u32,
    recalls: u32,
    /// The turn in which it was last recalled.
    recalled: Option<u32>,
    by: Author,
}

/// A page, whole.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PageMessages")]
#[expect(clippy::struct_field_names, reason = "the names of the answer")]
pub(super) struct Page {
    page: u32,
    /// What it is called, if it is listed.
    title: Option<String>,
    messages: Vec<Message>,
}

impl Line {
    fn of(note: &Note, dates: &Dates) -> Self {
        let Note { covers, title, lines, turn, recalls, recalled, by } = note;
        Self {
            page: note.number(),
            title: title.clone(),
            lines: lines.clone(),
            covers: [covers.first, covers.last],
            at: dates.of([covers.first, covers.last]),
            messages: covers.count(),
            turn: *turn,
            recalls: *recalls,
            recalled: *recalled,
            by: *by,
        }
    }
}

/// Shows the contents page.
pub(super) async fn show(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let fold = room.fold(&place).await?;
    let dates =
        Dates::read(room, &place.key, fold.listed.iter().map(|note| [note.covers.first, note.covers.last])).await?;
    let has_pages = fold.summary.is_none() && fold.artifacts.is_empty();
    let contents = Contents {
        layout: place.layout.to_string(),
        covers: fold.covers.map(Covers::ends),
        pages: fold.listed.iter().map(|note| Line::of(note, &dates)).collect(),
        unlisted: if has_pages { fold.unlisted() } else { 0 },
        tokens: fold.tokens,
        original_tokens: fold.original_tokens,
        text: fold.text,
    };
    Ok(serde_json::to_value(contents)?)
}

/// Shows the messages of a page, by the number of any of them.
pub(super) async fn page(room: &Room, ask: &Ask, name: &str, number: &str) -> Result<Value, Refusal> {
    let bad = || Refusal::invalid(format!("“{number}” is no page: they are called by numbers such as 42"));
    let id = match number.trim_start_matches('m').parse().map_err(|_| bad())? {
        NoteName::Page(number) => MessageId(number),
        NoteName::Summary(_) | NoteName::Artifact(_) => return Err(bad()),
    };
    let place = room.place(ask, name).await?;
    let fold = room.fold(&place).await?;
    let (first, messages) = messages::of_page(room, &place, &fold, id, How::of(ask).in_a_list()).await?;
    let title = fold.listed.iter().find(|note| note.covers.first == first).map(|note| note.title.clone());
    Ok(serde_json::to_value(Page { page: first.0, title, messages })?)
}
