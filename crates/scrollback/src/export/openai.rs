//! A path as OpenAI chat messages, whatever API it was spoken over, for tools that read nothing else.
//!
//! What came as chat messages stays as it is. Of the rest, reasoning is left out, and what chat messages have no place for
//! is mentioned in words.

use std::sync::Arc;

use serde_json::{Value, json};

use super::markdown::{mention, other_piece, picture};
use super::whole::Whole;
use crate::message::{Message, Part};
use crate::store::{Session, Stored};

/// The blocks that a chat message may hold.
const BLOCKS: [&str; 5] = ["text", "image_url", "input_audio", "file", "refusal"];
/// Who may speak.
const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

impl Whole {
    /// The session as a line for each branch, which all begin with what they share: `{"id": …, "title": …, "messages": […]}`.
    pub fn openai(self) -> impl Iterator<Item = String> + Send {
        let whole = Arc::new(self);
        let branches = whole.session.branches.clone().into_iter();
        let lines = branches.map(move |branch| (whole.clone(), whole.full_path(&branch)));
        lines.filter(|(_, path)| !path.is_empty()).map(|(whole, path)| line(&whole.session, &path))
    }
}

fn line(session: &Session, messages: &[Stored]) -> String {
    let mut chat: Vec<Value> = Vec::new();
    for message in messages.iter().flat_map(|stored| chat_messages(&stored.message())) {
        add(&mut chat, message);
    }
    let id = session.declared.clone().unwrap_or_else(|| session.id.to_string());
    let mut line = json!({"id": id, "messages": chat});
    if let Some(title) = &session.title {
        line["title"] = title.as_str().into();
    }
    format!("{line}\n")
}

/// Calls of one turn are one message: their results follow all of them.
fn add(chat: &mut Vec<Value>, mut message: Value) {
    let only_calls = message["content"].is_null() && message["tool_calls"].is_array();
    match chat.last_mut().filter(|last| only_calls && last["role"] == "assistant" && last["tool_calls"].is_array()) {
        Some(last) => {
            if let (Some(calls), Some(more)) = (last["tool_calls"].as_array_mut(), message["tool_calls"].as_array_mut())
            {
                calls.append(more);
            }
        }
        None => chat.push(message),
    }
}

fn chat_messages(message: &Message) -> Vec<Value> {
    if let Ok(value) = serde_json::from_str::<Value>(message.raw().get())
        && is_chat(&value)
    {
        return vec![value];
    }
    let (mut said, mut calls, mut chat) = (Vec::new(), Vec::new(), Vec::new());
    for part in message.parts() {
        match part {
            Part::Text(text) => said.push(text_block(text)),
            Part::Image(block) => said.push(image(block)),
            Part::File(block) if is_block(block) => said.push(block.clone()),
            Part::File(block) => said.push(text_block(&mention("file", block))),
            Part::Thinking(_) => {}
            Part::Call { id, name, arguments } => calls.push(call(id.as_deref(), name, arguments)),
            Part::Result { call, text, other } => chat.push(result(call.as_deref(), text, other)),
            Part::Other(block) => said.push(text_block(&other_piece(block))),
        }
    }
    if said.is_empty() && calls.is_empty() {
        return chat;
    }
    let role = message.role().as_str();
    let role = if ROLES.contains(&role) {
        role
    } else if message.role().instructs() {
        "system"
    } else {
        "user"
    };
    let mut own = json!({"role": role, "content": content(said)});
    if !calls.is_empty() {
        own["tool_calls"] = calls.into();
    }
    chat.push(own);
    chat
}

/// Whether a message is a chat message as it stands.
pub fn is_chat(value: &Value) -> bool {
    let speaks = value["role"].as_str().is_some_and(|role| ROLES.contains(&role)) && value.get("type").is_none();
    speaks
        && match &value["content"] {
            Value::Null | Value::String(_) => true,
            Value::Array(blocks) => blocks.iter().all(is_block),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        }
}

fn is_block(block: &Value) -> bool {
    block["type"].as_str().is_some_and(|kind| BLOCKS.contains(&kind))
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Words alone are a string; anything else is blocks.
fn content(mut blocks: Vec<Value>) -> Value {
    let words = blocks.iter().all(|block| block["type"] == "text");
    match blocks.len() {
        0 => Value::Null,
        1 if words => blocks[0]["text"].take(),
        _ => blocks.into(),
    }
}

fn image(block: &Value) -> Value {
    match picture(block) {
        Some(url) => json!({"type": "image_url", "image_url": {"url": url}}),
        None => text_block(&mention("image", block)),
    }
}

fn call(id: Option<&str>, name: &str, arguments: &Value) -> Value {
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    json!({"id": id.unwrap_or_default(), "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn result(call: Option<&str>, text: &str, other: &[Value]) -> Value {
    let words = (!text.is_empty()).then(|| text.to_owned());
    let all: Vec<String> = words.into_iter().chain(other.iter().map(other_piece)).collect();
    json!({"role": "tool", "tool_call_id": call.unwrap_or_default(), "content": all.join("\n\n")})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(raws: &[Value]) -> Vec<Value> {
        let mut chat = Vec::new();
        for raw in raws {
            for message in chat_messages(&Message::from_json(&raw.to_string()).unwrap()) {
                add(&mut chat, message);
            }
        }
        chat
    }

    #[test]
    fn what_is_chat_stays() {
        let said = [
            json!({"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "u"}}]}),
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
            json!({"role": "tool", "tool_call_id": "c", "content": "417"}),
        ];
        assert_eq!(chat(&said), said);
    }

    #[test]
    fn anthropic_blocks_become_messages() {
        let said = chat(&[
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "gauge", "input": {"at": "pier"}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "417"}, {"type": "text", "text": "And?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]}),
        ]);
        assert_eq!(said[0]["content"], "I look.");
        assert_eq!(said[0]["tool_calls"][0]["function"], json!({"name": "gauge", "arguments": "{\"at\":\"pier\"}"}));
        assert_eq!(said[1], json!({"role": "tool", "tool_call_id": "t1", "content": "417"}));
        assert_eq!(
            said[2]["content"][1],
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}})
        );
    }

    #[test]
    fn calls_that_came_one_by_one_stand_before_their_results() {
        let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
        let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "done"});
        let said = chat(&[call("a"), call("b"), output("a"), output("b")]);
        let roles: Vec<&str> = said.iter().filter_map(|message| message["role"].as_str()).collect();
        assert_eq!(roles, ["assistant", "tool", "tool"]);
        assert_eq!(said[0]["tool_calls"].as_array().unwrap().len(), 2);
    }
}
