//! Conversations for elsewhere: a session as a line of JSON that can be imported again, as OpenAI chat messages, or as
//! Markdown for people.
//!
//! A [`Whole`] is read from a store and gives text piece by piece; where that goes is the caller's business.

mod beside;
mod jsonl;
mod markdown;
mod openai;
mod whole;

pub use beside::with_beside;
pub(crate) use jsonl::Placed;
pub use markdown::{other_piece, picture, piece};
pub use openai::is_chat;
pub use whole::Whole;
