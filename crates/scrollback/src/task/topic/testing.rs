//! Messages and cards for the tests of topics.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::ids::{At, MessageId};
use crate::message::{Message, Role};
use crate::store::{Beside, Origin, Place, Stored};
use crate::tokens::Measure;
use crate::topic::{Card, TopicId};

/// Messages from m101 on, a minute apart.
pub(super) fn said(texts: &[(&str, &str)]) -> Vec<Arc<Stored>> {
    (101..).zip(texts).map(|(number, (role, text))| stored(number, &json!({"role": role, "content": text}))).collect()
}

/// A message of one of several people.
pub(super) fn named(name: &str, text: &str) -> Arc<Stored> {
    stored(101, &json!({"role": "user", "name": name, "content": text}))
}

fn stored(number: u32, value: &Value) -> Arc<Stored> {
    let raw = serde_json::value::to_raw_value(value).unwrap();
    let message = Message::new(raw);
    Arc::new(Stored {
        id: MessageId(number),
        parent: None,
        place: Place::Beside(Beside::Insert),
        role: Role::from(value["role"].as_str().unwrap()),
        at: At(1_760_000_000_000_000 + i64::from(number) * 60_000_000),
        origin: Origin::Client,
        measure: Measure::of(&message, "gpt-4o"),
        raw: message.raw().clone(),
    })
}

/// The card of a topic.
pub(super) fn card(number: u32, name: &str, brief: &str) -> Card {
    Card {
        id: TopicId(MessageId(number)),
        parent: None,
        name: name.to_owned(),
        brief: brief.to_owned(),
        messages: 2,
        tokens: 100,
        first: At(1_750_000_000_000_000),
        last: At(1_750_000_060_000_000),
        refers: Vec::new(),
    }
}

/// A good reply, mangled: cut, with characters lost, doubled and put in, its blocks shuffled, prose and fences around.
pub(super) fn mangled(good: &'static str) -> impl Strategy<Value = String> {
    let scraps = [
        "<topic id=\"t9\">",
        "</split>",
        "<brief>",
        "```",
        "m999",
        "<",
        "\"",
        "&lt;",
        "</think>",
        "<none/>",
        "m1-m9999 ",
        "测",
        "}",
    ];
    let edits =
        prop::collection::vec((0..4_usize, any::<prop::sample::Index>(), prop::sample::select(scraps.to_vec())), 0..8);
    let around = prop::sample::select(vec![
        ("", ""),
        ("Sure:\n```xml\n", "\n```\nDone."),
        ("<think>hm <topic></think>", ""),
        ("`<split>` it is: ", " </split>"),
    ]);
    (edits, around, any::<prop::sample::Index>()).prop_map(move |(edits, (before, after), cut)| {
        let mut chars: Vec<char> = good.chars().collect();
        for (edit, place, scrap) in edits {
            let at = place.index(chars.len() + 1);
            let end = (at + 1 + edit * 7).min(chars.len());
            match edit {
                0 => drop(chars.drain(at..end)),
                1 => chars.splice(at..at, scrap.chars()).for_each(drop),
                2 => chars.rotate_left(at),
                _ => {
                    let again = chars[at..end].to_vec();
                    chars.splice(at..at, again).for_each(drop);
                }
            }
        }
        // One in four is cut.
        let keep = if cut.index(4) == 0 { cut.index(chars.len() + 1) } else { chars.len() };
        format!("{before}{}{after}", chars[..keep].iter().collect::<String>())
    })
}
