//! Models that take part in a measurement: the main model answers, the helper serves the engine, the judge tells what
//! an answer is worth.
//!
//! Nothing here knows a network: whoever runs a suite brings the models. They keep to what may be spent, and say when
//! it is over.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use scrollback::Engine;
use scrollback::engine::Turn;
use scrollback::ledger::{Cost, Usage};
use scrollback::task::Tasks;

/// Which model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The one that answers.
    Main,
    /// The cheaper one that strategies use.
    Helper,
    /// The one that judges.
    Judge,
}

impl Who {
    /// What it is called in transcripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "model",
            Self::Helper => "helper",
            Self::Judge => "judge",
        }
    }
}

/// Models that can be asked.
///
/// `file` says where a transcript belongs: a path of names without endings. An implementation retries what may succeed
/// later, and keeps to its own limits of money and of calls at once. Once [`Models::halted`] says why, nothing more is
/// asked.
#[async_trait]
pub trait Models: Send + Sync {
    /// Has the main model answer a window. It may recall through the engine, as often as a server lets it.
    async fn answer(&self, file: &str, engine: &Engine, turn: &mut Turn) -> Result<Answer, Trouble>;

    /// Sends a window to the main model for what it costs: what the model says to it does not matter.
    async fn send(&self, file: &str, turn: &Turn) -> Result<Bill, Trouble>;

    /// The helper or the judge, and what it takes; nothing if there is none.
    fn tasks(&self, who: Who, file: &str) -> Option<Asking>;

    /// Why nothing more is asked, if that is so.
    fn halted(&self) -> Option<String>;

    /// How many questions may be under way at once.
    fn at_once(&self) -> usize;

    /// What each model is called.
    fn name(&self, who: Who) -> Option<&str>;
}

/// What a main model answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its words.
    pub text: String,
    /// How often it recalled.
    pub rounds: u32,
    /// What it took.
    pub bill: Bill,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Nothing more is asked of anybody.
    #[error("nothing more may be asked")]
    Halted,
    /// This was not answered; the next may be.
    #[error("{0}")]
    Failed(String),
}

/// What calls took, as providers report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// How many there were.
    pub calls: u64,
    /// Of them, how many were not told what they took: their cost is the most it can have been.
    pub untold: u64,
    /// Tokens of prompts.
    pub input: u64,
    /// Of them, read from a cache.
    pub read: u64,
    /// Tokens of replies.
    pub output: u64,
    /// What it cost.
    pub cost: Cost,
}

impl Bill {
    /// For one call.
    pub fn of(usage: Option<Usage>, cost: Cost) -> Self {
        let told = usage.unwrap_or_default();
        Self {
            calls: 1,
            untold: u64::from(usage.is_none()),
            input: told.input.into(),
            read: told.read.into(),
            output: told.output.into(),
            cost,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            untold: self.untold + other.untold,
            input: self.input + other.input,
            read: self.read + other.read,
            output: self.output + other.output,
            cost: self.cost.plus(other.cost),
        }
    }
}

/// A bill that grows.
#[derive(Debug, Default)]
pub struct Tab(Mutex<Bill>);

impl Tab {
    /// Puts a call on it.
    pub fn add(&self, bill: Bill) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sum = sum.plus(bill);
    }

    /// All of it.
    pub fn bill(&self) -> Bill {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model for tasks, and what it takes.
pub struct Asking {
    /// Who answers.
    pub tasks: Tasks,
    /// What that took so far.
    pub tab: Arc<Tab>,
}
