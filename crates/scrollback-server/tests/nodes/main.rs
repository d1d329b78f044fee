//! Several nodes over one database: the proxy's own suite, with requests going to each node in turn, and what only they
//! can get wrong. What has nothing to do with nodes is left out: files (`secrets`), upstreams and helpers that fail
//! (`rough`, `trouble`), and how requests are written (`anthropic`, `count`, `faithful`, `sections`, `tasks`).
//! `.config/nextest.toml` leaves out some more.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod away;
mod chaos;
mod crowd;
mod fleet;
mod moving;

#[path = "../proxy/access/mod.rs"]
mod access;
#[path = "../proxy/control.rs"]
mod control;
#[path = "../proxy/doors.rs"]
mod doors;
#[path = "../proxy/folds.rs"]
mod folds;
#[path = "../proxy/follows.rs"]
mod follows;
#[path = "../proxy/laws.rs"]
mod laws;
#[path = "../proxy/recall.rs"]
mod recall;
#[path = "../proxy/responses/mod.rs"]
mod responses;
#[path = "../proxy/safety.rs"]
mod safety;
#[path = "../proxy/scene.rs"]
mod scene;
#[path = "../proxy/talk.rs"]
mod talk;
