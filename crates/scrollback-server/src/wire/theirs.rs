//! What a client says in its request, as it stands there. What the log has of it came with earlier requests, and may
//! differ in what does not count when messages are compared.

use std::cell::OnceCell;
use std::collections::HashSet;

use serde_json::value::RawValue;

use super::request::Request;

/// The messages of a request. They are split only if somebody asks.
pub(crate) struct Theirs<'a> {
    request: &'a Request,
    history: &'static str,
    said: OnceCell<HashSet<&'a str>>,
}

impl<'a> Theirs<'a> {
    /// Those in a field.
    pub(crate) fn of(request: &'a Request, history: &'static str) -> Self {
        Self { request, history, said: OnceCell::new() }
    }

    /// Whether this message is one of them, to the letter.
    pub(crate) fn says(&self, message: &str) -> bool {
        self.said.get_or_init(|| self.read().into_iter().map(RawValue::get).collect()).contains(message)
    }

    fn read(&self) -> Vec<&'a RawValue> {
        self.request.raw(self.history).and_then(|all| serde_json::from_str(all).ok()).unwrap_or_default()
    }
}
