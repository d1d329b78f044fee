//! Which topics are awake: decided turn by turn from how much each mattered lately.
//!
//! Waking is generous, sleeping is patient. The more topics are awake, the higher the floor a sleeper must reach and
//! the fewer of the ranking are taken; a topic sleeps only after it stayed low for several turns, or when too many are
//! awake. It comes back by its own score, by being asked for, by a cue that something was forgotten, or when messages
//! are sorted into it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::step::Turn;
use crate::topic::TopicId;

/// The best two of a search are close together if they differ by less than this.
const CLOSE: f32 = 0.1;
/// A topic that reaches this is meant, whatever else was found.
const CLEAR: f32 = 0.6;

/// How topics wake and sleep.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivationSettings {
    /// How many of the newest scores count.
    pub average_over: usize,
    /// So many topics are awake at least, if there are that many.
    pub least: usize,
    /// So many are awake when it is neither quiet nor crowded.
    pub usual: usize,
    /// So many are awake at most.
    pub most: usize,
    /// What a topic must reach to wake when none is awake.
    pub floor: f32,
    /// How much more it must reach for each that is awake.
    pub floor_each: f32,
    /// Below this share of the floor a topic grows sleepy.
    pub sleep_share: f32,
    /// For so many turns in a row before it sleeps.
    pub patience: u32,
    /// To this share the floor is lowered for a deep search.
    pub deep_share: f32,
}

impl Default for ActivationSettings {
    fn default() -> Self {
        Self {
            average_over: 5,
            least: 3,
            usual: 10,
            most: 20,
            floor: 0.2,
            floor_each: 0.03,
            sleep_share: 0.5,
            patience: 3,
            deep_share: 0.5,
        }
    }
}

/// How a topic stood in the last turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trail {
    /// Which topic.
    pub topic: TopicId,
    /// Whether it is awake.
    pub active: bool,
    /// Its last scores, newest last.
    pub scores: Vec<f32>,
    /// For how many turns in a row it has been below the sleep floor.
    pub low: u32,
    /// How many turns ago it was last awake or scored over the floor.
    pub idle: u32,
}

impl Trail {
    /// A topic nothing is known of yet.
    pub fn new(topic: TopicId) -> Self {
        Self { topic, active: false, scores: Vec::new(), low: 0, idle: 0 }
    }

    /// Takes the score of a turn, and counts how long the topic has been low.
    pub(super) fn note(&mut self, settings: &ActivationSettings, score: f32, active: usize) {
        let most = settings.average_over.max(1);
        self.scores.push(score);
        self.scores.drain(..self.scores.len().saturating_sub(most));
        let low = score < floor(settings, active) && average(settings, &self.scores) < sleep_floor(settings, active);
        self.low = if low { self.low.saturating_add(1) } else { 0 };
    }
}

/// Why a topic woke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Its own score rose.
    Score,
    /// The model asked for it.
    Asked,
    /// The person implied that it was forgotten.
    Cue,
    /// Messages were sorted into it.
    Split,
    /// Too few were awake, and it was the best of the sleepers.
    Few,
}

/// Why a topic went to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tired {
    /// It stayed low.
    Low,
    /// Too many were awake, and it was the worst of them.
    Crowded,
}

/// What became of a topic in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Became {
    /// It woke.
    Awake(Why),
    /// It went to sleep.
    Asleep(Tired),
}

/// In words, for people.
impl fmt::Display for Became {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Awake(Why::Score) => "woke by its score",
            Self::Awake(Why::Asked) => "woke, asked for by the model",
            Self::Awake(Why::Cue) => "woke by a cue",
            Self::Awake(Why::Split) => "woke, messages were sorted into it",
            Self::Awake(Why::Few) => "woke, too few were awake",
            Self::Asleep(Tired::Low) => "slept, it stayed low",
            Self::Asleep(Tired::Crowded) => "slept, too many were awake",
        })
    }
}

/// A topic that woke or went to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Which.
    pub topic: TopicId,
    /// The average of its scores at that time.
    pub average: f32,
    /// Which of the two, and why.
    pub became: Became,
}

/// The average of some scores, newest last; the newer weigh more. Nothing for none.
pub fn average(settings: &ActivationSettings, scores: &[f32]) -> f32 {
    let newest = &scores[scores.len().saturating_sub(settings.average_over.max(1))..];
    let weighted = newest.iter().fold((0.0, 0.0, 1.0), |(sum, weights, weight), score| {
        (sum + weight * clamped(*score), weights + weight, weight + 1.0)
    });
    if newest.is_empty() { 0.0 } else { weighted.0 / weighted.1 }
}

/// What a topic must reach to wake while so many are awake.
pub fn floor(settings: &ActivationSettings, active: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^24 topics awake")]
    let active = active.min(settings.most) as f32;
    clamped(settings.floor + settings.floor_each.max(0.0) * active)
}

/// Below this a topic grows sleepy while so many are awake.
pub fn sleep_floor(settings: &ActivationSettings, active: usize) -> f32 {
    clamped(settings.sleep_share) * floor(settings, active)
}

/// How many of the ranking, awake or not, a turn takes while so many are awake: all that may be when few are, as many
/// as there are at the usual number, the very best when it is crowded.
pub fn take(settings: &ActivationSettings, active: usize) -> usize {
    let (least, usual, most) = bounds(settings);
    let between =
        |from: (usize, usize), to: (usize, usize)| from.1 - (from.1 - to.1) * (active - from.0) / (to.0 - from.0);
    match active {
        few if few <= least => {
            if few < usual {
                most
            } else {
                usual
            }
        }
        some if some <= usual => between((least, most), (usual, usual)),
        many if many < most => between((usual, usual), (most, least)),
        _ => least,
    }
}

/// One turn: scores are noted, topics wake and sleep. A topic that is awake and was passed over has scored nothing; one
/// that sleeps and was passed over stays as it is.
pub fn step(
    settings: &ActivationSettings,
    trails: &mut Vec<Trail>,
    scores: &[(TopicId, f32)],
    woken: &[(TopicId, Why)],
) -> Vec<Change> {
    let mut turn = Turn::begin(settings, trails, scores, woken);
    turn.wake_for_their_reason(woken);
    turn.sleep_low();
    turn.wake_by_score();
    turn.sleep_crowded();
    turn.wake_few();
    turn.count_idle();
    turn.changes()
}

/// Between two turns: topics wake for their reasons, and if too many are awake then, the worst sleep.
pub fn wake(settings: &ActivationSettings, trails: &mut Vec<Trail>, woken: &[(TopicId, Why)]) -> Vec<Change> {
    let mut moment = Turn::between(settings, trails, woken);
    moment.wake_for_their_reason(woken);
    moment.sleep_crowded();
    moment.changes()
}

/// Drops the trails of the topics that mattered longest ago, until so many are left. Those awake are all kept.
pub fn forget_idle(trails: &mut Vec<Trail>, most_kept: usize) {
    if trails.len() > most_kept {
        let active = trails.iter().filter(|trail| trail.active).count();
        trails.sort_by_key(|trail| (!trail.active, trail.idle, trail.topic));
        trails.truncate(most_kept.max(active));
        trails.sort_by_key(|trail| trail.topic);
    }
}

/// What a deep search wakes of what it found: more than a turn would, because who implies that we forgot is seldom
/// wrong. Where most are awake already, [`step`] makes room.
pub fn deep(settings: &ActivationSettings, ranked: &[(TopicId, f32)], active: usize) -> Vec<TopicId> {
    let mut found: Vec<(TopicId, f32)> = once_each(ranked).into_iter().collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let relaxed = |place: usize| clamped(settings.deep_share) * floor(settings, active.saturating_add(place));
    let good = found.iter().enumerate().take_while(|(place, (_, score))| *score > 0.0 && *score >= relaxed(*place));
    good.take(take(settings, active)).map(|(_, (topic, _))| *topic).collect()
}

/// Whether a search found several topics that could be meant, and none that clearly is.
pub fn is_ambiguous(ranked: &[(TopicId, f32)]) -> bool {
    let mut scores: Vec<f32> = once_each(ranked).into_values().filter(|score| *score > 0.0).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    matches!(scores[..], [best, second, ..] if best < CLEAR && best - second < CLOSE)
}

/// Each topic once, with its best score, as scores may be.
pub(super) fn once_each(scores: &[(TopicId, f32)]) -> BTreeMap<TopicId, f32> {
    let mut best = BTreeMap::new();
    for (topic, score) in scores {
        let kept = best.entry(*topic).or_insert(0.0_f32);
        *kept = kept.max(clamped(*score));
    }
    best
}

/// A score from 0 to 1; what is no number is nothing.
fn clamped(score: f32) -> f32 {
    if score.is_nan() { 0.0 } else { score.clamp(0.0, 1.0) }
}

/// Least, usual and most, in that order whatever was set.
pub(super) fn bounds(settings: &ActivationSettings) -> (usize, usize, usize) {
    let least = settings.least.min(settings.most);
    (least, settings.usual.clamp(least, settings.most), settings.most)
}

#[cfg(test)]
mod tests;
