//! Which format a text is in, told by the fields of its first entries.

use serde_json::value::RawValue;

use super::entries::{Fields, first_elements};
use super::{Format, openai};

/// How many entries or lines are looked at before giving up; a file may begin with some that tell nothing.
const LINES: usize = 50;

pub(super) fn format_of(text: &str) -> Option<Format> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let lines = text.lines().take(LINES).filter_map(|line| serde_json::from_str::<&RawValue>(line).ok());
    first_elements(text, LINES).into_iter().chain(lines).find_map(format_of_entry)
}

fn format_of_entry(raw: &RawValue) -> Option<Format> {
    let Some(fields) = Fields::of(raw) else { return format_of_array(raw) };
    let has = |keys: &[&str]| keys.iter().all(|key| fields.has(key));
    let has_any = |keys: &[&str]| keys.iter().any(|key| fields.has(key));
    if has(&["mapping"]) {
        Some(Format::ChatGpt)
    } else if has(&["chat_messages"]) {
        Some(Format::Claude)
    } else if has(&["messages"]) {
        openai::is_spoken(&fields).then_some(Format::OpenAi)
    } else if has(&["type", "payload"]) || has(&["record_type"]) {
        Some(Format::Codex)
    } else if has(&["type"]) && has_any(&["parentUuid", "sessionId", "leafUuid", "isSnapshotUpdate"]) {
        Some(Format::ClaudeCode)
    } else if has_any(&["role", "call_id"]) {
        Some(Format::OpenAi)
    } else if has(&["id", "timestamp"]) && !has_any(&["type", "content", "text", "message"]) {
        Some(Format::Codex)
    } else {
        None
    }
}

/// An array among the entries is a conversation of its own if its first element is a message.
fn format_of_array(raw: &RawValue) -> Option<Format> {
    let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    elements.first().is_some_and(|first| openai::is_message(first)).then_some(Format::OpenAi)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, format: Option<Format>) {
        assert_eq!(format_of(text), format, "{text}");
    }

    #[test]
    fn formats_are_known_by_their_fields() {
        check(r#"[ {"title": "t", "mapping": {}}, {"#, Some(Format::ChatGpt));
        check("\u{feff}{\n \"mapping\": {}\n}", Some(Format::ChatGpt));
        check(r#"[null, 7, {"mapping": {}}]"#, Some(Format::ChatGpt));
        check(r#"[{"uuid":"u","chat_messages":[]}]"#, Some(Format::Claude));
        check(r#"{"type":"summary","summary":"s","leafUuid":"u"}"#, Some(Format::ClaudeCode));
        check("{\"type\":\"mode\"}\nbroken\n{\"type\":\"user\",\"parentUuid\":null}", Some(Format::ClaudeCode));
        check(r#"{"timestamp":"t","type":"session_meta","payload":{}}"#, Some(Format::Codex));
        check("{\"id\":\"s\",\"timestamp\":\"t\",\"instructions\":null}\n{\"role\":\"user\"}", Some(Format::Codex));
        check(r#"{"messages":[]}"#, Some(Format::OpenAi));
        check(r#"{"messages":[{"role":"user"}]}"#, Some(Format::OpenAi));
        check(r#"{"messages":[{"type":"function_call_output"}]}"#, Some(Format::OpenAi));
        check(r#"[[{"role":"user"}]]"#, Some(Format::OpenAi));
        check("[{\"role\":\"user\"}]\n[{\"role\":\"user\"}]", Some(Format::OpenAi));
        check(r#"{"role":"user","content":"hi"}"#, Some(Format::OpenAi));
    }

    const TELEGRAM: &str = r#"{"id":42,"messages":[{"id":1,"type":"message","from":"Mum","text":"Dinner?"}]}"#;
    const STUDIO: &str = r#"{"name":"Ferry","messages":[{"versions":[{"role":"user","content":[]}]}]}"#;

    const PI: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"p\",\"timestamp\":\"t\"}
        {\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"t\",\"message\":{\"role\":\"user\"}}";
    const GEMINI: &str = "{\"sessionId\":\"s\",\"projectHash\":\"h\",\"startTime\":\"t\"}
        {\"id\":\"1\",\"timestamp\":\"t\",\"type\":\"user\",\"content\":[]}";
    const PROMPTS: &str = r#"{"display":"hi","pastedContents":{},"timestamp":1760000000000,"sessionId":"s"}"#;

    #[test]
    fn what_is_none_of_them_is_not_guessed() {
        let of_others = [TELEGRAM, STUDIO, PI, GEMINI, PROMPTS];
        for text in ["", "[]", "{}", "[1,2]", "Dear diary", "{\"a\":1}"].into_iter().chain(of_others) {
            check(text, None);
        }
    }
}
