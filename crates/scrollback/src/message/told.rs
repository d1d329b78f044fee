//! What a message says where it is quoted: pictures and documents cannot be, so that a line stands for each.

use std::borrow::Cow;

use super::{Message, Part, caption_of, read, text_of};

impl Message {
    /// Its words as one text, with a line in place of each picture and document: what `instead` makes of "image" or
    /// "file".
    pub(crate) fn told(&self, instead: impl Fn(&str) -> String) -> String {
        let pieces = self.parts.iter().flat_map(|part| told(part, &instead));
        pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Whether a person sent a picture or a document with it, more than its name.
    pub(crate) fn brings_media(&self) -> bool {
        let brings = |part: &Part| matches!(part, Part::Image(_) | Part::File(_)) && part.attachments() > 0;
        *self.role() == super::Role::User && self.parts.iter().any(brings)
    }
}

fn told<'a>(part: &'a Part, instead: &impl Fn(&str) -> String) -> Vec<Cow<'a, str>> {
    let line = |kind: &str| Cow::Owned(instead(kind));
    match part {
        Part::Image(_) => part.words().into_iter().chain([line("image")]).collect(),
        Part::File(_) => part.words().into_iter().chain([line("file")]).collect(),
        Part::Result { text, other, .. } => {
            let beside = other.iter().flat_map(|block| match (read::attached(block), read::plain(block)) {
                (Some(_), Some(words)) => vec![caption_of(block), words.into()],
                (Some(kind), None) => vec![caption_of(block), line(kind)],
                (None, _) => vec![text_of(block)],
            });
            std::iter::once(text.into()).chain(beside).collect()
        }
        Part::Text(_) | Part::Thinking(_) | Part::Call { .. } | Part::Other(_) => part.words(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(value: &serde_json::Value) -> String {
        Message::from_json(&value.to_string()).expect("a message").told(|kind| format!("[{kind}]"))
    }

    /// However small a picture is, it is no text.
    #[test]
    fn a_picture_is_told_of_and_never_spelt_out() {
        let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";
        let url = format!("data:image/png;base64,{dot}");
        let block = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": dot}});
        let asked = json!([{"type": "text", "text": "The pier."}, {"type": "image_url", "image_url": {"url": url}}]);
        assert_eq!(told(&json!({"role": "user", "content": asked})), "The pier.\n[image]");
        let result = json!([{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "Seen."}, block]}]);
        assert_eq!(told(&json!({"role": "user", "content": result})), "Seen.\n[image]");
        let far = json!([{"type": "image_url", "image_url": {"url": "https://example.org/pier.png"}}]);
        assert_eq!(told(&json!({"role": "user", "content": far})), "https://example.org/pier.png\n[image]");
        let file = json!([{"type": "document", "title": "Tides", "source": {"type": "base64", "data": dot}}]);
        assert!(told(&json!({"role": "user", "content": file})).ends_with("Tides\n[file]"));
    }

    #[test]
    fn what_a_document_says_that_a_tool_returned_is_told() {
        let result = |source: serde_json::Value| {
            let file = json!({"type": "document", "title": "Tides", "source": source});
            told(&json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [file]}]}))
        };
        let words = "High at nine.\n  Low at three.";
        assert_eq!(
            result(json!({"type": "text", "media_type": "text/plain", "data": words})),
            format!("Tides\n{words}")
        );
        assert!(result(json!({"type": "content", "content": words})).contains(words));
        assert_eq!(result(json!({"type": "base64", "media_type": "application/pdf", "data": "JVBE"})), "Tides\n[file]");
    }

    #[test]
    fn a_name_of_a_picture_is_none() {
        let brings = |block: serde_json::Value| {
            let message = json!({"role": "user", "content": [block]}).to_string();
            Message::from_json(&message).expect("a message").brings_media()
        };
        assert!(brings(json!({"type": "image_url", "image_url": {"url": "https://example.org/pier.png"}})));
        assert!(!brings(json!({"type": "chatgpt.image_asset_pointer", "asset_pointer": "file-service://file-1"})));
    }
}
