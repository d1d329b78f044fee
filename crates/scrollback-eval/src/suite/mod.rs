//! What is measured: one file for each suite.

pub mod recall;
pub mod topics;
