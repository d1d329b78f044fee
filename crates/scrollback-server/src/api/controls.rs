//! Controls: which messages are pinned, which are left out, and how windows are laid out.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use scrollback::control::{Change, Controls};
use scrollback::store::{Lineage, Span};
use scrollback::strategy::StrategyName;
use scrollback::{MessageId, SessionKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::{Place, message_id};
use super::sessions::one_line;
use super::{Ask, Refusal, Room, Telling, tellings};
use crate::clock::now;
use crate::live::What;

/// How much of a message a line shows.
const LINE_CHARS: usize = 200;

/// What is done to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Pin,
    Unpin,
    Exclude,
    Include,
}

/// What a person decided about a session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Controlled {
    /// The strategy that was chosen for it; `None` if it is the one of the settings.
    pub(crate) strategy: Option<StrategyName>,
    /// How its next window is laid out.
    pub(crate) layout: String,
    pub(crate) pinned: Vec<Line>,
    pub(crate) excluded: Vec<Line>,
    pub(crate) dropped_rules: BTreeSet<String>,
}

/// A message in a line.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MessageLine")]
pub(crate) struct Line {
    pub(crate) message: MessageId,
    pub(crate) role: String,
    pub(crate) text: String,
}

/// What a change did.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Effect {
    /// The messages it is about: a call and its results go together.
    pub(crate) messages: Vec<MessageId>,
    /// Whether anything is different now.
    pub(crate) changed: bool,
    pub(crate) pinned: BTreeSet<MessageId>,
    pub(crate) excluded: BTreeSet<MessageId>,
    /// Where notes already tell of what is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) told: Vec<Telling>,
}

/// Shows what a person decided.
pub(super) async fn show(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let Controls { strategy, pinned, excluded, dropped_rules } = place.controls;
    let controlled = Controlled {
        strategy,
        layout: place.layout.to_string(),
        pinned: lines(room, &place.key, &pinned).await?,
        excluded: lines(room, &place.key, &excluded).await?,
        dropped_rules,
    };
    Ok(serde_json::to_value(controlled)?)
}

async fn lines(room: &Room, key: &SessionKey, ids: &BTreeSet<MessageId>) -> Result<Vec<Line>, Refusal> {
    let stored = room.engine.log().store().read(key, Span::Ids(ids.iter().copied().collect())).await?;
    let lines = stored.iter().map(|stored| Line {
        message: stored.id,
        role: stored.role.to_string(),
        text: one_line(&stored.message().to_text(), LINE_CHARS),
    });
    Ok(lines.collect())
}

/// Pins a message, leaves it out, or takes either back.
pub(super) async fn change(room: &Room, ask: &Ask, name: &str, message: &str, verb: Verb) -> Result<Value, Refusal> {
    let (place, id) = (room.place(ask, name).await?, message_id(message)?);
    let change = match verb {
        Verb::Pin => Change::Pin(id),
        Verb::Unpin => Change::Unpin(id),
        Verb::Exclude => Change::Exclude(id),
        Verb::Include => Change::Include(id),
    };
    let after = room.engine.change(&place.key, &change, now()).await?;
    room.publish(&place.key, || What::Controls);
    let (old, new) = match verb {
        Verb::Pin | Verb::Unpin => (&place.controls.pinned, &after.pinned),
        Verb::Exclude | Verb::Include => (&place.controls.excluded, &after.excluded),
    };
    let differs: Vec<MessageId> = old.symmetric_difference(new).copied().collect();
    let changed = !differs.is_empty();
    let messages = if changed { differs } else { vec![id] };
    let told = if verb == Verb::Exclude { told(room, &place, &messages).await? } else { Vec::new() };
    let Controls { pinned, excluded, .. } = after;
    Ok(serde_json::to_value(Effect { messages, changed, pinned, excluded, told })?)
}

/// Where notes of the fold that counts tell of some messages.
async fn told(room: &Room, place: &Place, messages: &[MessageId]) -> Result<Vec<Telling>, Refusal> {
    let fold = room.fold(place).await?;
    let lineage = Lineage::of(place.head, &place.session.branches);
    let stored = room.engine.log().store().read(&place.key, Span::Ids(messages.to_vec())).await?;
    let mut all = Vec::new();
    for stored in stored.iter().filter(|stored| lineage.holds(&stored.place)) {
        all.extend(tellings(&room.engine, &place.key, &fold, stored).await?);
    }
    let mut seen: Vec<Telling> = Vec::new();
    for telling in all {
        if !seen.contains(&telling) {
            seen.push(telling);
        }
    }
    Ok(seen)
}
