//! What is described of the routes beside the API that answer as it does: under `/v1`, where clients of models look for
//! it.

use serde_json::{Map, Value, json};

use super::{content, responses};
use crate::api::context::{RECALL, RENDER};

/// Their paths with what is said of each.
pub(super) fn described(problem: &Value) -> [(&'static str, Value); 3] {
    [(crate::api::summarize::PATH, summarize(problem)), (RENDER, render(problem)), (RECALL, recall(problem))]
}

fn summarize(problem: &Value) -> Value {
    let takes = object(
        &["messages"],
        &json!({
            "messages": {"type": "array", "items": {"type": "object"}, "description": "as a model's API takes them"},
            "max_tokens": {"type": ["integer", "null"], "minimum": 50, "maximum": u32::MAX},
            "style": {"enum": ["auto", "general", "technical", null]},
            "model": {"type": ["string", "null"]},
        }),
    );
    let quote = object(&["message", "text"], &json!({"message": text(), "text": text()}));
    let gives = object(
        &["summary", "kept", "lost", "by", "messages"],
        &json!({
            "summary": text(),
            "kept": {"type": "array", "items": quote},
            "lost": {"type": "array", "items": text()},
            "by": {"enum": ["helper", "offline", "person"]},
            "messages": {"type": "integer"},
        }),
    );
    posted("Any conversation in few words. Nothing of it is stored.", "post_v1_summarize", &takes, &gives, problem)
}

fn render(problem: &Value) -> Value {
    let gives = object(
        &["request", "session", "view", "tokens", "notices"],
        &json!({
            "request": {"type": "object", "description": "what to send in its place"},
            "session": text(),
            "view": text(),
            "tokens": {"type": "integer"},
            "saved_tokens": {"type": "integer"},
            "saved_dollars": {"type": "number"},
            "notices": {"type": "array", "items": text()},
        }),
    );
    let takes = json!({"type": "object", "description": "a request to Chat Completions, Messages or Responses"});
    let about = "The request with the window that a model should be sent. Nothing is sent.";
    let mut described = posted(about, "post_v1_context_render", &takes, &gives, problem);
    let formats = json!({"type": "string", "enum": ["chat", "anthropic", "responses"]});
    let post = &mut described["post"];
    post["parameters"] = json!([{"name": "format", "in": "query", "required": false,
        "description": "the format of the request; told by its fields if not given", "schema": formats}]);
    // What is wrong with such a request is told as its model's API would tell it.
    for refused in post["responses"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        refused["content"]["application/json"] = refused["content"]
            .get("application/json")
            .cloned()
            .unwrap_or_else(|| json!({"schema": {"type": "object"}}));
    }
    described
}

fn recall(problem: &Value) -> Value {
    let takes = object(
        &["session", "name"],
        &json!({
            "session": text(),
            "name": {"type": "string", "description": "the tool that the model called"},
            "arguments": {"description": "what it was called with: an object, or the same as text"},
            "view": {"type": ["string", "null"], "description": "the view that the model was sent"},
        }),
    );
    let gives = object(&["content"], &json!({"content": text()}));
    let about = "What to answer a model that calls one of our tools.";
    posted(about, "post_v1_context_recall", &takes, &gives, problem)
}

fn posted(about: &str, operation: &str, takes: &Value, gives: &Value, problem: &Value) -> Value {
    json!({"post": {
        "summary": about,
        "operationId": operation,
        "parameters": [],
        "requestBody": {"required": true, "content": content("application/json", takes)},
        "responses": responses("200", &content("application/json", gives), problem),
    }})
}

fn object(needed: &[&str], properties: &Value) -> Value {
    json!({"type": "object", "required": needed, "properties": properties})
}

fn text() -> Value {
    json!({"type": "string"})
}

#[cfg(test)]
mod tests {
    use super::super::document;

    #[test]
    fn they_are_told_in_prose_too() {
        let told = include_str!("../../../../../docs/api.md");
        let document = document();
        for path in ["/v1/summarize", "/v1/context/render", "/v1/context/recall"] {
            assert!(told.contains(&format!("`POST {path}`")), "{path}");
            assert!(document["paths"][path]["post"]["responses"]["200"].is_object(), "{path}");
        }
    }
}
