//! Topics in a long conversation: three hundred turns on twelve subjects through a small window.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]
#![allow(clippy::print_stderr, reason = "figures are told with --no-capture")]

mod model;
mod talk;

use std::sync::Arc;

use model::Knowing;
use scrollback::engine::{Ask, EngineSettings, Finish};
use scrollback::ids::Hash128;
use scrollback::ledger::{CacheModel, Link, Prices, Sent};
use scrollback::log::{Arrival, History};
use scrollback::store::Span;
use scrollback::strategy::StrategyName;
use scrollback::task::{Question, TaskSettings, Tasks};
use scrollback::tokens::Vocabulary;
use scrollback::window::{Budget, Reason, Window};
use scrollback::{At, Engine, MemoryStore, Message, SessionId, SessionKey, Tenant};
use serde_json::{Value, json};
use talk::{Beat, Step, Subject};

const WINDOW: u32 = 16_000;
/// Turns are this far apart.
const STEP_MICROSECONDS: i64 = 20_000_000;

/// What came of a run.
#[derive(Debug, Default)]
struct Told {
    /// Facts that were asked for when they were no longer open.
    folded: usize,
    /// Of them, those that stood in the window word for word.
    shown: usize,
    missed: Vec<String>,
    /// The same for complaints that a fact was forgotten.
    complaints: usize,
    woken: usize,
    topics: usize,
    /// Of the messages in topics, those whose subject is that of most messages of their topic, in hundredths.
    pure: usize,
}

fn engine(tasks: Tasks) -> Engine {
    let settings = EngineSettings { strategy: StrategyName::Topics, ..EngineSettings::default() };
    Engine::new(Arc::new(MemoryStore::default()), tasks, settings)
}

async fn turn(engine: &Engine, history: &mut Vec<Value>, step: &Step, at: At) -> Window {
    history.push(json!({"role": "user", "content": step.user}));
    let text = Value::Array(history.clone()).to_string();
    let (parsed, tenant) = (History::parse(&text).unwrap(), Tenant::local());
    let arrival = Arrival::new(&tenant, Some("twelve"), "gpt-5", at);
    let ask = Ask::new(arrival, &parsed, Budget { tokens: WINDOW }, WINDOW);
    let turn = engine.begin(ask).await.unwrap();
    let (window, chores) = (turn.window().clone(), turn.chores());
    let reply = json!({"role": "assistant", "content": step.reply});
    let message = Message::from_json(&reply.to_string()).unwrap();
    let finish = Finish::of(message, "gpt-5", at);
    let head = engine.finish(turn, finish).await.unwrap().unwrap().position().unwrap();
    engine.tidy(chores.at(head), at).await.unwrap();
    engine.work_through(&Tenant::local(), at).await.unwrap();
    history.push(reply);
    window
}

async fn play(engine: &Engine, subjects: &[Subject], script: &[Step]) -> Told {
    let (mut told, mut history) = (Told::default(), vec![json!({"role": "system", "content": "You are a friend."})]);
    for (number, step) in script.iter().enumerate() {
        let at = At(i64::try_from(number + 1).unwrap() * STEP_MICROSECONDS);
        let window = turn(engine, &mut history, step, at).await;
        assert!(window.fits() && window.lost() == 0);
        let fact = match step.beat {
            Beat::Asks(fact) => &subjects[step.subject].facts[fact].0,
            Beat::Forgot => forgotten(&subjects[step.subject]),
            Beat::Chat | Beat::Tells(_) => continue,
        };
        let open = window
            .blocks()
            .iter()
            .any(|block| block.message().is_some_and(|stored| stored.raw.get().contains(fact.as_str())));
        if open {
            continue;
        }
        let quoted = window
            .blocks()
            .iter()
            .any(|block| block.reason == Reason::Relevant && block.text().contains(fact.as_str()));
        let complaint = step.beat == Beat::Forgot;
        *(if complaint { &mut told.complaints } else { &mut told.folded }) += 1;
        *(if complaint { &mut told.woken } else { &mut told.shown }) += usize::from(quoted);
        if !quoted {
            let excerpt =
                window.blocks().iter().find(|block| block.reason == Reason::Relevant).map_or("", |block| block.text());
            told.missed.push(format!("turn {number}: {}\n{excerpt}", step.user));
        }
    }
    (told.topics, told.pure) = sorted(engine, script).await;
    told
}

/// How many topics there are, and how pure they are.
async fn sorted(engine: &Engine, script: &[Step]) -> (usize, usize) {
    let tenant = Tenant::local();
    let session = SessionKey { id: SessionId::declared(&tenant, "twelve"), tenant };
    let head = engine.log().store().read(&session, Span::Last).await.unwrap().pop().unwrap().position().unwrap();
    let topics = engine.topics(&session, head).await.unwrap();
    let (mut all, mut alike) = (0, 0);
    for topic in topics.iter().filter(|topic| topic.card.messages > 0) {
        let members = engine.topic_messages(&session, head, topic.card.id).await.unwrap();
        // The instructions are m0; two messages make a turn.
        let subjects: Vec<usize> = members.iter().map(|id| script[(id.0 as usize - 1) / 2].subject).collect();
        all += subjects.len();
        alike += (0..12).map(|subject| subjects.iter().filter(|of| **of == subject).count()).max().unwrap_or(0);
    }
    (topics.len(), alike * 100 / all.max(1))
}

/// The fact whose absence is complained about: the one that shares most words with the complaint.
fn forgotten(subject: &Subject) -> &String {
    let words = |text: &str| scrollback::search::terms(text);
    let complaint = words(&subject.forgot);
    let common =
        |fact: &str| words(fact).iter().filter(|word| complaint.contains(word) && word.chars().count() > 1).count();
    &subject.facts.iter().max_by_key(|(fact, question)| common(fact) + common(question)).unwrap().0
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

#[test]
fn every_fact_is_there_when_it_is_asked_for_without_a_model() {
    let subjects = talk::subjects();
    let script = talk::script(&subjects);
    assert_eq!((subjects.len(), script.len()), (12, 12 * talk::VISITS));
    let told = run(play(&engine(Tasks::offline()), &subjects, &script));
    eprintln!("offline: {told:#?}");
    assert!(told.folded >= 40, "{} facts were folded when asked for", told.folded);
    assert_eq!((told.shown, told.woken), (told.folded, told.complaints), "{:#?}", told.missed);
}

#[test]
fn every_fact_is_there_when_it_is_asked_for_with_a_helper_and_its_windows_are_cached() {
    let subjects = talk::subjects();
    let script = talk::script(&subjects);
    let helper = Arc::new(Knowing::new(subjects.clone(), script.clone()));
    let told = run(play(&engine(Tasks::new(helper.clone(), TaskSettings::default())), &subjects, &script));
    let asked = helper.asked.lock().unwrap();
    let (calls, read, all) = cached(&asked);
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let share = read as f64 * 100.0 / all as f64;
    eprintln!("with a helper: {told:#?}, {calls} topic windows of {all} tokens, {share:.1} % cached");
    assert!(told.folded >= 40, "{} facts were folded when asked for", told.folded);
    assert_eq!((told.shown, told.woken), (told.folded, told.complaints), "{:#?}", told.missed);
    assert!(share >= 95.0, "{share:.1} % of the topic windows is found in the cache");
}

/// What a provider's cache finds of the topic windows: how many calls, tokens read from it, all tokens.
fn cached(asked: &[Question]) -> (usize, u64, u64) {
    let (mut cache, prices) = (CacheModel::default(), Prices::shipped());
    let rule = prices.of("gpt-5-nano").unwrap().rule.unwrap();
    let (mut calls, mut read, mut all) = (0, 0, 0);
    for (number, question) in asked.iter().filter(|question| question.task == "read_topic").enumerate() {
        let pieces = std::iter::once(question.instructions.as_str()).chain(question.text.split_inclusive("\n\n"));
        let link = |text: &str| {
            Link::new(Hash128::of("piece", &[text.as_bytes()]), u32::try_from(Vocabulary::O200k.count(text)).unwrap())
        };
        let chain: Vec<Link> = pieces.map(link).collect();
        let at = At(i64::try_from(number).unwrap() * 1_000_000);
        let hit = cache.predict(&Sent { scope: Hash128::of("helper", &[]), rule, chain: &chain, at });
        calls += 1;
        read += u64::from(hit.read);
        all += chain.iter().map(|link| u64::from(link.tokens)).sum::<u64>();
    }
    (calls, read, all)
}
