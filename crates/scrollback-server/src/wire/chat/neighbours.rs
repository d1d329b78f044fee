//! Messages of one speaker in a row as one, for models whose template wants people and the model to take turns.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::wire::edit::array;

/// The same messages, neighbours of one speaker joined. Calls, results, and what says more than words stay as they are.
pub(crate) fn joined(messages: &str) -> String {
    let raws: Vec<&RawValue> = serde_json::from_str(messages).unwrap_or_default();
    let mut out: Vec<(Value, Cow<'_, str>)> = Vec::with_capacity(raws.len());
    for raw in raws {
        let message: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        match out.last_mut().filter(|(last, _)| are_neighbours(last, &message)) {
            Some((last, text)) => {
                let content = both(&last["content"], &message["content"]);
                last["content"] = content;
                *text = last.to_string().into();
            }
            None => out.push((message, raw.get().into())),
        }
    }
    array(out.into_iter().map(|(_, text)| text))
}

fn are_neighbours(first: &Value, second: &Value) -> bool {
    first["role"] == second["role"] && first["role"] != "tool" && is_plain(first) && is_plain(second)
}

/// Whether a message is its content and no more.
fn is_plain(message: &Value) -> bool {
    let is_said = |(name, value): (&String, &Value)| name == "role" || name == "content" || value.is_null();
    let content = &message["content"];
    (content.is_string() || content.is_array()) && message.as_object().is_some_and(|fields| fields.iter().all(is_said))
}

fn both(first: &Value, second: &Value) -> Value {
    match (first.as_str(), second.as_str()) {
        (Some(first), Some(second)) => format!("{first}\n\n{second}").into(),
        _ => parts(first).into_iter().chain(parts(second)).collect(),
    }
}

fn parts(content: &Value) -> Vec<Value> {
    content.as_array().cloned().unwrap_or_else(|| vec![json!({"type": "text", "text": content})])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_speaker_are_joined() {
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        let picture = json!({"type": "image_url", "image_url": {"url": "data:,"}});
        let calls = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a"}]});
        let result = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
        let named = json!({"role": "user", "name": "ann", "content": "x"});
        let check = |sent: &[Value], expected: &[Value]| {
            let told: Value = serde_json::from_str(&joined(&json!(sent).to_string())).unwrap();
            assert_eq!(told, json!(expected));
        };
        let (system, user, fine) = (said("system", "s"), said("user", "u"), said("assistant", "f"));
        check(
            &[system.clone(), system.clone(), user.clone(), user.clone(), fine.clone(), user.clone()],
            &[said("system", "s\n\ns"), said("user", "u\n\nu"), fine.clone(), user.clone()],
        );
        let seen = json!({"role": "user", "content": [picture]});
        let text = json!({"type": "text", "text": "u"});
        check(&[user.clone(), seen], &[json!({"role": "user", "content": [text, picture]})]);
        let kept = [user, named, fine, calls, result.clone(), result];
        check(&kept, &kept);
    }

    #[test]
    fn what_stands_alone_stays_as_it_came() {
        let sent = r#"[ {"role":"user" ,"content":"\u00fc \ud83d"}, {"role":"assistant","content":"f"} ]"#;
        assert_eq!(joined(sent), r#"[{"role":"user" ,"content":"\u00fc \ud83d"},{"role":"assistant","content":"f"}]"#);
    }
}
