//! A call as it is recorded, and sums of calls.
//!
//! One is stored for every call of every turn, so its JSON leaves out whatever is nothing. An unknown price is no
//! price: it is counted apart, never as free.

use serde::{Deserialize, Serialize};

use super::{Cost, Hit, Price, Usage, is_default, is_zero};

/// What a request was made of, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tokens {
    /// Standing instructions.
    #[serde(skip_serializing_if = "is_zero")]
    pub instructions: u32,
    /// Descriptions of tools.
    #[serde(skip_serializing_if = "is_zero")]
    pub tools: u32,
    /// The contents page and other notes.
    #[serde(skip_serializing_if = "is_zero")]
    pub contents: u32,
    /// Messages that are not folded.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u32,
    /// The turn that is being answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub current: u32,
    /// Placeholders of held results.
    #[serde(skip_serializing_if = "is_zero")]
    pub held: u32,
    /// What was recalled.
    #[serde(skip_serializing_if = "is_zero")]
    pub recalled: u32,
    /// Quotes from topics.
    #[serde(skip_serializing_if = "is_zero")]
    pub topics: u32,
    /// Rules, pins and images that are kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept: u32,
}

impl Tokens {
    /// All kinds together.
    pub fn total(self) -> u32 {
        let Self { instructions, tools, contents, open, current, held, recalled, topics, kept } = self;
        let kinds = [instructions, tools, contents, open, current, held, recalled, topics, kept];
        kinds.into_iter().fold(0, u32::saturating_add)
    }
}

/// What the same turn would have cost if everything had been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    /// Its input.
    pub tokens: u32,
    /// Its cost, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

impl Without {
    /// Everything sent to a cache that has lost nothing: all but the `new` tokens is read from it.
    pub fn of(price: Option<&Price>, tokens: u32, new: u32, output: u32) -> Self {
        Self { tokens, cost: price.map(|price| price.cost(price.ideal(tokens, new), output)) }
    }
}

/// One call of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The model, as the upstream names it.
    pub model: String,
    /// Where it was sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub upstream: String,
    /// What the request was made of, as counted here.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tokens: Tokens,
    /// How it was expected to divide.
    #[serde(default, skip_serializing_if = "is_default")]
    pub predicted: Hit,
    /// What the provider reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Usage>,
    /// What it put out, as counted here, where that is more than was reported: of a reply that broke off, or of one
    /// whose provider reports nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub estimated_output: u32,
    /// What it cost, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What its turn would have cost without folding; absent for calls that would not have been made, such as tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<Without>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub millis: u32,
}

impl Call {
    /// How its input divided: as reported, else as predicted.
    pub fn hit(&self) -> Hit {
        self.reported.map_or(self.predicted, Usage::hit)
    }

    /// What it put out: as reported, or as estimated where that is more.
    pub fn output(&self) -> u32 {
        self.reported.map_or(0, |usage| usage.output).max(self.estimated_output)
    }
}

/// Calls added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// How many.
    pub calls: u64,
    /// How many of them at unknown prices; these are in no cost below.
    pub unpriced: u64,
    /// Input tokens.
    pub input: u64,
    /// Of them, read from a cache.
    pub read: u64,
    /// Output tokens, estimated where they were not all reported.
    pub output: u64,
    /// What they cost, and what the helper did.
    pub cost: Cost,
    /// Of it, what the helper cost.
    pub helper_cost: Cost,
    /// How many questions to the helper were at unknown prices; these are in no cost.
    pub helper_unpriced: u64,
    /// Input tokens if everything had been sent.
    pub without_input: u64,
    /// What that would have cost.
    pub without_cost: Cost,
}

impl Totals {
    /// Adds a call. One without a comparison adds to the cost alone: without folding it would not have been made.
    pub fn add(&mut self, call: &Call) {
        let hit = call.hit();
        self.calls += 1;
        self.input += u64::from(hit.input());
        self.read += u64::from(hit.read);
        self.output += u64::from(call.output());
        self.without_input += u64::from(call.without.map_or(0, |without| without.tokens));
        match call.cost {
            Some(cost) => {
                self.cost = self.cost.plus(cost);
                self.without_cost =
                    self.without_cost.plus(call.without.and_then(|without| without.cost).unwrap_or_default());
            }
            None => self.unpriced += 1,
        }
    }

    /// Adds what a question to the helper cost, if that is known: without folding it would not have been asked.
    pub fn add_helper(&mut self, cost: Option<Cost>) {
        match cost {
            Some(cost) => (self.cost, self.helper_cost) = (self.cost.plus(cost), self.helper_cost.plus(cost)),
            None => self.helper_unpriced += 1,
        }
    }

    /// The share of the input that came from a cache, in percent.
    pub fn cached_percent(&self) -> f64 {
        percent(self.read, self.input)
    }

    /// What was saved against sending everything, in percent; negative if it cost more.
    pub fn saved_percent(&self) -> f64 {
        if self.without_cost == Cost(0) { 0.0 } else { 100.0 - percent(self.cost.0, self.without_cost.0) }
    }
}

impl<'a> FromIterator<&'a Call> for Totals {
    fn from_iter<I: IntoIterator<Item = &'a Call>>(calls: I) -> Self {
        calls.into_iter().fold(Self::default(), |mut totals, call| {
            totals.add(call);
            totals
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "only shown")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Prices;

    fn call(model: &str) -> Call {
        let prices = Prices::shipped();
        let price = prices.of(model);
        let usage = Usage { input: 10_000, read: 8_000, write: 2_000, output: 500 };
        Call {
            model: model.to_owned(),
            upstream: "anthropic".to_owned(),
            tokens: Tokens { instructions: 1_000, contents: 800, open: 8_000, current: 200, ..Tokens::default() },
            predicted: Hit { read: 9_000, write: 1_000, plain: 0 },
            reported: Some(usage),
            estimated_output: 0,
            cost: price.map(|price| price.cost(usage.hit(), usage.output)),
            without: Some(Without::of(price, 100_000, 200, usage.output)),
            millis: 900,
        }
    }

    #[test]
    fn a_call_is_written_short_and_read_back() {
        let json = serde_json::to_string(&call("claude-opus-5")).unwrap();
        assert_eq!(
            json,
            r#"{"model":"claude-opus-5","upstream":"anthropic","#.to_owned()
                + r#""tokens":{"instructions":1000,"contents":800,"open":8000,"current":200},"#
                + r#""predicted":{"read":9000,"write":1000},"#
                + r#""reported":{"input":10000,"read":8000,"write":2000,"output":500},"#
                + r#""cost":29000000,"without":{"tokens":100000,"cost":63650000},"millis":900}"#
        );
        assert_eq!(serde_json::from_str::<Call>(&json).unwrap(), call("claude-opus-5"));
        let least = Call { model: "m".to_owned(), ..Call::default() };
        assert_eq!(serde_json::to_string(&least).unwrap(), r#"{"model":"m"}"#);
        assert_eq!(serde_json::from_str::<Call>(r#"{"model":"m"}"#).unwrap(), least);
    }

    #[test]
    fn totals_say_what_was_cached_and_saved() {
        let calls = [call("claude-opus-5"), call("claude-opus-5")];
        let totals: Totals = calls.iter().collect();
        assert_eq!((totals.calls, totals.input, totals.output, totals.without_input), (2, 20_000, 1_000, 200_000));
        assert_eq!((totals.cost, totals.without_cost), (Cost(58_000_000), Cost(127_300_000)));
        assert!((totals.cached_percent() - 80.0).abs() < 0.01);
        assert!((totals.saved_percent() - 54.44).abs() < 0.01);
    }

    #[test]
    fn calls_of_our_own_count_against_us() {
        let task = Call { without: None, ..call("claude-opus-5") };
        let calls = [call("claude-opus-5"), task.clone(), task];
        let totals: Totals = calls.iter().collect();
        assert!(totals.saved_percent() < 0.0);
    }

    #[test]
    fn what_the_helper_costs_is_not_saved() {
        let calls = [call("claude-opus-5")];
        let mut totals: Totals = calls.iter().collect();
        totals.add_helper(Some(Cost(34_650_000)));
        totals.add_helper(None);
        assert_eq!((totals.cost, totals.helper_cost), (Cost(63_650_000), Cost(34_650_000)));
        assert_eq!((totals.calls, totals.unpriced, totals.helper_unpriced), (1, 0, 1), "calls are the conversation's");
        assert!(totals.saved_percent().abs() < 0.01, "it cost what was saved");
    }

    #[test]
    fn an_unknown_price_is_not_free_and_nothing_is_not_a_number() {
        let calls = [call("nobody-knows")];
        let totals: Totals = calls.iter().collect();
        assert_eq!((totals.unpriced, totals.cost, totals.input), (1, Cost(0), 10_000));
        let none = Totals::default();
        assert_eq!((none.cached_percent().to_bits(), none.saved_percent().to_bits()), (0, 0));
    }

    #[test]
    fn without_a_report_the_prediction_counts() {
        let silent = Call { reported: None, ..call("claude-opus-5") };
        assert_eq!(silent.hit(), silent.predicted);
        assert_eq!(silent.tokens.total(), 10_000);
    }

    /// A reply that broke off has reported next to nothing, and what it said was paid for.
    #[test]
    fn output_that_nobody_reported_is_estimated() {
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        let broken = Call { reported: Some(usage), estimated_output: 300, ..call("claude-opus-5") };
        let silent = Call { reported: None, estimated_output: 40, ..broken.clone() };
        let calls = [broken.clone(), silent, call("claude-opus-5")];
        assert_eq!(calls.iter().map(Call::output).collect::<Vec<_>>(), [300, 40, 500]);
        assert_eq!(calls.iter().collect::<Totals>().output, 840);
        let json = serde_json::to_string(&broken).unwrap();
        assert!(json.contains(r#""estimated_output":300"#), "{json}");
        assert_eq!(serde_json::from_str::<Call>(&json).unwrap(), broken);
    }
}
