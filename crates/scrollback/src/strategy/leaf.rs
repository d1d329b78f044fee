//! A message of the open part of a path, with what strategies need to know of it, found out once.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::holds::HoldSettings;
use crate::message::{Message, Part, Role, value_of};
use crate::recall::RecallTool;
use crate::store::{Origin, Stored};
use crate::tokens::part_tokens;
use crate::window::tokens_of;

/// How far back the call of a result is looked for.
const CALL_WITHIN: usize = 64;
/// How much of a call's arguments is kept.
const QUERY_CHARS: usize = 200;

/// An open message.
#[derive(Debug)]
pub struct Leaf {
    /// The message.
    pub stored: Arc<Stored>,
    /// Reasoning that led to it, which stands directly before it.
    pub asides: Vec<Arc<Stored>>,
    /// Whether a person speaks, which begins a turn.
    pub begins_turn: bool,
    /// Whether it answers calls, or goes on with a reply: behind calls, with a call, or after it was paused.
    pub answers: bool,
    /// How it stands to results.
    tie: Tie,
    /// Whether calls before it, or its own, wait for their results.
    waits: bool,
    /// If it is a large result: what was asked for.
    pub large: Option<Asked>,
    /// The same if it is one that is held where there are many.
    pub long: Option<Asked>,
    placeholder: OnceLock<Arc<Placeholder>>,
    settled: OnceLock<()>,
    recorded: OnceLock<()>,
}

/// How a message stands to the results of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tie {
    /// Not at all.
    None,
    /// It brings some.
    Brings,
    /// It came with some, stands right behind them, and goes on with their turn though it comes in the person's role.
    /// Agents that speak Chat Completions say there what happened meanwhile, at every step.
    Joins,
}

/// The call that a large result answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The tool.
    pub tool: Option<String>,
    /// The beginning of its arguments.
    pub query: Option<String>,
}

impl Asked {
    /// The tool of ours that was called, if it was one.
    pub(super) fn recalled(&self) -> Option<RecallTool> {
        self.tool.as_deref().and_then(RecallTool::called)
    }
}

/// What is shown in place of a large result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// Its text.
    pub text: String,
    /// The calls for whose words it stands. Smaller results of the same message stay, and so does whatever is no words.
    pub calls: Vec<String>,
    /// What the message costs with it.
    pub tokens: u32,
}

impl Placeholder {
    /// A placeholder with this text, for the large results of a message.
    pub fn new(text: String, message: &Message, holds: &HoldSettings) -> Self {
        let (held, rest): (Vec<&Part>, Vec<&Part>) =
            message.parts().iter().partition(|part| is_over(part, holds.least_chars()));
        let call = |part: &&Part| match part {
            Part::Result { call, .. } => call.clone(),
            Part::Text(_) | Part::Image(_) | Part::File(_) | Part::Call { .. } | Part::Thinking(_) | Part::Other(_) => {
                None
            }
        };
        let beside: usize = held.iter().map(|part| part_tokens(&without_words(part))).sum();
        let rest: usize = rest.iter().map(|part| part_tokens(part)).sum();
        let tokens = tokens_of(&text).saturating_add(u32::try_from(rest + beside).unwrap_or(u32::MAX));
        Self { calls: held.iter().filter_map(call).collect(), text, tokens }
    }
}

/// What stays of a result that is held: whatever is no words.
fn without_words(part: &Part) -> Part {
    match part {
        Part::Result { call, other, .. } => {
            Part::Result { call: call.clone(), text: String::new(), other: other.clone() }
        }
        Part::Text(_) | Part::Image(_) | Part::File(_) | Part::Call { .. } | Part::Thinking(_) | Part::Other(_) => {
            part.clone()
        }
    }
}

/// Whether a part is a result of more characters than that.
fn is_over(part: &Part, over_chars: usize) -> bool {
    matches!(part, Part::Result { text, .. } if text.chars().count() > over_chars)
}

impl Leaf {
    /// Looks at a message that follows `before`.
    pub fn new(stored: Arc<Stored>, before: &[Arc<Self>], holds: &HoldSettings) -> Self {
        // Reading every message takes long; one that nowhere says "result" or "output" holds none.
        let may = ["result", "output"].iter().any(|word| stored.raw.get().contains(word));
        let is_tool = stored.role == Role::Tool;
        let long_raw = stored.raw.get().len() > holds.least_chars();
        // A call that is a message of its own: others of the same reply may stand between it and its result.
        let may_call = stored.role == Role::Assistant && stored.raw.get().contains("_call\"");
        let looked_at = if is_tool { long_raw } else { may || may_call };
        let message = looked_at.then(|| stored.message());
        let results = |message: &Message| message.parts().iter().any(|part| matches!(part, Part::Result { .. }));
        let brings = is_tool || message.as_ref().is_some_and(results);
        let speaks = stored.role == Role::User && !brings;
        let joins =
            speaks && before.last().is_some_and(|last| last.tie != Tie::None && came_with(&last.stored, &stored));
        let begins_turn = speaks && !joins;
        let tie = if brings {
            Tie::Brings
        } else if joins {
            Tie::Joins
        } else {
            Tie::None
        };
        let calls = may_call && message.as_ref().is_some_and(Message::makes_call);
        // A reply of several items may call behind its words.
        let is_replied =
            |last: &Arc<Self>| last.waits || calls && last.tie == Tie::None && last.stored.role == Role::Assistant;
        let goes_on = !brings && !speaks && before.last().is_some_and(is_replied);
        let waits = goes_on || calls;
        let long_message = message.as_ref().filter(|_| long_raw);
        let asked = |over: usize| long_message.and_then(|message| asked(message, before, over));
        let (large, long) = (asked(holds.over_chars), asked(holds.least_chars()));
        let (asides, answers) = (Vec::new(), brings || goes_on || resumes(&stored));
        let (placeholder, settled, recorded) = Default::default();
        Self { stored, asides, begins_turn, answers, tie, waits, large, long, placeholder, settled, recorded }
    }

    /// The same with the reasoning that led to it. None leads to a result: before one stands what led to a recall that
    /// its client has never seen, and no provider takes that without the recall.
    #[must_use]
    pub fn with_asides(self, asides: Vec<Arc<Stored>>) -> Self {
        let asides = if self.stored.role == Role::Tool { Vec::new() } else { asides };
        Self { asides, ..self }
    }

    /// Leaves for the messages of a path.
    pub fn all(stored: impl IntoIterator<Item = Arc<Stored>>, holds: &HoldSettings) -> Vec<Arc<Self>> {
        let mut leaves = Vec::new();
        for stored in stored {
            leaves.push(Arc::new(Self::new(stored, &leaves, holds)));
        }
        leaves
    }

    /// Whether it may not be parted from what is before it.
    pub fn belongs(&self) -> bool {
        self.answers || self.tie == Tie::Joins
    }

    /// The words of its large result.
    pub fn result(&self) -> String {
        result_of(&self.stored.message())
    }

    /// What stands for it while it is held, if it ever is: what was settled, or else what can be said without a model,
    /// from then on.
    pub fn placeholder(&self, holds: &HoldSettings) -> Option<&Arc<Placeholder>> {
        let asked = self.long.as_ref()?;
        let text = || holds.text(&self.stored, asked);
        Some(self.placeholder.get_or_init(|| Arc::new(Placeholder::new(text(), &self.stored.message(), holds))))
    }

    /// Its words where large results are held: what stands for large results, then what remains beside them.
    pub(crate) fn told(&self, holds: &HoldSettings) -> Option<String> {
        let placeholder = self.large.as_ref().and(self.placeholder(holds))?;
        let message = self.stored.message();
        let rest = message.parts().iter().filter(|part| !is_over(part, holds.least_chars())).flat_map(Part::words);
        let told = std::iter::once(placeholder.text.as_str().into()).chain(rest.filter(|piece| !piece.is_empty()));
        Some(told.collect::<Vec<Cow<'_, str>>>().join("\n"))
    }

    /// Settles what stands for it, as it is on record. The first word counts, so that a window does not change under
    /// its reader: if something else was said before, this leaf cannot be settled.
    pub fn settle(&self, placeholder: &Placeholder) {
        let _ = self.recorded.set(());
        let now = self.placeholder.get_or_init(|| Arc::new(placeholder.clone()));
        if **now == *placeholder {
            let _ = self.settled.set(());
        }
    }

    /// Whether what stands for it is what is on record.
    pub fn is_settled(&self) -> bool {
        self.settled.get().is_some()
    }

    /// Whether anything that stands for it is on record.
    pub fn is_recorded(&self) -> bool {
        self.recorded.get().is_some()
    }

    /// What it costs when shown whole, with the reasoning that led to it.
    pub fn tokens(&self) -> u32 {
        self.stored.measure.tokens.saturating_add(self.aside_tokens())
    }

    /// What the reasoning that led to it costs.
    pub fn aside_tokens(&self) -> u32 {
        self.asides.iter().map(|aside| aside.measure.tokens).fold(0, u32::saturating_add)
    }
}

/// Whether a message is the next of its path and came in one request with the one before. In a file many messages may
/// have one time.
fn came_with(last: &Stored, next: &Stored) -> bool {
    let depths = [last, next].map(|stored| stored.position().map(|at| at.depth));
    next.origin == Origin::Client
        && last.at == next.at
        && matches!(depths, [Some(last), Some(next)] if last.plus(1) == next)
}

/// Whether a reply goes on with an earlier one: it brings the result of a tool that its provider runs, or calls
/// something from within it, and that tool was called before.
fn resumes(stored: &Stored) -> bool {
    let raw = stored.raw.get();
    let may = ["\"tool_use_id\"", "\"tool_id\""].iter().any(|name| raw.contains(name));
    if stored.role != Role::Assistant || !may {
        return false;
    }
    let message: Value = value_of(raw).unwrap_or_default();
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let named = blocks.iter().flat_map(|block| [&block["tool_use_id"], &block["caller"]["tool_id"]]);
    named.filter(|id| id.is_string()).any(|id| blocks.iter().all(|block| block["id"] != *id))
}

/// The words of a message's results.
pub(crate) fn result_of(message: &Message) -> String {
    let text = |part: &Part| match part {
        Part::Result { text, .. } => Some(text.clone()),
        Part::Text(_) | Part::Image(_) | Part::File(_) | Part::Call { .. } | Part::Thinking(_) | Part::Other(_) => None,
    };
    message.parts().iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// What was asked for, if the message holds a result of more characters than that. What was loaded on demand is never
/// held again.
fn asked(message: &Message, before: &[Arc<Leaf>], over_chars: usize) -> Option<Asked> {
    let over = |part: &&Part| is_over(part, over_chars);
    let Some(Part::Result { call, .. }) = message.parts().iter().find(over) else { return None };
    let found = call.as_deref().and_then(|id| {
        let recent = before.iter().rev().take(CALL_WITHIN);
        recent.filter(|leaf| leaf.stored.raw.get().contains(id)).find_map(|leaf| call_in(&leaf.stored.message(), id))
    });
    let asked = found.unwrap_or_default();
    (asked.recalled() != Some(RecallTool::Hold)).then_some(asked)
}

fn call_in(message: &Message, wanted: &str) -> Option<Asked> {
    message.parts().iter().find_map(|part| match part {
        Part::Call { id: Some(id), name, arguments } if id == wanted => Some(Asked {
            tool: Some(name.clone()),
            query: Some(arguments.to_string().chars().take(QUERY_CHARS).collect()),
        }),
        Part::Call { .. }
        | Part::Text(_)
        | Part::Image(_)
        | Part::File(_)
        | Part::Result { .. }
        | Part::Thinking(_)
        | Part::Other(_) => None,
    })
}
