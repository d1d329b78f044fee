//! Work that nobody waits for and that is done in the end: once a day (`daily`), or whenever there is some (`queue`).
//!
//! Both are records that say when the work is due and who has it now. Whoever finds it due claims it for a while, only
//! if nobody else has meanwhile; a claim that is neither renewed nor done in time counts for nothing. `job` says what
//! queued work is, `open` lists what is not done yet, `due` keeps it in mind, `work` does it.

mod daily;
mod due;
mod job;
mod open;
mod queue;
mod work;

pub use daily::{Claim, Daily};
pub(super) use due::Due;
pub use job::{Claimed, Job, JobKind, JobLine, JobState};
