//! What a person pins is in every window, however much else there is; what does not fit whole is there in part.

use std::sync::Arc;

use scrollback::control::Change;
use scrollback::strategy::StrategyName;
use scrollback::{At, MemoryStore, MessageId};
use serde_json::Value;

use super::desk::{Desk, run, settings, texts};
use super::kit::{assistant, user};

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
