//! Whose shape a message has that came from elsewhere: one that a wire's provider takes as it is, or any other.

use scrollback::export;
use serde_json::Value;

/// Fields that Claude's exports have on every block, and no API takes.
const STAMPS: [&str; 2] = ["start_timestamp", "stop_timestamp"];
/// Blocks of OpenAI's dialects, which Anthropic's has no place for.
const NOT_ANTHROPIC: [&str; 8] =
    ["input_text", "output_text", "image_url", "input_image", "file", "input_file", "input_audio", "refusal"];

/// What a message of Chat Completions may hold.
const CHAT_FIELDS: [&str; 9] =
    ["role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations"];
/// Items of Responses that are no messages and mean the same in every request.
const ITEMS: [&str; 20] = [
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "computer_call",
    "computer_call_output",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "compaction",
];

/// Whether Chat Completions takes it.
pub(crate) fn is_chat(message: &Value) -> bool {
    let answers = || message["role"] != "tool" || message["tool_call_id"].is_string();
    let speaks = || has_only(message, &CHAT_FIELDS) && export::is_chat(message) && answers();
    !is_private(message) && !has_more_than_words(message) && (speaks() || message["role"] == "function")
}

/// Whether Anthropic Messages takes it.
pub(crate) fn is_anthropic(message: &Value) -> bool {
    let speaks = message["role"] == "user" || message["role"] == "assistant";
    let said = match &message["content"] {
        Value::String(_) => !is_blank(&message["content"]),
        Value::Array(blocks) => blocks.iter().all(|block| is_anthropic_block(block, &message["role"])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    speaks && said && has_only(message, &["role", "content"]) && !is_private(message)
}

/// Whether it can be instructions of Anthropic Messages.
pub(crate) fn is_anthropic_head(message: &Value) -> bool {
    let is_text = |block: &Value| block["type"] == "text" && !is_blank(&block["text"]);
    let content = &message["content"];
    let says = content.as_array().map_or(!is_blank(content), |blocks| blocks.iter().all(is_text));
    says && !is_private(message)
}

fn is_anthropic_block(block: &Value, role: &Value) -> bool {
    match block["type"].as_str() {
        Some("tool_use") => role == "assistant" && block["id"].is_string(),
        Some("tool_result") => role == "user" && block["tool_use_id"].is_string(),
        Some("thinking") => block["signature"].is_string(),
        Some("text") => !is_blank(&block["text"]),
        Some(kind) => !NOT_ANTHROPIC.contains(&kind),
        None => false,
    }
}

fn is_blank(text: &Value) -> bool {
    text.as_str().is_none_or(|text| text.trim().is_empty())
}

/// Whether Responses takes it: an item of any kind, or a message of words in its own blocks.
pub(crate) fn is_responses(item: &Value) -> bool {
    let kind = item["type"].as_str().unwrap_or("message");
    if kind != "message" {
        return ITEMS.contains(&kind);
    }
    let speaks = ["system", "developer", "user", "assistant"].iter().any(|role| item["role"] == *role);
    let said = match &item["content"] {
        Value::String(_) => true,
        Value::Array(blocks) => blocks.iter().all(is_responses_block),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    speaks && said && has_only(item, &["type", "role", "content", "id", "status", "phase"])
}

/// Whether words of it come with something else, such as marks of a cache or sources.
fn has_more_than_words(message: &Value) -> bool {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    blocks.iter().any(|block| block["type"] == "text" && !has_only(block, &["type", "text"]))
}

fn is_responses_block(block: &Value) -> bool {
    let kind = block["type"].as_str().unwrap_or_default();
    kind.starts_with("input_") || kind.starts_with("output_") || kind == "refusal"
}

fn has_only(message: &Value, names: &[&str]) -> bool {
    message.as_object().is_some_and(|fields| fields.keys().all(|key| names.contains(&key.as_str())))
}

/// Whether it has blocks that no API knows, only the program whose file it was, or says where it has things from, which
/// is for people.
fn is_private(message: &Value) -> bool {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let is_annotated = message["annotations"].as_array().is_some_and(|told| !told.is_empty());
    is_annotated
        || blocks.iter().any(|block| {
            let kind = block["type"].as_str().unwrap_or_default();
            let stamped = STAMPS.iter().any(|name| block.get(name).is_some());
            // What importers name has a dot in it: `chatgpt.code`, `claude-code.file`.
            stamped || kind == "token_budget" || kind.contains('.')
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
        check(&json!({"type": "ghost_snapshot", "id": "g"}), false, false, false);
        check(&json!({"role": "user", "content": "hi", "timestamp": 17}), false, false, false);
        check(&json!({"role": "assistant", "content": "hi", "reasoning_content": "hm"}), false, false, false);
        check(&json!({"role": "user", "content": " "}), true, false, true);
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
            json!({"role": "user", "content": [{"type": "claude-code.file", "filename": "c.png"}]}),
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
