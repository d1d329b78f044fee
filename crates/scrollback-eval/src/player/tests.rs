//! What playing promises.

use super::*;
use scrollback::strategy::StrategyName;

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn user(text: &str) -> Line {
    Line::text(&Role::User, Some("Ann"), text)
}

fn model(text: &str) -> Line {
    Line::text(&Role::Assistant, None, text)
}

fn long(i: usize) -> String {
    format!("About mooring {i}: {}", "it is deep enough and mussels grow on its chain. ".repeat(8))
}

async fn play(player: &mut Player, turns: usize, room: Room) -> Vec<Shown> {
    let mut windows = Vec::new();
    for i in 0..turns {
        let turn = player.ask(&[user(&format!("What of {i}?"))], room).await.unwrap();
        windows.push(Shown::of(turn.window()));
        player.reply(turn, model(&long(i))).await.unwrap();
    }
    windows
}

#[test]
fn windows_fold_and_stay_within_their_room() {
    run(async {
        for strategy in StrategyName::ALL {
            let mut player = Player::new(EngineSettings::default()).unwrap();
            let room = Room::of_window(strategy, 2_000);
            let all = Room::of_window(StrategyName::Passthrough, u32::MAX);
            let is_all = strategy == StrategyName::Passthrough;
            let windows = play(&mut player, 40, if is_all { all } else { room }).await;
            let last = windows.last().unwrap();
            assert_eq!(last.whole.len() == 79, is_all, "{strategy}");
            assert!(is_all || windows.iter().all(|shown| shown.tokens <= 2_000), "{strategy}");
        }
    });
}

#[test]
fn what_is_asked_aside_leaves_the_conversation_as_it_was() {
    run(async {
        let mut player = Player::new(EngineSettings::default()).unwrap();
        let room = Room::of_window(StrategyName::Pages, 8_000);
        play(&mut player, 3, room).await;
        let head = player.head();
        for question in ["Which is the deepest?", "Which has mussels?"] {
            let turn = player.ask_aside(&user(question), room).await.unwrap();
            assert_eq!(Shown::of(turn.window()).whole.len(), 7);
            assert!(says(turn.window(), question) && says(turn.window(), "About mooring 2"));
        }
        assert_eq!(player.head(), head);
        let turn = player.ask(&[user("And now?")], room).await.unwrap();
        assert!(!says(turn.window(), "deepest") && says(turn.window(), "And now?"));
    });
}

#[test]
fn what_no_window_can_hold_is_said_all_the_same() {
    run(async {
        let mut player = Player::new(EngineSettings::default()).unwrap();
        let room = Room::of_window(StrategyName::Pages, 500);
        let mut ids = Vec::new();
        for i in 0..2 {
            let large = long(i).repeat(20);
            assert!(player.ask(&[user(&large)], room).await.is_err());
            ids.extend(player.fresh());
            player.say(&[model("Yes.")]).await.unwrap();
            ids.extend(player.fresh());
        }
        assert_eq!(ids, [0, 1, 2, 3].map(MessageId), "each is known by its number, whatever held it");
        let turn = player.ask(&[user("Go on?")], Room::of_window(StrategyName::Pages, 20_000)).await.unwrap();
        assert_eq!(Shown::of(turn.window()).whole.len(), 5);
    });
}

#[test]
fn a_clock_that_goes_back_breaks_nothing() {
    run(async {
        let mut player = Player::new(EngineSettings::default()).unwrap();
        let room = Room::of_window(StrategyName::Topics, 2_000);
        for (i, second) in [100, 7, 50, 3, 3, 90, 1, 2, 80, 0].into_iter().enumerate() {
            let at = Some(At(second * 1_000_000));
            let turn = player.ask(&[user(&long(i)).at(at)], room).await.unwrap();
            let newest = turn.window().blocks().last().unwrap().message().unwrap().at;
            assert_eq!(Some(newest), at);
            player.reply(turn, model(&long(i)).at(at)).await.unwrap();
        }
    });
}

#[test]
fn tools_take_their_share_of_a_models_limit() {
    let room = Room::of_model(StrategyName::Pages, 8_000);
    assert!(tool_tokens(StrategyName::Pages) > 100 && tool_tokens(StrategyName::Truncate) == 0);
    assert_eq!(room.window_tokens, 8_000 - tool_tokens(StrategyName::Pages));
}
