//! Summaries of a conversation's beginning, segment by segment, and what can be said about how good they are.
//!
//! `ask` is the task (what it shows is laid out in `talk`, what it hears is read in `reading`, `offline` answers
//! without a model), `facts` are what a summary should still hold, `kept` is quoted word for word, and `ladder` asks,
//! checks, asks once more and falls back. Nothing here knows a store, or when a summary is due.

mod ask;
mod blocks;
mod citing;
mod cues;
mod facts;
mod figures;
mod held;
mod kept;
mod ladder;
mod names;
mod offline;
mod reading;
mod talk;
#[cfg(test)]
mod testing;
mod words;

pub use ask::{Style, Summarise, SummariseShort};
pub use facts::{Fact, FactKind, facts};
pub use held::lost;
pub(super) use held::{PROOF, misses};
pub use kept::{Keeping, kept};
pub use ladder::{Segment, Summed, summed};
pub(crate) use offline::told_in;
