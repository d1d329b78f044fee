//! Folds as a person moves them: back, forward, or now; and the strategy that makes them.

use schemars::JsonSchema;
use scrollback::MessageId;
use scrollback::control::Change;
use scrollback::note::{Covers, Fold};
use scrollback::strategy::StrategyName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::notes::names;
use super::place::Place;
use super::{Ask, Refusal, Room};
use crate::clock::now;
use crate::live::What;

/// What stands for the strategy of the settings.
const DEFAULT: &str = "default";

/// Which way among the folds of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Back,
    Forward,
}

/// What was folded before, and what is now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FoldMoved")]
pub(crate) struct Moved {
    pub(crate) layout: String,
    /// The first and last message that was folded.
    pub(crate) before: Option<[MessageId; 2]>,
    /// The first and last message that is folded now.
    pub(crate) after: Option<[MessageId; 2]>,
    /// How many messages are shown again.
    pub(crate) opened: u32,
    /// How many messages went under notes.
    pub(crate) folded: u32,
    /// What those messages cost, in tokens.
    pub(crate) tokens: u32,
    /// What stands for all that is folded now costs so much.
    pub(crate) note_tokens: u32,
    /// The notes that count now.
    pub(crate) notes: Vec<String>,
    /// Whether anything is different.
    pub(crate) changed: bool,
}

/// How windows of a session are laid out from now on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StrategyChosen")]
pub(crate) struct Chosen {
    /// The strategy that was chosen; `None` if it is the one of the settings.
    pub(crate) strategy: Option<StrategyName>,
    pub(crate) layout: String,
}

/// What a person wants windows to be.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "StrategyWanted")]
pub(super) struct Wanted {
    strategy: String,
}

impl Moved {
    fn of(place: &Place, before: &Fold, after: &Fold) -> Self {
        let (old, new) = (before.open().0, after.open().0);
        Self {
            layout: place.layout.to_string(),
            before: before.covers.map(Covers::ends),
            after: after.covers.map(Covers::ends),
            opened: old.saturating_sub(new),
            folded: new.saturating_sub(old),
            tokens: before.original_tokens.abs_diff(after.original_tokens),
            note_tokens: after.tokens,
            notes: names(after),
            changed: before.text != after.text || old != new,
        }
    }
}

/// Goes to the fold before, or to the one that was undone last.
pub(super) async fn moved(room: &Room, ask: &Ask, name: &str, direction: Direction) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let before = room.fold(&place).await?;
    let (engine, Place { key, head, layout, .. }) = (&room.engine, &place);
    let after = match direction {
        Direction::Back => engine.undo(key, *head, layout, now()).await?,
        Direction::Forward => engine.redo(key, *head, layout, now()).await?,
    };
    room.publish(key, || What::Fold { covers: after.covers.map(Covers::ends) });
    Ok(serde_json::to_value(Moved::of(&place, &before, &after))?)
}

/// Folds now what would be folded when the window is full.
pub(super) async fn compress(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let before = room.fold(&place).await?;
    let after = room.engine.compress(place.folding(), now()).await?;
    if let Some(after) = &after {
        room.publish(&place.key, || What::Fold { covers: after.covers.map(Covers::ends) });
    }
    Ok(serde_json::to_value(Moved::of(&place, &before, after.as_ref().unwrap_or(&before)))?)
}

/// Lays windows of a session out in another way, or as the settings say.
pub(super) async fn strategy(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let Wanted { strategy } = ask.said(r#"{"strategy": "summary"}, or "default" for that of the settings"#)?;
    let wanted = (strategy != DEFAULT).then(|| strategy.parse()).transpose()?;
    room.engine.change(&place.key, &Change::Strategy(wanted), now()).await?;
    room.publish(&place.key, || What::Controls);
    let layout = room.place(ask, name).await?.layout.to_string();
    Ok(serde_json::to_value(Chosen { strategy: wanted, layout })?)
}
