//! What a provider reports of a call, read from the several shapes it comes in.
//!
//! They differ in what `input` means: `OpenAI` counts cached tokens in, Anthropic leaves them out. Here it is always
//! the total.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Hit, is_zero};

/// The tokens a provider says it billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input, cached or not.
    pub input: u32,
    /// Of it, read from the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read: u32,
    /// Of it, written to the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub write: u32,
    /// What the model wrote, its thinking included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output: u32,
}

impl Usage {
    /// Reads a reply's `usage` object; `None` if it counts nothing that is known here.
    pub fn read(usage: &Value) -> Option<Self> {
        let known = ["prompt_tokens", "input_tokens", "output_tokens"];
        if !known.iter().any(|name| usage[name].is_u64()) {
            return None;
        }
        Some(if usage["prompt_tokens"].is_u64() {
            Self::chat(usage)
        } else if usage["input_tokens_details"].is_object() {
            Self::responses(usage)
        } else {
            Self::anthropic(usage)
        })
    }

    /// `OpenAI` chat, and those who speak it: `DeepSeek` and Moonshot name the cached part differently; xAI and Google
    /// leave thinking out of the completion, and have it in the total alone.
    fn chat(usage: &Value) -> Self {
        let (details, input) = (&usage["prompt_tokens_details"], count(&usage["prompt_tokens"]));
        let cached = [&details["cached_tokens"], &usage["prompt_cache_hit_tokens"], &usage["cached_tokens"]];
        let beyond_input = count(&usage["total_tokens"]).saturating_sub(input);
        Self {
            input,
            read: cached.into_iter().map(count).max().unwrap_or(0),
            write: count(&details["cache_write_tokens"]),
            output: count(&usage["completion_tokens"]).max(beyond_input),
        }
    }

    fn responses(usage: &Value) -> Self {
        let details = &usage["input_tokens_details"];
        Self {
            input: count(&usage["input_tokens"]),
            read: count(&details["cached_tokens"]),
            write: count(&details["cache_write_tokens"]),
            output: count(&usage["output_tokens"]),
        }
    }

    fn anthropic(usage: &Value) -> Self {
        let (read, write) = (count(&usage["cache_read_input_tokens"]), count(&usage["cache_creation_input_tokens"]));
        let input = count(&usage["input_tokens"]).saturating_add(read).saturating_add(write);
        Self { input, read, write, output: count(&usage["output_tokens"]) }
    }

    /// This report completed by a later one of the same call, as a stream sends them: counts only grow.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        Self {
            input: self.input.max(later.input),
            read: self.read.max(later.read),
            write: self.write.max(later.write),
            output: self.output.max(later.output),
        }
    }

    /// How its input divides.
    pub fn hit(self) -> Hit {
        let read = self.read.min(self.input);
        let write = self.write.min(self.input - read);
        Hit { read, write, plain: self.input - read - write }
    }
}

fn count(value: &Value) -> u32 {
    value.as_u64().map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(usage: &Value, expect: (u32, u32, u32, u32)) {
        let usage = Usage::read(usage).unwrap();
        assert_eq!((usage.input, usage.read, usage.write, usage.output), expect);
    }

    #[test]
    fn openai_counts_cached_tokens_in() {
        let details = json!({"cached_tokens": 1_024, "cache_write_tokens": 100});
        let chat = json!({"prompt_tokens": 2_000, "completion_tokens": 50, "prompt_tokens_details": details});
        check(&chat, (2_000, 1_024, 100, 50));
        check(&json!({"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": null}), (9, 0, 0, 1));
        let responses = json!({"input_tokens": 2_000, "output_tokens": 50, "input_tokens_details": details});
        check(&responses, (2_000, 1_024, 100, 50));
    }

    #[test]
    fn anthropic_leaves_them_out_and_is_brought_to_the_total() {
        let usage = json!({"input_tokens": 20, "cache_read_input_tokens": 5_000,
            "cache_creation_input_tokens": 300, "output_tokens": 40});
        check(&usage, (5_320, 5_000, 300, 40));
        assert_eq!(Usage::read(&usage).unwrap().hit(), Hit { read: 5_000, write: 300, plain: 20 });
    }

    #[test]
    fn a_stream_reports_in_pieces() {
        let start =
            Usage::read(&json!({"input_tokens": 20, "cache_read_input_tokens": 500, "output_tokens": 1})).unwrap();
        let delta = Usage::read(&json!({"output_tokens": 77})).unwrap();
        assert_eq!(start.then(delta), Usage { input: 520, read: 500, write: 0, output: 77 });
    }

    #[test]
    fn deepseek_has_names_of_its_own() {
        let usage = json!({"prompt_tokens": 700, "completion_tokens": 5,
            "prompt_cache_hit_tokens": 640, "prompt_cache_miss_tokens": 60});
        check(&usage, (700, 640, 0, 5));
    }

    #[test]
    fn moonshot_tells_what_is_cached_beside_the_rest() {
        let usage =
            json!({"prompt_tokens": 2_000, "completion_tokens": 5, "total_tokens": 2_005, "cached_tokens": 1_792});
        check(&usage, (2_000, 1_792, 0, 5));
    }

    #[test]
    fn thinking_that_only_the_total_tells_of_is_output() {
        let xai = json!({"prompt_tokens": 10_120, "completion_tokens": 1_499, "total_tokens": 14_428,
            "prompt_tokens_details": {"cached_tokens": 128}, "completion_tokens_details": {"reasoning_tokens": 2_809}});
        check(&xai, (10_120, 128, 0, 4_308));
        check(&json!({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}), (20, 0, 0, 603));
        let openai = json!({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 218,
            "completion_tokens_details": {"reasoning_tokens": 100}});
        check(&openai, (20, 0, 0, 198));
        check(&json!({"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 20}), (20, 0, 0, 7));
    }

    #[test]
    fn nonsense_is_no_usage_and_never_negative() {
        assert_eq!(Usage::read(&json!(null)), None);
        assert_eq!(Usage::read(&json!({"prompt_tokens": "many"})), None);
        let odd = Usage { input: 10, read: 90, write: 90, output: 0 };
        assert_eq!(odd.hit(), Hit { read: 10, write: 0, plain: 0 });
    }
}
