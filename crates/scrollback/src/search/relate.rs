//! What earlier messages have to do with a text: the share of what it says that each of them holds.
//!
//! Unlike a search, a text is not a list of words that must be found: it asks in whole sentences, with words that occur
//! everywhere and words that occur nowhere. Rare words count most, and the answer to a question counts with the question.

use std::collections::HashMap;

use super::rank::{Candidate, query_terms};
use super::{Need, Probe, Reach, Term, is_unspaced};
use crate::error::Result;
use crate::ids::{Depth, Tenant};
use crate::store::{Store, Stored};

/// How many different words of a text are looked up.
const TERMS: usize = 24;
/// How many messages the rarest words of a text may lead to.
const LEADS: usize = 200;
/// How many of them are read: those whose words weigh most.
const CANDIDATES: usize = 96;
/// What a word weighs that nobody has said before, against one that was said once.
const UNKNOWN: f64 = 0.4;
/// The same for a pair of characters of a script without spaces: most pairs that nobody has said are no words.
const UNKNOWN_PAIR: f64 = 0.1;
/// A word in more messages than this tells nothing: stores stop counting not far beyond.
const COMMON: u32 = 1_000;
/// How much of a neighbour's share counts.
const NEIGHBOUR: f64 = 0.35;
/// How soon saying a word again adds little.
const SATURATION: f64 = 0.6;

/// A message that has to do with a text.
#[derive(Clone, Debug)]
pub struct Related {
    /// The message.
    pub message: Stored,
    /// How much of the text it answers to, from 0 to 1.
    pub share: f64,
}

/// Messages within reach that have to do with a text, the closest first. A text without words has none. Where the text itself
/// is in the log, `own` says how often: what only it says, nobody else has said.
pub async fn related(
    store: &dyn Store,
    tenant: &Tenant,
    (text, own): (&str, u32),
    reach: Reach,
) -> Result<Vec<Related>> {
    let mut terms = query_terms(text);
    // Long words tell more, and which are rare is not known yet.
    terms.sort_by_key(|term| std::cmp::Reverse(term.text.chars().count()));
    terms.truncate(TERMS);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let counted = store.matching(tenant, Probe::new(terms.clone(), Need::Any, reach.clone(), 0)).await?;
    let others: Vec<u32> = counted.frequencies.iter().map(|count| count.saturating_sub(own)).collect();
    let weighed = Weighed::of(terms, &others, counted.total);
    let rare = weighed.rare();
    if rare.is_empty() {
        return Ok(Vec::new());
    }
    let (rare, weights) = rare.into_iter().unzip();
    let probe = Probe { weights: Some(weights), ..Probe::new(rare, Need::Any, reach, CANDIDATES) };
    let found = store.matching(tenant, probe).await?;
    Ok(weighed.ranked(found.messages.into_iter().map(|(_, message)| message).collect()))
}

/// The words of a text and what they weigh.
struct Weighed {
    terms: Vec<Term>,
    weights: Vec<f64>,
    frequencies: Vec<u32>,
    /// What all of them weigh together.
    whole: f64,
}

impl Weighed {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn of(terms: Vec<Term>, frequencies: &[u32], total: u64) -> Self {
        let total = total.max(1) as f64;
        let weight = |count: f64| (1.0 + (total - count.min(total) + 0.5) / (count + 0.5)).ln();
        let weigh = |count: &u32| if *count > COMMON { 0.0 } else { weight(f64::from(*count)) };
        let weights: Vec<f64> = frequencies.iter().map(weigh).collect();
        let unknown = |term: &Term| if term.text.starts_with(is_unspaced) { UNKNOWN_PAIR } else { UNKNOWN };
        let counts = |((weight, count), term): ((&f64, &u32), &Term)| {
            if *count == 0 { weight * unknown(term) } else { *weight }
        };
        let whole = weights.iter().zip(frequencies).zip(&terms).map(counts).sum();
        Self { terms, weights, frequencies: frequencies.to_vec(), whole }
    }

    /// The rarest words that occur at all, as many as can be looked at together, and what they weigh.
    fn rare(&self) -> Vec<(Term, f64)> {
        let words = self.terms.iter().cloned().zip(self.weights.iter().copied());
        let mut by_rarity: Vec<(u32, (Term, f64))> = self.frequencies.iter().copied().zip(words).collect();
        by_rarity.retain(|(count, _)| *count > 0);
        by_rarity.sort_by_key(|(count, _)| *count);
        let mut room = LEADS;
        let fits = |(i, (count, _)): &(usize, (u32, (Term, f64)))| {
            let rest = room.checked_sub(*count as usize);
            room = rest.unwrap_or(0);
            rest.is_some() || *i == 0
        };
        by_rarity.into_iter().enumerate().take_while(fits).map(|(_, (_, word))| word).collect()
    }

    fn ranked(&self, messages: Vec<Stored>) -> Vec<Related> {
        let read: Vec<Candidate> = messages.iter().map(|message| Candidate::read(message, &self.terms, &[])).collect();
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let mean = (read.iter().map(|one| one.length).sum::<f64>() / read.len().max(1) as f64).max(1.0);
        let shares: Vec<f64> = read.iter().map(|candidate| self.share(candidate, mean)).collect();
        let depth = |message: &Stored| message.position().map(|position| position.depth);
        let by_depth: HashMap<Depth, f64> =
            messages.iter().zip(&shares).filter_map(|(message, share)| Some((depth(message)?, *share))).collect();
        let beside = |at: Depth| {
            let around = [at.0.checked_sub(1), at.0.checked_add(1)].into_iter().flatten();
            around.filter_map(|at| by_depth.get(&Depth(at))).copied().fold(0.0, f64::max)
        };
        let together = |(message, share): (Stored, f64)| {
            let share = (share + NEIGHBOUR * depth(&message).map_or(0.0, beside)).min(1.0);
            Related { message, share }
        };
        let mut related: Vec<Related> = messages.into_iter().zip(shares).map(together).collect();
        related.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.message.id.cmp(&a.message.id)));
        related
    }

    fn share(&self, candidate: &Candidate, mean_length: f64) -> f64 {
        let long = (candidate.length / mean_length).max(0.5);
        let held = |tf: &f64| ((1.0 + SATURATION) * tf / (tf + SATURATION * long)).min(1.0);
        let sum: f64 = candidate.counts.iter().zip(&self.weights).map(|(tf, weight)| weight * held(tf)).sum();
        sum / self.whole.max(f64::MIN_POSITIVE)
    }
}
