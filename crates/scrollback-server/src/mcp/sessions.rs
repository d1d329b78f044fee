//! The sessions, a page at a time, newest first.

use scrollback::SessionKey;
use scrollback::recall::fence;
use scrollback::store::{Session, Which};
use serde::Serialize;

use crate::api::{Refusal, Room, one_line, title_without};

/// How many are listed unless somebody says.
pub(super) const PAGE: usize = 20;
/// How many are listed at most.
pub(super) const MOST: usize = 100;
/// How many characters of a title are told.
const TITLE: usize = 80;

/// A page of sessions.
#[derive(Serialize)]
pub(super) struct Page {
    pub(super) sessions: Vec<Line>,
    /// What the next page comes after, if there is one.
    pub(super) next: Option<String>,
    /// Whether none is before it.
    #[serde(skip)]
    first: bool,
}

/// A session as it is listed.
#[derive(Serialize)]
pub(super) struct Line {
    /// Its id.
    pub(super) session: String,
    /// What its client calls it.
    pub(super) name: Option<String>,
    pub(super) title: String,
    pub(super) messages: u32,
    branches: usize,
    first: String,
    pub(super) last: String,
}

/// A page of the sessions, after what the one before says.
pub(super) async fn page(room: &Room, after: Option<&str>, limit: usize) -> Result<Page, Refusal> {
    let (limit, first) = (limit.clamp(1, MOST), after.is_none());
    let bad = |_| Refusal::invalid("this was not given as `next` here; begin without it");
    let after = after.map(|after| after.parse().map_err(bad)).transpose()?;
    let which = Which::Titled { text: String::new(), after, limit: limit + 1 };
    let store = room.store();
    let mut found = store.sessions(&room.tenant, which).await?;
    let is_last = found.len() <= limit;
    found.truncate(limit);
    let next = found.last().filter(|_| !is_last).map(|last| last.mark.to_string());
    let mut sessions = Vec::with_capacity(found.len());
    for session in found {
        let key = SessionKey { tenant: room.tenant.clone(), id: session.id };
        let excluded = room.engine.controls(&key).await?.excluded;
        let title = title_without(store, &room.tenant, &session, &excluded).await?;
        sessions.push(Line::of(session, &title));
    }
    Ok(Page { sessions, next, first })
}

impl Line {
    fn of(session: Session, title: &str) -> Self {
        Self {
            session: session.id.to_string(),
            name: session.declared,
            title: one_line(title, TITLE),
            messages: session.messages,
            branches: session.branches.len(),
            first: session.born.to_string(),
            last: session.last.to_string(),
        }
    }

    fn text(&self) -> String {
        let Self { session, title, messages, last, .. } = self;
        let name = self.name.as_ref().map(|name| format!(" · {name}")).unwrap_or_default();
        format!("{session}{name} · {messages} messages · {last} · {title}")
    }
}

impl Page {
    /// As text; `onward` says how to go on.
    pub(super) fn text(&self, onward: impl Fn(&str) -> String) -> String {
        if self.sessions.is_empty() {
            let none = if self.first { "No conversation is kept here." } else { "There are no more conversations." };
            return none.to_owned();
        }
        let onward = self.next.iter().map(|next| format!("[{}]", onward(next)));
        let lines = self.sessions.iter().map(Line::text).chain(onward);
        fence("sessions", "Conversations, the newest first", &lines.collect::<Vec<_>>().join("\n"))
    }
}
