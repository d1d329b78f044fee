//! What is gathered fits, is the same every time, and holds what answers.

use proptest::prelude::*;

use super::*;

fn said<'a>(place: u64, name: Option<&'a str>, text: &'a str) -> Said<'a> {
    let tokens = u32::try_from(text.split_whitespace().count()).unwrap() + 4;
    Said { place, at: Some(At(0)), voice: Voice::Person, name, text, tokens }
}

/// Gathers from a small log in which every message is a lead.
fn gathered(question: &str, log: &[Said<'_>], room: u32) -> Vec<u64> {
    let question = Question::read(question);
    let leads: Vec<Lead> = log.iter().map(|said| Lead::read(&question, *said)).collect();
    let holds = |term: usize| leads.iter().filter(|lead| lead.counts[term] > 0.0 || lead.named[term]).count();
    let frequencies = (0..question.terms().len()).map(|term| u32::try_from(holds(term)).unwrap()).collect();
    let known = Known { frequencies, total: log.len() as u64 };
    gather(&question, &known, leads, Room { tokens: room, day_tokens: 6 })
}

const TALK: [&str; 8] = [
    "Good morning, how was the weekend?",
    "Which instrument did you take up in the end?",
    "The cello. My first lesson was on Saturday.",
    "Lovely, tell me how it goes.",
    "Did the plumber come about the boiler?",
    "He did, a valve had to be replaced.",
    "The train to Leeds was late again.",
    "It always is when it rains.",
];

fn talk() -> Vec<Said<'static>> {
    TALK.iter().zip(0..).map(|(text, place)| said(place, None, text)).collect()
}

#[test]
fn what_holds_the_words_comes_first() {
    assert_eq!(gathered("What had the plumber to replace in the boiler?", &talk(), 24), [4]);
}

#[test]
fn an_answer_comes_with_its_question() {
    let found = gathered("Which instrument do I play?", &talk(), 40);
    assert!(found.contains(&1) && found.contains(&2), "{found:?}");
}

#[test]
fn a_name_means_who_speaks_rather_than_who_is_spoken_to() {
    let log = [
        said(0, Some("Ben"), "Hi Ann, I went hiking."),
        said(9, Some("Ann"), "I went hiking."),
        said(18, Some("Cid"), "Nice."),
    ];
    assert_eq!(gathered("When did Ann go hiking?", &log, 17), [9]);
}

#[test]
fn a_long_reply_does_not_crowd_out_what_a_person_said() {
    let reply = format!(
        "{} The budget has many parts. {}",
        "Budgets can be planned well. ".repeat(60),
        "Keep a table. ".repeat(60)
    );
    let mut log = vec![said(0, None, "My budget is 900 francs."), said(2, None, "We leave in May, the budget stays.")];
    log.insert(1, Said { voice: Voice::Model, ..said(1, None, &reply) });
    let room = log[0].tokens + log[2].tokens + 6;
    assert_eq!(gathered("What is my budget?", &log, room.max(log[1].tokens)), [0, 2]);
}

#[test]
fn neighbours_of_the_best_are_asked_for() {
    let question = Question::read("boiler");
    let leads = vec![Lead::read(&question, said(6, None, "the boiler"))];
    let known = Known { frequencies: vec![1], total: 9 };
    let places: Vec<u64> = (0..=22).filter(|place| *place != 6).collect();
    assert_eq!(beside(&question, &known, &leads), places);
}

#[test]
fn nothing_asked_and_nothing_said() {
    assert!(gathered("", &[], 100).is_empty());
    assert_eq!(gathered("?!", &talk(), 1_000).len(), TALK.len());
}

proptest! {
    #[test]
    fn windows_hold_what_fits_in_the_order_of_the_log(
        log in proptest::collection::vec((0u64..60, 0i64..5, "[a-d ]{0,30}", 1u32..60), 0..40),
        question in "[a-d ]{0,12}",
        room in 0u32..300,
    ) {
        let say = |(place, day, text, tokens): &(u64, i64, String, u32)| {
            let at = Some(At(day * 24 * 3600 * 1_000_000));
            Lead::read(&Question::read(&question), Said { place: *place, at, voice: Voice::Person, name: None, text, tokens: *tokens })
        };
        let asked = Question::read(&question);
        let known = Known { frequencies: vec![1; asked.terms().len()], total: 60 };
        let room = Room { tokens: room, day_tokens: 6 };
        let leads: Vec<Lead> = log.iter().map(say).collect();
        let places = gather(&asked, &known, leads.clone(), room);
        prop_assert!(places.is_sorted_by(|a, b| a < b));
        prop_assert_eq!(&places, &gather(&asked, &known, leads.clone(), room));
        let chosen: Vec<&Lead> = places.iter().filter_map(|place| leads.iter().find(|lead| lead.place == *place)).collect();
        let days: Vec<_> = chosen.iter().map(|lead| lead.at).collect();
        let lines = days.windows(2).filter(|pair| pair[0] != pair[1]).count() + usize::from(!days.is_empty());
        let cost = chosen.iter().map(|lead| lead.tokens).sum::<u32>() + 6 * u32::try_from(lines).unwrap();
        prop_assert!(cost <= room.tokens);
    }
}
