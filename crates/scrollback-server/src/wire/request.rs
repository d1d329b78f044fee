//! A request body: where its fields are, and the same body with some of them changed.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A chat request, its fields found but not read.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    body: Bytes,
    fields: Vec<(String, Range<usize>)>,
}

impl Request {
    /// Finds the fields; `None` if this is no request that we understand, which is then none of our business.
    /// `messages` finds the end of the array that a text begins with; the array is the value of the field `history`. A
    /// request that goes on from a conversation may leave it out: it says nothing new.
    pub(crate) fn read<'b>(
        body: &'b Bytes,
        history: &str,
        mut messages: impl FnMut(&'b str) -> Option<usize>,
    ) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let fields = Cursor { text, at: 0 }.fields(history, &mut messages)?;
        let request = Self { body: body.clone(), fields };
        let says = |name: &str| request.raw(name).is_some_and(|raw| raw != "null");
        let least = if says("conversation") && says("model") && !says(history) {
            messages("[]")?;
            0
        } else {
            1
        };
        (least..=1).contains(&request.all(history).count()).then_some(request)
    }

    /// The same, where nothing more has to be known of the array than where it ends.
    pub(crate) fn found(body: &Bytes, history: &str) -> Option<Self> {
        Self::read(body, history, length_of)
    }

    /// The messages of a request that says a text in their place, as dialects may take it.
    pub(crate) fn spoken(&self, history: &str) -> Option<String> {
        let text = self.raw(history).filter(|text| text.starts_with('"'))?;
        Some(format!("[{{\"role\":\"user\",\"content\":{text}}}]"))
    }

    /// A field as it stands; of several with one name the last, as most readers take it.
    pub(crate) fn raw(&self, name: &str) -> Option<&str> {
        let span = self.span(name)?;
        std::str::from_utf8(&self.body[span]).ok()
    }

    fn span(&self, name: &str) -> Option<Range<usize>> {
        self.fields.iter().rev().find(|(key, _)| key == name).map(|(_, span)| span.clone())
    }

    pub(crate) fn model(&self) -> String {
        self.value("model").as_str().unwrap_or_default().to_owned()
    }

    /// A field that holds a number of tokens.
    pub(crate) fn tokens(&self, name: &str) -> Option<u32> {
        self.value(name).as_u64().and_then(|tokens| u32::try_from(tokens).ok())
    }

    /// The tools, as they stand.
    pub(crate) fn tools(&self) -> Option<&str> {
        self.raw("tools").filter(|tools| tools.starts_with('['))
    }

    pub(crate) fn value(&self, name: &str) -> Value {
        self.raw(name).and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or(Value::Null)
    }

    /// What a session may be declared by, without the long fields.
    pub(crate) fn declares(&self) -> Value {
        let names = ["metadata", "prompt_cache_key", "conversation", "previous_response_id"];
        let said = names.into_iter().filter(|name| self.span(name).is_some());
        said.map(|name| (name.to_owned(), self.value(name))).collect::<serde_json::Map<_, _>>().into()
    }

    /// The same body with some fields changed, added or, where there is no value, taken out; all other bytes stay.
    pub(crate) fn write(&self, changes: &[(&str, Option<&str>)]) -> Bytes {
        if changes.is_empty() {
            return self.body.clone();
        }
        let (mut edits, mut added): (Vec<(Range<usize>, Cow<'_, str>)>, _) = (Vec::new(), String::new());
        for (name, value) in changes {
            match (self.span(name), value) {
                (Some(span), Some(value)) => edits.push((span, Cow::Borrowed(value))),
                (None, Some(value)) => added.extend([",\"", name, "\":", value]),
                (_, None) => {}
            }
        }
        let is_gone = |name: &str| changes.iter().any(|(gone, value)| *gone == name && value.is_none());
        edits.extend(self.without(is_gone).into_iter().map(|span| (span, Cow::Borrowed(""))));
        if !added.is_empty() {
            let brace = self.body.iter().rposition(|byte| *byte == b'}').unwrap_or(self.body.len());
            edits.push((brace..brace, added.into()));
        }
        self.spliced(edits)
    }

    fn all(&self, name: &str) -> impl Iterator<Item = Range<usize>> {
        self.fields.iter().filter(move |(key, _)| key == name).map(|(_, span)| span.clone())
    }

    /// What has to go with some fields: each with the comma before it, and those that all others follow with the comma
    /// behind them.
    fn without(&self, is_gone: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
        let leading = self.fields.iter().take_while(|(name, _)| is_gone(name)).count();
        let later = self.fields.windows(2).skip(leading.saturating_sub(1)).filter(|pair| is_gone(&pair[1].0));
        let mut spans: Vec<_> = later.map(|pair| pair[0].1.end..pair[1].1.end).collect();
        if let Some((_, last)) = leading.checked_sub(1).map(|last| &self.fields[last]) {
            let open = self.body.iter().position(|byte| *byte == b'{').map_or(0, |at| at + 1);
            let comma = self.body[last.end..].iter().position(|byte| *byte == b',');
            let comma = comma.filter(|_| leading < self.fields.len()).map_or(0, |at| at + 1);
            spans.push(open..last.end + comma);
        }
        spans
    }

    fn spliced(&self, mut edits: Vec<(Range<usize>, Cow<'_, str>)>) -> Bytes {
        edits.sort_by_key(|(range, _)| range.start);
        let mut out = Vec::with_capacity(self.body.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
        let mut at = 0;
        for (range, text) in edits {
            out.extend_from_slice(&self.body[at..range.start.max(at)]);
            out.extend_from_slice(text.as_bytes());
            at = range.end.max(at);
        }
        out.extend_from_slice(&self.body[at..]);
        out.into()
    }
}

/// Goes through an object field by field.
struct Cursor<'b> {
    text: &'b str,
    at: usize,
}

impl<'b> Cursor<'b> {
    fn fields(
        mut self,
        history: &str,
        mut messages: impl FnMut(&'b str) -> Option<usize>,
    ) -> Option<Vec<(String, Range<usize>)>> {
        let mut fields = Vec::new();
        self.step(b'{')?;
        if self.peek() == Some(b'}') {
            return Some(fields);
        }
        loop {
            let key = self.value()?;
            let name: Cow<'_, str> = serde_json::from_str::<Key<'_>>(&self.text[key]).ok()?.0;
            self.step(b':')?;
            let span = if self.peek() == Some(b'[') && name == history {
                let start = self.at;
                self.at += messages(&self.text[start..])?;
                start..self.at
            } else {
                self.value()?
            };
            fields.push((name.into_owned(), span));
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return None,
            }
        }
        self.at += 1;
        self.peek().is_none().then_some(fields)
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
        self.text.as_bytes().get(self.at).copied()
    }

    fn step(&mut self, wanted: u8) -> Option<()> {
        let found = self.peek()? == wanted;
        self.at += 1;
        found.then_some(())
    }

    fn value(&mut self) -> Option<Range<usize>> {
        self.peek()?;
        let length = length_of(&self.text[self.at..])?;
        self.at += length;
        Some(self.at - length..self.at)
    }
}

/// How long the value is that a text begins with.
fn length_of(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    Some(values.next()?.ok()?.get().len())
}

#[derive(Deserialize)]
struct Key<'b>(#[serde(borrow)] Cow<'b, str>);

#[cfg(test)]
mod tests {
    use scrollback::log::History;

    use super::*;

    fn read(body: &[u8]) -> Option<Request> {
        let body = Bytes::copy_from_slice(body);
        Request::read(&body, "messages", |text| {
            let end = text.find(']')? + 1;
            History::parse(&text[..end]).ok().map(|_| end)
        })
    }

    #[test]
    fn what_is_not_changed_stays_as_it_came() {
        let body = br#" { "model" : "m",  "messages":[ {"role":"user","content":"a"} ],"x":{"deep":[1, 2]} } "#;
        let request = read(body).unwrap();
        assert_eq!(&request.write(&[])[..], body);
        let written = request.write(&[("messages", Some("[]")), ("tools", Some("[1]"))]);
        assert_eq!(&written[..], br#" { "model" : "m",  "messages":[],"x":{"deep":[1, 2]} ,"tools":[1]} "#);
    }

    #[test]
    fn fields_can_be_taken_out() {
        let check = |body: &str, gone: &[&str], left: &str| {
            let request = read(body.as_bytes()).unwrap();
            let changes: Vec<_> = gone.iter().map(|name| (*name, None)).collect();
            assert_eq!(request.write(&changes), left.as_bytes(), "{body}");
        };
        check(r#"{"a":1,"messages":[],"b":{"c":[2]}}"#, &["a"], r#"{"messages":[],"b":{"c":[2]}}"#);
        check(r#"{"a":1,"messages":[],"b":{"c":[2]}}"#, &["b"], r#"{"a":1,"messages":[]}"#);
        check(r#"{ "a" : 1 , "messages" : [] , "b":2}"#, &["a", "b", "z"], r#"{ "messages" : []}"#);
        check(r#"{"a":1,"messages":[],"a":2}"#, &["a"], r#"{"messages":[]}"#);
        check(r#"{"a":1,"b":2,"messages":[]}"#, &["b", "a"], r#"{"messages":[]}"#);
        check(r#"{"a":1, "a":null ,"messages":[],"b":2,"c":3}"#, &["a", "b"], r#"{"messages":[],"c":3}"#);
    }

    #[test]
    fn what_is_no_chat_request_is_left_alone() {
        let bodies = [
            "",
            "[]",
            "{}",
            "{\"messages\":[],\"messages\":[]}",
            "{\"messages\":[1}",
            "{\"messages\":[]",
            "{\"messages\":[]} x",
            "{\"messages\":[],}",
            "{\"messages\" []}",
        ];
        for body in bodies {
            assert!(read(body.as_bytes()).is_none(), "{body}");
        }
        assert!(read(b"{\"messages\":[],\"a\":\"\xff\"}").is_none());
    }

    #[test]
    fn whoever_goes_on_from_a_conversation_may_say_nothing_new() {
        for body in [
            r#"{"model":"m","conversation":"c"}"#,
            r#"{"conversation":{"id":"c"},"messages":null,"model":"m"}"#,
            r#"{"conversation":"c","model":"m"}"#,
        ] {
            let request = read(body.as_bytes()).unwrap();
            let written = request.write(&[("messages", Some("[1]")), ("conversation", None)]);
            let written: Value = serde_json::from_slice(&written).unwrap();
            assert_eq!(written, serde_json::json!({"model": "m", "messages": [1]}), "{body}");
        }
        for body in [r#"{"model":"m","conversation":null}"#, r#"{"conversation":"c"}"#, r#"{"model":"m"}"#] {
            assert!(read(body.as_bytes()).is_none(), "{body}");
        }
    }

    #[test]
    fn fields_are_read_as_far_as_needed() {
        let body =
            br#"{"messages":[],"model":"gpt-5","max_tokens":50,"max_completion_tokens":60,"n":2,"metadata":{"a":1}}"#;
        let request = read(body).unwrap();
        assert_eq!((request.model(), request.tokens("n")), ("gpt-5".into(), Some(2)));
        assert_eq!(request.tokens("max_completion_tokens"), Some(60));
        assert_eq!(request.declares(), serde_json::json!({"metadata": {"a": 1}}));
    }
}
