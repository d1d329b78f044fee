//! Whether an answer is right.

use scrollback::task::{Question, Task};
use serde::Deserialize;

use super::{MOST_TOKENS, between, read};
use crate::dataset::recall::{Asked, Talk};

const PROMPT: &str = include_str!("../../prompts/judge_answer.md");

/// What an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is right.
    Correct,
    /// Some of it is.
    Partly,
    /// It is not.
    Wrong,
    /// It says that it does not know.
    Unknown,
}

/// Asks whether an answer is right: against a reference where there is one, and against what was said.
#[derive(Clone, Copy, Debug)]
pub struct JudgeAnswer<'a> {
    /// The conversation.
    pub talk: &'a Talk,
    /// What was asked.
    pub asked: &'a Asked,
    /// What was answered.
    pub answer: &'a str,
}

impl JudgeAnswer<'_> {
    fn evidence(&self) -> String {
        let said = self.asked.evidence.iter().filter_map(|place| self.talk.messages.get(*place));
        let lines = said.map(|said| {
            let when = said.at.map(|at| format!(" ({at})")).unwrap_or_default();
            format!("{}{when}: {}", said.speaker, said.text)
        });
        lines.collect::<Vec<_>>().join("\n\n")
    }
}

impl Task for JudgeAnswer<'_> {
    type Answer = Option<Verdict>;

    const NAME: &'static str = "judge_answer";

    fn question(&self) -> Question {
        let mut parts = vec![between("question", &self.asked.dated())];
        parts.extend(self.asked.answer.as_ref().map(|right| between("reference", right)));
        parts.push(between("messages", &self.evidence()));
        parts.push(between("answer", self.answer));
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
