//! What a summary tells of, word for word: from one message on, or those with some words.

use schemars::JsonSchema;
use scrollback::MessageId;
use scrollback::note::Fold;
use scrollback::recall::{RecallCall, RecallTool};
use scrollback::store::Span;
use serde::Serialize;
use serde_json::{Value, json};

use super::place::Place;
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
    if let RecallCall::Summary { number, from, .. } = &call {
        is_told(room, &place, &fold, *number, *from).await?;
    }
    let text = room.engine.recall_at(&place.key, place.head, &fold, &call).await?;
    Ok(serde_json::to_value(Words { text })?)
}

/// Refuses a summary that is not there, and to begin with a message that none covers. What an older summary told, the
/// newest covers too.
async fn is_told(room: &Room, place: &Place, fold: &Fold, number: u32, from: Option<MessageId>) -> Result<(), Refusal> {
    let Some(summary) = fold.summary.as_ref().filter(|summary| number <= summary.covers.last.0) else {
        let there = fold
            .summary
            .as_ref()
            .map_or_else(|| "nothing is summed up".to_owned(), |one| format!("there is {}", one.name()));
        return Err(Refusal::not_found(format!("there is no summary s{number} here: {there}")));
    };
    let Some(from) = from else { return Ok(()) };
    let stored = room.engine.log().store().read(&place.key, Span::Ids(vec![from])).await?.pop();
    let position = stored.and_then(|stored| stored.position());
    if position.is_none_or(|position| position.depth > summary.covers.to) {
        let [first, last] = summary.covers.ends();
        return Err(Refusal::not_found(format!("no summary covers {from}: name a message from {first} to {last}")));
    }
    Ok(())
}
