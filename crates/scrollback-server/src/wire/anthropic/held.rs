//! Large results behind a placeholder: their words are replaced, and every other byte of the message is as it was.
//! Where a picture or a document is among the words, it stays.

use std::borrow::Cow;
use std::ops::Range;

use scrollback::message::{reworded, value_of};
use scrollback::strategy::Placeholder;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::edit::{HELD_TOO, addressed};

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
}

/// A block, as far as it has to be known.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    tool_use_id: Cow<'a, str>,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// A message with a placeholder for its large results.
pub(super) fn written(raw: &str, placeholder: &Placeholder, handle: Option<&str>) -> String {
    let text = addressed(&placeholder.text, handle);
    let mut out = String::with_capacity(text.len() + 512);
    let mut at = 0;
    for content in contents(raw, &placeholder.calls) {
        let shown = if at == 0 { &text } else { HELD_TOO };
        out.push_str(&raw[at..content.start]);
        let was: Value = value_of(&raw[content.clone()]).unwrap_or_default();
        out.push_str(&reworded(&was, shown).to_string());
        at = content.end;
    }
    out.push_str(&raw[at..]);
    out
}

/// Where the contents of some results stand.
fn contents(raw: &str, calls: &[String]) -> Vec<Range<usize>> {
    let Ok(message) = serde_json::from_str::<Message<'_>>(raw) else { return Vec::new() };
    let blocks = message.content.iter().filter_map(|block| serde_json::from_str::<Block<'_>>(block.get()).ok());
    let held = blocks.filter(|block| calls.iter().any(|call| *call == block.tool_use_id));
    held.map(|block| place(raw, block.content.get())).collect()
}

/// Where a part of a text stands in it.
fn place(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_else_stays_as_it_was() {
        let raw = r#"{ "role":"user", "content" : [{"type":"tool_result","content":[{"type":"text","text":"long \ud83d"}],"tool_use_id":"a", "is_error":true},
            {"type":"tool_result","tool_use_id":"b","content": "small"},{"type":"tool_result","tool_use_id":"c"},{"type":"tool_result","tool_use_id":"d","content":"long"}, {"type":"text","text":"\u0041"}]}"#;
        let calls = ["a", "c", "d"].map(str::to_owned).to_vec();
        let held = Placeholder { text: "It is \"kept\".".into(), tokens: 9, calls };
        let expected = raw
            .replace(r#"[{"type":"text","text":"long \ud83d"}]"#, r#""It is \"kept\".""#)
            .replace(r#""d","content":"long""#, r#""d","content":"Held with the result above.""#);
        assert_eq!(written(raw, &held, None), expected);
    }

    #[test]
    fn a_picture_among_the_words_stays() {
        let image = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}"#;
        let raw = |words: &str| {
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":[{{"type":"text","text":"{words}"}},{image}]}}]}}"#
            )
        };
        let held = Placeholder { text: "It is kept.".into(), tokens: 9, calls: vec!["a".to_owned()] };
        assert_eq!(written(&raw("long"), &held, None), raw("It is kept."));
    }
}
