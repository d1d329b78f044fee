//! JSON as a person would sum it up: its single values, what its lists hold, and their first records.

use serde_json::{Map, Value};

/// Deeper JSON is not outlined.
const DEPTH: usize = 100;
/// A value in an outline is no longer than this.
const VALUE_CHARS: usize = 90;
/// How many records of a list are outlined.
const RECORDS: usize = 40;
/// How many names of fields are listed.
const NAMES: usize = 12;

/// The lines of an outline, if a text is a JSON object or array or the beginning of one.
pub(super) fn outline(text: &str) -> Option<Vec<String>> {
    let text = text.trim_start();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let whole = serde_json::from_str(text).ok();
    let more = if whole.is_some() { "" } else { "+" };
    let value: Value = whole.or_else(|| serde_json::from_str(&closed(text)?).ok())?;
    let mut lines = Vec::new();
    describe("", &value, more, &mut lines);
    (!lines.is_empty()).then_some(lines)
}

/// JSON that was cut off, without what follows its last comma, and closed.
fn closed(text: &str) -> Option<String> {
    let (mut open, mut quoted, mut escaped) = (Vec::new(), false, false);
    let mut cut = (0, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => drop(open.pop()),
            b',' => {
                cut.0 = at;
                cut.1.clone_from(&open);
            }
            _ => {}
        }
        if open.is_empty() || open.len() > DEPTH {
            return None;
        }
    }
    Some(text[..cut.0].chars().chain(cut.1.into_iter().rev()).collect())
}

fn describe(name: &str, value: &Value, more: &str, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => describe_fields(name, fields, more, lines),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let names: Vec<&str> = items.iter().find_map(Value::as_object).map(names).unwrap_or_default();
            lines.push(format!("{}{}{more} × ({})", label(name), items.len(), names.join(", ")));
            lines.extend(items.iter().take(RECORDS).map(short).filter(|record| !record.is_empty()));
        }
        Value::Array(items) if !items.is_empty() => {
            lines.push(format!("{}{}{more} × {}", label(name), items.len(), short(value)));
        }
        Value::Array(_) | Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) => lines.push(format!("{}{}", label(name), short(value))),
    }
}

/// Single values on one line, then whatever holds more.
fn describe_fields(name: &str, fields: &Map<String, Value>, more: &str, lines: &mut Vec<String>) {
    let single: Vec<String> = fields.iter().filter(|(_, value)| is_single(value)).map(field).collect();
    if !single.is_empty() {
        lines.push(format!("{}{}", label(name), single.join(", ")));
    }
    for (key, value) in fields.iter().filter(|(_, value)| !is_single(value) && !value.is_null()) {
        let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
        describe(&name, value, more, lines);
    }
}

fn is_single(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

fn names(fields: &Map<String, Value>) -> Vec<&str> {
    fields.keys().map(String::as_str).take(NAMES).collect()
}

fn label(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}: ") }
}

fn field((key, value): (&String, &Value)) -> String {
    format!("{key}: {}", short(value))
}

/// A value in a few words.
fn short(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.split_whitespace().take(VALUE_CHARS).collect::<Vec<_>>().join(" "),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => items.iter().take(NAMES).map(short).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let single = fields.iter().filter(|(_, value)| is_single(value));
            return single.map(field).collect::<Vec<_>>().join(", ");
        }
    };
    super::sentences::shortened(&text, VALUE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_told_by_their_shape_and_first_records() {
        let json =
            r#"{"ok":true,"rows":[{"id":1,"name":"潮位计"},{"id":2,"name":"gauge"}],"tags":["a","b"],"none":null}"#;
        let lines = outline(json).unwrap();
        assert_eq!(
            lines,
            ["ok: true", "rows: 2 × (id, name)", "id: 1, name: 潮位计", "id: 2, name: gauge", "tags: 2 × a, b"]
        );
    }

    #[test]
    fn what_was_cut_off_is_told_as_far_as_it_goes() {
        let lines = outline(r#"[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "na"#).unwrap();
        assert_eq!(lines, ["3+ × (id, name)", "id: 1, name: a", "id: 2, name: b", "id: 3"]);
        assert_eq!(outline("[note] this is no JSON, nor is {that}"), None);
        assert_eq!(outline(&"[".repeat(10_000)), None);
        assert_eq!(
            outline(r#"{"error":{"code":404,"message":"no such harbour"}}"#).unwrap(),
            ["error: code: 404, message: no such harbour"]
        );
    }
}
