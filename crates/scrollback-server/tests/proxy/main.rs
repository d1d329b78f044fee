//! The proxy over real sockets, against an upstream that says just what a test wants, byte by byte if need be.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod control;
mod faithful;
mod folds;
mod recall;
mod safety;
mod scene;
mod sections;
mod talk;
mod tasks;
mod trouble;
