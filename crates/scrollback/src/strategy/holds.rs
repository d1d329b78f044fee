//! Holds: a large tool result is kept whole and shown as a placeholder, under every strategy.
//!
//! The placeholder tells what was asked, how much came back, what it says in brief and where it is from, and how to
//! load it. In the turn it arrives in a result is shown whole, unless it is to be held on arrival; afterwards it is
//! held. What stands before that turn does not change, so a provider's cache goes on from where the turn began. Where
//! there are many, smaller ones are held too, in groups.

use std::sync::Arc;

use super::leaf::{Asked, Leaf};
use super::turns;
use crate::message::Role;
use crate::store::Stored;
use crate::task;

/// How many of the long results of its turn that a model has seen stay whole, however many there are.
const NEWEST: usize = 2;

/// About how many characters a token has.
const CHARS_A_TOKEN: usize = 4;
/// A digest has at most this part of what it stands for.
const DIGEST_SHARE: usize = 10;

/// How every placeholder begins; its id follows.
pub(crate) const HELD: &str = "[Tool result h";

/// When results are held.
#[derive(Clone, Debug)]
pub struct HoldSettings {
    /// Results with more characters than this are held.
    pub over_chars: usize,
    /// How long the digest in a placeholder may be.
    pub digest_chars: usize,
    /// From when on.
    pub from: HeldFrom,
    /// Results with more characters than this are long: held too where there are many.
    pub long_over_chars: usize,
    /// Within a turn, those the model has seen are held once they take so many tokens; 0: long results are not held at
    /// all.
    pub many_tokens: u32,
}

/// From when on a result is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldFrom {
    /// From the turn after it arrived.
    AfterTurn,
    /// From the start, which is kinder to a provider's cache.
    OnArrival,
}

impl Default for HoldSettings {
    fn default() -> Self {
        Self {
            over_chars: 10_000,
            digest_chars: 400,
            from: HeldFrom::AfterTurn,
            long_over_chars: 2_000,
            many_tokens: 24_000,
        }
    }
}

impl HoldSettings {
    /// Which of the open messages are held as long as the window fits.
    ///
    /// Of a turn that is over, large results are held, and all that are long if together they are large. Of the current
    /// one, what the model has seen is held in groups, so that a provider's cache is seldom begun anew, and the newest
    /// are not. Where a group ends depends on what came before it in its turn alone, so that it stays there.
    pub(super) fn held(&self, open: &[Arc<Leaf>]) -> Vec<bool> {
        let current = turns::last(open);
        let mut held: Vec<bool> = Vec::with_capacity(open.len());
        for turn in open[..current].chunk_by(|_, next| !next.begins_turn) {
            let tokens = turn.iter().filter(|leaf| leaf.long.is_some()).map(|leaf| leaf.tokens()).sum::<u32>();
            let all = self.many_tokens > 0 && tokens as usize * CHARS_A_TOKEN > self.over_chars;
            held.extend(turn.iter().map(|leaf| leaf.large.is_some() || all && leaf.long.is_some()));
        }
        let grouped = self.grouped(&open[current..]);
        // What a model asked us for is not kept from it in the turn it asks in.
        let comes_held = |asked: &Asked| self.from == HeldFrom::OnArrival && asked.recalled().is_none();
        let in_turn = |(i, leaf): (usize, &Arc<Leaf>)| {
            leaf.large.as_ref().is_some_and(comes_held) || i < grouped && leaf.long.is_some()
        };
        held.extend(open[current..].iter().enumerate().map(in_turn));
        held
    }

    /// Up to which message of the current turn long results are held.
    fn grouped(&self, turn: &[Arc<Leaf>]) -> usize {
        let seen = turn.iter().rposition(|leaf| leaf.stored.role == Role::Assistant).unwrap_or(0);
        let long: Vec<usize> = (0..seen).filter(|i| turn[*i].long.is_some()).collect();
        let (mut end, mut tokens) = (0, 0_u32);
        for i in &long[..long.len().saturating_sub(NEWEST)] {
            tokens = tokens.saturating_add(turn[*i].tokens());
            if self.many_tokens > 0 && tokens >= self.many_tokens {
                (end, tokens) = (i + 1, 0);
            }
        }
        end
    }

    /// Results with more characters than this may be held.
    pub(super) fn least_chars(&self) -> usize {
        if self.many_tokens > 0 { self.over_chars.min(self.long_over_chars) } else { self.over_chars }
    }

    /// The placeholder's text, made without a model.
    pub(super) fn text(&self, stored: &Stored, asked: &Asked) -> String {
        placeholder(stored, asked, &self.told(&super::leaf::result_of(&stored.message())))
    }

    /// What can be told of a result without a model.
    pub(crate) fn told(&self, text: &str) -> Told {
        let chars = text.chars().count();
        let brief = task::brief(text, self.digest_chars.min(chars / DIGEST_SHARE));
        Told { chars, brief, sources: task::sources(text) }
    }
}

/// What a placeholder tells of a result.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Told {
    /// How long it is.
    pub chars: usize,
    /// What it says, in brief.
    pub brief: String,
    /// Where it is from.
    pub sources: Vec<String>,
}

/// The text that stands for a large result.
pub fn placeholder(stored: &Stored, asked: &Asked, told: &Told) -> String {
    let (number, chars) = (stored.id.0, told.chars);
    let mut lines = vec![format!("{HELD}{number} is kept, not shown. {chars} characters, {}.]", stored.at)];
    let query = asked.query.as_deref().unwrap_or_default();
    lines.extend(asked.tool.as_ref().map(|tool| format!("Tool: {tool} {query}")));
    lines.push(format!("In brief: {}", told.brief));
    if !told.sources.is_empty() {
        lines.push(format!("Sources: {}", told.sources.join(", ")));
    }
    lines.push(format!("To read it: load_tool_history(id = \"h{number}\"), with part = lines or words to look for."));
    lines.join("\n")
}

#[cfg(test)]
mod tests;
