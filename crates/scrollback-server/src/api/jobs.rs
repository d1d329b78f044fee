//! Jobs: the work that waits, is under way, done or given up.

use serde_json::{Value, json};

use super::{Refusal, Room};

/// Lists the jobs.
pub(super) async fn list(room: &Room) -> Result<Value, Refusal> {
    Ok(json!({"jobs": room.engine.jobs(&room.tenant).await?}))
}
