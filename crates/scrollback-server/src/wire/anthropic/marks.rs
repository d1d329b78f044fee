//! The marks of the provider's cache. Messages of the log carry marks of the request they came with; those are taken
//! off, and ours are put where they help most.

use scrollback::window::Reason;
use serde_json::{Value, json};

use super::line::{Line, last_turn};
use crate::wire::request::Request;

const MARK: &str = "cache_control";
/// A request has at most so many.
const MOST: usize = 4;
/// So many blocks before a mark are surely searched for an earlier end: its provider goes 20 back, however it counts.
const REACH: usize = 18;
/// The blocks that may carry one.
const MAY: [&str; 6] = ["text", "image", "document", "search_result", "tool_use", "tool_result"];

/// Marks a window's messages anew.
pub(super) fn placed(lines: &mut [Line<'_>], request: &Request) {
    let marked = |line: &&mut Line<'_>| line.is_changed() || line.text().contains(MARK);
    lines.iter_mut().filter(marked).for_each(stripped);
    let client = Client::of(request);
    let folded = lines.iter().any(|line| line.reason == Reason::Covers);
    if !folded && !client.uses {
        return;
    }
    let places = places(lines, client.automatic.is_some());
    for place in places.into_iter().take(MOST.saturating_sub(client.standing)) {
        mark(&mut lines[place], &client.mark);
    }
}

/// How a client marks its request.
struct Client {
    uses: bool,
    /// How many marks stand outside of the messages.
    standing: usize,
    automatic: Option<Value>,
    /// What ours look like.
    mark: Value,
}

impl Client {
    fn of(request: &Request) -> Self {
        let marked = |name: &str| request.raw(name).is_some_and(|raw| raw.contains(MARK));
        let fields = ["tools", "system"].into_iter().filter(|name| marked(name)).map(|name| request.value(name));
        let fields: Vec<Value> = fields.collect();
        let blocks = fields.iter().filter_map(Value::as_array).flatten();
        let before: Vec<&Value> = blocks.map(|block| &block[MARK]).filter(|mark| mark.is_object()).collect();
        let automatic = Some(request.value(MARK)).filter(Value::is_object);
        let last = last_mark(request.raw("messages").unwrap_or_default());
        let standing = before.len() + usize::from(automatic.is_some());
        let uses = standing > 0 || last.is_some();
        let mut mark = automatic.clone().or(last).unwrap_or_else(usual);
        // What is to last for an hour may not stand behind what lasts for less.
        if is_long(&mark) && !before.iter().all(|mark| is_long(mark)) {
            mark = usual();
        }
        Self { uses, standing, automatic, mark }
    }
}

fn usual() -> Value {
    json!({"type": "ephemeral"})
}

fn is_long(mark: &Value) -> bool {
    mark["ttl"] == "1h"
}

/// The last mark in a client's messages. Arguments of a call may have a field of that name, which is none.
fn last_mark(messages: &str) -> Option<Value> {
    // Inside of a text the quotes would be escaped.
    let behind = messages.rmatch_indices("\"cache_control\"").map(|(at, name)| &messages[at + name.len()..]);
    behind.filter_map(|behind| behind.trim_start().strip_prefix(':')).find_map(|value| {
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
        values.next()?.ok().filter(|mark| mark["type"] == "ephemeral")
    })
}

/// Where marks go, the most useful first:
///
/// - the end, from which the next request goes on;
/// - where the last request ended, if that is out of reach from the end, as after many calls at once;
/// - what stands before quotes, as they are others in every turn: the next one finds the rest again;
/// - where the first request of the last turn with a reply ended. What came later in that turn may be held since, and
///   this may be out of reach from the end. It comes before the place before the turn where nothing is quoted;
/// - the note of the fold, which stays when what is behind it changes. It comes last: where room is short, the client's
///   own marks keep what stands before it.
fn places(lines: &[Line<'_>], automatic: bool) -> Vec<usize> {
    let end = last(lines).filter(|_| !automatic);
    let quotes = lines.iter().position(|line| line.reason == Reason::Relevant);
    let current = last_turn(lines).unwrap_or(0);
    let before = last(&lines[..quotes.map_or(current, |quotes| quotes.min(current))]);
    let (third, fourth) = if quotes.is_some() { (before, begun(lines)) } else { (begun(lines), before) };
    let note = lines.iter().position(|line| line.reason == Reason::Covers);
    let mut places: Vec<usize> = Vec::new();
    for place in [end, out_of_reach(lines), third, fourth, note].into_iter().flatten() {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The last message that can carry a mark.
fn last(lines: &[Line<'_>]) -> Option<usize> {
    lines.iter().rposition(|line| markable(line).is_some())
}

/// Where the last request ended, if it is not surely found from the end of this one.
fn out_of_reach(lines: &[Line<'_>]) -> Option<usize> {
    let reply = lines.iter().rposition(is_reply)?;
    let blocks: usize = lines[reply..].iter().map(|line| line.blocks().len().max(1)).sum();
    last(&lines[..reply]).filter(|_| blocks > REACH)
}

/// Where the first request of the last turn with a reply ended.
fn begun(lines: &[Line<'_>]) -> Option<usize> {
    let newest = lines.iter().rposition(is_reply)?;
    let turn = last_turn(&lines[..newest])?;
    let first = turn + lines[turn..].iter().position(is_reply)?;
    last(&lines[..first])
}

fn is_reply(line: &Line<'_>) -> bool {
    line.role() == "assistant"
}

/// The block of a message that can carry a mark; the first for a content that is a text.
fn markable(line: &Line<'_>) -> Option<usize> {
    let says = |text: &Value| text.as_str().is_some_and(|text| !text.trim().is_empty());
    if line.value()["content"].is_string() {
        return says(&line.value()["content"]).then_some(0);
    }
    let may = |block: &Value| {
        let kind = block["type"].as_str().unwrap_or_default();
        MAY.contains(&kind) && (kind != "text" || says(&block["text"]))
    };
    line.blocks().iter().rposition(may)
}

fn mark(line: &mut Line<'_>, mark: &Value) {
    let Some(place) = markable(line) else { return };
    if let Some(block) = line.blocks_mut().and_then(|blocks| blocks.get_mut(place)) {
        block[MARK] = mark.clone();
    }
}

/// Takes the marks off a message.
fn stripped(line: &mut Line<'_>) {
    let marked = |block: &Value| block.get(MARK).is_some() || inner(block).any(|block| block.get(MARK).is_some());
    if !line.blocks().iter().any(marked) {
        return;
    }
    let Some(blocks) = line.blocks_mut() else { return };
    for block in blocks {
        unmark(block);
        let inner = block.get_mut("content").and_then(Value::as_array_mut);
        inner.into_iter().flatten().for_each(unmark);
    }
}

fn inner(block: &Value) -> impl Iterator<Item = &Value> {
    block["content"].as_array().into_iter().flatten()
}

/// Takes the mark off a block.
pub(super) fn unmark(block: &mut Value) {
    if let Some(fields) = block.as_object_mut() {
        fields.shift_remove(MARK);
    }
}
