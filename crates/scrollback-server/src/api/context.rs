//! `POST /v1/context/render` and `POST /v1/context/recall`: for those who call their model themselves. A request goes in, in any of
//! the three dialects, and comes back with the window that a model should be sent; what it asks for with our tools is told.

use axum::http::header::ALLOW;
use axum::http::{HeaderMap, Method, StatusCode};
use scrollback::Error;
use scrollback::recall::{RecallCall, RecallTool};
use serde::Deserialize;
use serde_json::{Value, json};

use super::place::Place;
use super::{Ask, Refusal, Room};
use crate::wire::{self, Wire, WireName};

/// Where windows are laid out.
pub(super) const RENDER: &str = "/v1/context/render";
/// Where something is recalled.
pub(super) const RECALL: &str = "/v1/context/recall";

/// The dialect of a request: as it says in its address, or as its fields tell.
pub(super) fn dialect(ask: &Ask, headers: &HeaderMap) -> Result<&'static dyn Wire, Refusal> {
    let name = match ask.text("format") {
        Some("chat") => WireName::Chat,
        Some("responses") => WireName::Responses,
        Some("anthropic") => WireName::Anthropic,
        Some(other) => {
            return Err(Refusal::invalid(format!("“{other}” is no format: there are chat, responses and anthropic")));
        }
        None => guessed(&ask.body, headers)?,
    };
    wire::of_path(name.path()).ok_or_else(|| Refusal::invalid("this format cannot be laid out"))
}

/// The fields that tell dialects apart.
#[derive(Deserialize)]
struct Telling {
    #[serde(default)]
    input: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    system: Option<serde::de::IgnoredAny>,
}

fn guessed(body: &[u8], headers: &HeaderMap) -> Result<WireName, Refusal> {
    let like = r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "…"}]}"#;
    let bad = |error| Refusal::invalid(format!("the body is not understood ({error}); it looks like {like}"));
    let telling: Telling = serde_json::from_slice(body).map_err(bad)?;
    let anthropic = telling.system.is_some() || headers.contains_key("anthropic-version");
    Ok(if telling.input.is_some() {
        WireName::Responses
    } else if anthropic {
        WireName::Anthropic
    } else {
        WireName::Chat
    })
}

/// A call of one of our tools, as a model made it.
#[derive(Deserialize)]
struct Called {
    session: String,
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// What a model is told that calls one of our tools.
pub(super) async fn recall(room: &Room, ask: &Ask) -> Result<Value, Refusal> {
    let like = r#"{"session": "1f2e3d4c5b6a", "name": "search_history", "arguments": {"words": "…"}}"#;
    let Called { session, name, arguments } = ask.said(like)?;
    let unknown = || {
        let names = RecallTool::ALL.map(RecallTool::name).join(", ");
        Refusal::invalid(format!("“{name}” is none of our tools: there are {names}"))
    };
    let tool = RecallTool::called(&name).ok_or_else(unknown)?;
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    let place = room.place(ask, &session).await?;
    let content = match RecallCall::read(tool, &arguments) {
        Ok(call) => recalled(room, &place, &call).await?,
        // The model can act on it.
        Err(complaint) => complaint,
    };
    Ok(json!({"content": content}))
}

/// What a model is told; of what is not there too.
async fn recalled(room: &Room, place: &Place, call: &RecallCall) -> Result<String, Refusal> {
    let fold = room.fold(place).await?;
    match room.engine.recall_for_model(&place.key, place.head, &fold, call).await {
        Err(Error::NotFound(what) | Error::Invalid(what)) => Ok(what),
        told => Ok(told?),
    }
}

/// That only POST is taken.
pub(super) fn posted(method: &Method, path: &str) -> Result<(), Refusal> {
    if method == Method::POST {
        return Ok(());
    }
    let what = format!("{path} takes POST, not {method}");
    Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", what).with(ALLOW, "POST"))
}
