//! Scrollback keeps whole conversations and shows a model the part that fits.
//!
//! This crate is everything but the network. It opens only the store it is told to, reads neither the environment nor a
//! terminal, and takes the time of day from its caller. It measures only how long things take (a helper model, an
//! embedder, a database, a flush), with Tokio's timers, so the runtime needs `enable_time`.
//!
//! An [`Engine`] runs turns. A request begins a turn and gets a window, which is what to send to the model; the model's
//! reply finishes the turn:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! use std::sync::Arc;
//! use scrollback::engine::{Ask, EngineSettings, Finish};
//! use scrollback::log::{Arrival, History};
//! use scrollback::recall::{RecallCall, RecallTool};
//! use scrollback::task::Tasks;
//! use scrollback::window::Budget;
//! use scrollback::{At, Engine, MemoryStore, Message, Role, Tenant};
//! use serde_json::json;
//! use serde_json::value::to_raw_value;
//!
//! // `SqliteStore::open` keeps it; a helper model in place of `Tasks::offline` writes better notes.
//! let engine = Engine::new(Arc::new(MemoryStore::default()), Tasks::offline(), EngineSettings::default());
//! let tenant = Tenant::local();
//! let long = "So much for that. ".repeat(2_000);
//! let sent = format!(
//!     r#"[{{"role": "user", "content": "The key is under the mat. {long}"}},
//!         {{"role": "assistant", "content": "Noted."}},
//!         {{"role": "user", "content": "Where is the key?"}}]"#
//! );
//!
//! // The model's limit is 8,000 tokens, 1,000 of which are kept free for its reply.
//! let history = History::parse(&sent)?;
//! let arrival = Arrival::new(&tenant, Some("house"), "a-model", At(0));
//! let mut turn = engine.begin(Ask::new(arrival, &history, Budget { tokens: 7_000 }, 8_000)).await?;
//! assert!(turn.window().fits() && turn.window().lost() == 0);
//! let messages = turn.window().chat_messages(); // what to send
//! assert!(messages.iter().any(|message| message.get().contains("under the mat")));
//!
//! // A model may call one of `turn.tools()` instead of answering. Its call and the answer go into the window, and it is
//! // asked again.
//! let arguments = r#"{"words": "mat"}"#;
//! let function = json!({"name": RecallTool::Search.name(), "arguments": arguments});
//! let answers = engine.recall(&mut turn, &[RecallCall::read(RecallTool::Search, arguments)]).await;
//! let round = [
//!     json!({"role": "assistant", "tool_calls": [{"id": "call-1", "type": "function", "function": function}]}),
//!     json!({"role": "tool", "tool_call_id": "call-1", "content": answers[0]}),
//! ];
//! turn.push_round(round.iter().map(|message| to_raw_value(message).expect("it is JSON")).collect());
//! let messages = turn.window().chat_messages(); // what to send now
//! assert!(turn.has_recalled() && messages.last().is_some_and(|message| message.get().contains("call-1")));
//!
//! let reply = Message::text(&Role::Assistant, "Under the mat.");
//! engine.finish(turn, Finish::of(reply, "a-model", At(1))).await?;
//! # Ok::<(), scrollback::Error>(()) }).unwrap();
//! ```
//!
//! After a turn, [`Engine::tidy`] and [`Engine::work_through`] do what could wait. A [`Log`] is of use without an engine
//! too: it recognises a history that is sent again, and stores only what is new:
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
//!
//! Features, all off unless named: `postgres` (`PostgresStore`, which many nodes share), `local-embeddings`
//! (`embed::local`, models that are read from a folder), `schema` (JSON schemas of the types that cross an API).

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
pub mod title;
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
