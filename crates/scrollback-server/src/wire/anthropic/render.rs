//! A window as the messages of a request. Where nothing had to be changed, not a byte is.

use std::borrow::Cow;

use scrollback::ids::Hash128;
use scrollback::message::value_of;
use scrollback::window::{Block, Body, Reason};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::line::{Line, Source};
use super::thinking::{self, Added, Binding};
use super::{held, imported, marks, midway, opened, results};
use crate::wire::edit::{addressed, array};
use crate::wire::foreign::{Foreign, shape};
use crate::wire::request::Request;
use crate::wire::{Dress, Reasoning, Rendered};

pub(super) fn rendered(dress: &Dress<'_>) -> Rendered {
    let blocks: Vec<&Block> = dress.turn.window().sent().collect();
    let heads = opened::count(dress.request);
    let system = system(dress, &blocks, heads);
    let head = blocks.iter().take_while(|block| block.reason == Reason::Instructions).count();
    let skipped = if heads == 0 && system.is_some() { head } else { heads.min(head) };
    let said = &blocks[skipped..];
    let written = system.as_deref().or(dress.request.raw("system"));
    let begun = || thinking::begun(&dress.request.model(), written, dress.tools);
    let mut rendered = if dress.touched { touched(dress, said, &begun) } else { as_sent(dress, said, &begun) };
    rendered.changes.extend(system.map(|system| ("system", Some(system))));
    rendered
}

/// The window in the place of the client's messages.
fn touched(dress: &Dress<'_>, said: &[&Block], begun: &dyn Fn() -> Hash128) -> Rendered {
    let foreign = Foreign::read(dress, &shape::ANTHROPIC);
    let (before, own) = said.split_at(said.len().saturating_sub(dress.turn.rounds_under_it()));
    let written = |block| lines(block, &foreign, dress.handle);
    let own = own.iter().copied().flat_map(written).map(Line::of_now);
    let all = before.iter().copied().flat_map(written).chain(own).map(Line::without_blanks);
    let lines = all.filter(|line| !line.is_empty()).collect();
    let mut lines = midway::placed(results::gathered(lines));
    compaction_first(&mut lines, dress.request);
    let binding =
        Binding { bound: &|id| dress.turn.bound(id), binds: dress.reasoning == Reasoning::Bound, added: Added::Window };
    let (notices, bound) = bound(&mut lines, dress, begun, &binding);
    marks::placed(&mut lines, dress.request);
    Rendered { changes: vec![("messages", Some(array(lines.into_iter().map(Line::into_text))))], notices, bound }
}

/// The client's messages as they came, unless reasoning is among them that is not accepted as it stands now.
fn as_sent(dress: &Dress<'_>, said: &[&Block], begun: &dyn Fn() -> Hash128) -> Rendered {
    let raw = dress.request.raw("messages").unwrap_or("[]");
    if !thinks(dress.request, raw) {
        return Rendered::default();
    }
    let added = if dress.tools == dress.request.tools() { Added::Nothing } else { Added::Tools };
    let binding = Binding { bound: &|id| dress.turn.bound(id), binds: dress.reasoning == Reasoning::Bound, added };
    let ids = || said.iter().filter_map(|block| Some(block.message()?.id));
    let theirs: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
    let looked_at = binding.minds_tools() || binding.has_ours(ids());
    if looked_at && theirs.len() != said.len() {
        return touched(dress, said, begun);
    }
    let source =
        |i: usize| said.get(i).and_then(|block| block.message()).map_or(Source::Note, |stored| Source::Said(stored.id));
    let lines = theirs.iter().enumerate().map(|(i, raw)| Line::new(raw.get(), source(i), Reason::Open));
    let mut lines: Vec<Line<'_>> = lines.collect();
    let (notices, bound) = bound(&mut lines, dress, begun, &binding);
    let changed = (!notices.is_empty()).then(|| array(lines.into_iter().map(Line::into_text)));
    Rendered { changes: changed.map(|messages| ("messages", Some(messages))).into_iter().collect(), notices, bound }
}

/// Leaves out reasoning that cannot stay; what is told of it, and what the reply will be bound to.
fn bound(
    lines: &mut Vec<Line<'_>>,
    dress: &Dress<'_>,
    begun: &dyn Fn() -> Hash128,
    binding: &Binding<'_>,
) -> (Vec<String>, Option<Hash128>) {
    if !is_on(dress.request) && !lines.iter().any(Line::thinks) {
        return (Vec::new(), None);
    }
    let refused = match dress.reasoning {
        Reasoning::All => return (Vec::new(), None),
        Reasoning::Nothing => thinking::withheld(lines),
        Reasoning::Usual | Reasoning::Bound => None,
    };
    let walked = thinking::walked(lines, begun(), binding);
    (refused.or(walked.notice()).into_iter().collect(), Some(walked.bound))
}

fn thinks(request: &Request, messages: &str) -> bool {
    is_on(request) || messages.contains("thinking\"")
}

/// Whether the model is to think.
fn is_on(request: &Request) -> bool {
    request.value("thinking")["type"].as_str().is_some_and(|kind| kind != "disabled")
}

/// A block as messages; more than one if what was imported does not fit into one.
fn lines<'b>(block: &'b Block, foreign: &Foreign, handle: Option<&str>) -> Vec<Line<'b>> {
    let Some(sayings) = foreign.sayings(block) else { return vec![line(block, handle)] };
    let Some(stored) = block.message() else { return Vec::new() };
    let line = |message: Value| Line::new(message.to_string(), Source::Said(stored.id), block.reason);
    sayings.iter().flat_map(imported::messages).map(line).collect()
}

/// A block as a message.
fn line<'b>(block: &'b Block, handle: Option<&str>) -> Line<'b> {
    let (text, source): (Cow<'b, str>, Source) = match &block.body {
        Body::Original(stored) | Body::Nothing(stored) | Body::Whole(stored, _) => {
            (block.text().into(), Source::Said(stored.id))
        }
        Body::Round(_) => (block.text().into(), Source::Round),
        Body::Note(ours) => (note(&addressed(&ours.text, handle)).into(), Source::Note),
        Body::Held(stored, placeholder) => {
            (held::written(stored.raw.get(), placeholder, handle).into(), Source::Said(stored.id))
        }
    };
    Line::new(text, source, block.reason)
}

/// A note speaks as nobody; of the roles there are, the person's has the least authority.
fn note(text: &str) -> String {
    json!({"role": "user", "content": [{"type": "text", "text": text}]}).to_string()
}

/// The instructions, where they cannot stay as they came: those of the log if the request has none, and one of ours
/// behind.
fn system(dress: &Dress<'_>, blocks: &[&Block], heads: usize) -> Option<String> {
    let known = blocks.iter().take_while(|block| block.reason == Reason::Instructions);
    let known: Vec<&Block> = known.copied().collect();
    let from_log = (dress.touched && heads == 0).then(|| from_log(dress, &known)).flatten();
    let Some(ours) = dress.instruction else { return from_log };
    let ours = json!({"type": "text", "text": ours}).to_string();
    let theirs = from_log.as_deref().or(dress.request.raw("system")).unwrap_or("[]").trim();
    let theirs = match theirs.strip_prefix('[').and_then(|blocks| blocks.strip_suffix(']')) {
        Some(blocks) => blocks.trim().to_owned(),
        None => format!(r#"{{"type":"text","text":{theirs}}}"#),
    };
    Some(if theirs.is_empty() { format!("[{ours}]") } else { format!("[{theirs},{ours}]") })
}

/// Instructions of the log as the request writes them, if they say anything.
fn from_log(dress: &Dress<'_>, known: &[&Block]) -> Option<String> {
    let foreign = Foreign::read(dress, &shape::ANTHROPIC_HEAD);
    let head = |block: &&Block| match foreign.sayings(block) {
        Some(sayings) => sayings.iter().map(imported::head).collect(),
        None => value_of(block.text()).map_or_else(|_| Vec::new(), |head| vec![head]),
    };
    let heads: Vec<Value> = known.iter().flat_map(head).collect();
    (!heads.is_empty()).then(|| opened::system(&heads))
}

/// What the provider made of the beginning of a conversation is not ours to fold: it stays, and it stays first.
fn compaction_first(lines: &mut Vec<Line<'_>>, request: &Request) {
    let raw = request.raw("messages").unwrap_or_default();
    if !raw.contains("\"compaction\"") {
        return;
    }
    let theirs: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
    let compacted = |raw: &&RawValue| {
        let line = Line::new(raw.get().to_owned(), Source::Note, Reason::Kept);
        line.has("compaction").then_some(line)
    };
    let Some(mut first) = theirs.iter().rev().filter(|raw| raw.get().contains("\"compaction\"")).find_map(compacted)
    else {
        return;
    };
    let shown = lines.iter().position(|line| line.has("compaction"));
    if shown == Some(0) {
        return;
    }
    let blocks: Vec<Value> = first.blocks().iter().filter(|block| block["type"] == "compaction").cloned().collect();
    if let Some(line) = shown.map(|at| &mut lines[at]) {
        let rest = line.blocks().iter().filter(|block| block["type"] != "compaction").cloned().collect();
        line.rewrite(rest);
    }
    first.rewrite(blocks);
    lines.retain(|line| !line.is_empty());
    lines.insert(0, first);
}
