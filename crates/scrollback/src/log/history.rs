//! A conversation as a client sends it: a JSON array, split into messages without reading them.
//!
//! A client that resends its history sends bytes that were seen before, plus a tail. The known beginning is recognised
//! by a fast hash and not even split; only what follows is looked at.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use twox_hash::xxhash3_128::Hasher;

use super::recent::Stretch;
use crate::error::{Error, Result};
use crate::ids::Fingerprint;
use crate::message::{Message, Role};

/// How a mark for a provider's cache is written.
const MARK: &str = "\"cache_control\"";
/// How many messages are looked at from the end.
const ENDS_WITHIN: usize = 8;

/// The messages of a request, as slices of its text.
#[derive(Clone, Debug)]
pub struct History<'a> {
    /// The array, from its bracket to its bracket.
    text: &'a str,
    /// The messages that were split off: all but the known ones.
    split: Vec<&'a RawValue>,
    /// Instructions that the wire keeps outside of the array, if it does.
    heads: Option<Vec<Box<RawValue>>>,
    /// How many messages at the head are instructions, those outside of the array included.
    pub(super) preamble: usize,
    /// The stretch after the instructions that was seen before.
    pub(super) known: Option<Stretch>,
    /// How the conversation is recognised: the hash of its first message, and of everything from there on.
    pub(super) marks: Option<Marks>,
}

/// What a conversation is recognised by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// The hash of its first message.
    pub(super) first: u128,
    /// The hash of everything from there to the end of the last message.
    pub(super) all: u128,
    /// How many bytes that is.
    pub(super) bytes: usize,
    /// The same up to the first message with a mark for the provider's cache, if one is among those that were not
    /// known: clients move such marks with every turn, so the bytes from there on will not come again.
    pub(super) unmarked: Option<Unmarked>,
}

/// The beginning of a history that will come again as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unmarked {
    /// How many messages it has, the instructions not counted.
    pub(super) count: usize,
    pub(super) bytes: usize,
    pub(super) hash: u128,
}

/// Who speaks in a message, or what kind of item it is; everything else is passed over.
#[derive(Deserialize)]
struct Spoken<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

impl<'a> History<'a> {
    /// Splits a JSON array of messages.
    pub fn parse(text: &'a str) -> Result<Self> {
        let (history, end) = Self::open(text, 0, |_| Vec::new())?;
        let rest = text[end..].trim_start();
        // Nothing is remembered of a history that was not opened by a log.
        let history = Self { marks: None, ..history };
        if rest.is_empty() { Ok(history) } else { Err(no_array(&format!("“{}” follows it", short(rest)))) }
    }

    /// Splits the array that a text begins with, and tells where it ends. `known` are stretches that begin with a
    /// message of this hash, the shortest first.
    pub(super) fn open(text: &'a str, seed: u64, known: impl FnOnce(u128) -> Vec<Stretch>) -> Result<(Self, usize)> {
        let mut cursor = Cursor { text, at: 0, inside: false };
        let begin = cursor.bracket()?;
        let mut history = Self { text, split: Vec::new(), heads: None, preamble: 0, known: None, marks: None };
        let mut spoken: Option<(usize, Hasher)> = None;
        let (mut known, mut first) = (Some(known), 0);
        while let Some(message) = cursor.next()? {
            history.split.push(message);
            if spoken.is_some() {
                continue;
            }
            if instructs(message) {
                history.preamble += 1;
                continue;
            }
            let start = cursor.at - message.get().len();
            first = hash(seed, message.get());
            let mut hasher = Hasher::with_seed(seed);
            let stretches = known.take().map(|known| known(first)).unwrap_or_default();
            if let Some((stretch, reached)) = recognised(&text.as_bytes()[start..], stretches, &mut hasher) {
                history.split.pop();
                history.known = Some(stretch);
                cursor.at = start + reached;
            }
            spoken = Some((start, hasher));
        }
        let end = cursor.at;
        let last = text[..end - 1].trim_end().len();
        history.marks = spoken.map(|(start, mut hasher)| {
            let mut hashed = start + history.known.as_ref().map_or(0, |stretch| stretch.bytes);
            let unmarked = history.unmarked(text).filter(|(_, end)| *end > hashed).map(|(count, end)| {
                hasher.write(&text.as_bytes()[hashed..end]);
                hashed = end;
                Unmarked { count, bytes: end - start, hash: hasher.finish_128() }
            });
            hasher.write(&text.as_bytes()[hashed..last]);
            Marks { first, all: hasher.finish_128(), bytes: last - start, unmarked }
        });
        history.text = &text[begin..end];
        Ok((history, end))
    }

    /// How many messages come before the first one with a mark, and where the last of them ends.
    fn unmarked(&self, text: &str) -> Option<(usize, usize)> {
        let marked = self.split.iter().skip(self.preamble).position(|message| message.get().contains(MARK))?;
        let before = self.split[..self.preamble + marked].last().filter(|_| marked > 0)?.get();
        let end = before.as_ptr() as usize + before.len() - text.as_ptr() as usize;
        Some((self.known.as_ref().map_or(0, |stretch| stretch.count) + marked, end))
    }

    /// The same history after standing instructions that the wire keeps outside of the array, each a whole message.
    /// With none the conversation has no others than those in the array.
    #[must_use]
    pub fn with_heads(self, heads: Vec<Box<RawValue>>) -> Self {
        let preamble = self.preamble - self.outside() + heads.len();
        Self { heads: Some(heads), preamble, ..self }
    }

    /// The same history with nothing passed over.
    pub(super) fn whole(&self) -> Result<Self> {
        let (history, _) = Self::open(self.text, 0, |_| Vec::new())?;
        let history = History { marks: self.marks, ..history };
        Ok(match &self.heads {
            Some(heads) => history.with_heads(heads.clone()),
            None => history,
        })
    }

    /// How many messages stand outside of the array, if its wire keeps instructions there.
    pub(crate) fn heads(&self) -> Option<usize> {
        self.heads.as_ref().map(Vec::len)
    }

    fn outside(&self) -> usize {
        self.heads().unwrap_or(0)
    }

    /// How the conversation is recognised, whatever its client calls it: a hash of its first message.
    pub fn opening(&self) -> Option<u128> {
        self.marks.map(|marks| marks.first)
    }

    /// Whether one of its last messages is this one.
    pub fn ends_with(&self, message: Fingerprint) -> bool {
        self.split.iter().rev().take(ENDS_WITHIN).any(|raw| Message::new((*raw).to_owned()).strong() == message)
    }

    /// Those of its last messages that the model said.
    pub fn replies(&self) -> Vec<Fingerprint> {
        let ending = self.split.iter().rev().take(ENDS_WITHIN).map(|raw| Message::new((*raw).to_owned()));
        ending.filter(|message| *message.role() == Role::Assistant).map(|message| message.strong()).collect()
    }

    /// Its newest message.
    pub fn last(&self) -> Option<Message> {
        // A history that is sent again as it was is passed over to its end.
        let passed = self.known.is_some() && self.split.len() == self.preamble - self.outside();
        let raw = if passed { self.whole().ok()?.split.last().copied() } else { self.split.last().copied() };
        raw.map(|raw| Message::new(raw.to_owned()))
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.outside() + self.split.len() + self.known.as_ref().map_or(0, |stretch| stretch.count)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads one message; none of those that were passed over.
    pub(super) fn message(&self, index: usize) -> Message {
        if let Some(head) = self.heads.as_ref().and_then(|heads| heads.get(index)) {
            return Message::new(head.clone());
        }
        let passed = self.known.as_ref().map_or(0, |stretch| stretch.count);
        let index = if index < self.preamble { index } else { index - passed };
        Message::new(self.split[index - self.outside()].to_owned())
    }

    /// The bytes of the instructions.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = &[u8]> {
        let own = &self.split[..self.preamble - self.outside()];
        let heads = self.heads.iter().flatten().map(|head| head.get().as_bytes());
        heads.chain(own.iter().map(|raw| raw.get().as_bytes()))
    }
}

fn instructs(message: &RawValue) -> bool {
    let spoken = serde_json::from_str::<Spoken<'_>>(message.get());
    spoken.is_ok_and(|spoken| spoken.role.or(spoken.kind).is_some_and(|role| Role::from(&*role).instructs()))
}

fn hash(seed: u64, text: &str) -> u128 {
    let mut hasher = Hasher::with_seed(seed);
    hasher.write(text.as_bytes());
    hasher.finish_128()
}

/// The longest of some stretches that a text begins with, and where it ends; the hasher stops there.
fn recognised(text: &[u8], stretches: Vec<Stretch>, hasher: &mut Hasher) -> Option<(Stretch, usize)> {
    let (mut reading, mut at, mut found) = (hasher.clone(), 0, None);
    for stretch in stretches.into_iter().filter(|stretch| stretch.bytes < text.len()) {
        reading.write(&text[at..stretch.bytes]);
        at = stretch.bytes;
        let ended = text[at..].iter().find(|byte| !byte.is_ascii_whitespace());
        if reading.finish_128() == stretch.hash && matches!(ended, Some(b',' | b']')) {
            *hasher = reading.clone();
            found = Some((stretch, at));
        }
    }
    found
}

/// Goes through an array value by value.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// Whether a value was read.
    inside: bool,
}

impl<'a> Cursor<'a> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over the opening bracket and tells where it is.
    fn bracket(&mut self) -> Result<usize> {
        if self.peek() != Some(b'[') {
            return Err(no_array("it does not begin with a bracket"));
        }
        self.at += 1;
        Ok(self.at - 1)
    }

    /// The next value; `None` behind the closing bracket.
    fn next(&mut self) -> Result<Option<&'a RawValue>> {
        let first = !std::mem::replace(&mut self.inside, true);
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !first => self.at += 1,
            Some(_) if first => {}
            _ => return Err(no_array(&format!("it breaks off at byte {}", self.at))),
        }
        self.peek();
        let mut values = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter::<&RawValue>();
        match values.next() {
            Some(Ok(value)) => {
                self.at += value.get().len();
                Ok(Some(value))
            }
            Some(Err(cause)) => Err(no_array(&cause.to_string())),
            None => Err(no_array("it breaks off")),
        }
    }
}

fn no_array(why: &str) -> Error {
    Error::Invalid(format!("messages must be a JSON array: {why}"))
}

fn short(text: &str) -> String {
    text.chars().take(20).collect()
}

/// The JSON array of some messages, for callers that have them one by one.
pub fn array_of<'a>(messages: impl IntoIterator<Item = &'a RawValue>) -> String {
    let parts: Vec<&str> = messages.into_iter().map(RawValue::get).collect();
    format!("[{}]", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(text: &str, seed: u64, count: usize) -> Stretch {
        let (history, _) = History::open(text, seed, |_| Vec::new()).unwrap();
        let marks = history.marks.unwrap();
        Stretch { count, bytes: marks.bytes, hash: marks.all, ..Stretch::default() }
    }

    #[test]
    fn messages_keep_their_bytes() {
        let text = r#" [ {"role" : "user","content":"a"} , {"role":"user","content":"b"}] "#;
        let history = History::parse(text).unwrap();
        assert_eq!(history.len(), 2);
        assert_eq!(history.message(0).raw().get(), r#"{"role" : "user","content":"a"}"#);
        assert_eq!(array_of(history.split.iter().copied()).len(), text.len() - 5);
    }

    #[test]
    fn a_known_beginning_is_passed_over() {
        let known = r#"[{"role":"system","content":"s"}, {"n":1},{"n":2}]"#;
        let stretch = stretch(known, 7, 2);
        let longer = r#"[{"role":"system","content":"t"},{"n":1},{"n":2} , {"n":3}],"model":"m"}"#;
        let (history, end) = History::open(longer, 7, |_| vec![stretch]).unwrap();
        assert_eq!((history.len(), history.split.len(), history.preamble), (4, 2, 1));
        assert_eq!(history.message(3).raw().get(), r#"{"n":3}"#);
        assert_eq!(&longer[end..], r#","model":"m"}"#);
        assert_eq!(history.whole().unwrap().split.len(), 4);
        // The marks do not depend on what was passed over.
        let (fresh, _) = History::open(longer, 7, |_| Vec::new()).unwrap();
        assert_eq!(fresh.marks.unwrap().all, history.marks.unwrap().all);
        // The same bytes as the beginning of something else are not it.
        for other in [r#"[{"n":1},{"n":21}]"#, r#"[{"n":1},{"n":2}5]"#, r#"[{"n":1}]"#] {
            let opened = History::open(other, 7, |_| vec![stretch]);
            assert!(opened.is_err() || opened.unwrap().0.known.is_none(), "{other}");
        }
    }

    /// A client that marks its newest message for the provider's cache sends other bytes for it with the next turn.
    #[tokio::test]
    async fn a_mark_that_moves_costs_no_more_than_one_that_stays() {
        use crate::ids::{At, Tenant};
        use crate::log::{Arrival, Log};
        let text = |turn: usize| {
            let message = |i: usize| {
                let (role, mark) =
                    (["user", "assistant"][i % 2], if i == 2 * turn { r#","cache_control":{}"# } else { "" });
                format!(r#"{{"role":"{role}","content":[{{"type":"text","text":"{i}"{mark}}}]}}"#)
            };
            format!("[{}]", (0..=2 * turn).map(message).collect::<Vec<_>>().join(","))
        };
        let (log, tenant) = (Log::new(std::sync::Arc::new(crate::MemoryStore::default())), Tenant::local());
        for turn in 0..6 {
            let text = text(turn);
            let (history, _) = log.open(&tenant, &text).unwrap();
            let known = history.known.map_or(0, |stretch| stretch.count);
            assert_eq!(known, if turn < 2 { 0 } else { 2 * turn - 2 }, "turn {turn}");
            let received = log.receive(Arrival::new(&tenant, None, "gpt-5", At(1)), &history).await.unwrap();
            assert_eq!((received.added, received.as_sent), (if turn == 0 { 1 } else { 2 }, true), "turn {turn}");
        }
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for text in ["{}", "[1,", "", "[1 2]", "[,1]", "[1,]", "[1]]", "[1}", "[[1]"] {
            assert!(History::parse(text).is_err(), "{text}");
        }
        assert!(History::parse("[]").unwrap().is_empty());
    }
}
