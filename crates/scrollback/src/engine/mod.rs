//! The engine: runs a turn. The only place where strategies, store and tasks meet.
//!
//! `begin` takes a request into the log, folds if it is time and lays out the window; whoever called it sends that to a
//! model. When the model asks for what it cannot see, `recall` answers; `finish` keeps the reply, the view and the
//! ledger; `tidy` does what can wait. The engine has no network, and its callers tell it the time; it measures only how
//! long a helper takes.

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
mod needed;
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
pub use recall::{Lines, as_asked};
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

/// The budget and limit of windows for a model of unknown limit, under a strategy that folds only against a known one.
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
    /// Other helpers, by name: settings may give a model's summaries, or sorting into topics, a helper of its own.
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

    /// Adds a helper beside the usual one; settings refer to it by this name.
    #[must_use]
    pub fn with_helper(mut self, name: &str, tasks: Tasks) -> Self {
        self.helpers.insert(name.to_owned(), tasks);
        self
    }

    /// The log it writes to.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The recall tools that are offered in sessions without a strategy of their own.
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

    /// A request as it is meant in a session with these controls, where another strategy may have another limit. What
    /// that strategy's tools cost beyond those of the usual one, which the caller has already taken off, is taken from
    /// the budget.
    fn bounded<'a>(&self, ask: &Ask<'a>, controls: &Controls) -> Ask<'a> {
        let given = (ask.budget, ask.limit_tokens);
        let (budget, limit_tokens) = if ask.is_assumed { self.unsure(controls, given.0, given.1) } else { given };
        let cost = |name| self.strategy(name).recalls().iter().map(|tool| tokens_of(tool.spec())).sum::<u32>();
        let usual = self.settings.strategy;
        let chosen = controls.strategy.filter(|chosen| *chosen != usual);
        let more = chosen.map_or(0, |chosen| cost(chosen).saturating_sub(cost(usual)));
        let reserved = Reserved { tools: ask.reserved.tools.saturating_add(more), ..ask.reserved };
        Ask { budget: Budget { tokens: budget.tokens.saturating_sub(more) }, reserved, limit_tokens, ..*ask }
    }

    /// The budget and limit for the windows of a session when the model's limit is only assumed: the assumed ones, or
    /// ones that are never reached if the session's strategy folds only against a known limit.
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

    /// Drops what is held in memory of a session, or of all sessions; needed after something was erased.
    pub fn forget_recent(&self, session: Option<SessionId>) {
        self.log.forget_recent();
        self.lanes.forget(session);
        self.meaning.iter().for_each(|meaning| meaning.forget(session));
    }

    fn store(&self) -> &dyn Store {
        &**self.log.store()
    }
}
