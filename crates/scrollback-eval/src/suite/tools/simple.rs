//! Simple ways of sending what agents did.

use scrollback::ids::Hash128;
use scrollback::ledger::Link;

use crate::dataset::traces::{Step, Thread};
use crate::meter::Meter;
use crate::replay::Script;

use super::Tally;
use super::faults::Words;

/// What stands for a result that is put away.
const PUT_AWAY: u32 = 20;

/// A simple way of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Simple {
    /// Everything.
    Append,
    /// As much of the end as fits.
    Last(u32),
    /// Results of more tokens than this are put away, but for the newest, once a prompt is larger than something.
    Archive { over: u32, keep: usize, above: u32 },
}

impl Simple {
    pub(super) fn all(limits: &[u32]) -> Vec<Self> {
        let archives = [
            Self::Archive { over: 500, keep: 5, above: 0 },
            Self::Archive { over: 500, keep: 5, above: 64_000 },
            Self::Archive { over: 200, keep: 2, above: 32_000 },
        ];
        let last = limits.iter().map(|limit| Self::Last(*limit));
        std::iter::once(Self::Append).chain(last).chain(archives).collect()
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Append => "append everything".to_owned(),
            Self::Last(limit) => format!("drop the oldest, {limit}"),
            Self::Archive { over, keep, above: 0 } => format!("put away over {over}, keep {keep}"),
            Self::Archive { over, keep, above } => format!("put away over {over}, keep {keep}, above {above}"),
        }
    }

    /// Sends every call of a thread.
    pub(super) fn send(self, (thread, script, words): (&Thread, &Script, &Words), tally: &mut Tally) {
        let (mut start, mut away) = (0, vec![false; script.links.len()]);
        tally.meter.part();
        for call in 0..script.calls.len() {
            let all = script.before(call);
            tally.meter.wait(script.at(call));
            match self {
                Self::Append => {}
                Self::Last(limit) => start = first_that_fits(all, start, limit, &mut tally.meter),
                Self::Archive { over, keep, above } => {
                    if tokens(all, &away) > above {
                        put_away(thread, all, (over, keep), &mut away);
                    }
                }
            }
            let shown = |place: usize| if away[place] { placeholder(all[place]) } else { all[place] };
            tally.meter.send(&(start..all.len()).map(shown).collect::<Vec<_>>());
            tally.faults += u64::from(words.misses(call, |place| place >= start && !away[place], &[]));
        }
    }
}

/// Where the end that fits begins.
fn first_that_fits(all: &[Link], start: usize, limit: u32, meter: &mut Meter) -> usize {
    let mut left: u32 = all[start..].iter().map(|link| link.tokens).sum();
    let mut first = start;
    while left > limit && first + 1 < all.len() {
        left -= all[first].tokens;
        first += 1;
    }
    meter.folds += u64::from(first > start);
    first
}

fn put_away(thread: &Thread, all: &[Link], (over, keep): (u32, usize), away: &mut [bool]) {
    let is_result = |place: &usize| matches!(thread.steps[*place], Step::Returned(_));
    let results: Vec<usize> = (0..all.len()).filter(is_result).collect();
    for place in &results[..results.len().saturating_sub(keep)] {
        away[*place] |= all[*place].tokens > over;
    }
}

fn tokens(all: &[Link], away: &[bool]) -> u32 {
    all.iter().zip(away).map(|(link, away)| if *away { PUT_AWAY } else { link.tokens }).sum()
}

fn placeholder(link: Link) -> Link {
    Link::new(Hash128::of("away", &[&link.hash.0]), PUT_AWAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Tariff;

    #[test]
    fn results_are_put_away_and_missed() {
        let thread = super::super::sample();
        let calls = thread.calls.iter().map(|call| call.shown).collect();
        let script = crate::player::run(Script::new(super::super::lines(&thread.steps), calls)).unwrap();
        let words = Words::of(&thread);
        let tally = |simple: Simple| {
            let mut tally = Tally { meter: Meter::new(&[Tariff::plain()]), faults: 0 };
            simple.send((&thread, &script, &words), &mut tally);
            tally
        };
        let all = tally(Simple::Append);
        let archive = tally(Simple::Archive { over: 100, keep: 2, above: 0 });
        let last = tally(Simple::Last(2_000));
        assert_eq!((all.faults, archive.faults, last.faults), (0, 1, 1));
        assert!(archive.meter.tokens < all.meter.tokens && last.meter.largest <= 2_000);
        let late = tally(Simple::Archive { over: 100, keep: 2, above: u32::MAX });
        assert_eq!((late.meter.tokens, late.faults), (all.meter.tokens, 0));
    }
}
