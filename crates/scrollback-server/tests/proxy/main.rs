//! The proxy over real sockets, against an upstream that says just what a test wants, byte by byte if need be.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod access;
mod anthropic;
mod control;
mod count;
mod doors;
mod faithful;
mod folds;
mod follows;
mod large;
mod laws;
mod marks;
mod open_calls;
mod operated;
mod reasoned;
mod recall;
mod responses;
mod rough;
mod safety;
mod scene;
mod secrets;
mod sections;
mod talk;
mod tasks;
mod trouble;
