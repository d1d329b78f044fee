//! The entries of a file: lines of JSON, or the elements of a JSON array, each read on its own.
//!
//! One bad entry costs that entry and nothing else. Values stay slices of the text until somebody needs them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::message::value_of;

/// After so many elements that are not JSON an array is not read on: it is none.
const BAD: usize = 200;
/// So many places are tried where the next element may begin.
const TRIES: usize = 64;

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

impl Entries<'_> {
    /// Complains that nothing is read any more.
    fn ends(&mut self, cause: impl std::fmt::Display) {
        self.skipped.push(format!("what follows after {} entries is not JSON: {cause}", self.read.len()));
    }
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

/// The elements of an array, without those that are not JSON; any other value is the only element.
pub(super) fn elements(text: &str) -> Entries<'_> {
    if text.trim_start().starts_with('[') {
        return walked(text, usize::MAX);
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let mut entries = Entries::default();
    let one = serde::Deserialize::deserialize(&mut json);
    let end = one.map(|raw| entries.read.push(Entry { unit: "entry", number: 1, raw })).and_then(|()| json.end());
    if let Some(cause) = end.err().filter(|_| !text.trim().is_empty()) {
        entries.ends(cause);
    }
    entries
}

/// The first elements of an array that are JSON; any other value is the only element.
pub(super) fn first_elements(text: &str, most: usize) -> Vec<&RawValue> {
    let text = text.trim_start();
    if text.starts_with('[') {
        return walked(text, most).read.into_iter().map(|entry| entry.raw).collect();
    }
    serde_json::Deserializer::from_str(text).into_iter().next().and_then(Result::ok).into_iter().collect()
}

/// The elements of an array, so many at most. Behind one that is not JSON it goes on with the next.
fn walked(text: &str, most: usize) -> Entries<'_> {
    let mut entries = Entries::default();
    let mut rest = text.trim_start().strip_prefix('[').unwrap_or(text).trim_start();
    let key = first_key(rest);
    let mut number = usize::from(!rest.starts_with(']'));
    while number > 0 && entries.read.len() < most {
        match element(rest) {
            Ok((raw, behind)) => {
                entries.read.push(Entry { unit: "entry", number, raw });
                rest = behind;
            }
            Err(cause) => {
                let next = if entries.skipped.len() < BAD { behind(rest, key) } else { None };
                let Some(next) = next else {
                    entries.ends(cause);
                    return entries;
                };
                entries.skipped.push(format!("entry {number} is not JSON: {cause}"));
                rest = next;
            }
        }
        // Where an element was bad, a bracket may be one of its own.
        let beyond = || if entries.skipped.is_empty() || is_end(rest) { None } else { alike(rest, key) };
        let more = rest.strip_prefix(',').or_else(|| beyond()?.strip_prefix(','));
        (rest, number) = more.map_or((rest, 0), |more| (more.trim_start(), number + 1));
    }
    if number == 0 && !is_end(rest) {
        entries.ends("trailing characters");
    }
    entries
}

/// The element that a text begins with, and what is left of its array from the comma or bracket behind it on.
fn element(text: &str) -> Result<(&RawValue, &str), String> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter();
    let raw = stream.next().unwrap_or_else(|| Err(serde::de::Error::custom("it is cut off")));
    let raw = raw.map_err(|cause| cause.to_string())?;
    let behind = text[stream.byte_offset()..].trim_start();
    let is_parted = behind.is_empty() || behind.starts_with([',', ']']);
    if is_parted { Ok((raw, behind)) } else { Err("no comma stands behind it".into()) }
}

/// What is left of an array from the comma or bracket behind a bad element on. Mostly its quotes and brackets tell.
fn behind<'a>(text: &'a str, key: Option<&str>) -> Option<&'a str> {
    let goes_on = |next: &str| is_element(next) || key.is_some() && first_key(next) == key;
    let is_told = |rest: &&str| rest.strip_prefix(',').map_or_else(|| is_end(rest), |next| goes_on(next.trim_start()));
    let told = end_of(text).map(|end| &text[end..]).filter(is_told);
    told.or_else(|| alike(text, key))
}

/// What is left of an array from a comma on behind which an element begins with the key that the first one begins with:
/// so the next is known where a quote or a bracket is what is wrong.
fn alike<'a>(text: &'a str, key: Option<&str>) -> Option<&'a str> {
    let comma_before = |at: usize| text[..at].trim_end().strip_suffix('{')?.trim_end().strip_suffix(',').map(str::len);
    let places = text.match_indices(key?).filter_map(|(at, _)| comma_before(at));
    places.take(TRIES).map(|comma| &text[comma..]).find(|rest| is_element(rest[1..].trim_start()))
}

/// Whether a text begins with an element that others follow, or the end.
fn is_element(text: &str) -> bool {
    element(text).is_ok_and(|(_, behind)| behind.starts_with(',') || is_end(behind))
}

/// Where the element that a text begins with ends, as its quotes and brackets tell.
fn end_of(text: &str) -> Option<usize> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    text.bytes().position(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b',' | b']' if depth == 0 => return true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        false
    })
}

/// The first key of an object, in its quotes.
fn first_key(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?.trim_start();
    let end = inside.strip_prefix('"')?.find('"')?;
    inside.get(..end + 2)
}

/// Whether nothing is left of an array but its bracket.
fn is_end(rest: &str) -> bool {
    rest.strip_prefix(']').is_some_and(|behind| behind.trim().is_empty())
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
        check(&elements("[ ]"), &[], &[]);
        assert_eq!(elements("[1]\n[2]").skipped, ["what follows after 1 entries is not JSON: trailing characters"]);
        assert_eq!(elements("[1,]").skipped.len(), 1);
        let first = |text: &'static str| first_elements(text, 2).iter().map(|raw| raw.get()).collect::<Vec<_>>();
        assert_eq!(
            [first("[1, 2, 3"), first("[1"), first("{} x"), first("")],
            [vec!["1", "2"], vec!["1"], vec!["{}"], vec![]]
        );
    }

    /// Whatever one byte becomes, the elements that it does not stand in are read.
    #[test]
    fn a_bad_element_costs_no_other() {
        let one = |n: usize| format!(r#"{{"title": "talk {n}", "said": ["a, b", {{"x": "}}]\""}}], "n": {n}}}"#);
        let whole: Vec<String> = (0..4).map(one).collect();
        let text = format!("[{}]", whole.join(", "));
        assert_eq!(elements(&text).read.len(), 4);
        let second = text.find(&whole[1]).unwrap();
        for at in second..second + whole[1].len() {
            for harm in ["\u{1}", "\"", "{", "}", "[", "]", ",", "\\", "x"] {
                let text = [&text[..at], harm, &text[at + 1..]].concat();
                let entries = elements(&text);
                let read: Vec<&str> = entries.read.iter().map(|entry| entry.raw.get()).collect();
                assert!([&whole[0], &whole[2], &whole[3]].iter().all(|one| read.contains(&one.as_str())), "{text}");
                assert!(read.len() > 3 || !entries.skipped.is_empty(), "{text}: {:?}", entries.skipped);
            }
        }
    }

    #[test]
    fn what_is_no_array_takes_no_longer() {
        for text in ["x,", "{\"a\":[0,", "\"", "[", "{\"a\":1},x"] {
            let many = format!("[{}", text.repeat(50_000));
            let began = std::time::Instant::now();
            assert!(elements(&many).skipped.len() <= BAD + 1);
            assert!(began.elapsed().as_secs() < 20, "{text}");
        }
    }
}
