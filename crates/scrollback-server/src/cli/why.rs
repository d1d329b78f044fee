//! `scrollback why SESSION m12`: why a message was in a window, or why it was not and how to get it back.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use scrollback::engine::Recorded;
use scrollback::store::{Place, Session, Span, Stored};
use scrollback::view::{Standing, reason_word};
use scrollback::window::Reason;
use scrollback::{Engine, MessageId, SessionKey};

use super::views::{NEWEST, named};
use super::{Desk, local, say, say_json};

#[derive(Debug, Args)]
pub(super) struct Why {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// The message, such as m12
    message: MessageId,
    /// The view, such as v42; the newest if not given
    #[arg(long, default_value = NEWEST, value_name = "VIEW")]
    view: String,
}

impl Why {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading()?;
        let session = desk.session(&store, &self.session).await?;
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let engine = desk.engine(store);
        let recorded = named(&engine, &key, &self.view).await?;
        let standing = engine.standing(&key, &recorded.view, self.message).await?;
        let stored = engine.log().store().read(&key, Span::Ids(vec![self.message])).await?.pop();
        let stored = stored.with_context(|| format!("session {} has no message {}", session.id, self.message))?;
        let case = Case { engine: &engine, key: &key, session: &session, recorded: &recorded, stored: &stored };
        let (word, told) = case.told(standing.as_ref()).await?;
        if desk.json {
            say_json(
                &serde_json::json!({"message": self.message, "view": recorded.name, "standing": word, "why": told}),
            )?;
        } else {
            say(format!("{} in {} of {}: {told}", self.message, recorded.name, local(recorded.at)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A message and the view it is asked about.
struct Case<'a> {
    engine: &'a Engine,
    key: &'a SessionKey,
    session: &'a Session,
    recorded: &'a Recorded,
    stored: &'a Stored,
}

impl Case<'_> {
    /// How it stood, in a word and in a sentence.
    async fn told(&self, standing: Option<&Standing>) -> anyhow::Result<(&'static str, String)> {
        let id = self.stored.id;
        let name = &self.session.id.to_string()[..12];
        Ok(match standing {
            Some(Standing::Shown(Reason::TooLarge)) => (
                "held",
                format!(
                    "held. Its {} tokens are too large to show again and again, so a placeholder stands in its place.\n\
                     To read it: `scrollback recall {name} hold h{}`; the model calls load_tool_history.",
                    self.stored.measure.tokens, id.0
                ),
            ),
            Some(Standing::Shown(reason)) => ("shown", format!("shown as it came: {}.", reason_word(*reason))),
            Some(Standing::Listed { page }) => {
                let folded = self.folded().await?;
                let how =
                    format!("To read it: `scrollback recall {name} page {page}`; the model calls recall_page({page}).");
                ("listed", format!("not shown. It is on page #{page} of the contents page{folded}.\n{how}"))
            }
            Some(Standing::Quoted) => {
                ("quoted", format!("quoted word for word, because it matters to this turn{}.", self.folded().await?))
            }
            Some(Standing::Searchable) => {
                let folded = self.folded().await?;
                let how = format!(
                    "To read it: `scrollback recall {name} page {}`; the model finds it with search_history.",
                    id.0
                );
                ("searchable", format!("not shown{folded}. No list names it.\n{how}"))
            }
            Some(Standing::Later) => ("later", format!("not shown: it was said later, {}.", local(self.stored.at))),
            Some(Standing::Dropped) => {
                ("dropped", format!("not shown: {} drops what does not fit.", self.recorded.view.layout))
            }
            None => ("elsewhere", self.elsewhere()),
        })
    }

    /// In which fold it went under its note, and in which topic it is.
    async fn folded(&self) -> anyhow::Result<String> {
        let Some(position) = self.stored.position() else { return Ok(String::new()) };
        let folded = self.engine.folded_in(self.key, &self.recorded.view, position.depth).await?;
        let folded = folded.map(|(fold, at)| format!(", folded in fold {} at {}", fold.epoch, local(at)));
        let topic = self.engine.topic_of(self.key, self.recorded.view.head, position).await?;
        let topic = topic.map(|card| format!(", in the topic {} “{}”", card.id, card.name));
        Ok(folded.into_iter().chain(topic).collect())
    }

    fn elsewhere(&self) -> String {
        match self.stored.place {
            Place::Path(position) => format!(
                "not shown: it is on branch {}, and this window was made for branch {}. No branch sees another.",
                position.branch.0, self.recorded.view.head.branch.0
            ),
            Place::Beside(_) => {
                "not shown: it is kept beside the path (instructions of another request, a client's own \
                                 version of a message, or reasoning)."
                    .to_owned()
            }
        }
    }
}
