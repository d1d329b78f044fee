//! Whose shape a message has that came from elsewhere: one that a wire's provider takes as it is, or any other.

use scrollback::export;
use serde_json::Value;

/// Fields that Claude's exports have on every block, and no API takes.
const STAMPS: [&str; 2] = ["start_timestamp", "stop_timestamp"];
/// Blocks of OpenAI's dialects, which Anthropic's has no place for.
const NOT_ANTHROPIC: [&str; 8] =
    ["input_text", "output_text", "image_url", "input_image", "file", "input_file", "input_audio", "refusal"];

/// Whether Chat Completions takes it.
pub(crate) fn is_chat(message: &Value) -> bool {
    let answers = || message["role"] != "tool" || message["tool_call_id"].is_string();
    !is_private(message)
        && !is_marked(message)
        && (export::is_chat(message) && answers() || message["role"] == "function")
}

/// Whether Anthropic Messages takes it.
pub(crate) fn is_anthropic(message: &Value) -> bool {
    let speaks = message["role"] == "user" || message["role"] == "assistant";
    let said = match &message["content"] {
        Value::String(text) => !text.is_empty(),
        Value::Array(blocks) => blocks.iter().all(|block| is_anthropic_block(block, &message["role"])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    speaks && said && has_only(message, &["role", "content"]) && !is_private(message)
}

/// Whether it can be instructions of Anthropic Messages.
pub(crate) fn is_anthropic_head(message: &Value) -> bool {
    let is_text = |block: &Value| block["type"] == "text";
    let content = &message["content"];
    !is_private(message) && (content.is_string() || content.as_array().is_some_and(|blocks| blocks.iter().all(is_text)))
}

fn is_anthropic_block(block: &Value, role: &Value) -> bool {
    match block["type"].as_str() {
        Some("tool_use") => role == "assistant" && block["id"].is_string(),
        Some("tool_result") => role == "user" && block["tool_use_id"].is_string(),
        Some("thinking") => block["signature"].is_string(),
        Some(kind) => !NOT_ANTHROPIC.contains(&kind),
        None => false,
    }
}

/// Whether Responses takes it: an item of any kind, or a message of words in its own blocks.
pub(crate) fn is_responses(item: &Value) -> bool {
    let kind = item["type"].as_str().unwrap_or("message");
    if kind != "message" {
        return item.is_object();
    }
    let speaks = ["system", "developer", "user", "assistant"].iter().any(|role| item["role"] == *role);
    let said = match &item["content"] {
        Value::String(_) => true,
        Value::Array(blocks) => blocks.iter().all(is_responses_block),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    speaks && said && has_only(item, &["type", "role", "content", "id", "status", "phase"])
}

/// Whether it says what a cache of Anthropic's is to keep.
fn is_marked(message: &Value) -> bool {
    message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block.get("cache_control").is_some()))
}

fn is_responses_block(block: &Value) -> bool {
    let kind = block["type"].as_str().unwrap_or_default();
    kind.starts_with("input_") || kind.starts_with("output_") || kind == "refusal"
}

fn has_only(message: &Value, names: &[&str]) -> bool {
    message.as_object().is_some_and(|fields| fields.keys().all(|key| names.contains(&key.as_str())))
}

/// Whether it has blocks that no API knows, only the program whose file it was, or says where it has things from, which is for people.
fn is_private(message: &Value) -> bool {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let is_annotated = message["annotations"].as_array().is_some_and(|told| !told.is_empty());
    is_annotated
        || blocks.iter().any(|block| {
            let kind = block["type"].as_str().unwrap_or_default();
            let stamped = STAMPS.iter().any(|name| block.get(name).is_some());
            stamped || kind == "token_budget" || kind.starts_with("chatgpt.") || kind.starts_with("claude.")
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(message: &Value, chat: bool, anthropic: bool, responses: bool) {
        let taken = (is_chat(message), is_anthropic(message), is_responses(message));
        assert_eq!(taken, (chat, anthropic, responses), "{message}");
    }

    #[test]
    fn words_are_taken_everywhere_and_the_rest_where_it_belongs() {
        check(&json!({"role": "user", "content": "hi"}), true, true, true);
        check(&json!({"role": "user", "content": [{"type": "text", "text": "hi"}]}), true, true, false);
        check(&json!({"role": "assistant", "content": null, "tool_calls": []}), true, false, false);
        check(&json!({"role": "tool", "tool_call_id": "c", "content": "5"}), true, false, false);
        check(&json!({"role": "function", "name": "f", "content": "5"}), true, false, false);
        check(&json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}), false, true, false);
        check(
            &json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "novelty"}]}),
            false,
            true,
            false,
        );
        check(
            &json!({"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}),
            false,
            true,
            false,
        );
        check(&json!({"type": "function_call", "call_id": "c"}), false, false, true);
        check(
            &json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
            false,
            false,
            true,
        );
    }

    #[test]
    fn what_exports_add_is_taken_nowhere() {
        let private = [
            json!({"role": "user", "content": [{"type": "chatgpt.code", "text": "1"}]}),
            json!({"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "claude.file"}]}),
            json!({"role": "user", "content": [{"type": "text", "text": "hi", "start_timestamp": null}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "hi"}, {"type": "token_budget"}]}),
            json!({"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "t"}]}),
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": null}]}),
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}),
            json!({"role": "tool", "name": "bio", "content": "updated"}),
            json!({"role": "assistant", "content": "hi", "annotations": [{"type": "chatgpt.references"}]}),
        ];
        for message in &private {
            check(message, false, false, false);
        }
    }
}
