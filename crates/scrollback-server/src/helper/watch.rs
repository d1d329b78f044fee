//! How helpers do, for whoever runs the server: numbers, and a line in the log when one is left alone, is back, or has
//! spent all it may. Nothing that is said in conversations is in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scrollback::task::{By, Sign, Watch, Why};

/// What may become of a task that a helper could answer.
pub(crate) const OUTCOMES: [&str; 6] = ["answered", "failed", "nonsense", "left_alone", "spent", "no_time"];

/// Watches a helper.
pub(crate) fn watch(model: &str) -> Watch {
    let (model, is_spent) = (model.to_owned(), AtomicBool::new(false));
    Arc::new(move |sign| match sign {
        Sign::Answered(by) => {
            metrics::counter!("scrollback_helper_total", "outcome" => outcome(by)).increment(1);
            told_of_money(&model, by, &is_spent);
        }
        Sign::LeftAlone(why) => {
            tracing::warn!(model, reason = reason(why), "the helper failed too often: it is left alone for a while");
        }
        Sign::Back => tracing::warn!(model, "the helper answers again"),
    })
}

/// Tells once that all is spent, until there is money again.
fn told_of_money(model: &str, by: &By, is_spent: &AtomicBool) {
    let spent = *by == By::Offline(Why::SpendLimit);
    if spent && !is_spent.swap(true, Ordering::Relaxed) {
        tracing::warn!(model, "the helper has spent what it may in an hour: it is not asked until there is room again");
    }
    if *by == By::Helper {
        is_spent.store(false, Ordering::Relaxed);
    }
}

fn outcome(by: &By) -> &'static str {
    match by {
        By::Helper => "answered",
        By::Offline(Why::Failed(_)) => "failed",
        By::Offline(Why::Nonsense(_)) => "nonsense",
        By::Offline(Why::BreakerOpen | Why::NoHelper) => "left_alone",
        By::Offline(Why::SpendLimit) => "spent",
        By::Offline(Why::NoTime) => "no_time",
    }
}

/// Why it failed, without its words.
fn reason(why: &Why) -> &str {
    match why {
        Why::Failed(reason) => reason,
        Why::Nonsense(_) => "what it answered could not be used",
        Why::NoHelper | Why::BreakerOpen | Why::SpendLimit | Why::NoTime => "it was not asked",
    }
}
