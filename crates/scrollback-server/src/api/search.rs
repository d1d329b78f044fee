//! Search: messages by their words, best first, in every session or in one.

use std::collections::HashMap;
use std::ops::Range;

use schemars::JsonSchema;
use scrollback::ids::BranchId;
use scrollback::search::{Found, Query, Reach, Snippet, find};
use scrollback::store::Which;
use scrollback::{At, MessageId, SessionId};
use serde::Serialize;
use serde_json::Value;

use super::sessions::{line, title_of};
use super::{Ask, Refusal, Room};

/// How many are found unless somebody says.
const COUNT: u32 = 20;
/// The roles that messages have.
pub(crate) const ROLES: [&str; 6] = ["user", "assistant", "tool", "system", "developer", "function"];
/// More is no question.
const WORDS_CHARS: usize = 1_000;

/// What was found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SearchResults")]
pub(super) struct Results {
    found: Vec<Hit>,
}

/// A message that was found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SearchHit")]
struct Hit {
    session: SessionId,
    /// What its session's client calls it.
    declared: Option<String>,
    /// What its session is about.
    title: String,
    message: MessageId,
    /// `null` for what stands beside the path, such as instructions.
    branch: Option<BranchId>,
    role: String,
    at: At,
    /// A line of it, in pieces.
    snippet: Vec<Piece>,
}

/// A piece of a snippet.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "SnippetPiece")]
struct Piece {
    text: String,
    /// Whether it was searched for.
    hit: bool,
}

/// How a session is told from others.
#[derive(Clone, Default)]
struct Named {
    declared: Option<String>,
    title: String,
}

/// Which end of a stretch of time a day stands for.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// Searches.
pub(super) async fn answer(room: &Room, ask: &Ask) -> Result<Value, Refusal> {
    let query = query(room, ask).await?;
    let found = find(&**room.engine.log().store(), &room.tenant, &query).await?;
    // Clients may give messages any role: one that others do not know is refused only where nothing has it.
    if let Some(role) = query.role.as_deref().filter(|role| found.is_empty() && !ROLES.contains(role)) {
        let what = format!("nothing of the role “{role}” is found; there are {}", ROLES.join(", "));
        return Err(Refusal::not_found(what));
    }
    let mut sessions: HashMap<SessionId, Named> = HashMap::new();
    let mut hits = Vec::with_capacity(found.len());
    for one in found {
        let named = match sessions.get(&one.session) {
            Some(named) => named.clone(),
            None => named(room, one.session).await?,
        };
        sessions.insert(one.session, named.clone());
        hits.push(Hit::of(one, named));
    }
    Ok(serde_json::to_value(Results { found: hits })?)
}

async fn query(room: &Room, ask: &Ask) -> Result<Query, Refusal> {
    let text = ask.text("words").unwrap_or_default().to_owned();
    if text.trim().is_empty() {
        return Err(Refusal::invalid("say what to look for: words=deposit"));
    }
    if text.chars().nth(WORDS_CHARS).is_some() {
        return Err(Refusal::invalid(format!("at most {WORDS_CHARS} characters can be looked for at once")));
    }
    let count = ask.number("count")?.unwrap_or(COUNT);
    let reach = match ask.text("session") {
        Some(name) => Reach::Session(room.session(name).await?.0.id),
        None => Reach::Everywhere,
    };
    let (since, until) = (moment(ask, "from", End::First)?, moment(ask, "to", End::Last)?);
    Ok(Query { text, reach, role: ask.text("role").map(str::to_owned), since, until, limit: count as usize })
}

async fn named(room: &Room, id: SessionId) -> Result<Named, Refusal> {
    let store = room.engine.log().store();
    match store.sessions(&room.tenant, Which::Id(id)).await?.pop() {
        Some(session) => {
            let title = line(&title_of(&**store, &room.tenant, &session).await?);
            Ok(Named { declared: session.declared, title })
        }
        None => Ok(Named::default()),
    }
}

/// A day or a time, UTC where it names no zone; days and times are within what they end.
fn moment(ask: &Ask, name: &str, end: End) -> Result<Option<At>, Refusal> {
    let Some(text) = ask.text(name) else { return Ok(None) };
    let exact = || {
        let at = At::parse(text).or_else(|| At::parse(&format!("{text}Z")))?;
        Some(match end {
            End::First => at,
            End::Last => At(at.0.saturating_add(1)),
        })
    };
    let day = || {
        let date: jiff::civil::Date = text.parse().ok()?;
        let date = match end {
            End::First => date,
            End::Last => date.tomorrow().ok()?,
        };
        let zoned = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(At(zoned.timestamp().as_microsecond()))
    };
    let bad = || format!("“{name}” is a day such as 2026-03-01 or a time such as 2026-03-01T09:30:00Z, not “{text}”");
    exact().or_else(day).map(Some).ok_or_else(|| Refusal::invalid(bad()))
}

impl Hit {
    fn of(found: Found, Named { declared, title }: Named) -> Self {
        let Found { session, message, snippet, .. } = found;
        Self {
            session,
            declared,
            title,
            message: message.id,
            branch: message.position().map(|position| position.branch),
            role: message.speaker().to_owned(),
            at: message.at,
            snippet: pieces(&snippet),
        }
    }
}

fn pieces(snippet: &Snippet) -> Vec<Piece> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    let mut push = |range: Range<usize>, hit: bool| {
        let text = snippet.text.get(range).unwrap_or_default();
        if !text.is_empty() {
            pieces.push(Piece { text: text.to_owned(), hit });
        }
    };
    for mark in &snippet.marks {
        push(at..mark.start, false);
        push(mark.clone(), true);
        at = mark.end;
    }
    push(at..snippet.text.len(), false);
    pieces
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::*;

    fn asked(name: &str, text: &str, end: End) -> Option<String> {
        let ask = Ask::new(Method::GET, &["search"]).with(name, Some(text));
        moment(&ask, name, end).ok().flatten().map(|at| at.to_string())
    }

    #[test]
    fn days_are_whole() {
        assert_eq!(asked("from", "2026-03-01", End::First).as_deref(), Some("2026-03-01T00:00:00Z"));
        assert_eq!(asked("to", "2026-03-01", End::Last).as_deref(), Some("2026-03-02T00:00:00Z"));
        assert_eq!(asked("to", "2026-03-01T09:30:00Z", End::Last).as_deref(), Some("2026-03-01T09:30:00.000001Z"));
        assert_eq!(asked("to", "2026-03-01T09:30", End::Last).as_deref(), Some("2026-03-01T09:30:00.000001Z"));
        assert_eq!(asked("from", "2026-03-01 09:30:00", End::First).as_deref(), Some("2026-03-01T09:30:00Z"));
        assert_eq!(asked("to", "9999-12-31", End::Last), None);
        assert_eq!(asked("from", "yesterday", End::First), None);
    }

    #[test]
    fn snippets_come_in_pieces() {
        let snippet = Snippet { text: "the deposit".into(), marks: vec![Range { start: 4, end: 11 }] };
        let piece = |text: &str, hit| Piece { text: text.into(), hit };
        assert_eq!(pieces(&snippet), [piece("the ", false), piece("deposit", true)]);
    }
}
