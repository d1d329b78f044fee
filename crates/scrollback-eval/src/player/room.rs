//! How large a window may be, and how it is laid out.

use scrollback::recall::RecallTool;
use scrollback::strategy::{StrategyName, StrategySettings};
use scrollback::tokens::Vocabulary;

/// Tokens that a tool costs beyond its words.
const FRAME_TOKENS: usize = 4;

/// A strategy and a model to lay windows out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The strategy.
    pub strategy: StrategyName,
    /// The model's whole limit.
    pub limit_tokens: u32,
    /// What the window may cost.
    pub window_tokens: u32,
}

impl Room {
    /// For windows of a size; what is sent beside them is not counted.
    pub fn of_window(strategy: StrategyName, tokens: u32) -> Self {
        Self { strategy, limit_tokens: tokens, window_tokens: tokens }
    }

    /// For a model with a limit: its tools take their share of it, and nothing is kept free for the reply.
    pub fn of_model(strategy: StrategyName, limit_tokens: u32) -> Self {
        Self { strategy, limit_tokens, window_tokens: limit_tokens.saturating_sub(tool_tokens(strategy)) }
    }

    /// For all that is said, however much.
    pub fn boundless() -> Self {
        Self::of_window(StrategyName::Passthrough, u32::MAX)
    }

    /// What the engine takes off for tools that it does not usually offer.
    pub(super) fn tools_beyond(self, usual: StrategyName) -> u32 {
        tool_tokens(self.strategy).saturating_sub(tool_tokens(usual))
    }
}

/// What the recall tools of a strategy cost in a request.
pub fn tool_tokens(strategy: StrategyName) -> u32 {
    let cost = |tool: &RecallTool| Vocabulary::O200k.count(tool.spec()) + FRAME_TOKENS;
    let tools = strategy.build(&StrategySettings::default()).recalls().iter().map(cost).sum::<usize>();
    u32::try_from(tools).unwrap_or(u32::MAX)
}
