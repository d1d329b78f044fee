//! Which passages answer: those that share the rarest words with the question.

use std::collections::HashMap;

use super::read::{Passage, Visible};
use super::words;
use crate::message::Role;
use crate::search::folded;

/// What a word is worth that stands beside a passage and not in it.
const NEAR: f64 = 0.5;
/// What a word of an earlier question is worth to its answer.
const ANSWERED: f64 = 0.7;
/// What a phrase is worth, compared with a word: its words count too.
const PHRASE: f64 = 0.5;

/// What each word of the question is worth, by how rare it is among what is visible.
pub(super) struct Weights {
    keys: Vec<(String, f64)>,
    phrases: Vec<(String, f64)>,
    total: f64,
}

/// A passage and how well it answers.
pub(super) struct Ranked<'a> {
    pub(super) passage: &'a Passage,
    /// How much of the question's weight it carries, 0 to 1.
    pub(super) coverage: f64,
    /// The same, as sure as its speaker and form make it.
    pub(super) score: f64,
}

impl Weights {
    pub(super) fn new(visible: &Visible) -> Self {
        let content = words::content(&visible.question);
        let mut spread: HashMap<String, usize> = HashMap::new();
        for key in visible.passages.iter().flat_map(|passage| words::keys(&passage.text)) {
            *spread.entry(key).or_default() += 1;
        }
        let count = visible.passages.len();
        let keys = words::keys(&content.join(" ")).into_iter();
        let keys: Vec<_> = keys.map(|key| (key.clone(), rarity(spread.get(&key).copied(), count))).collect();
        // Once for all phrases: a log that is pasted has thousands.
        let texts: Vec<String> = visible.passages.iter().map(|passage| folded(&passage.text)).collect();
        let holding = |phrase: &String| texts.iter().filter(|text| text.contains(phrase)).count();
        let phrases = words::phrases(&content).into_iter();
        let phrases = phrases.map(|phrase| (phrase.clone(), PHRASE * rarity(Some(holding(&phrase)), count)));
        let phrases: Vec<_> = phrases.collect();
        let total = keys.iter().chain(&phrases).map(|(_, weight)| weight).sum();
        Self { keys, phrases, total }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total <= 0.0
    }

    /// How much of the question's weight a text carries.
    pub(super) fn carried(&self, text: &str) -> f64 {
        self.coverage(text, &words::keys(text), &[])
    }

    /// The same for a text with others beside it, whose words are worth less.
    fn coverage(&self, text: &str, own: &[String], beside: &[(Vec<String>, f64)]) -> f64 {
        let holds = |keys: &[String], key: &String| keys.binary_search(key).is_ok();
        let share = |key: &String| {
            let worth = || beside.iter().find(|(keys, _)| holds(keys, key)).map_or(0.0, |(_, worth)| *worth);
            if holds(own, key) { 1.0 } else { worth() }
        };
        let keys: f64 = self.keys.iter().map(|(key, weight)| weight * share(key)).sum();
        let text = if self.phrases.is_empty() { String::new() } else { folded(text) };
        let phrases = self.phrases.iter().filter(|(phrase, _)| text.contains(phrase));
        let phrases: f64 = phrases.map(|(_, weight)| weight).sum();
        if self.is_empty() { 0.0 } else { (keys + phrases) / self.total }
    }
}

/// A word that nobody used weighs as much as one used once: it may only be worded differently.
#[expect(clippy::cast_precision_loss, reason = "counts of passages are small")]
fn rarity(used: Option<usize>, count: usize) -> f64 {
    let used = used.unwrap_or(1).max(1) as f64;
    (1.0 + (count as f64 + 1.0) / (used + 0.5)).ln()
}

/// The passages that share anything with the question, the best first; of equals the latest.
pub(super) fn ranked<'a>(visible: &'a Visible, weights: &Weights) -> Vec<Ranked<'a>> {
    let asked = words::keys(&visible.question);
    let number = words::wants_number(&visible.question);
    let mut ranked: Vec<Ranked<'_>> =
        visible.passages.iter().rev().filter_map(|passage| weighed(passage, weights, &asked, number)).collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

fn weighed<'a>(passage: &'a Passage, weights: &Weights, asked: &[String], number: bool) -> Option<Ranked<'a>> {
    let own = words::keys(&passage.text);
    // Whoever says nothing that the question does not say answers nothing.
    if own.iter().all(|key| asked.binary_search(key).is_ok()) {
        return None;
    }
    let beside = [(words::keys(&passage.answers), ANSWERED), (words::keys(&passage.near), NEAR)];
    let coverage = weights.coverage(&passage.text, &own, &beside);
    let question = if words::is_question(&passage.text) { 0.4 } else { 1.0 };
    let digits = passage.text.chars().any(|c| c.is_numeric() || "一二三四五六七八九十百千两".contains(c));
    let fitting = if number && digits { 1.25 } else { 1.0 };
    let score = coverage * question * fitting * trust(&passage.speaker.role);
    (coverage > 0.0).then_some(Ranked { passage, coverage: coverage * question, score })
}

/// People and tools state; models repeat.
fn trust(role: &Role) -> f64 {
    match role {
        Role::User | Role::Tool => 1.0,
        Role::Assistant => 0.9,
        Role::System | Role::Other(_) => 0.7,
    }
}
