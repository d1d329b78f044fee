//! `scrollback show SESSION --pages`: the contents page, as the next window has it.

use std::process::ExitCode;

use scrollback::note::Note;
use serde::Serialize;

use super::control::Where;
use super::{Desk, counted, grouped, say, say_json, shortened, table, talk};

/// How many columns of a title are shown.
const TITLE_COLUMNS: usize = 48;

/// A page as JSON.
#[derive(Serialize)]
struct Line<'a> {
    page: u32,
    title: &'a str,
    lines: &'a [String],
    covers: [String; 2],
    turn: u32,
    recalls: u32,
}

impl<'a> Line<'a> {
    fn of(note: &'a Note) -> Self {
        let covers = [note.covers.first.to_string(), note.covers.last.to_string()];
        let Note { title, lines, turn, recalls, .. } = note;
        Self { page: note.number(), title, lines, covers, turn: *turn, recalls: *recalls }
    }
}

/// Lists the pages that the model sees listed, and counts those that it does not.
pub(super) async fn show(desk: &Desk, place: &Where) -> anyhow::Result<ExitCode> {
    let room = desk.room(desk.engine(desk.reading().await?));
    let meant = desk.place(&room, place).await?;
    let fold = room.fold(&meant).await?;
    if desk.json {
        fold.listed.iter().try_for_each(|note| say_json(&Line::of(note)))?;
        return say_json(&serde_json::json!({"unlisted": fold.unlisted(), "open_from_depth": fold.open().0}))
            .map(|()| ExitCode::SUCCESS);
    }
    if fold.covers.is_none() {
        let limit = grouped(meant.limit);
        say(format!("nothing is folded yet in windows of {limit} tokens; --limit names those of another model"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if fold.summary.is_some() || !fold.artifacts.is_empty() {
        talk(&format!(
            "what is folded has no contents page: `scrollback notes {}` shows what stands for it",
            place.typed()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = table(&["page", "messages", "recalls", "title"], &[2]);
    for note in &fold.listed {
        let covers = format!("{}–{}", note.covers.first, note.covers.last);
        lines.add_row([
            format!("#{}", note.number()),
            covers,
            note.recalls.to_string(),
            shortened(&note.title, TITLE_COLUMNS),
        ]);
    }
    say(lines.trim_fmt())?;
    let listed = counted(fold.listed.len() as u64, "page");
    say(format!("{listed} listed; {} found by search alone", counted(fold.unlisted(), "earlier message")))?;
    Ok(ExitCode::SUCCESS)
}
