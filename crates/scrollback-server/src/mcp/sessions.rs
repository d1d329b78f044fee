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
    /// How many to pass over for the next page, if there is one.
    pub(super) next: Option<usize>,
    /// How many were passed over.
    #[serde(skip)]
    skipped: usize,
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

/// A page of the sessions.
pub(super) async fn page(room: &Room, skip: usize, limit: usize) -> Result<Page, Refusal> {
    let limit = limit.clamp(1, MOST);
    let store = &**room.engine.log().store();
    let mut found = store.sessions(&room.tenant, Which::Page { skip, limit: limit + 1 }).await?;
    let next = (found.len() > limit).then_some(skip + limit);
    found.truncate(limit);
    let mut sessions = Vec::with_capacity(found.len());
    for session in found {
        let key = SessionKey { tenant: room.tenant.clone(), id: session.id };
        let excluded = room.engine.controls(&key).await?.excluded;
        let title = title_without(store, &room.tenant, &session, &excluded).await?;
        sessions.push(Line::of(session, &title));
    }
    Ok(Page { sessions, next, skipped: skip })
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
    pub(super) fn text(&self, onward: impl Fn(usize) -> String) -> String {
        if self.sessions.is_empty() {
            let none =
                if self.skipped > 0 { "There are no more conversations." } else { "No conversation is kept here." };
            return none.to_owned();
        }
        let lines = self.sessions.iter().map(Line::text).chain(self.next.map(|next| format!("[{}]", onward(next))));
        fence("sessions", "Conversations, the newest first", &lines.collect::<Vec<_>>().join("\n"))
    }
}
