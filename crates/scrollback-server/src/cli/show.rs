//! `scrollback show SESSION`: a conversation, message by message.

use std::process::ExitCode;

use clap::Args;
use scrollback::ids::{BranchId, Depth};
use scrollback::store::{Branch, Session, Span, Stored};
use scrollback::{MessageId, Part, SessionKey, Store, export};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Desk, bold, counted, local, say, say_json, sessions, talk};

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// How many messages, from the end
    #[arg(long, default_value_t = 20)]
    last: u32,
    /// Every message
    #[arg(long, conflicts_with = "last")]
    all: bool,
    /// Which branch; the newest if not given
    #[arg(long)]
    branch: Option<u32>,
    /// One message, by its number, such as m42
    #[arg(long, conflicts_with_all = ["last", "all", "branch"])]
    message: Option<MessageId>,
}

impl Show {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading()?;
        let session = desk.session(&store, &self.session).await?;
        let messages = self.messages(desk, &store, &session).await?;
        if desk.json {
            messages.iter().try_for_each(|stored| say_json(&Line::of(stored)))?;
            return Ok(ExitCode::SUCCESS);
        }
        let title = sessions::title(desk, &store, &session).await?;
        talk(&format!("{title} · {} · {}", session.id, counted(session.messages, "message")));
        messages.iter().try_for_each(print)?;
        if session.branches.len() > 1 {
            talk(&format!("one of {} branches; --branch N shows another", session.branches.len()));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn messages(&self, desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<Vec<Stored>> {
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        if let Some(id) = self.message {
            let found = store.read(&key, Span::Ids(vec![id])).await?;
            anyhow::ensure!(!found.is_empty(), "session {} has no message {id}", session.id);
            return Ok(found);
        }
        let Some(branch) = branch(session, self.branch)? else {
            return Ok(store.read(&key, Span::Arrival { from: MessageId(0), limit: usize::MAX >> 1 }).await?);
        };
        let first = if self.all { 0 } else { (branch.head.depth.0 + 1).saturating_sub(self.last) };
        if first > 0 {
            talk(&format!("… {}; --all shows them", counted(first, "earlier message")));
        }
        let path = store.read(&key, Span::path(branch.head, Depth(first))).await?;
        if first > 0 {
            return Ok(path);
        }
        let all = store.read(&key, Span::Arrival { from: MessageId(0), limit: usize::MAX >> 1 }).await?;
        Ok(export::with_beside(path, &all))
    }
}

/// The branch a person asks for, or the one written to last.
pub(super) fn branch(session: &Session, number: Option<u32>) -> anyhow::Result<Option<Branch>> {
    match number {
        None => Ok(session.branches.iter().max_by_key(|branch| branch.head.id).copied()),
        Some(number) => {
            let found = session.branches.iter().find(|branch| branch.id == BranchId(number)).copied();
            let count = session.branches.len();
            let missing = || anyhow::anyhow!("session {} has no branch {number}; it has {count}, from 0", session.id);
            found.map(Some).ok_or_else(missing)
        }
    }
}

/// A message as JSON.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    id: String,
    role: &'a str,
    at: String,
    tokens: u32,
    message: &'a RawValue,
}

impl<'a> Line<'a> {
    pub(super) fn of(stored: &'a Stored) -> Self {
        let (id, at) = (stored.id.to_string(), stored.at.to_string());
        Self { id, role: stored.role.as_str(), at, tokens: stored.measure.tokens, message: &stored.raw }
    }
}

pub(super) fn print(stored: &Stored) -> anyhow::Result<()> {
    let (on, off) = bold();
    let tokens = counted(stored.measure.tokens, "token");
    say(format!("\n{on}{} {}{off} · {} · {tokens}", stored.id, stored.role, local(stored.at)))?;
    stored.message().parts().iter().try_for_each(|part| say(line_of(part)))
}

fn line_of(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking(text) => format!("(thinking) {text}"),
        Part::Call { name, arguments, .. } => format!("→ {name} {arguments}"),
        Part::Result { text, .. } => format!("← {text}"),
        Part::Image(_) => "[image]".into(),
        Part::File(_) => "[file]".into(),
        Part::Other(value) => value.to_string(),
    }
}
