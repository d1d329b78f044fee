//! What a model charges, and what follows from it.
//!
//! Prices are list prices: surcharges for long input, peak hours and long-lived cache writes are not in them.

use serde::{Deserialize, Deserializer};

use super::{Cost, Hit, Rule};
use crate::tokens::Family;

const PICODOLLARS_PER_NANODOLLAR: u128 = 1_000;
/// No model is as dear as this; a larger number is a slip of units.
const MAX_USD_PER_MILLION: f64 = 100_000.0;

/// A price per token, in picodollars; files write it in dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl Rate {
    /// Dollars for a million tokens.
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^52")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl<'de> Deserialize<'de> for Rate {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be small and not negative")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let usd = f64::deserialize(deserializer)?;
        if !(0.0..=MAX_USD_PER_MILLION).contains(&usd) {
            let what = format!("{usd} is not a price in dollars per million tokens");
            return Err(serde::de::Error::custom(what));
        }
        Ok(Self((usd * 1e6).round() as u64))
    }
}

/// What is known of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The name it was found by: what the model's own begins with.
    pub name: String,
    /// Tokens it takes, input and reply together.
    pub window: Option<u32>,
    /// Tokens of input it takes at most, where that is less than the window.
    pub most_input: Option<u32>,
    /// Tokens it writes at most.
    pub reply: Option<u32>,
    /// What plain input costs.
    pub input: Rate,
    /// What a reply costs.
    pub output: Rate,
    /// What reading from the cache costs.
    pub read: Rate,
    /// What writing to it costs.
    pub write: Rate,
    /// How its cache behaves, if it has one.
    pub rule: Option<Rule>,
    /// How it counts, where that is said; otherwise its name tells.
    pub family: Option<Family>,
    /// Whether it accepts its reasoning only after the very words it was made after.
    pub binds_thinking: bool,
}

impl Price {
    /// What a call costs.
    pub fn cost(&self, hit: Hit, output: u32) -> Cost {
        let part = |rate: Rate, tokens: u32| u128::from(rate.0) * u128::from(tokens);
        let input = part(self.read, hit.read) + part(self.write, hit.write) + part(self.input, hit.plain);
        let nanodollars = (input + part(self.output, output)).div_ceil(PICODOLLARS_PER_NANODOLLAR);
        Cost(u64::try_from(nanodollars).unwrap_or(u64::MAX))
    }

    /// Tokens of input there is room for if so many are kept free for the reply; `None` if its window is not known.
    pub fn room(&self, reply: u32) -> Option<u32> {
        let beside_reply = self.window?.saturating_sub(reply);
        Some(self.most_input.map_or(beside_reply, |most| most.min(beside_reply)))
    }

    /// How a request divides in a cache that has lost nothing: all but its new tokens is read.
    pub fn ideal(&self, tokens: u32, new: u32) -> Hit {
        match &self.rule {
            Some(rule) => rule.divide(tokens, tokens.saturating_sub(new)),
            None => Hit { plain: tokens, ..Hit::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Prices;

    fn of(model: &str) -> Price {
        Prices::shipped().of(model).unwrap().clone()
    }

    #[test]
    fn a_call_costs_what_its_kinds_of_tokens_cost() {
        let hit = Hit { read: 100_000, write: 2_000, plain: 10 };
        // 0.05 + 0.0125 + 0.00005 + 0.025 dollars.
        assert_eq!(of("claude-opus-5").cost(hit, 1_000), Cost(87_550_000));
        assert_eq!(of("quote").cost(hit, 1_000), Cost(0));
        assert_eq!(of("deepseek-v4-flash").cost(Hit { read: 1, ..Hit::default() }, 0), Cost(3));
        let all = Hit { read: u32::MAX, write: u32::MAX, plain: u32::MAX };
        assert!(of("gpt-6-astra").cost(all, u32::MAX) > Cost(0));
    }

    #[test]
    fn input_has_room_beside_the_reply_and_sometimes_a_limit_of_its_own() {
        assert_eq!(of("gpt-4o").room(16_000), Some(112_000));
        assert_eq!(of("gpt-5").room(16_000), Some(272_000));
        assert_eq!(of("gpt-5").room(200_000), Some(200_000));
        assert_eq!(of("quote").room(u32::MAX), Some(0));
    }

    #[test]
    fn an_ideal_cache_reads_all_but_what_is_new() {
        assert_eq!(of("claude-opus-5").ideal(10_000, 400), Hit { read: 9_600, write: 400, plain: 0 });
        assert_eq!(of("gpt-5").ideal(10_000, 400), Hit { read: 9_600, write: 0, plain: 400 });
        assert_eq!(of("gpt-5").ideal(900, 400), Hit { read: 0, write: 0, plain: 900 });
        assert_eq!(of("gpt-4-turbo").ideal(9_000, 4), Hit { read: 0, write: 0, plain: 9_000 });
    }
}
