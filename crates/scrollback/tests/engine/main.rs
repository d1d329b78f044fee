//! The nine laws through the engine, over random conversations, for every strategy and both stores; and facts about
//! turns.
//!
//! `world` plays clients against two engines at once: one never restarts, the other is new for every request. Both must
//! show the same bytes. `laws` are the properties, the other files particular facts.
#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a failing test may panic; what its files share is public among them"
)]

mod controls;
mod crowd;
mod damaged;
mod decided;
mod desk;
mod dialects;
mod erasing;
mod jobs;
mod jobs_queue;
#[path = "../kit/mod.rs"]
mod kit;
mod laws;
mod left_out;
mod models;
#[cfg(feature = "postgres")]
mod nodes;
mod pages;
mod person;
mod pinned;
mod places;
mod rarely;
mod reach;
mod rules;
mod sections;
mod summed;
mod topics;
mod topics_branches;
mod topics_files;
mod topics_review;
mod topics_windows;
mod turns;
mod untold;
mod views;
mod world;
