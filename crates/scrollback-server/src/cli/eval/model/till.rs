//! The till: what a run may spend. Before a call, the most it can cost is set aside; a call that could take too much is
//! not made, and none after it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use scrollback::ledger::{Cost, Hit, Price};
use tokio::sync::Notify;

/// A token has at least about so many bytes, in any language.
const BYTES_PER_TOKEN: usize = 3;

/// What may be spent, and what was.
#[derive(Debug)]
pub(super) struct Till {
    limit: Cost,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    spent: Cost,
    aside: Cost,
}

impl Till {
    pub(super) fn new(limit: Cost) -> Self {
        Self { limit, state: Mutex::default(), changed: Notify::new() }
    }

    /// What was spent so far.
    pub(super) fn spent(&self) -> Cost {
        self.state().spent
    }

    /// Sets aside what a call can cost at most, as soon as it is known whether there is enough; none if there is not.
    pub(super) async fn set_aside(&self, most: Cost) -> Option<Aside<'_>> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state();
                if state.spent.plus(state.aside).plus(most) <= self.limit {
                    state.aside = state.aside.plus(most);
                    return Some(Aside { till: self, most, paid: most });
                }
                if state.aside == Cost::default() {
                    return None;
                }
            }
            // What is under way may cost less than was set aside for it.
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was set aside for a call. Unless it is said what the call did cost, all of it is held for spent.
#[derive(Debug)]
pub(super) struct Aside<'a> {
    till: &'a Till,
    most: Cost,
    paid: Cost,
}

impl Aside<'_> {
    /// What the call did cost.
    pub(super) fn settle(mut self, paid: Cost) {
        self.paid = paid;
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        let mut state = self.till.state();
        state.aside = Cost(state.aside.0.saturating_sub(self.most.0));
        state.spent = state.spent.plus(self.paid);
        drop(state);
        self.till.changed.notify_waiters();
    }
}

/// The most that a call can cost: nothing of it is cached, and the reply is as long as it may be. Models without a
/// price are free.
pub(super) fn most(price: Option<&Price>, bytes: usize, reply_tokens: u32) -> Cost {
    let Some(price) = price else { return Cost::default() };
    let tokens = u32::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX);
    let hit = if price.write > price.input {
        Hit { write: tokens, ..Hit::default() }
    } else {
        Hit { plain: tokens, ..Hit::default() }
    };
    price.cost(hit, reply_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrollback::ledger::Prices;

    #[tokio::test]
    async fn nothing_is_begun_that_could_take_too_much() {
        let till = Till::new(Cost(10));
        let first = till.set_aside(Cost(6)).await.unwrap();
        // The second waits for what the first comes to.
        let (second, ()) = tokio::join!(till.set_aside(Cost(6)), async { first.settle(Cost(3)) });
        drop(second.unwrap());
        assert_eq!(till.spent(), Cost(9), "what nobody accounts for is held for spent");
        assert!(till.set_aside(Cost(2)).await.is_none());
        assert!(till.set_aside(Cost(1)).await.is_some());
    }

    #[test]
    fn the_most_a_call_can_cost_is_reckoned_without_a_cache() {
        let prices = Prices::shipped();
        assert_eq!(most(prices.of("my-own-model"), 3_000, 100), Cost(0));
        // A thousand tokens for 0.15, a hundred for 0.6 dollars a million.
        assert_eq!(most(prices.of("gpt-4o-mini"), 3_000, 100), Cost(210_000));
        let claude = prices.of("claude-opus-5").unwrap();
        assert_eq!(most(Some(claude), 3, 0), claude.cost(Hit { write: 1, ..Hit::default() }, 0));
    }
}
