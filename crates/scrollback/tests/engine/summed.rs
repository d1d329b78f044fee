//! A client that goes on from a summary of its own: what was said before it is folded, what it brings stays in sight,
//! and what it says to get there is no word of the person's.

use std::sync::Arc;

use scrollback::MemoryStore;
use scrollback::strategy::StrategyName;
use scrollback::window::Reason;
use serde_json::{Value, json};

use super::desk::{Desk, run, settings, texts};
use super::kit::{assistant, long, system, user};
use super::person::STRATEGIES;

/// What an agent asks its model for, and then goes on with in the place of all that was said.
const SUMMED: &str = "1. The harbour office wants the lamp on the north mole repaired before the first storm.\n\
                      2. Larsen offered to do it for 4,200 crowns; the board has not answered him yet.\n\
                      3. The spare glass lies in shed seven, behind the old buoys, wrapped in sailcloth.";

/// Instructions that hold from a summary on.
fn instructions() -> Value {
    system("Name the berth of every boat.")
}

/// Has what was said summed up, and returns how the client goes on: what the person said, instructions, the summary.
async fn summed_up(desk: &mut Desk, told: &mut Vec<Value>, summary: &str) -> Vec<Value> {
    desk.turn(told, user("Put down what matters."), assistant(summary)).await;
    let said = told.iter().filter(|message| message["role"] == "user" && message["content"].is_string());
    let mut history: Vec<Value> = said.take(told.len() / 2 - 1).cloned().collect();
    history.extend([instructions(), user(&format!("What was said so far:\n{summary}"))]);
    history
}

/// A turn as large as clients make it that bring files along.
fn large(number: usize) -> Value {
    user(&format!("Look at this, {number}: {}", "boats and tides ".repeat(700)))
}

#[test]
fn what_a_client_goes_on_with_is_shown_and_what_it_summed_up_is_folded() {
    for strategy in STRATEGIES {
        run(async {
            // Nothing is called for that needs the room of what the client brings.
            let mut settings = settings(strategy);
            settings.strategies.quotes.missing = 2.0;
            let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings, 9_000);
            let mut told = Vec::new();
            for i in 0..6 {
                desk.turn(&mut told, user(&long("ann", i)), assistant(&long("the model", i))).await;
            }
            let mut history = summed_up(&mut desk, &mut told, SUMMED).await;
            let carrier = history.last().unwrap().to_string();
            let sent = texts(&desk.turn(&mut history, large(0), assistant("Seen.")).await);
            assert!(sent.contains(&carrier) && sent.contains(&instructions().to_string()), "{strategy}: {sent:#?}");
            let own = [user("Put down what matters."), assistant(SUMMED)].map(|message| message.to_string());
            assert!(!own.iter().any(|own| sent.contains(own)), "{strategy}: {sent:#?}");
            desk.restart();
            for i in 1..4 {
                desk.turn(&mut history, large(i), assistant("Seen.")).await;
            }
            // Whoever sums up once more gives the same instructions: they are shown once.
            let again = SUMMED.replace("Larsen", "Nansen");
            let mut later = summed_up(&mut desk, &mut history, &again).await;
            let window = desk.turn(&mut later, user("Are we ready?"), assistant("We are.")).await;
            let given = instructions().to_string();
            let given = window.blocks().iter().filter(|block| block.text() == given);
            assert_eq!(given.map(|block| block.reason).collect::<Vec<_>>(), [Reason::Kept], "{strategy}");
            assert!(texts(&window).concat().contains("Nansen offered"), "{strategy}");
        });
    }
}

/// Some clients go on with the reply itself. It is all that is left of the turn in which they asked for it.
#[test]
fn a_summary_that_is_the_reply_itself_stands_without_what_asked_for_it() {
    run(async {
        let mut desk = Desk::memory(9_000);
        let mut told = Vec::new();
        for i in 0..6 {
            desk.turn(&mut told, user(&long("ann", i)), assistant(&long("the model", i))).await;
        }
        desk.turn(&mut told, user("Put down what matters."), assistant(SUMMED)).await;
        let mut history = vec![user("What did we do so far?"), assistant(SUMMED)];
        let sent = texts(&desk.turn(&mut history, user("And the glass?"), assistant("In shed seven.")).await);
        let shown = [assistant(SUMMED), user("And the glass?")].map(|message| message.to_string());
        assert!(sent.len() == 3 && sent[1..] == shown, "{sent:#?}");
    });
}

/// What clients say around a summary holds for that moment. What the person says beside it holds as ever.
#[test]
fn what_a_client_says_to_have_and_to_hand_on_a_summary_is_no_rule() {
    // Too short to be a summary beyond doubt, it is no word of the person's either.
    for summary in [SUMMED, "<summary>\nThe glass lies in shed seven.\n</summary>"] {
        run(async {
            let mut desk = Desk::memory(9_000);
            let mut told = Vec::new();
            desk.turn(&mut told, user("Never sail without a lamp."), assistant("Understood.")).await;
            desk.turn(&mut told, user("Where is the glass?"), assistant("In shed seven.")).await;
            let asked = user("Put down what matters of all this.\n- Never call a tool.\nAlways answer in plain text.");
            desk.turn(&mut told, asked, assistant(summary)).await;
            let words = summary.trim_start_matches("<summary>").trim_end_matches("</summary>");
            let handed = format!("What was said so far:\n{words}\nGo on at once. Never recap what was said.");
            let text = |text: &str| json!({"type": "text", "text": text});
            let carrier = json!({"role": "user", "content": [text(&handed), text("Always name the berth.")]});
            let mut history = vec![carrier];
            for i in 0..12 {
                desk.turn(&mut history, user(&format!("How deep is mooring {i}?")), assistant("Deep.")).await;
            }
            history.push(user("Are we ready?"));
            let sent = texts(desk.begin(&history).await.unwrap().window()).concat();
            let is_linked = summary == SUMMED;
            assert!(sent.contains("] Always name the berth."), "{sent}");
            assert_eq!(sent.contains("[r0.1] Never sail without a lamp."), is_linked, "{sent}");
            for own in ["] Never call a tool.", "] Always answer in", "] Never recap"] {
                assert!(!sent.contains(own), "{sent}");
            }
        });
    }
}

/// Nothing is parted where only one message can be shown.
#[test]
fn a_summary_that_has_no_room_is_folded_as_ever() {
    run(async {
        let mut desk = Desk::new(Arc::new(MemoryStore::default()), settings(StrategyName::Pages), 3_000);
        let mut told = Vec::new();
        for i in 0..6 {
            desk.turn(&mut told, user(&long("ann", i)), assistant(&long("the model", i))).await;
        }
        let mut history = summed_up(&mut desk, &mut told, &format!("{SUMMED}\n{}", "It is late. ".repeat(200))).await;
        let window = desk.turn(&mut history, large(0), assistant("Seen.")).await;
        assert!(window.fits() && texts(&window).last() == Some(&large(0).to_string()));
    });
}
