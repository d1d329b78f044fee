//! What a summary tells of, word for word: from one message on, or those with some words.

use schemars::JsonSchema;
use scrollback::recall::{RecallCall, RecallTool};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Ask, Refusal, Room};

/// Words, as they were said.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryWords")]
pub(super) struct Words {
    text: String,
}

/// Shows the messages that a summary covers.
pub(super) async fn expand(room: &Room, ask: &Ask, name: &str, summary: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    let arguments = json!({"id": summary, "words": ask.text("words"), "from": ask.text("from")});
    let call = RecallCall::read(RecallTool::Summary, &arguments.to_string()).map_err(Refusal::invalid)?;
    let fold = room.fold(&place).await?;
    let text = room.engine.recall_at(&place.key, place.head, &fold, &call).await?;
    Ok(serde_json::to_value(Words { text })?)
}
