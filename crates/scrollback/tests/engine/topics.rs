//! Topics in the engine: whatever the helper does, every message is in one topic and what matters is quoted; topics
//! that the model asks for; where quotes stand; a long history that comes at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use proptest::prelude::*;
use scrollback::engine::{EngineSettings, Event, TopicState};
use scrollback::ids::Depth;
use scrollback::recall::RecallCall;
use scrollback::store::{Position, Span};
use scrollback::strategy::{Layout, StrategyName};
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::window::{Reason, Window};
use scrollback::{Error, MemoryStore, MessageId};
use serde_json::{Value, json};

use super::desk::{Desk, run, settings};
use super::kit::{assistant, call, result, user};
use super::reach::recall;
use super::world::{Move, World};

const FACT: &str = "The spare key of the boathouse hangs behind the blue barometer.";
const ASKED: &str = "Where does the spare key of the boathouse hang?";

/// How a helper behaves.
#[derive(Clone, Debug)]
enum Manner {
    Fails,
    Panics,
    /// It takes ten seconds to read a topic.
    Dawdles,
    /// Whatever it is asked, it says one of these.
    Says(Vec<String>),
}

struct Helper {
    manner: Manner,
    asked: AtomicUsize,
    /// How often it was asked for a brief.
    briefs: AtomicUsize,
}

impl Helper {
    fn new(manner: Manner) -> Self {
        Self { manner, asked: AtomicUsize::new(0), briefs: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Model for Helper {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        self.briefs.fetch_add(usize::from(question.task == "brief"), Ordering::SeqCst);
        let text = match &self.manner {
            Manner::Fails => return Err(Error::NotFound("no such model".into())),
            Manner::Panics => panic!("the helper fell over"),
            Manner::Dawdles => {
                if question.task == "read_topic" {
                    tokio::time::sleep(Duration::from_secs(10)).await;
                }
                return Err(Error::NotFound("too late".into()));
            }
            Manner::Says(texts) => texts[number % texts.len()].clone(),
        };
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

fn desk(manner: Option<Manner>) -> Desk {
    let mut settings = settings(StrategyName::Topics);
    settings.strategies.topics.keep_messages = 4;
    settings.strategies.topics.deadline_ms = 40;
    let patient = TaskSettings { breaker_after: u32::MAX, ..TaskSettings::default() };
    let helped = |manner| Tasks::new(Arc::new(Helper::new(manner)), patient);
    Desk::with_tasks(Arc::new(MemoryStore::default()), settings, 2_400, manner.map_or_else(Tasks::offline, helped))
}

const TALK: [&str; 8] = [
    "How often should a rye sourdough starter be fed in winter?",
    "Undefined symbol tide_gauge_open: which linker flag is missing?",
    "The embassy wants two passport photographs for the visa form.",
    "Can the sourdough starter stay in the fridge over night?",
    "Does the order of linker flags matter to the tide_gauge library?",
    "Is the visa fee of the embassy paid by card?",
    "Which flour makes a sourdough starter rise faster, rye or spelt?",
    "The linker finds libgauge twice and warns.",
];

/// A fact, much talk about other things, and the question for it. The window of the question, and the path's end.
async fn play(desk: &mut Desk) -> (Window, Position) {
    let mut history = Vec::new();
    desk.turn(&mut history, user(FACT), assistant("Good to know.")).await;
    for i in 0..32 {
        let reply = format!("On {}: {}", TALK[i % TALK.len()], "it depends on the weather and on patience. ".repeat(4));
        let window = desk.turn(&mut history, user(&format!("{} ({i})", TALK[i % TALK.len()])), assistant(&reply)).await;
        assert!(window.fits() && window.lost() == 0);
    }
    let window = desk.turn(&mut history, user(ASKED), assistant("Behind the barometer.")).await;
    let last = desk.store.read(&desk.session(), Span::Last).await.unwrap().pop().unwrap();
    (window, last.position().unwrap())
}

fn excerpt(window: &Window) -> String {
    let quotes = window.blocks().iter().filter(|block| block.reason == Reason::Relevant);
    quotes.map(|block| block.text().to_owned()).collect()
}

/// Every folded message is in exactly one topic.
async fn assert_sorted(desk: &Desk, window: &Window, head: Position) {
    let folded = window.blocks().iter().find(|block| block.reason == Reason::Covers).unwrap().covers.unwrap();
    let span = Span::Path { head, from: Depth(0), to: folded.to };
    let path = desk.store.read(&desk.session(), span).await.unwrap();
    let mut places: HashMap<MessageId, usize> = HashMap::new();
    for topic in desk.engine.topics(&desk.session(), head).await.unwrap() {
        for id in desk.engine.topic_messages(&desk.session(), head, topic.card.id).await.unwrap() {
            *places.entry(id).or_default() += 1;
        }
    }
    for stored in path {
        assert_eq!(places.get(&stored.id), Some(&1), "{}", stored.id);
        let of = desk.engine.topic_of(&desk.session(), head, stored.position().unwrap()).await.unwrap();
        assert!(of.is_some_and(|card| !card.name.is_empty()), "{}", stored.id);
    }
}

/// Law 7.
#[test]
fn a_fact_is_quoted_whatever_the_helper_does() {
    let nonsense = ["<split><topic id=\"t9999\">m1-m400", "no", "<reading><relevance>purple", "{}"].map(str::to_owned);
    for manner in [None, Some(Manner::Fails), Some(Manner::Panics), Some(Manner::Says(nonsense.to_vec()))] {
        run(async {
            let mut desk = desk(manner.clone());
            let (window, head) = play(&mut desk).await;
            assert!(excerpt(&window).contains(FACT), "{manner:?}: {}", excerpt(&window));
            assert_sorted(&desk, &window, head).await;
        });
    }
}

#[test]
fn a_helper_that_makes_nothing_of_a_topic_is_not_asked_about_it_again() {
    for (manner, again) in [(Manner::Says(vec!["no".into()]), false), (Manner::Fails, true)] {
        run(async {
            let helper = Arc::new(Helper::new(manner.clone()));
            let patient = TaskSettings { breaker_after: u32::MAX, ..TaskSettings::default() };
            let mut desk = desk(None);
            let tasks = Tasks::new(helper.clone(), patient);
            desk.engine = scrollback::Engine::new(desk.store.clone(), tasks, desk.settings.clone());
            play(&mut desk).await;
            let mut history: Vec<Value> = Vec::new();
            for said in
                desk.store.read(&desk.session(), Span::Arrival { from: MessageId(0), limit: 999 }).await.unwrap()
            {
                history.push(serde_json::from_str(said.raw.get()).unwrap());
            }
            let before = helper.briefs.load(Ordering::SeqCst);
            assert!(before > 0, "it was asked for briefs");
            desk.turn(&mut history, user("Thanks."), assistant("My pleasure.")).await;
            assert_eq!(helper.briefs.load(Ordering::SeqCst) > before, again, "{manner:?}");
        });
    }
}

#[test]
fn a_topic_that_takes_too_long_is_cut_off() {
    run(async {
        let mut desk = desk(Some(Manner::Dawdles));
        let begun = Instant::now();
        let (window, _) = play(&mut desk).await;
        assert!(excerpt(&window).contains(FACT), "{}", excerpt(&window));
        assert!(begun.elapsed() < Duration::from_secs(30), "33 turns took {:?}", begun.elapsed());
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// Tags in code, missing ends, invented ids, prose around.
    #[test]
    fn no_reply_loses_a_message(replies in prop::collection::vec(reply(), 1..6)) {
        run(async {
            let mut desk = desk(Some(Manner::Says(replies)));
            let (window, head) = play(&mut desk).await;
            assert_sorted(&desk, &window, head).await;
        });
    }
}

/// What a model might say to anything.
fn reply() -> impl Strategy<Value = String> {
    let ids = prop::collection::vec((0..90_u32, 0..4_u32), 0..12).prop_map(|ids| {
        ids.iter().map(|(from, more)| format!("m{from}-m{}", from + more)).collect::<Vec<_>>().join(" ")
    });
    let group = (ids, prop_oneof![Just("id=\"t1\""), Just("id='t77'"), Just("new=\"Bread & <b>\""), Just("")])
        .prop_map(|(ids, attribute)| {
            format!("<topic {attribute}>{ids}<brief>On `</topic>` and so on.</brief></topic>")
        });
    let split =
        prop::collection::vec(group, 0..4).prop_map(|groups| format!("Sure!\n```xml\n<split>{}", groups.join("\n")));
    let read = (0..200_u32, 0..90_u32).prop_map(|(score, id)| {
        format!("<reading><relevance>0.{score}</relevance><messages>m{id} m1</messages><summary>`<summary>`</reading>")
    });
    prop_oneof![split, read, ".{0,80}"]
}

#[test]
fn a_topic_that_the_model_asks_for_is_shown_and_wakes() {
    run(async {
        let mut desk = desk(None);
        let (_, head) = play(&mut desk).await;
        let path = desk.store.read(&desk.session(), Span::path(head, Depth(0))).await.unwrap();
        let mut history: Vec<Value> =
            path.iter().map(|stored| serde_json::from_str(stored.raw.get()).unwrap()).collect();
        history.push(user("Let us talk about something else entirely, please."));
        let mut turn = desk.begin(&history).await.unwrap();
        let call = |words: &str| RecallCall::Topic { words: words.into(), since: None, until: None };
        let told = recall(&desk, &mut turn, call("spare key boathouse")).await;
        assert!(told.contains(FACT), "{told}");
        let id = told.lines().find_map(|line| line.strip_prefix("[t")).unwrap().split(']').next().unwrap().to_owned();
        let again = recall(&desk, &mut turn, call(&format!("t{id}"))).await;
        assert!(again.contains(&format!("[t{id}]")), "{again}");
        assert!(recall(&desk, &mut turn, call("submarine volcano")).await.starts_with("No topic matches"));
        desk.finish(turn, &assistant("As you like.")).await;
        let topics = desk.engine.topics(&desk.session(), head).await.unwrap();
        let woken = topics.iter().find(|topic| topic.card.id.to_string() == format!("t{id}")).unwrap();
        assert_eq!(woken.state, TopicState::Active);
        let events = desk.engine.events(&desk.session()).await.unwrap();
        assert!(
            events
                .iter()
                .any(|(_, event)| matches!(event, Event::Activated { words, .. } if words == "spare key boathouse"))
        );
    });
}

/// What a helper finds has its room left free; quotes make room for themselves, so without one more stays open.
#[test]
fn a_window_without_a_helper_is_filled_further() {
    let fullest = |manner| {
        run(async move {
            let mut desk = desk(manner);
            let (mut history, mut open) = (Vec::new(), 0);
            loop {
                let window = desk.turn(&mut history, user(&TALK.concat()), assistant("It depends.")).await;
                if window.blocks().iter().any(|block| block.reason == Reason::Covers) {
                    return open * 100 / desk.budget;
                }
                open = window.tokens();
            }
        })
    };
    let (helped, alone) = (fullest(Some(Manner::Fails)), fullest(None));
    assert!((50..=70).contains(&helped) && (75..=90).contains(&alone), "{helped} {alone}");
}

/// In a large window a turn that tells what it is about brings that along.
#[test]
fn a_large_window_quotes_where_a_turn_only_asks() {
    run(async {
        let settings = EngineSettings { strategy: StrategyName::Topics, ..EngineSettings::default() };
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings, 16_000);
        let mut history = vec![user(FACT), assistant("Good to know.")];
        for i in 0..160 {
            history.push(user(&format!("{} ({i})", TALK[i % TALK.len()].repeat(6))));
            history.push(assistant("It depends on the weather."));
        }
        let spoken = [user("I looked for the spare key: it does hang in the boathouse."), assistant("Good.")];
        let known = [history.as_slice(), &spoken].concat();
        let telling = "I've put the spare key of the boathouse on a ring that hangs there, can you find a name for it?";
        for (before, asks, is_quoted) in [
            (&history, ASKED.to_owned(), true),
            (&history, telling.to_owned(), false),
            (&history, format!("So, {ASKED}"), true),
            (&known, ASKED.to_owned(), true),
            (&known, format!("So, {ASKED}"), false),
        ] {
            let asked = [before.as_slice(), &[user(&asks)]].concat();
            let turn = desk.begin(&asked).await.unwrap();
            let quotes = turn.window().blocks().iter().find(|block| block.reason == Reason::Relevant);
            assert_eq!(quotes.is_some_and(|block| block.text().contains(FACT)), is_quoted, "{asks} {quotes:?}");
            assert!(is_quoted || quotes.is_none(), "{asks}");
        }
    });
}

#[test]
fn quotes_stand_where_the_settings_say() {
    for (layout, at_end) in [(Layout::Tail, true), (Layout::Head, false)] {
        run(async {
            let mut desk = desk(None);
            desk.settings.strategies.topics.layout = layout;
            desk.restart();
            let (window, _) = play(&mut desk).await;
            let quotes = window.blocks().iter().position(|block| block.reason == Reason::Relevant).unwrap();
            let expected = if at_end { window.blocks().len() - 2 } else { 1 };
            assert_eq!(quotes, expected);
            // Other settings today do not change what was sent.
            desk.settings.strategies.topics.layout = if at_end { Layout::Head } else { Layout::Tail };
            desk.restart();
            let views = desk.engine.views(&desk.session()).await.unwrap();
            let drawn = desk.engine.window_of(&desk.session(), &views.last().unwrap().view).await.unwrap();
            assert_eq!(super::desk::texts(&drawn), super::desk::texts(&window), "the view draws what was sent");
        });
    }
}

/// Asking for a topic that was divided shows its parts.
#[test]
fn a_divided_topic_is_shown_by_its_parts() {
    run(async {
        let mut desk = desk(None);
        desk.settings.strategies.topics.topic_tokens = 400;
        desk.restart();
        let (_, head) = play(&mut desk).await;
        let topics = desk.engine.topics(&desk.session(), head).await.unwrap();
        let whole = topics.iter().find(|topic| topic.state == TopicState::Divided).unwrap().card.id;
        let path = desk.store.read(&desk.session(), Span::path(head, Depth(0))).await.unwrap();
        let mut history: Vec<Value> =
            path.iter().map(|stored| serde_json::from_str(stored.raw.get()).unwrap()).collect();
        history.push(user("Let us go on."));
        let mut turn = desk.begin(&history).await.unwrap();
        let call = RecallCall::Topic { words: whole.to_string(), since: None, until: None };
        let told = recall(&desk, &mut turn, call).await;
        assert!(told.lines().any(|line| line.starts_with("[t")) && !told.contains("no room"), "{told}");
        desk.finish(turn, &assistant("Gladly.")).await;
    });
}

/// A backlog is sorted after the turn, part by part, and found by its words until then.
#[test]
fn a_long_history_that_comes_at_once_is_sorted_bit_by_bit() {
    run(async {
        let mut desk = desk(None);
        let mut history = vec![user(FACT), assistant("Good to know.")];
        for i in 0..700 {
            history.push(user(&format!("{} ({i})", TALK[i % TALK.len()])));
            history.push(assistant("It depends on the weather."));
        }
        let window = desk.turn(&mut history, user(ASKED), assistant("Behind it.")).await;
        assert!(window.fits() && window.lost() == 0 && excerpt(&window).contains(FACT), "{}", excerpt(&window));
        for i in 0..6 {
            let window = desk.turn(&mut history, user(&format!("And then? ({i})")), assistant("Then it rains.")).await;
            assert!(window.fits() && window.lost() == 0);
        }
        let window = desk.turn(&mut history, user(ASKED), assistant("Behind it.")).await;
        let head = desk.store.read(&desk.session(), Span::Last).await.unwrap().pop().unwrap().position().unwrap();
        assert!(excerpt(&window).contains(FACT));
        assert_sorted(&desk, &window, head).await;
    });
}

/// An agent may do more in one turn than the next request can wait for.
#[test]
fn a_long_turn_that_comes_at_once_is_sorted_bit_by_bit() {
    run(async {
        let mut desk = desk(None);
        desk.settings.strategies.topics.batch_tokens = 500;
        desk.restart();
        let mut history = vec![user(FACT)];
        for i in 0..200 {
            let id = format!("call-{i}-abcdef");
            history.push(call(&id, "look", &json!({"step": i})));
            history.push(result(&id, &format!("{} ({i})", TALK[i % TALK.len()])));
        }
        let turn = desk.begin(&history).await.unwrap();
        let topics = desk.engine.topics(&desk.session(), turn.received().head.unwrap()).await.unwrap();
        let sorted: u32 = topics.iter().map(|topic| topic.card.messages).sum();
        assert!((1..200).contains(&sorted), "{sorted} while the turn waits");
        let reply = assistant("Seen.");
        desk.finish(turn, &reply).await;
        history.push(reply);
        for i in 0..4 {
            desk.turn(&mut history, user(&format!("And then? ({i})")), assistant("Then it rains.")).await;
        }
        let window = desk.turn(&mut history, user(ASKED), assistant("Behind it.")).await;
        let head = desk.store.read(&desk.session(), Span::Last).await.unwrap().pop().unwrap().position().unwrap();
        assert_sorted(&desk, &window, head).await;
    });
}

#[test]
fn quotes_that_need_less_room_later_in_a_turn_are_the_same_after_a_restart() {
    run(async {
        let mut world = World::new(StrategyName::Topics, 4484, Arc::new(MemoryStore::default()));
        let script = [
            Move::Chat(1),
            Move::Regenerate,
            Move::Chat(13),
            Move::Chat(24),
            Move::Agent { steps: 1, parallel: 1, chars: 1601 },
            Move::Agent { steps: 2, parallel: 1, chars: 317 },
            Move::Chat(116),
            Move::Retry,
            Move::Items { steps: 3, parallel: 3, chars: 854 },
            Move::Chat(51),
            Move::Chinese(34),
            Move::Agent { steps: 3, parallel: 3, chars: 2677 },
        ];
        for step in &script {
            Box::pin(world.make(step)).await;
        }
    });
}
