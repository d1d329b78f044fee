//! What every call costs, what its cache was worth, and what the same turn would have cost without folding.
//!
//! [`Prices`] knows models and what they charge, [`CacheModel`] foretells what a provider will find in its cache,
//! [`Usage`] is what the provider says it found, and a [`Call`] keeps both beside each other so that drift is visible.
//! Nothing here sends anything or reads a clock.

mod cache;
mod call;
mod price;
mod prices;
mod rule;
mod usage;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use cache::{CacheModel, Link, Sent};
pub use call::{Call, Tokens, Totals, Without};
pub use price::{Price, Rate};
pub use prices::Prices;
pub use rule::{Mode, Rule};
pub use usage::Usage;

/// How the tokens of a request divide: the three always add up to all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Tokens read from the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read: u32,
    /// Tokens billed for being written to it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub write: u32,
    /// Tokens billed as plain input.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub plain: u32,
}

impl Hit {
    /// Everything that was sent.
    pub fn input(self) -> u32 {
        self.read.saturating_add(self.write).saturating_add(self.plain)
    }
}

/// Money, in nanodollars: one token of the cheapest cache read is still a whole number of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cost(pub u64);

impl Cost {
    /// The amount in dollars, for charts and percentages.
    #[expect(clippy::cast_precision_loss, reason = "exact up to nine million dollars, and only shown")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Written as people read it; below a cent with six decimals, so that small turns are not all `$0.00`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.0 < 10_000_000 { 6 } else { 4 };
        write!(f, "${:.decimals$}", self.dollars())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_are_not_rounded_away() {
        assert_eq!(Cost(30_000).to_string(), "$0.000030");
        assert_eq!(Cost(12_345_678_901).to_string(), "$12.3457");
        assert_eq!(serde_json::to_string(&Cost(30_000)).unwrap(), "30000");
    }

    #[test]
    fn a_hit_writes_only_what_it_has() {
        let hit = Hit { read: 1_024, plain: 20, ..Hit::default() };
        let json = serde_json::to_string(&hit).unwrap();
        assert_eq!(json, r#"{"read":1024,"plain":20}"#);
        assert_eq!(serde_json::from_str::<Hit>(&json).unwrap(), hit);
        assert_eq!(hit.input(), 1_044);
    }
}
