//! The tasks of topics: what belongs together, what it is called, and what of it matters now.
//!
//! Models answer them in tags (`tags`, `attributes`, `numbers`); `sheet` and `growing` lay out what they are shown,
//! `placing` turns groups of messages into one place for each unit. Nothing here knows which topics are awake, or keeps
//! any.

mod attributes;
mod brief;
mod dividing;
mod growing;
mod merge;
mod numbers;
mod placing;
mod read;
mod review;
mod route;
mod sheet;
mod split;
mod subdivide;
mod tags;
#[cfg(test)]
mod testing;

pub use brief::{Named, WriteBrief};
pub use merge::Merge;
pub use placing::{Place, Sorted};
pub use read::ReadTopic;
pub use review::{Review, Reviewed};
pub use route::Route;
pub use split::{Split, Standing};
pub use subdivide::Subdivide;

/// How long a topic's name may be.
const NAME_CHARS: usize = 60;
/// How long its brief may be.
const BRIEF_CHARS: usize = 1_000;
/// How long a summary may be.
const SUMMARY_CHARS: usize = 2_000;
