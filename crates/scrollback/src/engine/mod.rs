//! The engine: runs a turn. The only place where strategies, store and tasks meet.
//!
//! `begin` takes a request into the log, folds if it is time and lays out the window; whoever called it sends that to a
//! model. While the model asks for what it cannot see, `recall` answers; `finish` keeps the reply, the view and the
//! ledger; `tidy` does what can wait. The engine knows no network, and what time it is, its callers say; only how long
//! a helper may take it measures itself.

mod asides;
pub(crate) mod control;
mod erase;
mod finish;
mod folds;
mod holds;
mod jobs;
mod lanes;
mod lay;
mod load;
mod meaning;
mod preview;
mod quotes;
mod recall;
mod tidy;
mod topics;
mod turn;
mod views;
mod writing;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use control::{Folding, NoteName, Stated};

pub use erase::erase_results;
pub use finish::{Around, Finish};
pub use holds::Held;
pub use jobs::{Claim, Claimed, Daily, Job, JobKind, JobLine, JobState};
pub use lanes::Hidden;
pub use preview::Preview;
pub use recall::Lines;
pub use tidy::Chores;
pub use topics::{
    Event, Fate, Happened, Restored, ReviewMode, ReviewReport, TopicFile, TopicLine, TopicState, Verdict, day_index,
};
pub use turn::{Ask, Turn};
pub use views::Recorded;
pub use writing::{Version, Wanted};

use crate::control::Controls;
use crate::ids::SessionId;
use crate::log::Log;
use crate::recall::RecallTool;
use crate::store::Store;
use crate::strategy::topics::cue::Cues;
use crate::strategy::{Strategy, StrategyName, StrategySettings};
use crate::task::Tasks;
use crate::window::{Budget, Reserved, tokens_of};
use jobs::Due;
use lanes::Lanes;
use meaning::Meaning;

/// What windows may cost, and the limit they are laid out for, where nobody knows a limit and folding waits for one.
const BOUNDLESS: u32 = 1 << 24;

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
    /// Helpers of their own for some models' summaries and for sorting into topics, by name.
    helpers: BTreeMap<String, Tasks>,
    strategies: Vec<(StrategyName, Box<dyn Strategy>)>,
    settings: EngineSettings,
    /// How people say that something was forgotten.
    cues: Cues,
    lanes: Lanes,
    due: Due,
    /// What messages mean, where there are embeddings.
    meaning: Option<Meaning>,
}

impl Engine {
    /// An engine over a store.
    pub fn new(store: Arc<dyn Store>, tasks: Tasks, mut settings: EngineSettings) -> Self {
        if tasks.has_helper() {
            settings.strategies.topics = settings.strategies.topics.with_readings();
        }
        let strategies = StrategyName::ALL.map(|name| (name, name.build(&settings.strategies))).into();
        Self {
            log: Log::new(store),
            tasks,
            helpers: BTreeMap::new(),
            strategies,
            cues: Cues::new(&settings.strategies.topics.cues),
            settings,
            lanes: Lanes::default(),
            due: Due::default(),
            meaning: None,
        }
    }

    /// The same with a helper that settings name beside the usual one.
    #[must_use]
    pub fn with_helper(mut self, name: &str, tasks: Tasks) -> Self {
        self.helpers.insert(name.to_owned(), tasks);
        self
    }

    /// The log it writes to.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The recall tools that are offered with the windows of sessions whose person chose no strategy.
    pub fn tools(&self) -> &'static [RecallTool] {
        self.strategy(self.settings.strategy).recalls()
    }

    /// How windows of a model with this limit are laid out, unless a person chose otherwise for the session.
    pub fn layout(&self, limit_tokens: u32) -> Arc<str> {
        self.layout_with(&Controls::default(), limit_tokens)
    }

    /// How windows of a session with these controls are laid out for a model with this limit.
    pub fn layout_with(&self, controls: &Controls, limit_tokens: u32) -> Arc<str> {
        format!("{}@{limit_tokens}", controls.strategy.unwrap_or(self.settings.strategy)).into()
    }

    fn strategy(&self, name: StrategyName) -> &dyn Strategy {
        let found = self.strategies.iter().find(|(known, _)| *known == name);
        &*found.expect("every strategy is built").1
    }

    /// A request whose budget is less what the tools of its session cost beyond those that callers reckon with.
    fn less_tools<'a>(&self, ask: Ask<'a>, controls: &Controls) -> Ask<'a> {
        let cost = |name| self.strategy(name).recalls().iter().map(|tool| tokens_of(tool.spec())).sum::<u32>();
        let usual = self.settings.strategy;
        let chosen = controls.strategy.filter(|chosen| *chosen != usual);
        let more = chosen.map_or(0, |chosen| cost(chosen).saturating_sub(cost(usual)));
        let reserved = Reserved { tools: ask.reserved.tools.saturating_add(more), ..ask.reserved };
        Ask { budget: Budget { tokens: ask.budget.tokens.saturating_sub(more) }, reserved, ..ask }
    }

    /// What windows of a session may cost for a model whose limit nobody knows, and that limit: as assumed, or nothing
    /// that is ever reached where folding waits for a limit that is known.
    pub fn unsure(&self, controls: &Controls, budget: Budget, limit_tokens: u32) -> (Budget, u32) {
        match controls.strategy.unwrap_or(self.settings.strategy) {
            StrategyName::Summary => (Budget { tokens: BOUNDLESS }, BOUNDLESS),
            StrategyName::Pages
            | StrategyName::Topics
            | StrategyName::Artifacts
            | StrategyName::Truncate
            | StrategyName::Passthrough => (budget, limit_tokens),
        }
    }

    /// The limit that the settings give a model.
    pub fn limit_of(&self, model: &str) -> Option<u32> {
        self.settings.strategies.summary.of(model).limit
    }

    /// Drops what is in mind of a session, or of all; needed after something was erased.
    pub fn forget_recent(&self, session: Option<SessionId>) {
        self.log.forget_recent();
        self.lanes.forget(session);
        self.meaning.iter().for_each(|meaning| meaning.forget(session));
    }

    fn store(&self) -> &dyn Store {
        &**self.log.store()
    }
}
