//! `POST /v1/context/render` and `POST /v1/context/recall`: for those who call their model themselves. A request goes
//! in, in any of the three dialects, and comes back with the window that a model should be sent; what it asks for with
//! our tools is told.

use axum::http::header::ALLOW;
use axum::http::{HeaderMap, Method, StatusCode};
use scrollback::Error;
use scrollback::engine::as_asked;
use scrollback::recall::{RecallCall, RecallTool};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::place::{Place, limit_of};
use super::{Ask, Refusal, Room, view_named};
use crate::live::{Recalled, What};
use crate::wire::{self, Wire, WireName};

/// Where windows are laid out.
pub(super) const RENDER: &str = "/v1/context/render";
/// Where something is recalled.
pub(super) const RECALL: &str = "/v1/context/recall";

/// What a request looks like.
const LIKE: &str = r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "…"}]}"#;

/// The dialect of a request: as it says in its address, or as its fields tell. What is no request in it is refused.
pub(super) fn dialect(ask: &Ask, headers: &HeaderMap) -> Result<&'static dyn Wire, Refusal> {
    let bad = |why: String| Refusal::invalid(format!("the body is not understood ({why}); it looks like {LIKE}"));
    if !ask.body.trim_ascii_start().starts_with(b"{") {
        return Err(bad("it is no object".into()));
    }
    let telling: Telling<'_> = serde_json::from_slice(&ask.body).map_err(|error| bad(error.to_string()))?;
    let name = match ask.text("format") {
        Some("chat") => WireName::Chat,
        Some("responses") => WireName::Responses,
        Some("anthropic") => WireName::Anthropic,
        Some(other) => {
            return Err(Refusal::invalid(format!("“{other}” is no format: there are chat, responses and anthropic")));
        }
        None => telling.dialect(headers),
    };
    let wire = wire::of_path(name.path()).ok_or_else(|| Refusal::invalid("this format cannot be laid out"))?;
    if !telling.is_request(name) {
        return Err(bad(format!("“{}” is no list of messages, each with a role", wire.history())));
    }
    Ok(wire)
}

/// The fields that tell dialects apart, and those that hold messages.
#[derive(Deserialize)]
struct Telling<'a> {
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    messages: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tools: Option<&'a RawValue>,
    #[serde(default)]
    system: Option<serde::de::IgnoredAny>,
}

/// Who speaks in a message, or what kind of item it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Spoken {
    role: Value,
    r#type: Value,
}

impl Telling<'_> {
    fn dialect(&self, headers: &HeaderMap) -> WireName {
        if self.input.is_some() {
            WireName::Responses
        } else if self.system.is_some() || headers.contains_key("anthropic-version") || self.is_like_anthropic() {
            WireName::Anthropic
        } else {
            WireName::Chat
        }
    }

    /// Whether tools or blocks are written as Anthropic alone writes them.
    fn is_like_anthropic(&self) -> bool {
        let entries = |raw: Option<&RawValue>, signs: &[&str]| {
            let told = raw.map(RawValue::get).filter(|text| signs.iter().any(|sign| text.contains(sign)));
            told.and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok()).unwrap_or_default()
        };
        let tools = entries(self.tools, &["\"input_schema\""]);
        let messages = entries(self.messages, &["\"tool_use\"", "\"tool_result\"", "\"thinking\""]);
        let mut blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
        tools.iter().any(|tool| tool["input_schema"].is_object()) || blocks.any(is_anthropic)
    }

    /// Whether there are messages in it. Responses takes a text for one, and has items that nobody speaks.
    fn is_request(&self, name: WireName) -> bool {
        let has_items = name == WireName::Responses;
        let text = if has_items { self.input } else { self.messages }.map(RawValue::get).unwrap_or_default();
        let is_entry = |entry: &&RawValue| {
            let spoken: Spoken = serde_json::from_str(entry.get()).unwrap_or_default();
            let is_told = spoken.role.is_string() || has_items && spoken.r#type.is_string();
            entry.get().starts_with('{') && is_told
        };
        has_items && text.starts_with('"')
            || serde_json::from_str::<Vec<&RawValue>>(text).is_ok_and(|entries| entries.iter().all(is_entry))
    }
}

/// Whether a block is one that only Anthropic has. Others think in lists.
fn is_anthropic(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("tool_use" | "tool_result") => true,
        Some("thinking") => block["thinking"].is_string(),
        _ => false,
    }
}

/// A call of one of our tools, as a model made it.
#[derive(Deserialize)]
struct Called {
    session: String,
    name: String,
    #[serde(default)]
    arguments: Value,
    /// The view that it was sent.
    #[serde(default)]
    view: Option<String>,
}

/// What a model is told that calls one of our tools.
pub(super) async fn recall(room: &Room, ask: &Ask) -> Result<Value, Refusal> {
    let like = r#"{"session": "1f2e3d4c5b6a", "name": "search_history", "arguments": {"words": "…"}}"#;
    let Called { session, name, arguments, view } = ask.said(like)?;
    let unknown = || {
        let names = RecallTool::ALL.map(RecallTool::name).join(", ");
        Refusal::invalid(format!("“{name}” is none of our tools: there are {names}"))
    };
    let tool = RecallTool::called(&name).ok_or_else(unknown)?;
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    let place = match view {
        Some(view) => room.place(&of_view(room, ask, &session, &view).await?, &session).await?,
        None => room.place(ask, &session).await?,
    };
    let content = match RecallCall::read(tool, &arguments) {
        Ok(call) => recalled(room, &place, &call).await?,
        // The model can act on it.
        Err(complaint) => complaint,
    };
    Ok(json!({"content": content}))
}

/// A request about the path and the layout of a view: whatever else the session says meanwhile is on other branches.
async fn of_view(room: &Room, ask: &Ask, session: &str, view: &str) -> Result<Ask, Refusal> {
    let (_, key) = room.session(session).await?;
    let recorded = view_named(room, &key, view).await?;
    let branch = recorded.view.head.branch.0;
    Ok(ask.clone().with("branch", Some(branch)).with("limit", limit_of(&recorded)))
}

/// What a model is told; of what is not there too.
async fn recalled(room: &Room, place: &Place, call: &RecallCall) -> Result<String, Refusal> {
    let fold = room.fold(place).await?;
    // How often its model was asked, only the program knows.
    room.publish(&place.key, || What::Recall(Recalled { asked: as_asked(call), round: 1 }));
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
