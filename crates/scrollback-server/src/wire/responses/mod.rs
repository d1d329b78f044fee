//! OpenAI Responses: a conversation is a list of items, and a request may hold all of them or only what is new.
//!
//! `opened` reads what a request says beside its items, `render` turns a window into items with `results` for its
//! calls, `imported` what came from a file in another shape, `items` tells what an item is, `gather` collects a
//! streamed reply, `relay` passes it on, `sieved` hides what a model without tools writes to recall, `speech` writes
//! whole replies, `answer` those that no model made, `echo` has them tell of what the client sent.

mod answer;
mod echo;
mod gather;
mod imported;
mod items;
mod opened;
mod relay;
mod render;
mod results;
mod sieved;
mod speech;
#[cfg(test)]
mod tests;

use axum::http::HeaderMap;
use scrollback::recall::RecallTool;
use serde_json::{Value, json};

use super::request::Request;
use super::said::Called;
use super::{Dress, Opened, Rendered, Speech, Toolbox, Wire, WireName};

pub(crate) use opened::{REFERS, compaction, holds_ours, reasoning_in, token};

/// The dialect.
pub(crate) struct Responses;

impl Wire for Responses {
    fn name(&self) -> WireName {
        WireName::Responses
    }

    fn history(&self) -> &'static str {
        "input"
    }

    fn opened(&self, request: &Request, headers: &HeaderMap) -> Opened {
        opened::opened(request, headers)
    }

    fn toolbox(&self) -> &'static dyn Toolbox {
        &Functions
    }

    fn render(&self, dress: &Dress<'_>) -> Rendered {
        render::rendered(dress)
    }

    fn answers(&self, answered: &[(&Called, &str)]) -> Vec<Value> {
        let answer = |(call, text): &(&Called, &str)| json!({"type": "function_call_output", "call_id": call.id, "output": text});
        answered.iter().map(answer).collect()
    }

    fn speech(&self) -> &'static dyn Speech {
        &speech::Outputs
    }
}

/// How tools are written here.
struct Functions;

impl Toolbox for Functions {
    fn spec(&self, tool: RecallTool, name: &str) -> String {
        let spec: Value = serde_json::from_str(tool.spec()).expect("our own tools are valid JSON");
        let function = &spec["function"];
        let (description, parameters) = (&function["description"], &function["parameters"]);
        format!(
            "{{\"type\":\"function\",\"name\":{},\"description\":{description},\"parameters\":{parameters},\"strict\":false}}",
            Value::from(name)
        )
    }

    fn without_ours(&self, request: &Request) -> String {
        let tools = request.value("tools");
        let functions = tools.as_array().into_iter().flatten().filter(|tool| tool["type"] == "function");
        let named = |tool: &Value| json!({"type": "function", "name": tool["name"]});
        let theirs: Vec<Value> = functions.map(named).collect();
        if request.value("tool_choice") == "required" && !theirs.is_empty() {
            return json!({"type": "allowed_tools", "mode": "required", "tools": theirs}).to_string();
        }
        "\"none\"".to_owned()
    }
}
