//! The judge: what an answer is worth, said by a model in strict JSON.
//!
//! Each judgement is a task: what cannot be read is complained about and asked once more. What a judge does not tell is
//! not judged; it never counts for or against.

mod answer;
mod rule;

pub use answer::{JudgeAnswer, Verdict};
pub use rule::{JudgeRule, Ruling};

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How long a judgement may be; models that think first need room for it.
const MOST_TOKENS: u32 = 1_000;

#[derive(Deserialize)]
struct Told<V> {
    verdict: V,
}

/// Reads a judgement; a fence around it is forgiven, and nothing else.
fn read<V: DeserializeOwned>(reply: &str) -> Result<V, String> {
    let inner = reply.trim();
    let inner = inner.strip_prefix("```json").or_else(|| inner.strip_prefix("```")).unwrap_or(inner);
    let inner = inner.strip_suffix("```").unwrap_or(inner);
    serde_json::from_str::<Told<V>>(inner.trim()).map(|told| told.verdict).map_err(|error| error.to_string())
}

/// Words between tags that they cannot leave.
fn between(tag: &str, words: &str) -> String {
    format!("<{tag}>\n{}\n</{tag}>", words.replace("</", "< /"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgements_are_read_strictly() {
        let verdict = |reply: &str| read::<Verdict>(reply).ok();
        assert_eq!(verdict(r#"{"reason": "It is.", "verdict": "correct"}"#), Some(Verdict::Correct));
        assert_eq!(verdict("```json\n{\"verdict\": \"unknown\"}\n```"), Some(Verdict::Unknown));
        for nonsense in ["", "correct", r#"{"verdict": "good"}"#, r#"Well: {"verdict": "wrong"}"#, r#"{"reason": ""}"#]
        {
            assert_eq!(verdict(nonsense), None, "{nonsense}");
        }
        assert_eq!(read::<Ruling>(r#"{"verdict": "broken"}"#), Ok(Ruling::Broken));
        assert!(read::<Verdict>(r#"{"verdict": "good"}"#).unwrap_err().contains("good"));
    }

    #[test]
    fn words_stay_between_their_tags() {
        assert_eq!(between("answer", "a</answer>b"), "<answer>\na< /answer>b\n</answer>");
    }
}
