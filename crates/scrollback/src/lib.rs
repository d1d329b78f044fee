//! Scrollback keeps whole conversations and shows a model the part that fits.
//!
//! This crate is everything but the network: it opens the store it is told to, reads no environment and no terminal, and is told
//! what time it is; only how long something takes it measures itself. Messages are received and make a log; the log finds the place of every history that is sent again; a store
//! keeps it; search finds its words.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use std::sync::Arc;
//! use scrollback::log::{Arrival, History, Log, Outcome};
//! use scrollback::{At, MemoryStore, Tenant};
//!
//! let log = Log::new(Arc::new(MemoryStore::default()));
//! let tenant = Tenant::local();
//! let arrival = Arrival::new(&tenant, None, "gpt-5", At(0));
//! let history = History::parse(r#"[{"role":"user","content":"Why does the build fail?"}]"#)?;
//!
//! assert_eq!(log.receive(arrival, &history).await?.outcome, Outcome::New);
//! assert_eq!(log.receive(arrival, &history).await?.added, 0); // sent again: nothing new
//! # Ok::<(), scrollback::Error>(()) }).unwrap();
//! ```

pub mod artifact;
mod asking;
pub mod control;
pub mod embed;
pub mod engine;
pub mod error;
pub mod export;
pub mod ids;
pub mod import;
pub mod ledger;
pub mod log;
pub mod message;
pub mod note;
mod phrase;
pub mod quote;
pub mod recall;
pub mod rule;
#[cfg(feature = "schema")]
mod schema;
pub mod search;
pub mod sketch;
pub mod store;
pub mod strategy;
pub mod summary;
pub mod task;
pub mod tokens;
pub mod topic;
pub mod view;
pub mod window;

pub use engine::Engine;
pub use error::{Error, Result};
pub use ids::{At, MessageId, SessionId, SessionKey, Tenant};
pub use log::Log;
pub use message::{Message, Part, Role};
pub use store::{Forget, MemoryStore, SqliteOptions, SqliteStore, Store};
#[cfg(feature = "postgres")]
pub use store::{PostgresOptions, PostgresStore};
