//! Quotes: what of the folded past stands word for word beside a turn, before the model asks for anything.
//!
//! The engine ranks messages (`search::gather`); here it is decided how much room they get and how they are shown: the
//! worthiest that fit, in the order they were said. A talk that goes on about what the open messages speak of
//! already gets few, a question about the past most of a small window.

use std::collections::HashSet;
use std::sync::Arc;

use super::holds::HoldSettings;
use super::leaf::Leaf;
use super::topics::Excerpt;
use crate::ids::MessageId;
use crate::recall::{fence, short_heading};
use crate::window::{Budget, tokens_of};

/// Tokens that the fence and its title cost.
const FENCE: u32 = 60;
/// With less room than this nothing is quoted.
const LEAST: u32 = 120;
/// Tokens that a day costs in a heading.
const DAY: u32 = 8;
/// Up to this size a window is small; from twice as much on it is large.
const SMALL_WINDOW: u32 = 8_000;
/// When so many in a row do not fit, the room is full.
const MISSES: usize = 24;

/// How much is quoted.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuoteSettings {
    /// Whether every strategy quotes, or topics alone.
    pub always: bool,
    /// How much of the budget quotes may take, in hundredths.
    pub share: u32,
    /// How many tokens they may take.
    pub tokens: u32,
    /// How much of what a person says must be missing from the open messages, from 0 to 1, for quotes to get all of that in a
    /// small window; otherwise they get a small part.
    pub missing: f64,
}

impl Default for QuoteSettings {
    fn default() -> Self {
        Self { always: false, share: 90, tokens: 8_000, missing: 0.3 }
    }
}

impl QuoteSettings {
    /// How much must be missing in a window of a size. Twice as much in a large one: it has more open messages to go by, and quotes that
    /// are not needed cost more where more would have come from a provider's cache.
    pub fn enough(&self, budget: Budget) -> f64 {
        let over = f64::from(budget.tokens.saturating_sub(SMALL_WINDOW)) / f64::from(SMALL_WINDOW);
        self.missing * (1.0 + over.min(1.0))
    }

    /// How many tokens quotes may take at most.
    pub fn most(&self, budget: Budget) -> u32 {
        budget.share(self.share).min(self.tokens)
    }
}

/// Quotes the worthiest of some messages that fit into so many tokens; `ranked` has the worthiest first. `None` if nothing fits.
pub fn quotes(ranked: &[Arc<Leaf>], remark: Option<&str>, holds: &HoldSettings, room: u32) -> Option<Excerpt> {
    if room < LEAST {
        return None;
    }
    let mut left = room.checked_sub(FENCE + remark.map_or(0, tokens_of))?;
    let (mut taken, mut days, mut misses): (Vec<&Arc<Leaf>>, HashSet<String>, usize) = Default::default();
    for leaf in ranked {
        let day = leaf.stored.at.day();
        let dated = if days.contains(&day) { 0 } else { DAY };
        match left.checked_sub(dated + tokens_of(&quote(leaf, holds, None))) {
            Some(rest) => {
                (left, misses) = (rest, 0);
                days.insert(day);
                taken.push(leaf);
            }
            None => misses += 1,
        }
        if misses == MISSES {
            break;
        }
    }
    fitting(taken, remark, holds, room)
}

/// As many of what was taken as truly fit: a clock that goes back names days again.
fn fitting(mut taken: Vec<&Arc<Leaf>>, remark: Option<&str>, holds: &HoldSettings, room: u32) -> Option<Excerpt> {
    loop {
        let text = written(&taken, remark, holds)?;
        let tokens = tokens_of(&text);
        if tokens <= room {
            let quoted = taken.iter().map(|leaf| leaf.stored.id).collect();
            return Some(Excerpt { text: text.into(), tokens, quoted });
        }
        taken.pop();
    }
}

/// The messages in the order they were said; `None` if there are none.
fn written(taken: &[&Arc<Leaf>], remark: Option<&str>, holds: &HoldSettings) -> Option<String> {
    let mut ordered: Vec<&Arc<Leaf>> = taken.to_vec();
    ordered.sort_by_key(|leaf| leaf.stored.position().map(|at| at.depth));
    let (mut pieces, mut day): (Vec<String>, Option<String>) = (Vec::new(), None);
    for leaf in &ordered {
        let said = leaf.stored.at.day();
        pieces.push(quote(leaf, holds, (day.as_ref() != Some(&said)).then_some(&said)));
        day = Some(said);
    }
    let body = remark.map(str::to_owned).into_iter().chain(pieces).collect::<Vec<_>>().join("\n");
    (!taken.is_empty()).then(|| fence("quotes", "Earlier messages that may matter now, word for word", &body))
}

/// A message as it was said, with its day where that is news. A large tool result stays held.
fn quote(leaf: &Leaf, holds: &HoldSettings, day: Option<&String>) -> String {
    let message = leaf.stored.message();
    let held = leaf.placeholder(holds);
    let text = held.map_or_else(|| message.to_text(), |held| held.text.clone());
    let speaker = message.name().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{}\n{speaker}{text}", short_heading(leaf.stored.id, message.role(), day.map(String::as_str)))
}

/// Messages by their numbers, in another order: the worthiest first.
pub(crate) fn in_order(leaves: Vec<Arc<Leaf>>, order: &[MessageId]) -> Vec<Arc<Leaf>> {
    let place = |leaf: &Arc<Leaf>| order.iter().position(|id| *id == leaf.stored.id);
    let mut placed: Vec<(usize, Arc<Leaf>)> =
        leaves.into_iter().filter_map(|leaf| Some((place(&leaf)?, leaf))).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, leaf)| leaf).collect()
}
