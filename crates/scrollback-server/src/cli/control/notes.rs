//! `scrollback notes SESSION [NAME]`: what stands for the folded messages of a conversation, in a line each or whole.

use std::process::ExitCode;

use axum::http::Method;
use clap::Args;
use scrollback::note::Author;

use super::Where;
use super::door::read;
use crate::api::{NoteEntry, NoteKind, NoteList, WholeNote};
use crate::cli::{Desk, counted, say, say_json, shortened, table, talk};

/// How many columns of a title are shown.
const TITLE_COLUMNS: usize = 48;
/// How many columns of what else there is to say.
const MORE_COLUMNS: usize = 40;
/// How many of the things a summary lost are named.
const NAMED: usize = 12;

#[derive(Debug, Args)]
pub(in crate::cli) struct Notes {
    #[command(flatten)]
    place: Where,
    /// A note, such as 42, s60 or a12; shown whole
    name: Option<String>,
}

impl Notes {
    pub(in crate::cli) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        match &self.name {
            Some(name) => self.one(desk, name).await?,
            None => self.list(desk).await?,
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self, desk: &Desk) -> anyhow::Result<()> {
        let listed: NoteList = desk.asked(&self.place.ask(Method::GET, &["notes"])).await?;
        if desk.json {
            return listed.notes.iter().try_for_each(say_json);
        }
        let Some([first, last]) = listed.covers else {
            talk(&format!("nothing is folded ({})", listed.layout));
            return Ok(());
        };
        let mut lines = table(&["note", "by", "messages", "of", "more", "title"], &[]);
        for note in &listed.notes {
            let of = note.covers.map_or(String::new(), |[first, last]| format!("{first}–{last}"));
            let (by, title) = (author(note.by), shortened(&note.title, TITLE_COLUMNS));
            let more = shortened(&more(note), MORE_COLUMNS);
            lines.add_row([note.name.clone(), by.to_owned(), note.messages.to_string(), of, more, title]);
        }
        if !listed.notes.is_empty() {
            say(lines.trim_fmt())?;
        }
        let unlisted = counted(listed.unlisted, "message");
        let hidden = if listed.unlisted > 0 { format!("; {unlisted} found by search alone") } else { String::new() };
        talk(&format!("folded: {first}–{last} ({}){hidden}", listed.layout));
        Ok(())
    }

    async fn one(&self, desk: &Desk, name: &str) -> anyhow::Result<()> {
        let answer = desk.ask(&self.place.ask(Method::GET, &["notes", name])).await?;
        if desk.json {
            return say_json(&answer);
        }
        tell(&read(answer)?)
    }
}

/// Says all of a note.
pub(super) fn tell(whole: &WholeNote) -> anyhow::Result<()> {
    let note = &whole.entry;
    talk(&format!("{} · by {} · {}", note.name, author(note.by), counted(note.messages, "message")));
    say(whole.text.trim_end())?;
    if !whole.kept.is_empty() {
        say("\nWord for word:")?;
        whole.kept.iter().try_for_each(|quote| say(format!("[{}] {}", quote.message, quote.text)))?;
    }
    if !note.lost.is_empty() {
        say(format!("\nNot told: {}", note.lost.join(" · ")))?;
    }
    Ok(())
}

/// What there is to say of a note beside its title.
fn more(note: &NoteEntry) -> String {
    match note.kind {
        NoteKind::Page => counted(note.recalls.unwrap_or(0), "recall"),
        NoteKind::Artifact => format!("version {}", note.version.unwrap_or(0)),
        NoteKind::Summary => {
            let named: Vec<&str> = note.lost.iter().take(NAMED).map(String::as_str).collect();
            let lost = if named.is_empty() { "nothing".to_owned() } else { named.join(", ") };
            let rest = note.lost.len().saturating_sub(NAMED);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            format!("quotes {}, lost {lost}{rest}", counted(note.quotes.len() as u64, "message"))
        }
    }
}

fn author(by: Author) -> &'static str {
    match by {
        Author::Helper => "helper",
        Author::Offline => "offline",
        Author::Person => "you",
    }
}
