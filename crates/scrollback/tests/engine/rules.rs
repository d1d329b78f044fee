//! Rules that the person states early stand in every window, whatever the strategy and whatever its helper forgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use scrollback::control::Change;
use scrollback::ids::{Depth, NodeId};
use scrollback::search::Probe;
use scrollback::store::{
    Batch, Committed, Expect, Keys, Kind, Known, Matches, Put, Record, Scope, Session, Span, Stored, Which,
};
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::window::Window;
use scrollback::{At, MemoryStore, Result, SessionKey, Store, Tenant};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::desk::{Desk, run, settings, texts};
use super::kit::{assistant, user};
use super::person::STRATEGIES;

/// Answers every task in its form, and remembers nothing of what was said.
struct Forgetful;

#[async_trait]
impl Model for Forgetful {
    async fn ask(&self, question: &Question) -> Result<Said> {
        let ids: Vec<&str> = question.text.split(|c: char| !c.is_alphanumeric()).filter(|word| is_id(word)).collect();
        let first = ids.first().copied().unwrap_or("m0");
        let text = match question.task {
            "page_digest" => format!(r#"{{"title": "Small talk", "lines": {{"{first}": "they talk"}}}}"#),
            "artifact_draft" | "artifact_merge" => {
                format!("# Small talk\n\nThey talked.\n\n## Weather <!-- sources: {first} -->\nIt was fine.")
            }
            _ => "They talked about this and that, and nothing came of it.".to_owned(),
        };
        Ok(Said { text, input_tokens: 10, output_tokens: 10, ..Said::default() })
    }
}

fn is_id(word: &str) -> bool {
    word.strip_prefix('m').is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
}

fn rules() -> Vec<String> {
    let english = (0..30).map(|i| match i % 5 {
        0 => format!("Never push to the branch release-{i}."),
        1 => format!("Always answer questions about harbour {i} in metric units."),
        2 => format!("From now on, sign reports on pier {i} with both initials."),
        3 => format!("Don't ever name supplier {i} in a summary."),
        _ => format!("You must ask me before you touch file-{i}.toml."),
    });
    let chinese = (30..40).map(|i| match i % 3 {
        0 => format!("永远不要删除第{i}号日志。"),
        1 => format!("以后所有第{i}号码头的金额必须用欧元。"),
        _ => format!("从现在起，第{i}号报告一律用中文写。"),
    });
    english.chain(chinese).collect()
}

fn missing(window: &Window, rules: &[String]) -> Vec<String> {
    let sent: String = texts(window).concat();
    rules.iter().filter(|rule| !sent.contains(rule.as_str())).cloned().collect()
}

fn tasks(helped: bool) -> Tasks {
    if helped { Tasks::new(Arc::new(Forgetful), TaskSettings::default()) } else { Tasks::offline() }
}

/// Talks until there were so many folds. Returns the desk and what was said.
async fn talk(strategy: StrategyName, helped: bool, folds: u32) -> (Desk, Vec<Value>) {
    let store = Arc::new(MemoryStore::default());
    let mut desk = Desk::with_tasks(store, settings(strategy), 9_000, tasks(helped));
    let (mut history, rules) = (Vec::new(), rules());
    for said in rules.chunks(2) {
        desk.turn(&mut history, user(&said.join(" ")), assistant("Understood.")).await;
    }
    for i in 0_u32.. {
        let words = format!("how deep is the water at mooring {i}, and what grows there, ").repeat(30);
        let reply = assistant(&format!("Mooring {i} is deep enough. {}", "Weed and mussels grow there. ".repeat(60)));
        let window = desk.turn(&mut history, user(&format!("Tell me {words}please?")), reply).await;
        assert!(window.fits());
        assert_eq!(missing(&window, &rules), Vec::<String>::new(), "{strategy}, helped: {helped}, turn {i}");
        let newest = desk.engine.views(&desk.session()).await.unwrap().pop().unwrap();
        if newest.view.fold.is_some_and(|fold| fold.epoch >= folds) {
            return (desk, history);
        }
        assert!(i < 2_000, "{strategy} does not fold");
    }
    unreachable!()
}

#[test]
fn forty_rules_outlive_twenty_folds_of_every_strategy() {
    for strategy in STRATEGIES {
        for helped in [false, true] {
            run(talk(strategy, helped, 20));
        }
    }
}

#[test]
fn rules_are_listed_and_can_be_let_go() {
    run(async {
        let (mut desk, mut history) = talk(StrategyName::Summary, false, 2).await;
        history.push(user("And now?"));
        let turn = desk.begin(&history).await.unwrap();
        let (session, head) = (desk.session(), turn.received().head.unwrap());
        let stated = desk.engine.rules(&session, head).await.unwrap();
        let words: Vec<&str> = stated.iter().map(|stated| stated.rule.text.as_str()).collect();
        assert_eq!(words, rules(), "every rule is found once, in order");
        let gone = stated[3].rule.clone();
        let change = Change::DropRule(gone.name());
        desk.engine.change(&session, &change, At(99)).await.unwrap();
        let shown = desk.begin(&history).await.unwrap();
        assert_eq!(missing(shown.window(), &rules()), std::slice::from_ref(&gone.text));
        desk.engine.change(&session, &Change::RestoreRule(gone.name()), At(100)).await.unwrap();
        let shown = desk.begin(&history).await.unwrap();
        assert!(missing(shown.window(), &rules()).is_empty());
    });
}

/// What is open is looked through whole, however long nothing is folded.
#[test]
fn a_rule_that_was_stated_long_ago_is_listed_while_nothing_is_folded() {
    run(async {
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(StrategyName::Passthrough), 1_000_000);
        let mut history: Vec<Value> = [user("Never sail without a lamp."), assistant("Understood.")].into();
        history.extend((0..300).flat_map(|i| [user(&format!("The tide of day {i}?")), assistant("Noted.")]));
        let rule = user("Always answer questions about harbour 1 in metric units.");
        desk.turn(&mut history, rule, assistant("I will.")).await;
        history.push(user("And now?"));
        let turn = desk.begin(&history).await.unwrap();
        let stated = desk.engine.rules(&desk.session(), turn.received().head.unwrap()).await.unwrap();
        let words: Vec<&str> = stated.iter().map(|stated| stated.rule.text.as_str()).collect();
        assert_eq!(words, ["Never sail without a lamp.", "Always answer questions about harbour 1 in metric units."]);
    });
}

/// A long history that comes at once is not read whole in the turn; its rules are found after it.
#[test]
fn rules_in_what_was_never_read_are_found_in_the_background() {
    run(async {
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(StrategyName::Pages), 9_000);
        let talk = |i: usize| [user(&format!("Day {i}: {}", "the tide is in. ".repeat(30))), assistant("Noted.")];
        let mut history: Vec<Value> = [user("Never sail without a lamp."), assistant("Understood.")].into();
        history.extend((0..700).flat_map(talk));
        desk.turn(&mut history, user("Are we ready?"), assistant("We are.")).await;
        let window = desk.turn(&mut history, user("Sure?"), assistant("Yes.")).await;
        assert!(texts(&window).concat().contains("[r0.1] Never sail without a lamp."));
    });
}

/// A store in which somebody else writes the rules, and finds another one now and then, whenever a turn is about to
/// keep those that it found, so many times.
#[derive(Default)]
struct Overtaken {
    store: MemoryStore,
    times: AtomicUsize,
}

impl Overtaken {
    /// Adds a rule, as work in the background does.
    async fn overtake(&self, session: &SessionKey, put: &Put) -> Result<()> {
        let before = self.store.records(&put.scope, Kind::Note, Keys::One(put.key.clone())).await?.pop();
        let nothing = || json!({"stated": [], "upto": 0});
        let mut body = before.map_or_else(nothing, |record| serde_json::from_str(record.body.get()).unwrap());
        let stated = body["stated"].as_array_mut().unwrap();
        let number = stated.len() + 100;
        let rule = json!({"message": "m0", "number": number, "text": format!("Always whistle {number} times.")});
        // Very many rules would take the place of others in the window.
        if stated.len() < 4 {
            stated.push(json!({"depth": 0, "rule": rule}));
        }
        let put = Put { body: to_raw_value(&body).unwrap(), expect: Expect::Any, ..put.clone() };
        self.store.commit(Batch::of_records(session.clone(), vec![put])).await.map(drop)
    }
}

#[async_trait]
impl Store for Overtaken {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        let overtakes =
            || self.times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |times| times.checked_sub(1)).is_ok();
        if let Some(put) = batch.records.iter().find(|put| put.key.starts_with("rules/"))
            && overtakes()
        {
            self.overtake(&batch.session, put).await?;
        }
        self.store.commit(batch).await
    }

    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> Result<Option<Known>> {
        self.store.prefix(session, from, chain).await
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        self.store.read(session, span).await
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        self.store.matching(tenant, probe).await
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        self.store.records(scope, kind, keys).await
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        self.store.sessions(tenant, which).await
    }
}

#[test]
fn rules_that_somebody_else_keeps_meanwhile_stand_beside_those_of_a_fold() {
    run(async {
        let store = Arc::new(Overtaken::default());
        store.times.store(3, Ordering::Relaxed);
        let mut desk = Desk::new(store.clone(), settings(StrategyName::Pages), 9_000);
        let talk = |i: usize| [user(&format!("Day {i}: {}", "the tide is in. ".repeat(60))), assistant("Noted.")];
        let mut history: Vec<Value> = [user("Never sail without a lamp."), assistant("Understood.")].into();
        history.extend((0..60).flat_map(talk));
        let window = desk.turn(&mut history, user("Are we ready?"), assistant("We are.")).await;
        let theirs = (100..103).map(|number| format!("Always whistle {number} times."));
        let all: Vec<String> = std::iter::once("Never sail without a lamp.".to_owned()).chain(theirs).collect();
        assert_eq!(missing(&window, &all), Vec::<String>::new());
        desk.restart();
        let window = desk.turn(&mut history, user("Sure?"), assistant("Yes.")).await;
        assert_eq!(missing(&window, &all), Vec::<String>::new());
    });
}

#[test]
fn no_turn_fails_because_somebody_else_keeps_rules_all_the_time() {
    run(async {
        let store = Arc::new(Overtaken::default());
        let mut desk = Desk::new(store.clone(), settings(StrategyName::Pages), 9_000);
        let mut history: Vec<Value> = [user("Never sail without a lamp."), assistant("Understood.")].into();
        for i in 0..60 {
            history.push(user(&format!("Day {i}: {}", "the tide is in. ".repeat(60))));
            store.times.store(usize::MAX, Ordering::Relaxed);
            let turn = desk.begin(&history).await.unwrap();
            store.times.store(0, Ordering::Relaxed);
            assert_eq!(missing(turn.window(), &["Never sail without a lamp.".to_owned()]), Vec::<String>::new(), "{i}");
            let reply = assistant("Noted.");
            desk.finish(turn, &reply).await;
            history.push(reply);
        }
    });
}
