//! A window: what is shown to a model, block by block, and why each block is there.
//!
//! Blocks can be added and nothing can be taken out: what does not fit is never put in, it is folded or held. The record of
//! a window that was sent is a view.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::ids::MessageId;
use crate::message::Role;
use crate::note::{Covers, Fold};
use crate::store::Stored;
use crate::tokens::Vocabulary;

/// Tokens that a message of our own costs beyond its words.
const FRAME_TOKENS: usize = 4;

/// Why a block is in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// What a block shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A message as it came.
    Original,
    /// A message whose tool result is replaced by this placeholder.
    Held(String),
    /// Text of ours.
    Note(String),
}

/// A piece of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The messages it stands for; none for instructions.
    pub covers: Option<Covers>,
    /// The message it shows, unless it is a note.
    pub message: Option<MessageId>,
    /// Who speaks; notes speak as nobody.
    pub role: String,
    /// What it shows.
    pub body: Body,
    /// Why it is there.
    pub reason: Reason,
    /// What it costs.
    pub tokens: u32,
    /// A line for people.
    pub caption: String,
}

/// What a window may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Tokens, the model's limit less what is kept free for its reply.
    pub tokens: u32,
}

impl Budget {
    /// So many hundredths of it.
    pub fn share(self, percent: u32) -> u32 {
        u32::try_from(u64::from(self.tokens) * u64::from(percent) / 100).unwrap_or(u32::MAX)
    }
}

/// What is shown to a model.
#[derive(Clone, Debug, PartialEq)]
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
    pub fn instruct(&mut self, stored: &Stored) {
        let body = Body::Original;
        self.blocks.push(Block {
            covers: None,
            reason: Reason::Instructions,
            ..block(stored, body, stored.measure.tokens)
        });
    }

    /// Shows a message as it came.
    pub fn show(&mut self, stored: &Stored, reason: Reason) {
        self.blocks.push(Block { reason, ..block(stored, Body::Original, stored.measure.tokens) });
    }

    /// Shows a message with a placeholder for its tool result.
    pub fn hold(&mut self, stored: &Stored, placeholder: String) {
        let tokens = tokens_of(&placeholder);
        let caption = format!("held h{} · {} tokens · load_tool_history", stored.id.0, grouped(stored.measure.tokens));
        let body = Body::Held(placeholder);
        self.blocks.push(Block { reason: Reason::TooLarge, caption, ..block(stored, body, tokens) });
    }

    /// Shows a text that stands for everything under notes.
    pub fn fold(&mut self, text: String, fold: &Fold) {
        let (listed, unlisted) = (fold.listed.len(), fold.unlisted());
        let caption = format!("contents · {listed} pages listed, {unlisted} found by search");
        let (tokens, reason, role) = (tokens_of(&text), Reason::Covers, "contents".to_owned());
        let (covers, body) = (fold.covers, Body::Note(text));
        self.blocks.push(Block { covers, message: None, role, body, reason, tokens, caption });
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

    /// How many messages of the path are neither shown nor covered. Law 2 says: none.
    pub fn lost(&self) -> u32 {
        self.path - self.blocks.iter().filter_map(|block| block.covers).map(|covers| covers.count()).sum::<u32>()
    }

    /// Why it cannot be made smaller, naming the three largest items.
    pub fn too_large(&self) -> Error {
        let mut largest: Vec<&Block> = self.blocks.iter().collect();
        largest.sort_by_key(|block| std::cmp::Reverse(block.tokens));
        let items: Vec<String> = largest.iter().take(3).map(|block| item(block)).collect();
        let (tokens, budget) = (grouped(self.tokens()), grouped(self.budget.tokens));
        Error::Invalid(format!(
            "what must be shown takes {tokens} tokens, but only {budget} fit. The largest: {}. \
             Use a model with a larger window, or shorten one of them",
            items.join("; ")
        ))
    }
}

fn item(block: &Block) -> String {
    let name = block.message.map_or_else(String::new, |id| format!("{id} "));
    format!("{name}{} with {} tokens", block.role, grouped(block.tokens))
}

fn block(stored: &Stored, body: Body, tokens: u32) -> Block {
    let covers = stored.position().map(|at| Covers { first: at.id, from: at.depth, last: at.id, to: at.depth });
    let caption = stored.message().to_text().split_whitespace().collect::<Vec<_>>().join(" ");
    Block {
        covers,
        message: Some(stored.id),
        role: role_of(&stored.role).to_owned(),
        body,
        reason: Reason::Open,
        tokens,
        caption,
    }
}

fn role_of(role: &Role) -> &str {
    if *role == Role::Tool { "result" } else { role.as_str() }
}

/// The tokens of a text of ours.
pub(crate) fn tokens_of(text: &str) -> u32 {
    u32::try_from(Vocabulary::O200k.count(text) + FRAME_TOKENS).unwrap_or(u32::MAX)
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
