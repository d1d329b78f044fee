//! Reading what a model passes to a recall tool.
//!
//! Models write numbers as words, ids with and without their letter, dates in several ways and now and then a bare
//! value: whatever has one meaning is understood. What has none is answered with a complaint that says how to do
//! better.

use serde_json::{Map, Value};

use super::{Part, RecallCall, RecallTool};
use crate::ids::{At, MessageId};

const DAY_MICROSECONDS: i64 = 86_400_000_000;
/// How many characters of words are looked for at once.
pub(crate) const WORDS_CHARS: usize = 1_000;

pub(super) fn read(tool: RecallTool, arguments: &str) -> Result<RecallCall, String> {
    let call = call(tool, &fields(tool, arguments))?;
    match words_of(&call).map_or(0, |words| words.chars().count()) {
        0..=WORDS_CHARS => Ok(call),
        count => Err(format!(
            "{tool} looks for at most {WORDS_CHARS} characters at once, and these are {count}; say fewer words"
        )),
    }
}

/// The words that a call looks for.
fn words_of(call: &RecallCall) -> Option<&str> {
    match call {
        RecallCall::Topic { words, .. }
        | RecallCall::Search { words, .. }
        | RecallCall::Hold { part: Part::Words(words), .. } => Some(words),
        RecallCall::Summary { words, .. } => words.as_deref(),
        RecallCall::Hold { part: Part::Whole | Part::Lines { .. }, .. } | RecallCall::Page { .. } => None,
    }
}

fn call(tool: RecallTool, fields: &Map<String, Value>) -> Result<RecallCall, String> {
    match tool {
        RecallTool::Topic => topic(fields),
        RecallTool::Page => page(fields),
        RecallTool::Summary => summary(fields),
        RecallTool::Hold => hold(fields),
        RecallTool::Search => search(fields),
    }
}

/// The arguments by name. A bare value is the one that the tool needs, a list gives them in order.
fn fields(tool: RecallTool, arguments: &str) -> Map<String, Value> {
    let mut value = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.trim().to_owned()));
    if let Some(inner) = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok())
        && inner.is_object()
    {
        value = inner;
    }
    let in_order = |values: Vec<Value>| tool.parameters().iter().map(|name| (*name).to_owned()).zip(values).collect();
    match value {
        Value::Object(fields) => fields,
        Value::Array(values) => in_order(values),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => in_order(vec![value]),
    }
}

fn page(fields: &Map<String, Value>) -> Result<RecallCall, String> {
    let wanted = "`index`, a page number from the contents page, such as {\"index\": 42}";
    let given = field(fields, &["index", "number", "page", "id"]).ok_or_else(|| missing(RecallTool::Page, wanted))?;
    let number = number(given).ok_or_else(|| misread(RecallTool::Page, wanted, given))?;
    let from = match field(fields, &["from"]) {
        None => None,
        Some(given) => Some(message(given).ok_or_else(|| misread(RecallTool::Page, "`from` such as m120", given))?),
    };
    Ok(RecallCall::Page { number, from })
}

fn summary(fields: &Map<String, Value>) -> Result<RecallCall, String> {
    let wanted = "`id`, the name of a summary, such as {\"id\": \"s60\"}";
    let given = field(fields, &["id", "summary", "index", "number"]);
    let given = given.ok_or_else(|| missing(RecallTool::Summary, wanted))?;
    let number = number(given).ok_or_else(|| misread(RecallTool::Summary, wanted, given))?;
    let from = match field(fields, &["from"]) {
        None => None,
        Some(given) => Some(message(given).ok_or_else(|| misread(RecallTool::Summary, "`from` such as m120", given))?),
    };
    let words = field(fields, &["words", "query", "text"]).and_then(words);
    Ok(RecallCall::Summary { number, words, from })
}

fn hold(fields: &Map<String, Value>) -> Result<RecallCall, String> {
    let wanted = "`id`, the id in a placeholder, such as {\"id\": \"h12\"}";
    let given = field(fields, &["id", "hold", "result"]).ok_or_else(|| missing(RecallTool::Hold, wanted))?;
    let number = number(given).ok_or_else(|| misread(RecallTool::Hold, wanted, given))?;
    let part = match field(fields, &["part", "lines", "words", "query"]) {
        None => Part::Whole,
        Some(given) => {
            part(given).ok_or_else(|| misread(RecallTool::Hold, "`part` as lines such as 10-80 or as words", given))?
        }
    };
    let elsewhere = given.as_str().and_then(session).map(|session| format!("@{session}")).unwrap_or_default();
    Ok(RecallCall::Hold { id: format!("h{number}{elsewhere}"), part })
}

/// The other session that an id such as h12@1f2e3d4c names.
fn session(id: &str) -> Option<String> {
    let (_, session) = id.split_once('@')?;
    let session: String = session.trim_start().chars().take_while(char::is_ascii_alphanumeric).collect();
    (!session.is_empty()).then(|| session.to_ascii_lowercase())
}

fn search(fields: &Map<String, Value>) -> Result<RecallCall, String> {
    let wanted = "`words` to look for, such as {\"words\": \"door colour\"}";
    let given = field(fields, &["words", "query", "q", "keywords", "text"]);
    let words = given.and_then(words).ok_or_else(|| missing(RecallTool::Search, wanted))?;
    let (since, until) = dates(RecallTool::Search, fields)?;
    let archived = field(fields, &["archived", "archive"]).is_some_and(is_yes);
    Ok(RecallCall::Search { words, since, until, archived })
}

fn topic(fields: &Map<String, Value>) -> Result<RecallCall, String> {
    let wanted = "`topic`, an id such as t42 or a few words about it, such as {\"topic\": \"door colour\"}";
    let given = field(fields, &["topic", "words", "query", "id", "name", "text"]);
    let (since, until) = dates(RecallTool::Topic, fields)?;
    // A day alone says what is meant.
    let dated = since.or(until).map(|_| String::new());
    let words = given.and_then(words).or(dated).ok_or_else(|| missing(RecallTool::Topic, wanted))?;
    Ok(RecallCall::Topic { words, since, until })
}

/// From when and until when.
fn dates(tool: RecallTool, fields: &Map<String, Value>) -> Result<(Option<At>, Option<At>), String> {
    let since = date(tool, fields, &["from", "since", "after"], 0)?;
    let until = date(tool, fields, &["to", "until", "before"], DAY_MICROSECONDS)?;
    if since.zip(until).is_some_and(|(since, until)| since >= until) {
        return Err(format!("{tool}: `from` is later than `to`; exchange them"));
    }
    Ok((since, until))
}

/// Whether a value means yes, however it is written.
fn is_yes(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_str().is_some_and(|text| text.trim().eq_ignore_ascii_case("true")))
}

/// The first of these that says anything.
fn field<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let says = |value: &&Value| !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty());
    names.iter().filter_map(|name| fields.get(*name)).find(says)
}

fn missing(tool: RecallTool, wanted: &str) -> String {
    format!("{tool} needs {wanted}")
}

fn misread(tool: RecallTool, wanted: &str, given: &Value) -> String {
    let given: String = given.to_string().chars().take(80).collect();
    format!("{tool} needs {wanted}; {given} is not understood")
}

/// A whole number, alone or after a word: 42, "42", "#42", "[#42]", "page 42", "h42".
fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => whole(number),
        Value::String(text) => {
            let text =
                text.trim().trim_start_matches(|c: char| c.is_alphabetic() || matches!(c, '#' | '[' | ' ' | '_'));
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let (digits, rest) = text.split_at(end);
            let fraction =
                rest.strip_prefix(['.', '-', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if fraction && rest != ".0" { None } else { digits.parse().ok() }
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
fn whole(number: &serde_json::Number) -> Option<u32> {
    let fits = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
    number.as_f64().filter(fits).map(|number| number as u32)
}

fn message(value: &Value) -> Option<MessageId> {
    number(value).map(MessageId)
}

fn words(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(words).collect::<Vec<_>>().join(" "),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Object(_) => return None,
    };
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn part(value: &Value) -> Option<Part> {
    match value {
        Value::String(text) => Some(part_of(text)),
        Value::Number(number) => whole(number).and_then(|line| lines(line, line)),
        Value::Array(items) => match items.as_slice() {
            [first, last] => number(first).zip(number(last)).and_then(|(first, last)| lines(first, last)),
            _ => None,
        },
        Value::Object(fields) => {
            match (field(fields, &["first", "start", "from"]), field(fields, &["last", "end", "to"])) {
                (Some(first), Some(last)) => lines(number(first)?, number(last)?),
                (Some(_), None) | (None, Some(_) | None) => part_of_fields(fields),
            }
        }
        Value::Null | Value::Bool(_) => None,
    }
}

fn part_of_fields(fields: &Map<String, Value>) -> Option<Part> {
    match field(fields, &["lines", "line"]) {
        Some(Value::String(text)) => range(text, true),
        Some(given) => part(given),
        None => field(fields, &["words", "query"]).and_then(words).map(Part::Words),
    }
}

/// Lines if it reads as lines, else words. A lone number is a word: results are full of numbers that one looks for.
fn part_of(text: &str) -> Part {
    let lower = text.trim().to_lowercase();
    if matches!(lower.as_str(), "all" | "whole" | "full" | "全部") {
        return Part::Whole;
    }
    let named = ["lines", "line", "第"].iter().find_map(|word| lower.strip_prefix(word));
    let lines = range(named.unwrap_or(&lower), named.is_some());
    lines.unwrap_or_else(|| Part::Words(text.trim().to_owned()))
}

/// `10-80`; if it is sure to mean lines also `12` and `80-10`.
fn range(text: &str, sure: bool) -> Option<Part> {
    let end = |text: &str| {
        let bare = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, 'l' | 'L' | '行' | '第' | '#'));
        bare.parse::<u32>().ok()
    };
    let ends = ["-", "–", "—", "~", "..", ":", " to ", "到", "至"].iter().find_map(|joint| text.split_once(joint));
    match ends.and_then(|(first, last)| end(first).zip(end(last))) {
        Some((first, last)) if sure || first <= last => lines(first, last),
        None if sure => end(text).and_then(|line| lines(line, line)),
        Some(_) | None => None,
    }
}

fn lines(first: u32, last: u32) -> Option<Part> {
    (first.max(last) > 0).then(|| Part::Lines { first: first.min(last).max(1), last: first.max(last) })
}

/// A time, or a day; a day that ends something is meant whole.
fn date(tool: RecallTool, fields: &Map<String, Value>, names: &[&str], day: i64) -> Result<Option<At>, String> {
    let Some(given) = field(fields, names) else { return Ok(None) };
    let read = given.as_str().and_then(|text| {
        let text = text.trim().replace('/', "-");
        let midnight = At::parse(&format!("{text}T00:00:00Z")).map(|at| At(at.0.saturating_add(day)));
        At::parse(&text).or(midnight).or_else(|| At::parse(&format!("{text}Z")))
    });
    let wanted = "dates such as 2026-03-01 or 2026-03-01T09:30:00Z";
    read.map(Some).ok_or_else(|| misread(tool, wanted, given))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(arguments: &str) -> Result<(u32, Option<u32>), String> {
        let call = RecallCall::read(RecallTool::Page, arguments)?;
        let RecallCall::Page { number, from } = call else { panic!("{call:?}") };
        Ok((number, from.map(|id| id.0)))
    }

    fn hold(arguments: &str) -> (String, Part) {
        let call = RecallCall::read(RecallTool::Hold, arguments).unwrap();
        let RecallCall::Hold { id, part } = call else { panic!("{call:?}") };
        (id, part)
    }

    fn search(arguments: &str) -> Result<(String, Option<String>, Option<String>), String> {
        let call = RecallCall::read(RecallTool::Search, arguments)?;
        let RecallCall::Search { words, since, until, .. } = call else { panic!("{call:?}") };
        Ok((words, since.map(|at| at.to_string()), until.map(|at| at.to_string())))
    }

    #[test]
    fn topics_by_id_or_by_words() {
        for (given, words) in [
            (r#"{"topic":"t42"}"#, "t42"),
            (r#""door colour""#, "door colour"),
            (r#"{"words":["门","颜色"]}"#, "门 颜色"),
        ] {
            let call = RecallCall::Topic { words: words.into(), since: None, until: None };
            assert_eq!(RecallCall::read(RecallTool::Topic, given), Ok(call), "{given}");
        }
        assert!(RecallCall::read(RecallTool::Topic, "{}").unwrap_err().contains("`topic`"));
        let dated = RecallCall::read(RecallTool::Topic, r#"{"topic":"door","from":"2026-03-01"}"#).unwrap();
        assert!(matches!(dated, RecallCall::Topic { since: Some(_), until: None, .. }));
        let alone = RecallCall::read(RecallTool::Topic, r#"{"topic":"","from":"2026-03-01"}"#).unwrap();
        assert!(matches!(alone, RecallCall::Topic { words, since: Some(_), .. } if words.is_empty()));
        let archived = RecallCall::read(RecallTool::Search, r#"{"words":"door","archived":"true"}"#).unwrap();
        assert!(matches!(archived, RecallCall::Search { archived: true, .. }));
    }

    #[test]
    fn pages_however_they_are_numbered() {
        for given in [
            r#"{"index":42}"#,
            r##"{"index":"#42"}"##,
            r#"{"number":"42"}"#,
            r#"{"page":"page 42"}"#,
            r#"{"index":42.0,"from":null}"#,
            r#"{"index":"第42页"}"#,
            r#"{"index":"[#42] Build"}"#,
            "42",
            r#""42""#,
            "#42",
            "page 42",
            "[42]",
            r#""{\"index\":42}""#,
        ] {
            assert_eq!(page(given), Ok((42, None)), "{given}");
        }
        assert_eq!(page(r#"{"index":3,"from":"m120"}"#), Ok((3, Some(120))));
        assert_eq!(page(r#"{"index":3,"from":120}"#), Ok((3, Some(120))));
    }

    #[test]
    fn what_has_no_meaning_is_complained_about() {
        for given in
            ["", "{}", r#"{"index":-3}"#, r#"{"index":"4.5"}"#, r#"{"index":"last"}"#, r#"{"index":99999999999}"#]
        {
            let complaint = page(given).unwrap_err();
            assert!(complaint.contains("recall_page needs `index`") && complaint.contains("42"), "{complaint}");
        }
        assert!(page(r#"{"index":3,"from":"there"}"#).unwrap_err().contains("m120"));
        assert!(search("{}").unwrap_err().contains("`words`"));
        assert!(search(r#"{"words":"  "}"#).is_err());
        assert!(search(r#"{"words":"a","from":"yesterday"}"#).unwrap_err().contains("yesterday"));
        assert!(search(r#"{"words":"a","from":"2026-03-02","to":"2026-03-01"}"#).is_err());
        assert!(RecallCall::read(RecallTool::Hold, r#"{"id":"latest"}"#).unwrap_err().contains("h12"));
    }

    #[test]
    fn more_words_than_anybody_looks_for_are_complained_about() {
        let long = "潮位 ".repeat(334);
        for tool in [RecallTool::Search, RecallTool::Topic] {
            assert!(RecallCall::read(tool, &long[..long.len() - 7]).is_ok());
            assert!(RecallCall::read(tool, &long).unwrap_err().contains("at most 1000 characters"), "{tool}");
        }
        for (tool, id) in [(RecallTool::Hold, "h12"), (RecallTool::Summary, "s60")] {
            let given = serde_json::json!({"id": id, "words": long}).to_string();
            assert!(RecallCall::read(tool, &given).unwrap_err().contains("fewer words"), "{tool}");
        }
    }

    #[test]
    fn parts_of_held_results() {
        let lines = |first, last| Part::Lines { first, last };
        let cases = [
            (r#"{"id":"h12"}"#, Part::Whole),
            (r#"{"id":12,"part":"10-80"}"#, lines(10, 80)),
            (r#"{"id":"12","part":"lines 10-80"}"#, lines(10, 80)),
            (r#"{"id":"h12","part":{"lines":"10-80"}}"#, lines(10, 80)),
            (r#"{"id":"h12","lines":[10,80]}"#, lines(10, 80)),
            (r#"{"id":"h12","part":{"first":80,"last":10}}"#, lines(10, 80)),
            (r#"{"id":"h12","part":"第10到80行"}"#, lines(10, 80)),
            (r#"{"id":"h12","part":"line 7"}"#, lines(7, 7)),
            (r#"{"id":"h12","part":"whole"}"#, Part::Whole),
            (r#"{"id":"h12","part":"404"}"#, Part::Words("404".into())),
            (r#"{"id":"h12","part":"2026-03-01"}"#, Part::Words("2026-03-01".into())),
            (r#"{"id":"h12","words":"tide gauge"}"#, Part::Words("tide gauge".into())),
            ("h12", Part::Whole),
        ];
        for (given, expected) in cases {
            assert_eq!(hold(given), ("h12".to_owned(), expected), "{given}");
        }
        for given in ["h12@1f2e3d4c", r#"{"id":"h12 @ 1F2E3D4C"}"#, r#"{"id":"12@1f2e3d4c]"}"#] {
            assert_eq!(hold(given), ("h12@1f2e3d4c".to_owned(), Part::Whole), "{given}");
        }
        assert_eq!(hold("h12@").0, "h12");
    }

    #[test]
    fn searches_with_days_and_times() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(search(r#"{"words":"潮位"}"#), Ok(("潮位".into(), None, None)));
        assert_eq!(search("tide gauge"), Ok(("tide gauge".into(), None, None)));
        assert_eq!(search(r#"{"query":["tide","gauge"]}"#), Ok(("tide gauge".into(), None, None)));
        assert_eq!(
            search(r#"{"words":"a","from":"2026-03-01","to":"2026/03/01"}"#),
            Ok(("a".into(), some("2026-03-01T00:00:00Z"), some("2026-03-02T00:00:00Z")))
        );
        assert_eq!(
            search(r#"{"words":"a","from":"2026-03-01T09:30:00","to":"2026-03-01T18:00:00+08:00"}"#),
            Ok(("a".into(), some("2026-03-01T09:30:00Z"), some("2026-03-01T10:00:00Z")))
        );
    }
}
