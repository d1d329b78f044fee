//! Anthropic Messages.
//!
//! `opened` reads a request. `render` turns a window into messages: `line` is one of them, `held` puts placeholders
//! into it, `imported` writes what came from a file in another shape, `results` keeps results behind their calls,
//! `thinking` leaves out reasoning that was made under another window, known by the hashes of `canonical`, `marks`
//! places the marks of the provider's cache. `reply` gathers what a model says block by block, `relay` passes it on,
//! `speech` writes whole replies, `answer` those that no model made.

mod answer;
mod canonical;
mod held;
mod imported;
mod line;
mod marks;
mod midway;
mod opened;
#[cfg(test)]
mod properties;
mod relay;
mod render;
mod reply;
mod results;
mod sieved;
mod speech;
#[cfg(test)]
mod tests;
mod thinking;

use axum::http::HeaderMap;
use scrollback::recall::RecallTool;
use serde_json::{Value, json};

use super::request::Request;
use super::said::Called;
use super::{Dress, Opened, Rendered, Speech, Toolbox, Wire, WireName};

/// The dialect.
pub(crate) struct Anthropic;

impl Wire for Anthropic {
    fn name(&self) -> WireName {
        WireName::Anthropic
    }

    fn history(&self) -> &'static str {
        "messages"
    }

    fn opened(&self, request: &Request, _: &HeaderMap) -> Opened {
        opened::read(request)
    }

    fn toolbox(&self) -> &'static dyn Toolbox {
        &Tools
    }

    fn render(&self, dress: &Dress<'_>) -> Rendered {
        render::rendered(dress)
    }

    fn answers(&self, answered: &[(&Called, &str)]) -> Vec<Value> {
        let result =
            |(call, text): &(&Called, &str)| json!({"type": "tool_result", "tool_use_id": call.id, "content": text});
        let results: Vec<Value> = answered.iter().map(result).collect();
        if results.is_empty() { Vec::new() } else { vec![json!({"role": "user", "content": results})] }
    }

    fn speech(&self) -> &'static dyn Speech {
        &speech::Messages
    }
}

/// How tools are written here.
struct Tools;

impl Toolbox for Tools {
    fn spec(&self, tool: RecallTool, name: &str) -> String {
        let spec: Value = serde_json::from_str(tool.spec()).unwrap_or_default();
        let function = &spec["function"];
        let (description, parameters) = (&function["description"], &function["parameters"]);
        json!({"description": description, "input_schema": parameters, "name": name}).to_string()
    }

    fn without_ours(&self, request: &Request) -> String {
        let forced = matches!(request.value("tool_choice")["type"].as_str(), Some("any" | "tool"));
        let said = request.raw("tool_choice").filter(|_| forced);
        said.unwrap_or(r#"{"type":"none"}"#).to_owned()
    }
}
