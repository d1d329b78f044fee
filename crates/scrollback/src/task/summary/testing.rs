//! Messages and helpers for the tests of summaries.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Model, Question, Said};
use crate::error::{Error, Result};
use crate::ids::{At, MessageId};
use crate::message::{Message, Role};
use crate::store::{Beside, Origin, Place, Stored};
use crate::tokens::Measure;

/// Messages from m11 on.
pub(super) fn said(texts: &[(&str, &str)]) -> Vec<Stored> {
    let value = |(role, text): &(&str, &str)| json!({"role": role, "content": text});
    stored(&texts.iter().map(value).collect::<Vec<_>>())
}

/// Messages from m11 on, as they come.
pub(super) fn stored(values: &[Value]) -> Vec<Stored> {
    let one = |(number, value): (u32, &Value)| {
        let message = Message::new(serde_json::value::to_raw_value(value).unwrap());
        Stored {
            id: MessageId(number),
            parent: None,
            place: Place::Beside(Beside::Insert),
            role: Role::from(value["role"].as_str().unwrap()),
            at: At(0),
            origin: Origin::Client,
            measure: Measure::of(&message, "gpt-4o"),
            raw: message.raw().clone(),
        }
    };
    (11..).zip(values).map(one).collect()
}

/// What a helper does when it is asked.
#[derive(Clone, Copy)]
pub(super) enum Act {
    Say(&'static str),
    Fail,
    Hang,
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
            Act::Say(text) => Ok(Said { text: text.into(), input_tokens: 7, output_tokens: 3 }),
            Act::Fail => Err(Error::Model { what: "no answer from the helper".into(), source: None }),
            Act::Hang => std::future::pending().await,
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

/// A good reply, mangled: cut, with characters lost, doubled and put in, prose and fences around.
pub(super) fn mangled(good: &'static str) -> impl Strategy<Value = String> {
    let scraps =
        ["<summary>", "</summary>", "<analysis>", "</analysis>", "```", "[m999]", "[m", "]", "</think>", "测", "\n"];
    let edits =
        prop::collection::vec((0..4_usize, any::<prop::sample::Index>(), prop::sample::select(scraps.to_vec())), 0..8);
    let around = prop::sample::select(vec![
        ("", ""),
        ("Sure:\n```markdown\n", "\n```\nDone."),
        ("<think>hm <summary></think>", ""),
        ("<analysis>`<summary>` it is</analysis>", "</summary>"),
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
