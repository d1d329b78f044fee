//! What a request says beside its items: instructions, what it follows, its tools, and whether it can be managed at
//! all.

use std::borrow::Cow;

use axum::http::HeaderMap;
use scrollback::Role;
use scrollback::ids::Hash128;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::wire::edit::{array, raw};
use crate::wire::request::Request;
use crate::wire::{Follows, Opened};

/// A client that says this takes tools only among its items.
const SEALED_HEADER: &str = "x-openai-internal-codex-responses-lite";
/// How the content of a compaction of ours begins. What follows is the name of a place in the log.
const TOKEN: &str = "scrollback:";

/// Types that matter wherever they stand, as they are written.
const TELLING: [&str; 4] = ["\"additional_tools\"", "\"compaction\"", "\"compaction_trigger\"", "\"item_reference\""];

/// Why a request goes on as it came that names items by their ids alone, unless our log knows them.
pub(crate) const REFERS: &str = "it refers to items that its provider keeps";

/// What a request says.
pub(super) fn opened(request: &Request, headers: &HeaderMap) -> Opened {
    let items = Items::of(request);
    let added: Vec<Value> = items.of_kind("additional_tools").filter_map(Item::value).collect();
    let tools = names(&request.value("tools")).into_iter().chain(added.iter().flat_map(|item| names(&item["tools"])));
    let compacted = items.compacted();
    let brought = compacted.iter().flat_map(|compacted| compacted.brought.iter().map(|item| (*item).to_owned()));
    Opened {
        heads: Some(head(request).into_iter().chain(brought).collect()),
        follows: compacted.as_ref().map(|ours| Follows::Compaction(ours.id.clone())).or_else(|| follows(request)),
        untouched: untouched(request, &items),
        tools: tools.collect(),
        sealed: !added.is_empty() || headers.contains_key(SEALED_HEADER),
        followed: request.value("store") != false,
        fetched: is_in_background(request),
        reply_tokens: request.tokens("max_output_tokens"),
        new: compacted.map(|compacted| compacted.new),
    }
}

/// The instructions, as a message.
pub(super) fn head(request: &Request) -> Option<Box<RawValue>> {
    let instructions = request.value("instructions");
    let said = instructions.as_str().is_some_and(|text| !text.is_empty());
    said.then(|| raw(&json!({"role": "system", "content": instructions})))
}

/// What a request follows in its own words.
fn follows(request: &Request) -> Option<Follows> {
    let text = |value: Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let conversation = request.value("conversation");
    let conversation = text(conversation["id"].clone()).or_else(|| text(conversation));
    let response = text(request.value("previous_response_id")).map(Follows::Response);
    response.or_else(|| conversation.map(Follows::Conversation))
}

fn is_in_background(request: &Request) -> bool {
    request.value("background") == true
}

/// Why a request has to go on as it came.
fn untouched(request: &Request, items: &Items<'_>) -> Option<&'static str> {
    let management = request.value("context_management");
    let compacts = |edit: &Value| edit["type"].as_str().is_some_and(|kind| kind.starts_with("compaction"));
    if management.as_array().is_some_and(|edits| edits.iter().any(compacts)) {
        return Some("it has its provider compact the conversation");
    }
    if items.holds("compaction_trigger") {
        return Some("it asks its provider to compact the conversation");
    }
    if items.is_sealed() {
        return Some("it holds a compaction that only its provider can read");
    }
    if is_in_background(request) {
        return Some("it is answered in the background");
    }
    if request.value("prompt").is_object() {
        return Some("its prompt is a template that its provider keeps");
    }
    items.holds("item_reference").then_some(REFERS)
}

/// The names of tools, those in namespaces behind the name of their namespace.
fn names(tools: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for tool in tools.as_array().into_iter().flatten() {
        let Some(name) = tool["name"].as_str().or(tool["function"]["name"].as_str()) else { continue };
        if tool["tools"].is_array() {
            names.extend(self::names(&tool["tools"]).iter().map(|nested| format!("{name}__{nested}")));
        } else {
            names.push(name.to_owned());
        }
    }
    names
}

/// The type and the role of an item; everything else is passed over.
#[derive(Default, Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
}

/// An item of a request.
struct Item<'a> {
    kind: Kind<'a>,
    raw: &'a RawValue,
}

impl<'a> Item<'a> {
    /// The item that a text begins with, after which the text goes on.
    fn next(text: &mut &'a str) -> Option<Self> {
        let begun = text.trim_start_matches([',', ' ', '\n', '\r', '\t']);
        let raw = serde_json::Deserializer::from_str(begun).into_iter::<&RawValue>().next()?.ok()?;
        *text = &begun[raw.get().len()..];
        Some(Self { kind: serde_json::from_str(raw.get()).unwrap_or_default(), raw })
    }

    fn is(&self, kind: &str) -> bool {
        self.kind.kind.as_deref() == Some(kind)
    }

    fn instructs(&self) -> bool {
        let name = self.kind.role.as_deref().or(self.kind.kind.as_deref());
        name.is_some_and(|name| Role::from(name).instructs())
    }

    fn value(&self) -> Option<Value> {
        serde_json::from_str(self.raw.get()).ok()
    }

    /// The place that it names, if it is a compaction of ours.
    fn ours(&self) -> Option<String> {
        self.is("compaction").then(|| named(&self.value()?)).flatten()
    }
}

/// The items of a request, as far as they have to be looked at: those at its head that instruct, and all if a type that
/// matters is named behind them.
struct Items<'a> {
    looked_at: Vec<Item<'a>>,
    heads: usize,
}

/// What a request that goes on from a compaction of ours says.
struct Compacted<'a> {
    /// The place that it names.
    id: String,
    /// Instructions that stand before it: they are newer than those it stands for.
    brought: Vec<&'a RawValue>,
    /// The items after it.
    new: String,
}

impl<'a> Items<'a> {
    fn of(request: &'a Request) -> Self {
        let mut text = request.raw("input").and_then(|input| input.strip_prefix('[')).unwrap_or_default();
        let (mut looked_at, mut heads) = (Vec::new(), 0);
        let mut behind = text;
        while let Some(item) = Item::next(&mut text).filter(Item::instructs) {
            looked_at.push(item);
            (behind, heads) = (text, heads + 1);
        }
        if looked_at.iter().any(|item| item.ours().is_some()) || TELLING.iter().any(|kind| behind.contains(kind)) {
            looked_at.extend(std::iter::from_fn(|| Item::next(&mut behind)));
        }
        Self { looked_at, heads }
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Item<'a>> {
        self.looked_at.iter().filter(move |item| item.is(kind))
    }

    fn holds(&self, kind: &str) -> bool {
        self.of_kind(kind).next().is_some()
    }

    /// Whether it holds a compaction that is not ours and not at its head: nothing can stand for what only its provider
    /// reads.
    fn is_sealed(&self) -> bool {
        let is_theirs = |item: &Item<'_>| item.is("compaction") && item.ours().is_none();
        let head = if self.of_kind("compaction").any(|item| item.ours().is_some()) { 0 } else { self.heads };
        self.looked_at.iter().rposition(is_theirs).is_some_and(|place| place >= head)
    }

    /// What it goes on from, if that is a compaction of ours.
    fn compacted(&self) -> Option<Compacted<'a>> {
        let ours = |(place, item): (usize, &Item<'_>)| Some((place, item.ours()?));
        let (place, id) = self.looked_at.iter().enumerate().rev().find_map(ours)?;
        let (before, after) = (&self.looked_at[..place], &self.looked_at[place + 1..]);
        let brought = before.iter().filter(|item| item.instructs() && !item.is("compaction")).map(|item| item.raw);
        Some(Compacted { id, brought: brought.collect(), new: array(after.iter().map(|item| item.raw.get().into())) })
    }
}

/// How many instructions a request brings before a compaction of ours.
pub(super) fn brought(request: &Request) -> usize {
    if !request.raw("input").is_some_and(|input| input.contains(TOKEN)) {
        return 0;
    }
    Items::of(request).compacted().map_or(0, |compacted| compacted.brought.len())
}

/// How much reasoning a request brings, told by how such items are written. What a conversation begins with does not
/// count: it led to nothing that is known here, and no window has it.
pub(crate) fn reasoning_in(request: &Request) -> usize {
    let input = request.raw("input").unwrap_or_default();
    let is_type =
        |at: usize| input[..at].trim_end().strip_suffix(':').is_some_and(|it| it.trim_end().ends_with("\"type\""));
    let count = input.match_indices("\"reasoning\"").filter(|(at, _)| is_type(*at)).count();
    let mut text = input.strip_prefix('[').unwrap_or_default();
    let items = std::iter::from_fn(|| Item::next(&mut text));
    let begins = items.take_while(|item| item.instructs() || item.is("reasoning"));
    count.saturating_sub(begins.filter(|item| item.is("reasoning")).count())
}

/// Whether a body holds a compaction of ours, which no provider can read.
pub(crate) fn holds_ours(body: &[u8]) -> bool {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut items = said["input"].as_array().into_iter().flatten();
    items.any(|item| item["type"] == "compaction" && named(item).is_some())
}

/// The place that a compaction of ours names.
fn named(item: &Value) -> Option<String> {
    item["encrypted_content"].as_str()?.strip_prefix(TOKEN).map(str::to_owned)
}

/// An item that stands for everything up to a place in the log.
pub(crate) fn compaction(id: &str) -> Value {
    json!({"type": "compaction", "id": id, "encrypted_content": format!("{TOKEN}{id}")})
}

/// A name made from what it stands for.
pub(crate) fn token(prefix: &str, parts: &[&[u8]]) -> String {
    format!("{prefix}_{}", Hash128::of(prefix, parts))
}
