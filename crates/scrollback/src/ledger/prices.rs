//! The catalogue of models: `models.toml`, and a person's own file of the same format laid over it, entry by entry.
//!
//! A model is found by the longest name its own begins with.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Price, Rate, Rule};
use crate::error::{Error, Result};
use crate::tokens::{Family, Vocabulary};

const SHIPPED: &str = include_str!("../../models.toml");

/// A model as files describe it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    window: Option<u32>,
    most_input: Option<u32>,
    reply: Option<u32>,
    input: Rate,
    output: Rate,
    read: Option<Rate>,
    write: Option<Rate>,
    cache: Option<String>,
    vocabulary: Option<Counted>,
    #[serde(default)]
    binds_thinking: bool,
}

/// How a model counts, as files describe it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a vocabulary is \"o200k\", \"cl100k\" or { spaced = …, unspaced = … }")]
enum Counted {
    Named(Known),
    Estimated { spaced: f64, unspaced: f64 },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Known {
    O200k,
    Cl100k,
}

impl Counted {
    fn meant(&self) -> Family {
        match self {
            Self::Named(Known::O200k) => Family::Exact(Vocabulary::O200k),
            Self::Named(Known::Cl100k) => Family::Exact(Vocabulary::Cl100k),
            Self::Estimated { spaced, unspaced } => Family::Estimated { spaced: *spaced, unspaced: *unspaced },
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    rules: BTreeMap<String, Rule>,
    models: BTreeMap<String, Said>,
}

/// The models that are known.
#[derive(Clone, Debug)]
pub struct Prices {
    file: File,
    models: BTreeMap<String, Price>,
}

impl Prices {
    /// The list that comes with this version.
    pub fn shipped() -> Self {
        let none = Self { file: File::default(), models: BTreeMap::new() };
        none.with(SHIPPED).expect("a test reads the shipped list")
    }

    /// The list with a person's own laid over it: an entry of the same name is replaced whole.
    pub fn with(mut self, toml_text: &str) -> Result<Self> {
        let file: File = toml::from_str(toml_text).map_err(|error| Error::Invalid(format!("models: {error}")))?;
        self.file.rules.extend(file.rules);
        for (name, said) in file.models {
            let bare = bare(&name);
            if bare.is_empty() {
                return Err(Error::Invalid(format!("models: models.\"{name}\" names no model")));
            }
            self.file.models.insert(bare, said);
        }
        self.models = self.file.meant()?;
        Ok(self)
    }

    /// What is known of a model, by the longest name its own begins with; case and a provider's prefix don't matter.
    pub fn of(&self, model: &str) -> Option<&Price> {
        let name = bare(model);
        let mut beginnings = (1..=name.len()).rev().filter_map(|end| name.get(..end));
        beginnings.find_map(|beginning| self.models.get(beginning))
    }
}

impl Prices {
    /// Every entry, by name.
    pub fn all(&self) -> impl Iterator<Item = &Price> {
        self.models.values()
    }
}

impl File {
    fn meant(&self) -> Result<BTreeMap<String, Price>> {
        self.models.iter().map(|(name, said)| Ok((name.clone(), self.price(name, said)?))).collect()
    }

    fn price(&self, name: &str, said: &Said) -> Result<Price> {
        let rule = said.cache.as_ref().map(|rule| self.rule(name, rule)).transpose()?;
        Ok(Price {
            name: name.to_owned(),
            window: said.window,
            most_input: said.most_input,
            reply: said.reply,
            input: said.input,
            output: said.output,
            read: said.read.unwrap_or(said.input),
            write: said.write.unwrap_or(said.input),
            rule,
            family: said.vocabulary.as_ref().map(Counted::meant),
            binds_thinking: said.binds_thinking,
        })
    }

    fn rule(&self, model: &str, rule: &str) -> Result<Rule> {
        let known = || self.rules.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let missing = || format!("models: models.\"{model}\".cache: there is no rule “{rule}”, only {}", known());
        self.rules.get(rule).copied().ok_or_else(|| Error::Invalid(missing()))
    }
}

/// A model's name without its provider; resellers write `anthropic.claude-opus-4.8` for `claude-opus-4-8`.
fn bare(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    match name.find("claude") {
        Some(start) => name[start..].replace('.', "-"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Mode, Rate};

    fn name_of(model: &str) -> String {
        Prices::shipped().of(model).map_or_else(String::new, |price| price.name.clone())
    }

    #[test]
    fn the_longest_name_wins_whoever_sells_it() {
        assert_eq!(name_of("openai/GPT-4o-mini-2024-07-18"), "gpt-4o-mini");
        assert_eq!(name_of("gpt-4o-2024-08-06"), "gpt-4o");
        assert_eq!(Prices::shipped().of("gpt-4-0613").unwrap().window, Some(8_192));
        assert_eq!(Prices::shipped().of("gpt-4-1106-preview").unwrap().window, Some(128_000));
        assert_eq!(name_of("claude-opus-5-5"), "claude-opus-5-5");
        assert_eq!(name_of("claude-opus-5-20260724"), "claude-opus-5");
        assert_eq!(name_of("openrouter/anthropic/claude-sonnet-4.6"), "claude-sonnet-4-6");
        assert_eq!(name_of("us.anthropic.claude-opus-4-8-v1:0"), "claude-opus-4-8");
        assert_eq!(name_of("my-own-model"), "");
        assert_eq!(name_of("ключ"), "");
        assert_eq!(name_of(""), "");
    }

    #[test]
    fn the_shipped_list_is_sane() {
        for price in Prices::shipped().models.values() {
            let (window, reply) = (price.window.unwrap(), price.reply.unwrap_or(0));
            assert!(window >= 8_000 && reply <= window, "{}", price.name);
            assert!(price.read <= price.input && price.input <= price.write, "{}", price.name);
            assert!(price.input <= price.output, "{}", price.name);
            assert!(price.rule.is_some() || price.read == price.input, "{}", price.name);
            assert_eq!(bare(&price.name), price.name);
        }
        assert_eq!(Prices::shipped().of("quote").unwrap().window, Some(128_000));
    }

    #[test]
    fn a_persons_own_list_goes_over_the_shipped_one() {
        let own = r#"
            rules.lab = { mode = "prefix", step = 16, ttl_seconds = 60 }
            models."gpt-5" = { input = 1, output = 2.5 }
            models."Lab/Llama" = { window = 32_000, input = 0, output = 0, cache = "lab" }
        "#;
        let prices = Prices::shipped().with(own).unwrap();
        let gpt = prices.of("gpt-5").unwrap();
        assert_eq!(
            (gpt.input, gpt.read, gpt.output, gpt.window),
            (Rate(1_000_000), Rate(1_000_000), Rate(2_500_000), None)
        );
        assert_eq!(prices.of("gpt-5-mini").unwrap().input, Rate(250_000));
        let rule = prices.of("llama-4").unwrap().rule.unwrap();
        assert_eq!((rule.mode, rule.step.get()), (Mode::Prefix, 16));
    }

    #[test]
    fn a_model_of_ones_own_says_how_it_counts() {
        let own = r#"
            models.a = { input = 0, output = 0, vocabulary = "cl100k", binds_thinking = true }
            models.b = { input = 0, output = 0, vocabulary = { spaced = 1.5, unspaced = 0.5 } }
        "#;
        let prices = Prices::shipped().with(own).unwrap();
        let of = |name| prices.of(name).map(|price| (price.family, price.binds_thinking)).unwrap();
        assert_eq!(of("a"), (Some(Family::Exact(Vocabulary::Cl100k)), true));
        assert_eq!(of("b"), (Some(Family::Estimated { spaced: 1.5, unspaced: 0.5 }), false));
        let wrong = Prices::shipped().with("models.a = { input = 0, output = 0, vocabulary = 'runes' }").unwrap_err();
        assert!(wrong.to_string().contains("o200k"), "{wrong}");
    }

    #[test]
    fn a_rule_of_the_same_name_changes_every_model_that_uses_it() {
        let own = r#"rules.claude-512 = { mode = "breakpoint", min_tokens = 700, ttl_seconds = 3600 }"#;
        let prices = Prices::shipped().with(own).unwrap();
        assert_eq!(prices.of("claude-opus-5").unwrap().rule.unwrap().min_tokens, 700);
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        let check = |text: &str, expect: &[&str]| {
            let said = Prices::shipped().with(text).unwrap_err().to_string();
            for word in expect {
                assert!(said.contains(word), "{said} lacks {word}");
            }
        };
        check("models.x = { input = 1, output = 1, cahce = 'local' }", &["cahce", "line 1"]);
        check("\nmodels.x = { input = 1 }", &["output", "line 2"]);
        check("models.x = { input = -1, output = 1 }", &["-1", "line 1"]);
        check("models.x = { input = nan, output = 1 }", &["NaN", "line 1"]);
        check("models.x = { input = 1, output = 1, cache = 'none such' }", &["x", "cache", "none such", "local"]);
        check("rules.x = { mode = 'prefix', step = 0, ttl_seconds = 1 }", &["line 1", "nonzero"]);
        check("rules.x = { mode = 'magic', ttl_seconds = 1 }", &["magic", "line 1"]);
        check("models.'openai/' = { input = 1, output = 1 }", &["openai/"]);
    }
}
