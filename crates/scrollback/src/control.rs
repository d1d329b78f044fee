//! Controls: what a person decided about a session. They say what windows show from then on; nothing is ever lost by
//! them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::rule::Rule;
use crate::strategy::StrategyName;

/// What a person decided about a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controls {
    /// How its windows are laid out, if not as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<StrategyName>,
    /// Messages that are in every window.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub pinned: BTreeSet<MessageId>,
    /// Messages that are in none, and that no model can recall.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub excluded: BTreeSet<MessageId>,
    /// Rules that hold no longer, by their names.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub dropped_rules: BTreeSet<String>,
}

impl Controls {
    /// Whether a rule still holds.
    pub fn holds(&self, rule: &Rule) -> bool {
        !self.dropped_rules.contains(&rule.name()) && !self.excluded.contains(&rule.message)
    }

    /// The same about messages that have other numbers now; what is about one that has none is left out.
    pub(crate) fn renumbered(&self, number: impl Fn(MessageId) -> Option<MessageId>) -> Self {
        let all = |ids: &BTreeSet<MessageId>| ids.iter().filter_map(|id| number(*id)).collect();
        let rule = |name: &String| {
            let (message, nth) = name.strip_prefix('r')?.split_once('.')?;
            let message = number(MessageId(message.parse().ok()?))?;
            Some(format!("r{}.{nth}", message.0))
        };
        let dropped_rules = self.dropped_rules.iter().filter_map(rule).collect();
        Self { strategy: self.strategy, pinned: all(&self.pinned), excluded: all(&self.excluded), dropped_rules }
    }
}

/// A change that a person makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Shows a message in every window.
    Pin(MessageId),
    /// Shows it only where it belongs.
    Unpin(MessageId),
    /// Leaves a message out of every window.
    Exclude(MessageId),
    /// Shows it again.
    Include(MessageId),
    /// Lets go of a rule.
    DropRule(String),
    /// Takes it up again.
    RestoreRule(String),
    /// Lays windows out in another way; `None` as the settings say.
    Strategy(Option<StrategyName>),
}
