//! What a person pins is in every window, however much else there is; what does not fit whole is there in part.

use std::sync::Arc;

use scrollback::control::Change;
use scrollback::recall::Part;
use scrollback::strategy::StrategyName;
use scrollback::window::{Block, Body, Reason, Window};
use scrollback::{At, MemoryStore, MessageId};
use serde_json::{Value, json};

use super::desk::{Desk, contents, raw, run, settings, texts};
use super::kit::{assistant, call, result, user};
use super::reach::{hold, page, recall};

const STRATEGIES: [StrategyName; 4] =
    [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts];

async fn talk(desk: &mut Desk, history: &mut Vec<Value>, turns: std::ops::Range<u32>) -> String {
    let mut shown = String::new();
    for i in turns {
        let asked = user(&format!("Turn {i}: {}", "tell me about the boats and the tides of the harbour. ".repeat(6)));
        let window = desk.turn(history, asked, assistant(&format!("Boat {i} sails at noon."))).await;
        shown = texts(&window).join("\n");
        assert!(window.fits());
    }
    shown
}

async fn check(strategy: StrategyName, limit: u32, words: usize) {
    let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(strategy), limit);
    let pinned = format!("The lamp code is 7731-Q. {}", "Lamps are lit at dusk. ".repeat(words));
    let mut history = Vec::new();
    desk.turn(&mut history, user(&pinned), assistant("Noted.")).await;
    desk.turn(&mut history, user("Never sail without a lamp."), assistant("Never.")).await;
    talk(&mut desk, &mut history, 0..60).await;
    desk.engine.change(&desk.session(), &Change::Pin(MessageId(0)), At(desk.now)).await.unwrap();
    for more in [60..61, 61..90, 90..91] {
        let shown = talk(&mut desk, &mut history, more.clone()).await;
        assert!(shown.contains("The lamp code is 7731-Q."), "{strategy} at {limit}, {words}, {more:?}: {shown}");
        assert!(shown.contains("Never sail without a lamp."), "{strategy} at {limit}, {words}, {more:?}");
    }
}

#[test]
fn a_pin_is_in_every_window() {
    for strategy in STRATEGIES {
        for (limit, words) in [(3_000, 5), (3_000, 400), (12_000, 300)] {
            run(check(strategy, limit, words));
        }
    }
}

/// A long talk in which something is pinned that is too long to be kept whole.
async fn cut(strategy: StrategyName) -> (Desk, Vec<Value>) {
    let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(strategy), 4_000);
    let mut history = Vec::new();
    desk.turn(&mut history, user(&"Lamps are lit at dusk. ".repeat(600)), assistant("Noted.")).await;
    talk(&mut desk, &mut history, 0..40).await;
    desk.engine.change(&desk.session(), &Change::Pin(MessageId(0)), At(desk.now)).await.unwrap();
    talk(&mut desk, &mut history, 40..60).await;
    (desk, history)
}

/// What is kept stands before the open messages: were it cut anew whenever something is recalled, all that follows it
/// would be new to a provider's cache.
#[test]
fn a_pin_that_is_cut_stays_as_it_is_while_its_turn_goes_on() {
    for strategy in STRATEGIES {
        run(async {
            let (mut desk, mut history) = cut(strategy).await;
            history.push(user("Look."));
            let mut turn = desk.begin(&history).await.unwrap();
            let before = kept(turn.window());
            assert!(before.contains("[cut: "), "{strategy}: {before}");
            let told = "The lamps of the pier. ".repeat(40);
            let round = [call("call-1-abcdef", "search_history", &json!({})), result("call-1-abcdef", &told)];
            turn.push_round(round.iter().map(raw).collect());
            let reply = call("call-2-abcdef", "look", &json!({}));
            desk.finish(turn, &reply).await;
            history.extend([reply, result("call-2-abcdef", "The door is shut.")]);
            let window = desk.begin(&history).await.unwrap().window().clone();
            assert!(window.blocks().iter().any(|block| block.reason == Reason::Recalled) && window.fits());
            assert_eq!(kept(&window), before, "{strategy}");
        });
    }
}

/// How a model counts is learned with every reply, and what is kept free for replies changes: neither may cut a pin
/// anew while nothing is folded.
#[test]
fn a_pin_that_is_cut_stays_as_it_is_between_two_folds() {
    for strategy in STRATEGIES {
        run(async {
            let (mut desk, mut history) = cut(strategy).await;
            let (mut before, mut same) = (None, 0);
            for (i, budget) in (0..12).zip([4_000, 3_950, 3_990, 4_030].into_iter().cycle()) {
                desk.budget = budget;
                // Nothing of it was said before: what calls for quotes folds.
                let window = desk.turn(&mut history, user("Look."), assistant("I do.")).await;
                assert!(window.fits() && kept(&window).contains("[cut: "), "{strategy}");
                let now = (contents(&window), kept(&window));
                if let Some((folded, pinned)) = before.filter(|(folded, _)| *folded == now.0) {
                    assert_eq!(now.1, pinned, "{strategy}, {i}: {folded:?}");
                    same += 1;
                }
                before = Some(now);
            }
            assert!(same > 4, "{strategy}: {same}");
        });
    }
}

/// What a turn recalls is gone with its end, and a fold that made room for it stays: it keeps no less for that.
#[test]
fn a_fold_that_makes_room_for_a_recall_keeps_as_much_as_any() {
    run(async {
        let (mut desk, mut history) = cut(StrategyName::Pages).await;
        for i in 60..120 {
            history.push(user(&format!("Look, {i}. {}", "The boats are out. ".repeat(12))));
            let mut turn = desk.begin(&history).await.unwrap();
            let (room, before, listed) = (turn.window().room(), kept(turn.window()), contents(turn.window()));
            if room > 1_300 {
                let told = "The lamps of the pier. ".repeat(room as usize / 8);
                let round = [call("call-1-abcdef", "search_history", &json!({})), result("call-1-abcdef", &told)];
                turn.push_round(round.iter().map(raw).collect());
                recall(&desk, &mut turn, page(0)).await;
            }
            history.push(assistant("Seen."));
            let folded = contents(turn.window()) != listed;
            desk.finish(turn, &history[history.len() - 1]).await;
            if room > 1_300 && folded {
                history.push(user("And now?"));
                return assert_eq!(kept(desk.begin(&history).await.unwrap().window()), before);
            }
        }
        panic!("no fold made room for a recall");
    });
}

/// What is kept in a window however old it is.
fn kept(window: &Window) -> String {
    let kept = window.blocks().iter().filter(|block| block.reason == Reason::Kept);
    kept.map(Block::text).collect()
}

fn picture(words: &str) -> Value {
    let url = format!("data:image/png;base64,{}", "iVBORw0KGgo".repeat(60));
    json!({"role": "user", "content": [{"type": "text", "text": words}, {"type": "image_url", "image_url": {"url": url}}]})
}

/// Whether a window shows a message as it came.
fn shows(window: &Window, id: MessageId) -> bool {
    let is = |block: &Block| matches!(&block.body, Body::Original(stored) if stored.id == id);
    window.blocks().iter().any(is)
}

async fn check_picture(strategy: StrategyName, limit: u32) {
    let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(strategy), limit);
    let mut history = Vec::new();
    for i in 0..3 {
        desk.turn(&mut history, picture(&format!("Chart number {i} of the pier.")), assistant("Seen.")).await;
    }
    talk(&mut desk, &mut history, 0..60).await;
    desk.engine.change(&desk.session(), &Change::Pin(MessageId(0)), At(desk.now)).await.unwrap();
    for i in 60..90 {
        let asked = user(&format!("Turn {i}: tell me of the boats."));
        let window = desk.turn(&mut history, asked, assistant("They sail at noon.")).await;
        let told = texts(&window).join("\n");
        let fits = limit > 4_000;
        assert_eq!(shows(&window, MessageId(0)), fits, "{strategy} at {limit}, {i}: {told}");
        let words = told.contains("Chart number 0 of the pier.\n[image of m0 does not fit here]");
        assert!(fits || words, "{strategy} at {limit}, {i}: {told}");
    }
}

#[test]
fn a_pinned_picture_is_in_every_window_or_its_words_are() {
    for strategy in STRATEGIES {
        run(check_picture(strategy, 2_000));
        run(check_picture(strategy, 6_000));
    }
}

/// What is recalled of a picture says that there was one, and how to see it; however small it is, it is not spelt out.
#[test]
fn a_recall_tells_of_pictures() {
    run(async {
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(StrategyName::Pages), 3_000);
        let dot = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="}});
        let content = json!([{"type": "text", "text": "The chart of the pier."}, dot]);
        let mut history = Vec::new();
        desk.turn(&mut history, json!({"role": "user", "content": content}), assistant("Seen.")).await;
        talk(&mut desk, &mut history, 0..40).await;
        history.push(user("Show me the chart again."));
        let mut turn = desk.begin(&history).await.unwrap();
        for call in [page(0), hold(MessageId(0), Part::Whole)] {
            let told = recall(&desk, &mut turn, call).await;
            let line = "[image of m0: it is shown once the person pins m0]";
            assert!(told.contains("The chart of the pier.") && told.contains(line), "{told}");
            assert!(!told.contains("base64") && !told.contains("iVBOR"), "{told}");
        }
        desk.finish(turn, &assistant("Here.")).await;
    });
}
