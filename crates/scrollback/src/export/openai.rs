//! A path as OpenAI chat messages, whatever API it was spoken over, for tools that read nothing else.
//!
//! What came as chat messages stays as it is. Of the rest, reasoning is left out, and what chat messages have no place
//! for is mentioned in words. A call and its result that came without an id get one.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use super::markdown::{mention, other_piece, picture, piece};
use super::whole::Whole;
use crate::message::{Message, Part};
use crate::store::{Session, Stored};

/// The blocks that a chat message may hold.
const BLOCKS: [&str; 5] = ["text", "image_url", "input_audio", "file", "refusal"];
/// Who may speak.
const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

impl Whole {
    /// The session as a line for each branch, which all begin with what they share:
    /// `{"id": …, "title": …, "messages": […]}`.
    pub fn openai(self) -> impl Iterator<Item = String> + Send {
        let whole = Arc::new(self);
        let branches = whole.session.branches.clone().into_iter();
        let lines = branches.map(move |branch| (whole.clone(), whole.full_path(&branch)));
        lines.filter(|(_, path)| !path.is_empty()).map(|(whole, path)| line(&whole.session, &path))
    }
}

fn line(session: &Session, messages: &[Stored]) -> String {
    let chat = chat(messages.iter().map(Stored::message));
    let id = session.declared.clone().unwrap_or_else(|| session.id.to_string());
    let mut line = json!({"id": id, "messages": chat});
    if let Some(title) = &session.title {
        line["title"] = title.as_str().into();
    }
    format!("{line}\n")
}

fn chat(messages: impl Iterator<Item = Message>) -> Vec<Value> {
    let (mut chat, mut ids) = (Vec::new(), Ids::default());
    for mut message in messages.flat_map(|message| chat_messages(&message)) {
        ids.give(&mut chat, &mut message);
        add(&mut chat, message);
    }
    chat
}

/// Ids for calls and results that came without: a result answers the first call that waits for one.
#[derive(Default)]
struct Ids {
    given: usize,
    waiting: VecDeque<String>,
}

impl Ids {
    fn give(&mut self, chat: &mut Vec<Value>, message: &mut Value) {
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten().filter(|call| call.is_object() && is_empty(&call["id"])) {
            call["id"] = self.next().into();
        }
        if message["role"] == "user" {
            self.waiting.clear();
        }
        if message["role"] != "tool" || !is_empty(&message["tool_call_id"]) {
            return;
        }
        if self.waiting.is_empty() {
            let own = call(Some(&self.next()), message["name"].as_str().unwrap_or("tool"), &json!({}));
            add(chat, json!({"role": "assistant", "content": null, "tool_calls": [own]}));
        }
        message["tool_call_id"] = self.waiting.pop_front().into();
    }

    fn next(&mut self) -> String {
        self.given += 1;
        let id = format!("made_up_{}", self.given);
        self.waiting.push_back(id.clone());
        id
    }
}

fn is_empty(id: &Value) -> bool {
    id.as_str().is_none_or(str::is_empty)
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
    let value: Value = serde_json::from_str(message.raw().get()).unwrap_or_default();
    if is_chat(&value) {
        return vec![value];
    }
    let (mut said, mut calls, mut chat) = (Vec::new(), Vec::new(), Vec::new());
    for part in message.parts() {
        match part {
            Part::Text(text) => said.push(text_block(text)),
            Part::Image(block) => said.push(image(block)),
            Part::File(block) if is_block(block) => said.push(block.clone()),
            Part::File(_) => said.push(text_block(&piece(part))),
            Part::Thinking(_) => {}
            Part::Call { id, name, arguments } => calls.push(call(id.as_deref(), name, arguments)),
            Part::Result { call, text, other } => {
                // A result that stands in one message with its call follows it.
                if !calls.is_empty() {
                    chat.push(own(message, std::mem::take(&mut said), std::mem::take(&mut calls)));
                }
                chat.push(result(call.as_deref(), value["name"].as_str(), text, other));
            }
            Part::Other(block) => said.push(text_block(&other_piece(block))),
        }
    }
    if !said.is_empty() || !calls.is_empty() {
        chat.push(own(message, said, calls));
    }
    chat
}

/// What a message says and calls.
fn own(message: &Message, said: Vec<Value>, calls: Vec<Value>) -> Value {
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
    own
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

/// A result; one that names no call names its tool, if it can.
fn result(call: Option<&str>, tool: Option<&str>, text: &str, other: &[Value]) -> Value {
    let words = (!text.is_empty()).then(|| text.to_owned());
    let all: Vec<String> = words.into_iter().chain(other.iter().map(other_piece)).collect();
    let mut result = json!({"role": "tool", "tool_call_id": call.unwrap_or_default(), "content": all.join("\n\n")});
    if let Some(tool) = tool.filter(|_| call.is_none()) {
        result["name"] = tool.into();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(raws: &[Value]) -> Vec<Value> {
        super::chat(raws.iter().map(|raw| Message::from_json(&raw.to_string()).unwrap()))
    }

    #[test]
    fn what_is_chat_stays() {
        let said = [
            json!({"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "u"}}]}),
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
            json!({"role": "tool", "tool_call_id": "c", "content": "417"}),
        ];
        assert_eq!(chat(&said), said);
        // Whatever a client sent was kept before anybody refused it.
        let odd = json!({"role": "assistant", "content": "x", "tool_calls": ["a", 7, [], null]});
        assert_eq!(chat(std::slice::from_ref(&odd)), [odd]);
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
    fn documents_of_plain_text_keep_their_words() {
        let source = json!({"type": "text", "media_type": "text/plain", "data": "High water at nine."});
        let document = json!({"type": "document", "title": "Tides", "source": source});
        let said = chat(&[json!({"role": "user", "content": [document]})]);
        assert_eq!(said[0]["content"], "[file: Tides]\n\n```\nHigh water at nine.\n```");
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

    /// The id of each call, and what each result answers, in order.
    fn ids(chat: &[Value]) -> (Vec<&str>, Vec<&str>) {
        let calls = chat.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
        let results = chat.iter().filter(|message| message["role"] == "tool");
        let calls = calls.map(|call| call["id"].as_str().unwrap_or_default()).collect();
        (calls, results.map(|result| result["tool_call_id"].as_str().unwrap_or_default()).collect())
    }

    #[test]
    fn a_call_and_its_result_share_an_id_where_they_came_without() {
        let call = |name: &str| json!({"type": "tool_use", "name": name, "input": {}});
        let result = |text: &str| json!({"type": "tool_result", "content": text});
        let said = chat(&[
            json!({"role": "user", "content": "Which strings?"}),
            json!({"role": "assistant", "content": [call("a"), result("C2"), call("b"), result("G2"), {"type": "text", "text": "C and G."}]}),
            json!({"role": "assistant", "content": [call("c"), call("d")]}),
            json!({"role": "user", "content": [result("D3"), result("A3")]}),
        ]);
        let (calls, results) = ids(&said);
        assert_eq!((calls.len(), &calls), (4, &results));
        assert!(calls.iter().enumerate().all(|(i, id)| !id.is_empty() && !calls[..i].contains(id)), "{calls:?}");
        let roles: Vec<&str> = said.iter().filter_map(|message| message["role"].as_str()).collect();
        assert_eq!(
            roles,
            ["user", "assistant", "tool", "assistant", "tool", "assistant", "assistant", "tool", "tool"],
            "each result follows its call"
        );
    }

    #[test]
    fn a_result_that_nothing_called_for_gets_a_call() {
        let said = chat(&[
            json!({"role": "user", "content": "How high?"}),
            json!({"role": "tool", "name": "browser", "content": [{"type": "text", "text": "2501.9 m"}]}),
        ]);
        let (calls, results) = ids(&said);
        assert_eq!((calls.len(), &calls), (1, &results));
        assert_eq!(said[1]["tool_calls"][0]["function"], json!({"name": "browser", "arguments": "{}"}));
    }
}
