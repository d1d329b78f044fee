//! What earlier messages have to do with a text: the share of what it says that each of them holds.
//!
//! Unlike a search, a text is not a list of words that must be found: it asks in whole sentences, with words that occur
//! everywhere and words that occur nowhere. Rare words count most, and the answer to a question counts with the
//! question.

use std::collections::{HashMap, HashSet};

use super::rank::{Candidate, Said, Wanted, query_terms};
use super::{Need, Probe, Reach, Term, is_unspaced};
use crate::error::Result;
use crate::ids::{Depth, MessageId, SessionId, Tenant};
use crate::message::Role;
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
/// What words count that are not a person's: replies are long and hold a little of everything.
const OTHERS: f64 = 0.7;
/// A message that answers to less of a text than this has nothing to do with it.
const LEAST: f64 = 0.1;
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

/// For each of some texts, at most so many messages within reach that have to do with it, the closest first. A text
/// without words has none. Where the texts themselves are in the log, `own` says how often each is: what only it says,
/// nobody else has said.
///
/// Words that several texts say are counted once, and messages that several lead to are read once.
pub async fn related<T: AsRef<str>>(
    store: &dyn Store,
    tenant: &Tenant,
    (texts, own): (&[T], u32),
    (reach, most): (Reach, usize),
) -> Result<Vec<Vec<Related>>> {
    let wanted: Vec<Vec<Term>> = texts.iter().map(|text| telling(text.as_ref())).collect();
    let mut seen = HashSet::new();
    let all: Vec<Term> = wanted.iter().flatten().filter(|term| seen.insert(*term)).cloned().collect();
    if all.is_empty() {
        return Ok(vec![Vec::new(); texts.len()]);
    }
    let counted = store.matching(tenant, Probe::new(all.clone(), Need::Any, reach.clone(), 0)).await?;
    let counts: HashMap<&Term, u32> = all.iter().zip(counted.frequencies).collect();
    let mut readings = Readings { wanted: Wanted::of(&all), read: HashMap::new() };
    let mut found = Vec::with_capacity(texts.len());
    for terms in wanted {
        let others: Vec<u32> = terms.iter().map(|term| counts[term].saturating_sub(own)).collect();
        let weighed = Weighed::of(terms, &others, counted.total);
        let messages = weighed.messages(store, tenant, reach.clone()).await?;
        let ranked = weighed.ranked(messages, &mut readings);
        found.push(ranked.into_iter().take(most).filter(|hit| hit.share >= LEAST).collect());
    }
    Ok(found)
}

/// The words of a text that are looked up: long ones tell more, and which are rare is not known yet.
fn telling(text: &str) -> Vec<Term> {
    let mut terms = query_terms(text);
    terms.sort_by_key(|term| std::cmp::Reverse(term.text.chars().count()));
    terms.truncate(TERMS);
    terms
}

/// Messages that were read for the words of several texts.
struct Readings<'a> {
    wanted: Wanted<'a>,
    read: HashMap<(SessionId, MessageId), Said>,
}

impl Readings<'_> {
    fn of(&mut self, (session, message): &(SessionId, Stored), wanted: &Wanted<'_>) -> Candidate {
        let read = || Said::read(&message.message().to_text(), &self.wanted);
        self.read.entry((*session, message.id)).or_insert_with(read).of(wanted)
    }
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

    /// Messages that its rarest words lead to.
    async fn messages(&self, store: &dyn Store, tenant: &Tenant, reach: Reach) -> Result<Vec<(SessionId, Stored)>> {
        let rare = self.rare();
        if rare.is_empty() {
            return Ok(Vec::new());
        }
        let (rare, weights) = rare.into_iter().unzip();
        let probe = Probe { weights: Some(weights), ..Probe::new(rare, Need::Any, reach, CANDIDATES) };
        Ok(store.matching(tenant, probe).await?.messages)
    }

    fn ranked(&self, messages: Vec<(SessionId, Stored)>, readings: &mut Readings<'_>) -> Vec<Related> {
        let wanted = Wanted::of(&self.terms);
        let read: Vec<Candidate> = messages.iter().map(|message| readings.of(message, &wanted)).collect();
        let messages: Vec<Stored> = messages.into_iter().map(|(_, message)| message).collect();
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
            let share = if message.role == Role::User { share } else { share * OTHERS };
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
