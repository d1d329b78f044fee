//! What is held where there is much: that it stays held, that nothing is held unseen, and that a little is not held.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::ids::{At, BranchId, Depth, Hash128, MessageId, NodeId};
use crate::message::Message;
use crate::store::{Origin, Place, Position};
use crate::tokens::Measure;

/// Messages one after the other.
fn leaves(messages: &[Value]) -> Vec<Arc<Leaf>> {
    let stored = |(number, message): (u32, &Value)| {
        let message = Message::from_json(&message.to_string()).expect("a message");
        let (id, depth, node) = (MessageId(number), Depth(number), NodeId(Hash128([0; 16])));
        Arc::new(Stored {
            id,
            parent: None,
            place: Place::Path(Position { id, branch: BranchId(1), depth, node }),
            role: message.role().clone(),
            at: At(0),
            origin: Origin::Client,
            measure: Measure::of(&message, "gpt-4o"),
            raw: message.raw().clone(),
        })
    };
    Leaf::all((0..).zip(messages).map(stored), &HoldSettings::default())
}

/// A tool that a provider runs may be called in one reply and answered in a later one, and may call others meanwhile.
#[test]
fn what_a_provider_runs_is_not_parted_from_its_result() {
    let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}});
    let within = |id: &str| {
        let caller = json!({"type": "code_execution_20260120", "tool_id": "srvtoolu_1"});
        json!({"type": "tool_use", "id": id, "name": "look", "input": {}, "caller": caller})
    };
    let result =
        |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "high"}]});
    let done =
        json!({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"stdout": "high"}});
    let says = |text: &str| json!({"type": "text", "text": text});
    let said = |blocks: Vec<Value>| json!({"role": "assistant", "content": blocks});
    let talk = [
        json!({"role": "user", "content": "How high is the tide?"}),
        said(vec![call.clone(), within("toolu_1")]),
        result("toolu_1"),
        said(vec![within("toolu_2")]),
        result("toolu_2"),
        said(vec![done.clone(), says("It is high.")]),
        said(vec![says("That was all.")]),
        said(vec![call.clone(), done.clone(), says("And once more.")]),
        said(vec![call]),
        said(vec![done]),
    ];
    let pages = turns::pages(&leaves(&talk), 1);
    assert_eq!(pages, [0..1, 1..6, 6..7, 7..8, 8..10]);
}

/// Turns, each with steps, each with results of so many characters.
fn talk(turns: &[Vec<Vec<usize>>]) -> Vec<Value> {
    let mut out = Vec::new();
    for (turn, steps) in turns.iter().enumerate() {
        out.push(json!({"role": "user", "content": format!("task {turn}")}));
        for (step, results) in steps.iter().enumerate() {
            let id = |i: usize| format!("call-{turn}-{step}-{i}");
            let call = |i| json!({"id": id(i), "type": "function", "function": {"name": "look", "arguments": "{}"}});
            let calls: Vec<Value> = (0..results.len()).map(call).collect();
            out.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
            let result = |(i, chars): (usize, &usize)| {
                let text: String = "the tide is high ".chars().cycle().take(*chars).collect();
                json!({"role": "tool", "tool_call_id": id(i), "content": text})
            };
            out.extend(results.iter().enumerate().map(result));
        }
        // A turn that is over was answered.
        if turn + 1 < turns.len() {
            out.push(json!({"role": "assistant", "content": "Done."}));
        }
    }
    out
}

/// The numbers of the messages that are held.
fn held(messages: &[Value]) -> Vec<usize> {
    let held = HoldSettings::default().held(&leaves(messages));
    held.iter().enumerate().filter(|(_, held)| **held).map(|(i, _)| i).collect()
}

#[test]
fn a_little_is_shown_and_much_is_held_when_its_turn_is_over() {
    // Two results of a turn: together they are large, or not; the second turn has a small one more.
    assert_eq!(held(&talk(&[vec![vec![4_000], vec![4_000]], vec![]])), [0; 0]);
    assert_eq!(held(&talk(&[vec![vec![6_000], vec![6_000], vec![900]], vec![]])), [2, 4]);
    assert_eq!(held(&talk(&[vec![vec![12_000]], vec![]])), [2]);
    assert_eq!(held(&talk(&[vec![vec![12_000]]])), [0; 0], "its turn goes on");
}

/// What an agent says right behind a result goes on with its turn; what a person says after a reply begins one.
#[test]
fn what_is_said_behind_a_result_holds_nothing_that_was_not_seen() {
    let meanwhile = json!({"role": "user", "content": "<environment>It is noon.</environment>"});
    let mut messages = talk(&[vec![vec![12_000]]]);
    messages.extend([meanwhile.clone(), meanwhile.clone()]);
    assert_eq!(held(&messages), [0; 0]);
    assert_eq!(turns::pages(&leaves(&messages), u32::MAX).len(), 1);
    assert_eq!(turns::pages(&leaves(&messages), 1), [0..1, 1..5], "it is not parted from the result");
    messages.extend([json!({"role": "assistant", "content": "Done."}), meanwhile]);
    assert_eq!(held(&messages), [2]);
}

/// A picture beside the words that are held is sent, and costs what pictures cost.
#[test]
fn a_picture_beside_what_is_held_is_counted() {
    let tokens = |beside: &[Value]| {
        let words = json!({"type": "text", "text": "the tide is high ".repeat(1_000)});
        let content: Vec<&Value> = [&words].into_iter().chain(beside).collect();
        let said = json!({"role": "tool", "tool_call_id": "a", "content": content});
        leaves(&[said])[0].placeholder(&HoldSettings::default()).expect("it is large").tokens
    };
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
    let of_picture = Measure::of(
        &Message::from_json(&json!({"role": "user", "content": [picture]}).to_string()).expect("a message"),
        "gpt-4o",
    )
    .tokens;
    assert!(tokens(&[picture]) - tokens(&[]) >= of_picture / 2, "{of_picture}");
}

#[test]
fn in_a_long_turn_what_was_seen_is_held_in_groups() {
    let step = || vec![40_000];
    // Results of 10,000 tokens: three are a group, and the newest two stay, as does what was not seen yet.
    assert_eq!(held(&talk(&[vec![step(); 5]])), [0; 0]);
    assert_eq!(held(&talk(&[vec![step(); 6]])), [2, 4, 6]);
    assert_eq!(held(&talk(&[vec![step(); 8]])), [2, 4, 6]);
    assert_eq!(held(&talk(&[vec![step(); 9]])), [2, 4, 6, 8, 10, 12]);
    assert_eq!(held(&talk(&[vec![vec![40_000; 9]]])), [0; 0], "nothing of it was seen");
}

/// What is loaded is never held again, whatever a client calls our tools; what is recalled otherwise is seen first.
#[test]
fn what_was_asked_of_us_is_seen() {
    let held = |name: &str, turns: &[Vec<Vec<usize>>]| {
        let messages: Vec<Value> = talk(turns)
            .iter()
            .map(|message| message.to_string().replace("look", name).parse().expect("a message"))
            .collect();
        let settings = HoldSettings { from: HeldFrom::OnArrival, ..HoldSettings::default() };
        settings.held(&leaves(&messages)).contains(&true)
    };
    let (arrived, later) = (&[vec![vec![12_000]]], &[vec![vec![12_000]], vec![]]);
    assert!(held("look", arrived) && held("mcp__slack__load_tool_history", arrived));
    for server in ["", "scrollback_", "mcp__scrollback__"] {
        let [load, page] = ["load_tool_history", "recall_page"].map(|tool| format!("{server}{tool}"));
        assert!(!held(&load, arrived) && !held(&load, later), "{load}");
        assert!(!held(&page, arrived) && held(&page, later), "{page}");
    }
}

#[test]
fn none_of_it_if_it_is_not_wanted() {
    let settings = HoldSettings { many_tokens: 0, ..HoldSettings::default() };
    let open = leaves(&talk(&[vec![vec![6_000]; 9], vec![vec![6_000]; 40]]));
    assert!(settings.held(&open).iter().all(|held| !held));
}

proptest! {
    #[test]
    fn what_is_held_stays_held_and_was_seen(turns in prop::collection::vec(
        prop::collection::vec(prop::collection::vec(prop_oneof![0..3_000_usize, 9_000..30_000_usize], 1..4), 0..12), 1..4))
    {
        let messages = talk(&turns);
        let all = leaves(&messages);
        let settings = HoldSettings::default();
        let mut before: Vec<bool> = Vec::new();
        for end in 1..=all.len() {
            let now = settings.held(&all[..end]);
            prop_assert!(before.iter().zip(&now).all(|(before, now)| *now || !before));
            let seen = all[..end].iter().rposition(|leaf| leaf.stored.role != Role::Tool).unwrap_or(0);
            prop_assert!(now[seen..].iter().all(|held| !held));
            before = now;
        }
    }
}
