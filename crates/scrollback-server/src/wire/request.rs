//! A request body: where its fields are, and the same body with some of them changed.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// A chat request, its fields found but not read.
#[derive(Debug)]
pub(crate) struct Request<'b> {
    body: &'b str,
    fields: Vec<(Cow<'b, str>, &'b RawValue)>,
}

struct Fields<'b>(Vec<(Cow<'b, str>, &'b RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key::<Key<'de>>()? {
                    fields.push((key.0, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[derive(Deserialize)]
struct Key<'b>(#[serde(borrow)] Cow<'b, str>);

impl<'b> Request<'b> {
    /// Finds the fields; `None` if this is no request that we understand, which is then none of our business.
    pub(crate) fn read(body: &'b [u8]) -> Option<Self> {
        let body = std::str::from_utf8(body).ok()?;
        let Fields(fields) = serde_json::from_str(body).ok()?;
        let request = Self { body, fields };
        let once = request.fields.iter().filter(|(key, _)| key == "messages").count() == 1;
        (once && request.raw("messages")?.get().starts_with('[')).then_some(request)
    }

    /// A field as it stands; of several with one name the last, as most readers take it.
    pub(crate) fn raw(&self, name: &str) -> Option<&'b RawValue> {
        self.fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The messages, as a JSON array.
    pub(crate) fn messages(&self) -> &'b str {
        self.raw("messages").map_or("[]", RawValue::get)
    }

    pub(crate) fn model(&self) -> String {
        self.value("model").as_str().unwrap_or_default().to_owned()
    }

    /// How many answers are asked for.
    pub(crate) fn choices(&self) -> u64 {
        self.value("n").as_u64().unwrap_or(1)
    }

    /// The longest reply the client wants.
    pub(crate) fn reply_tokens(&self) -> Option<u32> {
        let given = |name| self.value(name).as_u64().and_then(|tokens| u32::try_from(tokens).ok());
        given("max_completion_tokens").or_else(|| given("max_tokens"))
    }

    /// The tools, as they stand.
    pub(crate) fn tools(&self) -> Option<&'b RawValue> {
        self.raw("tools").filter(|tools| tools.get().starts_with('['))
    }

    pub(crate) fn value(&self, name: &str) -> Value {
        self.raw(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null)
    }

    /// What a session may be declared by, without the long fields.
    pub(crate) fn declares(&self) -> Value {
        let names = ["metadata", "prompt_cache_key", "conversation", "previous_response_id", "user"];
        names
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), self.value(name)).into()).filter(|_| self.raw(name).is_some()))
            .collect::<serde_json::Map<String, Value>>()
            .into()
    }

    /// The same body with some fields changed or added; all other bytes stay.
    pub(crate) fn write(&self, changes: &[(&str, &str)]) -> Vec<u8> {
        let mut edits: Vec<(Range<usize>, Cow<'_, str>)> = Vec::new();
        let mut added = String::new();
        for (name, value) in changes {
            match self.raw(name) {
                Some(raw) => edits.push((self.span(raw), Cow::Borrowed(value))),
                None => added.push_str(&format!(",\"{name}\":{value}")),
            }
        }
        if !added.is_empty() {
            let brace = self.body.rfind('}').unwrap_or(self.body.len());
            edits.push((brace..brace, added.into()));
        }
        edits.sort_by_key(|(range, _)| range.start);
        let mut out = Vec::with_capacity(self.body.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
        let mut at = 0;
        for (range, text) in edits {
            out.extend_from_slice(&self.body.as_bytes()[at..range.start]);
            out.extend_from_slice(text.as_bytes());
            at = range.end;
        }
        out.extend_from_slice(&self.body.as_bytes()[at..]);
        out
    }

    fn span(&self, raw: &RawValue) -> Range<usize> {
        let start = raw.get().as_ptr() as usize - self.body.as_ptr() as usize;
        start..start + raw.get().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_stays_as_it_came() {
        let body = br#" { "model" : "m",  "messages":[ {"role":"user","content":"a"} ],"x":{"deep":[1, 2]} } "#;
        let request = Request::read(body).unwrap();
        assert_eq!(request.write(&[]), body);
        let written = String::from_utf8(request.write(&[("messages", "[]"), ("tools", "[1]")])).unwrap();
        assert_eq!(written, r#" { "model" : "m",  "messages":[],"x":{"deep":[1, 2]} ,"tools":[1]} "#);
    }

    #[test]
    fn what_is_no_chat_request_is_left_alone() {
        for body in ["", "[]", "{}", "{\"messages\":{}}", "{\"messages\":[],\"messages\":[]}", "{\"messages\":[1}"] {
            assert!(Request::read(body.as_bytes()).is_none(), "{body}");
        }
        assert!(Request::read(b"{\"messages\":[],\"a\":\"\xff\"}").is_none());
    }

    #[test]
    fn fields_are_read_as_far_as_needed() {
        let body = br#"{"messages":[],"model":"gpt-5","stream":true,"max_tokens":50,"max_completion_tokens":60,"n":2,"user":"ann"}"#;
        let request = Request::read(body).unwrap();
        assert_eq!((request.model(), request.choices()), ("gpt-5".into(), 2));
        assert_eq!(request.reply_tokens(), Some(60));
        assert_eq!(request.declares(), serde_json::json!({"user": "ann"}));
    }
}
