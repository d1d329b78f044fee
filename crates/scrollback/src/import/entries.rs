//! The entries of a file: lines of JSON, or the elements of a JSON array, each read on its own.
//!
//! One bad entry costs that entry and nothing else. Values stay slices of the text until somebody needs them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::message::value_of;

/// One entry and where it stands.
pub(super) struct Entry<'a> {
    unit: &'static str,
    number: usize,
    pub(super) raw: &'a RawValue,
}

impl<'a> Entry<'a> {
    /// What is wrong with it, in words.
    pub(super) fn complaint(&self, what: impl std::fmt::Display) -> String {
        format!("{} {} {what}", self.unit, self.number)
    }

    /// Its fields, if it is an object.
    pub(super) fn fields(&self) -> Option<Fields<'a>> {
        Fields::of(self.raw)
    }

    /// The whole value, or why it cannot be read.
    pub(super) fn value(&self) -> Result<Value, String> {
        value_of(self.raw.get()).map_err(|cause| self.complaint(format!("cannot be read: {cause}")))
    }
}

/// All entries that are JSON, and complaints about the others.
#[derive(Default)]
pub(super) struct Entries<'a> {
    pub(super) read: Vec<Entry<'a>>,
    pub(super) skipped: Vec<String>,
}

/// The lines of a text that are not blank.
pub(super) fn lines(text: &str) -> Entries<'_> {
    let mut entries = Entries::default();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(raw) => entries.read.push(Entry { unit: "line", number: index + 1, raw }),
            Err(cause) if cause.is_eof() => entries.skipped.push(format!("line {} is cut off", index + 1)),
            Err(cause) => {
                entries.skipped.push(format!("line {} is not JSON from column {} on", index + 1, cause.column()));
            }
        }
    }
    entries
}

/// The elements of an array as far as it can be read; any other value is the only element.
pub(super) fn elements(text: &str) -> Entries<'_> {
    let mut raws = Vec::new();
    let mut json = serde_json::Deserializer::from_str(text);
    let end = if text.trim_start().starts_with('[') {
        Collect(&mut raws, usize::MAX).deserialize(&mut json)
    } else {
        serde::Deserialize::deserialize(&mut json).map(|raw| raws.push(raw))
    };
    let end = end.and_then(|()| json.end());
    let read: Vec<_> =
        raws.into_iter().enumerate().map(|(index, raw)| Entry { unit: "entry", number: index + 1, raw }).collect();
    let skipped = end.err().filter(|_| !text.trim().is_empty());
    let skipped = skipped.map(|cause| format!("what follows after {} entries is not JSON: {cause}", read.len()));
    Entries { read, skipped: skipped.into_iter().collect() }
}

/// The first elements of an array; any other value is the only element.
pub(super) fn first_elements(text: &str, most: usize) -> Vec<&RawValue> {
    let (mut raws, text) = (Vec::new(), text.trim_start());
    if text.starts_with('[') {
        // What follows is not looked at, so this ends with an error.
        let _ = Collect(&mut raws, most).deserialize(&mut serde_json::Deserializer::from_str(text));
    } else {
        raws.extend(serde_json::Deserializer::from_str(text).into_iter::<&RawValue>().next().and_then(Result::ok));
    }
    raws
}

/// Collects the elements of an array, so many at most; those before an error stay collected.
struct Collect<'a, 'de>(&'a mut Vec<&'de RawValue>, usize);

impl<'de> DeserializeSeed<'de> for Collect<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Collect<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while self.0.len() < self.1 {
            let Some(raw) = elements.next_element()? else { break };
            self.0.push(raw);
        }
        Ok(())
    }
}

/// The fields of an object, unread.
pub(super) struct Fields<'a>(HashMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok().map(Self)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// A field that is there and not null.
    pub(super) fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.0.get(key).copied().filter(|raw| raw.get() != "null")
    }

    pub(super) fn object(&self, key: &str) -> Option<Self> {
        Self::of(self.raw(key)?)
    }

    pub(super) fn array(&self, key: &str) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.raw(key)?.get()).ok()
    }

    /// A field that is a string with something in it.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        value_of(self.raw(key)?.get()).ok().filter(|text: &String| !text.is_empty())
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.raw(key).is_some_and(|raw| raw.get() == "true")
    }
}

/// A field of a value that is a string with something in it.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The elements of a field that is an array; of any other with something in it, itself.
pub(super) fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    match value.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => &[],
        Some(Value::Array(elements)) => elements,
        Some(Value::Object(fields)) if fields.is_empty() => &[],
        Some(Value::String(text)) if text.is_empty() => &[],
        Some(one) => std::slice::from_ref(one),
    }
}

/// A block of our own type that holds a value of theirs whole.
pub(super) fn kept(kind: &str, value: &Value) -> Value {
    let mut block = Map::new();
    block.insert("type".into(), kind.into());
    match value {
        Value::Object(fields) => block.extend(fields.iter().map(|(key, value)| {
            let key = if key == "type" { "original_type" } else { key };
            (key.to_owned(), value.clone())
        })),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            block.insert("value".into(), value.clone());
        }
    }
    Value::Object(block)
}

/// Kinds of something, and how many there were of each.
pub(super) fn listed(kinds: &BTreeMap<String, usize>) -> String {
    kinds.iter().map(|(kind, count)| format!("{count} × {kind}")).collect::<Vec<_>>().join(", ")
}

/// The JSON of a value.
pub(super) fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("a JSON value is valid JSON")
}

/// The same, for several paths to share.
pub(super) fn shared(value: &Value) -> Arc<RawValue> {
    raw(value).into()
}

/// The bytes of a message, for several paths to share.
pub(super) fn owned(raw: &RawValue) -> Arc<RawValue> {
    raw.to_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entries: &Entries<'_>, read: &[&str], skipped: &[&str]) {
        assert_eq!(entries.read.iter().map(|entry| entry.raw.get()).collect::<Vec<_>>(), read);
        assert_eq!(entries.skipped, skipped);
    }

    #[test]
    fn bad_lines_are_named() {
        let text = "{\"a\": 1}\r\n\n[2]\n{a}\n{\"b\":\"cut";
        check(&lines(text), &["{\"a\": 1}", "[2]"], &["line 4 is not JSON from column 2 on", "line 5 is cut off"]);
    }

    #[test]
    fn what_is_no_list_stands_for_itself() {
        let value = serde_json::json!({"list": [1, 2], "one": {"a": 1}, "words": "hi", "no": null, "": "", "none": {}});
        let count = |key| array(&value, key).len();
        assert_eq!(["list", "one", "words", "no", "", "none", "absent"].map(count), [2, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn an_array_is_read_as_far_as_it_goes() {
        check(&elements("[ {\"a\": 1} ,[2]]"), &["{\"a\": 1}", "[2]"], &[]);
        check(&elements("{\"a\":1}"), &["{\"a\":1}"], &[]);
        let cut = elements("[1,{\"a\":");
        assert_eq!((cut.read.len(), cut.skipped.len()), (1, 1));
        assert!(cut.skipped[0].starts_with("what follows after 1 entries is not JSON"), "{:?}", cut.skipped);
        check(&elements(" "), &[], &[]);
        let first = |text: &'static str| first_elements(text, 2).iter().map(|raw| raw.get()).collect::<Vec<_>>();
        assert_eq!(
            [first("[1, 2, 3"), first("[1"), first("{} x"), first("")],
            [vec!["1", "2"], vec!["1"], vec!["{}"], vec![]]
        );
    }
}
