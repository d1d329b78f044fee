//! What a person decides about a session: what is refused, and what several limits and branches keep apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use scrollback::artifact::ArtifactId;
use scrollback::control::Change;
use scrollback::engine::{Folding, NoteName, Wanted};
use scrollback::log::History;
use scrollback::store::{Keys, Kind, Scope};
use scrollback::strategy::StrategyName;
use scrollback::task::{Model, Question, Said, TaskSettings, Tasks};
use scrollback::window::Budget;
use scrollback::{At, Error, MemoryStore, MessageId};
use serde_json::Value;

use super::desk::{Desk, run, settings};
use super::kit::{assistant, user};

/// A helper that counts what it is asked.
#[derive(Default)]
struct Counter(AtomicUsize);

#[async_trait]
impl Model for Counter {
    async fn ask(&self, question: &Question) -> scrollback::Result<Said> {
        self.0.fetch_add(1, Ordering::Relaxed);
        super::left_out::Parrot.ask(question).await
    }
}

fn desk(strategy: StrategyName) -> Desk {
    Desk::new(Arc::new(MemoryStore::default()), settings(strategy), 6_000)
}

/// A conversation with something to fold.
async fn talked(desk: &mut Desk, turns: usize) -> Vec<Value> {
    let mut history = Vec::new();
    for turn in 0..turns {
        let question =
            user(&format!("Note {turn}: the ferry Petrel carries {turn}00 crates of oranges to slip {turn}."));
        desk.turn(&mut history, question, assistant(&format!("Noted: {turn}00 crates."))).await;
    }
    history
}

async fn head(desk: &Desk) -> scrollback::store::Position {
    let which = scrollback::store::Which::Id(desk.session().id);
    desk.store.sessions(&desk.tenant, which).await.unwrap()[0].branches[0].head
}

#[test]
fn a_rule_must_be_there_to_be_dropped() {
    run(async {
        let mut desk = desk(StrategyName::Pages);
        let mut history = Vec::new();
        desk.turn(&mut history, user("Never paint the hull red."), assistant("Never red.")).await;
        let key = desk.session();
        for (name, missing) in [("r0.2", true), ("r1.1", true), ("0.1", false), ("rr0.1", false), ("r0", false)] {
            let error = desk.engine.change(&key, &Change::DropRule(name.into()), At(9)).await.unwrap_err();
            assert_eq!(matches!(error, Error::NotFound(_)), missing, "{name}: {error}");
        }
        assert_eq!(desk.engine.controls(&key).await.unwrap(), scrollback::control::Controls::default());
        let dropped = desk.engine.change(&key, &Change::DropRule("r0.1".into()), At(9)).await.unwrap();
        assert!(dropped.dropped_rules.contains("r0.1"));
    });
}

#[test]
fn a_small_window_is_summarised_too() {
    run(async {
        let mut desk = desk(StrategyName::Summary);
        talked(&mut desk, 12).await;
        let (key, head) = (desk.session(), head(&desk).await);
        let budget = Budget { tokens: 600 };
        let folding = Folding { session: &key, head, layout: "summary@1000", model: "gpt-5", budget, recalls: true };
        let fold = desk.engine.compress(folding, At(99)).await.unwrap().unwrap();
        assert!(fold.summary.is_some() && fold.tokens < 600, "{fold:?}");
    });
}

/// Whoever asks for a fold may talk with a model that can recall nothing.
#[test]
fn a_fold_that_is_asked_for_names_tools_only_where_there_are_any() {
    run(async {
        let strategies = [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts];
        for (strategy, recalls) in strategies.into_iter().flat_map(|strategy| [(strategy, true), (strategy, false)]) {
            let mut desk = desk(strategy);
            talked(&mut desk, 12).await;
            let (key, head, layout) = (desk.session(), head(&desk).await, format!("{strategy}@3000"));
            let (layout, model, budget) = (layout.as_str(), "gpt-5", Budget { tokens: 2_000 });
            let folding = Folding { session: &key, head, layout, model, budget, recalls };
            let fold = desk.engine.compress(folding, At(99)).await.unwrap().unwrap();
            assert_eq!(fold.text.contains("search_history"), recalls, "{strategy}: {}", fold.text);
        }
    });
}

/// Nobody's words are cut in the middle of a sentence.
#[test]
fn a_summary_that_does_not_fit_is_not_taken() {
    run(async {
        let mut desk = desk(StrategyName::Summary);
        talked(&mut desk, 12).await;
        let (key, head) = (desk.session(), head(&desk).await);
        let budget = Budget { tokens: 2_000 };
        let folding = Folding { session: &key, head, layout: "summary@3000", model: "gpt-5", budget, recalls: true };
        let fold = desk.engine.compress(folding, At(99)).await.unwrap().unwrap();
        let note = NoteName::Summary(fold.summary.unwrap().covers.last.0);
        let words = "The ferry Petrel carries oranges.\n".repeat(400);
        let error = desk.engine.edit(folding, note, &words, At(100)).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge(_)) && error.to_string().contains("shorter"), "{error}");
        let edited = desk.engine.edit(folding, note, "Oranges, all of them.", At(101)).await.unwrap();
        assert!(edited.text.contains("Oranges, all of them."));
    });
}

/// A page whose note is too long for the contents page would be listed no more.
#[test]
fn a_note_that_does_not_fit_is_not_taken() {
    run(async {
        let mut desk = desk(StrategyName::Pages);
        talked(&mut desk, 12).await;
        let (key, head) = (desk.session(), head(&desk).await);
        let budget = Budget { tokens: 2_000 };
        let folding = Folding { session: &key, head, layout: "pages@3000", model: "gpt-5", budget, recalls: true };
        let fold = desk.engine.compress(folding, At(99)).await.unwrap().unwrap();
        let note = NoteName::Page(fold.listed.last().unwrap().number());
        let words = "The ferry Petrel carries oranges.\n".repeat(400);
        let error = desk.engine.edit(folding, note, &words, At(100)).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge(_)) && error.to_string().contains("shorter"), "{error}");
        let edited = desk.engine.edit(folding, note, "Oranges, all of them.", At(101)).await.unwrap();
        assert!(edited.text.contains("Oranges, all of them."), "{}", edited.text);
    });
}

/// Two models with different limits fold the same branch, each for itself; no version of one may take the place of
/// another's.
#[test]
fn artifacts_of_one_limit_are_not_overwritten_by_those_of_another() {
    run(async {
        let mut desk = desk(StrategyName::Artifacts);
        let mut history = talked(&mut desk, 6).await;
        let (key, first) = (desk.session(), head(&desk).await);
        let folding = |head, layout, tokens| Folding {
            session: &key,
            head,
            layout,
            model: "gpt-5",
            budget: Budget { tokens },
            recalls: true,
        };
        let large = desk.engine.compress(folding(first, "artifacts@6000", 6_000), At(100)).await.unwrap().unwrap();
        let before = desk.engine.artifacts(&key, &large).await.unwrap();
        for turn in 0..4 {
            let question = user(&format!("Another matter {turn}: the violin of 1921 travels in the cabin."));
            desk.turn(&mut history, question, assistant("It does.")).await;
        }
        let later = head(&desk).await;
        let small = desk.engine.compress(folding(later, "artifacts@3000", 3_000), At(101)).await.unwrap().unwrap();
        assert_ne!(large.covers, small.covers, "the two folds are different");
        assert_eq!(desk.engine.artifacts(&key, &large).await.unwrap(), before, "a version was overwritten");
        let versions = desk.engine.versions(&key, before[0].id).await.unwrap();
        let mut numbers: Vec<u32> = versions.iter().map(|version| version.artifact.version).collect();
        numbers.sort_unstable();
        // One of the turns themselves, whose windows have a limit of their own.
        assert_eq!(numbers, [1, 2, 3]);
        let edited = desk.engine.edit(
            folding(later, "artifacts@6000", 6_000),
            NoteName::Artifact(before[0].id),
            "# Mine\n\nWords.",
            At(102),
        );
        let edited = edited.await.unwrap();
        assert_eq!(desk.engine.artifacts(&key, &edited).await.unwrap()[0].version, 4);
        assert_eq!(before[0].id, ArtifactId(MessageId(0)));
    });
}

/// Work for two limits may be done at the same instant; every question is paid for, so every one is on record.
#[test]
fn whatever_the_helper_is_asked_at_one_instant_is_in_the_ledger() {
    run(async {
        let counter = Arc::new(Counter::default());
        let tasks = Tasks::new(counter.clone(), TaskSettings::default());
        let store = Arc::new(MemoryStore::default());
        let mut desk = Desk::with_tasks(store, settings(StrategyName::Artifacts), 6_000, tasks);
        talked(&mut desk, 6).await;
        let (key, head, before) = (desk.session(), head(&desk).await, counter.0.load(Ordering::Relaxed));
        let ledger = || async {
            let all = Keys::After(String::new(), 9_999);
            desk.store.records(&Scope::Session(key.clone()), Kind::Ledger, all).await.unwrap().len()
        };
        let known = ledger().await;
        for layout in ["artifacts@6000", "artifacts@3000"] {
            let folding = Folding {
                session: &key,
                head,
                layout,
                model: "gpt-5",
                budget: Budget { tokens: 3_000 },
                recalls: true,
            };
            desk.engine.compress(folding, At(100)).await.unwrap().unwrap();
        }
        let asked = counter.0.load(Ordering::Relaxed) - before;
        assert!(asked >= 2, "{asked}");
        assert_eq!(ledger().await - known, asked);
    });
}

#[test]
fn any_conversation_is_summed_up_and_nothing_is_stored() {
    run(async {
        let desk = desk(StrategyName::Pages);
        let messages: Vec<Value> = (0..9)
            .flat_map(|turn| {
                [user(&format!("How many crates on day {turn}?")), assistant(&format!("{turn}40 crates."))]
            })
            .collect();
        let text = Value::Array(messages).to_string();
        let wanted = Wanted { most_tokens: Some(300), style: "auto", model: "" };
        let summary = desk.engine.summarise(&History::parse(&text).unwrap(), wanted).await.unwrap();
        assert!(summary.covers.count() == 18 && !summary.text.is_empty(), "{summary:?}");
        assert!(summary.kept.iter().any(|quote| quote.text.contains("day 0")), "questions stay word for word");
        let nothing = desk.engine.summarise(&History::parse("[]").unwrap(), wanted).await.unwrap_err();
        assert!(matches!(nothing, Error::Invalid(_)), "{nothing}");
        let all = scrollback::store::Which::Page { skip: 0, limit: 9 };
        assert!(desk.store.sessions(&desk.tenant, all).await.unwrap().is_empty());
    });
}

#[test]
fn whoever_has_a_long_conversation_summed_up_leaves_others_their_turn_and_may_go_away() {
    run(async {
        let desk = desk(StrategyName::Pages);
        let messages: Vec<Value> = (0..60).map(|turn| user(&format!("How many crates on day {turn}?"))).collect();
        let text = Value::Array(messages).to_string();
        let wanted = Wanted { most_tokens: Some(u32::MAX), style: "auto", model: "" };
        let history = History::parse(&text).unwrap();
        tokio::select! {
            biased;
            summary = desk.engine.summarise(&history, wanted) => panic!("nobody had a turn: {summary:?}"),
            () = tokio::task::yield_now() => {}
        }
    });
}
