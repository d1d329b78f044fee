//! What is measured: one file for each suite.

pub mod topics;
