//! The review of topics: what is summed up, merged, archived, and how what is archived is found again.

use std::sync::Arc;

use async_trait::async_trait;
use scrollback::engine::{Event, Fate, ReviewMode, ReviewReport, TopicLine, TopicState};
use scrollback::recall::RecallCall;
use scrollback::store::{Position, Span};
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::topic::TopicId;
use scrollback::{At, Error, MemoryStore, Store};
use serde_json::Value;

use super::desk::{Desk, contents, run, settings, texts};
use super::kit::{assistant, user};
use super::reach::recall;

const DAY: i64 = 86_400_000_000;

/// A helper that sorts by telling words and can do nothing else; what it calls the first subject.
struct Sorter(&'static str);

const SUBJECTS: [(&str, &str); 3] = [("Sourdough", "sourdough"), ("Linker errors", "gauge"), ("Visa", "visa")];

#[async_trait]
impl Model for Sorter {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        if question.task != "split" {
            return Err(Error::NotFound("it only sorts".into()));
        }
        let told: Vec<(&str, String)> = question
            .text
            .split("<message-")
            .skip(1)
            .filter_map(|message| {
                let id = message.split("id=\"").nth(1)?.split('"').next()?;
                Some((id, message.to_lowercase()))
            })
            .collect();
        let topic = |(name, word): &(&str, &str)| {
            let ids: Vec<&str> = told.iter().filter(|(_, text)| text.contains(word)).map(|(id, _)| *id).collect();
            let name = if *word == "sourdough" { self.0 } else { name };
            let brief = format!("All that was said of {word}.");
            (!ids.is_empty()).then(|| format!("<topic new=\"{name}\">{}<brief>{brief}</brief></topic>", ids.join(" ")))
        };
        let topics: String = SUBJECTS.iter().filter_map(topic).collect();
        let text = format!("<split>{topics}</split>");
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

pub fn desk_over(store: Arc<dyn Store>) -> Desk {
    desk_naming(store, SUBJECTS[0].0)
}

/// The same, where the first subject has another name.
pub fn desk_naming(store: Arc<dyn Store>, name: &'static str) -> Desk {
    let mut settings = settings(StrategyName::Topics);
    let topics = &mut settings.strategies.topics;
    topics.keep_messages = 4;
    (topics.activation.least, topics.activation.patience) = (1, 1);
    let tasks = Tasks::new(Arc::new(Sorter(name)), TaskSettings { breaker_after: u32::MAX, ..TaskSettings::default() });
    Desk::with_tasks(store, settings, 2_400, tasks)
}

pub fn desk() -> Desk {
    desk_over(Arc::new(MemoryStore::default()))
}

/// What can be said of three subjects that share no word.
pub const SOURDOUGH: [&str; 6] = [
    "How often should a rye sourdough starter be fed?",
    "My sourdough starter smells like acetone; is the rye flour stale?",
    "Can the rye sourdough starter stay in a cold fridge overnight?",
    "Which flour makes a sourdough starter rise faster, rye or spelt?",
    "Does a sourdough starter need sugar besides rye flour?",
    "When is a rye sourdough starter ripe enough for baking?",
];
pub const GAUGE: [&str; 6] = [
    "Linker errors: undefined symbol tide_gauge_open; why?",
    "Linker flags -lgauge vanish whenever cmake builds tide_gauge.",
    "Undefined symbol tide_gauge_read again after cmake reconfigure.",
    "Cmake finds libgauge.so yet linker prints undefined symbol.",
    "Linker order: must -lgauge follow tide_gauge objects?",
    "Cmake target tide_gauge links libgauge twice, linker warns.",
];
pub const VISA: [&str; 6] = [
    "Embassy wants passport photos with visa forms; what size?",
    "Visa appointment moved; embassy closed Friday.",
    "Passport expires soon, would embassy refuse my visa?",
    "Embassy fee: pay visa charges by card?",
    "Passport pickup: does embassy mail visas home?",
    "Visa interview questions embassy officers ask?",
];

/// Talks about a subject for some turns.
pub async fn talk(desk: &mut Desk, history: &mut Vec<Value>, subject: &[&str], turns: usize) {
    for i in 0..turns {
        let (question, answer) = (subject[i % subject.len()], subject[(i + 1) % subject.len()]);
        desk.turn(history, user(question), assistant(&format!("{answer} ").repeat(6))).await;
    }
}

/// A conversation about three things, folded and sorted.
pub async fn three_things(desk: &mut Desk) -> Vec<Value> {
    let mut history = Vec::new();
    three_more(desk, &mut history).await;
    history
}

/// The same after what was said before.
pub async fn three_more(desk: &mut Desk, history: &mut Vec<Value>) {
    talk(desk, history, &SOURDOUGH, 6).await;
    talk(desk, history, &GAUGE, 6).await;
    talk(desk, history, &VISA, 8).await;
}

pub async fn head(desk: &Desk) -> Position {
    desk.store.read(&desk.session(), Span::Last).await.unwrap().pop().unwrap().position().unwrap()
}

pub async fn topics(desk: &Desk) -> Vec<TopicLine> {
    desk.engine.topics(&desk.session(), head(desk).await).await.unwrap()
}

pub async fn review(desk: &Desk, day: i64, mode: ReviewMode) -> ReviewReport {
    desk.engine.review(&desk.session(), head(desk).await, At(day * DAY), mode).await.unwrap()
}

async fn count(desk: &Desk, is_it: fn(&Event) -> bool) -> usize {
    desk.engine.events(&desk.session()).await.unwrap().iter().filter(|(_, event)| is_it(event)).count()
}

#[test]
fn what_was_added_to_is_summed_up_once() {
    run(async {
        let mut desk = desk();
        let mut history = three_things(&mut desk).await;
        let before = topics(&desk).await;
        assert!(before.len() >= 2 && before.iter().all(|topic| topic.summary.is_empty()), "{before:?}");
        let dry = review(&desk, 1, ReviewMode::Dry).await;
        assert_eq!(topics(&desk).await, before, "a dry review wrote");
        assert_eq!(review(&desk, 1, ReviewMode::Do).await, dry);
        assert_eq!(dry.verdicts.len(), before.len());
        let after = topics(&desk).await;
        assert!(after.iter().all(|topic| !topic.summary.is_empty() && topic.importance.is_some()), "{after:?}");
        assert_eq!(count(&desk, |event| matches!(event, Event::Reviewed { .. })).await, before.len());
        assert_eq!(review(&desk, 2, ReviewMode::Do).await.verdicts, [], "nothing was added since");
        talk(&mut desk, &mut history, &VISA, 16).await;
        assert!(!review(&desk, 3, ReviewMode::Do).await.verdicts.is_empty());
    });
}

/// The topics, each as its state and its name.
fn states(topics: &[TopicLine]) -> Vec<(TopicState, &str)> {
    topics.iter().map(|topic| (topic.state, topic.card.name.as_str())).collect()
}

/// Three things were talked of; then only one of them, until the others slept, and a review a month later archives
/// those.
async fn archived() -> (Desk, Vec<Value>) {
    let mut desk = desk();
    let mut history = three_things(&mut desk).await;
    desk.now = 20 * DAY;
    talk(&mut desk, &mut history, &VISA, 20).await;
    let report = review(&desk, 30, ReviewMode::Do).await;
    let gone = report.verdicts.iter().filter(|verdict| verdict.fate == Fate::Archived).count();
    assert!(gone >= 1, "{report:?} {:?}", states(&topics(&desk).await));
    desk.now = 30 * DAY;
    (desk, history)
}

fn activate(words: &str, since: Option<At>) -> RecallCall {
    RecallCall::Topic { words: words.to_owned(), since, until: None }
}

#[test]
fn what_slept_long_and_matters_little_is_archived() {
    run(async {
        let (mut desk, mut history) = archived().await;
        let all = topics(&desk).await;
        let bread = all.iter().find(|topic| topic.card.name.contains("ourdough")).unwrap();
        assert_eq!((bread.state, bread.archived), (TopicState::Archived, Some(At(30 * DAY))));
        let visa = all.iter().find(|topic| topic.card.name.contains("isa")).unwrap();
        assert_eq!(visa.archived, None, "still awake");
        assert!(count(&desk, |event| matches!(event, Event::Archived { .. })).await >= 1);
        history.push(user("What flour makes a sourdough starter rise?"));
        let mut turn = desk.begin(&history).await.unwrap();
        let shown = texts(turn.window()).join("\n");
        assert!(!shown.contains("rye or spelt"), "no one asks for the past: {shown}");
        let told = recall(&desk, &mut turn, activate("sourdough starter flour", None)).await;
        assert!(!told.contains("rye or spelt"), "{told}");
        let told = recall(&desk, &mut turn, super::reach::search("spelt")).await;
        assert!(!told.contains("rye or spelt") && told.contains("more in archived topics"), "{told}");
        let search = RecallCall::Search { words: "spelt".into(), since: None, until: None, archived: true };
        assert!(recall(&desk, &mut turn, search).await.contains("spelt"));
        let told = recall(&desk, &mut turn, activate("sourdough starter flour", Some(At(0)))).await;
        assert!(told.contains("rye or spelt"), "a day was named: {told}");
        desk.finish(turn, &assistant("Rye.")).await;
    });
}

#[test]
fn an_archived_topic_is_in_no_index() {
    run(async {
        let (mut desk, mut history) = archived().await;
        talk(&mut desk, &mut history, &VISA, 20).await;
        history.push(user("Is the embassy open?"));
        let turn = desk.begin(&history).await.unwrap();
        let index = contents(turn.window()).unwrap();
        assert!(index.contains("isa") && !index.contains("Sourdough"), "{index}");
    });
}

#[test]
fn who_asks_for_the_past_finds_an_archived_topic_and_going_on_with_it_brings_it_back() {
    run(async {
        let (mut desk, mut history) = archived().await;
        history.push(user(
            "Find what we discussed last month about the rye sourdough starter: which flour makes it rise faster?",
        ));
        let turn = desk.begin(&history).await.unwrap();
        let shown = texts(turn.window()).join("\n");
        assert!(shown.contains("rye or spelt"), "{shown}");
        let reply = assistant("Rye, for a sourdough starter.");
        desk.finish(turn, &reply).await;
        history.push(reply);
        let awake = topics(&desk).await;
        let bread = awake.iter().find(|topic| topic.card.name.contains("ourdough")).unwrap().clone();
        assert!(bread.archived.is_some() && !bread.scores.is_empty(), "{bread:?}");
        talk(&mut desk, &mut history, &SOURDOUGH, 3).await;
        talk(&mut desk, &mut history, &VISA, 20).await;
        let after = topics(&desk).await;
        let now = after.iter().find(|topic| topic.card.id == bread.card.id).unwrap();
        assert!(now.archived.is_none() && now.card.messages > bread.card.messages, "{now:?}");
    });
}

#[test]
fn what_matters_sleeps_on() {
    run(async {
        let mut desk = desk();
        let mut history = Vec::new();
        for i in 0..20 {
            desk.now = i * DAY;
            let question = format!("We decided: the sourdough deadline is always day {i}. We must plan it, remember.");
            let answer =
                format!("Agreed: sourdough plan {i}, never late. {}", "I will remember the deadline. ".repeat(5));
            desk.turn(&mut history, user(&question), assistant(&answer)).await;
        }
        desk.now = 40 * DAY;
        talk(&mut desk, &mut history, &VISA, 12).await;
        let report = review(&desk, 60, ReviewMode::Do).await;
        let bread = report.verdicts.iter().find(|verdict| verdict.name.contains("ourdough")).unwrap();
        assert!(bread.fate == Fate::Kept && bread.importance.unwrap() >= 0.5, "{report:?}");
    });
}

/// Gives a topic another name and brief, as somebody does who changes its file.
async fn name(desk: &Desk, topic: TopicId, name: &str, brief: &str) {
    let head = head(desk).await;
    let mut files = desk.engine.topic_files(&desk.session(), head).await.unwrap();
    files.retain(|file| file.topic == topic);
    let last = files[0].lines.last_mut().unwrap();
    let mut read: Value = serde_json::from_str(last).unwrap();
    read["name"] = name.into();
    read["brief"] = brief.into();
    *last = read.to_string();
    desk.engine.restore_topics(&desk.session(), head, &files, At(DAY)).await.unwrap();
}

/// What is compared at once may have a topic in common, which takes in one after another.
#[test]
fn several_topics_about_one_thing_lose_nothing_of_their_briefs() {
    run(async {
        let mut desk = desk();
        three_things(&mut desk).await;
        let before = topics(&desk).await;
        assert!(before.len() >= 3, "{:?}", states(&before));
        let told = |topic: TopicId| format!("Lamp {topic} glows green");
        for topic in &before {
            let shared = "Sourdough starter, rye flour, linker, undefined tide gauge symbols, embassy, passport, visa";
            name(&desk, topic.card.id, "Starters and gauges", &format!("{shared}. {}.", told(topic.card.id))).await;
        }
        desk.restart();
        let report = review(&desk, 2, ReviewMode::Do).await;
        let merged = report.verdicts.iter().filter(|verdict| matches!(verdict.fate, Fate::Merged(_))).count();
        assert!(merged >= 2, "{report:?}");
        let briefs: Vec<String> = topics(&desk).await.into_iter().map(|topic| topic.card.brief).collect();
        for topic in before.iter().map(|topic| told(topic.card.id)) {
            assert!(briefs.iter().any(|brief| brief.contains(&topic)), "{topic}: {briefs:#?}");
        }
    });
}

#[test]
fn two_topics_about_one_thing_become_one() {
    run(async {
        let mut desk = desk();
        let history = three_things(&mut desk).await;
        let before = topics(&desk).await;
        let head = head(&desk).await;
        let exported = desk.engine.topic_files(&desk.session(), head).await.unwrap();
        // Somebody names two of them alike.
        let (one, other) = (before[0].card.id, before[1].card.id);
        for topic in [one, other] {
            name(&desk, topic, "Starters and gauges", "Sourdough starter, rye, linker, tide gauge symbols.").await;
        }
        desk.restart();
        let report = review(&desk, 2, ReviewMode::Dry).await;
        assert_eq!(topics(&desk).await.len(), before.len(), "a dry review merged");
        assert_eq!(review(&desk, 2, ReviewMode::Do).await, report);
        let merged = report.verdicts.iter().find(|verdict| verdict.topic == other).unwrap();
        assert_eq!(merged.fate, Fate::Merged(one), "{report:?}");
        let after = topics(&desk).await;
        assert_eq!(after.len(), before.len() - 1);
        let whole = after.iter().find(|topic| topic.card.id == one).unwrap();
        assert_eq!(whole.card.messages, before[0].card.messages + before[1].card.messages);
        let members = desk.engine.topic_messages(&desk.session(), head, one).await.unwrap();
        assert_eq!(members.len(), whole.card.messages as usize);
        for id in members {
            let stored = desk.store.read(&desk.session(), Span::Ids(vec![id])).await.unwrap().pop().unwrap();
            let found = desk.engine.topic_of(&desk.session(), head, stored.position().unwrap()).await.unwrap();
            assert_eq!(found.map(|card| card.id), Some(one), "{id}");
        }
        assert_eq!(count(&desk, |event| matches!(event, Event::Merged { .. })).await, 1);
        assert!(review(&desk, 3, ReviewMode::Do).await.verdicts.len() == 1, "the whole is summed up");
        let mut history = history;
        history.push(user("Let us go on."));
        let mut turn = desk.begin(&history).await.unwrap();
        let told = recall(&desk, &mut turn, activate(&other.to_string(), None)).await;
        assert!(told.contains(&format!("[{one}]")), "{told}");
        desk.finish(turn, &assistant("Gladly.")).await;
        // What was written to files before brings it back.
        desk.engine.restore_topics(&desk.session(), head, &exported, At(4 * DAY)).await.unwrap();
        let restored = topics(&desk).await;
        assert_eq!(restored.len(), before.len(), "{:?}", states(&restored));
        for (restored, before) in restored.iter().zip(&before) {
            assert_eq!((restored.card.id, restored.card.messages), (before.card.id, before.card.messages));
        }
        for id in desk.engine.topic_messages(&desk.session(), head, other).await.unwrap() {
            let stored = desk.store.read(&desk.session(), Span::Ids(vec![id])).await.unwrap().pop().unwrap();
            let found = desk.engine.topic_of(&desk.session(), head, stored.position().unwrap()).await.unwrap();
            assert_eq!(found.map(|card| card.id), Some(other), "{id}");
        }
    });
}

#[test]
fn a_review_goes_on_beside_turns_and_in_a_file() {
    run(async {
        let bench = super::kit::Bench::sqlite();
        let mut desk = desk_over(bench.store.clone());
        let mut history = three_things(&mut desk).await;
        history.push(user(VISA[0]));
        let turn = desk.begin(&history).await.unwrap();
        let report = review(&desk, 1, ReviewMode::Do).await;
        assert!(report.verdicts.iter().all(|verdict| verdict.fate == Fate::Kept), "{report:?}");
        let reply = assistant("On Friday.");
        desk.finish(turn, &reply).await;
        history.push(reply);
        talk(&mut desk, &mut history, &VISA, 12).await;
        let after = topics(&desk).await;
        assert!(after.iter().all(|topic| !topic.summary.is_empty()), "{after:?}");
        let sorted: u32 = after.iter().map(|topic| topic.card.messages).sum();
        for topic in &after {
            let members = desk.engine.topic_messages(&desk.session(), head(&desk).await, topic.card.id).await.unwrap();
            assert_eq!(members.len(), topic.card.messages as usize, "{}", topic.card.name);
        }
        assert!(sorted > 24);
    });
}
