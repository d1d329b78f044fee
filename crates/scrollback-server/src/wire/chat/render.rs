//! A window as the messages of a request.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use scrollback::MessageId;
use scrollback::message::value_of;
use scrollback::store::{Origin, Stored};
use scrollback::window::{Block, Body, Reason};
use serde_json::{Map, Value, json};

use super::back::Back;
use super::results;
use crate::wire::edit::{addressing, array};
use crate::wire::foreign::{Answered, Foreign, Saying, Words, shape};
use crate::wire::theirs::Theirs;
use crate::wire::{Dress, Reasoning};

/// How a mark of a provider's cache is called.
const MARK: &str = "cache_control";
/// What servers call the reasoning in a reply; the first is what models call it that want it back.
const REASONING: [&str; 4] = ["reasoning_content", "reasoning_details", "reasoning", "thinking_blocks"];

/// The messages of a window as a JSON array, with one of ours after the instructions if there is one.
pub(super) fn messages(dress: &Dress<'_>) -> String {
    let scribe = Scribe {
        foreign: Foreign::read(dress, &shape::CHAT),
        marked: marked_now(dress),
        remark: dress.handle.map(addressing),
        reasoning: dress.reasoning,
        back: Back::of(dress.request),
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

/// Which messages of a window are marked and stand so in the request.
fn marked_now(dress: &Dress<'_>) -> HashSet<MessageId> {
    let stored: Vec<&Arc<Stored>> = dress.turn.window().sent().filter_map(Block::message).collect();
    let marked = stored.iter().rev().filter(|stored| stored.raw.get().contains(MARK));
    let mut marked = marked.map(|stored| (stored.id, stored.raw.get())).peekable();
    if marked.peek().is_none() {
        return HashSet::new();
    }
    Theirs::of(dress.request, shape::CHAT.history).newest(marked).into_iter().collect()
}

/// Writes blocks as messages.
struct Scribe<'a> {
    foreign: Foreign,
    /// The messages that this request marks as they are marked in the log.
    marked: HashSet<MessageId>,
    remark: Option<String>,
    reasoning: Reasoning,
    back: Back<'a>,
}

impl Scribe<'_> {
    fn written<'b>(&self, block: &'b Block) -> Vec<Cow<'b, str>> {
        if let Some(sayings) = self.foreign.sayings(block) {
            return sayings.iter().flat_map(said).map(|message| message.to_string().into()).collect();
        }
        let text = block.as_chat(self.remark.as_deref());
        let back = is_of_provider(block).then(|| self.back.written(&text)).flatten();
        let text = self.reasoned(back.map_or(text, Cow::from));
        let (Body::Original(stored) | Body::Held(stored, _)) = &block.body else { return vec![text] };
        // A request may have only few marks: those of earlier requests are taken off.
        let is_old = text.contains(MARK) && !self.marked.contains(&stored.id);
        let bare = is_old.then(|| unmarked(&text)).flatten();
        vec![bare.map_or(text, Cow::from)]
    }

    /// A message with as much of its reasoning as its model is to be sent. What binds it to the words before it is not
    /// known here: a model that minds gets none.
    fn reasoned<'b>(&self, text: Cow<'b, str>) -> Cow<'b, str> {
        let changed = match self.reasoning {
            Reasoning::Usual => None,
            Reasoning::Bound | Reasoning::Nothing if !REASONING.iter().any(|name| text.contains(name)) => None,
            Reasoning::Bound | Reasoning::Nothing => reply(&text, |reply| {
                reply.retain(|name, _| !REASONING.contains(&name.as_str()));
            }),
            // Replies of other models have none; their providers take an empty text for it.
            Reasoning::All if text.contains(REASONING[0]) => None,
            Reasoning::All => reply(&text, |reply| drop(reply.insert(REASONING[0].into(), "".into()))),
        };
        changed.map_or(text, Cow::from)
    }
}

/// Whether a block may be known as its provider wrote it alone. A round is seen by no client.
fn is_of_provider(block: &Block) -> bool {
    match &block.body {
        Body::Original(stored) | Body::Whole(stored, _) => stored.origin == Origin::Reply,
        Body::Round(_) => true,
        Body::Held(..) | Body::Note(_) | Body::Nothing(_) => false,
    }
}

/// A reply with something changed; `None` if it is none.
fn reply(message: &str, change: impl FnOnce(&mut Map<String, Value>)) -> Option<String> {
    let mut message: Map<String, Value> = value_of(message).ok()?;
    if message.get("role")? != "assistant" {
        return None;
    }
    change(&mut message);
    Some(Value::Object(message).to_string())
}

/// A message without its marks; `None` if it has none.
fn unmarked(message: &str) -> Option<String> {
    let mut message: Value = value_of(message).ok()?;
    let mut was_marked = message.as_object_mut()?.shift_remove(MARK).is_some();
    for list in ["content", "tool_calls"] {
        let items = message.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for item in items.filter_map(Value::as_object_mut) {
            was_marked |= item.shift_remove(MARK).is_some();
        }
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
