//! How many tokens a message takes.
//!
//! Counted once, when a message is stored: exactly, for models that use an OpenAI vocabulary; for every other family
//! the count in `o200k` and the number of characters written without spaces are enough for an estimate that
//! [`Calibration`] learns from the usage providers report.

mod calibrate;

use std::cell::Cell;

use serde::{Deserialize, Serialize};

pub use calibrate::{Calibration, Sample};

use crate::message::{Message, Part};
use crate::search::is_unspaced;

/// Tokens a chat message costs beyond its words: its role and its frame.
const FRAME_TOKENS: usize = 4;
/// What a picture or a document is assumed to cost; providers decide by size, which the JSON seldom tells.
const ATTACHMENT_TOKENS: usize = 1_100;
/// How many bytes of encrypted reasoning make a token, about.
const ENCRYPTED_BYTES: usize = 5;

/// How much of the stack [`prepare`] may take.
const PREPARING_BYTES: usize = 4 << 20;
/// A word that is no token of any vocabulary: only such words are remembered.
const SPLIT_WORD: &str = "qzxjqv";

/// A vocabulary that is known exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Vocabulary {
    /// GPT-4o and all later OpenAI models.
    O200k,
    /// GPT-4 and GPT-3.5.
    Cl100k,
}

impl Vocabulary {
    /// How many tokens a text has.
    pub fn count(self, text: &str) -> usize {
        let encoding = tiktoken::get_encoding(self.name()).expect("both vocabularies are compiled in");
        prepare(encoding);
        encoding.count(text)
    }

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    /// The vocabulary messages of a model are counted in: its own, or `o200k` as the yardstick for an estimate.
    pub fn of_model(model: &str) -> Self {
        match Family::of_model(model) {
            Family::Exact(vocabulary) => vocabulary,
            Family::Estimated { .. } => Self::O200k,
        }
    }
}

thread_local! {
    /// Whether the counter's own memory of this thread is made.
    static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Has the counter make its memory for this thread, on a stack with room for it: without optimisations it takes more
/// than a megabyte there, wherever in the embedder's calls the first word is counted.
fn prepare(encoding: &tiktoken::CoreBpe) {
    if !IS_PREPARED.replace(true) {
        stacker::maybe_grow(PREPARING_BYTES, 2 * PREPARING_BYTES, || encoding.count(SPLIT_WORD));
    }
}

/// What is known about how a model counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    /// Its vocabulary is known.
    Exact(Vocabulary),
    /// It is estimated from `o200k`, beginning with these ratios.
    Estimated {
        /// Tokens per `o200k` token in languages with spaces, and in code.
        spaced: f64,
        /// Tokens per `o200k` token in Chinese, Japanese and the like.
        unspaced: f64,
    },
}

impl Family {
    /// The family of a model, by its name. A provider's prefix (`openai/gpt-5`) is ignored.
    pub fn of_model(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let estimated = |spaced, unspaced| Self::Estimated { spaced, unspaced };
        if starts(&["gpt-3.5", "gpt-4-"]) || name == "gpt-4" {
            Self::Exact(Vocabulary::Cl100k)
        } else if starts(&["gpt", "chatgpt", "o1", "o3", "o4", "codex"]) {
            Self::Exact(Vocabulary::O200k)
        } else if starts(&["claude"]) {
            estimated(1.2, 1.4)
        } else if starts(&["gemini", "gemma"]) {
            estimated(1.05, 1.0)
        } else if starts(&["qwen", "deepseek", "glm", "kimi", "moonshot"]) {
            estimated(1.05, 0.7)
        } else {
            estimated(1.15, 1.25)
        }
    }
}

/// A message's size, taken once and stored with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// What `tokens` counts.
    pub vocabulary: Vocabulary,
    /// Tokens, the frame of the message included.
    pub tokens: u32,
    /// Characters of languages written without spaces, for the estimate in other families.
    pub unspaced_chars: u32,
}

impl Measure {
    /// Measures a message for a model.
    pub fn of(message: &Message, model: &str) -> Self {
        Self::with(message, Vocabulary::of_model(model))
    }

    /// Measures a message in a vocabulary.
    pub(crate) fn with(message: &Message, vocabulary: Vocabulary) -> Self {
        let encrypted = message.encrypted_bytes() / ENCRYPTED_BYTES;
        let beside: usize = message.parts().iter().map(|part| wordless_tokens(part, vocabulary)).sum();
        let mut tokens = FRAME_TOKENS + beside + encrypted;
        let mut unspaced_chars = 0;
        for piece in message.words() {
            tokens += vocabulary.count(&piece);
            unspaced_chars += piece.chars().filter(|&c| is_unspaced(c)).count();
        }
        let narrow = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Self { vocabulary, tokens: narrow(tokens), unspaced_chars: narrow(unspaced_chars) }
    }
}

/// What a part of a message costs, in our own vocabulary.
pub(crate) fn part_tokens(part: &Part) -> usize {
    let words = part.words().iter().map(|piece| Vocabulary::O200k.count(piece)).sum::<usize>();
    wordless_tokens(part, Vocabulary::O200k) + words
}

impl Measure {
    /// Whether a message of this size may bring a picture or a file.
    pub(crate) fn may_have_attachments(&self) -> bool {
        self.tokens as usize >= ATTACHMENT_TOKENS
    }

    /// What a message of this size costs where a line stands for every picture and file in it.
    pub(crate) fn without_attachments(&self, message: &Message) -> u32 {
        let count: usize = message.parts().iter().map(Part::attachments).sum();
        self.tokens.saturating_sub(u32::try_from(ATTACHMENT_TOKENS * count).unwrap_or(u32::MAX))
    }
}

/// What a part costs beside its words.
fn wordless_tokens(part: &Part, vocabulary: Vocabulary) -> usize {
    let data = part.data().into_iter().map(|data| vocabulary.count(data)).sum::<usize>();
    ATTACHMENT_TOKENS * part.attachments() + data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Role;

    /// A picture costs the same whoever shows it, and data that a call writes is read like any words.
    #[test]
    fn what_is_no_language_costs_too() {
        let tokens = |json: &str| Measure::of(&Message::from_json(json).unwrap(), "gpt-5").tokens;
        let image = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}"#;
        let shot = r#"{"type":"computer_screenshot","image_url":"https://example.org/1.png"}"#;
        let shown = [
            format!(r#"{{"role":"user","content":[{image}]}}"#),
            format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":[{image}]}}]}}"#),
            format!(r#"{{"type":"computer_call_output","call_id":"c1","output":{shot}}}"#),
        ];
        for message in &shown {
            assert!((1_100..1_200).contains(&tokens(message)), "{message}: {}", tokens(message));
        }
        let data = "deadbeef01".repeat(500);
        let call = |data: &str| {
            let function = serde_json::json!({"name": "write", "arguments": format!(r#"{{"data":"{data}"}}"#)});
            let call = serde_json::json!({"id": "c1", "type": "function", "function": function});
            tokens(&serde_json::json!({"role": "assistant", "content": null, "tool_calls": [call]}).to_string())
        };
        assert!(call(&data) > 1_900 && call("few words") < 20, "{}", call(&data));
    }

    /// A document of plain text is as long as its words.
    #[test]
    fn documents_cost_their_words() {
        let text = "High water at nine. ".repeat(5_000);
        let source = serde_json::json!({"type": "text", "media_type": "text/plain", "data": text});
        let said = serde_json::json!({"role": "user", "content": [{"type": "document", "source": source}]});
        let message = Message::from_json(&said.to_string()).unwrap();
        assert!(Measure::of(&message, "gpt-5").tokens as usize > Vocabulary::O200k.count(&text));
        assert!(message.to_text().contains("High water"));
    }

    #[test]
    fn openai_vocabularies_are_exact() {
        // Counts published by the reference tokenizer for these texts.
        assert_eq!(Vocabulary::O200k.count("tiktoken is great!"), 6);
        assert_eq!(Vocabulary::Cl100k.count("tiktoken is great!"), 6);
        assert_eq!(Vocabulary::Cl100k.count("お誕生日おめでとう"), 9);
        assert_eq!(Vocabulary::O200k.count("お誕生日おめでとう"), 8);
    }

    /// Embedders call from wherever they are; counting must not be what overflows their stack.
    #[test]
    fn tokens_are_counted_on_a_small_stack() {
        let counted = || (Vocabulary::O200k.count(SPLIT_WORD), Vocabulary::Cl100k.count(SPLIT_WORD));
        let small = std::thread::Builder::new().stack_size(256 << 10).spawn(counted).unwrap();
        let (o200k, cl100k) = small.join().unwrap();
        assert!(o200k > 1 && cl100k > 1, "a word that is one token is not remembered");
    }

    #[test]
    fn models_find_their_family() {
        assert_eq!(Family::of_model("gpt-4"), Family::Exact(Vocabulary::Cl100k));
        assert_eq!(Family::of_model("openai/gpt-4o-mini"), Family::Exact(Vocabulary::O200k));
        assert_eq!(Family::of_model("gpt-6-sol"), Family::Exact(Vocabulary::O200k));
        assert!(matches!(Family::of_model("claude-sonnet-5"), Family::Estimated { .. }));
        assert!(
            matches!(Family::of_model("deepseek/deepseek-v4"), Family::Estimated { unspaced, .. } if unspaced < 1.0)
        );
    }

    #[test]
    fn a_message_costs_its_words_and_its_frame() {
        let measure = Measure::of(&Message::text(&Role::User, "tiktoken is great!"), "gpt-5");
        assert_eq!((measure.tokens, measure.unspaced_chars), (10, 0));
        assert_eq!(Measure::of(&Message::text(&Role::User, "数据库 index"), "gpt-5").unspaced_chars, 3);
    }

    #[test]
    fn encoded_pictures_are_not_read_as_words() {
        let json = format!(
            r#"{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{}"}}}}]}}"#,
            "A".repeat(100_000)
        );
        assert!(Measure::of(&Message::from_json(&json).unwrap(), "gpt-5").tokens < 1_200);
    }
}
