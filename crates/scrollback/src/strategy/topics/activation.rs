//! Which topics are awake: decided turn by turn from how much each mattered lately.
//!
//! Waking is generous, sleeping is patient. The more topics are awake, the higher the floor a sleeper must reach and the fewer
//! of the ranking are taken; a topic sleeps only after it stayed low for several turns, or when too many are awake. It comes
//! back by its own score, by being asked for, by a cue that something was forgotten, or when messages are sorted into it.

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

/// How many of the ranking, awake or not, a turn takes while so many are awake: all that may be when few are, as many as
/// there are at the usual number, the very best when it is crowded.
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

/// What a deep search wakes of what it found: more than a turn would, because who implies that we forgot is seldom wrong.
/// Where most are awake already, [`step`] makes room.
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::MessageId;

    fn t(number: u32) -> TopicId {
        TopicId(MessageId(number))
    }

    fn usual() -> ActivationSettings {
        ActivationSettings::default()
    }

    fn awake(trails: &[Trail]) -> usize {
        trails.iter().filter(|trail| trail.active).count()
    }

    fn is_awake(trails: &[Trail], topic: TopicId) -> bool {
        trails.iter().any(|trail| trail.topic == topic && trail.active)
    }

    /// Topics 1 to `count`, awake and scoring high.
    fn busy(count: u32) -> Vec<Trail> {
        let trail = |number| Trail { active: true, scores: vec![0.9; 5], ..Trail::new(t(number)) };
        (1..=count).map(trail).collect()
    }

    /// The same score for topics 1 to `count`.
    fn all(count: u32, score: f32) -> Vec<(TopicId, f32)> {
        (1..=count).map(|number| (t(number), score)).collect()
    }

    #[test]
    fn newer_scores_weigh_more() {
        let check = |scores: &[f32], expected: f32| {
            let average = average(&usual(), scores);
            assert!((average - expected).abs() < 1e-6, "{scores:?}: {average}");
        };
        check(&[], 0.0);
        check(&[0.6], 0.6);
        check(&[0.0, 0.9], 0.6);
        check(&[0.9, 0.0], 0.3);
        check(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.0);
        check(&[f32::NAN, 7.0], 2.0 / 3.0);
    }

    #[test]
    fn floors_rise_with_those_awake() {
        let floors = [0, 3, 10, 20].map(|active| format!("{:.2}", floor(&usual(), active)));
        assert_eq!(floors, ["0.20", "0.29", "0.50", "0.80"]);
        assert!((sleep_floor(&usual(), 10) - 0.25).abs() < 1e-6);
    }

    #[test]
    fn fewer_are_taken_the_more_are_awake() {
        let taken = [0, 3, 5, 8, 10, 12, 15, 18, 20, 99].map(|active| take(&usual(), active));
        assert_eq!(taken, [20, 20, 18, 13, 10, 9, 7, 5, 3, 3]);
    }

    #[test]
    fn how_many_wake_depends_on_how_good_they_are() {
        for (score, expected) in [(0.1, 3), (0.3, 4), (0.5, 11), (0.9, 20)] {
            let mut trails = Vec::new();
            step(&usual(), &mut trails, &all(40, score), &[]);
            assert_eq!(awake(&trails), expected, "{score}");
        }
    }

    #[test]
    fn a_topic_that_stays_low_sleeps_but_not_at_once() {
        let mut trails = busy(6);
        let mut slept = Vec::new();
        for turn in 1..=12 {
            let mut scores = all(5, 0.9);
            scores.push((t(6), 0.0));
            let changes = step(&usual(), &mut trails, &scores, &[]);
            slept.extend(changes.into_iter().map(|change| (turn, change.topic, change.became)));
        }
        // Its average is under the sleep floor after three bad turns, and stays there for two more.
        assert_eq!(slept, [(5, t(6), Became::Asleep(Tired::Low))]);
    }

    #[test]
    fn who_is_passed_over_has_scored_nothing() {
        let mut trails = busy(5);
        trails.push(Trail { scores: vec![0.4], ..Trail::new(t(6)) });
        step(&usual(), &mut trails, &all(4, 0.9), &[]);
        assert_eq!(trails[4].scores.last(), Some(&0.0));
        assert_eq!(trails[5].scores, [0.4]);
    }

    #[test]
    fn there_are_ways_back() {
        for why in [Why::Asked, Why::Cue, Why::Split] {
            let mut trails = busy(10);
            trails.push(Trail { scores: vec![0.0; 5], ..Trail::new(t(11)) });
            let changes = step(&usual(), &mut trails, &all(10, 0.9), &[(t(11), why)]);
            assert_eq!(changes, [Change { topic: t(11), average: 0.0, became: Became::Awake(why) }]);
        }
        let mut trails = busy(10);
        trails.push(Trail { scores: vec![0.0; 5], ..Trail::new(t(11)) });
        let mut woke = Vec::new();
        for turn in 1..=4 {
            let mut scores = all(10, 0.6);
            scores.push((t(11), 1.0));
            woke.extend(step(&usual(), &mut trails, &scores, &[]).iter().map(|change| (turn, change.became)));
        }
        assert_eq!(woke, [(3, Became::Awake(Why::Score))]);
    }

    #[test]
    fn where_most_are_awake_the_worst_makes_room() {
        let mut trails = busy(20);
        let mut scores = all(19, 0.9);
        scores.push((t(20), 0.6));
        let changes = step(&usual(), &mut trails, &scores, &[(t(21), Why::Asked)]);
        let became: Vec<_> = changes.iter().map(|change| (change.topic, change.became)).collect();
        assert_eq!(became, [(t(20), Became::Asleep(Tired::Crowded)), (t(21), Became::Awake(Why::Asked))]);
    }

    #[test]
    fn a_full_house_wakes_nobody_unless_among_the_best() {
        for (score, expected) in [(0.85, false), (0.99, true)] {
            let mut trails = busy(20);
            let mut scores = all(20, 0.9);
            scores.push((t(21), score));
            step(&usual(), &mut trails, &scores, &[]);
            assert_eq!(is_awake(&trails, t(21)), expected, "{score}");
        }
    }

    #[test]
    fn idle_trails_are_dropped_oldest_first() {
        let mut trails = busy(2);
        trails.extend((3..=9).map(|number| Trail { idle: 10 - number, ..Trail::new(t(number)) }));
        forget_idle(&mut trails, 4);
        assert_eq!(trails.iter().map(|trail| trail.topic).collect::<Vec<_>>(), [t(1), t(2), t(8), t(9)]);
        forget_idle(&mut trails, 0);
        assert_eq!(trails.len(), 2);
    }

    #[test]
    fn a_deep_search_wakes_more() {
        let found = [(t(1), 0.3), (t(2), 0.26), (t(3), 0.1), (t(4), f32::NAN)];
        assert_eq!(deep(&usual(), &found, 10), [t(1)]);
        assert_eq!(deep(&usual(), &found, 3), [t(1), t(2)]);
        assert_eq!(deep(&usual(), &all(50, 1.0), 0).len(), 20);
        assert_eq!(deep(&usual(), &all(50, 1.0), 20).len(), 3);
    }

    #[test]
    fn a_search_may_leave_open_what_is_meant() {
        let check = |scores: &[f32], expected: bool| {
            let ranked: Vec<_> = (1..).map(t).zip(scores.iter().copied()).collect();
            assert_eq!(is_ambiguous(&ranked), expected, "{scores:?}");
        };
        check(&[], false);
        check(&[0.4], false);
        check(&[0.4, 0.38], true);
        check(&[0.38, 0.4, 0.37], true);
        check(&[0.4, 0.1], false);
        check(&[0.9, 0.88], false);
        check(&[0.0, 0.0], false);
    }

    type Script = Vec<(Vec<(TopicId, f32)>, Vec<(TopicId, Why)>)>;

    fn scripts() -> impl Strategy<Value = Script> {
        let score = prop_oneof![8 => 0.0..=1.0_f32, 1 => Just(f32::NAN), 1 => Just(-3.0_f32), 1 => Just(9.0_f32)];
        let why = prop_oneof![Just(Why::Asked), Just(Why::Cue), Just(Why::Split)];
        let scores = prop::collection::vec(((1..60_u32).prop_map(t), score), 0..40);
        let woken = prop::collection::vec(((1..60_u32).prop_map(t), why), 0..4);
        prop::collection::vec((scores, woken), 1..30)
    }

    fn any_settings() -> impl Strategy<Value = ActivationSettings> {
        let counts = (0..8_usize, 0..6_usize, 0..14_usize, 0..24_usize);
        let shares = (0.0..0.5_f32, 0.0..0.1_f32, 0.0..1.0_f32, 0..5_u32);
        (counts, shares).prop_map(|((average_over, least, usual, most), (floor, floor_each, sleep_share, patience))| {
            ActivationSettings {
                average_over,
                least,
                usual,
                most,
                floor,
                floor_each,
                sleep_share,
                patience,
                deep_share: 0.5,
            }
        })
    }

    proptest! {
        #[test]
        fn any_story_keeps_the_bounds(settings in any_settings(), script in scripts()) {
            let (mut trails, mut twin) = (Vec::new(), Vec::new());
            for (scores, woken) in script {
                let before = trails.clone();
                let changes = step(&settings, &mut trails, &scores, &woken);
                prop_assert_eq!(&changes, &step(&settings, &mut twin, &scores, &woken));
                prop_assert_eq!(&trails, &twin);
                let (least, _, most) = bounds(&settings);
                prop_assert!(awake(&trails) <= most);
                prop_assert!(awake(&trails) >= least.min(trails.len()));
                let topics: std::collections::BTreeSet<_> = trails.iter().map(|trail| trail.topic).collect();
                prop_assert_eq!(topics.len(), trails.len());
                for trail in &trails {
                    prop_assert!(trail.scores.len() <= settings.average_over.max(1));
                    prop_assert!(trail.scores.iter().all(|score| (0.0..=1.0).contains(score)));
                    let changed = is_awake(&before, trail.topic) != trail.active;
                    let told = changes.iter().filter(|change| change.topic == trail.topic).count();
                    prop_assert_eq!(told, usize::from(changed));
                }
            }
        }

        #[test]
        fn curves_are_monotone(settings in any_settings(), active in 0..30_usize) {
            prop_assert!(take(&settings, active + 1) <= take(&settings, active));
            prop_assert!(floor(&settings, active + 1) >= floor(&settings, active));
            prop_assert!(sleep_floor(&settings, active + 1) >= sleep_floor(&settings, active));
            prop_assert!(sleep_floor(&settings, active) <= floor(&settings, active));
            let (least, _, most) = bounds(&settings);
            prop_assert!((least..=most).contains(&take(&settings, active)));
        }

        #[test]
        fn one_bad_turn_is_forgiven(count in 4..=20_u32, good in 0.0..=1.0_f32, script in scripts()) {
            let mut trails = busy(count);
            for (scores, _) in script {
                let scores: Vec<_> = scores.into_iter().filter(|(topic, _)| *topic <= t(count)).collect();
                step(&usual(), &mut trails, &scores, &[]);
            }
            step(&usual(), &mut trails, &all(count, good.max(floor(&usual(), 20))), &[]);
            let before = awake(&trails);
            let changes = step(&usual(), &mut trails, &all(count, 0.0), &[]);
            prop_assert!(changes.is_empty(), "{:?}", changes);
            prop_assert_eq!(awake(&trails), before);
        }

        #[test]
        fn what_stays_low_sleeps(count in 3..=20_u32, score in 0.0..0.1_f32) {
            let mut trails = busy(count);
            (0..40).for_each(|_| { step(&usual(), &mut trails, &all(count, score), &[]); });
            prop_assert_eq!(awake(&trails), 3);
        }

        #[test]
        fn a_sleeper_comes_back_when_asked_for(script in scripts(), topic in 1..60_u32) {
            let mut trails = Vec::new();
            for (scores, woken) in script {
                step(&usual(), &mut trails, &scores, &woken);
            }
            for why in [Why::Asked, Why::Cue] {
                let mut trails = trails.clone();
                step(&usual(), &mut trails, &[], &[(t(topic), why)]);
                prop_assert!(is_awake(&trails, t(topic)));
            }
            (0..6).for_each(|_| { step(&usual(), &mut trails, &[(t(topic), 1.0)], &[]); });
            prop_assert!(is_awake(&trails, t(topic)));
        }
    }
}
