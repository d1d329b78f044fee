//! A request apart from its transport: what is asked of which thing, with which parameters. It can be read from a URL
//! and written as one, so that it means the same in this process and over HTTP.

use axum::http::Method;
use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use scrollback::store::Mark;
use serde::de::DeserializeOwned;

use super::Refusal;

/// What stays as it is in a URL.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// How long a page is unless somebody says.
const PAGE: u32 = 50;

/// How the keys of views look, and of what happened to topics.
pub(super) const VIEW_KEY: &str = "0000000000-0000000000000000";
pub(super) const EVENT_KEY: &str = "0000000000000000-00000000000-0000";
/// So much is said again of a cursor that is none.
const CURSOR_CHARS: usize = 100;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// The parts of its path below `/api`.
    pub(crate) path: Vec<String>,
    query: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Ask {
    /// A request about something, by the parts of its path below `/api`.
    pub(crate) fn new(method: Method, path: &[&str]) -> Self {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Self { method, path, query: Vec::new(), body: Bytes::new() }
    }

    /// The same with a parameter, if it has a value.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name.to_owned(), value.to_string())));
        self
    }

    /// The same with a body.
    #[must_use]
    pub(crate) fn saying(self, body: &serde_json::Value) -> Self {
        Self { body: body.to_string().into(), ..self }
    }

    /// Reads a request from its path with its query.
    pub(crate) fn read(method: &Method, path: &str, body: Bytes) -> Result<Self, Refusal> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let below = path.strip_prefix("/api").unwrap_or(path);
        let parts = below.strip_prefix('/').unwrap_or(below).split('/');
        let path = parts.map(decoded).collect::<Result<_, _>>()?;
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(&value.replace('+', " "))?))
        };
        Ok(Self { method: method.clone(), path, query: pairs.map(pair).collect::<Result<_, Refusal>>()?, body })
    }

    /// Its path with its query.
    pub(crate) fn url(&self) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, &ESCAPED).to_string();
        let path: Vec<String> = self.path.iter().map(|part| encoded(part)).collect();
        let pairs: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
        format!("/api/{}{query}", path.join("/"))
    }

    /// A parameter as it was written.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let pair = self.query.iter().find(|(known, _)| known == name);
        pair.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// How often a parameter was given, whatever it says.
    pub(super) fn times(&self, name: &str) -> usize {
        self.query.iter().filter(|(known, _)| known == name).count()
    }

    /// A parameter that is a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u32>, Refusal> {
        let bad = |text: &str| Refusal::invalid(format!("“{name}” is a whole number, not “{text}”"));
        self.text(name).map(|text| text.parse().map_err(|_| bad(text))).transpose()
    }

    /// Which page of a list it asks for. The table of routes says how long it may be.
    pub(super) fn page(&self) -> Result<Page, Refusal> {
        let count = self.number("count")?.unwrap_or(PAGE) as usize;
        Ok(Page { count, cursor: self.text("cursor").unwrap_or_default().to_owned() })
    }

    /// Whether a parameter says yes.
    pub(super) fn wants(&self, name: &str, yes: &str) -> bool {
        self.text(name) == Some(yes)
    }

    /// Its body, read; `like` is an example for whoever sent something else.
    pub(crate) fn said<T: DeserializeOwned>(&self, like: &str) -> Result<T, Refusal> {
        let bad = |error| Refusal::invalid(format!("the body is not understood ({error}); it looks like {like}"));
        serde_json::from_slice(&self.body).map_err(bad)
    }
}

/// A page of a list.
pub(super) struct Page {
    pub(super) count: usize,
    /// Where it begins, as the page before says; empty at the beginning.
    pub(super) cursor: String,
}

impl Page {
    /// After which session it begins.
    pub(super) fn mark(&self) -> Result<Option<Mark>, Refusal> {
        let given = Some(&self.cursor).filter(|cursor| !cursor.is_empty());
        given.map(|cursor| cursor.parse().map_err(|_| self.unusable())).transpose()
    }

    /// Where it begins, of a list whose lines have keys that look like this one.
    pub(super) fn key(&self, like: &str) -> Result<&str, Refusal> {
        let fits = |(given, like): (u8, u8)| if like == b'-' { given == b'-' } else { given.is_ascii_hexdigit() };
        // The last number of a key may be longer than usual.
        let shape = like.bytes().chain(std::iter::repeat(b'0'));
        if self.cursor.is_empty() || self.cursor.len() >= like.len() && self.cursor.bytes().zip(shape).all(fits) {
            return Ok(&self.cursor);
        }
        Err(self.unusable())
    }

    fn unusable(&self) -> Refusal {
        let cursor: String = self.cursor.chars().take(CURSOR_CHARS).collect();
        Refusal::invalid(format!("“{cursor}” is no cursor: take the `next` of the page before"))
    }

    /// Where the next page begins, if more was found than this one holds: after the last, by its name. The rest is taken
    /// out.
    pub(super) fn rest<T>(&self, found: &mut Vec<T>, name: impl Fn(&T) -> String) -> Option<String> {
        let more = found.len() > self.count;
        found.truncate(self.count);
        found.last().filter(|_| more).map(name)
    }
}

fn decoded(text: &str) -> Result<String, Refusal> {
    let bad = |_| Refusal::invalid(format!("“{text}” in the address is no text (UTF-8)"));
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_back_from_its_url() {
        let ask = Ask::new(Method::GET, &["sessions", "港口 a/b?c", "notes", "#42"])
            .with("words", Some("a b&c=d+e"))
            .with("limit", None::<u32>);
        let read = Ask::read(&Method::GET, &ask.url(), Bytes::new()).unwrap();
        assert_eq!(read, ask);
        assert_eq!(read.text("words"), Some("a b&c=d+e"));
    }

    #[test]
    fn a_cursor_that_was_not_made_here_is_refused() {
        let key = |cursor: &str, like| Page { count: 1, cursor: cursor.to_owned() }.key(like).is_ok();
        assert!(key("", VIEW_KEY) && key("0000000042-00061e5a3c0f1b2d", VIEW_KEY));
        assert!(
            key("00061e5a3c0f1b2d-b0000000042-0003", EVENT_KEY) && key("00061e5a3c0f1b2d-b0000000042-12345", EVENT_KEY)
        );
        for cursor in ["zzz", "0000000042", "0000000042-", "0000000042-00061e5a3c0f1b2d-", "v42", "~"] {
            assert!(!key(cursor, VIEW_KEY) && !key(cursor, EVENT_KEY), "{cursor}");
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let ask = Ask::read(&Method::GET, "/api/sessions?limit=many&x", Bytes::new()).unwrap();
        assert!(ask.number("limit").unwrap_err().message.contains("“limit” is a whole number, not “many”"));
        assert_eq!((ask.number("skip").unwrap(), ask.text("x")), (None, None));
        assert!(Ask::read(&Method::GET, "/api/%ff", Bytes::new()).is_err());
    }
}
