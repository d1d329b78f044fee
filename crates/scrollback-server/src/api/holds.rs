//! Holds: the large tool results that windows show placeholders for, listed, and read line by line or by words.

use std::collections::HashMap;

use schemars::JsonSchema;
use scrollback::engine::{Held, Lines};
use scrollback::store::Span;
use scrollback::{At, MessageId};
use serde::Serialize;
use serde_json::Value;

use super::{Ask, Refusal, Room};

/// How many lines are shown unless somebody says.
const LINES: u32 = 400;
/// More is no question.
const WORDS_CHARS: usize = 1_000;

/// A page of holds, in the order they came.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HoldPage")]
pub(super) struct Page {
    holds: Vec<Line>,
    /// Where the next page begins.
    next: Option<String>,
}

/// A hold in a line.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HoldLine")]
struct Line {
    id: String,
    message: MessageId,
    at: At,
    tool: Option<String>,
    /// The beginning of what it was asked.
    query: Option<String>,
    chars: usize,
    tokens: u32,
    brief: String,
    sources: Vec<String>,
    /// Whether its owner had it erased.
    erased: bool,
}

/// A hold, or a part of it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Hold")]
pub(super) struct Whole {
    id: String,
    message: MessageId,
    text: String,
    /// How long the whole result is.
    chars: usize,
    /// How many lines it has; those over 1,000 characters count as several.
    lines: usize,
    /// The first line here.
    from_line: usize,
    /// Whether it goes on.
    more: bool,
}

/// Lists the holds of a session.
pub(super) async fn list(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let (_, key) = room.session(name).await?;
    let page = ask.page()?;
    let after = if page.cursor.is_empty() { None } else { Some(message(&page.cursor)?) };
    let store = room.engine.log().store();
    let mut found = Held::page(&**store, &key, after, page.count + 1).await?;
    let next = page.rest(&mut found, |last| name_of(last.id));
    // The results themselves are large: only those are read whose size is not recorded.
    let unknown = found.iter().filter(|held| held.tokens.is_none()).map(|held| held.id).collect();
    let read = store.read(&key, Span::Ids(unknown)).await?;
    let read: HashMap<MessageId, u32> = read.iter().map(|stored| (stored.id, stored.measure.tokens)).collect();
    let tokens = |held: &Held| held.tokens.or_else(|| read.get(&held.id).copied()).unwrap_or_default();
    let holds = found.into_iter().map(|held| Line::of(tokens(&held), held)).collect();
    Ok(serde_json::to_value(Page { holds, next })?)
}

/// Shows lines of a hold, or its passages with some words.
pub(super) async fn one(room: &Room, ask: &Ask, name: &str, hold: &str) -> Result<Value, Refusal> {
    let (id, count) = (message(hold)?, ask.number("lines")?.unwrap_or(LINES));
    let first = ask.number("from_line")?.unwrap_or(1);
    let (_, key) = room.session(name).await?;
    let Lines { text, chars, count: lines, first: from_line, shown } = match ask.text("words") {
        Some(words) if words.chars().nth(WORDS_CHARS).is_some() => {
            let most = format!("at most {WORDS_CHARS} characters can be looked for at once");
            return Err(Refusal::invalid(most));
        }
        Some(words) => room.engine.result_passages(&key, id, words).await?,
        None => room.engine.result_lines(&key, id, first as usize, count as usize).await?,
    };
    let more = from_line - 1 + shown < lines;
    Ok(serde_json::to_value(Whole { id: name_of(id), message: id, text, chars, lines, from_line, more })?)
}

impl Line {
    fn of(tokens: u32, held: Held) -> Self {
        let Held { id, tool, query, told, erased, at, .. } = held;
        let (chars, brief, sources) = (told.chars, told.brief, told.sources);
        Self { id: name_of(id), message: id, at, tool, query, chars, tokens, brief, sources, erased }
    }
}

fn name_of(id: MessageId) -> String {
    format!("h{}", id.0)
}

/// The message of a hold: h33 is the result in m33.
fn message(hold: &str) -> Result<MessageId, Refusal> {
    let bad = |_| Refusal::invalid(format!("“{hold}” is no held result: they are written h33"));
    hold.strip_prefix('h').unwrap_or(hold).parse().map(MessageId).map_err(bad)
}
