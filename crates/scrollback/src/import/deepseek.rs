//! DeepSeek's messages, which stand in a tree like ChatGPT's: each is a list of fragments, and those tell who speaks.

use serde_json::{Value, json};

use super::chatgpt::Said;
use super::entries::{array, kept, text};
use crate::ids::At;

/// Whether a message is DeepSeek's.
pub(super) fn wrote(message: &Value) -> bool {
    message.get("fragments").is_some()
}

/// Reads a message; `None` if it says nothing.
pub(super) fn read_message(message: &Value) -> Option<Said> {
    let fragments = array(message, "fragments");
    let asks = fragments.iter().any(|fragment| text(fragment, "type") == Some("REQUEST"));
    let mut blocks: Vec<Value> = fragments.iter().map(block).collect();
    blocks.extend(array(message, "files").iter().map(|file| kept("deepseek.file", file)));
    let said = json!({"role": if asks { "user" } else { "assistant" }, "content": blocks});
    let at = text(message, "inserted_at").and_then(At::parse);
    let model = text(message, "model").map(str::to_owned);
    (!blocks.is_empty()).then_some(Said { message: said, at, model })
}

fn block(fragment: &Value) -> Value {
    match (text(fragment, "type"), text(fragment, "content")) {
        (Some("REQUEST" | "RESPONSE"), Some(words)) => json!({"type": "text", "text": words}),
        (Some("THINK"), Some(words)) => json!({"type": "thinking", "thinking": words}),
        (kind, _) => kept(&format!("deepseek.{}", kind.unwrap_or("fragment").to_lowercase()), fragment),
    }
}

#[cfg(test)]
mod tests {
    use crate::import::{Format, read};

    #[test]
    fn fragments_tell_who_speaks() {
        let text = r#"[{"id":"d1","title":"DS","mapping":{"root":{"parent":null,"message":null},
            "1":{"parent":"root","message":{"files":[{"file_name":"a.pdf"}],"model":"deepseek-chat","inserted_at":"2025-01-01T08:00:00+08:00","fragments":[{"type":"REQUEST","content":"Why?"}]}},
            "2":{"parent":"1","message":{"files":[],"model":"deepseek-reasoner","fragments":[{"type":"THINK","content":"Hm."},{"type":"SEARCH","results":[1]},{"type":"RESPONSE","content":"So."}]}}}}]"#;
        let import = read(Format::ChatGpt, text).unwrap();
        let [one] = &import.conversations[..] else { panic!("{import:?}") };
        assert_eq!((one.declared.as_deref(), one.model.as_deref()), (Some("deepseek:d1"), Some("deepseek-reasoner")));
        assert_eq!(one.messages[0].1, crate::At::parse("2025-01-01T00:00:00Z"));
        let raws: Vec<&str> = one.messages.iter().map(|(raw, _)| raw.get()).collect();
        assert_eq!(
            raws,
            [
                r#"{"role":"user","content":[{"type":"text","text":"Why?"},{"type":"deepseek.file","file_name":"a.pdf"}]}"#,
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"deepseek.search","original_type":"SEARCH","results":[1]},{"type":"text","text":"So."}]}"#,
            ]
        );
    }
}
