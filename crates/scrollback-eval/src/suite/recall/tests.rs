//! Tests of the suite: which methods are measured, and what their windows hold.

use scrollback::engine::EngineSettings;
use scrollback::search::gather::Voice;

use super::*;
use crate::dataset::recall::{Asked, Said};
use crate::window::{line_tokens, tokens};

fn talk() -> Talk {
    let say = |(place, text): (usize, &str)| {
        let tokens = line_tokens(place, "user", text);
        let (speaker, text) = ("user".to_owned(), text.to_owned());
        Said {
            voice: Voice::Person,
            is_reply: false,
            speaker,
            is_named: false,
            at: None,
            session: place / 2,
            text,
            tokens,
        }
    };
    let texts = ["My cello is from Mirecourt.", "It is old.", "The boiler leaks.", "A valve is broken.", "It rains."];
    let asked = |text: &str, place| Asked {
        kind: "fact".into(),
        text: text.into(),
        evidence: vec![place],
        answer: None,
        at: None,
    };
    let questions = vec![asked("Where is my cello from?", 0), asked("What is wrong with the boiler?", 2)];
    Talk { messages: texts.into_iter().enumerate().map(say).collect(), questions }
}

#[test]
fn every_method_is_measured_and_ours_comes_last() {
    let dataset = Dataset { name: "small".into(), talks: vec![talk()], ..Dataset::default() };
    let (settings, mut taken) = (EngineSettings::default(), 0);
    let with = With { settings: &settings, embedding: None };
    let wanted: (&[StrategyName], &[u32]) = (&[StrategyName::Topics], &[20, 2_000]);
    let measured = measure(&dataset, &with, wanted, || taken += 1).unwrap();
    assert_eq!((measured.questions, measured.conversations), (2, 1));
    assert_eq!(taken, steps(&dataset, &with, wanted));
    let last = measured.results.last().unwrap();
    assert_eq!((last.method, last.ours, last.sizes[1].all), ("topics", true, 1.0));
    assert_eq!(last.kinds["fact"].len(), 2);
}

#[test]
fn baselines_are_not_ours_and_what_keeps_to_no_size_is_a_bound() {
    let dataset = Dataset { name: "small".into(), talks: vec![talk()], ..Dataset::default() };
    let settings = EngineSettings::default();
    let with = With { settings: &settings, embedding: None };
    let strategies = [StrategyName::Passthrough, StrategyName::Truncate, StrategyName::Topics];
    let measured = measure(&dataset, &with, (&strategies, &[20]), || ()).unwrap();
    let told = |result: &Result| (result.method, result.ours, result.limit);
    let told: Vec<_> = measured.results.iter().rev().take(4).map(told).collect();
    let expected = [("topics", true, false), ("truncate", false, false), ("passthrough", false, true)];
    assert_eq!((&told[..3], told[3]), (&expected[..], ("oracle", false, true)));
    assert!((measured.results[10].sizes[0].all - 1.0).abs() < 1e-9, "it shows everything");
}

#[test]
fn windows_of_baselines_stay_within_their_room() {
    let talk = talk();
    let index = Index::of(&talk);
    let (settings, near) = (EngineSettings::default(), Meanings::known(vec![vec![0.5; 5]; 2]));
    let with = With { settings: &settings, embedding: None };
    for method in Method::all(&[], true) {
        for windows in method.windows((&talk, &index), (&with, Some(&near)), &[10, 25]).unwrap() {
            assert!(windows.iter().all(|window| tokens(&talk.messages, window) <= 25), "{}", method.name());
        }
    }
}

fn of_topics(talk: &Talk, rooms: &[u32]) -> Windows {
    let settings = EngineSettings::default();
    let with = With { settings: &settings, embedding: None };
    Method::Engine(StrategyName::Topics).windows((talk, &Index::of(talk)), (&with, None), rooms).unwrap()
}

/// A long talk folds many times; what is asked about its beginning is quoted in a small window, and costs what it
/// may.
#[test]
fn what_was_said_long_ago_is_quoted() {
    let mut long = talk();
    for i in 0..400 {
        let (speaker, text) = ("user".to_owned(), format!("Ship {i} came in at dusk and left with {} crates.", i * 7));
        let tokens = line_tokens(long.messages.len(), &speaker, &text);
        long.messages.push(Said { speaker, text, tokens, ..long.messages[0].clone() });
    }
    for (asked, windows) in long.questions.iter().zip(of_topics(&long, &[1_000])) {
        assert!(windows[0].contains(&asked.evidence[0]) && windows[0].len() < 60, "{windows:?}");
    }
}

/// A log that somebody pasted has every word of the question, and is larger than the window.
#[test]
fn what_is_too_large_to_be_quoted_hides_nothing() {
    let mut long = talk();
    let say = |long: &mut Talk, text: String| {
        let tokens = line_tokens(long.messages.len(), "user", &text);
        long.messages.push(Said { text, tokens, ..long.messages[0].clone() });
    };
    say(&mut long, "For the gateway we take the plan of Bruno.".into());
    for i in 0..200 {
        if i == 100 {
            let log = "payment gateway timeouts decide plan take retry\n".repeat(300);
            say(&mut long, format!("Timeouts of the payment gateway:\n```\n{log}```\n"));
        }
        say(&mut long, format!("Ship {i} came in at dusk and left with {} crates.", i * 7));
    }
    long.questions.truncate(1);
    long.questions[0].text =
        "What did we decide about the payment timeouts of the gateway, whose plan do we take?".into();
    assert!(of_topics(&long, &[1_000])[0][0].contains(&5));
}

#[test]
fn a_window_is_the_same_whatever_sizes_are_measured_beside_it() {
    let mut varied = talk();
    for i in 0..200 {
        let text = match i / 40 % 3 {
            0 => format!("Should buoy {i} be painted red, or does the harbour master prefer green? "),
            1 => format!("Violin pupil {i} practised scales and a sonata by Corelli. "),
            _ => format!("Loaf {i}: rye flour, a sour dough and {} minutes in the oven. ", i * 7),
        };
        let (speaker, text) = (["Ann", "Bob"][i % 2].to_owned(), text.repeat(3));
        let tokens = line_tokens(varied.messages.len(), &speaker, &text);
        varied.messages.push(Said { speaker, is_named: true, text, tokens, ..varied.messages[0].clone() });
    }
    varied.questions[0].text = "Which loaf had rye flour and a sour dough, and how long was it in the oven?".into();
    varied.questions[1].text = "Which violin pupil practised which sonata, and how should the buoy be painted?".into();
    let rooms = [1_000, 2_000];
    let alone = rooms.map(|room| of_topics(&varied, &[room]));
    for (question, windows) in of_topics(&varied, &rooms).into_iter().enumerate() {
        assert_eq!(windows, alone.each_ref().map(|alone| alone[question][0].clone()));
    }
}

/// What others ask about makes no word a common one.
#[test]
fn a_window_is_the_same_whatever_was_asked_before() {
    let mut alone = talk();
    for i in 0..120 {
        let text = match i % 40 {
            7 => format!("A kestrel sat on chimney {i} for half of the day, and nobody knew why it had come."),
            _ => format!("In the harbour ship {i} took {} crates aboard, and left at dusk.", i * 7),
        };
        let (speaker, tokens) = ("user".to_owned(), line_tokens(alone.messages.len(), "user", &text));
        alone.messages.push(Said { speaker, text, tokens, ..alone.messages[0].clone() });
    }
    let asked = |text: &str| Asked { text: text.into(), ..alone.questions[0].clone() };
    let last = asked("Which ship in the harbour had a kestrel?");
    let mut questions: Vec<Asked> = (0..300).map(|i| asked(&format!("Was kestrel {i} a kestrel?"))).collect();
    questions.push(last.clone());
    let ask = |questions: Vec<Asked>| of_topics(&Talk { questions, ..alone.clone() }, &[700]).pop();
    assert_eq!(ask(questions), ask(vec![last]));
}
