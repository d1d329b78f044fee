//! Claude's `conversations.json`: messages in order, in newer exports with the message each one follows.
//!
//! Blocks are kept as they are. The text of an attachment becomes a text block below its file's name; a file without
//! text is kept as a block of type `claude.file`.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::entries::{Entry, array, elements, kept, shared, text};
use super::tree::Tree;
use super::{Conversation, Import};
use crate::ids::At;

/// How the id begins that stands for “no parent”.
const NO_PARENT: &str = "00000000-0000-";
/// What `text` says in place of a block that is no text.
const NO_WORDS: &str = "This block is not supported on your current device yet.";

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

fn read_conversation(entry: &Entry<'_>, value: &Value, import: &mut Import) {
    let Some(messages) = value.get("chat_messages").and_then(Value::as_array) else {
        import.skipped.push(entry.complaint("is no conversation: it has no “chat_messages”"));
        return;
    };
    let mut said: Vec<Option<Arc<RawValue>>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let read = read_message(message).unwrap_or_else(|what| {
            import.skipped.push(entry.complaint(format!("has a message, number {}, {what}", index + 1)));
            None
        });
        said.push(read.map(|message| shared(&message)));
    }
    let tree = Tree::new(parents(messages).into_iter().zip(said.iter().map(Option::is_some)));
    let selected = text(value, "current_leaf_message_uuid");
    let selected = selected.and_then(|id| messages.iter().position(|message| text(message, "uuid") == Some(id)));
    let paths = tree.paths(selected, |leaf| time(&messages[leaf]));
    if paths.kept.is_empty() {
        import.remarks.push(entry.complaint("has no messages"));
    }
    import.remarks.extend(paths.told().map(|told| entry.complaint(told)));
    for path in paths.kept {
        let path = path.into_iter().filter_map(|node| Some((said[node].clone()?, time(&messages[node]))));
        import.conversations.push(Conversation {
            declared: text(value, "uuid").map(|id| format!("claude:{id}")),
            title: text(value, "name").map(str::to_owned),
            updated: text(value, "updated_at").and_then(At::parse),
            model: text(value, "model").map(str::to_owned),
            messages: path.collect(),
            ..Conversation::default()
        });
    }
}

/// The number of the message each one follows: the one it names, else the one before it.
fn parents(messages: &[Value]) -> Vec<Option<usize>> {
    let ids = messages.iter().enumerate().filter_map(|(number, message)| Some((text(message, "uuid")?, number)));
    let numbers: HashMap<&str, usize> = ids.collect();
    let parent = |(number, message): (usize, &Value)| match text(message, "parent_message_uuid") {
        Some(id) if id.starts_with(NO_PARENT) => None,
        Some(id) => numbers.get(id).copied().or(number.checked_sub(1)),
        None => number.checked_sub(1),
    };
    messages.iter().enumerate().map(parent).collect()
}

fn time(message: &Value) -> Option<At> {
    At::parse(text(message, "created_at")?)
}

/// Reads a message; `None` if it says nothing.
fn read_message(message: &Value) -> Result<Option<Value>, &'static str> {
    let role = match text(message, "sender").ok_or("without a sender")? {
        "human" => "user",
        sender => sender,
    };
    let mut blocks: Vec<Value> = array(message, "content").iter().filter_map(block).collect();
    if !blocks.iter().any(|block| text(block, "type") == Some("text")) {
        let words = words(message)?.filter(|words| blocks.is_empty() || !stands_in(words));
        blocks.extend(words.map(|words| json!({"type": "text", "text": words})));
    }
    blocks.extend(array(message, "attachments").iter().map(attachment));
    blocks.extend(array(message, "files").iter().map(file));
    Ok((!blocks.is_empty()).then(|| json!({"role": role, "content": blocks})))
}

/// A block of its content; `None` if it is an empty text.
fn block(content: &Value) -> Option<Value> {
    match content {
        Value::String(words) => (!words.is_empty()).then(|| json!({"type": "text", "text": words})),
        Value::Object(_) if text(content, "type") == Some("text") && text(content, "text").is_none() => None,
        Value::Object(_) => Some(content.clone()),
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => Some(kept("claude.content", content)),
    }
}

/// What a message says in its `text`.
fn words(message: &Value) -> Result<Option<&str>, &'static str> {
    match message.get("text") {
        None | Some(Value::Null | Value::String(_)) => Ok(text(message, "text")),
        Some(_) => Err("whose “text” cannot be read"),
    }
}

/// Whether these are words that stand for a block and say nothing else.
fn stands_in(words: &str) -> bool {
    words.contains(NO_WORDS) && words.replace(NO_WORDS, "").chars().all(|c| c.is_whitespace() || c == '`')
}

fn attachment(attached: &Value) -> Value {
    let Some(words) = text(attached, "extracted_content") else { return file(attached) };
    let name = text(attached, "file_name").unwrap_or("attachment");
    json!({"type": "text", "text": format!("{name}\n\n{words}")})
}

fn file(value: &Value) -> Value {
    kept("claude.file", value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &Value, content: &Value) {
        assert_eq!(&read_message(message).unwrap().unwrap()["content"], content);
    }

    #[test]
    fn blocks_come_before_text_and_attachments_after() {
        check(&json!({"sender": "human", "text": "old"}), &json!([{"type": "text", "text": "old"}]));
        check(
            &json!({"sender": "human", "text": "x", "content": [{"type": "text", "text": "new", "citations": []}]}),
            &json!([{"type": "text", "text": "new", "citations": []}]),
        );
        check(
            &json!({"sender": "human", "text": "", "content": [{"type": "text", "text": ""}],
                "attachments": [{"file_name": "a.txt", "extracted_content": "words"}, {"file_name": "b.bin"}],
                "files": ["c.png"]}),
            &json!([{"type": "text", "text": "a.txt\n\nwords"}, {"type": "claude.file", "file_name": "b.bin"},
                {"type": "claude.file", "value": "c.png"}]),
        );
    }

    #[test]
    fn words_are_taken_wherever_they_stand() {
        check(&json!({"sender": "human", "content": "plain"}), &json!([{"type": "text", "text": "plain"}]));
        check(
            &json!({"sender": "assistant", "text": "So.", "content": [{"type": "thinking", "thinking": "Hm."}]}),
            &json!([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "So."}]),
        );
        check(
            &json!({"sender": "assistant", "text": format!("```\n{NO_WORDS}\n```\n"), "content": [{"type": "tool_use"}]}),
            &json!([{"type": "tool_use"}]),
        );
        check(
            &json!({"sender": "human", "text": "See.", "attachments": {"file_name": "a.txt", "extracted_content": "words"}}),
            &json!([{"type": "text", "text": "See."}, {"type": "text", "text": "a.txt\n\nwords"}]),
        );
    }

    #[test]
    fn words_that_cannot_be_read_are_told() {
        let import = read(r#"[{"chat_messages":[{"sender":"human","text":["a"]},{"sender":"human","text":"b"}]}]"#);
        assert_eq!(import.skipped, ["entry 1 has a message, number 1, whose “text” cannot be read"]);
        assert_eq!(import.conversations[0].messages.len(), 1);
    }

    #[test]
    fn half_an_emoji_costs_one_character() {
        let import = read(r#"[{"chat_messages":[{"sender":"human","text":"cut \ud83d here"}]}]"#);
        assert!(import.conversations[0].messages[0].0.get().contains("cut \u{fffd} here"), "{import:?}");
        assert!(import.skipped.is_empty());
    }

    #[test]
    fn of_very_many_branches_the_oldest_are_left_out_and_that_is_told() {
        let row = (0..1000).map(|i| format!(r#"{{"uuid":"r{i}","sender":"human","text":"a"}}"#));
        let teeth =
            (0..1000).map(|i| format!(r#"{{"uuid":"t{i}","parent_message_uuid":"r{i}","sender":"human","text":"b"}}"#));
        let messages = row.chain(teeth).collect::<Vec<_>>().join(",");
        let import = read(&format!(r#"[{{"chat_messages":[{messages}]}}]"#));
        let [told] = &import.remarks[..] else { panic!("{:?}", import.remarks) };
        let left_out = format!("the oldest are left out, {} of them", 1000 - import.conversations.len());
        assert!(told.starts_with("entry 1 has too many branches") && told.ends_with(&left_out), "{told}");
        assert!(import.conversations.iter().map(|one| one.messages.len()).sum::<usize>() <= 2000 * 100);
    }

    #[test]
    fn a_message_follows_the_one_it_names_or_the_one_before() {
        let messages = [
            json!({"uuid": "a"}),
            json!({"uuid": "b"}),
            json!({"uuid": "c", "parent_message_uuid": "a"}),
            json!({"uuid": "d", "parent_message_uuid": "lost"}),
            json!({"uuid": "e", "parent_message_uuid": "00000000-0000-4000-8000-000000000000"}),
        ];
        assert_eq!(parents(&messages), [None, Some(0), Some(0), Some(2), None]);
    }
}
