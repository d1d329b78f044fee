//! A conversation as a client sends it: a JSON array, split into messages without reading them.

use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::ids::Hash128;
use crate::message::Message;

/// The messages of a request, as slices of its text.
#[derive(Clone, Debug)]
pub struct History<'a> {
    text: &'a str,
    messages: Vec<&'a RawValue>,
}

impl<'a> History<'a> {
    /// Splits a JSON array of messages.
    pub fn parse(text: &'a str) -> Result<Self> {
        let messages = serde_json::from_str(text)
            .map_err(|cause| Error::Invalid(format!("messages must be a JSON array: {cause}")))?;
        Ok(Self { text, messages })
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Reads one message.
    pub(crate) fn message(&self, index: usize) -> Message {
        Message::new(self.messages[index].to_owned())
    }

    /// The bytes of one message.
    pub(crate) fn raw(&self, index: usize) -> &'a str {
        self.messages[index].get()
    }

    /// Where a message begins in the text it was split from.
    fn start(&self, index: usize) -> usize {
        self.raw(index).as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// Where a message ends in it.
    fn end(&self, index: usize) -> usize {
        self.start(index) + self.raw(index).len()
    }
}

/// Hashes the text of a history from one message on, each byte once, stopping wherever it is asked.
#[derive(Clone, Debug)]
pub(super) struct Reading<'h> {
    history: &'h History<'h>,
    first: usize,
    hasher: blake3::Hasher,
    /// How many bytes of the text are behind.
    at: usize,
}

impl<'h> Reading<'h> {
    /// Begins at message number `first`, which must exist.
    pub(super) fn from(history: &'h History<'h>, first: usize) -> Self {
        Self { history, first, hasher: blake3::Hasher::new(), at: history.start(first) }
    }

    /// How many messages there are to read.
    pub(super) fn len(&self) -> usize {
        self.history.len() - self.first
    }

    /// The hash of the first `count` messages and what stands between them. Counts must not decrease from call to call.
    pub(super) fn hash(&mut self, count: usize) -> Hash128 {
        let end = self.history.end(self.first + count - 1);
        self.hasher.update(&self.history.text.as_bytes()[self.at..end]);
        self.at = end;
        Hash128::finish(&self.hasher)
    }
}

/// The JSON array of some messages, for callers that have them one by one.
pub fn array_of<'a>(messages: impl IntoIterator<Item = &'a RawValue>) -> String {
    let parts: Vec<&str> = messages.into_iter().map(RawValue::get).collect();
    format!("[{}]", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_bytes() {
        let text = r#" [ {"role" : "user","content":"a"} , {"role":"user","content":"b"}]"#;
        let history = History::parse(text).unwrap();
        assert_eq!(history.len(), 2);
        assert_eq!(history.raw(0), r#"{"role" : "user","content":"a"}"#);
        assert_eq!(array_of(history.messages.iter().copied()).len(), text.len() - 4);
    }

    #[test]
    fn a_stretch_is_known_by_its_bytes() {
        let (a, b) = (r#"[{"n":1},{"n":2},{"n":3}]"#, r#"[{"n":1},{"n":2}]"#);
        let (a, b) = (History::parse(a).unwrap(), History::parse(b).unwrap());
        let (mut a, mut b) = (Reading::from(&a, 0), Reading::from(&b, 0));
        assert_eq!(a.len(), 3);
        assert_ne!(a.hash(1), b.clone().hash(2));
        assert_eq!(a.hash(2), b.hash(2));
        assert_ne!(a.hash(3), b.hash(2));
    }

    #[test]
    fn what_is_no_array_is_refused() {
        assert!(History::parse("{}").is_err());
        assert!(History::parse("[1,").is_err());
    }
}
