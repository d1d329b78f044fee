//! Topics that wake, sleep and stay.

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
