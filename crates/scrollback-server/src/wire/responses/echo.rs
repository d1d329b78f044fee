//! What a response says of the request it was made for: what the client sent, whatever was made of that on the way.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Responses;
use crate::config::RecallBy;
use crate::wire::offer::Offer;
use crate::wire::{Echo, Wire};

/// The choice of a client that makes none.
const USUAL_CHOICE: &str = "auto";

/// A whole response that tells of its request as the client sent it; the same bytes if it does already.
pub(super) fn restored(body: Bytes, echo: &Echo) -> Bytes {
    if echo.gone.is_empty() && echo.offer.by() != RecallBy::Tools {
        return body;
    }
    let Ok(said) = serde_json::from_slice::<Value>(&body) else { return body };
    // An error tells nothing of its request.
    if !said["output"].is_array() {
        return body;
    }
    let mut told = said.clone();
    restore(&mut told, echo);
    if told == said { body } else { told.to_string().into() }
}

/// Has a response tell of its request as the client sent it.
pub(super) fn restore(response: &mut Value, echo: &Echo) {
    if !response.is_object() {
        return;
    }
    hide_tools(response, &echo.offer);
    if echo.offer.by() == RecallBy::Tools {
        restore_choice(response, echo);
    }
    for name in &echo.gone {
        let sent = echo.request.value(name);
        response[*name] = if *name == "conversation" && sent.is_string() { json!({"id": sent}) } else { sent };
    }
}

/// Takes our tools out of what a response says it was made with.
pub(super) fn hide_tools(response: &mut Value, offer: &Offer) {
    if let Some(Value::Array(tools)) = response.get_mut("tools") {
        tools.retain(|tool| !tool["name"].as_str().is_some_and(|name| offer.is_ours(name)));
    }
}

/// Puts the client's choice of tools in the place of the one that keeps a model from ours.
fn restore_choice(response: &mut Value, echo: &Echo) {
    let Some(told) = response.get_mut("tool_choice") else { return };
    let sent = Some(echo.request.value("tool_choice")).filter(|sent| !sent.is_null());
    let sent = sent.unwrap_or_else(|| USUAL_CHOICE.into());
    let forced = Responses.toolbox().without_ours(&echo.request);
    let forced: Value = serde_json::from_str(&forced).unwrap_or_default();
    let is_kind = |kind: &Value| kind.is_string() && told["type"] == *kind;
    if *told != sent && (*told == forced || is_kind(&forced["type"])) {
        *told = sent;
    }
}
