//! What people decide about their conversations: by command, with and without a server that holds the store, and over
//! HTTP.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod backup;
mod commands;
mod damage;
mod erasing;
mod home;
mod lock;
mod reading;
mod records;
mod routes;
mod starting;
mod stores;
mod summarize;
mod tenants;
mod terminal;
mod whys;
mod window;
