//! A window as the messages of a request.

use std::borrow::Cow;

use scrollback::message::value_of;
use scrollback::window::{Block, Body, Reason};
use serde_json::{Value, json};

use super::results;
use crate::wire::Dress;
use crate::wire::edit::{addressing, array};
use crate::wire::foreign::{Answered, Foreign, Saying, Words, shape};
use crate::wire::theirs::Theirs;

/// How a mark of a provider's cache is called.
const MARK: &str = "cache_control";

/// The messages of a window as a JSON array, with one of ours after the instructions if there is one.
pub(super) fn messages(dress: &Dress<'_>) -> String {
    let scribe = Scribe {
        foreign: Foreign::read(dress, &shape::CHAT),
        theirs: Theirs::of(dress.request, shape::CHAT.history),
        remark: dress.handle.map(addressing),
    };
    let blocks: Vec<&Block> = dress.turn.window().sent().collect();
    let instructions = blocks.iter().take_while(|block| block.reason == Reason::Instructions).count();
    let (head, tail) = blocks.split_at(instructions);
    // What the client calls its instructions: some models take those of one role alone.
    let role = head.last().and_then(|block| block.message()).map(|stored| stored.role.as_str());
    let role = role.filter(|role| *role == "developer").unwrap_or("system");
    let own = dress.instruction.map(|text| json!({"role": role, "content": text}).to_string().into());
    let head: Vec<Cow<'_, str>> = head.iter().flat_map(|block| scribe.written(block)).collect();
    let tail = tail.iter().flat_map(|block| scribe.written(block)).collect();
    array(head.into_iter().chain(own).chain(results::gathered(tail)))
}

/// Writes blocks as messages.
struct Scribe<'a> {
    foreign: Foreign,
    theirs: Theirs<'a>,
    remark: Option<String>,
}

impl Scribe<'_> {
    fn written<'b>(&self, block: &'b Block) -> Vec<Cow<'b, str>> {
        if let Some(sayings) = self.foreign.sayings(block) {
            return sayings.iter().flat_map(said).map(|message| message.to_string().into()).collect();
        }
        let text = block.as_chat(self.remark.as_deref());
        let may_be_marked = matches!(block.body, Body::Original(_)) && text.contains(MARK);
        // A request may have only few marks: those of earlier requests are taken off.
        let bare = (may_be_marked && !self.theirs.says(&text)).then(|| unmarked(&text)).flatten();
        vec![bare.map_or(text, Cow::from)]
    }
}

/// A message without its marks; `None` if it has none.
fn unmarked(message: &str) -> Option<String> {
    let mut message: Value = value_of(message).ok()?;
    let mut was_marked = message.as_object_mut()?.shift_remove(MARK).is_some();
    let content = message.get_mut("content").and_then(Value::as_array_mut);
    let blocks = content.into_iter().flatten().filter_map(Value::as_object_mut);
    for block in blocks {
        was_marked |= block.shift_remove(MARK).is_some();
    }
    was_marked.then(|| message.to_string())
}

/// Something that was imported as messages: the results of its calls follow it.
fn said(saying: &Saying) -> Vec<Value> {
    let block = |words: &Words| match words {
        Words::Text(text) => json!({"type": "text", "text": text}),
        Words::Picture(url) => json!({"type": "image_url", "image_url": {"url": url}}),
    };
    let content = match saying.text() {
        Some(text) if text.is_empty() => Value::Null,
        Some(text) => text.into(),
        None => saying.words.iter().map(block).collect(),
    };
    let mut message = json!({"role": saying.speaker.as_str(), "content": content});
    if !saying.calls.is_empty() {
        message["tool_calls"] = saying.calls.iter().map(call).collect();
    }
    let result = |call: &Answered| json!({"role": "tool", "tool_call_id": call.id, "content": call.result});
    std::iter::once(message).chain(saying.calls.iter().map(result)).collect()
}

fn call(call: &Answered) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments.to_string()}})
}
