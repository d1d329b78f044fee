//! A window as the items of a request.

use std::borrow::Cow;

use scrollback::message::{reworded, value_of};
use scrollback::store::Origin;
use scrollback::window::{Block, Body, Reason, Window};
use serde_json::{Map, Value};

use super::{imported, items, opened, results};
use crate::wire::edit::{addressed, array};
use crate::wire::foreign::{Foreign, shape};
use crate::wire::request::Request;
use crate::wire::{Dress, Rendered};

/// The fields by which a request follows something. A window holds all of it.
const FOLLOWS: [&str; 2] = ["previous_response_id", "conversation"];

/// A window as fields of its request.
pub(super) fn rendered(dress: &Dress<'_>) -> Rendered {
    if !dress.touched {
        return Rendered::default();
    }
    let mut scribe = Scribe::new(dress);
    let input = scribe.input(dress.turn.window(), dress.instruction);
    let gone = FOLLOWS.into_iter().filter(|name| dress.request.raw(name).is_some()).map(|name| (name, None));
    Rendered {
        changes: std::iter::once(("input", Some(input))).chain(gone).collect(),
        notices: scribe.notices(),
        ..Rendered::default()
    }
}

/// Writes items one after another.
struct Scribe<'a> {
    handle: Option<&'a str>,
    foreign: Foreign,
    /// How many instructions stand in a field of their own.
    heads: usize,
    /// How many others the request brings that goes on from a compaction.
    brought: usize,
    /// Whether the provider keeps nothing, so that an id alone says nothing.
    forgets: bool,
    left_out: usize,
}

impl<'a> Scribe<'a> {
    fn new(dress: &Dress<'a>) -> Self {
        let heads = usize::from(opened::head(dress.request).is_some());
        let brought = opened::brought(dress.request);
        let foreign = Foreign::read(dress, &shape::RESPONSES);
        Self { handle: dress.handle, foreign, heads, brought, forgets: forgets(dress.request), left_out: 0 }
    }

    fn input(&mut self, window: &Window, instruction: Option<&str>) -> String {
        let blocks: Vec<&Block> = window.sent().collect();
        let instructions = blocks.iter().take_while(|block| block.reason == Reason::Instructions).count();
        let (head, tail) = blocks.split_at(instructions);
        let own = instruction.map(|text| items::message("developer", text).to_string().into());
        let head: Vec<Cow<'_, str>> = self.standing(head).flat_map(|block| self.items(block)).collect();
        let tail: Vec<Cow<'_, str>> = tail.iter().flat_map(|block| self.items(block)).collect();
        array(head.into_iter().chain(own).chain(results::completed(tail)))
    }

    /// The instructions that stand among the items. Where a request brings some of a kind, they stand for older ones.
    fn standing<'b>(&self, instructions: &[&'b Block]) -> impl Iterator<Item = &'b Block> + use<'b> {
        let own = &instructions[self.heads.min(instructions.len())..];
        let (brought, began) = own.split_at(self.brought.min(own.len()));
        let role = |block: &Block| block.message().map(|stored| stored.role.clone());
        let is_replaced = |block: &&&Block| brought.iter().any(|newer| role(newer) == role(block));
        let standing: Vec<&'b Block> =
            brought.iter().chain(began.iter().filter(|block| !is_replaced(block))).copied().collect();
        standing.into_iter()
    }

    /// A block as items; more than one if what was imported does not fit into one.
    fn items<'b>(&mut self, block: &'b Block) -> Vec<Cow<'b, str>> {
        match self.foreign.sayings(block) {
            Some(sayings) => sayings.iter().flat_map(imported::items).map(|item| item.to_string().into()).collect(),
            None => self.item(block).into_iter().collect(),
        }
    }

    fn item<'b>(&mut self, block: &'b Block) -> Option<Cow<'b, str>> {
        match &block.body {
            Body::Original(stored) => self.replayed(block.text(), stored.origin != Origin::Client),
            Body::Whole(..) | Body::Round(_) => self.replayed(block.text(), true),
            Body::Nothing(_) => None,
            Body::Note(ours) => Some(items::message("user", &addressed(&ours.text, self.handle)).to_string().into()),
            Body::Held(stored, placeholder) => {
                Some(held(stored.raw.get(), &addressed(&placeholder.text, self.handle)).into())
            }
        }
    }

    /// An item as it came. To a provider that keeps nothing, the id of words or of a call means nothing, and reasoning
    /// that is not carried in the item is lost. Items of tools that it runs itself it refuses without their ids.
    fn replayed<'b>(&mut self, raw: &'b str, said_by_model: bool) -> Option<Cow<'b, str>> {
        let suspect = self.forgets && (said_by_model || raw.contains("\"reasoning\""));
        let Some(Value::Object(mut item)) = suspect.then(|| value_of(raw).ok()).flatten() else {
            return Some(raw.into());
        };
        if item.get("encrypted_content").is_some_and(Value::is_string) {
            return Some(raw.into());
        }
        if item.get("type").is_some_and(|kind| kind == "reasoning") {
            self.left_out += 1;
            return None;
        }
        let had_id = said_by_model && goes_without_id(&item) && item.shift_remove("id").is_some();
        Some(if had_id { Value::Object(item).to_string().into() } else { raw.into() })
    }

    fn notices(&self) -> Vec<String> {
        let count = self.left_out;
        let told =
            || format!("{count} reasoning items without their content were left out: their provider keeps nothing");
        (count > 0).then(told).into_iter().collect()
    }
}

/// Whether an item says all there is without its id.
fn goes_without_id(item: &Map<String, Value>) -> bool {
    let kind = item.get("type").map_or(Some("message"), Value::as_str);
    matches!(kind, Some("message" | "function_call" | "custom_tool_call"))
}

/// Whether the provider is told to keep nothing.
fn forgets(request: &Request) -> bool {
    request.value("store") == false
}

/// A result with a placeholder for its words, and every other field as it was.
fn held(raw: &str, placeholder: &str) -> String {
    let mut item: Value = value_of(raw).unwrap_or_default();
    item["output"] = reworded(&item["output"], placeholder);
    item.to_string()
}
