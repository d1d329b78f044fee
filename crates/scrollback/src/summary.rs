//! Summaries: a note that tells the whole beginning of a path in few words, with what must not be paraphrased beside
//! it.
//!
//! A summary is named after the last message it covers: s60 tells everything up to m60. The next one is made from it
//! and what was said since, so there is one at a time, and every one leads back to the messages themselves.

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::note::{Author, Covers};

/// What stands for the beginning of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What it covers: everything from the path's first message on.
    pub covers: Covers,
    /// What it says, in Markdown; messages it speaks of are named as `[m12]`.
    pub text: String,
    /// What is kept word for word: questions of the person, code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Quote>,
    /// The newest messages with images or files, which no words stand for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MessageId>,
    /// Names, numbers, paths and the like that the originals hold and neither the text nor the quotes do, the most
    /// telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Who wrote it.
    pub by: Author,
}

impl Summary {
    /// What people and models call it.
    pub fn name(&self) -> String {
        format!("s{}", self.covers.last.0)
    }

    /// What it takes in memory, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let quotes = self.kept.iter().map(|quote| quote.text.len() + 64);
        let lost = self.lost.iter().map(|thing| thing.len() + 32);
        self.text.len() + quotes.chain(lost).sum::<usize>() + 8 * self.media.len()
    }
}

/// Words of a message, as they were said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quote {
    /// The message.
    pub message: MessageId,
    /// Its words, or some of them.
    pub text: String,
}
