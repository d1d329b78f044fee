//! Carrying out calls. Whatever the caller can set right is a result that says so; only a tool that is not there, or a
//! store that cannot be read, is an error of the protocol.

use axum::http::Method;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use scrollback::recall::{RecallCall, RecallTool};
use serde_json::Value;

use super::{Reader, sessions, tools, toward};
use crate::api::{Ask, Refusal, Room};

/// What a call comes to: words, and the same for programs where they say more than words. Clients show their model the
/// structure and not the words where there is one, and what was said is best read as it was said.
struct Told {
    text: String,
    structure: Option<Value>,
}

/// Carries out a call.
pub(super) async fn carried_out(
    reader: &Reader,
    name: &str,
    arguments: &JsonObject,
) -> Result<CallToolResult, ErrorData> {
    let told = if let Some(tool) = RecallTool::of_name(name) {
        recalled(reader, tool, arguments).await
    } else if name == tools::LIST {
        listed(reader, arguments).await
    } else {
        let names: Vec<String> = tools::all().into_iter().map(|tool| tool.name.into_owned()).collect();
        let what = format!("there is no tool “{name}”; there are {}", names.join(", "));
        return Err(ErrorData::invalid_params(what, None));
    };
    match told {
        Ok(told) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(told.text)]);
            result.structured_content = told.structure;
            Ok(result)
        }
        Err(refusal) if refusal.status.is_server_error() => Err(super::unreadable(refusal)),
        Err(refusal) => Ok(CallToolResult::error(vec![ContentBlock::text(refusal.message)])),
    }
}

async fn recalled(reader: &Reader, tool: RecallTool, arguments: &JsonObject) -> Result<Told, Refusal> {
    let session = session(arguments)?;
    let call = read(tool, arguments)?;
    let room = reader.room().await?;
    let place = room
        .place(&Ask::new(Method::GET, &[]), session)
        .await
        .map_err(|refusal| toward(&refusal, "list_sessions names them all"))?;
    let fold = room.fold(&place).await?;
    let text = room.engine.recall_from_outside(&place.key, place.head, &fold, &call).await?;
    Ok(Told { structure: None, text })
}

/// The session that a call names.
fn session(arguments: &JsonObject) -> Result<&str, Refusal> {
    let named = arguments.get("session").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    let missing = || Refusal::invalid("name the conversation as `session`, a text: list_sessions names them all");
    named.ok_or_else(missing)
}

/// The call that a model behind the proxy would make.
fn read(tool: RecallTool, arguments: &JsonObject) -> Result<RecallCall, Refusal> {
    let mut own = arguments.clone();
    own.remove("session");
    RecallCall::read(tool, &Value::Object(own).to_string()).map_err(Refusal::invalid)
}

async fn listed(reader: &Reader, arguments: &JsonObject) -> Result<Told, Refusal> {
    let limit = limit(arguments)?;
    let after = match arguments.get("after").filter(|after| !after.is_null()) {
        Some(after) => Some(after.as_str().ok_or_else(|| Refusal::invalid("`after` is the `next` of a page, a text"))?),
        None => None,
    };
    // Whoever passed over so many in another version would get the first page again and again.
    if let Some(name) = arguments.keys().find(|name| !["limit", "after"].contains(&name.as_str())) {
        return Err(Refusal::invalid(format!("list_sessions takes `limit` and `after`, not `{name}`")));
    }
    let room: &Room = &*reader.room().await?;
    let page = sessions::page(room, after, limit).await?;
    let text = page.text(|next| format!("list_sessions(after = \"{next}\") goes on"));
    Ok(Told { structure: Some(serde_json::to_value(&page)?), text })
}

/// How many are wanted: 5.0 is 5, and more than there may be is as many as there may be.
fn limit(arguments: &JsonObject) -> Result<usize, Refusal> {
    let Some(value) = arguments.get("limit").filter(|value| !value.is_null()) else { return Ok(sessions::PAGE) };
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 1.0);
    let most = sessions::MOST;
    let bad = || Refusal::invalid(format!("`limit` is a whole number from 1 to {most}, not {value}"));
    whole.map(|number| format!("{number:.0}").parse().unwrap_or(most).min(most)).ok_or_else(bad)
}
