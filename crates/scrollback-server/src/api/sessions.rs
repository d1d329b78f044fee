//! Sessions: all of them, newest first, or one with what a person decided about it.

use scrollback::store::{Session, Span, Which};
use scrollback::{MessageId, SessionKey, Store, Tenant};
use serde_json::{Value, json};

use super::{Ask, Refusal, Room};

/// How many are listed unless somebody says.
const PAGE: u32 = 50;
/// Among so many messages the first that is not an instruction is looked for.
const BEGINNING: usize = 16;

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

/// What a session is called: its title, else how it begins, else its declared name.
pub(crate) async fn title_of(store: &dyn Store, tenant: &Tenant, session: &Session) -> scrollback::Result<String> {
    if let Some(title) = session.title.as_ref().filter(|title| !title.is_empty()) {
        return Ok(title.clone());
    }
    let key = SessionKey { tenant: tenant.clone(), id: session.id };
    let first = store.read(&key, Span::Arrival { from: MessageId(0), limit: BEGINNING }).await?;
    let first = first.into_iter().find(|stored| stored.position().is_some());
    let begins = first.map(|stored| stored.message().to_text()).filter(|text| !text.trim().is_empty());
    Ok(begins.or_else(|| session.declared.clone()).unwrap_or_default())
}
