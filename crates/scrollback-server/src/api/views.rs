//! Views: the windows of a session that were sent, oldest first.

use scrollback::engine::Recorded;
use scrollback::ledger::{Cost, Totals};
use scrollback::view::FoldId;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Refusal, Room};

/// A view as it is listed.
#[derive(Serialize)]
pub(crate) struct Line<'a> {
    view: &'a str,
    at: String,
    tokens: u32,
    budget: u32,
    layout: &'a str,
    fold: Option<FoldId>,
    recalls: &'a [String],
    /// What had to be done to it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notices: &'a [String],
    cost: Option<Cost>,
}

impl<'a> Line<'a> {
    pub(crate) fn of(recorded: &'a Recorded) -> Self {
        let Recorded { name, at, view } = recorded;
        Self {
            view: name,
            at: at.to_string(),
            tokens: view.tokens(),
            budget: view.budget,
            layout: &view.layout,
            fold: view.fold,
            recalls: &view.recalls,
            notices: &view.notices,
            cost: cost(recorded),
        }
    }
}

/// What a view's calls cost together; `None` if a price is not known.
pub(crate) fn cost(recorded: &Recorded) -> Option<Cost> {
    let totals: Totals = recorded.view.calls.iter().collect();
    (totals.unpriced == 0).then_some(totals.cost)
}

/// Lists the views of a session.
pub(super) async fn list(room: &Room, name: &str) -> Result<Value, Refusal> {
    let (_, key) = room.session(name).await?;
    let views = room.engine.views(&key).await?;
    let lines: Vec<Line<'_>> = views.iter().map(Line::of).collect();
    Ok(json!({"views": lines}))
}
