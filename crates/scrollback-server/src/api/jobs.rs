//! Jobs: the work that waits, is under way, done or given up.

use schemars::JsonSchema;
use scrollback::engine::JobLine;
use serde::Serialize;
use serde_json::Value;

use super::{Refusal, Room};

/// The jobs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Jobs")]
pub(super) struct All {
    jobs: Vec<JobLine>,
}

/// Lists the jobs.
pub(super) async fn list(room: &Room) -> Result<Value, Refusal> {
    Ok(serde_json::to_value(All { jobs: room.engine.jobs(&room.tenant).await? })?)
}
