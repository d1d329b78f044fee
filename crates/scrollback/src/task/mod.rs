//! Tasks: typed questions about messages, each with an answer that needs no model.
//!
//! A task has its prompt, its tolerant reader and its offline answer in one file (`digest`, `hold`, those in `topic`);
//! `run` asks the helper and falls back. The offline answers are extractive: they quote, and never invent. Nothing here
//! knows a store or a clock.

mod alike;
mod artifact;
mod breaker;
mod digest;
mod hold;
mod model;
mod outline;
mod partition;
mod prompt;
mod purse;
mod reply;
mod run;
mod sentences;
mod sources;
mod summary;
#[cfg(test)]
pub(crate) mod testing;
mod topic;
mod worth;

pub use artifact::{Decide, Draft, Drafted, Weave};
pub use digest::{Digest, PageDigest, digest};
pub use hold::{HoldBrief, HoldDigest};
pub use model::{Model, Question, Said};
pub use partition::{Choice, Known, Unit, partition, partition_online};
pub use purse::{Purse, SpendLimit};
pub(crate) use run::unharmed;
pub use run::{Answered, Asked, By, Heard, Sign, TaskSettings, Tasks, Watch, Why};
pub use sentences::brief;
pub(crate) use sentences::shortened;
pub use sources::sources;
pub(crate) use summary::told_in;
pub use summary::{
    Fact, FactKind, Keeping, Segment, Style, Summarise, SummariseShort, Summed, facts, kept, lost, summed,
};
pub use topic::{
    Merge, Named, Place, ReadTopic, Review, Reviewed, Route, Sorted, Split, Standing, Subdivide, WriteBrief,
};

/// A typed question.
pub trait Task {
    /// What answers it.
    type Answer;

    /// What it is called in the ledger.
    const NAME: &'static str;

    /// What a model is asked.
    fn question(&self) -> Question;

    /// Reads a model's reply, forgiving its form but not its substance; otherwise a complaint, which the model is told.
    fn read(&self, reply: &str) -> Result<Self::Answer, String>;

    /// The answer without a model.
    fn offline(&self) -> Self::Answer;
}
