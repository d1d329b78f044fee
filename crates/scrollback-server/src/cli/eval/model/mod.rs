//! `scrollback eval SUITE --upstream URL --model NAME`: the same suites with a main model, a helper and a judge.
//!
//! `wanted` is what is said of them, `speak` has windows answered, `line` writes them as the proxy does, `client` makes
//! calls (`quirks`: what models do not take), `till` sees that they do not cost too much, `record` keeps them for the
//! next run, `transcript` writes them down, `suites` runs what is measured.

mod client;
mod line;
mod quirks;
mod record;
mod speak;
mod suites;
mod till;
mod transcript;
mod wanted;

use std::sync::atomic::Ordering;

use scrollback_eval::models::Bill;
use serde_json::json;
use tokio::runtime::Handle;

use self::client::Halt;
use self::speak::Cast;
use super::super::{Desk, say, say_json, talk};

pub(super) use suites::{limits, strategies, takes_part};
pub(super) use wanted::Wanted;

/// Everyone who takes part, and how much is wanted of them.
pub(super) struct Troupe {
    cast: Cast,
    sample: Option<usize>,
    with_oracle: bool,
    runtime: Handle,
    /// Everything the numbers depend on.
    pub(super) settings: String,
}

impl Troupe {
    /// Whether nothing is sent.
    pub(super) fn is_dry(&self) -> bool {
        self.cast.client.is_dry
    }

    /// Whether what was measured last is all there is.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_dry() && self.cast.client.halt().is_none()
    }

    /// Says what all of it took, and whether it stopped early; whether it did not.
    pub(super) fn conclude(&self) -> bool {
        let client = &self.cast.client;
        let (paid, before, retries) =
            (client.paid.bill(), client.before.bill(), client.retries.load(Ordering::Relaxed));
        let known =
            if before.calls > 0 { format!("; {} more were known from before", before.calls) } else { String::new() };
        let again = if retries > 0 { format!("; {retries} were tried again") } else { String::new() };
        talk(&format!("{} calls, {} spent{known}{again}", paid.calls, client.till.spent()));
        if let Some(Halt::Limit) = client.halt() {
            let limit = client.limit;
            talk(&format!("stopped: the next call could have brought the cost over {limit} (--spend-limit)"));
        }
        self.is_whole()
    }

    /// Tells what a run could take.
    pub(super) fn foretell(&self, desk: &Desk) -> anyhow::Result<()> {
        let Bill { calls, cost, .. } = self.cast.client.paid.bill();
        if desk.json {
            return say_json(&json!({"most_calls": calls, "most_dollars": cost.dollars()}));
        }
        say(format!("At most {calls} calls, for at most about {cost}. Nothing was sent."))
    }
}
