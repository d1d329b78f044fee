//! Which stretch of a branch a page shows.

use std::ops::Range;

use scrollback::MessageId;

use crate::api::place::message_id;
use crate::api::{Ask, Refusal};

/// What a page is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Newest,
    Before(MessageId),
    After(MessageId),
    Around(MessageId),
}

impl Wanted {
    /// As a request says.
    pub(super) fn of(ask: &Ask) -> Result<Self, Refusal> {
        let named = |name: &str| ask.text(name).map(message_id).transpose();
        match (named("before")?, named("after")?, named("around")?) {
            (None, None, None) => Ok(Self::Newest),
            (Some(id), None, None) => Ok(Self::Before(id)),
            (None, Some(id), None) => Ok(Self::After(id)),
            (None, None, Some(id)) => Ok(Self::Around(id)),
            _ => Err(Refusal::invalid("name one of before, after and around, not several")),
        }
    }

    /// The message that it names.
    pub(super) fn message(self) -> Option<MessageId> {
        match self {
            Self::Newest => None,
            Self::Before(id) | Self::After(id) | Self::Around(id) => Some(id),
        }
    }

    /// The depths that a page of so many messages shows; `depth` is that of the message named, unless that is one of
    /// the instructions, which stand before all others.
    pub(super) fn range(self, depth: Option<u32>, count: usize, total: u32) -> Range<u32> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let after = depth.map_or(0, |depth| depth.saturating_add(1)).min(total);
        let depth = depth.unwrap_or(0);
        let up_to = |end: u32| end.saturating_sub(count)..end;
        match self {
            Self::Newest => up_to(total),
            Self::Before(_) => up_to(depth.min(total)),
            Self::After(_) => after..after.saturating_add(count).min(total),
            Self::Around(_) => up_to(depth.saturating_sub(count / 2).saturating_add(count).min(total)),
        }
    }

    /// Whether a page that begins with the conversation shows one of its instructions.
    pub(super) fn shows(self, instructions: MessageId) -> bool {
        match self {
            Self::Newest | Self::Around(_) => true,
            Self::Before(id) => instructions < id,
            Self::After(id) => instructions > id,
        }
    }

    /// Whether its pages go on from the earlier end; others end in the later one.
    pub(super) fn goes_on(self) -> bool {
        matches!(self, Self::After(_))
    }

    /// Takes so many depths from a range, at the end that its page must hold; one around a message is taken at once.
    pub(super) fn step(self, rest: &mut Range<u32>, count: u32) -> Range<u32> {
        let Range { start, end } = *rest;
        let middle = match self {
            Self::After(_) => end.min(start.saturating_add(count)),
            Self::Newest | Self::Before(_) => start.max(end.saturating_sub(count)),
            Self::Around(_) => start,
        };
        let (earlier, later) = (start..middle, middle..end);
        let (step, left) = if self.goes_on() { (earlier, later) } else { (later, earlier) };
        *rest = left;
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_from_the_end_that_they_must_hold() {
        let id = MessageId(0);
        let check = |wanted: Wanted, step: Range<u32>, left: Range<u32>| {
            let mut rest = 5..30;
            assert_eq!((wanted.step(&mut rest, 10), rest), (step, left), "{wanted:?}");
        };
        check(Wanted::Newest, 20..30, 5..20);
        check(Wanted::Before(id), 20..30, 5..20);
        check(Wanted::After(id), 5..15, 15..30);
        check(Wanted::Around(id), 5..30, 5..5);
    }

    #[test]
    fn pages_reach_both_ends() {
        let id = MessageId(0);
        let check = |wanted: Wanted, depth, count, total, shown: Range<u32>| {
            assert_eq!(wanted.range(Some(depth), count, total), shown, "{wanted:?} {depth} {count} {total}");
        };
        check(Wanted::Newest, 0, 10, 41, 31..41);
        check(Wanted::Newest, 0, 100, 41, 0..41);
        check(Wanted::Before(id), 31, 10, 41, 21..31);
        check(Wanted::Before(id), 3, 10, 41, 0..3);
        check(Wanted::Before(id), 0, 10, 41, 0..0);
        check(Wanted::After(id), 31, 5, 41, 32..37);
        check(Wanted::After(id), 40, 5, 41, 41..41);
        check(Wanted::Around(id), 20, 5, 41, 18..23);
        check(Wanted::Around(id), 20, 1, 41, 20..21);
        check(Wanted::Around(id), 0, 5, 41, 0..5);
        check(Wanted::Around(id), 40, 5, 41, 36..41);
        check(Wanted::Around(id), 1, 500, 3, 0..3);
    }

    #[test]
    fn instructions_stand_before_everything() {
        let (first, second) = (MessageId(0), MessageId(1));
        let check = |wanted: Wanted, range: Range<u32>, shown: [bool; 2]| {
            let shows = [wanted.shows(first), wanted.shows(second)];
            assert_eq!((wanted.range(None, 10, 41), shows), (range, shown), "{wanted:?}");
        };
        check(Wanted::After(first), 0..10, [false, true]);
        check(Wanted::Before(second), 0..0, [true, false]);
        check(Wanted::Around(first), 0..10, [true, true]);
    }
}
