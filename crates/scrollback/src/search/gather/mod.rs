//! Gathering: of all that was said, what should stand word for word beside a question.
//!
//! Pure. A caller reads a [`Question`], asks its index for the messages that hold its terms, and reads them as
//! [`Lead`]s. [`beside`] names the neighbours worth loading too; [`ranked`] orders them all, and whoever asks takes
//! what fits. `words` makes terms, `score` says what a message is worth, `cover` orders them; with embeddings, `near`
//! says which mean the same, and what that adds. An index has to tell, for each term, in how many messages it stands;
//! terms are stems, names of speakers included.

mod cover;
mod near;
mod score;
mod stretch;
#[cfg(test)]
mod tests;
mod words;

pub use near::Near;
pub use words::{Question, stems};

use std::collections::HashSet;
use std::ops::Range;

use crate::ids::At;
use score::Scored;
use words::Counts;

/// How many messages of people that hold the question's words are worth reading.
pub const PEOPLE: usize = 256;
/// How many messages of models are: they are long, and hold more of any words.
pub const MODELS: usize = 128;
/// How many messages are read for a question in all, those that [`beside`] names included.
pub const READ: usize = 500;

/// How much of a long text is read: its beginning, and its end, because people ask after what they paste.
const HEAD_CHARS: usize = 8_000;
const TAIL_CHARS: usize = 2_000;
/// How far around a good message others may belong to it.
const NEAR: u64 = 4;
/// How many of the best messages have what is near them looked at.
const BEST: usize = 128;
/// How far around the very best others may belong to it.
const FAR: u64 = 16;
/// How many are the very best.
const VERY_BEST: usize = 32;

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// A person, or somebody with a name.
    Person,
    /// A model, or a tool.
    Model,
}

/// A message before it is read for a question.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Where it stands in the log; neighbours differ by one.
    pub place: u64,
    /// When it was said.
    pub at: Option<At>,
    /// What kind of speaker said it.
    pub voice: Voice,
    /// The speaker's name, if there is one.
    pub name: Option<&'a str>,
    /// The words.
    pub text: &'a str,
    /// What it costs to quote it whole, its own header included.
    pub tokens: u32,
}

/// A message as far as a question is concerned.
#[derive(Clone, Debug)]
pub struct Lead {
    /// Where it stands in the log.
    pub place: u64,
    at: Option<At>,
    voice: Voice,
    tokens: u32,
    /// How often it has what the question asks for.
    counts: Counts,
    /// Which terms of the question are the name of its speaker.
    named: Vec<bool>,
    /// How near its meaning is to the question's, from 0 to 1; 0 if nobody knows.
    near: f64,
}

impl Lead {
    /// Reads a message for a question.
    pub fn read(question: &Question, said: Said<'_>) -> Self {
        let counts = question.count(said.text, &unread(said.text), said.voice);
        let named = question.named(said.name);
        let Said { place, at, voice, tokens, .. } = said;
        Self { place, at, voice, tokens, counts, named, near: 0.0 }
    }

    /// The same if its meaning is so near, from 0 to 1.
    #[must_use]
    pub fn with_near(self, near: f64) -> Self {
        Self { near, ..self }
    }
}

/// The middle of a long text, which is not read; empty if the text is not long.
fn unread(text: &str) -> Range<usize> {
    let from = text.char_indices().nth(HEAD_CHARS).map_or(text.len(), |(at, _)| at);
    let upto = text[from..].char_indices().nth_back(TAIL_CHARS - 1).map_or(from, |(at, _)| from + at);
    from..upto
}

/// What an index knows of a question's terms.
#[derive(Clone, Debug)]
pub struct Known {
    /// For each term, in how many messages it stands.
    pub frequencies: Vec<u32>,
    /// How many messages there are.
    pub total: u64,
}

impl Known {
    /// What each term weighs: much if few messages have it.
    pub fn weights(&self, question: &Question) -> Vec<f64> {
        let all = usize::try_from(self.total).unwrap_or(usize::MAX).max(1);
        let weigh = |(&count, weight): (&u32, f64)| weight * score::rarity(count as usize, all);
        self.frequencies.iter().zip(question.weights()).map(weigh).collect()
    }
}

/// The places around the best leads that are worth loading, as far as [`READ`] allows: what stands beside an answer
/// often belongs to it.
pub fn beside(question: &Question, known: &Known, leads: &[Lead]) -> Vec<u64> {
    let mut have: HashSet<u64> = leads.iter().map(|lead| lead.place).collect();
    let left = READ.saturating_sub(have.len());
    let around = |(rank, place): (usize, u64)| {
        let reach = if rank < VERY_BEST { FAR } else { NEAR };
        place.saturating_sub(reach)..=place.saturating_add(reach)
    };
    let best = Scored::of(question, known, leads.to_vec()).best(BEST);
    let near = best.into_iter().enumerate().flat_map(around).filter(|place| have.insert(*place));
    let mut places: Vec<u64> = near.take(left).collect();
    places.sort_unstable();
    places
}

/// Every lead's place and what it is worth beside the question and those before it, the worthiest first.
pub fn ranked(question: &Question, known: &Known, leads: Vec<Lead>) -> Vec<(u64, f64)> {
    let scored = Scored::of(question, known, leads);
    scored.order().into_iter().map(|(i, worth)| (scored.leads[i].place, worth)).collect()
}
