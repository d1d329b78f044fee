//! Rules: what the person told the model to keep to from then on ("never …", "always …"), kept word for word through
//! every fold.
//!
//! Only a person's own words count: `own` leaves out code, quotations and records of ours, and divides the rest into
//! sentences; `cue` knows how rules are put, in English and Chinese. A rule is a sentence as it was said, never
//! reworded; what takes one back is kept beside it.

mod block;
mod cue;
mod own;
#[cfg(test)]
mod tests;
mod wording;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::message::{Message, Part, Role};
use crate::store::Stored;

/// How much of the beginning of a long message is read.
const HEAD_BYTES: usize = 100_000;
/// How much of the end of all that is left of it is read.
const TAIL_BYTES: usize = 20_000;
/// A shorter sentence is no rule, and a longer one neither.
const LEAST_CHARS: usize = 3;
const MOST_CHARS: usize = 1_000;

/// Where a sentence that was cut may have ended.
const ENDS: [char; 3] = ['\n', '.', '。'];

/// Something the person said that still holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The message that says it.
    pub message: MessageId,
    /// Its number among the rules of that message, from 1.
    pub number: u32,
    /// The words.
    pub text: String,
}

impl Rule {
    /// What people call it: r12.1 is the first rule of m12.
    pub fn name(&self) -> String {
        format!("r{}.{}", self.message.0, self.number)
    }
}

/// What a person tells the model to keep to from then on, sentence by sentence, each once and word for word.
pub fn rules(stored: &Stored) -> Vec<Rule> {
    if stored.role != Role::User {
        return Vec::new();
    }
    let message = stored.message();
    let mut seen = HashSet::new();
    let mut texts = stretches(message.parts()).into_iter().flat_map(own::sentences).collect::<Vec<_>>();
    texts.retain(|text| seen.insert(*text) && is_rule(text));
    let rule = |(number, text): (u32, &str)| Rule { message: stored.id, number, text: text.to_owned() };
    (1..).zip(texts).map(rule).collect()
}

/// What a message says in its speaker's own words, whatever tools return in it, without the blocks that programs put
/// there; empty if that is nothing.
pub(crate) fn own_words(message: &Message) -> String {
    let texts = message.parts().iter().filter_map(|part| {
        let Part::Text(text) = part else { return None };
        Some(own::without_blocks(text).trim().to_owned()).filter(|text| text.contains(char::is_alphanumeric))
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn is_rule(sentence: &str) -> bool {
    let mut rest = sentence.chars().skip(LEAST_CHARS - 1);
    rest.next().is_some() && rest.nth(MOST_CHARS - LEAST_CHARS).is_none() && cue::is_rule(sentence)
}

/// What is read of a message's words: their beginning, and the end of what that leaves.
fn stretches(parts: &[Part]) -> Vec<&str> {
    let (mut room, mut read, mut unread) = (HEAD_BYTES, Vec::new(), Vec::new());
    for part in parts {
        let Part::Text(text) = part else { continue };
        let (head, rest) = text.split_at(text.floor_char_boundary(room));
        room -= head.len();
        let whole = if rest.is_empty() { head.len() } else { head.rfind(ENDS).unwrap_or(0) };
        read.push(&head[..whole]);
        if !rest.is_empty() {
            unread.push((text.as_str(), whole));
        }
    }
    let (mut left, mut ends) = (TAIL_BYTES, Vec::new());
    for (text, whole) in unread.into_iter().rev() {
        let cut = text.ceil_char_boundary(text.len().saturating_sub(left));
        // A part that is not cut is read from its beginning, or from where the reading of it ended.
        let from = if cut > whole { text[cut..].find(ENDS).map_or(text.len(), |end| cut + end) } else { whole };
        left = left.saturating_sub(text.len() - from);
        ends.push(own::since(text, from));
    }
    read.extend(ends.into_iter().rev());
    read
}
