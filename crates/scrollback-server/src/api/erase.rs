//! Erasing a conversation for good: the one thing here that destroys.

use schemars::JsonSchema;
use scrollback::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Refusal, Room};
use crate::live::What;

/// What was erased.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Erased {
    pub(crate) session: SessionId,
    /// How many messages it had.
    pub(crate) erased: u32,
}

/// Erases a session that is named in full.
pub(super) async fn session(room: &Room, name: &str) -> Result<Value, Refusal> {
    let (session, key) = room.session(name).await?;
    if name != session.id.to_string() && session.declared.as_deref() != Some(name) {
        return Err(Refusal::invalid(format!(
            "nothing was erased: “{name}” is the beginning of a name. What cannot be undone needs the whole id, {}",
            session.id
        )));
    }
    let readonly = || Refusal::invalid("nothing was erased: the store is open for reading only");
    let eraser = room.eraser.as_ref().ok_or_else(readonly)?;
    if let Some(proxy) = &room.proxy {
        proxy.settled_in(session.id).await;
    }
    let erased = eraser.forget(&key).await?;
    room.engine.forget_recent(Some(session.id));
    // A server does that beside requests.
    if room.proxy.is_none() {
        eraser.wipe().await?;
    }
    room.publish(&key, || What::Erased);
    Ok(serde_json::to_value(Erased { session: session.id, erased })?)
}
