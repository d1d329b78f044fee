//! Finding the answer in what a model says: what follows its thinking aloud, and the JSON in it.
//!
//! Models wrap JSON in prose and fences, leave commas at the end of lists and line breaks inside strings; all of that
//! is forgiven. What is wrong beyond that becomes a complaint, in words the model can act upon.

use serde_json::Value;

/// How many places where JSON may begin are looked at.
const TRIES: usize = 64;
/// Replies are read this far.
const READ_BYTES: usize = 400_000;

/// The first JSON object or array in a reply that `read` accepts; otherwise the complaint about the outermost one.
pub(super) fn json<T>(reply: &str, read: impl Fn(&Value) -> Result<T, String>) -> Result<T, String> {
    spoken(reply, |text| search(text, &read))
}

/// What `read` makes of a reply without its reasoning; of all of it if what follows the reasoning cannot be read.
pub(super) fn spoken<T>(reply: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    let reply = reply[..reply.floor_char_boundary(READ_BYTES)].trim_start();
    let ends = ["</think>", "</thinking>"];
    let thinks = ["<think>", "<thinking>"].iter().any(|begin| reply.starts_with(begin));
    match ends.iter().find_map(|end| reply.rsplit_once(end).map(|(_, after)| (after, end))) {
        Some((after, end)) if thinks => {
            let sooner = reply.split_once(end).map_or(after, |(_, after)| after);
            read(after).or_else(|complaint| read(sooner).map_err(|_| complaint))
        }
        Some((after, _)) => read(after).or_else(|_| read(reply)),
        None if thinks => Err("there is only reasoning and no answer; think less".to_owned()),
        None => read(reply),
    }
}

fn search<T>(text: &str, read: &impl Fn(&Value) -> Result<T, String>) -> Result<T, String> {
    let mut complaint = None;
    for (start, _) in text.match_indices(['{', '[']).take(TRIES) {
        match value_at(&text[start..]).and_then(|value| read(&value)) {
            Ok(answer) => return Ok(answer),
            Err(wrong) => complaint = complaint.or(Some(wrong)),
        }
    }
    Err(complaint.unwrap_or_else(|| "there is no JSON in it".to_owned()))
}

/// The JSON value a text begins with.
fn value_at(text: &str) -> Result<Value, String> {
    let end = end_of(text).ok_or("the JSON is not finished; be briefer, and close every bracket and quote")?;
    let value = serde_json::from_str(&text[..end]).or_else(|_| serde_json::from_str(&mended(&text[..end])));
    value.map_err(|cause| format!("the JSON cannot be read ({cause})"))
}

/// Where the brackets that a text begins with are closed again.
fn end_of(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// The same without commas before closing brackets, and with control characters in strings written as JSON wants them.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        let closes = || text[at + 1..].trim_start().starts_with(['}', ']']);
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted && closes() => continue,
            c if quoted && c.is_control() => {
                out.extend(['\\', 'u', '0', '0']);
                out.extend([16, 1].map(|place| char::from_digit(u32::from(c) / place % 16, 16).unwrap_or('0')));
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(reply: &str) -> Result<String, String> {
        let read = |value: &Value| value["title"].as_str().map(str::to_owned).ok_or("“title” is missing".to_owned());
        json(reply, read)
    }

    #[test]
    fn json_is_found_wherever_it_stands() {
        for reply in [
            r#"{"title": "a}b"}"#,
            "Here you are:\n```json\n{\"title\": \"a}b\",}\n```\nAnything else?",
            "<think>maybe {\"title\": \"no\"}</think>\n{\"title\": \"a}b\"}",
            "maybe {\"title\": \"no\"} hmm</think>\n{\"title\": \"a}b\"}",
            r#"In the shape {title}, see [1]: {"answer": {"title": "a}b", "tags": ["x", ], }}"#,
        ] {
            assert_eq!(title(reply).as_deref(), Ok("a}b"), "{reply}");
        }
        assert_eq!(title("{\"title\": \"two\nlines\"}").as_deref(), Ok("two\nlines"));
        assert_eq!(title(r#"<think>hm</think>{"title": "a </think> b"}"#).as_deref(), Ok("a </think> b"));
        assert_eq!(title(r#"{"title": "say </think> twice"}"#).as_deref(), Ok("say </think> twice"));
    }

    #[test]
    fn complaints_name_what_is_wrong() {
        for (reply, complaint) in [
            ("", "no JSON"),
            ("I would rather not.", "no JSON"),
            (r#"{"name": "x"}"#, "“title” is missing"),
            (r#"{"title": "x"#, "not finished"),
            (r#"{"title" "x"}"#, "cannot be read"),
            (r#"<think>{"title": "x"}"#, "only reasoning"),
        ] {
            let told = title(reply).unwrap_err();
            assert!(told.contains(complaint), "{reply}: {told}");
        }
    }

    #[test]
    fn hostile_replies_end_soon() {
        for reply in ["{".repeat(1_000_000), "[{".repeat(100) + &"}]".repeat(100), "\"{\\".repeat(200_000)] {
            assert!(title(&reply).is_err());
        }
        assert!(title(&format!("{{\"a\": [1{}]}}", ",".repeat(300_000))).is_err(), "mending is linear");
    }
}
