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
    /// Once a prompt is larger than this, the oldest messages are dropped until half of it is left.
    Half(u32),
    /// The same until a fifth is left: as much as pages fold at once.
    Fifth(u32),
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
        let half = limits.iter().map(|limit| Self::Half(*limit));
        let fifth = limits.iter().map(|limit| Self::Fifth(*limit));
        std::iter::once(Self::Append).chain(last).chain(half).chain(fifth).chain(archives).collect()
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Append => "append everything".to_owned(),
            Self::Last(limit) => format!("drop the oldest, {limit}"),
            Self::Half(limit) => format!("trim to half when full, {limit}"),
            Self::Fifth(limit) => format!("trim to a fifth when full, {limit}"),
            Self::Archive { over, keep, above: 0 } => format!("put away over {over}, keep {keep}"),
            Self::Archive { over, keep, above } => format!("put away over {over}, keep {keep}, above {above}"),
        }
    }

    /// How many messages at the beginning are never dropped: its instructions, where a prompt is trimmed.
    fn heads(self, thread: &Thread) -> usize {
        match self {
            Self::Append | Self::Last(_) | Self::Archive { .. } => 0,
            Self::Half(_) | Self::Fifth(_) => {
                thread.steps.iter().take_while(|step| matches!(step, Step::Instructed(_))).count()
            }
        }
    }

    /// Sends every call of a thread.
    pub(super) fn send(self, (thread, script, words): (&Thread, &Script, &Words), tally: &mut Tally) {
        let (mut start, mut away) = (0, vec![false; script.links.len()]);
        let heads = self.heads(thread);
        tally.meter.part();
        for call in 0..script.calls.len() {
            let all = script.before(call);
            tally.meter.wait(script.at(call));
            match self {
                Self::Append => {}
                Self::Last(limit) => start = first_that_fits(all, start, limit, &mut tally.meter),
                Self::Half(limit) => {
                    start = trimmed((thread, all), (heads, start), (limit, limit / 2), &mut tally.meter);
                }
                Self::Fifth(limit) => {
                    start = trimmed((thread, all), (heads, start), (limit, limit / 5), &mut tally.meter);
                }
                Self::Archive { over, keep, above } => {
                    if tokens(all, &away) > above {
                        put_away(thread, all, (over, keep), &mut away);
                    }
                }
            }
            let shown = |place: usize| if away[place] { placeholder(all[place]) } else { all[place] };
            let places = (0..heads.min(start)).chain(start..all.len());
            tally.meter.send(&places.map(shown).collect::<Vec<_>>());
            let is_shown = |place: usize| (place < heads || place >= start) && !away[place];
            tally.faults += u64::from(words.misses(call, is_shown, &[]));
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

/// Where the rest begins once a prompt was over the limit and the oldest of it is dropped until so much is left, its
/// instructions included. It begins with no result, so that none stands without its call; the newest round stays,
/// however large.
fn trimmed(
    (thread, all): (&Thread, &[Link]),
    (heads, start): (usize, usize),
    (limit, most): (u32, u32),
    meter: &mut Meter,
) -> usize {
    let cost = |from: usize| all[..heads.min(from)].iter().chain(&all[from..]).map(|link| link.tokens).sum::<u32>();
    if cost(start) <= limit {
        return start;
    }
    let begins = |place: &usize| !matches!(thread.steps[*place], Step::Returned(_));
    let rest: Vec<usize> = (start.max(heads)..all.len()).filter(begins).collect();
    let fits = rest.iter().copied().find(|from| cost(*from) <= most);
    let first = fits.or(rest.last().copied()).unwrap_or(start);
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

    fn sent(simple: Simple) -> Tally {
        let thread = super::super::sample();
        let calls = thread.calls.iter().map(|call| call.shown).collect();
        let script = crate::player::run(Script::new(super::super::lines(&thread.steps), calls)).unwrap();
        let mut tally = Tally { meter: Meter::new(&[Tariff::plain()]), faults: 0 };
        simple.send((&thread, &script, &Words::of(&thread)), &mut tally);
        tally
    }

    #[test]
    fn results_are_put_away_and_missed() {
        let all = sent(Simple::Append);
        let archive = sent(Simple::Archive { over: 100, keep: 2, above: 0 });
        let last = sent(Simple::Last(2_000));
        assert_eq!((all.faults, archive.faults, last.faults), (0, 1, 1));
        assert!(archive.meter.tokens < all.meter.tokens && last.meter.largest <= 2_000);
        let late = sent(Simple::Archive { over: 100, keep: 2, above: u32::MAX });
        assert_eq!((late.meter.tokens, late.faults), (all.meter.tokens, 0));
    }

    #[test]
    fn the_deeper_a_prompt_is_trimmed_the_less_is_sent_and_paid() {
        let tallies = [Simple::Last(2_000), Simple::Half(2_000), Simple::Fifth(2_000)].map(sent);
        for pair in tallies.windows(2) {
            let (less, deeper) = (&pair[0].meter, &pair[1].meter);
            assert!(deeper.tokens < less.tokens && deeper.folds < less.folds && deeper.costs()[0] < less.costs()[0]);
        }
        assert!(tallies.iter().all(|tally| tally.faults == 1 && tally.meter.largest <= 2_000));
    }

    #[test]
    fn a_trimmed_prompt_has_its_instructions_and_no_result_without_its_call() {
        let (thread, mut meter) = (super::super::sample(), Meter::new(&[Tariff::plain()]));
        // An instruction, a question, and then a call and its result by turns.
        let all = vec![Link::new(Hash128([0; 16]), 100); thread.steps.len()];
        let mut trim = |upto: usize, start: usize, most: u32| {
            trimmed((&thread, &all[..upto]), (1, start), (1_000, most), &mut meter)
        };
        assert_eq!(trim(10, 0, 500), 0, "it is not over the limit");
        assert_eq!(trim(12, 0, 500), 8, "400 tokens and the instruction");
        assert_eq!(trim(12, 0, 200), 10, "the newest call keeps its result");
        assert_eq!((trim(17, 8, 500), trim(18, 8, 500)), (8, 14));
        assert_eq!(meter.folds, 3);
    }
}
