//! Embeddings: what a text means as a vector, so that messages are found that say the same in other words. An option,
//! off unless an [`Embedder`] is given to the engine.
//!
//! `passage` cuts long messages into pieces, `vector` makes a vector small, `scan` compares a question with all of a
//! session, `block` is how vectors are kept. They are derived: kept by the name of what made them, and made anew by
//! another. `local` reads models from files.

mod block;
#[cfg(feature = "local-embeddings")]
pub mod local;
mod passage;
mod scan;
mod vector;

use async_trait::async_trait;

pub(crate) use block::{Block, Row};
pub use passage::{PASSAGE_CHARS, passages};
pub use scan::{Scan, Similar};
pub use vector::{Code, Sought, cosine};

use crate::error::Result;

/// What a text is to its embedder: some models want to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// Something that is looked for.
    Question,
    /// Something that may be found.
    Passage,
}

/// Makes vectors of texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// What its vectors are kept under. Vectors of different names are never compared, so it changes with the model.
    fn name(&self) -> &str;

    /// A vector for each text, all of the same length, in the order of the texts. Need not be of length one. What is
    /// longer than the model can read is cut off.
    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>>;
}

/// How embeddings are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedSettings {
    /// How long a turn waits for the vector of its question before it goes on without, in milliseconds.
    pub question_ms: u64,
    /// How many texts are embedded at once in the background.
    pub batch: usize,
    /// How many passages of what a person says are embedded, from its beginning.
    pub passages: usize,
    /// The same of what a model says, which is ten times as much and asked for less; it is found by its words anyway.
    pub reply_passages: usize,
    /// How much memory the vectors of sessions may take, in megabytes.
    pub memory_megabytes: usize,
}

impl Default for EmbedSettings {
    fn default() -> Self {
        Self { question_ms: 300, batch: 32, passages: 8, reply_passages: 0, memory_megabytes: 256 }
    }
}
