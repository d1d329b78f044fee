//! Reasoning is sent as it was made, and only where the same stands before it as when it was made.
//!
//! A hash runs over all that is sent: the model, the instructions, the tools, message by message, without the marks of
//! a cache. Each reply is bound to the hash of what it was made after. Reasoning of a reply that now stands after
//! something else is left out, so that what follows it stands after something else as well, until a reply that was made
//! under the window as it is now. Where the client's messages go on as they came, it may know better what it sends: a
//! reply that we know nothing of stays, as long as its model does not mind our tools before it.

use std::borrow::Cow;

use scrollback::ids::{Hash128, MessageId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::canonical::Piece;
use super::line::{Line, Source, is_thinking, last_turn};

/// What stands for a message that was nothing but reasoning.
const LEFT_OUT: &str = "(Reasoning that is not shown.)";

/// What stands in a request that its client did not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    Nothing,
    /// Our tools; the instructions and the messages are as they came.
    Tools,
    /// A window in the place of the messages.
    Window,
}

/// What decides whether reasoning stays.
pub(super) struct Binding<'a> {
    /// What a reply is bound to.
    pub(super) bound: &'a dyn Fn(MessageId) -> Option<Hash128>,
    /// Whether the model accepts its reasoning only after what it was made after.
    pub(super) binds: bool,
    pub(super) added: Added,
}

/// What came of it.
pub(super) struct Walked {
    /// The messages whose reasoning was left out; none stands for a call of ours.
    dropped: Vec<Option<MessageId>>,
    /// Whether we know nothing of the first of them.
    unknown: bool,
    /// The hash of all that is sent.
    pub(super) bound: Hash128,
}

/// The last bit of what a reply is bound to tells whether it was made under a window of ours.
const OURS: u8 = 1;

/// How a block begins in which some versions of Claude Code count their requests. Nothing is bound to it.
const BILLING: &str = "\"x-anthropic-billing-header:";

/// The hash of what stands before the messages.
pub(super) fn begun(model: &str, system: Option<&str>, tools: Option<&str>) -> Hash128 {
    let blocks = system.map(blocks).unwrap_or_default();
    let standing = blocks.iter().filter(|block| !block.contains(BILLING));
    let instructions: Vec<Hash128> = standing.filter_map(|block| Piece::of(block).hash).collect();
    let tools = tools.and_then(|tools| Piece::of(tools).hash).unwrap_or_default();
    let parts = instructions.iter().chain([&tools]).map(|hash| &hash.0[..]);
    Hash128::of("anthropic", &[model.as_bytes()].into_iter().chain(parts).collect::<Vec<_>>())
}

/// The blocks of instructions; a text is one.
fn blocks(system: &str) -> Vec<Cow<'_, str>> {
    if system.starts_with('"') {
        return vec![format!(r#"{{"type":"text","text":{system}}}"#).into()];
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(system).unwrap_or_default();
    blocks.into_iter().map(|block| block.get().into()).collect()
}

/// Leaves out the reasoning that cannot stay.
pub(super) fn walked(lines: &mut Vec<Line<'_>>, begun: Hash128, binding: &Binding<'_>) -> Walked {
    let (mut hash, mut dropped, mut unknown) = (begun, Vec::new(), false);
    let (mut passes, mut current) = (binding.passes(), None);
    for i in 0..lines.len() {
        if lines[i].thinks() {
            let holds = binding.holds(&lines[i..], hash);
            passes &= holds || !binding.is_wrong(&lines[i]);
            let mut stays = passes || holds || lines[i].source == Source::Own;
            stays = stays || !binding.binds && i >= *current.get_or_insert_with(|| current_turn(lines));
            if !stays {
                unknown |= dropped.is_empty() && binding.of(&lines[i]).is_none() && binding.added == Added::Tools;
                left_out(&mut lines[i]);
                dropped.push(lines[i].id());
            }
        }
        hash = then(hash, &lines[i]);
    }
    if !dropped.is_empty() {
        lines.retain(|line| !line.is_empty());
    }
    let ours = binding.added == Added::Window || !dropped.is_empty();
    Walked { dropped, unknown, bound: told(hash, ours) }
}

/// Leaves out all reasoning, because its provider has refused some of it; what is told of it, if there was any.
pub(super) fn withheld(lines: &mut [Line<'_>]) -> Option<String> {
    let thinking: Vec<&mut Line<'_>> = lines.iter_mut().filter(|line| line.thinks()).collect();
    let told = (!thinking.is_empty()).then(|| "all reasoning was left out: its provider refused it".to_owned());
    thinking.into_iter().for_each(left_out);
    told
}

/// Where the current turn goes on after what began it.
fn current_turn(lines: &[Line<'_>]) -> usize {
    last_turn(lines).map_or(0, |at| at + 1)
}

/// A hash that tells whether the window is ours.
fn told(mut hash: Hash128, ours: bool) -> Hash128 {
    hash.0[15] = hash.0[15] & !OURS | u8::from(ours);
    hash
}

impl Binding<'_> {
    fn of(&self, line: &Line<'_>) -> Option<Hash128> {
        line.id().and_then(self.bound)
    }

    /// Whether a reply was made after what now stands before it. A round of ours was if the reply that it led to was.
    fn holds(&self, lines: &[Line<'_>], before: Hash128) -> bool {
        let rounds = lines.iter().take_while(|line| line.source == Source::Round);
        let (count, hash) = rounds.fold((0, before), |(count, hash), line| (count + 1, then(hash, line)));
        let bound = lines.get(count).and_then(|line| self.of(line));
        bound.is_some_and(|bound| told(bound, false) == told(hash, false))
    }

    /// Whether reasoning stays until something is wrong.
    fn passes(&self) -> bool {
        self.added != Added::Window && !self.minds_tools()
    }

    /// Whether tools of ours stand before reasoning that is accepted only without them, unless it was made with them.
    pub(super) fn minds_tools(&self) -> bool {
        self.added == Added::Tools && self.binds
    }

    /// Whether a reply that does not hold is known to be wrong: it was made under a window of ours, or its model minds
    /// any difference.
    fn is_wrong(&self, line: &Line<'_>) -> bool {
        self.of(line).is_some_and(|bound| self.binds || is_ours(bound))
    }

    /// Whether any of some replies was made under a window of ours.
    pub(super) fn has_ours(&self, mut ids: impl Iterator<Item = MessageId>) -> bool {
        ids.any(|id| (self.bound)(id).is_some_and(is_ours))
    }
}

/// Whether a reply was made under a window of ours, or came in several rounds, so that nothing is right before all of
/// it.
fn is_ours(bound: Hash128) -> bool {
    bound == Hash128::default() || bound.0[15] & OURS == OURS
}

fn left_out(line: &mut Line<'_>) {
    let mut rest: Vec<Value> = line.blocks().iter().filter(|block| !is_thinking(block)).cloned().collect();
    if rest.is_empty() {
        rest.push(json!({"type": "text", "text": LEFT_OUT}));
    }
    line.rewrite(rest);
}

impl Walked {
    /// What is told of it.
    pub(super) fn notice(&self) -> Option<String> {
        let first = self.dropped.first()?.map_or_else(|| "a recall".to_owned(), |id| id.to_string());
        let later = match self.dropped.len() - 1 {
            0 => String::new(),
            1 => " and 1 later message".to_owned(),
            more => format!(" and {more} later messages"),
        };
        let why = if self.unknown {
            "it was not made with the tools that Scrollback adds, and its model accepts it with no others"
        } else {
            "it was made under another window"
        };
        Some(format!("reasoning of {first}{later} was left out: {why}"))
    }
}

/// The hash of what was before and a message.
fn then(before: Hash128, line: &Line<'_>) -> Hash128 {
    line.hash().map_or(before, |said| Hash128::of("then", &[&before.0, &said.0]))
}
