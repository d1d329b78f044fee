//! How providers' caches behave, as far as it can be foretold from outside.

use std::num::NonZeroU32;

use serde::Deserialize;

use super::Hit;

/// How a provider decides what of a request it has in its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The longest beginning shared with any earlier request.
    Prefix,
    /// Exactly what an earlier request ended with or marked; never a shorter, unmarked beginning.
    Breakpoint,
    /// Whole earlier requests, with or without their replies, and beginnings that two requests have shared.
    Unit,
}

/// The rules of a provider's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What makes a hit.
    pub mode: Mode,
    /// Hits are whole multiples of so many tokens.
    #[serde(default = "one")]
    pub step: NonZeroU32,
    /// Nothing shorter is cached.
    #[serde(default)]
    pub min_tokens: u32,
    /// How long something unused stays.
    pub ttl_seconds: u32,
    /// How many blocks before the end or a mark are searched for an earlier end; all of them unless given.
    pub lookback: Option<u32>,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Rule {
    /// How `tokens` divide if the first `known` are in the cache.
    pub(super) fn divide(&self, tokens: u32, known: u32) -> Hit {
        let whole_steps = known - known % self.step;
        let read = if whole_steps < self.min_tokens { 0 } else { whole_steps };
        let rest = tokens.saturating_sub(read);
        match self.mode {
            Mode::Breakpoint if tokens >= self.min_tokens => Hit { read, write: rest, plain: 0 },
            Mode::Breakpoint | Mode::Prefix | Mode::Unit => Hit { read, write: 0, plain: rest },
        }
    }
}
