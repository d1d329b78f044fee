//! What a person decides, where it meets forks, other requests and hardly any room.

use std::sync::Arc;

use scrollback::control::Change;
use scrollback::engine::Turn;
use scrollback::strategy::StrategyName;
use scrollback::window::Window;
use scrollback::{At, MemoryStore, MessageId};
use serde_json::Value;

use super::desk::{Desk, contents, run, settings, texts};
use super::kit::{assistant, call, result, user};
use super::laws::assert_paired;
use super::world::{Move, World};

fn desk(strategy: StrategyName, budget: u32) -> Desk {
    Desk::new(Arc::new(MemoryStore::default()), settings(strategy), budget)
}

fn sent(window: &Window) -> String {
    texts(window).concat()
}

/// Talks for some turns.
async fn talk(desk: &mut Desk, history: &mut Vec<Value>, turns: usize) {
    for i in 0..turns {
        let question = user(&format!("How deep is mooring {i}? {}", "The chart is old. ".repeat(20)));
        desk.turn(history, question, assistant(&format!("Mooring {i} is deep. {}", "Mussels grow. ".repeat(20)))).await;
    }
}

async fn begin(desk: &mut Desk, history: &[Value]) -> Turn {
    desk.begin(history).await.unwrap()
}

#[test]
fn what_is_kept_makes_room_for_a_message_that_must_be_answered() {
    run(async {
        let mut desk = desk(StrategyName::Pages, 6_000);
        let mut history = Vec::new();
        for i in 0..30 {
            let rule = format!("Never paint boat number {i} in any other colour than the one its owner has named.");
            desk.turn(&mut history, user(&rule), assistant("Understood.")).await;
        }
        talk(&mut desk, &mut history, 20).await;
        history.push(user(&"much to read ".repeat(1_720)));
        let turn = begin(&mut desk, &history).await;
        assert!(turn.window().fits() && turn.window().lost() == 0);
    });
}

#[test]
fn a_fork_has_its_own_rules_and_not_those_of_the_branch_it_left() {
    run(async {
        let mut desk = desk(StrategyName::Pages, 6_000);
        let mut history = Vec::new();
        talk(&mut desk, &mut history, 4).await;
        let place = history.len();
        desk.turn(&mut history, user("Never sail on a Friday."), assistant("Understood.")).await;
        talk(&mut desk, &mut history, 40).await;
        desk.engine.change(&desk.session(), &Change::Strategy(Some(StrategyName::Summary)), At(5)).await.unwrap();
        let mut wide = Desk { budget: 60_000, limit: 64_000, ..desk };
        wide.turn(&mut history, user("Still there?"), assistant("Yes.")).await;
        history.truncate(place);
        wide.turn(&mut history, user("Always sail at dawn."), assistant("Understood.")).await;
        let mut desk = Desk { budget: 6_000, limit: 64_000, ..wide };
        talk(&mut desk, &mut history, 40).await;
        for restart in [false, true] {
            history.push(user(&format!("Which rules hold? {restart}")));
            if restart {
                desk.restart();
            }
            let turn = begin(&mut desk, &history).await;
            let shown = sent(turn.window());
            assert!(contents(turn.window()).is_some() && shown.contains("Always sail at dawn."), "{shown}");
            assert!(!shown.contains("Never sail on a Friday."), "{shown}");
            desk.finish(turn, &assistant("One.")).await;
            history.push(assistant("One."));
        }
    });
}

/// A branch without a fold of its own goes on with that of the branch it left, also if it was made later.
#[test]
fn a_fold_counts_for_the_branches_that_left_after_it() {
    let script = [
        Move::Agent { steps: 1, parallel: 1, chars: 1_600 },
        Move::Chat(1),
        Move::Chat(1),
        Move::Chinese(4),
        Move::Chat(75),
        Move::Fork(3),
        Move::ComeBack(11),
        Move::ComeBack(7),
    ];
    run(async {
        let mut world = World::new(StrategyName::Pages, 2_995, Arc::new(MemoryStore::default()));
        for step in &script {
            Box::pin(world.make(step)).await;
        }
    });
}

#[test]
fn a_result_that_another_branch_gave_goes_with_its_call() {
    run(async {
        let mut desk = desk(StrategyName::Pages, 9_000);
        let asked = call("call-1-abcdefgh", "look", &serde_json::json!({"at": "chart"}));
        let before = vec![user("How deep is it?"), asked];
        let mut history = [before.clone(), vec![result("call-1-abcdefgh", "four metres"), assistant("Four.")]].concat();
        desk.turn(&mut history, user("Thanks."), assistant("Welcome.")).await;
        let mut other = [before, vec![result("call-1-abcdefgh", "nine metres"), assistant("Nine.")]].concat();
        desk.engine.change(&desk.session(), &Change::Exclude(MessageId(1)), At(9)).await.unwrap();
        other.push(user("And the tide?"));
        let turn = begin(&mut desk, &other).await;
        assert_paired(turn.window());
        assert!(!sent(turn.window()).contains("nine metres"));
    });
}

#[test]
fn a_fold_is_not_lost_by_an_undo_on_a_shorter_path() {
    run(async {
        let mut desk = desk(StrategyName::Pages, 3_000);
        let mut history = Vec::new();
        talk(&mut desk, &mut history, 24).await;
        history.push(user("And now?"));
        let whole = begin(&mut desk, &history).await;
        let newest = contents(whole.window()).unwrap();
        desk.finish(whole, &assistant("Now.")).await;
        // The same conversation, asked again in the middle.
        let short = begin(&mut desk, &history[..history.len() - 10]).await;
        let earlier = contents(short.window()).unwrap();
        assert_ne!(earlier, newest, "the shorter path has the same fold");
        desk.back(&short).await.unwrap();
        desk.forth(&short).await.unwrap();
        assert_eq!(contents(begin(&mut desk, &history[..history.len() - 10]).await.window()), Some(earlier));
        while desk.forth(&short).await.is_ok() {}
        assert_eq!(contents(begin(&mut desk, &history).await.window()), Some(newest));
    });
}

#[test]
fn a_reply_that_was_under_way_does_not_bring_back_what_counted_before() {
    run(async {
        let mut desk = desk(StrategyName::Summary, 20_000);
        let mut history = Vec::new();
        talk(&mut desk, &mut history, 12).await;
        history.push(user("Shorten this."));
        let under_way = begin(&mut desk, &history).await;
        let fold = desk.compress(&under_way).await.unwrap();
        desk.finish(under_way, &assistant("Shorter.")).await;
        history.extend([assistant("Shorter."), user("And now?")]);
        assert_eq!(contents(begin(&mut desk, &history).await.window()), Some(fold.text));
    });
}
