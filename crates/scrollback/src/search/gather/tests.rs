//! What is worth most holds what answers.

use super::*;

fn said<'a>(place: u64, name: Option<&'a str>, text: &'a str) -> Said<'a> {
    let tokens = u32::try_from(text.split_whitespace().count()).unwrap() + 4;
    Said { place, at: Some(At(0)), voice: Voice::Person, name, text, tokens }
}

/// The places of so many of the worthiest in a small log in which every message is a lead, in order.
fn best(question: &str, log: &[Said<'_>], count: usize) -> Vec<u64> {
    let question = Question::read(question);
    let leads: Vec<Lead> = log.iter().map(|said| Lead::read(&question, *said)).collect();
    let holds = |term: usize| leads.iter().filter(|lead| lead.counts.terms[term] > 0.0 || lead.named[term]).count();
    let frequencies = (0..question.terms().len()).map(|term| u32::try_from(holds(term)).unwrap()).collect();
    let known = Known { frequencies, total: log.len() as u64 };
    let mut places: Vec<u64> =
        ranked(&question, &known, leads).into_iter().map(|(place, _)| place).take(count).collect();
    places.sort_unstable();
    places
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
    assert_eq!(best("What had the plumber to replace in the boiler?", &talk(), 1), [4]);
}

#[test]
fn an_answer_comes_with_its_question() {
    let found = best("Which instrument do I play?", &talk(), 2);
    assert!(found.contains(&1) && found.contains(&2), "{found:?}");
}

#[test]
fn where_no_word_is_known_meaning_decides() {
    let question = Question::read("Who mended our heating?");
    let near = |lead: Lead| if lead.place == 5 { lead.with_near(1.0) } else { lead };
    let leads = talk().into_iter().map(|said| near(Lead::read(&question, said))).collect();
    let known = Known { frequencies: vec![0; question.terms().len()], total: 8 };
    assert_eq!(ranked(&question, &known, leads)[0].0, 5);
}

#[test]
fn a_name_means_who_speaks_rather_than_who_is_spoken_to() {
    let log = [
        said(0, Some("Ben"), "Hi Ann, I went hiking."),
        said(9, Some("Ann"), "I went hiking."),
        said(18, Some("Cid"), "Nice."),
    ];
    assert_eq!(best("When did Ann go hiking?", &log, 1), [9]);
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
    assert_eq!(best("What is my budget?", &log, 2), [0, 2]);
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
fn no_more_is_read_than_allowed() {
    let question = Question::read("boiler");
    let many = u64::try_from(READ - 20).unwrap();
    let leads: Vec<Lead> = (0..many).map(|i| Lead::read(&question, said(i * 10_000, None, "the boiler"))).collect();
    let known = Known { frequencies: vec![480], total: 5_000_000 };
    let places = beside(&question, &known, &leads);
    assert_eq!(places.len(), 20);
    assert!(places.iter().all(|place| place.abs_diff((many - 1) * 10_000) <= FAR), "{places:?}");
}

#[test]
fn the_middle_of_a_long_text_is_not_read() {
    let question = Question::read("boiler");
    let counted = |before: usize, after: usize| {
        question_counts(&question, &format!("{}boiler{}", "é ".repeat(before), " é".repeat(after)))
    };
    let (head, tail) = (HEAD_CHARS / 2, TAIL_CHARS / 2);
    assert_eq!((counted(head - 10, 9_000), counted(head, 9_000)), (1.0, 0.0));
    assert_eq!((counted(9_000, tail - 10), counted(9_000, tail)), (1.0, 0.0));
    assert_eq!((counted(head, tail - 10), counted(head, 0)), (1.0, 1.0), "nothing is read twice");
}

#[test]
fn what_is_asked_after_a_long_paste_is_read() {
    let config = "port: 8000\n".repeat(900);
    let pasted = format!("It fails:\n```yaml\n{config}```\nThe gateway times out after 17 seconds. Why?");
    let log = [said(0, None, &pasted), said(40, None, "The gateway has a new door.")];
    let log = log.map(|said| Said { tokens: 900, ..said });
    assert_eq!(best("After how many seconds did the gateway time out?", &log, 1), [0]);
    let question = Question::read("seconds");
    let length = Lead::read(&question, log[0]).counts.length;
    assert!(length < 20.0, "the end is not taken for code: {length}");
}

fn question_counts(question: &Question, text: &str) -> f64 {
    Lead::read(question, said(0, None, text)).counts.terms[0]
}

#[test]
fn words_that_stand_together_count_where_they_do_again() {
    let log = [
        said(0, None, "Object detection is slow on every old phone."),
        said(40, None, "Detection is slow on every old phone object."),
    ];
    assert_eq!(best("How slow was object detection?", &log, 1), [0]);
}

#[test]
fn who_asks_how_it_began_gets_the_oldest() {
    let log: Vec<Said<'_>> = (0..4).map(|i| said(i * 10_000, None, "My garden plan has roses.")).collect();
    assert_eq!(best("What was my first garden plan?", &log, 1), [0]);
    assert_eq!(best("What was my garden plan?", &log, 1), [30_000]);
}

#[test]
fn what_a_model_said_is_asked_for_in_many_words() {
    for question in [
        "Which guesthouse did you find?",
        "Remind me of the podcast you recommended.",
        "What was the fourth plant you listed?",
        "你上次推荐的火锅店叫什么？",
        "您之前说的是哪一本？",
        "你提到的那首诗是谁写的？",
    ] {
        assert!(Question::read(question).asks_model, "{question}");
    }
    for question in [
        "Can you suggest a dinner?",
        "Which phone would you recommend?",
        "What did I say?",
        "你推荐哪个牌子？",
        "我跟你说过我对什么过敏？",
        "我给您推荐的书叫什么？",
        "我告诉你之前住在哪里？",
    ] {
        assert!(!Question::read(question).asks_model, "{question}");
    }
}

#[test]
fn code_that_a_person_shows_does_not_make_their_words_weigh_less() {
    let (code, prose) = ("alpha beta ".repeat(60), "gamma delta ".repeat(60));
    let shown = format!("The scheduler fails. ``` {code}```");
    let told = format!("The scheduler fails. {prose}");
    let tokens = 140;
    let log = [Said { tokens, ..said(0, None, &shown) }, Said { tokens, ..said(40, None, &told) }];
    assert_eq!(best("Why does the scheduler fail?", &log, 1), [0]);
    let of_models = log.map(|said| Said { voice: Voice::Model, ..said });
    assert_eq!(best("Why does the scheduler fail?", &of_models, 1), [40]);
}

#[test]
fn what_stands_beside_a_pasted_log_is_not_the_answer() {
    let log = "invoice boiler repair francs total\n".repeat(40);
    let pasted = format!("Here is the file:\n```\n{log}```\n");
    let paste = |place| Said { tokens: 300, ..said(place, None, &pasted) };
    let ship = |place| said(place, None, "Ship nine came in at dusk and left with many crates.");
    let talk = [
        said(0, None, "By the way the invoice for the boiler repair was 412 francs."),
        ship(100),
        ship(101),
        paste(102),
        ship(103),
        ship(104),
        ship(105),
        paste(106),
        ship(107),
    ];
    assert_eq!(best("How many francs was the invoice for the boiler repair?", &talk, 3), [0, 102, 106]);
}

#[test]
fn what_few_tell_of_has_its_turn() {
    let one = |term: usize| {
        let mut held = vec![0.0; 2];
        held[term] = 1.0;
        cover::Worth { held, rest: 0.0, standing: 1.0, apart: 0.0 }
    };
    let order = cover::order(&[one(0), one(0), one(0), one(1)], &[1.0, 0.95]);
    assert_eq!(order.iter().map(|(lead, _)| *lead).collect::<Vec<_>>(), [2, 1, 3, 0]);
    assert!(order.is_sorted_by(|a, b| a.1 >= b.1), "{order:?}");
}

#[test]
fn all_leads_are_ranked_the_worthiest_first() {
    let question = Question::read("What had the plumber to replace in the boiler?");
    let leads: Vec<Lead> = talk().into_iter().map(|said| Lead::read(&question, said)).collect();
    let known = Known { frequencies: vec![1; question.terms().len()], total: 8 };
    let ranked = ranked(&question, &known, leads);
    assert_eq!((ranked.len(), ranked[0].0), (TALK.len(), 4));
    assert!(ranked.is_sorted_by(|a, b| a.1 >= b.1), "{ranked:?}");
}

#[test]
fn words_to_ask_with_count_less_than_what_is_asked_about() {
    let log = [said(0, None, "Please describe more."), said(40, None, "The harbour was calm.")];
    assert_eq!(best("Please describe the harbour.", &log[..], 1), [40]);
    let log = [said(0, None, "The harbour was calm."), said(40, None, "Please describe more.")];
    assert_eq!(best("Please describe the harbour.", &log[..], 1), [0]);
}

#[test]
fn nothing_asked_and_nothing_said() {
    assert!(best("", &[], 9).is_empty());
    assert_eq!(best("?!", &talk(), 9).len(), TALK.len());
}
