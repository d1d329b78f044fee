//! One API's JSON dialect: OpenAI Chat Completions. Reads what is needed, and leaves every other byte as it came.
//!
//! `request` finds the fields of a body and writes it again with some of them changed; `render` turns a window into messages;
//! `reply` gathers what a model says, whole or chunk by chunk; `sse` splits a stream into events; `offer` is what we add, `edit`
//! what we change, `answer` what we say ourselves.

pub(crate) mod answer;
pub(crate) mod edit;
pub(crate) mod offer;
pub(crate) mod render;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod sse;
