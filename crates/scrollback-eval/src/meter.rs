//! What requests cost: their prompts through models of providers' caches.

use std::num::NonZeroU32;

use scrollback::At;
use scrollback::ids::Hash128;
use scrollback::ledger::{CacheModel, Link, Mode, Price, Prices, Rate, Rule, Sent};
use scrollback::window::{Body, Reason, Window};

/// How far one call is from the next, if nobody knows. What is cached outlives that under every rule.
const STEP: i64 = 10_000_000;

/// How prompts are charged.
#[derive(Clone, Debug)]
pub struct Tariff {
    /// What it is called.
    pub name: String,
    price: Price,
    rule: Rule,
}

impl Tariff {
    /// A plain one: a token costs 1.25, or 0.1 if it stands in the beginning that the prompt shares with an earlier
    /// one.
    pub fn plain() -> Self {
        let rule =
            Rule { mode: Mode::Prefix, step: NonZeroU32::MIN, min_tokens: 0, ttl_seconds: u32::MAX, lookback: None };
        let (dear, cheap) = (Rate(1_250_000), Rate(100_000));
        let price = Price {
            name: "plain".into(),
            window: None,
            most_input: None,
            reply: None,
            input: dear,
            output: Rate(0),
            read: cheap,
            write: dear,
            rule: Some(rule),
            family: None,
            binds_thinking: false,
        };
        Self { name: price.name.clone(), price, rule }
    }

    /// What a model of the catalogue charges, if it is known and has a cache.
    pub fn of_model(model: &str) -> Option<Self> {
        let price = Prices::shipped().of(model)?.clone();
        Some(Self { name: model.to_owned(), rule: price.rule?, price })
    }
}

/// What was sent under one tariff.
#[derive(Clone)]
struct Account {
    tariff: Tariff,
    cache: CacheModel,
    read_tokens: u64,
    dollars: f64,
}

/// Adds up what is sent.
#[derive(Clone)]
pub struct Meter {
    accounts: Vec<Account>,
    scope: u64,
    now: At,
    /// How many requests were sent.
    pub calls: u64,
    /// What all their prompts have.
    pub tokens: u64,
    /// What the largest prompt has.
    pub largest: u32,
    /// How often less of what was sent before was sent.
    pub folds: u64,
    /// How many requests no window could hold.
    pub refused: u64,
}

impl Meter {
    /// Nothing was sent yet.
    pub fn new(tariffs: &[Tariff]) -> Self {
        let account = |tariff: &Tariff| Account {
            tariff: tariff.clone(),
            cache: CacheModel::default(),
            read_tokens: 0,
            dollars: 0.0,
        };
        let accounts = tariffs.iter().map(account).collect();
        Self { accounts, scope: 0, now: At(0), calls: 0, tokens: 0, largest: 0, folds: 0, refused: 0 }
    }

    /// Another conversation begins, which shares nothing with those before.
    pub fn part(&mut self) {
        self.scope += 1;
        self.now = At(0);
        self.accounts.iter_mut().for_each(|account| account.cache = CacheModel::default());
    }

    /// Time passes until the next prompt is sent, if it is known when that is. Many data tell the day alone, and some
    /// clocks go back.
    pub fn wait(&mut self, until: Option<At>) {
        self.now = until.filter(|until| *until > self.now).unwrap_or(At(self.now.0.saturating_add(STEP)));
    }

    /// A prompt is sent.
    pub fn send(&mut self, chain: &[Link]) {
        let tokens = chain.iter().map(|link| link.tokens).fold(0, u32::saturating_add);
        self.calls += 1;
        self.tokens += u64::from(tokens);
        self.largest = self.largest.max(tokens);
        let at = self.now;
        let scope = Hash128::of("scope", &[&self.scope.to_le_bytes()]);
        for account in &mut self.accounts {
            let hit = account.cache.predict(&Sent { scope, rule: account.tariff.rule, chain, at });
            account.read_tokens += u64::from(hit.read);
            account.dollars += account.tariff.price.cost(hit, 0).dollars();
        }
    }

    /// The share of all tokens that was found in the cache, for each tariff.
    pub fn hits(&self) -> Vec<f64> {
        self.accounts.iter().map(|account| ratio(account.read_tokens, self.tokens)).collect()
    }

    /// What all of it cost, for each tariff.
    pub fn costs(&self) -> Vec<f64> {
        self.accounts.iter().map(|account| account.dollars).collect()
    }

    /// What it cost against another, for each tariff.
    pub fn costs_against(&self, other: &Self) -> Vec<f64> {
        let pairs = self.accounts.iter().zip(&other.accounts);
        pairs.map(|(ours, theirs)| if theirs.dollars > 0.0 { ours.dollars / theirs.dollars } else { 0.0 }).collect()
    }

    /// What a prompt has in the mean.
    pub fn mean(&self) -> f64 {
        ratio(self.tokens, self.calls)
    }

    /// Folds for a hundred calls.
    pub fn folds_per_100(&self) -> f64 {
        100.0 * ratio(self.folds, self.calls)
    }
}

/// One count against another; nothing against nothing is nothing.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A window as a provider's cache sees it, after tools that cost so much. Marks stand where the program puts them:
/// behind what stands for what is folded, and before what is new.
pub fn chain(window: &Window, tools: u32) -> Vec<Link> {
    let blocks: Vec<_> = window.blocks().iter().filter(|block| block.reason != Reason::LeftOut).collect();
    let link = |block: &&scrollback::window::Block| match (
        &block.body,
        block.message().and_then(|stored| stored.position()),
    ) {
        // A message's node is a hash of what it says already.
        (Body::Original(_), Some(position)) => Link::new(position.node.0, block.tokens),
        _ => Link::new(block.hash(), block.tokens),
    };
    let mut links: Vec<Link> = blocks.iter().map(link).collect();
    let is_new = |reason: Reason| matches!(reason, Reason::CurrentTurn | Reason::Relevant);
    let new = blocks.iter().position(|block| is_new(block.reason)).unwrap_or(blocks.len());
    let notes = blocks.iter().rposition(|block| matches!(block.reason, Reason::Covers | Reason::Kept));
    for place in notes.into_iter().chain(new.checked_sub(1)) {
        links[place] = links[place].marked();
    }
    if tools > 0 {
        links.insert(0, Link::new(Hash128::of("tools", &[&tools.to_le_bytes()]), tools));
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain_of(text: &str) -> Vec<Link> {
        text.bytes().map(|letter| Link::new(Hash128([letter; 16]), 1_000)).collect()
    }

    #[test]
    fn what_is_sent_again_is_cheap() {
        let mut meter = Meter::new(&[Tariff::plain(), Tariff::of_model("gpt-5").unwrap()]);
        meter.send(&chain_of("ab"));
        meter.send(&chain_of("abc"));
        assert_eq!((meter.calls, meter.tokens, meter.largest), (2, 5_000, 3_000));
        assert!((meter.hits()[0] - 0.4).abs() < 1e-9 && meter.hits()[1] < 0.4);
        let cost = (3_000.0 * 1.25 + 2_000.0 * 0.1) / 1e6;
        assert!((meter.costs()[0] - cost).abs() < 1e-9);
        assert!((meter.costs_against(&meter)[0] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn conversations_share_nothing() {
        let mut meter = Meter::new(&[Tariff::plain()]);
        meter.send(&chain_of("ab"));
        meter.part();
        meter.send(&chain_of("ab"));
        assert!(meter.hits()[0].abs() < 1e-9);
    }

    #[test]
    fn what_is_cached_is_forgotten_when_nobody_asks_for_long() {
        let hour = 3_600 * 1_000_000;
        let hits = |times: [i64; 2]| {
            let mut meter = Meter::new(&[Tariff::plain(), Tariff::of_model("gpt-5").unwrap()]);
            for at in times {
                meter.wait(Some(At(at)));
                meter.send(&chain_of("abcd"));
            }
            meter.hits()
        };
        assert!(hits([hour, hour]).iter().all(|hits| *hits > 0.4), "a day is all that is told");
        assert!(hits([hour, 9 * hour])[0] > 0.4 && hits([hour, 9 * hour])[1].abs() < 1e-9);
    }
}
