//! `scrollback window SESSION`: what a model with a given limit would be shown of a conversation, and why.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use scrollback::control::Controls;
use scrollback::ids::Depth;
use scrollback::rule::rules;
use scrollback::sketch::{line_within, sketch, summary};
use scrollback::store::Span;
use scrollback::strategy::{KeepLimits, Keeping, Kept, Leaf, Scene, Strategy, StrategyName, kept, lay_out};
use scrollback::view::reason_word;
use scrollback::window::{Block, Body, Budget, Reason, Window as Drawn};
use scrollback::{MessageId, SessionKey, Store};
use serde::Serialize;

use super::show::branch;
use super::terminal::say_fitted;
use super::{Desk, columns, counted, grouped, say, say_json};
use crate::api::preamble;

/// So often a window is laid out with what the one before folds.
const TRIES: usize = 4;

#[derive(Debug, Args)]
pub(super) struct Window {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// How the window is laid out: pages, topics, summary, artifacts, truncate, passthrough; as the session's are if
    /// not given
    #[arg(long, value_name = "NAME")]
    strategy: Option<StrategyName>,
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
        let settings = &desk.settings.engine;
        let engine = desk.engine(store);
        let mut controls = engine.controls(&key).await?;
        let strategy = self.strategy.or(controls.strategy).unwrap_or(settings.strategy);
        controls.strategy = Some(strategy);
        let (_, fold) = engine.fold_at(&key, branch.head, &engine.layout_with(&controls, self.tokens)).await?;
        let path = Leaf::all(messages.into_iter().map(Arc::new), &settings.strategies.holds);
        let (open, budget) = (&path[fold.open().0 as usize..], Budget { tokens: self.tokens });
        let scene = Scene { excluded: &controls.excluded, ..Scene::new(&preamble, &fold, open, budget) };
        let window = drawn(&*strategy.build(&settings.strategies), scene, &path, &controls)?;
        if desk.json {
            window.blocks().iter().try_for_each(|block| say_json(&Line::of(block)))?;
        } else if self.full {
            window.blocks().iter().try_for_each(say_whole)?;
        } else {
            say(sketched(&window))?;
            reasons(&window)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Lays out a window with the rules and pins of what it folds. They take room, so that more may be folded than without
/// them.
fn drawn(
    strategy: &dyn Strategy,
    scene: Scene<'_>,
    path: &[Arc<Leaf>],
    controls: &Controls,
) -> scrollback::Result<Drawn> {
    let (mut fold, mut window) = lay_out(strategy, scene)?;
    for _ in 0..TRIES {
        let Some(kept) = kept_over(&path[..fold.open().0 as usize], controls, scene.budget) else { break };
        let (next, drawn) = lay_out(strategy, Scene { kept: Some(&kept), ..scene })?;
        let is_same = next.open() == fold.open();
        (fold, window) = (next, drawn);
        if is_same {
            break;
        }
    }
    Ok(window)
}

/// The rules and pins of what is folded.
fn kept_over(folded: &[Arc<Leaf>], controls: &Controls, budget: Budget) -> Option<Kept> {
    let folded = folded.iter().map(|leaf| &leaf.stored);
    let folded: Vec<_> = folded.filter(|stored| !controls.excluded.contains(&stored.id)).collect();
    let stated: Vec<_> = folded.iter().flat_map(|stored| rules(stored)).filter(|rule| controls.holds(rule)).collect();
    let pinned: Vec<_> = folded.into_iter().filter(|stored| controls.pinned.contains(&stored.id)).cloned().collect();
    let rules: Vec<_> = stated.iter().collect();
    kept(&Keeping { rules: &rules, pinned: &pinned, ..Keeping::default() }, KeepLimits::usual(budget))
}

/// A window as text, as wide as the terminal where there is one.
pub(super) fn sketched(window: &Drawn) -> String {
    let Some(columns) = columns() else { return sketch(window) };
    let lines = window.blocks().iter().map(|block| line_within(block, columns));
    lines.chain([summary(window)]).collect::<Vec<_>>().join("\n")
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
        say_fitted(&format!("  {blocks}, {tokens} tokens: {}", reason_word(reason)))?;
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
