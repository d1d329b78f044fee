//! `scrollback why SESSION m12`: why a message was in a window, or why it was not and how to get it back.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use scrollback::store::Span;
use scrollback::{MessageId, SessionKey};

use super::views::{NEWEST, named};
use super::{Desk, local, say, say_json};
use crate::api::{Case, Said};

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
        let store = desk.reading().await?;
        let session = desk.session(&store, &self.session).await?;
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let engine = desk.engine(store);
        let recorded = named(&engine, &key, &self.view).await?;
        let stored = engine.log().store().read(&key, Span::Ids(vec![self.message])).await?.pop();
        let stored = stored.with_context(|| format!("session {} has no message {}", session.id, self.message))?;
        let case =
            Case { engine: &engine, key: &key, session: &session, recorded: &recorded, stored: &stored, time: local };
        let Said { word, why: told, .. } = case.said().await?;
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
