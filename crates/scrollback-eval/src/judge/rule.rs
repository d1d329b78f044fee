//! Whether a reply keeps to a rule.

use scrollback::task::{Question, Task};
use serde::Deserialize;

use super::{MOST_TOKENS, between, read};

const PROMPT: &str = include_str!("../../prompts/judge_rule.md");

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The reply keeps to it.
    Kept,
    /// It does not.
    Broken,
    /// Nobody can tell.
    Unclear,
}

/// Asks whether a reply keeps to a rule.
#[derive(Clone, Copy, Debug)]
pub struct JudgeRule<'a> {
    /// The rule, as it was stated.
    pub rule: &'a str,
    /// What was asked for.
    pub request: &'a str,
    /// What was replied.
    pub reply: &'a str,
}

impl Task for JudgeRule<'_> {
    type Answer = Option<Ruling>;

    const NAME: &'static str = "judge_rule";

    fn question(&self) -> Question {
        let parts = [between("rule", self.rule), between("request", self.request), between("reply", self.reply)];
        Question {
            task: Self::NAME,
            instructions: PROMPT.to_owned(),
            text: parts.join("\n\n"),
            most_tokens: MOST_TOKENS,
            ..Question::default()
        }
    }

    fn read(&self, reply: &str) -> Result<Self::Answer, String> {
        read(reply).map(Some)
    }

    fn offline(&self) -> Self::Answer {
        None
    }
}
