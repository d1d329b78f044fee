//! What a client says in its request, as it stands there. What the log has of it came with earlier requests, and may
//! differ in what does not count when messages are compared.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::request::Request;

/// The messages of a request. They are split only if somebody asks.
pub(crate) struct Theirs<'a> {
    request: &'a Request,
    history: &'static str,
    said: OnceCell<HashMap<&'a str, usize>>,
}

impl<'a> Theirs<'a> {
    /// Those in a field.
    pub(crate) fn of(request: &'a Request, history: &'static str) -> Self {
        Self { request, history, said: OnceCell::new() }
    }

    /// Whether this message is one of them, to the letter.
    pub(crate) fn says(&self, message: &str) -> bool {
        self.times().contains_key(message)
    }

    /// The same of messages that come from the newest to the oldest, each as often as it is said.
    pub(crate) fn newest<T>(&self, messages: impl Iterator<Item = (T, &'a str)>) -> Vec<T> {
        let mut left = self.times().clone();
        let mut is_said = |message: &str| {
            left.get_mut(message).and_then(|times| times.checked_sub(1).map(|rest| *times = rest)).is_some()
        };
        messages.filter(|(_, message)| is_said(message)).map(|(whose, _)| whose).collect()
    }

    fn times(&self) -> &HashMap<&'a str, usize> {
        self.said.get_or_init(|| {
            let mut times = HashMap::new();
            self.read().into_iter().for_each(|message| *times.entry(message.get()).or_default() += 1);
            times
        })
    }

    fn read(&self) -> Vec<&'a RawValue> {
        self.request.raw(self.history).and_then(|all| serde_json::from_str(all).ok()).unwrap_or_default()
    }
}
