//! What a request says beside its messages.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::marks;
use crate::wire::Opened;
use crate::wire::edit::raw;
use crate::wire::request::Request;

pub(super) fn read(request: &Request) -> Opened {
    Opened {
        heads: Some(heads(request)),
        untouched: untouched(request),
        tools: request.tools().map(names).unwrap_or_default(),
        reply_tokens: request.tokens("max_tokens"),
        ..Opened::default()
    }
}

/// The instructions, each block as a message.
pub(super) fn heads(request: &Request) -> Vec<Box<RawValue>> {
    let Some(system) = request.raw("system") else { return Vec::new() };
    let head = |content: &str| RawValue::from_string(format!(r#"{{"role":"system","content":{content}}}"#)).ok();
    if system.starts_with('"') {
        return head(system).into_iter().collect();
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(system).unwrap_or_default();
    blocks.into_iter().filter_map(|block| head(&format!("[{}]", block.get()))).collect()
}

/// How many instructions there are.
pub(super) fn count(request: &Request) -> usize {
    match request.raw("system") {
        None => 0,
        Some(system) if system.starts_with('"') => 1,
        Some(system) => serde_json::from_str::<Vec<&RawValue>>(system).map_or(0, |blocks| blocks.len()),
    }
}

/// The blocks of instructions that are messages of a log, as the request writes them. Marks of the request they came
/// with are not counted in this one.
pub(super) fn system(heads: &[Value]) -> String {
    let block = |head: &Value| match head["content"].as_array() {
        Some(blocks) => blocks.clone(),
        None => vec![json!({"type": "text", "text": head["content"]})],
    };
    let mut blocks: Vec<Value> = heads.iter().flat_map(block).collect();
    blocks.iter_mut().for_each(marks::unmark);
    raw(&blocks.into()).get().to_owned()
}

/// Why a request has to go on as it came.
fn untouched(request: &Request) -> Option<&'static str> {
    let says = |name: &str| !request.value(name).is_null();
    if says("thread") {
        return Some("it goes on with a thread that its provider keeps");
    }
    if says("compaction") {
        return Some("it asks its provider to compact the conversation");
    }
    let edits = request.value("context_management");
    let compacts = |edit: &Value| edit["type"].as_str().is_some_and(|kind| kind.starts_with("compact"));
    let compacts = edits["edits"].as_array().is_some_and(|edits| edits.iter().any(compacts));
    compacts.then_some("it lets its provider compact the conversation")
}

/// A tool, as far as it has to be known.
#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

fn names(tools: &str) -> Vec<String> {
    let tools: Vec<&RawValue> = serde_json::from_str(tools).unwrap_or_default();
    let name = |tool: &RawValue| Some(serde_json::from_str::<Tool<'_>>(tool.get()).ok()?.name.into_owned());
    tools.into_iter().filter_map(name).collect()
}
