//! Facts about turns: what a client never sees, instructions, refusals, undoing.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use scrollback::engine::{Ask, Event, Finish};
use scrollback::log::{After, Arrival, History};
use scrollback::store::Span;
use scrollback::strategy::StrategyName;
use scrollback::view::Standing;
use scrollback::window::{Body, Budget};
use scrollback::{At, Error, Message};
use serde_json::{Value, json};

use super::desk::{Desk, LIMIT, contents, raw, run, settings, texts};
use super::kit::{assistant, call, calls, result, system, tool_call, user};
use super::reach::{page, recall};
use super::sections::Watched;

/// A turn in which the model recalls, then calls a tool of the client's and one of ours at once.
async fn mixed_reply(desk: &mut Desk, history: &mut Vec<Value>) {
    history.push(user("Look it up, please."));
    let mut turn = desk.begin(history).await.unwrap();
    let asked = call("ours-1", "search_history", &json!({"words": "tide"}));
    turn.push_round(vec![raw(&asked), raw(&result("ours-1", "Nothing is found."))]);
    assert!(turn.has_recalled());
    let theirs = tool_call("theirs-1", "look", &json!({"at": "gauge"}));
    let ours = tool_call("ours-2", "recall_page", &json!({"index": 1}));
    let whole = raw(&calls(&[theirs.clone(), ours]));
    let reply = calls(&[theirs]);
    desk.finish_whole(turn, &reply, Some((whole, vec![raw(&result("ours-2", "There is no page."))]))).await;
    history.extend([reply, result("theirs-1", "The gauge stands at 3.")]);
}

fn rounds(texts: &[String]) -> Vec<&str> {
    let ours = |text: &&String| text.contains("ours-");
    texts.iter().filter(ours).map(String::as_str).collect()
}

#[test]
fn what_the_client_never_saw_comes_back_within_its_turn_and_not_later() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let mut history = vec![system("Be brief.")];
        mixed_reply(&mut desk, &mut history).await;
        let turn = desk.begin(&history).await.unwrap();
        let (shown, blocks) = (texts(turn.window()), turn.window().blocks().to_vec());
        assert_eq!(rounds(&shown).len(), 4, "{shown:#?}");
        assert!(shown[3].contains("Nothing is found") && shown[4].contains("theirs-1") && shown[4].contains("ours-2"));
        assert!(matches!(blocks[4].body, Body::Whole(..)) && shown[5].contains("There is no page"));
        assert!(turn.window().fits() && turn.window().lost() == 0);
        desk.restart();
        let turn = desk.begin(&history).await.unwrap();
        assert_eq!(texts(turn.window()), shown, "after a restart");
        desk.finish(turn, &assistant("It stands at 3.")).await;
        let within = history.clone();
        history.extend([assistant("It stands at 3."), user("Thank you.")]);
        let turn = desk.begin(&history).await.unwrap();
        assert_eq!(rounds(&texts(turn.window())), [""; 0], "in the next turn");
        desk.finish(turn, &assistant("You are welcome.")).await;
        let again = desk.begin(&within).await.unwrap();
        assert_eq!(texts(again.window()), shown, "asked once more");
        desk.restart();
        assert_eq!(texts(desk.begin(&within).await.unwrap().window()), shown);
    });
}

#[test]
fn a_window_that_is_laid_out_smaller_keeps_what_was_recalled() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let history = vec![user("Look it up, please.")];
        let mut turn = desk.begin(&history).await.unwrap();
        turn.push_round(vec![raw(&assistant("ours-1 asks")), raw(&result("ours-1", "and is told"))]);
        let before = texts(turn.window());
        desk.engine.shrink(&mut turn, 4_000).await.unwrap();
        assert_eq!(texts(turn.window()), before);
        assert_eq!(turn.window().budget(), Budget { tokens: 4_000 });
    });
}

/// Two programs share a conversation, each with instructions of its own.
#[test]
fn every_request_is_shown_with_its_own_instructions() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let mut talk = vec![user("Where is the harbour, and when does it open?"), assistant("In the north, at six.")];
        let with = |name: &str, talk: &[Value]| [&[system(name)], talk].concat();
        let first = desk.begin(&with("A", &talk[..1])).await.unwrap();
        desk.finish(first, &talk[1]).await;
        for (i, name) in ["A", "B", "A", "A", "B", "B", "A"].into_iter().enumerate() {
            talk.push(user(&format!("And what about the {i}th harbour, further down the coast?")));
            let turn = desk.begin(&with(name, &talk)).await.unwrap();
            let again = desk.begin(&with(if name == "A" { "B" } else { "A" }, &talk)).await.unwrap();
            assert_eq!(texts(turn.window())[0], system(name).to_string(), "turn {i}");
            assert_ne!(texts(again.window())[0], system(name).to_string(), "turn {i}");
            let reply = assistant(&format!("The {i}th one opens later, at about ten."));
            desk.finish(turn, &reply).await;
            talk.push(reply);
            let turn = desk.begin(&with(name, &talk)).await.unwrap();
            assert_eq!(texts(turn.window())[0], system(name).to_string(), "turn {i}");
        }
    });
}

/// Two models share a conversation; the instructions change while only one of them is asked.
#[test]
fn another_model_is_shown_the_instructions_of_its_own_request() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let talk = [user("Where is the harbour, and when does it open?")];
        for (limit, name) in [(32_000, "A"), (8_000, "A"), (32_000, "B"), (8_000, "B"), (8_000, "A"), (32_000, "A")] {
            desk.limit = limit;
            let turn = desk.begin(&[&[system(name)], &talk[..]].concat()).await.unwrap();
            assert_eq!(texts(turn.window())[0], system(name).to_string(), "{limit} {name}");
        }
    });
}

async fn only_new(desk: &mut Desk, messages: &[Value]) -> scrollback::engine::Turn {
    desk.now += 1;
    let text = Value::Array(messages.to_vec()).to_string();
    let history = History::parse(&text).unwrap();
    let arrival = Arrival::new(&desk.tenant, desk.declared, "gpt-5", At(desk.now));
    let (after, budget) = (Some(After::Last("talk")), Budget { tokens: desk.budget });
    desk.engine.begin(Ask { after, ..Ask::new(arrival, &history, budget, LIMIT) }).await.unwrap()
}

#[test]
fn new_instructions_last_until_newer_ones_also_after_a_restart() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let turn = only_new(&mut desk, &[system("First."), user("Where is the harbour?")]).await;
        desk.finish(turn, &assistant("In the north.")).await;
        let turn = only_new(&mut desk, &[system("Second."), user("And when does it open?")]).await;
        assert!(texts(turn.window())[0].contains("Second."));
        desk.finish(turn, &assistant("At six.")).await;
        let turn = only_new(&mut desk, &[user("On Sundays too?")]).await;
        let shown = texts(turn.window());
        assert!(shown[0].contains("Second."), "{shown:#?}");
        desk.restart();
        let again = only_new(&mut desk, &[user("On Sundays too?")]).await;
        assert_eq!(texts(again.window()), shown);
    });
}

#[test]
fn a_refused_message_leaves_everything_as_it_was() {
    run(async {
        let mut desk = Desk::memory(1_000);
        let mut history = Vec::new();
        for i in 0..3 {
            desk.turn(&mut history, user(&format!("Question number {i}?")), assistant(&format!("Answer {i}."))).await;
        }
        let huge = [&history[..], &[user(&"word ".repeat(4_000))]].concat();
        let error = desk.begin(&huge).await.err().unwrap();
        assert!(matches!(&error, Error::TooLarge(text) if text.contains("m6 user with 4,0")), "{error}");
        let smaller = [&history[..], &[user("Shorter?")]].concat();
        let turn = desk.begin(&smaller).await.unwrap();
        assert!(turn.window().is_untouched());
        desk.restart();
        let after = desk.begin(&smaller).await.unwrap();
        assert_eq!(texts(after.window()), texts(turn.window()));
        let both = [&huge[..], &[user("Shorter?")]].concat();
        let turn = desk.begin(&both).await.unwrap();
        assert!(turn.window().fits() && turn.window().lost() == 0 && contents(turn.window()).is_some());
    });
}

#[test]
fn a_fold_is_undone_and_made_again() {
    run(async {
        let mut desk = Desk::memory(2_000);
        let mut history = Vec::new();
        let mut folded = None;
        for i in 0..40 {
            let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(12)));
            let window = desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
            if let (None, Some(page)) = (&folded, contents(&window)) {
                folded = Some((i, page));
            }
        }
        let (_, first) = folded.unwrap();
        history.push(user("May I see it again?"));
        let turn = desk.begin(&history).await.unwrap();
        let now = contents(turn.window()).unwrap();
        assert_ne!(now, first);
        let mut fold = desk.undo(&turn).await.unwrap();
        assert_ne!(fold.text, now);
        while fold.covers.is_some() {
            fold = desk.undo(&turn).await.unwrap();
        }
        assert!(matches!(desk.undo(&turn).await, Err(Error::NotFound(_))));
        let again = desk.begin(&history).await.unwrap();
        assert!(again.window().fits() && again.window().lost() == 0, "a fold that must be is made again");
        let views = desk.engine.views(&desk.session()).await.unwrap();
        assert_eq!(views.len(), 40, "every finished turn has a view");
        let early = &views[0].view;
        let standing = desk.engine.standing(&desk.session(), early, history_id(&turn)).await.unwrap();
        assert_eq!(standing, Some(Standing::Later));
    });
}

fn history_id(turn: &scrollback::engine::Turn) -> scrollback::MessageId {
    turn.received().head.unwrap().id
}

/// Undoing in a window that has room shows the messages again, until it must fold.
#[test]
fn an_undone_fold_waits_until_it_must_be() {
    run(async {
        let mut desk = Desk::memory(20_000);
        let mut history = Vec::new();
        for i in 0..7 {
            desk.turn(&mut history, user(&format!("Question {i}?")), assistant(&format!("Answer {i}."))).await;
        }
        history.push(user("What was the first?"));
        let turn = desk.begin(&history).await.unwrap();
        assert!(contents(turn.window()).is_some(), "more than twice the pages that are kept");
        desk.undo(&turn).await.unwrap();
        for restart in [false, true] {
            if restart {
                desk.restart();
            }
            assert!(desk.begin(&history).await.unwrap().window().is_untouched(), "{restart}");
        }
    });
}

/// The same where nobody could tell that it was written: what counts is what is in the store.
#[test]
fn an_undo_whose_answer_is_lost_counts_all_the_same() {
    run(async {
        let store = Arc::new(Watched::default());
        let mut desk = Desk::new(store.clone(), settings(StrategyName::Pages), 20_000);
        let mut history = Vec::new();
        for i in 0..7 {
            desk.turn(&mut history, user(&format!("Question {i}?")), assistant(&format!("Answer {i}."))).await;
        }
        history.push(user("What was the first?"));
        let turn = desk.begin(&history).await.unwrap();
        assert!(contents(turn.window()).is_some());
        store.loses_answers.store(true, Ordering::Relaxed);
        assert!(matches!(desk.undo(&turn).await, Err(Error::Store { .. })));
        store.loses_answers.store(false, Ordering::Relaxed);
        assert!(desk.begin(&history).await.unwrap().window().is_untouched());
    });
}

/// A model has been paid for it. What is counted beside it is not worth losing it for.
#[test]
fn a_reply_is_kept_though_nothing_can_be_read() {
    for strategy in [StrategyName::Pages, StrategyName::Topics] {
        run(async {
            let store = Arc::new(Watched::default());
            let mut desk = Desk::new(store.clone(), settings(strategy), 2_000);
            let mut history = Vec::new();
            for i in 0..40 {
                let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(12)));
                desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
            }
            let events = desk.engine.events(&desk.session()).await.unwrap();
            let is_scored = events.iter().any(|(_, event)| matches!(event, Event::Scored { .. }));
            assert!(is_scored || strategy != StrategyName::Topics, "no turn was scored: {events:?}");
            history.push(user("What were the boats and tides of the first question?"));
            let mut turn = desk.begin(&history).await.unwrap();
            if strategy == StrategyName::Pages {
                let told = recall(&desk, &mut turn, page(0)).await;
                assert!(told.contains("Question 0"), "{told}");
            }
            let reply = Message::from_json(&assistant("They were many.").to_string()).unwrap();
            store.gives_nothing.store(true, Ordering::Relaxed);
            let kept = desk.engine.finish(turn, Finish::of(reply, "gpt-5", At(desk.now))).await;
            store.gives_nothing.store(false, Ordering::Relaxed);
            let last = desk.store.read(&desk.session(), Span::Last).await.unwrap().pop().unwrap();
            assert_eq!((kept.unwrap().unwrap().id, last.message().to_text().as_str()), (last.id, "They were many."));
            let views = desk.engine.views(&desk.session()).await.unwrap();
            assert_eq!(views.len(), 41, "what was shown is on record");
        });
    }
}

#[test]
fn a_branch_cannot_recall_what_another_said() {
    run(async {
        let mut desk = Desk::memory(2_000);
        let mut history = Vec::new();
        for i in 0..20 {
            let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(12)));
            desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
        }
        let mut other = history[..6].to_vec();
        for i in 0..20 {
            let question = user(&format!("Secret {i}: {}?", "boats and whales ".repeat(12)));
            desk.turn(&mut other, question, assistant(&format!("Hidden {i}."))).await;
        }
        history.push(user("What was the secret?"));
        let mut turn = desk.begin(&history).await.unwrap();
        for id in 40..60 {
            let told = recall(&desk, &mut turn, page(id)).await;
            assert_eq!(told, format!("There is no page #{id} in this conversation."));
            let told = recall(
                &desk,
                &mut turn,
                super::reach::hold(scrollback::MessageId(id), scrollback::recall::Part::Whole),
            )
            .await;
            assert_eq!(told, format!("There is no tool result h{id} in this conversation."));
        }
        let told = recall(&desk, &mut turn, super::reach::search("whales secret hidden")).await;
        assert!(!told.contains("whales") || told.starts_with("Nothing"), "{told}");
        desk.declared = Some("another");
        let mut elsewhere = desk.begin(&[user("And here, in another session?")]).await.unwrap();
        let told = recall(&desk, &mut elsewhere, super::reach::search("boats tides")).await;
        assert!(told.starts_with("Nothing"), "{told}");
        assert!(recall(&desk, &mut elsewhere, page(3)).await.starts_with("There is no page"));
    });
}
