//! What each lead is worth: its own words, the words around it, the stretch of talk it belongs to, who said it, and its
//! size.
//!
//! Words are weighed as in BM25. What stands around a message counts as if the message had said some of it: answers
//! seldom repeat their questions. Long messages are held to what a passage of them would have, so that they do not win
//! by length alone.

use super::cover::{self, Worth};
use super::stretch::stretches;
use super::{Known, Lead, Question, Voice, near};

/// How soon saying a term again adds little.
const K1: f64 = 1.6;
/// How much the length of a message matters.
const B: f64 = 0.75;
/// How many terms a passage has.
const PASSAGE: f64 = 60.0;
/// How much a long message is diluted: 0 not at all, 1 as if its terms were spread evenly.
const DILUTION: f64 = 0.7;
/// What two words beside each other count where they are beside each other again, against the commoner of them.
const PAIR: f64 = 1.0;
/// How much more the oldest lead counts, if it is asked how something began.
const OLDEST: f64 = 3.0;
/// What terms count that stand one, two, three, four messages away.
const AROUND: [f64; 4] = [0.3, 0.2, 0.1, 0.1];
/// How much of that is left across a pause.
const ACROSS: f64 = 0.5;
/// How much a name counts where it is spoken, if it is a speaker's: people name others, not themselves.
const ADDRESSED: f64 = 0.3;
/// What the stretch of talk around a message counts, against its own words.
const STRETCH: f64 = 1.5;
/// A stretch of more messages counts less for each of them.
const STRETCH_MESSAGES: f64 = 10.0;
/// After so many messages, half of a word is left for what is said there.
const FADING_MESSAGES: f64 = 32.0;
/// How soon more of a term far around adds little.
const FAR_K: f64 = 2.0;
/// How much being large costs: 0 nothing, 1 every token alike.
const COST: f64 = 0.35;
/// Messages below this size cost alike.
const SMALL_TOKENS: u32 = 60;
/// What a model said counts less than what a person said, unless it is asked for: people ask about what they told.
const OF_MODEL: f64 = 0.5;

/// Leads in the order of the log and what each is worth.
pub(super) struct Scored {
    pub(super) leads: Vec<Lead>,
    worths: Vec<Worth>,
    weights: Vec<f64>,
}

impl Scored {
    /// Scores leads.
    pub(super) fn of(question: &Question, known: &Known, mut leads: Vec<Lead>) -> Self {
        leads.sort_by_key(|lead| lead.place);
        leads.dedup_by_key(|lead| lead.place);
        let weights = known.weights(question);
        let asked: Vec<f64> = question.weights().collect();
        let scoring = Scoring::new(&leads, &weights, &asked);
        let (words, pairs) = (scoring.words(), scoring.pairs(question.pairs()));
        let (stretches, subject) = (scoring.stretches(), scoring.subject());
        let standings: Vec<f64> = (0..leads.len()).map(|i| standing(question, &leads, i)).collect();
        let worth = |(i, held): (usize, Vec<f64>)| {
            let standing = subject[i].sqrt() * standings[i];
            Worth { held, rest: pairs[i] + STRETCH * stretches[i], standing, apart: 0.0 }
        };
        let mut worths: Vec<Worth> = words.into_iter().enumerate().map(worth).collect();
        let others: Vec<f64> = worths.iter().map(|worth| worth.at(&weights)).collect();
        for (worth, added) in worths.iter_mut().zip(near::added(&leads, &others, &standings)) {
            worth.apart = added;
        }
        Self { leads, worths, weights }
    }

    /// Numbers of leads and what they are worth beside those before them, the worthiest first.
    pub(super) fn order(&self) -> Vec<(usize, f64)> {
        cover::order(&self.worths, &self.weights)
    }

    /// The places of those that are worth most by themselves; of equals, the newest.
    pub(super) fn best(&self, count: usize) -> Vec<u64> {
        let worth = |(lead, worth): (&Lead, &Worth)| (lead.place, worth.at(&self.weights));
        let mut best: Vec<(u64, f64)> = self.leads.iter().zip(&self.worths).map(worth).collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        best.into_iter().take(count).map(|(place, _)| place).collect()
    }
}

/// What a lead's words count, by who said it, how much it costs, and how old it is.
#[expect(clippy::cast_precision_loss, reason = "leads are few")]
fn standing(question: &Question, leads: &[Lead], i: usize) -> f64 {
    let of_voice = if leads[i].voice == Voice::Model && !question.asks_model { OF_MODEL } else { 1.0 };
    let of_age = if question.asks_first { 1.0 + OLDEST * (1.0 - i as f64 / leads.len() as f64) } else { 1.0 };
    of_voice * of_age / f64::from(leads[i].tokens.max(SMALL_TOKENS)).powf(COST)
}

struct Scoring<'a> {
    leads: &'a [Lead],
    /// What each term weighs: how rare it is, and how much it tells.
    weights: &'a [f64],
    /// How much each term tells.
    asked: &'a [f64],
    /// What is left of a term in a long message.
    spread: Vec<f64>,
    /// How long each is, against the mean.
    long: Vec<f64>,
    /// The stretch each belongs to, from 0.
    stretch: Vec<usize>,
}

impl<'a> Scoring<'a> {
    #[expect(clippy::cast_precision_loss, reason = "leads are few")]
    fn new(leads: &'a [Lead], weights: &'a [f64], asked: &'a [f64]) -> Self {
        let length = |lead: &Lead| lead.counts.length.min(PASSAGE);
        let mean = (leads.iter().map(length).sum::<f64>() / leads.len().max(1) as f64).max(1.0);
        let spread = leads.iter().map(|lead| (PASSAGE / lead.counts.length.max(1.0)).min(1.0)).collect();
        let long = leads.iter().map(|lead| 1.0 - B + B * length(lead) / mean).collect();
        Self { leads, weights, asked, spread, long, stretch: stretches(leads) }
    }

    /// How much each lead has of each term, in its own words and those around it.
    fn words(&self) -> Vec<Vec<f64>> {
        let mut words = vec![Vec::with_capacity(self.weights.len()); self.leads.len()];
        for term in 0..self.weights.len() {
            for (held, of_term) in words.iter_mut().zip(self.held(term)) {
                held.push(saturated(of_term));
            }
        }
        words
    }

    /// What the words are worth that stand beside each other as in the question, for each lead.
    fn pairs(&self, pairs: &[(usize, usize)]) -> Vec<f64> {
        let weights: Vec<f64> = pairs.iter().map(|&(a, b)| PAIR * self.weights[a].min(self.weights[b])).collect();
        let worth = |(lead, spread): (&Lead, &f64)| {
            let held = lead.counts.pairs.iter().map(|count| saturated(count * spread.powf(DILUTION)));
            held.zip(&weights).map(|(held, weight)| held * weight).sum()
        };
        self.leads.iter().zip(&self.spread).map(worth).collect()
    }

    /// How much of a term each lead has.
    fn held(&self, term: usize) -> Vec<f64> {
        let is_name = self.leads.iter().any(|lead| lead.named[term]);
        let spoken = if is_name { ADDRESSED } else { 1.0 };
        let once: Vec<f64> =
            self.leads.iter().zip(&self.long).map(|(lead, long)| spoken * lead.counts.terms[term] / long).collect();
        let own = |i: usize| once[i] * self.spread[i].powf(DILUTION) + f64::from(u8::from(self.leads[i].named[term]));
        (0..once.len()).map(|i| own(i) + self.spread[i] * self.around(i, &once)).collect()
    }

    /// How much of a term stands around a lead.
    fn around(&self, i: usize, once: &[f64]) -> f64 {
        let place = self.leads[i].place;
        let lent = |j: usize| {
            let away = self.leads[j].place.abs_diff(place);
            let share = if self.stretch[i] == self.stretch[j] { 1.0 } else { ACROSS };
            usize::try_from(away)
                .ok()
                .and_then(|away| AROUND.get(away.wrapping_sub(1)))
                .map(|near| near * share * once[j] * self.spread[j])
        };
        let before = (0..i).rev().map_while(lent);
        let after = (i + 1..once.len()).map_while(lent);
        before.chain(after).sum()
    }

    /// What the stretch of talk is worth that each lead belongs to.
    fn stretches(&self) -> Vec<f64> {
        let count = self.stretch.last().map_or(0, |last| last + 1);
        let mut worth = vec![0.0; count];
        for (term, asked) in self.asked.iter().enumerate() {
            let mut held = vec![0.0; count];
            for (i, lead) in self.leads.iter().enumerate() {
                held[self.stretch[i]] += lead.counts.terms[term] * self.spread[i];
            }
            let weight = asked * rarity(held.iter().filter(|held| **held > 0.0).count(), count);
            for (sum, held) in worth.iter_mut().zip(held) {
                *sum += weight * saturated(held);
            }
        }
        let shares = self.shares(count);
        self.stretch.iter().zip(&self.spread).map(|(&i, spread)| worth[i] * shares[i] * spread).collect()
    }

    /// How much each stretch counts for its messages: the more there are, the less for each.
    #[expect(clippy::cast_precision_loss, reason = "a log has fewer than 2^52 messages")]
    fn shares(&self, count: usize) -> Vec<f64> {
        let mut ends = vec![(u64::MAX, 0); count];
        for (lead, &stretch) in self.leads.iter().zip(&self.stretch) {
            ends[stretch] = (ends[stretch].0.min(lead.place), lead.place);
        }
        let share = |(first, last): (u64, u64)| (STRETCH_MESSAGES / (last - first + 1) as f64).min(1.0);
        ends.into_iter().map(share).collect()
    }
}

impl Scoring<'_> {
    /// How much the talk is of the question's subject where each lead stands, from 0 to 1: where the same words mean
    /// something else, the question's other words are far.
    fn subject(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.leads.len()];
        for (term, weight) in self.weights.iter().enumerate() {
            for (sum, far) in sums.iter_mut().zip(self.far(term)) {
                *sum += weight * far / (far + FAR_K);
            }
        }
        let most = sums.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        sums.into_iter().map(|sum| sum / most).collect()
    }

    /// How much of a term is said far around each lead, itself included.
    fn far(&self, term: usize) -> Vec<f64> {
        let said: Vec<f64> = self
            .leads
            .iter()
            .zip(&self.spread)
            .map(|(lead, spread)| lead.counts.terms[term].min(2.0) * spread)
            .collect();
        let mut far = said.clone();
        let mut pass = |order: &mut dyn Iterator<Item = usize>| {
            let (mut sum, mut before) = (0.0, None);
            for i in order {
                sum *= before.map_or(0.0, |before: u64| faded(before.abs_diff(self.leads[i].place)));
                far[i] += sum;
                sum += said[i];
                before = Some(self.leads[i].place);
            }
        };
        pass(&mut (0..said.len()));
        pass(&mut (0..said.len()).rev());
        far
    }
}

/// What is left of a word so many messages away.
#[expect(clippy::cast_precision_loss, reason = "beyond 2^52 messages nothing is left anyway")]
fn faded(messages: u64) -> f64 {
    0.5_f64.powf(messages as f64 / FADING_MESSAGES)
}

/// What a term weighs that so many of all have.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(super) fn rarity(having: usize, all: usize) -> f64 {
    let (having, all) = (having.min(all) as f64, all as f64);
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

fn saturated(held: f64) -> f64 {
    (K1 + 1.0) * held / (held + K1)
}
