//! Messages and cards for the tests of topics.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::testing;
use crate::ids::{At, MessageId};
use crate::message::Message;
use crate::store::Stored;
use crate::topic::{Card, TopicId};

/// Messages from m101 on, a minute apart.
pub(super) fn said(texts: &[(&str, &str)]) -> Vec<Arc<Stored>> {
    (101..).zip(texts).map(|(number, (role, text))| stored(number, &json!({"role": role, "content": text}))).collect()
}

/// A message of one of several people.
pub(super) fn named(name: &str, text: &str) -> Arc<Stored> {
    stored(101, &json!({"role": "user", "name": name, "content": text}))
}

/// A message with a number, a minute after the one before it.
pub(super) fn stored(number: u32, value: &Value) -> Arc<Stored> {
    let message = Message::new(serde_json::value::to_raw_value(value).unwrap());
    let at = At(1_760_000_000_000_000 + i64::from(number) * 60_000_000);
    Arc::new(Stored { at, ..testing::stored(number, &message) })
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

/// A good reply, mangled.
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
    let around = [
        ("", ""),
        ("Sure:\n```xml\n", "\n```\nDone."),
        ("<think>hm <topic></think>", ""),
        ("`<split>` it is: ", " </split>"),
    ];
    testing::mangled(good, &scraps, &around)
}
