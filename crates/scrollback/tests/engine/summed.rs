//! A client that goes on from a summary of its own: what it says to get there is no word of the person's.

use serde_json::json;

use super::desk::{Desk, run, texts};
use super::kit::{assistant, user};

/// What an agent asks its model for, and then goes on with in the place of all that was said.
const SUMMED: &str = "1. The harbour office wants the lamp on the north mole repaired before the first storm.\n\
                      2. Larsen offered to do it for 4,200 crowns; the board has not answered him yet.\n\
                      3. The spare glass lies in shed seven, behind the old buoys, wrapped in sailcloth.";

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
