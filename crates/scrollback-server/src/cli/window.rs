//! `scrollback window SESSION`: what a model with a given limit would be shown of a conversation, and why.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use scrollback::ids::Depth;
use scrollback::note::Fold;
use scrollback::sketch::sketch;
use scrollback::store::{Beside, Place, Span, Stored};
use scrollback::strategy::{Path, StrategyName, lay_out};
use scrollback::window::{Body, Budget};
use scrollback::{MessageId, SessionKey, Store};

use super::show::branch;
use super::{Desk, say, say_json};

/// Instructions stand at the head of a session; this far they are looked for.
const PREAMBLE_AMONG: usize = 64;

#[derive(Debug, Args)]
pub(super) struct Window {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// How the window is laid out: pages, truncate, passthrough
    #[arg(long, default_value = "pages")]
    strategy: StrategyName,
    /// How many tokens fit
    #[arg(long, default_value_t = 8_000)]
    tokens: u32,
    /// Which branch; the newest if not given
    #[arg(long)]
    branch: Option<u32>,
    /// Show what each block says, not only a line of it
    #[arg(long)]
    full: bool,
}

impl Window {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading()?;
        let session = desk.session(&store, &self.session).await?;
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let branch = branch(&session, self.branch)?.context("the session has no messages")?;
        let messages = store.read(&key, Span::Path { head: branch.head, from: Depth(0) }).await?;
        let preamble = preamble(&store, &key).await?;
        let path = Path { preamble: &preamble, messages: &messages, fold: &Fold::default() };
        let (_, window) = lay_out(&*self.strategy.build(), path, Budget { tokens: self.tokens })?;
        if desk.json {
            window.blocks().iter().try_for_each(say_json)?;
        } else if self.full {
            let find = |id: MessageId| preamble.iter().chain(&messages).find(|stored| stored.id == id);
            for block in window.blocks() {
                say(format!("── {} · {} tokens · {:?}", block.role, block.tokens, block.reason))?;
                match &block.body {
                    Body::Held(text) | Body::Note(text) => say(text)?,
                    Body::Original => {
                        say(block.message.and_then(find).map(|m| m.message().to_text()).unwrap_or_default())?;
                    }
                }
            }
        } else {
            say(sketch(&window))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The instructions a session began with.
async fn preamble(store: &dyn Store, key: &SessionKey) -> anyhow::Result<Vec<Stored>> {
    let first = store.read(key, Span::Arrival { from: MessageId(0), limit: PREAMBLE_AMONG }).await?;
    let instructs = |stored: &Stored| stored.place == Place::Beside(Beside::Preamble);
    Ok(first.into_iter().take_while(instructs).collect())
}
