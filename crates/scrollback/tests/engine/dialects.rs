//! Facts about conversations in other dialects: replies of several items, reasoning beside the path, results in blocks,
//! instructions outside of the array.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use scrollback::engine::{Around, Ask, Finish, Turn};
use scrollback::ids::Hash128;
use scrollback::log::{Arrival, History};
use scrollback::store::{Beside, Place};
use scrollback::strategy::StrategyName;
use scrollback::window::{Body, Budget, Reason};
use scrollback::{At, MemoryStore, Message, SqliteOptions, SqliteStore, Store};
use serde_json::{Value, json};

use super::desk::{Desk, LIMIT, raw, run, settings, texts};
use super::erasing::fold;
use super::kit::{assistant, call_item, output_item, reasoning, result, results, system, user, uses};
use super::sections::Watched;

fn strings(values: &[Value]) -> Vec<String> {
    values.iter().map(Value::to_string).collect()
}

fn reasons(turn: &Turn) -> Vec<Reason> {
    turn.window().blocks().iter().map(|block| block.reason).collect()
}

/// A reply of four items, two of which only its provider can read.
fn thought() -> Vec<Value> {
    vec![reasoning("rs_1"), reasoning("rs_2"), call_item("call-1-abcdef", "look"), call_item("call-2-abcdef", "look")]
}

async fn asides(desk: &Desk) -> usize {
    let span = scrollback::store::Span::Arrival { from: scrollback::MessageId(0), limit: 1_000 };
    let all = desk.store.read(&desk.session(), span).await.unwrap();
    all.iter().filter(|stored| stored.place == Place::Beside(Beside::Aside)).count()
}

fn stores() -> Vec<(Arc<dyn Store>, Option<tempfile::TempDir>)> {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteStore::open(&SqliteOptions::new(folder.path().join("log.db"))).unwrap();
    vec![(Arc::new(MemoryStore::default()), None), (Arc::new(file), Some(folder))]
}

#[test]
fn reasoning_of_a_reply_is_shown_in_place_and_kept_once() {
    run(async {
        for (store, _folder) in stores() {
            let mut desk = Desk::new(store, settings(StrategyName::Pages), 8_000);
            let mut history = vec![user("Look it up, please.")];
            let turn = desk.begin(&history).await.unwrap();
            desk.finish_around(turn, &thought(), Vec::new()).await;
            history.extend(thought());
            history.extend([output_item("call-1-abcdef", "one"), output_item("call-2-abcdef", "two")]);
            let dropped: Vec<Value> =
                history.iter().filter(|message| message["type"] != "reasoning").cloned().collect();
            for sent in [&history, &dropped, &history] {
                let turn = desk.begin(sent).await.unwrap();
                assert_eq!(texts(turn.window()), strings(&history));
                assert_eq!(reasons(&turn)[1..3], [Reason::Reasoning; 2]);
                assert!(turn.window().lost() == 0 && turn.window().is_untouched());
                desk.restart();
                let again = desk.begin(sent).await.unwrap();
                assert_eq!(texts(again.window()), strings(&history));
                assert_eq!(asides(&desk).await, 2);
            }
        }
    });
}

#[test]
fn reasoning_costs_tokens_and_views_tell_them() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let long = json!({"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "A".repeat(5_000)});
        let history = vec![user("Think."), long, assistant("Thought."), user("And now?")];
        let turn = desk.begin(&history).await.unwrap();
        assert_eq!(reasons(&turn), [Reason::Open, Reason::Reasoning, Reason::Open, Reason::CurrentTurn]);
        let tokens = turn.window().blocks()[1].tokens;
        assert!((1_000..1_010).contains(&tokens), "{tokens}");
        let (whole, path) = (turn.window().tokens(), turn.path_tokens());
        assert_eq!(whole, path);
        desk.finish(turn, &assistant("Well.")).await;
        let view = desk.engine.views(&desk.session()).await.unwrap().pop().unwrap().view;
        assert_eq!((view.reasoning_tokens, view.tokens()), (tokens, whole));
        let drawn = desk.engine.window_of(&desk.session(), &view).await.unwrap();
        assert_eq!(texts(&drawn), strings(&history));
    });
}

/// Another reply to the same question has reasoning of its own.
#[test]
fn branches_do_not_share_reasoning() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let question = user("Which way?");
        for side in ["left", "right"] {
            let turn = desk.begin(std::slice::from_ref(&question)).await.unwrap();
            desk.finish_around(turn, &[reasoning(side), assistant(side)], Vec::new()).await;
        }
        for side in ["left", "right", "left"] {
            desk.restart();
            let turn = desk.begin(&[question.clone(), assistant(side), user("Why?")]).await.unwrap();
            let shown = [question.clone(), reasoning(side), assistant(side), user("Why?")];
            assert_eq!(texts(turn.window()), strings(&shown));
        }
    });
}

/// A reply that is nothing but reasoning leaves no message, and what comes next does not take it for its own.
#[test]
fn reasoning_that_led_nowhere_is_kept_and_not_shown() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let mut history = vec![user("Think."), assistant("Of what?"), user("Of anything.")];
        let turn = desk.begin(&history).await.unwrap();
        let message = Message::from_json(&reasoning("rs_1").to_string()).unwrap();
        let kept = desk.engine.finish(turn, Finish::of(message, "gpt-5", At(50))).await.unwrap();
        assert!(kept.is_none());
        history.extend([user("Well?")]);
        for _ in 0..2 {
            let turn = desk.begin(&history).await.unwrap();
            assert_eq!(texts(turn.window()), strings(&history));
            desk.restart();
        }
        assert_eq!(asides(&desk).await, 1);
    });
}

/// Rounds of recall come before the reasoning they led to; what the client does not see of the reply comes after it.
#[test]
fn what_is_hidden_around_a_reply_of_several_items_stands_in_order() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let mut history = vec![user("Look it up, please.")];
        let mut turn = desk.begin(&history).await.unwrap();
        let round = [call_item("ours-1", "search_history"), output_item("ours-1", "found")];
        turn.push_round(round.iter().map(raw).collect());
        let mixed = [call_item("ours-2", "recall_page"), output_item("ours-2", "shown")];
        let around = Around { index: 2, before: vec![raw(&mixed[0])], whole: None, after: vec![raw(&mixed[1])] };
        desk.finish_around(turn, &thought(), vec![around]).await;
        history.extend(thought());
        history.extend([output_item("call-1-abcdef", "one"), output_item("call-2-abcdef", "two")]);
        let [thought_1, thought_2, call_1, call_2] = <[Value; 4]>::try_from(thought()).unwrap();
        let ([asked, found], [ours, shown]) = (round, mixed);
        let (one, two) = (history[5].clone(), history[6].clone());
        let whole = [history[0].clone(), asked, found, thought_1, thought_2, ours, call_1, shown, call_2, one, two];
        for _ in 0..2 {
            let turn = desk.begin(&history).await.unwrap();
            assert_eq!(texts(turn.window()), strings(&whole));
            desk.restart();
        }
    });
}

#[test]
fn what_a_reply_is_bound_to_outlives_a_restart() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let reply = json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Yes."}]});
        let turn = desk.begin(&[user("Really?")]).await.unwrap();
        let bound = Hash128::of("tools", &[b"look"]);
        let message = Message::from_json(&reply.to_string()).unwrap();
        let notices = vec!["2 results were cleared".to_owned()];
        let finish = Finish { bound: Some(bound), notices: notices.clone(), ..Finish::of(message, "claude", At(40)) };
        let stored = desk.engine.finish(turn, finish).await.unwrap().unwrap();
        let history = [user("Really?"), reply, user("Why?")];
        for _ in 0..2 {
            let turn = desk.begin(&history).await.unwrap();
            assert_eq!(turn.bound(stored.id), Some(bound));
            assert_eq!(turn.bound(turn.received().head.unwrap().id), None);
            desk.restart();
        }
        let view = desk.engine.views(&desk.session()).await.unwrap().pop().unwrap().view;
        assert_eq!((view.notices, view.bound), (notices, Some(bound)));
    });
}

fn ask<'a>(desk: &'a Desk, history: &'a History<'a>) -> Ask<'a> {
    let arrival = Arrival::new(&desk.tenant, desk.declared, "gpt-5", At(desk.now + 1));
    Ask::new(arrival, history, Budget { tokens: desk.budget }, LIMIT)
}

#[test]
fn a_turn_may_have_a_strategy_of_its_own() {
    run(async {
        let mut desk = Desk::memory(900);
        let mut history = Vec::new();
        for i in 0..12 {
            let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(12)));
            desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
        }
        history.push(user("And?"));
        let text = Value::Array(history.clone()).to_string();
        let parsed = History::parse(&text).unwrap();
        let through = Ask { strategy: Some(StrategyName::Passthrough), ..ask(&desk, &parsed) };
        let turn = desk.engine.begin(through).await.unwrap();
        assert_eq!(texts(turn.window()), strings(&history));
        assert!(turn.window().is_untouched() && turn.tools().is_empty());
        let usual = desk.engine.begin(ask(&desk, &parsed)).await.unwrap();
        assert!(!usual.window().is_untouched(), "the next turn is as before");
    });
}

#[test]
fn a_placeholder_stands_for_the_large_results_of_a_message_alone() {
    run(async {
        let mut desk = Desk::memory(8_000);
        let ids = ["toolu-1-abcdef".to_owned(), "toolu-2-abcdef".to_owned()];
        let brought = [(ids[0].clone(), "row of the log\n".repeat(200)), (ids[1].clone(), "three lines".to_owned())];
        let mut history = vec![user("Look."), uses(&ids, "look"), results(&brought, "Mind the rows.")];
        history.extend([assistant("Seen."), user("And?")]);
        let turn = desk.begin(&history).await.unwrap();
        let block = &turn.window().blocks()[2];
        let Body::Held(_, placeholder) = &block.body else { panic!("{block:?}") };
        assert_eq!(placeholder.calls, [ids[0].clone()]);
        let alone = scrollback::tokens::Vocabulary::O200k.count(&placeholder.text);
        let beside = ["three lines", "Mind the rows."].map(|text| scrollback::tokens::Vocabulary::O200k.count(text));
        assert_eq!(block.tokens as usize, alone + 4 + beside[0] + beside[1]);
        let large = result("call-1-abcdef", &"row of the log\n".repeat(200));
        let chat = [
            user("Look."),
            super::kit::call("call-1-abcdef", "look", &json!({})),
            large,
            assistant("Seen."),
            user("And?"),
        ];
        let turn = Desk::memory(8_000).begin(&chat).await.unwrap();
        let Body::Held(_, placeholder) = &turn.window().blocks()[2].body else { panic!("not held") };
        assert_eq!(placeholder.calls, ["call-1-abcdef"]);
    });
}

/// Parallel calls that are messages of their own go together: none is folded away from its result, nor from the words
/// of its reply.
#[test]
fn calls_of_one_reply_are_not_parted() {
    run(async {
        let mut desk = Desk::memory(1_500);
        let (mut history, mut replies) = (vec![user("Look everywhere.")], Vec::<[String; 2]>::new());
        for step in 0..12 {
            let ids: Vec<String> = (0..3).map(|i| format!("call-{step}-{i}-abcdef")).collect();
            let turn = desk.begin(&history).await.unwrap();
            super::laws::assert_paired(turn.window());
            let sent = texts(turn.window());
            for [words, call] in &replies {
                assert_eq!(sent.contains(words), sent.contains(call), "step {step}: {sent:?}");
            }
            let words = assistant(&format!("Step {step}: {}", "I look. ".repeat(30)));
            let calls = ids.iter().map(|id| call_item(id, "look"));
            let reply: Vec<Value> = std::iter::once(words).chain(calls).collect();
            replies.push([reply[0].to_string(), reply[1].to_string()]);
            desk.finish_around(turn, &reply, Vec::new()).await;
            history.extend(reply);
            history.extend(ids.iter().map(|id| output_item(id, &"a line of it ".repeat(20))));
        }
        let turn = desk.begin(&history).await.unwrap();
        super::laws::assert_paired(turn.window());
        assert!(!turn.window().is_untouched(), "nothing was folded");
    });
}

/// Instructions that were given in the middle of a talk hold however old they are.
#[test]
fn instructions_on_the_path_are_kept_when_they_are_folded() {
    run(async {
        for strategy in [StrategyName::Pages, StrategyName::Summary, StrategyName::Topics, StrategyName::Artifacts] {
            let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(strategy), 1_200);
            let mut history = vec![user("Hello."), assistant("Hello."), system("From now on, answer in rhymes.")];
            for i in 0..24 {
                let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(20)));
                desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
            }
            history.push(user("And?"));
            let given = history[2].to_string();
            for _ in 0..2 {
                let turn = desk.begin(&history).await.unwrap();
                let shown = turn.window().blocks().iter().find(|block| block.text() == given);
                assert_eq!(shown.map(|block| block.reason), Some(Reason::Kept), "{strategy}");
                assert!(turn.window().lost() == 0 && turn.window().fits());
                desk.restart();
            }
        }
    });
}

/// Some clients remind the model at every turn: what all of that costs does not grow for ever.
#[test]
fn instructions_that_are_given_again_and_again_stay_few() {
    run(async {
        for strategy in [StrategyName::Pages, StrategyName::Summary] {
            let store = Arc::new(Watched::default());
            let mut desk = Desk::new(store.clone(), settings(strategy), 1_200);
            let mut history = vec![user("Hello."), assistant("Hello."), system("From now on, answer in rhymes.")];
            for i in 0..100 {
                history.push(system("Remember to be kind."));
                history.push(system(&format!("It is minute {i}.")));
                let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(20)));
                desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
            }
            let fold = fold(&desk).await;
            let said: Vec<&Value> = fold.instructions.iter().map(|id| &history[id.0 as usize]).collect();
            let kind = system("Remember to be kind.");
            assert_eq!(said.iter().filter(|said| ***said == kind).count(), 1, "{strategy}: once");
            assert_eq!((said.len(), said[0]), (64, &history[2]), "{strategy}: the first one stays");
            let open = fold.open().0 as usize;
            let newest = history[..open].iter().rposition(|said| said["role"] == "system").unwrap();
            assert_eq!(said[63], &history[newest], "{strategy}");
            let turn = desk.begin(&[&history[..], &[user("And?")]].concat()).await.unwrap();
            assert!(texts(turn.window()).contains(&kind.to_string()), "{strategy}");
            let most = store.most.load(Ordering::Relaxed);
            assert!(most <= 80, "{strategy}: {most} were read at once");
        }
    });
}

#[test]
fn a_preview_stores_nothing_and_shows_what_is_known() {
    run(async {
        let mut desk = Desk::memory(900);
        let mut history = vec![system("Be brief.")];
        let parse = |history: &[Value]| Value::Array(history.to_vec()).to_string();
        let text = parse(&[system("Be brief."), user("Hello?")]);
        let fresh = desk.engine.preview(&ask(&desk, &History::parse(&text).unwrap())).await.unwrap().unwrap();
        assert!(fresh.window.is_none() && fresh.fresh.len() == 2);
        for i in 0..12 {
            let question = user(&format!("Question {i}: {}?", "boats and tides ".repeat(12)));
            desk.turn(&mut history, question, assistant(&format!("Answer {i}."))).await;
        }
        let before = desk.engine.views(&desk.session()).await.unwrap().len();
        let next = [&history[..], &[user("And now?")]].concat();
        let text = parse(&next);
        for _ in 0..2 {
            let parsed = History::parse(&text).unwrap();
            let preview = desk.engine.preview(&ask(&desk, &parsed)).await.unwrap().unwrap();
            assert_eq!(preview.fresh.iter().map(Message::to_text).collect::<Vec<_>>(), ["And now?"]);
            let shown = texts(preview.window.as_ref().unwrap());
            assert_eq!(shown[0], system("Be brief.").to_string());
            let sent =
                desk.store.sessions(&desk.tenant, scrollback::store::Which::Id(desk.session().id)).await.unwrap();
            assert_eq!(sent[0].messages as usize, history.len(), "something was stored");
            desk.restart();
        }
        assert_eq!(desk.engine.views(&desk.session()).await.unwrap().len(), before);
        let parsed = History::parse(&text).unwrap();
        let preview = desk.engine.preview(&ask(&desk, &parsed)).await.unwrap().unwrap();
        let turn = desk.begin(&next).await.unwrap();
        let shown = texts(turn.window());
        assert_eq!(texts(&preview.window.unwrap()), shown[..shown.len() - 1]);
    });
}

/// Summaries are folded only against a known limit, unless a person asks for it.
#[test]
fn a_preview_for_a_model_of_unknown_limit_looks_at_the_layout_of_its_turns() {
    run(async {
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(StrategyName::Summary), 900);
        let mut history = Vec::new();
        for i in 0..12 {
            desk.turn(&mut history, user(&format!("Question {i}?")), assistant("Two metres.")).await;
        }
        let text = Value::Array([&history[..], &[user("And now?")]].concat()).to_string();
        let parsed = History::parse(&text).unwrap();
        let asked = Ask { is_assumed: true, forced: true, ..ask(&desk, &parsed) };
        let turn = desk.engine.begin(asked).await.unwrap();
        assert!(turn.has_folded() && turn.limit_tokens() > desk.limit, "{}", turn.layout());
        let preview = desk.engine.preview(&asked).await.unwrap().unwrap();
        assert_eq!(texts(&preview.window.unwrap()), texts(turn.window()));
    });
}

/// An agent may work at one question for longer than a window: the question stays in sight, word for word.
#[test]
fn the_question_of_a_turn_that_is_parted_stays_in_sight() {
    run(async {
        for strategy in [StrategyName::Pages, StrategyName::Summary, StrategyName::Topics, StrategyName::Artifacts] {
            let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(strategy), 1_500);
            let mut history = vec![user("Which lamp is broken? Look at every one of them.")];
            let asked = history[0].to_string();
            for i in 0..60 {
                let call =
                    json!({"id": format!("c{i}"), "type": "function", "function": {"name": "look", "arguments": "{}"}});
                let reply = json!({"role": "assistant", "content": null, "tool_calls": [call]});
                let turn = desk.begin(&history).await.unwrap();
                let shown = turn.window().blocks().iter().any(|block| block.text() == asked);
                assert!(shown && turn.window().fits() && turn.window().lost() == 0, "{strategy}, round {i}");
                desk.finish(turn, &reply).await;
                history.push(reply);
                let lamp = format!("Lamp {i} burns. {}", "Clean glass, dry wick. ".repeat(6));
                history.push(json!({"role": "tool", "tool_call_id": format!("c{i}"), "content": lamp}));
                if i % 7 == 0 {
                    desk.restart();
                }
            }
            // The next question begins a turn of its own.
            history.push(user("Thank you."));
            assert!(desk.begin(&history).await.unwrap().window().fits());
        }
    });
}

/// What a person says who stops a tool.
const SAID: &str = "Leave the lamps, only count the gulls on the pier.";

/// The result of a call, and what its client says with it: in blocks, or as items.
fn brought(items: bool, id: String, stopped: bool) -> Vec<Value> {
    let lamp = format!("The lamp burns. {}", "Clean glass, dry wick. ".repeat(12));
    let reminder = "<system-reminder>\nMind the tide.\n</system-reminder>";
    match (items, stopped) {
        (false, false) => vec![results(&[(id, lamp)], reminder)],
        (false, true) => {
            let mut message = results(&[(id, "The person declined this.".to_owned())], "[Stopped by the person]");
            let texts = [SAID, reminder].map(|text| json!({"type": "text", "text": text}));
            message["content"].as_array_mut().unwrap().extend(texts);
            vec![message]
        }
        (true, false) => vec![output_item(&id, &lamp)],
        (true, true) => {
            let note = user("<turn_aborted>\nThe person stopped it.\n</turn_aborted>");
            vec![output_item(&id, "aborted"), note, user(SAID)]
        }
    }
}

/// A person may stop a tool and say something else: that stays in sight however long the turn goes on.
#[test]
fn what_is_said_in_the_middle_of_a_turn_stays_in_sight() {
    run(async {
        let strategies = [StrategyName::Pages, StrategyName::Summary, StrategyName::Topics, StrategyName::Artifacts];
        for (strategy, items) in strategies.into_iter().flat_map(|strategy| [(strategy, false), (strategy, true)]) {
            let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(strategy), 3_000);
            let mut history = vec![user("Look at every lamp of the pier.")];
            for i in 0..60 {
                let turn = desk.begin(&history).await.unwrap();
                let mut others = turn.window().blocks().iter().filter(|block| block.reason != Reason::Covers);
                let shown = others.any(|block| block.text().contains(SAID));
                assert_eq!(shown, i > 12, "{strategy}, items: {items}, round {i}");
                assert!(turn.window().fits() && turn.window().lost() == 0, "{strategy}, round {i}");
                let id = format!("call-{i}-abcdef");
                let reply = if items { call_item(&id, "look") } else { uses(std::slice::from_ref(&id), "look") };
                desk.finish(turn, &reply).await;
                history.push(reply);
                history.extend(brought(items, id, i == 12));
                if i % 7 == 0 {
                    desk.restart();
                }
            }
            assert_eq!(fold(&desk).await.said_since.len(), 1, "{strategy}: it is folded, and reminders do not count");
            // The next question begins a turn of its own.
            history.extend([assistant("Done."), user("Thank you.")]);
            assert!(desk.begin(&history).await.unwrap().window().fits());
        }
    });
}
