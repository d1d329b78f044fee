//! What there is to call: the recall tools as models behind the proxy know them, each with the session it is about, and
//! a list of the sessions.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use scrollback::recall::RecallTool;
use serde_json::{Value, json};

/// The tool that lists sessions.
pub(super) const LIST: &str = "list_sessions";

/// Every tool.
pub(super) fn all() -> Vec<Tool> {
    let recalls = RecallTool::ALL.into_iter().map(recall);
    std::iter::once(listing()).chain(recalls).collect()
}

fn recall(tool: RecallTool) -> Tool {
    let spec: Value = serde_json::from_str(tool.spec()).expect("the tools of recall are written in JSON");
    let function = &spec["function"];
    let description = function["description"].as_str().unwrap_or_default().to_owned();
    let title = match tool {
        RecallTool::Topic => "Bring back a topic",
        RecallTool::Page => "Show an earlier page",
        RecallTool::Summary => "Show what a summary tells of",
        RecallTool::Hold => "Load a tool result",
        RecallTool::Search => "Search a conversation",
    };
    annotated(title, Tool::new(tool.name(), description, of_session(&function["parameters"])))
}

/// The arguments of a recall tool, after the session they are about.
fn of_session(parameters: &Value) -> Arc<JsonObject> {
    let session = json!({
        "type": "string",
        "description": "The conversation to look in: its whole name, or its id. list_sessions names them.",
    });
    let mut schema = parameters.as_object().cloned().unwrap_or_default();
    let own = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let properties: JsonObject = std::iter::once(("session".to_owned(), session)).chain(own).collect();
    let needed = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let needed: Vec<Value> = std::iter::once(json!("session")).chain(needed).collect();
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), needed.into());
    Arc::new(schema)
}

fn listing() -> Tool {
    let description = "Lists the conversations that are kept, the newest first: what to name as `session` elsewhere.";
    let wanted = json!({
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": super::sessions::MOST, "description": "How many; 20 if not given."},
            "after": {"type": "string", "description": "The `next` of the page before; leave it out to begin."},
        },
        "additionalProperties": false,
    });
    let text = json!({"type": "string"});
    let count = json!({"type": "integer"});
    let session = json!({
        "type": "object",
        "properties": {
            "session": text, "name": {"type": ["string", "null"]}, "title": text,
            "messages": count, "branches": count, "first": text, "last": text,
        },
        "required": ["session", "title", "messages", "branches", "first", "last"],
    });
    let told = json!({
        "type": "object",
        "properties": {"sessions": {"type": "array", "items": session}, "next": {"type": ["string", "null"]}},
        "required": ["sessions"],
    });
    annotated("List conversations", Tool::new(LIST, description, object(wanted)).with_raw_output_schema(object(told)))
}

fn annotated(title: &str, tool: Tool) -> Tool {
    let harmless = ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true);
    tool.with_title(title).with_annotations(harmless.open_world(false))
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(fields) => Arc::new(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recall_tool_takes_a_session_and_what_it_takes_elsewhere() {
        let tools = all();
        assert_eq!(tools.len(), RecallTool::ALL.len() + 1);
        for tool in RecallTool::ALL {
            let spec: Value = serde_json::from_str(tool.spec()).unwrap();
            let parameters = &spec["function"]["parameters"];
            let offered = tools.iter().find(|offered| offered.name == tool.name()).unwrap();
            assert_eq!(offered.description.as_deref(), spec["function"]["description"].as_str());
            let properties = offered.input_schema["properties"].as_object().unwrap();
            assert!(properties.contains_key("session"), "{tool}");
            for (name, schema) in parameters["properties"].as_object().unwrap() {
                assert_eq!(&properties[name], schema, "{tool}");
            }
            let needed = offered.input_schema["required"].as_array().unwrap();
            assert_eq!((&needed[0], &needed[1]), (&json!("session"), &parameters["required"][0]), "{tool}");
        }
    }
}
