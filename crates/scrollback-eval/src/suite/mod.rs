//! What is measured: one file for each suite.

pub mod answered;
pub mod cache;
pub mod constraints;
pub mod played;
pub mod recall;
pub mod scale;
pub mod tools;
pub mod topics;
