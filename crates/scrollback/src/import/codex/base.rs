//! Rollouts that go on from another: such a file tells where the other is to be cut off, and holds only what follows.
//!
//! Codex writes one when a session is resumed, forked or set back to an earlier turn. It names the other file by the id
//! that ends that file's name. Where nobody has that file, the log may know what was in it.

use std::collections::HashSet;

use super::super::Others;
use super::super::entries::{Fields, lines};
use super::super::text;
use super::Rollout;

/// The place that a rollout goes on from.
pub(super) struct Base {
    /// What the name of the other file ends with: the id of its session, or another if that has several files.
    rollout: String,
    /// How many bytes of that file came before.
    end: usize,
}

impl Base {
    /// The place that the first line of a rollout names.
    pub(super) fn of(meta: &Fields<'_>) -> Option<Self> {
        let base = meta.object("history_base")?;
        let end = base.raw("end_byte_offset").and_then(|raw| raw.get().parse().ok());
        Some(Self { rollout: base.text("thread_id")?, end: end.unwrap_or(usize::MAX) })
    }
}

impl Rollout {
    /// Takes what came before, in the order in which it was said.
    pub(super) fn follow(&mut self, base: Base, others: Others<'_>) {
        let (mut earlier, mut seen, mut next) = (Vec::new(), HashSet::new(), Some(base));
        while let Some(base) = next.take().filter(|base| seen.insert(base.rollout.clone())) {
            let Some(text) = beginning(&base, others) else {
                self.follows = std::iter::once(base.rollout).chain(self.declared.clone()).collect();
                break;
            };
            next = text.lines().next().and_then(base_of);
            earlier.push(text);
        }
        earlier.iter().rev().for_each(|text| self.take_earlier(text));
    }

    /// Takes the lines of another file. What is wrong with them, and what was taken back in it, is told by that file.
    fn take_earlier(&mut self, text: &str) {
        let skipped = self.skipped.len();
        for entry in &lines(text).read {
            if let Some(line) = entry.fields().filter(|line| line.text("type").as_deref() != Some("session_meta")) {
                self.take(entry, &line);
            }
        }
        self.skipped.truncate(skipped);
        self.unsaid.clear();
        (self.undone, self.shared) = (Vec::new(), 0);
    }
}

/// The other file as far as it came before.
fn beginning(base: &Base, others: Others<'_>) -> Option<String> {
    let bytes = others(&base.rollout)?;
    let before = bytes.get(..base.end).unwrap_or(&bytes);
    text::read(before).ok().map(|read| read.text.into_owned())
}

fn base_of(line: &str) -> Option<Base> {
    let line = serde_json::from_str(line).ok().and_then(Fields::of)?;
    Base::of(&line.object("payload")?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read;
    use crate::message::Message;

    fn line(kind: &str, payload: &serde_json::Value) -> String {
        format!("{}\n", json!({"timestamp": "2026-09-01T10:00:00Z", "type": kind, "payload": payload}))
    }

    fn meta(id: &str, base: Option<(&str, usize)>) -> String {
        let base = base.map(|(id, end)| json!({"thread_id": id, "end_ordinal_exclusive": 3, "end_byte_offset": end}));
        line("session_meta", &json!({"id": id, "base_instructions": {"text": "base"}, "history_base": base}))
    }

    fn said(words: &str) -> String {
        line("response_item", &json!({"type": "message", "role": "user", "content": words}))
    }

    /// What one file says where some others are at hand.
    fn check(text: &str, others: &[(&str, &str)], declared: &str, words: &str) -> Vec<String> {
        let other = |id: &str| others.iter().find(|(of, _)| *of == id).map(|(_, text)| text.as_bytes().to_vec());
        let import = read(text, &other);
        let [one] = &import.conversations[..] else { panic!("{import:?}") };
        let told: Vec<String> = one.messages.iter().map(|(raw, _)| Message::new(raw.clone()).to_text()).collect();
        assert_eq!((one.declared.as_deref(), told.join(" ").as_str()), (Some(declared), words));
        assert!(import.skipped.is_empty(), "{import:?}");
        assert_eq!(one.follows.is_empty(), import.remarks.is_empty());
        one.follows.clone()
    }

    #[test]
    fn a_file_follows_the_place_it_names() {
        let first = meta("a", None) + &said("q1") + &said("q2");
        let cut = first.len() - said("q2").len();
        let (resumed, back) =
            (meta("a", Some(("a", first.len()))) + &said("q3"), meta("a", Some(("a", cut))) + &said("q4"));
        let forked = meta("b", Some(("a_2", resumed.len()))) + &said("q5");
        let others = [("a", first.as_str()), ("a_2", &resumed)];
        check(&resumed, &others, "a", "base q1 q2 q3");
        check(&back, &others, "a", "base q1 q4");
        check(&forked, &others, "b", "base q1 q2 q3 q5");
    }

    #[test]
    fn what_is_not_at_hand_is_told_and_costs_no_words() {
        let alone = meta("a", Some(("a_2", 900))) + &said("q3");
        assert_eq!(check(&alone, &[], "a", "base q3"), ["a_2", "a"]);
        let circle = meta("a", Some(("a_3", 9_000))) + &said("q4");
        assert!(check(&circle, &[("a_3", &circle)], "a", "base q4 q4").is_empty());
        let broken = format!("{}{{\"cut", meta("a", None) + &said("q1"));
        check(&alone, &[("a_2", &broken)], "a", "base q1 q3");
    }
}
