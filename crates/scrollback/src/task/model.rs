//! What a helper model has to offer: one question in, one text out.
//!
//! Whoever embeds the library brings the implementation; the server's speaks HTTP. Nothing here knows what is asked, or
//! whether the answer is of any use: see `run` for that.

use async_trait::async_trait;

use crate::error::Result;
use crate::ledger::{Hit, Usage};

/// Answers questions.
///
/// An implementation enforces its own timeout and returns [`crate::Error::Model`] when it is over: where no turn waits,
/// the library waits as long as it is made to. It asks once, without retrying what it did not understand. Dropping the
/// future abandons the question. A panic inside is taken for an error. An answer without words is an answer, so that
/// what it cost is known; only [`crate::Error::Unreachable`] says that nothing was asked and nothing spent.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks a question and returns all of the answer.
    async fn ask(&self, question: &Question) -> Result<Said>;
}

/// One question to a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The task that asks.
    pub task: &'static str,
    /// What is wanted, to be sent as instructions; the same for every question of a task, so it can be cached.
    pub instructions: String,
    /// What it is about, to be sent as the one user message.
    pub text: String,
    /// So many bytes of `text` will be the same where the like of it is asked again, so that a cache may keep them; 0
    /// for none.
    pub stable: usize,
    /// How many tokens the answer may have, reasoning not counted.
    pub most_tokens: u32,
}

impl Question {
    /// The same question again, with what was wrong with the answer.
    #[must_use]
    pub fn again(self, complaint: &str) -> Self {
        let wrong = format!("Your last answer could not be used: {complaint}.");
        let text = format!("{}\n\n{wrong} Answer again, only in the form asked for.", self.text);
        Self { text, ..self }
    }
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its words.
    pub text: String,
    /// How many tokens it read, as it reports them.
    pub input_tokens: u32,
    /// Of them, how many came from a cache.
    pub cache_read: u32,
    /// Of them, how many were written to a cache.
    pub cache_write: u32,
    /// How many tokens it wrote, as it reports them.
    pub output_tokens: u32,
}

impl Said {
    /// How what it read divides.
    pub(super) fn hit(&self) -> Hit {
        let Self { input_tokens: input, cache_read: read, cache_write: write, .. } = *self;
        Usage { input, read, write, output: self.output_tokens }.hit()
    }
}
