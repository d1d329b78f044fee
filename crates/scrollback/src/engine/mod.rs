//! The engine: runs a turn. The only place where strategies, store and tasks meet.
//!
//! `begin` takes a request into the log, folds if it is time and lays out the window; whoever called it sends that to a
//! model. While the model asks for what it cannot see, `recall` answers; `finish` keeps the reply, the view and the ledger;
//! `tidy` does what can wait. The engine knows no network and no clock: what time it is, its callers say.

mod erase;
mod folds;
mod holds;
mod jobs;
mod lanes;
mod lay;
mod load;
mod recall;
mod tidy;
mod topics;
mod turn;
mod views;

use std::sync::Arc;

pub use erase::erase_results;
pub use holds::Held;
pub use jobs::{Claim, Daily};
pub use lanes::Hidden;
pub use tidy::Chores;
pub use topics::{
    Event, Fate, Restored, ReviewMode, ReviewReport, TopicFile, TopicLine, TopicState, Verdict, day_index,
};
pub use turn::{Ask, Finish, Turn};
pub use views::Recorded;

use crate::error::Result;
use crate::ids::{At, SessionId, SessionKey};
use crate::log::Log;
use crate::note::Fold;
use crate::recall::RecallTool;
use crate::store::{Position, Store};
use crate::strategy::{Strategy, StrategyName, StrategySettings};
use crate::task::Tasks;
use folds::Folds;
use lanes::Lanes;

/// How turns are run.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// How windows are laid out.
    pub strategy: StrategyName,
    /// The settings of the strategies.
    pub strategies: StrategySettings,
    /// Whether tool results of other sessions of the same person may be found and loaded.
    pub across_sessions: bool,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self { strategy: StrategyName::Pages, strategies: StrategySettings::default(), across_sessions: false }
    }
}

/// Runs turns over a log.
pub struct Engine {
    log: Log,
    tasks: Tasks,
    strategy: Box<dyn Strategy>,
    settings: EngineSettings,
    lanes: Lanes,
}

impl Engine {
    /// An engine over a store.
    pub fn new(store: Arc<dyn Store>, tasks: Tasks, settings: EngineSettings) -> Self {
        let strategy = settings.strategy.build(&settings.strategies);
        Self { log: Log::new(store), tasks, strategy, settings, lanes: Lanes::default() }
    }

    /// The log it writes to.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The recall tools that are offered with every window.
    pub fn tools(&self) -> &'static [RecallTool] {
        self.strategy.recalls()
    }

    /// How windows of a model with this limit are laid out.
    pub fn layout(&self, limit_tokens: u32) -> Arc<str> {
        format!("{}@{limit_tokens}", self.settings.strategy).into()
    }

    /// Goes back to the fold before the one that counts for a path; the next fold waits until it must be.
    pub async fn undo(&self, session: &SessionKey, head: Position, layout: &str, at: At) -> Result<Fold> {
        let folds = Folds { store: self.store(), session, layout };
        let folded = folds.undo(head, at).await?;
        self.lanes.forget(Some(session.id));
        Ok(Fold::clone(&folded.fold))
    }

    /// Drops what is in mind of a session, or of all; needed after something was erased.
    pub fn forget_recent(&self, session: Option<SessionId>) {
        self.log.forget_recent();
        self.lanes.forget(session);
    }

    fn store(&self) -> &dyn Store {
        &**self.log.store()
    }
}
