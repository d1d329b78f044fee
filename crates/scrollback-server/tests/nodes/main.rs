//! Several nodes over one database: the proxy's own suite, with requests going to each node in turn, and what only they can
//! get wrong. `--features long-tests` runs the whole suite, and not just its centre.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod away;
mod chaos;
mod crowd;
mod fleet;
mod moving;

#[cfg(feature = "long-tests")]
#[path = "../proxy/anthropic.rs"]
mod anthropic;
#[cfg(feature = "long-tests")]
#[path = "../proxy/control.rs"]
mod control;
#[cfg(feature = "long-tests")]
#[path = "../proxy/count.rs"]
mod count;
#[path = "../proxy/faithful.rs"]
mod faithful;
#[path = "../proxy/folds.rs"]
mod folds;
#[path = "../proxy/follows.rs"]
mod follows;
#[cfg(feature = "long-tests")]
#[path = "../proxy/laws.rs"]
mod laws;
#[path = "../proxy/recall.rs"]
mod recall;
#[cfg(feature = "long-tests")]
#[path = "../proxy/responses/mod.rs"]
mod responses;
#[path = "../proxy/scene.rs"]
mod scene;
#[cfg(feature = "long-tests")]
#[path = "../proxy/sections.rs"]
mod sections;
#[path = "../proxy/talk.rs"]
mod talk;
