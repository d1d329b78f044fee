//! A window: what is shown to a model, block by block, and why each block is there.
//!
//! Blocks can be added and nothing can be taken out: what does not fit is never put in, it is folded or held. The
//! record of a window that was sent is a view.

mod chat;
mod tells;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::engine::Hidden;
use crate::error::Error;
use crate::ids::{Hash128, MessageId};
use crate::message::{Role, is_same_json};
use crate::note::{Covers, Fold};
use crate::store::Stored;
use crate::strategy::topics::Excerpt;
use crate::strategy::{Kept, Placeholder};
use crate::tokens::Vocabulary;

pub use tells::{Ours, Tells};

/// Tokens that a message of our own costs beyond its words.
const FRAME_TOKENS: usize = 4;

/// Why a block is in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Standing instructions are always shown.
    Instructions,
    /// It has not been folded.
    Open,
    /// It belongs to the turn that is being answered.
    CurrentTurn,
    /// It stands for what was folded.
    Covers,
    /// It is too large to be shown whole again and again.
    TooLarge,
    /// The model asked for it in this turn.
    Recalled,
    /// It is an excerpt of topics that matter to this turn.
    Relevant,
    /// The person stated it as a rule or pinned it, or no words can stand for it.
    Kept,
    /// It is the reasoning that led to the message after it.
    Reasoning,
    /// A person wants it left out; it is not sent.
    LeftOut,
}

/// What a block shows.
#[derive(Clone, Debug)]
pub enum Body {
    /// A message as it came.
    Original(Arc<Stored>),
    /// A message whose tool result is replaced by a placeholder.
    Held(Arc<Stored>, Arc<Placeholder>),
    /// A reply as the model made it, with calls of ours that the client never saw.
    Whole(Arc<Stored>, Arc<RawValue>),
    /// A call of ours or its result, which the client never saw.
    Round(Arc<RawValue>),
    /// Text of ours that stands for what was folded, or quotes from it.
    Note(Ours),
    /// A message that is not sent, because a person wants it left out.
    Nothing(Arc<Stored>),
}

/// A piece of a window.
#[derive(Clone, Debug)]
pub struct Block {
    /// The messages of the path it stands for; none for instructions and recalls.
    pub covers: Option<Covers>,
    /// What it shows.
    pub body: Body,
    /// Why it is there.
    pub reason: Reason,
    /// What it costs.
    pub tokens: u32,
}

impl Block {
    /// A message as it came, that stands for nothing of the path.
    fn beside(stored: &Arc<Stored>, reason: Reason) -> Self {
        let (body, tokens) = (Body::Original(stored.clone()), stored.measure.tokens);
        Self { covers: None, body, reason, tokens }
    }

    /// A text of ours.
    fn note(text: Arc<str>, tells: Tells, reason: Reason, tokens: u32) -> Self {
        Self { covers: None, body: Body::Note(Ours { text, tells }), reason, tokens }
    }

    /// A call of ours or its result.
    fn round(raw: Arc<RawValue>, tokens: u32) -> Self {
        Self { covers: None, body: Body::Round(raw), reason: Reason::Recalled, tokens }
    }

    /// The message it shows, if it shows one.
    pub fn message(&self) -> Option<&Arc<Stored>> {
        match &self.body {
            Body::Original(stored) | Body::Held(stored, _) | Body::Whole(stored, _) => Some(stored),
            Body::Round(_) | Body::Note(_) | Body::Nothing(_) => None,
        }
    }

    /// What is sent of it, apart from how a wire dresses it.
    pub fn text(&self) -> &str {
        match &self.body {
            Body::Original(stored) => stored.raw.get(),
            Body::Held(_, placeholder) => &placeholder.text,
            Body::Whole(_, raw) | Body::Round(raw) => raw.get(),
            Body::Note(ours) => &ours.text,
            Body::Nothing(_) => "",
        }
    }

    /// A hash of what is sent: two blocks with the same hash cost a provider's cache the same.
    pub fn hash(&self) -> Hash128 {
        let call = self.message().map_or(0, |stored| stored.id.0).to_le_bytes();
        Hash128::of("block", &[&call, self.text().as_bytes()])
    }

    /// Who speaks, in a word.
    pub fn speaker(&self) -> &str {
        match &self.body {
            Body::Original(_) if self.reason == Reason::Reasoning => "reasoning",
            Body::Original(stored) | Body::Held(stored, _) | Body::Whole(stored, _) | Body::Nothing(stored) => {
                role_of(&stored.role)
            }
            Body::Round(_) => "recall",
            Body::Note(ours) => ours.tells.word(),
        }
    }
}

/// What a window may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Tokens, the model's limit less what is kept free for its reply. They are counted as OpenAI's newer models count
    /// ([`Vocabulary::O200k`]); whoever knows how a model differs asks for less or more.
    pub tokens: u32,
}

impl Budget {
    /// So many hundredths of it.
    pub fn share(self, percent: u32) -> u32 {
        u32::try_from(u64::from(self.tokens) * u64::from(percent) / 100).unwrap_or(u32::MAX)
    }

    /// About so many hundredths of it, at most those: most budgets that differ by little give the same. A model's
    /// tokens are estimated anew after each reply, and what was cut by it before is to be cut there again.
    pub(crate) fn steady_share(self, percent: u32) -> u32 {
        let share = self.share(percent);
        let step = 1 << share.checked_ilog2().unwrap_or(0).saturating_sub(2);
        share - share % step
    }
}

/// What of a model's limit is not for its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// The tools it comes with, ours among them.
    pub tools: u32,
    /// What is kept free for the reply.
    pub reply: u32,
}

/// What is shown to a model.
#[derive(Clone, Debug)]
pub struct Window {
    blocks: Vec<Block>,
    budget: Budget,
    /// How many messages the path has; every one must be covered.
    path: u32,
}

impl Window {
    /// An empty window for a path of so many messages.
    pub fn new(budget: Budget, path: u32) -> Self {
        Self { blocks: Vec::new(), budget, path }
    }

    /// Shows an instruction.
    pub fn instruct(&mut self, stored: &Arc<Stored>) {
        self.blocks.push(Block::beside(stored, Reason::Instructions));
    }

    /// Shows a message as it came.
    pub fn show(&mut self, stored: &Arc<Stored>, reason: Reason) {
        self.blocks.push(Block { covers: covers(stored), ..Block::beside(stored, reason) });
    }

    /// Shows the reasoning that led to the message that is shown next.
    pub fn reason(&mut self, asides: &[Arc<Stored>]) {
        self.blocks.extend(asides.iter().map(|stored| Block::beside(stored, Reason::Reasoning)));
    }

    /// Shows a message with a placeholder for its tool result.
    pub fn hold(&mut self, stored: &Arc<Stored>, placeholder: &Arc<Placeholder>) {
        let (covers, tokens) = (covers(stored), placeholder.tokens);
        let body = Body::Held(stored.clone(), placeholder.clone());
        self.blocks.push(Block { covers, body, reason: Reason::TooLarge, tokens });
    }

    /// Shows what stands for everything under notes, if anything is.
    pub fn fold(&mut self, fold: &Fold) {
        if fold.covers.is_some() {
            let note = Block::note(fold.text.as_str().into(), Tells::of(fold), Reason::Covers, fold.tokens);
            self.blocks.push(Block { covers: fold.covers, ..note });
        }
    }

    /// Shows what is kept however old it is.
    pub fn keep(&mut self, kept: &Kept) {
        if !kept.text.is_empty() {
            let tells = Tells::Kept(kept.words.clone());
            self.blocks.push(Block::note(kept.text.clone(), tells, Reason::Kept, kept.text_tokens()));
        }
        self.blocks.extend(kept.media.iter().map(|stored| Block::beside(stored, Reason::Kept)));
    }

    /// Leaves a message out that a person does not want sent.
    pub fn leave_out(&mut self, stored: &Arc<Stored>) {
        let body = Body::Nothing(stored.clone());
        self.blocks.push(Block { covers: covers(stored), body, reason: Reason::LeftOut, tokens: 0 });
    }

    /// Shows an excerpt of topics.
    pub fn quote(&mut self, excerpt: &Excerpt) {
        let tells = Tells::Quotes { topics: excerpt.topics, messages: excerpt.quoted.len() };
        self.blocks.push(Block::note(excerpt.text.clone(), tells, Reason::Relevant, excerpt.tokens));
    }

    /// Shows a call of ours or its result after everything else.
    pub fn recall(&mut self, raw: Arc<RawValue>, tokens: u32) {
        self.blocks.push(Block::round(raw, tokens));
    }

    /// The same window with what the client never saw put back around one of its messages.
    #[must_use]
    pub fn with_hidden(self, around: MessageId, hidden: &Hidden) -> Self {
        let mut blocks = Vec::with_capacity(self.blocks.len() + hidden.before.len() + hidden.after.len());
        for block in self.blocks {
            if block.message().is_some_and(|stored| stored.id == around) {
                put_around(block, hidden, &mut blocks);
            } else {
                blocks.push(block);
            }
        }
        Self { blocks, ..self }
    }

    /// The same window against a larger budget.
    #[must_use]
    pub(crate) fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The blocks, in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// What it costs.
    pub fn tokens(&self) -> u32 {
        self.blocks.iter().map(|block| block.tokens).sum()
    }

    /// What it may cost.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Whether it fits.
    pub fn fits(&self) -> bool {
        self.tokens() <= self.budget.tokens
    }

    /// What is left of the budget.
    pub fn room(&self) -> u32 {
        self.budget.tokens.saturating_sub(self.tokens())
    }

    /// Whether it is just what the client sent: nothing is folded, held or put back.
    pub fn is_untouched(&self) -> bool {
        self.lost() == 0 && self.blocks.iter().all(|block| matches!(block.body, Body::Original(_)))
    }

    /// Whether it shows just what another does.
    pub(crate) fn shows_what(&self, other: &Self) -> bool {
        self.blocks.iter().map(Block::hash).eq(other.blocks.iter().map(Block::hash))
    }

    /// How many messages of the path are neither shown nor covered. Law 2 says: none.
    pub fn lost(&self) -> u32 {
        self.path - self.blocks.iter().filter_map(|block| block.covers).map(|covers| covers.count()).sum::<u32>()
    }

    /// Why it cannot be made smaller, naming the three largest items, those that stand beside it among them.
    pub fn too_large(&self, reserved: Reserved) -> Error {
        let outside = [("the tools".to_owned(), reserved.tools), ("the room for the reply".to_owned(), reserved.reply)];
        let blocks = self.blocks.iter().map(|block| (item(block), block.tokens));
        let mut largest: Vec<(String, u32)> = outside.into_iter().chain(blocks).filter(|(_, of)| *of > 0).collect();
        largest.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
        let named = |(item, tokens): &(String, u32)| format!("{item} with {} tokens", grouped(*tokens));
        let items: Vec<String> = largest.iter().take(3).map(named).collect();
        let (tokens, budget) = (grouped(self.tokens()), grouped(self.budget.tokens));
        Error::TooLarge(format!(
            "what must be shown takes {tokens} tokens, but only {budget} fit. The largest: {}. \
             Use a model with a larger window, or shorten one of them",
            items.join("; ")
        ))
    }
}

/// Adds the block of a message to those before it, with what the client never saw put back around it.
fn put_around(block: Block, hidden: &Hidden, blocks: &mut Vec<Block>) {
    let round = |(raw, tokens): &(Arc<RawValue>, u32)| Block::round(raw.clone(), *tokens);
    let led = blocks.iter().rposition(|before| before.reason != Reason::Reasoning).map_or(0, |last| last + 1);
    let asides = blocks.split_off(led);
    // Reasoning that led to a call of ours stands before that call.
    let stands = |aside: &Block| hidden.rounds.iter().any(|(raw, _)| is_same_json(raw.get(), aside.text()));
    blocks.extend(hidden.rounds.iter().map(round));
    blocks.extend(asides.into_iter().filter(|aside| !stands(aside)));
    blocks.extend(hidden.before.iter().map(round));
    let whole = hidden.whole.as_ref().zip(block.message().cloned());
    blocks.push(match whole {
        Some(((raw, tokens), stored)) => Block { body: Body::Whole(stored, raw.clone()), tokens: *tokens, ..block },
        None => block,
    });
    blocks.extend(hidden.after.iter().map(round));
}

fn item(block: &Block) -> String {
    let name = block.message().map_or_else(String::new, |stored| format!("{} ", stored.id));
    format!("{name}{}", block.speaker())
}

fn covers(stored: &Stored) -> Option<Covers> {
    stored.position().map(|at| Covers { first: at.id, from: at.depth, last: at.id, to: at.depth })
}

fn role_of(role: &Role) -> &str {
    if *role == Role::Tool { "result" } else { role.as_str() }
}

/// The tokens of a text of ours.
pub(crate) fn tokens_of(text: &str) -> u32 {
    u32::try_from(Vocabulary::O200k.count(text) + FRAME_TOKENS).unwrap_or(u32::MAX)
}

/// How many of some pieces fit one after another, by what each costs.
pub(crate) fn fitting(costs: impl IntoIterator<Item = u32>, mut room: u32) -> usize {
    let mut count = 0;
    for cost in costs {
        let Some(rest) = room.checked_sub(cost) else { break };
        room = rest;
        count += 1;
    }
    count
}

/// A number with its thousands apart.
pub fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
