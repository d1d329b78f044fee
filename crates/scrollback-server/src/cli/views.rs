//! `scrollback show SESSION --view` and `--views`: the windows that were sent, as they were sent.

use std::process::ExitCode;

use anyhow::{Context, bail};
use scrollback::engine::Recorded;
use scrollback::{Engine, SessionKey};

use crate::api::{ViewLine as Line, cost};

use super::{Desk, counted, grouped, local, say, say_json, table, window};

/// What stands for the newest view on the command line.
pub(super) const NEWEST: &str = "newest";

/// Lists the views of a session.
pub(super) async fn list(desk: &Desk, engine: &Engine, key: &SessionKey) -> anyhow::Result<ExitCode> {
    let views = engine.views(key).await?;
    if desk.json {
        views.iter().try_for_each(|recorded| say_json(&Line::of(recorded)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = table(&["view", "time", "tokens", "of", "fold", "recalls", "cost"], &[2, 3, 4, 5, 6]);
    for recorded in &views {
        let Recorded { name, at, view, .. } = recorded;
        lines.add_row([
            name.clone(),
            local(*at),
            grouped(view.tokens()),
            grouped(view.budget),
            view.fold.map_or("–".into(), |fold| fold.epoch.to_string()),
            view.recalls.len().to_string(),
            cost(recorded).map_or("–".into(), |cost| cost.to_string()),
        ]);
    }
    say(lines.trim_fmt())?;
    say(counted(views.len() as u64, "view"))?;
    Ok(ExitCode::SUCCESS)
}

/// Shows one view: as a sketch, or with all that was said.
pub(super) async fn show(desk: &Desk, engine: &Engine, key: &SessionKey, wanted: &Wanted<'_>) -> anyhow::Result<()> {
    let recorded = named(engine, key, wanted.name).await?;
    let drawn = engine.window_of(key, &recorded.view).await?;
    if desk.json {
        say_json(&Line::of(&recorded))?;
        return drawn.blocks().iter().try_for_each(|block| say_json(&window::Line::of(block)));
    }
    let Recorded { name, at, view, .. } = &recorded;
    let fold = view.fold.map_or("nothing folded".to_owned(), |fold| format!("fold {}", fold.epoch));
    say(format!("{name} · {} · {} · {fold}", local(*at), view.layout))?;
    if wanted.full {
        drawn.blocks().iter().try_for_each(window::say_whole)?;
    } else {
        say(window::sketched(&drawn))?;
        window::reasons(&drawn)?;
    }
    view.notices.iter().try_for_each(|notice| say(format!("notice: {notice}")))?;
    recalls(&recorded)
}

/// Which view to show, and how much of it.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) full: bool,
}

fn recalls(recorded: &Recorded) -> anyhow::Result<()> {
    let view = &recorded.view;
    if view.recalls.is_empty() {
        return Ok(());
    }
    say(format!("recalled on the way, {} tokens:", grouped(view.recalled_tokens)))?;
    view.recalls.iter().try_for_each(|call| say(format!("  {call}")))
}

/// The view a person means: `v42`, `v42.2`, or the newest.
pub(super) async fn named(engine: &Engine, key: &SessionKey, name: &str) -> anyhow::Result<Recorded> {
    let Some(newest) = engine.newest_view(key).await? else {
        bail!("no window of this session was ever sent: views are made by `scrollback serve` and `scrollback chat`");
    };
    if name == NEWEST {
        return Ok(newest);
    }
    let found = engine.view_named(key, name).await?;
    found.with_context(|| format!("there is no view “{name}”: `scrollback show SESSION --views` lists them"))
}
