//! `scrollback diff SESSION VIEW VIEW`: what one window shows that another does not.

use std::process::ExitCode;

use clap::Args;
use scrollback::SessionKey;
use scrollback::engine::Recorded;
use scrollback::sketch::line_within;
use scrollback::view::FoldId;
use scrollback::window::Block;
use serde::Serialize;

use crate::api::{Change, changes};

use super::views::named;
use super::{Desk, columns, grouped, say, say_json, window};

/// How wide a line is after its sign.
const COLUMNS: usize = 77;

#[derive(Debug, Args)]
pub(super) struct Diff {
    /// The session: its name, its id, or the beginning of either
    session: String,
    /// The view to compare, such as v42; `scrollback show SESSION --views` lists them
    before: String,
    /// The view to compare it with
    after: String,
}

#[derive(Serialize)]
struct Line<'a> {
    change: Change,
    #[serde(flatten)]
    block: window::Line<'a>,
}

impl Diff {
    pub(super) async fn run(self, desk: &Desk) -> anyhow::Result<ExitCode> {
        let store = desk.reading().await?;
        let session = desk.session(&store, &self.session).await?;
        let key = SessionKey { tenant: desk.tenant.clone(), id: session.id };
        let engine = desk.engine(store);
        let (before, after) = (named(&engine, &key, &self.before).await?, named(&engine, &key, &self.after).await?);
        let (old, new) = (engine.window_of(&key, &before.view).await?, engine.window_of(&key, &after.view).await?);
        let changes = changes(&old, &new);
        if desk.json {
            changes
                .iter()
                .try_for_each(|(change, block)| say_json(&Line { change: *change, block: window::Line::of(block) }))?;
            return Ok(ExitCode::SUCCESS);
        }
        headline(&before, &after)?;
        changes.iter().try_for_each(|(change, block)| say(drawn(*change, block)))?;
        let mut new_recalls = after.view.recalls.iter().filter(|call| !before.view.recalls.contains(call));
        new_recalls.try_for_each(|call| say(format!("+ {call}")))?;
        if changes.is_empty() {
            say("the same blocks")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn headline(before: &Recorded, after: &Recorded) -> anyhow::Result<()> {
    let fold = |fold: Option<FoldId>| fold.map_or("nothing folded".to_owned(), |fold| format!("fold {}", fold.epoch));
    let told = |recorded: &Recorded| {
        let view = &recorded.view;
        let (tokens, budget) = (grouped(view.tokens()), grouped(view.budget));
        format!("{}: {tokens} of {budget} tokens, {}, {}", recorded.name, fold(view.fold), view.layout)
    };
    say(format!("- {}", told(before)))?;
    say(format!("+ {}", told(after)))
}

fn drawn(change: Change, block: &Block) -> String {
    let sign = match change {
        Change::Gone => '-',
        Change::New => '+',
        Change::Changed => '~',
    };
    format!(
        "{sign} {}",
        line_within(block, columns().map_or(COLUMNS, |columns| columns.saturating_sub(2).min(COLUMNS)))
    )
}
