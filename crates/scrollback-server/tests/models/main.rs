//! `scrollback eval … --upstream` as people run it, against an upstream that does as it is told.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod answers;
mod desk;
mod meaning;
mod money;
mod suites;
mod trouble;
mod upstream;
