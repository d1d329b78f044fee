//! ChatGPT's `conversations.json`: each conversation a tree of nodes, edited questions and second answers included.
//!
//! Messages become OpenAI chat messages. Words become text; whatever else a message holds is kept whole as a block of
//! type `chatgpt.…`, so that nothing of it is lost; `message/chatgpt.rs` knows what those say. What is told about a
//! message (its sources, whom it is for, the document it wrote) stands in `annotations`, which do not count when
//! messages are compared. The report of a research stands in no message, but in what is told about one: it is taken
//! from there. DeepSeek's file has the same tree of other messages.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::entries::{Entry, array, elements, kept, shared, text};
use super::tree::Tree;
use super::{Conversation, Import, deepseek};
use crate::ids::At;
use crate::message::value_of;

pub(super) fn read(text: &str) -> Import {
    let entries = elements(text);
    let mut import = Import { skipped: entries.skipped, ..Import::default() };
    for entry in &entries.read {
        match entry.value() {
            Ok(value) => read_conversation(entry, &value, &mut import),
            Err(complaint) => import.skipped.push(complaint),
        }
    }
    import
}

/// A node's message, made into ours: first a value, then bytes that paths share.
pub(super) struct Said<Written = Value> {
    pub(super) message: Written,
    pub(super) at: Option<At>,
    pub(super) model: Option<String>,
}

impl Said {
    fn shared(self) -> Said<Arc<RawValue>> {
        Said { message: shared(&self.message), at: self.at, model: self.model }
    }
}

fn read_conversation(entry: &Entry<'_>, value: &Value, import: &mut Import) {
    let Some(mapping) = value.get("mapping").and_then(Value::as_object) else {
        import.skipped.push(entry.complaint("is no conversation: it has no “mapping”"));
        return;
    };
    let numbers: HashMap<&str, usize> = mapping.keys().enumerate().map(|(number, id)| (id.as_str(), number)).collect();
    let number = |value: &Value, key: &str| text(value, key).and_then(|id| numbers.get(id).copied());
    let mut said: Vec<Option<Said<Arc<RawValue>>>> = Vec::new();
    for (id, node) in mapping {
        let message = node.get("message").unwrap_or(&Value::Null);
        let read = if deepseek::wrote(message) { Ok(deepseek::read_message(message)) } else { read_message(message) };
        let read = read.unwrap_or_else(|what| {
            import.skipped.push(entry.complaint(format!("has a node “{id}” {what}")));
            None
        });
        said.push(read.map(Said::shared));
    }
    let tree = Tree::new(mapping.values().zip(&said).map(|(node, said)| (number(node, "parent"), said.is_some())));
    let paths = tree.paths(number(value, "current_node"), |leaf| said[leaf].as_ref().and_then(|said| said.at));
    if paths.kept.is_empty() {
        import.remarks.push(entry.complaint("has no messages"));
    }
    import.remarks.extend(paths.told().map(|told| entry.complaint(told)));
    let whose = if mapping.values().any(|node| deepseek::wrote(&node["message"])) { "deepseek" } else { "chatgpt" };
    for path in paths.kept {
        let path: Vec<&Said<_>> = path.into_iter().filter_map(|node| said[node].as_ref()).collect();
        import.conversations.push(conversation(value, whose, &path));
    }
}

fn conversation(value: &Value, whose: &str, path: &[&Said<Arc<RawValue>>]) -> Conversation {
    let id = text(value, "conversation_id").or_else(|| text(value, "id"));
    let model = path.iter().rev().find_map(|said| said.model.as_deref()).or_else(|| text(value, "default_model_slug"));
    // Where no message tells when it was said, the conversation does.
    let began = told_at(value, ["create_time", "inserted_at"]).filter(|_| path.iter().all(|said| said.at.is_none()));
    Conversation {
        declared: id.map(|id| format!("{whose}:{id}")),
        title: text(value, "title").map(str::to_owned),
        updated: told_at(value, ["update_time", "updated_at"]),
        model: model.map(str::to_owned),
        messages: path.iter().map(|said| (said.message.clone(), said.at.or(began))).collect(),
        ..Conversation::default()
    }
}

/// A time that a conversation tells: the first key is ChatGPT's, the other DeepSeek's.
fn told_at(value: &Value, [seconds, date]: [&str; 2]) -> Option<At> {
    let seconds = value.get(seconds).and_then(Value::as_f64).map(At::from_seconds);
    seconds.or_else(|| text(value, date).and_then(At::parse))
}

/// Reads a message; `None` if it says nothing.
fn read_message(message: &Value) -> Result<Option<Said>, &'static str> {
    if message.is_null() {
        return Ok(None);
    }
    let author = message.get("author").unwrap_or(&Value::Null);
    let role = text(author, "role").ok_or("whose message has no role")?;
    let content = message.get("content").unwrap_or(&Value::Null);
    let metadata = message.get("metadata").unwrap_or(&Value::Null);
    let report = report(metadata).unwrap_or(Value::Null);
    let mut blocks: Vec<Value> = [content, &report["content"]].into_iter().flat_map(blocks).collect();
    blocks.extend(array(metadata, "attachments").iter().map(|file| kept("chatgpt.attachment", file)));
    if blocks.is_empty() {
        return Ok(None);
    }
    let mut fields = Map::new();
    fields.insert("role".into(), if is_standing(content) { "system" } else { role }.into());
    fields.extend(text(author, "name").map(|name| ("name".to_owned(), name.into())));
    fields.insert("content".into(), plain(blocks));
    let told = annotations(message, [metadata, &report["metadata"]]);
    fields.extend((!told.is_empty()).then(|| ("annotations".to_owned(), told.into())));
    let at = message.get("create_time").and_then(Value::as_f64).map(At::from_seconds);
    let model = text(metadata, "model_slug").map(str::to_owned);
    Ok(Some(Said { message: Value::Object(fields), at, model }))
}

/// The report of a research. ChatGPT shows it in a frame, whose state is JSON, mostly within a string; the message that
/// the frame belongs to says nothing of it.
fn report(metadata: &Value) -> Option<Value> {
    let state = metadata.pointer("/chatgpt_sdk/widget_state")?;
    let read = state.as_str().map(|text| value_of::<Value>(text).unwrap_or_default());
    read.as_ref().unwrap_or(state).get("report_message").cloned()
}

/// What is told about a message, and about the report that belongs to it, beside what they say.
fn annotations(message: &Value, [metadata, of_report]: [&Value; 2]) -> Vec<Value> {
    let all = [(metadata, "content_references"), (metadata, "citations"), (of_report, "content_references")];
    let sources = all.into_iter().flat_map(|(about, key)| array(about, key));
    let mut told: Vec<Value> = sources.map(|source| kept("chatgpt.source", source)).collect();
    let recipient = text(message, "recipient").filter(|name| *name != "all");
    told.extend(recipient.map(|name| json!({"type": "chatgpt.recipient", "name": name})));
    told.extend(
        metadata.get("canvas").filter(|canvas| canvas.is_object()).map(|canvas| kept("chatgpt.canvas", canvas)),
    );
    told
}

/// Whether it is what the person or the model noted for all conversations: nobody said it in this one.
fn is_standing(content: &Value) -> bool {
    text(content, "content_type").is_some_and(|kind| kind.ends_with("_editable_context"))
}

fn blocks(content: &Value) -> Vec<Value> {
    let kind = text(content, "content_type").unwrap_or("unknown");
    match (kind, content) {
        (_, Value::Null) => Vec::new(),
        (_, Value::String(_)) => block(content).into_iter().collect(),
        ("text" | "multimodal_text", _) if content.get("parts").is_some() => {
            let said: Vec<Value> = array(content, "parts").iter().filter_map(block).collect();
            if said.is_empty() { content.get("text").and_then(block).into_iter().collect() } else { said }
        }
        _ => vec![kept(&format!("chatgpt.{kind}"), content)],
    }
}

fn block(part: &Value) -> Option<Value> {
    match part {
        Value::Null => None,
        Value::String(words) if words.is_empty() => None,
        Value::String(words) => Some(json!({"type": "text", "text": words})),
        Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_) => {
            let kind = text(part, "content_type").unwrap_or("part");
            Some(kept(&format!("chatgpt.{kind}"), part))
        }
    }
}

/// Blocks as content: a single text is a string.
fn plain(blocks: Vec<Value>) -> Value {
    match &blocks[..] {
        [one] if text(one, "type") == Some("text") => one["text"].clone(),
        _ => Value::Array(blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    fn check(content: &Value, expected: &Value) {
        let message = json!({"author": {"role": "assistant"}, "content": content});
        assert_eq!(&read_message(&message).unwrap().unwrap().message["content"], expected);
    }

    #[test]
    fn words_are_text_and_the_rest_is_kept_whole() {
        check(&json!({"content_type": "text", "parts": ["hi"]}), &json!("hi"));
        check(&json!({"content_type": "text", "parts": "hi"}), &json!("hi"));
        check(&json!({"content_type": "text", "parts": null, "text": "hi"}), &json!("hi"));
        check(
            &json!({"content_type": "text", "parts": ["a", "", "b"]}),
            &json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        );
        check(
            &json!({"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer", "type": 1}]}),
            &json!([{"type": "chatgpt.image_asset_pointer", "content_type": "image_asset_pointer", "original_type": 1}]),
        );
        check(
            &json!({"content_type": "code", "language": "python", "text": "1+1"}),
            &json!([{"type": "chatgpt.code", "content_type": "code", "language": "python", "text": "1+1"}]),
        );
    }

    #[test]
    fn sources_recipients_and_canvases_are_kept_and_make_no_other_message() {
        let bare = json!({"author": {"role": "assistant"}, "content": "45", "recipient": "all"});
        let mut told = bare.clone();
        told["recipient"] = "python".into();
        told["metadata"] = json!({"content_references": [{"type": "webpage", "url": "https://e.org", "title": "Primes"}],
            "citations": [{"metadata": {"title": "Doc"}}], "canvas": {"title": "Essay"}});
        let [bare, told] = [bare, told].map(|message| read_message(&message).unwrap().unwrap().message);
        assert_eq!(bare, json!({"role": "assistant", "content": "45"}));
        assert_eq!(
            told["annotations"],
            json!([
                {"type": "chatgpt.source", "original_type": "webpage", "url": "https://e.org", "title": "Primes"},
                {"type": "chatgpt.source", "metadata": {"title": "Doc"}},
                {"type": "chatgpt.recipient", "name": "python"},
                {"type": "chatgpt.canvas", "title": "Essay"},
            ])
        );
        let [bare, told] = [bare, told].map(|message| Message::new(shared(&message)));
        assert_eq!((bare.strong(), bare.to_text()), (told.strong(), told.to_text()));
    }

    #[test]
    fn the_report_of_a_research_is_read_from_the_frame_it_is_shown_in() {
        let read = |state: Value| {
            let said = json!({"author": {"role": "tool"}, "content": {"content_type": "text", "parts": [""]},
                              "metadata": {"chatgpt_sdk": {"widget_state": state}}});
            read_message(&said).unwrap().map(|said| said.message)
        };
        let report = json!({"content": {"content_type": "text", "parts": ["# Turbines"]},
                            "metadata": {"content_references": [{"url": "https://e.org"}]}});
        let state = json!({"status": "completed", "report_message": report});
        let source = json!([{"type": "chatgpt.source", "url": "https://e.org"}]);
        let told = json!({"role": "tool", "content": "# Turbines", "annotations": source});
        for state in [json!(state.to_string()), state] {
            assert_eq!(read(state), Some(told.clone()));
        }
        for state in [json!("{\"status\":\"running\"}"), json!("no JSON"), json!(7), Value::Null] {
            assert_eq!(read(state), None);
        }
    }

    #[test]
    fn what_tells_no_time_is_as_old_as_its_conversation() {
        let times = |about: &str, at: &str| {
            let said = |parent: &str, at: &str| {
                format!(
                    r#"{{"parent":{parent},"message":{{"author":{{"role":"user"}},"content":"hi","create_time":{at}}}}}"#
                )
            };
            let nodes = format!(r#""a":{},"b":{}"#, said("null", "null"), said("\"a\"", at));
            let import = read(&format!(r#"[{{{about}"mapping":{{{nodes}}}}}]"#));
            import.conversations[0].messages.iter().map(|(_, at)| *at).collect::<Vec<_>>()
        };
        let [five, seven] = [5.0, 7.0].map(|seconds| Some(At::from_seconds(seconds)));
        assert_eq!(times("\"create_time\":5,", "null"), [five, five]);
        assert_eq!(times("\"inserted_at\":\"1970-01-01T08:00:05+08:00\",", "null"), [five, five]);
        assert_eq!(times("\"create_time\":5,", "7"), [None, seven], "what others tell is nearer");
        assert_eq!(times("", "null"), [None, None]);
    }

    #[test]
    fn half_an_emoji_and_deep_nesting_cost_no_more_than_they_must() {
        let node = |about: &str| {
            format!(
                r#"{{"mapping":{{"a":{{"message":{{"author":{{"role":"user"}},"content":"hello \ud83d cut"{about}}}}}}}}}"#
            )
        };
        let deep = format!(",\"x\":{}1{}", "[".repeat(200), "]".repeat(200));
        let import = read(&format!("[{},{},{}]", node(""), node(&deep), node("")));
        assert_eq!(import.conversations.len(), 2);
        assert!(import.conversations[0].messages[0].0.get().contains("hello \u{fffd} cut"), "{import:?}");
        let [told] = &import.skipped[..] else { panic!("{import:?}") };
        assert!(told.starts_with("entry 2 cannot be read: recursion limit exceeded"), "{told}");
    }

    #[test]
    fn empty_messages_say_nothing_and_roles_are_needed() {
        let empty = json!({"author": {"role": "system"}, "content": {"content_type": "text", "parts": [""]}});
        assert!(read_message(&empty).unwrap().is_none());
        assert!(read_message(&json!({"content": "hi"})).is_err());
    }
}
