//! One turn of activation, while it is decided.
//!
//! The order matters: what was asked for wakes first, what stayed low makes room, then sleepers wake by their scores;
//! who is too many sleeps again, and where too few are awake the best sleepers are. Only what differs in the end is a
//! change.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::activation::{
    ActivationSettings, Became, Change, Tired, Trail, Why, average, bounds, floor, once_each, take,
};
use crate::topic::TopicId;

/// A turn while it is decided.
pub(super) struct Turn<'a> {
    settings: &'a ActivationSettings,
    trails: &'a mut Vec<Trail>,
    scores: BTreeMap<TopicId, f32>,
    /// The places of the trails, best first, of all that are awake or were asked.
    ranking: Vec<usize>,
    averages: Vec<f32>,
    before: Vec<bool>,
    protected: BTreeSet<TopicId>,
    reasons: BTreeMap<TopicId, Became>,
}

impl<'a> Turn<'a> {
    pub(super) fn begin(
        settings: &'a ActivationSettings,
        trails: &'a mut Vec<Trail>,
        scores: &[(TopicId, f32)],
        woken: &[(TopicId, Why)],
    ) -> Self {
        let scores = once_each(scores);
        meet(trails, scores.keys().copied());
        let active = trails.iter().filter(|trail| trail.active).count();
        for trail in trails.iter_mut() {
            match scores.get(&trail.topic) {
                Some(score) => trail.note(settings, *score, active),
                None if trail.active => trail.note(settings, 0.0, active),
                None => {}
            }
        }
        Self { scores, ..Self::between(settings, trails, woken) }
    }

    /// No turn, but a moment between two: nothing was scored.
    pub(super) fn between(
        settings: &'a ActivationSettings,
        trails: &'a mut Vec<Trail>,
        woken: &[(TopicId, Why)],
    ) -> Self {
        meet(trails, woken.iter().map(|(topic, _)| *topic));
        let before: Vec<bool> = trails.iter().map(|trail| trail.active).collect();
        let averages: Vec<f32> = trails.iter().map(|trail| average(settings, &trail.scores)).collect();
        let mut ranking: Vec<usize> = (0..trails.len()).collect();
        ranking.sort_by(|a, b| better((&trails[*a], averages[*a]), (&trails[*b], averages[*b])));
        Self {
            settings,
            trails,
            scores: BTreeMap::new(),
            ranking,
            averages,
            before,
            protected: BTreeSet::new(),
            reasons: BTreeMap::new(),
        }
    }

    fn active(&self) -> usize {
        self.trails.iter().filter(|trail| trail.active).count()
    }

    fn wake(&mut self, place: usize, why: Why) {
        let trail = &mut self.trails[place];
        (trail.active, trail.low) = (true, 0);
        self.reasons.insert(trail.topic, Became::Awake(why));
    }

    fn sleep(&mut self, place: usize, why: Tired) {
        self.trails[place].active = false;
        self.reasons.insert(self.trails[place].topic, Became::Asleep(why));
    }

    pub(super) fn wake_for_their_reason(&mut self, woken: &[(TopicId, Why)]) {
        for (topic, why) in woken {
            let place = self.trails.iter().position(|trail| trail.topic == *topic);
            if self.protected.insert(*topic) {
                self.wake(place.expect("every topic of the turn has a trail"), *why);
            }
        }
    }

    pub(super) fn sleep_low(&mut self) {
        let patience = self.settings.patience.max(1);
        let mut spare = self.active().saturating_sub(bounds(self.settings).0);
        for place in self.ranking.clone().into_iter().rev() {
            if spare > 0 && self.trails[place].active && self.trails[place].low >= patience {
                self.sleep(place, Tired::Low);
                spare -= 1;
            }
        }
    }

    /// Sleepers that were asked this turn wake if they reach the floor, which rises with each, and are among those
    /// taken.
    pub(super) fn wake_by_score(&mut self) {
        let mut active = self.active();
        let in_question =
            |place: &usize| self.trails[*place].active || self.scores.contains_key(&self.trails[*place].topic);
        let ranked: Vec<usize> = self.ranking.iter().copied().filter(in_question).collect();
        for place in ranked.into_iter().take(take(self.settings, active)) {
            let slept = !self.before[place] && !self.trails[place].active;
            if slept && self.averages[place] >= floor(self.settings, active) {
                self.wake(place, Why::Score);
                active += 1;
            }
        }
    }

    /// The worst sleep until no more than may be are awake; those woken for a reason come last.
    pub(super) fn sleep_crowded(&mut self) {
        let awake = self.ranking.iter().rev().copied().filter(|place| self.trails[*place].active);
        let (last, first): (Vec<usize>, Vec<usize>) =
            awake.partition(|place| self.protected.contains(&self.trails[*place].topic));
        let excess = (first.len() + last.len()).saturating_sub(bounds(self.settings).2);
        first.into_iter().chain(last).take(excess).for_each(|place| self.sleep(place, Tired::Crowded));
    }

    /// The best sleepers wake until as many as must be are awake.
    pub(super) fn wake_few(&mut self) {
        let missing = bounds(self.settings).0.saturating_sub(self.active());
        let asleep: Vec<usize> = self.ranking.iter().copied().filter(|place| !self.trails[*place].active).collect();
        asleep.into_iter().take(missing).for_each(|place| self.wake(place, Why::Few));
    }

    /// Counts who was idle.
    pub(super) fn count_idle(&mut self) {
        let floor = floor(self.settings, self.active());
        for trail in self.trails.iter_mut() {
            let mattered = trail.active || self.scores.get(&trail.topic).is_some_and(|score| *score >= floor);
            trail.idle = if mattered { 0 } else { trail.idle.saturating_add(1) };
        }
    }

    /// What is different from before.
    pub(super) fn changes(self) -> Vec<Change> {
        let changed = self.ranking.iter().filter(|place| self.trails[**place].active != self.before[**place]);
        let change = |place: &usize| {
            let topic = self.trails[*place].topic;
            let became = *self.reasons.get(&topic)?;
            Some(Change { topic, average: self.averages[*place], became })
        };
        changed.filter_map(change).collect()
    }
}

/// Adds trails for topics that have none.
fn meet(trails: &mut Vec<Trail>, topics: impl Iterator<Item = TopicId>) {
    let mut known: BTreeSet<TopicId> = trails.iter().map(|trail| trail.topic).collect();
    trails.extend(topics.filter(|topic| known.insert(*topic)).map(Trail::new));
}

/// Better first: by average, then by the newest score, then the older topic.
fn better(a: (&Trail, f32), b: (&Trail, f32)) -> Ordering {
    let newest = |trail: &Trail| trail.scores.last().copied().unwrap_or(0.0);
    b.1.total_cmp(&a.1).then_with(|| newest(b.0).total_cmp(&newest(a.0))).then_with(|| a.0.topic.cmp(&b.0.topic))
}
