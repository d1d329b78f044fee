//! Whose shape a message has that came from elsewhere: one that a wire's provider takes as it is, or any other.

use std::collections::BTreeMap;

use scrollback::export;
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) const CHAT: Shape = Shape { history: "messages", takes: is_chat, is_strange: is_no_chat };
pub(crate) const ANTHROPIC: Shape = Shape { history: "messages", takes: is_anthropic, is_strange: is_no_anthropic };
pub(crate) const ANTHROPIC_HEAD: Shape =
    Shape { history: "messages", takes: is_anthropic_head, is_strange: is_no_anthropic };
pub(crate) const RESPONSES: Shape = Shape { history: "input", takes: is_responses, is_strange: is_no_responses };

/// What a dialect's messages look like.
pub(crate) struct Shape {
    /// The field in which requests have them.
    pub(crate) history: &'static str,
    /// Whether its provider takes a message as it stands, be it from anywhere.
    pub(crate) takes: fn(&Value) -> bool,
    is_strange: fn(&Outline<'_>) -> bool,
}

impl Shape {
    /// Whether a message is written as only another dialect writes it. Whatever else it holds that we do not know is
    /// its client's business.
    pub(crate) fn is_of_another(&self, message: &str) -> bool {
        (self.is_strange)(&Outline::of(message))
    }
}

/// Fields that Claude's exports have on every block, and no API takes.
const STAMPS: [&str; 2] = ["start_timestamp", "stop_timestamp"];
/// Blocks of OpenAI's dialects, which Anthropic's has no place for.
const NOT_ANTHROPIC: [&str; 8] =
    ["input_text", "output_text", "image_url", "input_image", "file", "input_file", "input_audio", "refusal"];

/// Fields that only messages of Chat Completions have.
const OF_CHAT: [&str; 10] = [
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "refusal",
    "audio",
    "annotations",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
];
/// Blocks of the other dialects, which Responses has no place for.
const NOT_RESPONSES: [&str; 7] = ["text", "image_url", "file", "image", "document", "thinking", "redacted_thinking"];

/// What a message of Chat Completions may hold.
const CHAT_FIELDS: [&str; 9] =
    ["role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations"];
/// Items of Responses that are no messages and mean the same in every request.
const ITEMS: [&str; 22] = [
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
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "compaction",
];

/// Whether Chat Completions takes it.
fn is_chat(message: &Value) -> bool {
    let answers = || message["role"] != "tool" || message["tool_call_id"].is_string();
    let speaks = || has_only(message, &CHAT_FIELDS) && export::is_chat(message) && answers();
    !is_private(message) && !has_more_than_words(message) && (speaks() || message["role"] == "function")
}

/// Whether Anthropic Messages takes it.
fn is_anthropic(message: &Value) -> bool {
    let speaks = message["role"] == "user" || message["role"] == "assistant";
    let said = match &message["content"] {
        Value::String(_) => !is_blank(&message["content"]),
        Value::Array(blocks) => blocks.iter().all(|block| is_anthropic_block(block, &message["role"])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    speaks && said && has_only(message, &["role", "content"]) && !is_private(message)
}

/// Whether it can be instructions of Anthropic Messages.
fn is_anthropic_head(message: &Value) -> bool {
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
fn is_responses(item: &Value) -> bool {
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

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// A message without its words: its fields and those of its blocks.
struct Outline<'a> {
    fields: Fields<'a>,
    blocks: Vec<Fields<'a>>,
}

impl<'a> Outline<'a> {
    fn of(message: &'a str) -> Self {
        let fields: Fields<'a> = serde_json::from_str(message).unwrap_or_default();
        let content = fields.get("content").copied().map(RawValue::get).filter(|content| content.starts_with('['));
        let blocks = content.and_then(|content| serde_json::from_str(content).ok()).unwrap_or_default();
        Self { fields, blocks }
    }

    /// Whether it is an item, as only Responses has them.
    fn is_item(&self) -> bool {
        word(&self.fields, "type").is_some()
    }

    /// Whether only a client of Chat Completions writes it.
    fn is_of_chat(&self) -> bool {
        let answers = matches!(word(&self.fields, "role"), Some("tool" | "function"));
        answers || OF_CHAT.iter().any(|name| self.fields.contains_key(*name))
    }

    fn has(&self, is_strange: impl Fn(&str, &Fields<'a>) -> bool) -> bool {
        self.blocks.iter().any(|block| is_strange(word(block, "type").unwrap_or_default(), block))
    }
}

/// A field that is a text, as it is written.
fn word<'a>(fields: &Fields<'a>, name: &str) -> Option<&'a str> {
    fields.get(name).copied()?.get().strip_prefix('"')?.strip_suffix('"')
}

fn is_no_chat(message: &Outline<'_>) -> bool {
    let is_strange = |kind: &str, block: &Fields<'_>| match kind {
        "input_text" | "output_text" | "input_image" | "input_file" | "redacted_thinking" => true,
        // Some models that speak this dialect think in lists, and some servers take pictures of their own.
        "thinking" => word(block, "thinking").is_some(),
        "image" | "document" => block.get("source").is_some_and(|source| source.get().starts_with('{')),
        _ => is_use_or_result(kind),
    };
    message.is_item() || message.has(is_strange)
}

fn is_no_anthropic(message: &Outline<'_>) -> bool {
    let in_a_list = |block: &Fields<'_>| block.get("thinking").is_some_and(|thought| thought.get().starts_with('['));
    let is_strange =
        |kind: &str, block: &Fields<'_>| NOT_ANTHROPIC.contains(&kind) || kind == "thinking" && in_a_list(block);
    message.is_item() || message.is_of_chat() || message.has(is_strange)
}

fn is_no_responses(message: &Outline<'_>) -> bool {
    let speaks = matches!(word(&message.fields, "type"), None | Some("message"));
    let is_strange = |kind: &str, _: &Fields<'_>| NOT_RESPONSES.contains(&kind) || is_use_or_result(kind);
    speaks && (message.is_of_chat() || message.has(is_strange))
}

/// Whether a block is a call of Anthropic's dialect or the result of one, whoever carries it out.
fn is_use_or_result(kind: &str) -> bool {
    kind.ends_with("tool_use") || kind.ends_with("tool_result")
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
        check(&json!({"type": "tool_search_call", "call_id": "c"}), false, false, true);
        check(&json!({"type": "tool_search_output", "call_id": "c", "tools": []}), false, false, true);
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

    /// In which dialects a message cannot have been written: none of those takes it.
    fn strange(message: &Value) -> Vec<&'static str> {
        let named = [("chat", CHAT), ("anthropic", ANTHROPIC), ("responses", RESPONSES)];
        let strange = named.into_iter().filter(|(_, shape)| shape.is_of_another(&message.to_string()));
        let found = strange.inspect(|(name, shape)| assert!(!(shape.takes)(message), "{name} takes {message}"));
        found.map(|(name, _)| name).collect()
    }

    #[test]
    fn who_wrote_a_message_is_known_by_what_only_they_write() {
        for message in [
            json!({"role": "assistant", "content": null, "tool_calls": []}),
            json!({"role": "tool", "tool_call_id": "c", "content": "5"}),
            json!({"role": "assistant", "content": "hi", "refusal": null}),
            json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}),
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
        ] {
            assert_eq!(strange(&message), ["anthropic", "responses"], "{message}");
        }
        for message in [
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}),
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}),
            json!({"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}),
        ] {
            assert_eq!(strange(&message), ["chat", "responses"], "{message}");
        }
        for message in [
            json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}),
            json!({"type": "message", "role": "user", "content": "hi"}),
            json!({"role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
        ] {
            assert_eq!(strange(&message), ["chat", "anthropic"], "{message}");
        }
        assert_eq!(strange(&json!({"role": "user", "content": [{"type": "text", "text": "hi"}]})), ["responses"]);
        for message in [
            json!({"role": "user", "content": "\"type\": \"tool_use\""}),
            json!({"role": "assistant", "content": "hi", "x_unknown": {"type": "function_call"}}),
            json!({"role": "user", "content": [{"type": "novelty"}, 7]}),
            json!(["odd"]),
        ] {
            assert!(strange(&message).is_empty(), "{message}");
        }
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
