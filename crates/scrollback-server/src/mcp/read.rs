//! Reading: a session's messages, windows and notes, as text inside a fence.

use std::sync::Arc;

use axum::http::Method;
use bytes::Bytes;
use rmcp::model::{ReadResourceResult, ResourceContents};
use scrollback::engine::Recorded;
use scrollback::ids::Depth;
use scrollback::recall::{fence, heading};
use scrollback::sketch;
use scrollback::store::{Lineage, Span, Stored};
use scrollback::window::{Block, Body};
use scrollback::{MessageId, SessionKey};

use super::resources::{SCHEME, TEXT};
use super::{Reader, sessions};
use crate::api::{Ask, NEWEST, Refusal, Room, branch, notes_at, view_named};

/// How many messages are read at once.
const MESSAGES: u32 = 100;
/// How many windows are listed.
const VIEWS: usize = 100;
/// How many characters are shown at once.
const CHARACTERS: usize = 40_000;

/// What an address stands for.
pub(super) async fn read(reader: &Reader, uri: &str) -> Result<ReadResourceResult, Refusal> {
    let unknown = || Refusal::not_found(format!("there is no {uri}; resources/templates/list tells what there is"));
    let ask = Ask::read(&Method::GET, uri.strip_prefix(SCHEME).ok_or_else(unknown)?, Bytes::new())?;
    let room = reader.room().await?;
    let parts: Vec<&str> = ask.path.iter().map(String::as_str).collect();
    let text = match parts[..] {
        ["sessions"] => listed(&room, &ask).await?,
        ["sessions", name] => messages(&room, &ask, name).await?,
        ["sessions", name, "window"] => view(&room, name, NEWEST).await?,
        ["sessions", name, "views"] => views(&room, name).await?,
        ["sessions", name, "views", wanted] => view(&room, name, wanted).await?,
        ["sessions", name, "notes"] => notes(&room, &ask, name).await?,
        _ => return Err(unknown()),
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(TEXT)]))
}

async fn listed(room: &Room, ask: &Ask) -> Result<String, Refusal> {
    let page = sessions::page(room, ask.text("after"), sessions::MOST).await?;
    Ok(page.text(|next| format!("{SCHEME}sessions?after={next} goes on")))
}

/// A page of the newest path, from a message on.
async fn messages(room: &Room, ask: &Ask, name: &str) -> Result<String, Refusal> {
    let (session, key) = room.session(name).await?;
    let empty = || Refusal::not_found("the session has no messages");
    let head = branch(&session, None)?.ok_or_else(empty)?.head;
    let from = match ask.text("from") {
        Some(from) => depth(room, &key, from.parse()?, &Lineage::of(head, &session.branches)).await?,
        None => Depth(0),
    };
    let to = Depth(from.0.saturating_add(MESSAGES)).min(head.depth);
    let store = room.engine.log().store();
    let path = store.read(&key, Span::Path { head, from, to }).await?;
    let excluded = room.engine.controls(&key).await?.excluded;
    let written = path.iter().map(|stored| {
        let is_out = excluded.contains(&stored.id);
        (stored.id, if is_out { left_out(stored) } else { written(stored) })
    });
    let whole = to == head.depth;
    let (shown, next) = fitting(written.collect(), whole);
    let onward = next.map(|next| format!("\n\n[{SCHEME}sessions/{}?from={next} goes on]", key.id));
    Ok(fence("messages", &format!("Messages of {}", key.id), &(shown + &onward.unwrap_or_default())))
}

async fn depth(room: &Room, key: &SessionKey, id: MessageId, path: &Lineage) -> Result<Depth, Refusal> {
    let stored = room.engine.log().store().read(key, Span::Ids(vec![id])).await?.pop();
    let position = stored.filter(|stored| path.holds(&stored.place)).and_then(|stored| stored.position());
    let missing = || Refusal::not_found(format!("there is no message {id} on the newest branch of this session"));
    position.map(|position| position.depth).ok_or_else(missing)
}

fn left_out(stored: &Stored) -> String {
    format!("{}\n[left out, as the person wants it]", heading(stored.id, &stored.role, stored.at))
}

/// A message as text; what is too long is cut, and can be loaded in parts.
fn written(stored: &Stored) -> String {
    let text = stored.message().to_text();
    let heading = heading(stored.id, &stored.role, stored.at);
    match text.char_indices().nth(CHARACTERS / 2) {
        None => format!("{heading}\n{text}"),
        Some((end, _)) => {
            let id = stored.id.0;
            format!(
                "{heading}\n{}\n[cut: load_tool_history(id = \"h{id}\", part = lines) reads the rest]",
                &text[..end]
            )
        }
    }
}

/// As many messages as are shown at once, and the one that they go on with. The last of them is only that, unless they
/// are whole.
fn fitting(mut written: Vec<(MessageId, String)>, whole: bool) -> (String, Option<MessageId>) {
    let beyond = if whole { None } else { written.pop() };
    let (mut shown, mut characters) = (Vec::new(), 0);
    for (id, text) in written {
        characters += text.chars().count();
        if characters > CHARACTERS && !shown.is_empty() {
            return (shown.join("\n\n"), Some(id));
        }
        shown.push(text);
    }
    (shown.join("\n\n"), beyond.map(|(id, _)| id))
}

/// A window that was sent, as its sketch.
async fn view(room: &Room, name: &str, wanted: &str) -> Result<String, Refusal> {
    let (_, key) = room.session(name).await?;
    let recorded = view_named(room, &key, wanted).await?;
    let window = room.engine.window_of(&key, &recorded.view).await?;
    let excluded = room.engine.controls(&key).await?.excluded;
    // What was shown before a person wanted it left out is not told again.
    let is_in = |block: &&Block| stands_for(block).is_none_or(|stored| !excluded.contains(&stored.id));
    let lines = window.blocks().iter().filter(is_in).map(sketch::line).chain([sketch::summary(&window)]);
    Ok(fence("window", &line(&recorded), &lines.collect::<Vec<_>>().join("\n")))
}

/// The message that a block is about, shown or not.
fn stands_for(block: &Block) -> Option<&Arc<Stored>> {
    if let Body::Nothing(stored) = &block.body { Some(stored) } else { block.message() }
}

async fn views(room: &Room, name: &str) -> Result<String, Refusal> {
    let (_, key) = room.session(name).await?;
    let mut newest = room.engine.views_before(&key, "", VIEWS + 1).await?;
    if newest.is_empty() {
        return Ok("No window of this session was ever sent.".to_owned());
    }
    let which = if newest.len() > VIEWS { format!("The newest {VIEWS} windows") } else { "Windows".to_owned() };
    newest.truncate(VIEWS);
    let lines: Vec<String> = newest.iter().rev().map(line).collect();
    Ok(fence("views", &format!("{which} of {}, the oldest first", key.id), &lines.join("\n")))
}

fn line(recorded: &Recorded) -> String {
    let Recorded { name, at, view, .. } = recorded;
    format!("{name} · {at} · {} of {} tokens · {}", view.tokens(), view.budget, view.layout)
}

async fn notes(room: &Room, ask: &Ask, name: &str) -> Result<String, Refusal> {
    let place = room.place(ask, name).await?;
    let fold = room.fold(&place).await?;
    let written = |note: &crate::api::WholeNote| {
        let covers = note.entry.covers.map(|[first, last]| format!(" · {first}–{last}")).unwrap_or_default();
        format!("[{}{covers}]\n{}", note.entry.name, note.text)
    };
    let notes: Vec<String> = notes_at(room, &place, &fold).await?.iter().map(written).collect();
    if notes.is_empty() {
        return Ok("Nothing of this session is folded.".to_owned());
    }
    Ok(fence("notes", &format!("Notes of {}", place.key.id), &notes.join("\n\n")))
}
