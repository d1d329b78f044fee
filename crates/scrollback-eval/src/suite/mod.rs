//! What is measured: one file for each suite.

pub mod answered;
pub mod cache;
pub mod constraints;
pub mod played;
pub mod recall;
pub mod scale;
pub mod tools;
pub mod topics;

use scrollback::strategy::StrategyName;

/// Whether a strategy is Scrollback's own, and no baseline.
const fn is_ours(strategy: StrategyName) -> bool {
    !matches!(strategy, StrategyName::Truncate | StrategyName::Passthrough)
}
