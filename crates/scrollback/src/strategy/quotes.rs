//! Quotes: what of the folded past stands word for word beside a turn, before the model asks for anything.
//!
//! The engine ranks messages (`search::gather`); here it is decided how much room they get and how they are shown: the
//! worthiest that fit, in the order they were said. A talk that goes on about what the open messages speak of
//! already gets few, a question about the past most of a small window.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::holds::HoldSettings;
use super::leaf::Leaf;
use super::topics::Excerpt;
use crate::ids::MessageId;
use crate::message::Role;
use crate::recall::{fence, said, short_heading};
use crate::window::{Budget, tokens_of};

/// Tokens that the fence and its title cost.
const FENCE: u32 = 60;
/// With less room than this nothing is quoted.
const LEAST: u32 = 120;
/// Tokens that a day costs in a heading.
const DAY: u32 = 5;
/// How many characters of a day name its year.
const YEAR: usize = "2026-".len();
/// How often what was said before is told to have been said again.
const REPEATS: usize = 3;
/// Up to this size a window is small.
const SMALL_WINDOW: u32 = 8_000;
/// By so much a large one is larger: what a model of 16,000 tokens has beside its tools is large.
const LARGER: u32 = 6_000;
/// The part of the most that quotes get in a small window where the open messages speak of what is asked.
const LITTLE: u32 = 16;
/// When so many in a row do not fit, the room is full.
const MISSES: usize = 24;

/// What a turn asks of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteNeed {
    /// It asks for it outright, or only asks and so leans on what was said.
    All,
    /// It brings its own words, but the open messages lack much of them.
    Some,
    /// The open messages speak of what it is about.
    Little,
}

/// How much is quoted.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuoteSettings {
    /// Whether every strategy quotes, or topics alone.
    pub always: bool,
    /// How much of the budget room is made for, in hundredths.
    pub share: u32,
    /// How many tokens they may take.
    pub tokens: u32,
    /// How much of what a person says must be missing from the open messages, from 0 to 1, for quotes to get all of
    /// that in a small window; otherwise they get a small part.
    pub missing: f64,
}

impl Default for QuoteSettings {
    fn default() -> Self {
        Self { always: false, share: 90, tokens: 8_000, missing: 0.3 }
    }
}

impl QuoteSettings {
    /// How many tokens quotes may take at most.
    pub fn most(&self, budget: Budget) -> u32 {
        budget.share(self.share).min(self.tokens)
    }

    /// How many tokens quotes may take for a need. A small window holds little else; a large one has more open messages
    /// to go by, most of them from a provider's cache, and quotes are new to it every time.
    pub fn room(&self, need: QuoteNeed, budget: Budget) -> u32 {
        let most = self.most(budget);
        let (small, large) = match need {
            QuoteNeed::All => (most, most),
            QuoteNeed::Some => (most, 0),
            QuoteNeed::Little => (most / LITTLE, 0),
        };
        let over = u64::from(over_small(budget));
        let between = u64::from(small) * (u64::from(LARGER) - over) + u64::from(large) * over;
        u32::try_from(between / u64::from(LARGER)).unwrap_or(most)
    }

    /// How much of what a turn that only asks says must be missing in a window of a size. A large window holds any
    /// words, whether it has to do with them or not.
    pub fn enough(&self, budget: Budget) -> f64 {
        self.missing * f64::from(LARGER - over_small(budget)) / f64::from(LARGER)
    }
}

/// How much larger a window is than a small one, up to a large one.
fn over_small(budget: Budget) -> u32 {
    budget.tokens.saturating_sub(SMALL_WINDOW).min(LARGER)
}

/// Quotes the worthiest of some messages that fit into so many tokens; `ranked` has the worthiest first. `None` if
/// nothing fits.
pub fn quotes(ranked: &[Arc<Leaf>], remark: Option<&str>, holds: &HoldSettings, room: u32) -> Option<Excerpt> {
    if room < LEAST {
        return None;
    }
    let (ranked, mut packing) = (together(ranked, holds), Packing::default());
    packing.fill(&ranked, holds, room.checked_sub(FENCE + remark.map_or(0, tokens_of))?);
    // Whatever was reckoned too dear leaves room for more.
    let spent = tokens_of(&written(&packing.taken, remark, holds)?);
    packing.fill(&ranked, holds, room.saturating_sub(spent));
    fitting(packing.taken, remark, holds, room)
}

/// What says the same is quoted together, under a heading for each: it follows the worthiest of them, up to so many.
fn together<'a>(ranked: &'a [Arc<Leaf>], holds: &HoldSettings) -> Vec<&'a Arc<Leaf>> {
    let (mut places, mut all) = (HashMap::<&str, usize>::new(), Vec::<Vec<&Arc<Leaf>>>::new());
    for leaf in ranked {
        match repeatable(leaf, holds).map(|said| places.entry(said)) {
            Some(Entry::Occupied(place)) => all[*place.get()].push(leaf),
            first => {
                first.map(|entry| entry.or_insert(all.len()));
                all.push(vec![leaf]);
            }
        }
    }
    all.into_iter().flat_map(|same| same.into_iter().take(1 + REPEATS)).collect()
}

/// A message as others may say it, byte for byte. A result that stays held has a number of its own in its place.
fn repeatable<'a>(leaf: &'a Leaf, holds: &HoldSettings) -> Option<&'a str> {
    leaf.placeholder(holds).is_none().then(|| leaf.stored.raw.get())
}

/// What is quoted, while it is being chosen.
#[derive(Default)]
struct Packing<'a> {
    taken: Vec<&'a Arc<Leaf>>,
    ids: HashSet<MessageId>,
    said: HashSet<&'a str>,
    days: HashSet<String>,
}

impl<'a> Packing<'a> {
    /// Takes what is not taken yet and fits into so many tokens, the worthiest first.
    fn fill(&mut self, ranked: &[&'a Arc<Leaf>], holds: &HoldSettings, mut left: u32) {
        let mut misses = 0;
        for &leaf in ranked {
            if self.ids.contains(&leaf.stored.id) {
                continue;
            }
            let Some(rest) = left.checked_sub(self.cost(leaf, holds)) else {
                misses += 1;
                if misses == MISSES {
                    return;
                }
                continue;
            };
            (left, misses) = (rest, 0);
            self.days.insert(leaf.stored.at.day());
            self.ids.insert(leaf.stored.id);
            self.said.extend(repeatable(leaf, holds));
            self.taken.push(leaf);
        }
    }

    /// What one more would cost: where its words stand already, no more than its heading.
    fn cost(&self, leaf: &Leaf, holds: &HoldSettings) -> u32 {
        let dated = if self.days.contains(&leaf.stored.at.day()) { 0 } else { DAY };
        let heading = short_heading(leaf.stored.id, None, None);
        let is_said = repeatable(leaf, holds).is_some_and(|said| self.said.contains(said));
        dated + tokens_of(&if is_said { heading } else { format!("{heading}\n{}", words(leaf, holds)) })
    }
}

/// As many of what was taken as truly fit: a clock that goes back names days again.
fn fitting(mut taken: Vec<&Arc<Leaf>>, remark: Option<&str>, holds: &HoldSettings, room: u32) -> Option<Excerpt> {
    loop {
        let text = written(&taken, remark, holds)?;
        let tokens = tokens_of(&text);
        if tokens <= room {
            let quoted = taken.iter().map(|leaf| leaf.stored.id).collect();
            return Some(Excerpt { text: text.into(), tokens, quoted, topics: 0 });
        }
        taken.pop();
    }
}

/// The messages in the order they were said, what says the same where it was said first; `None` if there are none.
fn written(taken: &[&Arc<Leaf>], remark: Option<&str>, holds: &HoldSettings) -> Option<String> {
    let mut ordered: Vec<&Arc<Leaf>> = taken.to_vec();
    ordered.sort_by_key(|leaf| leaf.stored.position().map(|at| at.depth));
    let (mut pieces, mut headings) = (Vec::new(), Headings::default());
    for (i, leaf) in ordered.iter().enumerate() {
        let said = repeatable(leaf, holds);
        let is_same = |other: &&&Arc<Leaf>| said.is_some() && repeatable(other, holds) == said;
        if !ordered[..i].iter().any(|other| is_same(&other)) {
            let all = std::iter::once(leaf).chain(ordered[i + 1..].iter().filter(is_same));
            pieces.extend(all.map(|leaf| headings.of(leaf)));
            pieces.push(words(leaf, holds));
        }
    }
    let body = remark.map(str::to_owned).into_iter().chain(pieces).collect::<Vec<_>>().join("\n");
    (!taken.is_empty()).then(|| fence("quotes", "Earlier messages that may matter now, word for word", &body))
}

/// Headings one after the other: who spoke, the day and its year stand where they are news. Whoever has a name is
/// named.
#[derive(Default)]
struct Headings<'a> {
    role: Option<&'a Role>,
    day: String,
}

impl<'a> Headings<'a> {
    fn of(&mut self, leaf: &'a Leaf) -> String {
        let (role, day) = (&leaf.stored.role, leaf.stored.at.day());
        let date = match (day.split_at_checked(YEAR), self.day.get(..YEAR)) {
            _ if day == self.day => None,
            (Some((year, rest)), Some(before)) if year == before => Some(rest),
            _ => Some(day.as_str()),
        };
        let is_named = leaf.stored.message().name().is_some();
        let is_news = self.role != Some(role) && !is_named;
        let heading = short_heading(leaf.stored.id, is_news.then_some(role), date);
        (self.role, self.day) = (if is_named { None } else { Some(role) }, day);
        heading
    }
}

/// A message as it was said. A large tool result stays held.
fn words(leaf: &Leaf, holds: &HoldSettings) -> String {
    let message = leaf.stored.message();
    let held = leaf.placeholder(holds);
    let text = held.map_or_else(|| said(leaf.stored.id, &message), |held| held.text.clone());
    let speaker = message.name().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{speaker}{text}")
}

/// Messages by their numbers, in another order: the worthiest first.
pub(crate) fn in_order(leaves: Vec<Arc<Leaf>>, order: &[MessageId]) -> Vec<Arc<Leaf>> {
    let place = |leaf: &Arc<Leaf>| order.iter().position(|id| *id == leaf.stored.id);
    let mut placed: Vec<(usize, Arc<Leaf>)> =
        leaves.into_iter().filter_map(|leaf| Some((place(&leaf)?, leaf))).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, leaf)| leaf).collect()
}

#[cfg(test)]
mod tests;
