//! `scrollback undo SESSION`: what was folded last is shown again. Nothing is lost by it, and nothing was.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use scrollback::note::Fold;
use scrollback::{SessionKey, Store};

use super::show::branch;
use super::views::{NEWEST, named};
use super::{Desk, counted, grouped, now, say, say_json};

#[derive(Debug, Args)]
pub(super) struct Undo {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// Which branch; the newest if not given
    #[arg(long)]
    branch: Option<u32>,
}

impl Undo {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.writing()?;
        let session = desk.session(&*store, &self.session).await?;
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let head = branch(&session, self.branch)?.context("the session has no messages")?.head;
        let engine = desk.engine_over(store.clone() as std::sync::Arc<dyn Store>);
        let layout = named(&engine, &key, NEWEST).await?.view.layout;
        let (_, before) = engine.fold_at(&key, head, &layout).await?;
        let after = engine.undo(&key, head, &layout, now()).await?;
        if desk.json {
            let covered = |fold: &Fold| fold.covers.map(|covers| [covers.first, covers.last]);
            say_json(&serde_json::json!({"layout": layout, "before": covered(&before), "after": covered(&after)}))?;
        } else {
            tell(&before, &after)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn tell(before: &Fold, after: &Fold) -> anyhow::Result<()> {
    let Some(covers) = before.covers else { return say("nothing was folded") };
    let shown = before.open().0 - after.open().0;
    let tokens = grouped(before.original_tokens.saturating_sub(after.original_tokens));
    say(format!("{} up to {} are shown again, {tokens} tokens", counted(shown, "message"), covers.last))?;
    say(match after.covers {
        Some(covers) => format!("still folded: {}–{}", covers.first, covers.last),
        None => "nothing is folded any more".to_owned(),
    })?;
    say("the next fold waits until the window must have one")
}
