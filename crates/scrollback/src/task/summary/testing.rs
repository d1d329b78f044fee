//! Messages and helpers for the tests of summaries.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::Value;

use super::super::{Model, Question, Said, testing};
use crate::error::{Error, Result};
use crate::message::Message;
use crate::store::Stored;

/// Messages from m11 on.
pub(super) fn said(texts: &[(&str, &str)]) -> Vec<Stored> {
    testing::said(11, texts)
}

/// Messages from m11 on, as they come.
pub(super) fn stored(values: &[Value]) -> Vec<Stored> {
    let message = |value: &Value| Message::new(serde_json::value::to_raw_value(value).unwrap());
    (11..).zip(values).map(|(number, value)| testing::stored(number, &message(value))).collect()
}

/// What a helper does when it is asked.
#[derive(Clone, Copy)]
pub(super) enum Act {
    Say(&'static str),
    Fail,
}

/// Does what it is told, the last of it for ever, and remembers what it was asked.
pub(super) struct Scripted {
    acts: Mutex<VecDeque<Act>>,
    pub(super) asked: Mutex<Vec<Question>>,
}

impl Scripted {
    pub(super) fn new(acts: &[Act]) -> Arc<Self> {
        Arc::new(Self { acts: Mutex::new(acts.iter().copied().collect()), asked: Mutex::default() })
    }
}

#[async_trait]
impl Model for Scripted {
    async fn ask(&self, question: &Question) -> Result<Said> {
        self.asked.lock().unwrap().push(question.clone());
        let act = {
            let mut acts = self.acts.lock().unwrap();
            if acts.len() > 1 { acts.pop_front().unwrap() } else { acts[0] }
        };
        match act {
            Act::Say(text) => Ok(Said { text: text.into(), input_tokens: 7, output_tokens: 3, ..Said::default() }),
            Act::Fail => Err(Error::Model { what: "no answer from the helper".into(), source: None }),
        }
    }
}

/// Words of all sorts, in which there are ids, code, marks and orders.
pub(super) fn scraps() -> impl Strategy<Value = String> {
    let scraps = [
        "The gauge must be read twice a day. ",
        "我们决定改用第二台潮位计。",
        "[m12]",
        "[m999, m11]",
        "```\nlet x = 1;\n```\n",
        "`read_gauge()` ",
        "Why does it fail? ",
        "为什么失败？",
        "<summary>",
        "</summary>",
        "\n",
        "# Heading\n",
        "9,000 tokens ",
        "src/main.rs ",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "🌊",
        "\u{0}",
        "《潮汐表》",
        "v1.2.3 ",
        "{{CONVERSATION}}",
        "{{",
        " ",
    ];
    prop::collection::vec(prop::sample::select(scraps.to_vec()), 0..60).prop_map(|pieces| pieces.concat())
}

/// A good reply, mangled.
pub(super) fn mangled(good: &'static str) -> impl Strategy<Value = String> {
    let scraps =
        ["<summary>", "</summary>", "<analysis>", "</analysis>", "```", "[m999]", "[m", "]", "</think>", "测", "\n"];
    let around = [
        ("", ""),
        ("Sure:\n```markdown\n", "\n```\nDone."),
        ("<think>hm <summary></think>", ""),
        ("<analysis>`<summary>` it is</analysis>", "</summary>"),
    ];
    testing::mangled(good, &scraps, &around)
}
