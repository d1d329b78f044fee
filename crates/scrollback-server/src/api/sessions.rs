//! Sessions: all of them, newest first, or one with what a person decided about it.

use scrollback::store::Which;
use serde_json::{Value, json};

use super::{Ask, Refusal, Room};

/// How many are listed unless somebody says.
const PAGE: u32 = 50;

/// Lists the sessions.
pub(super) async fn list(room: &Room, ask: &Ask) -> Result<Value, Refusal> {
    let (skip, limit) = (ask.number("skip")?.unwrap_or(0), ask.number("limit")?.unwrap_or(PAGE));
    let which = Which::Page { skip: skip as usize, limit: limit as usize };
    let sessions = room.engine.log().store().sessions(&room.tenant, which).await?;
    Ok(json!({"sessions": sessions}))
}

/// One session, how its next window is laid out, and what a person decided about it.
pub(super) async fn one(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let mut value = serde_json::to_value(&place.session)?;
    value["layout"] = json!(*place.layout);
    value["controls"] = serde_json::to_value(&place.controls)?;
    Ok(value)
}
