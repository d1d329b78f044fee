//! `scrollback window SESSION`: what a model with a given limit would be shown of a conversation, and why.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use scrollback::ids::Depth;
use scrollback::note::Fold;
use scrollback::sketch::sketch;
use scrollback::store::Span;
use scrollback::strategy::{Leaf, Scene, StrategyName, StrategySettings, lay_out};
use scrollback::view::reason_word;
use scrollback::window::{Block, Body, Budget, Reason, Window as Drawn};
use scrollback::{MessageId, SessionKey, Store};
use serde::Serialize;

use super::show::branch;
use super::{Desk, counted, grouped, say, say_json};
use crate::api::preamble;

#[derive(Debug, Args)]
pub(super) struct Window {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// How the window is laid out: pages, topics, truncate, passthrough
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
        let store = desk.reading().await?;
        let session = desk.session(&store, &self.session).await?;
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let branch = branch(&session, self.branch)?.context("the session has no messages")?;
        let messages = store.read(&key, Span::path(branch.head, Depth(0))).await?;
        let preamble: Vec<_> = preamble(&store, &key).await?.into_iter().map(Arc::new).collect();
        let settings = StrategySettings::default();
        let open = Leaf::all(messages.into_iter().map(Arc::new), &settings.holds);
        let (fold, budget) = (Fold::default(), Budget { tokens: self.tokens });
        let scene = Scene::new(&preamble, &fold, &open, budget);
        let (_, window) = lay_out(&*self.strategy.build(&settings), scene)?;
        if desk.json {
            window.blocks().iter().try_for_each(|block| say_json(&Line::of(block)))?;
        } else if self.full {
            window.blocks().iter().try_for_each(say_whole)?;
        } else {
            say(sketch(&window))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A block as JSON.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    message: Option<MessageId>,
    covers: Option<[MessageId; 2]>,
    speaker: &'a str,
    reason: Reason,
    tokens: u32,
    text: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn of(block: &'a Block) -> Self {
        Self {
            message: match &block.body {
                Body::Nothing(stored) => Some(stored.id),
                Body::Original(_) | Body::Held(..) | Body::Whole(..) | Body::Round(_) | Body::Note(_) => {
                    block.message().map(|stored| stored.id)
                }
            },
            covers: block.covers.map(|covers| [covers.first, covers.last]),
            speaker: block.speaker(),
            reason: block.reason,
            tokens: block.tokens,
            text: block.text(),
        }
    }
}

/// Writes why the blocks of a window are there, a line for each reason.
pub(super) fn reasons(window: &Drawn) -> anyhow::Result<()> {
    let mut counts: BTreeMap<Reason, (usize, u32)> = BTreeMap::new();
    for block in window.blocks() {
        let (blocks, tokens) = counts.entry(block.reason).or_default();
        *blocks += 1;
        *tokens += block.tokens;
    }
    for (reason, (blocks, tokens)) in counts {
        let (blocks, tokens) = (counted(blocks as u64, "block"), grouped(tokens));
        say(format!("  {blocks}, {tokens} tokens: {}", reason_word(reason)))?;
    }
    Ok(())
}

/// Writes what a block says, under a line that says why it is there.
pub(super) fn say_whole(block: &Block) -> anyhow::Result<()> {
    say(format!("── {} · {} tokens · {}", block.speaker(), block.tokens, reason_word(block.reason)))?;
    match &block.body {
        Body::Held(..) | Body::Note(_) => say(block.text()),
        Body::Original(stored) | Body::Whole(stored, _) => say(stored.message().to_text()),
        Body::Nothing(stored) => say(format!("({} is not sent)", stored.id)),
        Body::Round(raw) => say(scrollback::Message::new(raw.clone()).to_text()),
    }
}
