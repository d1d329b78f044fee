//! Turns that go on from a place of the log, whatever was said after it.

use scrollback::engine::{Ask, Turn};
use scrollback::log::{After, Arrival, History};
use scrollback::window::Budget;
use scrollback::{At, MessageId};
use serde_json::Value;

use crate::desk::{Desk, LIMIT, run, texts};
use crate::kit::{assistant, long, system, user};

async fn after(desk: &mut Desk, message: Option<u32>, heads: Option<Vec<Value>>, said: &str) -> Turn {
    desk.now += 1;
    let text = Value::Array(vec![user(said)]).to_string();
    let history = History::parse(&text).unwrap();
    let history = match heads {
        Some(heads) => history.with_heads(heads.iter().map(crate::desk::raw).collect()),
        None => history,
    };
    let arrival = Arrival::new(&desk.tenant, None, "gpt-5", At(desk.now));
    let place = After::Place { session: desk.session().id, message: message.map(MessageId) };
    let budget = Budget { tokens: desk.budget };
    desk.engine.begin(Ask { after: Some(place), ..Ask::new(arrival, &history, budget, LIMIT) }).await.unwrap()
}

#[test]
fn instructions_hold_on_every_branch_in_every_dialect() {
    run(async {
        for heads in [None, Some(Vec::new())] {
            let mut desk = Desk::memory(8_000);
            let mut history = vec![system("Be brief.")];
            for i in 0..3 {
                desk.turn(&mut history, user(&long("ann", i)), assistant(&long("the model", i))).await;
            }
            for restarts in [false, true] {
                for (place, count) in [(None, 2), (Some(2), 4), (Some(6), 8)] {
                    if restarts {
                        desk.restart();
                    }
                    let turn = after(&mut desk, place, heads.clone(), "And then?").await;
                    let shown = texts(turn.window());
                    assert_eq!((shown[0].clone(), shown.len()), (system("Be brief.").to_string(), count), "{place:?}");
                }
            }
        }
    });
}

#[test]
fn a_turn_tells_whether_it_folded() {
    run(async {
        let mut desk = Desk::memory(1_500);
        let mut history = Vec::new();
        let mut folds = Vec::new();
        for i in 0..30 {
            history.push(user(&long("ann", i)));
            let turn = desk.begin(&history).await.unwrap();
            folds.push((turn.has_folded(), turn.covers().map(|covers| covers.to)));
            let reply = assistant(&long("the model", i));
            desk.finish(turn, &reply).await;
            history.push(reply);
        }
        assert!(folds.iter().any(|(folded, _)| *folded));
        for pair in folds.windows(2) {
            assert_eq!(pair[1].0, pair[1].1 > pair[0].1, "{folds:?}");
        }
    });
}
