//! What a result says with other words in the place of its own. Pictures, documents and whatever else is no words stay
//! beside them as they are: no words can bring them back.

use serde_json::{Value, json};

use super::read;

/// The content of a result with a text in the place of its words.
pub fn reworded(content: &Value, text: &str) -> Value {
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    if blocks.iter().all(read::is_words) {
        return text.into();
    }
    let mut text = Some(text);
    let mut written = |block: &Value| {
        if read::is_words(block) {
            return text.take().map(|text| json!({"type": block["type"], "text": text}));
        }
        Some(block.clone())
    };
    blocks.iter().filter_map(&mut written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_words_stays_beside_other_words() {
        let says = |kind: &str, text: &str| json!({"type": kind, "text": text});
        let image = json!({"type": "input_image", "image_url": "data:,"});
        let tool = json!({"type": "tool_reference", "tool_name": "look"});
        let check = |content: Value, expect: Value| assert_eq!(reworded(&content, "held"), expect, "{content}");
        check(json!("long"), json!("held"));
        check(json!([says("text", "long"), says("text", "more")]), json!("held"));
        check(json!({"stdout": "long"}), json!("held"));
        check(
            json!([image, says("input_text", "long"), tool, says("input_text", "more")]),
            json!([image, says("input_text", "held"), tool]),
        );
    }
}
