//! The ladder of a summary: the full question, once more if too much was lost, the short question, the offline answer.
//!
//! Whatever the helper does, there is a summary in the end, and beside it what of the originals it does not hold. A
//! draft that tells next to nothing of what it was shown, or drops most of the summary before, is not taken: one reply
//! cannot undo what many have told.

use std::collections::HashSet;

use futures_util::future::BoxFuture;

use super::super::{Answered, Asked, By, Heard, Task, Tasks, Why};
use super::ask::{Style, Summarise, SummariseShort};
use super::facts::{Fact, FactKind, facts};
use super::held::{PROOF, is_most, lost};
use super::talk::{MISSING, words};
use crate::note::Author;
use crate::quote::keys;
use crate::store::Stored;
use crate::summary::Quote;

/// One in so many facts may be lost.
const MAY_LOSE: usize = 5;
/// One in so many facts of the summary before may be dropped, whoever writes the next.
const MAY_DROP: usize = 2;
/// What is taken down of a draft that tells too little to be used.
const NONSENSE: &str = "it tells too little of what was said";

/// What is to be summed up.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The summary so far, if there is one.
    pub before: Option<&'a str>,
    /// How many messages it covers.
    pub before_count: u32,
    /// The messages that follow it.
    pub messages: &'a [Stored],
    /// How it is to be written.
    pub style: Style<'a>,
    /// How many tokens it may have.
    pub most_tokens: u32,
    /// What is kept word for word beside it, and so need not be in it.
    pub kept: &'a [Quote],
}

/// A summary, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summed {
    /// The summary, in Markdown.
    pub text: String,
    /// Who wrote it.
    pub by: Author,
    /// What of the originals neither it nor the quotes hold, the most telling first, at most forty.
    pub lost: Vec<String>,
    /// Every question to the helper, for the ledger.
    pub calls: Vec<Asked>,
}

/// Sums up a segment, in any case.
pub fn summed<'a>(tasks: &'a Tasks, segment: &'a Segment<'a>) -> BoxFuture<'a, Summed> {
    Box::pin(async move {
        let measure = Measure::of(segment);
        let full = segment.task(&[]);
        let first = tasks.run(&full).await;
        let (best, mut calls) = match &first.by {
            By::Helper => {
                let draft = measure.drafted(first.answer, Author::Helper);
                if measure.is_poor(&draft) {
                    again(tasks, segment, &measure, draft, first.calls).await
                } else {
                    (draft, first.calls)
                }
            }
            By::Offline(Why::Failed(_) | Why::Nonsense(_)) => {
                let second = tasks.run(&SummariseShort(full)).await;
                let by = author(&second);
                (measure.drafted(second.answer, by), [first.calls, second.calls].concat())
            }
            By::Offline(Why::NoHelper | Why::BreakerOpen | Why::SpendLimit | Why::NoTime) => {
                (measure.drafted(first.answer, Author::Offline), first.calls)
            }
        };
        let best = measure.sound(best, segment, &mut calls);
        let lost = best.lost.into_iter().take(MISSING).map(|fact| fact.text).collect();
        Summed { text: best.text, by: best.by, lost, calls }
    })
}

/// Asks once more, with what was lost, and takes the better of both.
async fn again(
    tasks: &Tasks,
    segment: &Segment<'_>,
    measure: &Measure,
    first: Draft,
    calls: Vec<Asked>,
) -> (Draft, Vec<Asked>) {
    let missing: Vec<String> = first.lost.iter().take(MISSING).map(|fact| fact.text.clone()).collect();
    let second = tasks.run(&segment.task(&missing)).await;
    let calls = [calls, second.calls].concat();
    if second.by != By::Helper {
        return (first, calls);
    }
    let second = measure.drafted(second.answer, Author::Helper);
    (if second.loss() < first.loss() { second } else { first }, calls)
}

fn author<A>(answered: &Answered<A>) -> Author {
    if answered.by == By::Helper { Author::Helper } else { Author::Offline }
}

impl<'a> Segment<'a> {
    fn task(&self, missing: &'a [String]) -> Summarise<'a> {
        let Self { before, before_count, messages, style, most_tokens, .. } = *self;
        Summarise { before, before_count, messages, style, most_tokens, missing }
    }
}

/// What a summary of a segment is measured by.
struct Measure {
    facts: Vec<Fact>,
    /// Those of the summary before.
    before: Vec<Fact>,
    /// What is held beside the summary.
    beside: String,
    /// How many facts are not, and so have to be in it.
    owed: usize,
    /// What it is about.
    keys: HashSet<String>,
}

/// A summary and what it does not hold.
struct Draft {
    text: String,
    by: Author,
    lost: Vec<Fact>,
    /// How much of the summary before it drops.
    dropped: usize,
}

impl Measure {
    fn of(segment: &Segment<'_>) -> Self {
        let (said, told) = (words(segment.messages), segment.before.unwrap_or_default());
        let (mut all, before) = (facts(&said), facts(told));
        for fact in &before {
            if !all.contains(fact) {
                all.push(fact.clone());
            }
        }
        let beside: String = segment.kept.iter().flat_map(|quote| [quote.text.as_str(), "\n"]).collect();
        let owed = lost(&all, &beside).len();
        let keys = keys(&said).into_iter().chain(keys(told)).collect();
        Self { facts: all, before, beside, owed, keys }
    }

    fn drafted(&self, text: String, by: Author) -> Draft {
        let dropped = lost(&self.before, &text).len();
        let lost = lost(&self.facts, &format!("{text}\n{}", self.beside));
        Draft { text, by, lost, dropped }
    }

    /// A draft of the helper, or the offline answer if that draft is nonsense and tells no more.
    fn sound(&self, draft: Draft, segment: &Segment<'_>, calls: &mut [Asked]) -> Draft {
        if draft.by == Author::Offline || !self.is_nonsense(&draft) {
            return draft;
        }
        let offline = self.drafted(segment.task(&[]).offline(), Author::Offline);
        if (offline.dropped, offline.lost.len()) > (draft.dropped, draft.lost.len()) {
            return draft;
        }
        for asked in calls.iter_mut().filter(|asked| asked.outcome == Heard::Answer) {
            asked.outcome = Heard::Nonsense(NONSENSE.to_owned());
        }
        offline
    }

    /// Whether a draft drops most of the summary before, or can hardly be about what was said.
    fn is_nonsense(&self, draft: &Draft) -> bool {
        let drops = draft.dropped * MAY_DROP > self.before.len();
        let misses = self.owed >= PROOF && is_most(draft.lost.len(), self.owed);
        let told = || keys(&draft.text).iter().any(|key| self.keys.contains(key));
        drops || misses || !self.keys.is_empty() && !told()
    }

    /// Whether more was lost than may be.
    fn is_poor(&self, draft: &Draft) -> bool {
        draft.lost.len() * MAY_LOSE > self.facts.len() || draft.loss().0 > 0
    }
}

impl Draft {
    /// How much that binds what follows was lost, and how much at all.
    fn loss(&self) -> (usize, usize) {
        let binds = |fact: &&Fact| matches!(fact.kind, FactKind::Constraint | FactKind::Decision);
        (self.lost.iter().filter(binds).count(), self.lost.len())
    }
}

#[cfg(test)]
mod tests;
