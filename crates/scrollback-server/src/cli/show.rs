//! `scrollback show SESSION`: a conversation, message by message, or what was made of it: views, ledger, contents page,
//! topics.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use scrollback::control::Controls;
use scrollback::ids::Depth;
use scrollback::store::{Branch, Session, Span, Stored};
use scrollback::{Engine, Error, MessageId, Part, SessionKey, Store, export};
use serde::Serialize;
use serde_json::value::RawValue;

pub(super) use crate::api::branch;
use crate::api::preamble;
use crate::salvage::{self, Salvage};

use super::control::{Where, ranges};
use super::topics::{self, Listed};
use super::views::NEWEST;
use super::{Desk, bold, counted, ledger, local, pages, say, say_json, sessions, talk, views};

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
    #[command(flatten)]
    made: Made,
}

/// What was made of the conversation.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[derive(Debug, Args)]
struct Made {
    /// A window that was sent, and why each block is there; the newest if no id such as v42 is given
    #[arg(long, value_name = "VIEW", num_args = 0..=1, default_missing_value = NEWEST, conflicts_with_all = ["last", "all", "message"])]
    view: Option<String>,
    /// With --view: what each block says, not only a line of it
    #[arg(long, requires = "view")]
    full: bool,
    /// The windows that were sent
    #[arg(long, conflicts_with_all = ["last", "all", "message", "view"])]
    views: bool,
    /// What every call was made of and cost
    #[arg(long, conflicts_with_all = ["last", "all", "message", "view", "views"])]
    ledger: bool,
    /// The contents page: what is folded
    #[arg(long, conflicts_with_all = ["last", "all", "message", "view", "views", "ledger"])]
    pages: bool,
    /// With --pages: the limit of the model whose windows are meant, in tokens; that of the newest window if not given
    #[arg(long, value_name = "TOKENS", requires = "pages")]
    limit: Option<u32>,
    /// The topics that messages were sorted into
    #[arg(long, conflicts_with_all = ["last", "all", "message", "view", "views", "ledger", "pages"])]
    topics: bool,
    /// What happened to topics
    #[arg(long, conflicts_with_all = ["last", "all", "message", "view", "views", "ledger", "pages", "topics"])]
    events: bool,
}

impl Made {
    fn is_wanted(&self) -> bool {
        self.view.is_some() || self.views || self.ledger || self.pages || self.topics || self.events
    }

    async fn show(&self, desk: &Desk, engine: &Engine, key: &SessionKey, branch: Branch) -> anyhow::Result<ExitCode> {
        if let Some(name) = &self.view {
            let wanted = views::Wanted { name, full: self.full };
            return views::show(desk, engine, key, &wanted).await.map(|()| ExitCode::SUCCESS);
        }
        if self.views {
            views::list(desk, engine, key).await
        } else if self.ledger {
            ledger::show(desk, engine, key).await
        } else if self.topics {
            topics::list(desk, engine, key, branch.head, Listed::All).await
        } else if self.events {
            topics::events(desk, engine, key).await
        } else {
            pages::show(desk, &Where::on(&key.id.to_string(), Some(branch.id.0), self.limit)).await
        }
    }
}

impl Show {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading().await?;
        let session = desk.session(&store, &self.session).await?;
        if self.made.is_wanted() {
            let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
            let branch = branch(&session, self.branch)?.context("the session has no messages")?;
            return self.made.show(desk, &desk.engine(store), &key, branch).await;
        }
        let Salvage { messages, lost } = self.messages(desk, &store, &session).await?;
        if desk.json {
            messages.iter().try_for_each(|stored| say_json(&Line::of(stored)))?;
            return Ok(ended(&lost));
        }
        let heading = sessions::heading(desk, &store, &session).await?;
        talk(&format!("{heading} · {}", counted(session.messages, "message")));
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let controls = desk.engine(store).controls(&key).await?;
        messages.iter().try_for_each(|stored| print_as(stored, mark(&controls, stored.id)))?;
        if session.branches.len() > 1 {
            talk(&format!("one of {} branches; --branch N shows another", session.branches.len()));
        }
        Ok(ended(&lost))
    }

    async fn messages(&self, desk: &Desk, store: &dyn Store, session: &Session) -> anyhow::Result<Salvage> {
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        if let Some(id) = self.message {
            let found = store.read(&key, Span::Ids(vec![id])).await?;
            anyhow::ensure!(!found.is_empty(), "session {} has no message {id}", session.id);
            let (messages, lost): (Vec<_>, Vec<_>) = found.into_iter().partition(salvage::is_sound);
            return Ok(Salvage { messages, lost: lost.iter().map(|stored| stored.id).collect() });
        }
        let branch = branch(session, self.branch)?;
        if let Some(branch) = branch.filter(|branch| !self.all && branch.head.depth.0 >= self.last)
            && let Some(messages) = self.newest(store, &key, &branch).await?
        {
            return Ok(Salvage { messages, lost: Vec::new() });
        }
        let all = salvage::messages(store, &key, session.messages).await?;
        let Some(branch) = branch else { return Ok(all) };
        let mut shown = export::with_beside(all.path(session, branch.head), &all.messages);
        let earlier = if self.all { 0 } else { shown.len().saturating_sub(self.last as usize) };
        if earlier == 0 {
            return Ok(Salvage { messages: shown, lost: all.lost });
        }
        talk(&format!("… {}; `show --all` has them", counted(earlier as u64, "earlier message")));
        let messages = shown.split_off(earlier);
        let is_later = |id: &MessageId| messages.first().is_some_and(|first| *id > first.id);
        let lost = all.lost.into_iter().filter(is_later).collect();
        Ok(Salvage { messages, lost })
    }

    /// The newest messages of a path, without those before; `None` if one of them is damaged.
    async fn newest(
        &self,
        store: &dyn Store,
        key: &SessionKey,
        branch: &Branch,
    ) -> anyhow::Result<Option<Vec<Stored>>> {
        let first = (branch.head.depth.0 + 1).saturating_sub(self.last);
        let messages = match store.read(key, Span::path(branch.head, Depth(first))).await {
            Err(Error::Damaged(_)) => return Ok(None),
            read => read?,
        };
        let Ok(beside) = preamble(store, key).await else { return Ok(None) };
        if !messages.iter().chain(&beside).all(salvage::is_sound) {
            return Ok(None);
        }
        let earlier = first as usize + beside.len();
        talk(&format!("… {}; `show --all` has them", counted(earlier as u64, "earlier message")));
        Ok(Some(messages))
    }
}

/// Says what is not shown because it is damaged, and whether all was well.
fn ended(lost: &[MessageId]) -> ExitCode {
    if lost.is_empty() {
        return ExitCode::SUCCESS;
    }
    talk(&format!("not shown: {}, damaged; a backup has what they said", ranges(lost)));
    ExitCode::FAILURE
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

/// What a person decided about a message, after its heading.
fn mark(controls: &Controls, id: MessageId) -> &'static str {
    match (controls.excluded.contains(&id), controls.pinned.contains(&id)) {
        (true, _) => " · left out",
        (false, true) => " · pinned",
        (false, false) => "",
    }
}

pub(super) fn print(stored: &Stored) -> anyhow::Result<()> {
    print_as(stored, "")
}

fn print_as(stored: &Stored, mark: &str) -> anyhow::Result<()> {
    let (on, off) = bold();
    let tokens = counted(stored.measure.tokens, "token");
    say(format!("\n{on}{} {}{off} · {} · {tokens}{mark}", stored.id, stored.speaker(), local(stored.at)))?;
    stored.message().parts().iter().try_for_each(|part| say(line_of(part)))
}

fn line_of(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking(text) => format!("(thinking) {text}"),
        Part::Call { name, arguments, .. } => format!("→ {name} {arguments}"),
        Part::Result { text, other, .. } => {
            let words = (!text.is_empty() || other.is_empty()).then(|| text.clone());
            let told = words.into_iter().chain(other.iter().map(export::other_piece));
            format!("← {}", told.collect::<Vec<_>>().join("\n"))
        }
        Part::Image(_) | Part::File(_) | Part::Other(_) => export::piece(part),
    }
}
