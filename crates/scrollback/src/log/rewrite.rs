//! Recognising a history that its client has rewritten: cleared results, dropped messages, a summary in place of the
//! past.
//!
//! Pure: two sequences in, a mapping out. The client's messages are matched to the true path in order, by their words
//! or by the ids of their tool calls. The mapping counts only with enough evidence: a wrong link would mix
//! conversations, a missing one merely starts a branch. Applications fill the same template again and again, so the
//! more a client changed, the more must be left of what the model said.

use std::collections::HashMap;
use std::ops::Range;

use super::summed::Summed;
use crate::ids::{Fingerprint, MessageId};
use crate::message::{Message, Part, Role};
use crate::store::{Origin, Position, Stored};

/// Fewer characters than this can be said twice by chance; such a message is matched only where it is expected: right
/// behind another that is, or at the beginning of a run that chance does not repeat.
const SUBSTANTIAL_CHARS: usize = 40;
/// Without a tool call in common, this many characters must be.
const EVIDENCE_CHARS: usize = 200;
/// A client rewrites the conversation it is in: at most so many messages of the path follow the last one it kept.
const NEAR_THE_END: usize = 2;

/// So many messages after one that was changed, it is taken for the client's own doing: kept anew with all that
/// follows, each change would cost as much as the conversation is long.
const EDITED_WITHIN: usize = 256;
/// What a client puts between the model's words and takes away again has at most so many messages.
const MOVED_MESSAGES: usize = 8;

/// Clients clear what takes room: nobody saves fewer characters than these.
const CLEARED_CHARS: usize = 500;

/// Shorter ids of calls are counted from one by some servers; longer ones are drawn at random and unique, unless they
/// end in a count.
const UNIQUE_ID_CHARS: usize = 12;
/// What follows a sign in an id is a count if it has at most so many digits: `functions.weather:0`, `call_weather_12`.
const COUNT_DIGITS: usize = 4;

/// What alignment looks at in a message.
#[derive(Clone, Debug)]
pub(super) struct Features {
    weak: Fingerprint,
    calls: Vec<String>,
    role: Role,
    chars: usize,
    /// How much of that stands beside results.
    beside: usize,
}

impl Features {
    pub(super) fn of(message: &Message) -> Self {
        Self {
            weak: message.weak(),
            calls: message.call_ids().map(str::to_owned).collect(),
            role: message.role().clone(),
            chars: message.words().map(|piece| piece.chars().count()).sum(),
            beside: beside_results(message),
        }
    }

    /// Whether one stands for the other although words may differ: the same calls, from the same side.
    fn same_calls(&self, other: &Self) -> bool {
        !self.calls.is_empty() && self.calls == other.calls && self.role == other.role
    }

    /// Whether this is the other as a client echoes it.
    pub(super) fn echoes(&self, other: &Self) -> bool {
        self.says_the_same(other) || self.same_calls(other)
    }

    /// Whether the words are the same, and what the calls ask for.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.weak == other.weak
    }

    /// Whether the other could be this message, wherever it stands: the same words, or a call in common.
    pub(super) fn resembles(&self, other: &Self) -> bool {
        self.weak == other.weak || self.shares_call(other)
    }

    /// Whether both have a call in common that no other conversation has.
    pub(super) fn shares_unique_call(&self, other: &Self) -> bool {
        self.calls.iter().any(|call| is_unique(call) && other.calls.contains(call))
    }

    /// Whether it is the other with other words, and not what is left of it once a client has cleared or shortened it.
    fn edits(&self, other: &Self) -> bool {
        if self.same_calls(other) {
            // A client may say something beside a result, or bring the result itself in place of a word for it.
            let brings = self.role != Role::Assistant && self.chars >= other.chars + SUBSTANTIAL_CHARS;
            return self.beside > other.beside || brings;
        }
        let saves_room = self.chars * 2 <= other.chars && self.chars + CLEARED_CHARS <= other.chars;
        !saves_room
    }

    /// Whether both have calls, and none in common: tools often return the same words.
    fn answers_others(&self, other: &Self) -> bool {
        let drawn = |features: &Self| features.calls.iter().any(|call| is_unique(call));
        drawn(self) && drawn(other) && !self.shares_call(other)
    }

    fn shares_call(&self, other: &Self) -> bool {
        self.calls.iter().any(|call| other.calls.contains(call))
    }

    fn is_substantial(&self) -> bool {
        !self.calls.is_empty() || self.chars >= SUBSTANTIAL_CHARS
    }

    /// Whether it could take part in evidence: only conversations with a model's turn or a call can be recognised.
    pub(super) fn could_prove(message: &Message) -> bool {
        *message.role() == Role::Assistant || message.call_ids().next().is_some()
    }
}

/// How many characters a message says beside results, if it brings any.
fn beside_results(message: &Message) -> usize {
    let is_result = |part: &&Part| matches!(part, Part::Result { .. });
    let (results, others): (Vec<&Part>, Vec<&Part>) = message.parts().iter().partition(is_result);
    let words = others.iter().flat_map(|part| part.words());
    if results.is_empty() { 0 } else { words.map(|piece| piece.chars().count()).sum() }
}

/// Whether the id of a call was drawn at random, as far as it tells.
fn is_unique(id: &str) -> bool {
    let digits = id.chars().rev().take_while(char::is_ascii_digit).count();
    let sign = id.chars().rev().nth(digits).is_some_and(|c| !c.is_alphanumeric());
    id.len() >= UNIQUE_ID_CHARS && !(sign && (1..=COUNT_DIGITS).contains(&digits))
}

/// How a client rewrote its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing but spacing or ids.
    Reworded,
    /// Messages were replaced in place.
    Edited,
    /// Messages were left out.
    Truncated,
    /// Messages were left out and others put in their place.
    Compacted,
}

/// A rewritten history found in the log.
#[derive(Debug)]
pub(super) struct Rewrite {
    pub(super) change: Change,
    /// How many of the client's messages are accounted for.
    pub(super) count: usize,
    /// The place the last of them stands for.
    pub(super) at: Position,
    /// The client's messages that are not on the path, and the message each stands in for.
    pub(super) replaced: Vec<(usize, Option<MessageId>)>,
    /// The summary that the history begins anew with, if it does.
    pub(super) summed: Option<Summed>,
}

impl Rewrite {
    /// The client's messages before a summary that hold from there on.
    pub(super) fn again(&self) -> impl Iterator<Item = usize> {
        self.summed.iter().flat_map(|summed| summed.again.iter().copied())
    }
}

/// A match of one client message with one of the path.
#[derive(Clone, Copy)]
struct Pair {
    theirs: usize,
    ours: usize,
    /// Equal words, not only equal calls.
    equal: bool,
}

/// A path that a history may be a rewriting of.
pub(super) struct Candidate<'a> {
    /// Its messages, from some depth on.
    pub(super) path: &'a [Stored],
    /// How many of its messages lie between the place known so far and the first of `path`.
    pub(super) skipped: usize,
    /// Whether a place is known so far; without one the beginnings differ.
    pub(super) based: bool,
    /// Whether the history names its session: then what begins anew is still found there.
    pub(super) named: bool,
    /// For each message of the history, whether it was said on this path alone: what is said elsewhere, too, proves
    /// nothing.
    pub(super) telling: &'a [bool],
}

/// Maps `theirs` onto a path, as far as somebody has not changed it: from there on what they say now counts.
pub(super) fn recognise(theirs: &[Features], candidate: &Candidate<'_>) -> Option<Rewrite> {
    let (path, skipped) = (candidate.path, candidate.skipped);
    let ours: Vec<Features> = path.iter().map(|stored| Features::of(&stored.message())).collect();
    let mut pairs = pairs(theirs, &ours);
    pairs.truncate(Reading { theirs, ours: &ours, candidate }.unchanged(&pairs));
    let last = *pairs.last()?;
    let replaced = replaced(&pairs, path);
    let left_out = skipped + last.ours + 1 - pairs.len();
    let inserted = last.theirs + 1 - pairs.len();
    let change = match (left_out, inserted) {
        (0, 0) if replaced.is_empty() => Change::Reworded,
        (left_out, 0) if left_out > 0 => Change::Truncated,
        (left_out, inserted) if left_out > inserted => Change::Compacted,
        _ => Change::Edited,
    };
    let near_the_end = path.len() - 1 - last.ours <= NEAR_THE_END;
    let evidence = Evidence::of(&pairs, theirs, &ours, candidate.telling);
    evidence.proves(change, candidate.based, near_the_end).then_some(Rewrite {
        change,
        count: last.theirs + 1,
        at: path[last.ours].position()?,
        replaced,
        summed: None,
    })
}

/// A history beside a path, where it is asked whether somebody changed what was said, put something in between or took
/// it away, rather than that a program cleared what it has no use for.
struct Reading<'a> {
    theirs: &'a [Features],
    ours: &'a [Features],
    candidate: &'a Candidate<'a>,
}

impl Reading<'_> {
    /// How many matches stand before the first change.
    fn unchanged(&self, pairs: &[Pair]) -> usize {
        let is_changed = |(gap, pair): (Gap, &Pair)| {
            let is_answered_anew = !pair.equal && self.edits(pair.theirs, Some(pair.ours));
            is_answered_anew || self.is_recent(pair.theirs) && self.is_changed(&gap, pair)
        };
        gaps(pairs).zip(pairs).position(is_changed).unwrap_or(pairs.len())
    }

    /// Whether somebody changed what lies before a match.
    fn is_changed(&self, gap: &Gap, next: &Pair) -> bool {
        let is_beginning = gap.theirs.start == 0;
        // A beginning that changes tells nothing but itself.
        if is_beginning && !self.candidate.based && !self.candidate.named {
            return false;
        }
        let skipped = if is_beginning { self.candidate.skipped } else { 0 };
        match (skipped + gap.ours.len(), gap.theirs.len()) {
            (left_out, 0) => left_out == gap.ours.len() && self.was_moved(gap, next),
            (left_out, put) if left_out > put => false,
            _ => {
                let mut over = gap.ours.clone();
                gap.theirs.clone().any(|i| self.edits(i, over.next()))
            }
        }
    }

    /// Whether a client took away what it had put between the model's words itself, such as passages found for a
    /// question or the files of the moment: the model is not to see each of them for ever. What was cut off at the
    /// beginning, or together with what the model said, is only too long for the client.
    fn was_moved(&self, gap: &Gap, next: &Pair) -> bool {
        let is_clients =
            |place: usize| self.candidate.path[place].origin != Origin::Reply && self.ours[place].calls.is_empty();
        let is_persons = |features: &Features| features.role != Role::Assistant;
        let is_head = gap.ours.start == 0;
        let is_cut =
            is_head && !(is_persons(&self.theirs[next.theirs]) && self.ours[gap.ours.clone()].iter().all(is_persons));
        (1..=MOVED_MESSAGES).contains(&gap.ours.len()) && !is_cut && gap.ours.clone().all(is_clients)
    }

    /// Whether a message of theirs is another than the one it stands in for, and not what is left of it.
    fn edits(&self, i: usize, over: Option<usize>) -> bool {
        // Nobody clears what the model has not answered yet.
        let is_newest = i + 1 == self.theirs.len() && over.is_some_and(|over| over + 1 == self.ours.len());
        self.is_recent(i) && (is_newest || over.is_none_or(|over| self.theirs[i].edits(&self.ours[over])))
    }

    fn is_recent(&self, i: usize) -> bool {
        self.theirs.len() - i <= EDITED_WITHIN
    }
}

/// What lies between two matches, on either side.
struct Gap {
    theirs: Range<usize>,
    ours: Range<usize>,
}

/// What lies before each match.
fn gaps(pairs: &[Pair]) -> impl Iterator<Item = Gap> {
    pairs.iter().scan((0, 0), |from, pair| {
        let gap = Gap { theirs: from.0..pair.theirs, ours: from.1..pair.ours };
        *from = (pair.theirs + 1, pair.ours + 1);
        Some(gap)
    })
}

/// Matches in order, each to the first possible message after the match before.
fn pairs(theirs: &[Features], ours: &[Features]) -> Vec<Pair> {
    let mut by_words: HashMap<Fingerprint, Vec<usize>> = HashMap::new();
    let mut by_call: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, features) in ours.iter().enumerate() {
        by_words.entry(features.weak).or_default().push(i);
        features.calls.iter().for_each(|call| by_call.entry(call).or_default().push(i));
    }
    let (mut pairs, mut next) = (Vec::new(), 0);
    for (i, features) in theirs.iter().enumerate() {
        let mut places = by_words.get(&features.weak).into_iter().flatten().copied().filter(|place| *place >= next);
        let equal = places.find(|place| *place == next || run_alike(&theirs[i..], &ours[*place..])).map(|ours| Pair {
            theirs: i,
            ours,
            equal: true,
        });
        let pair = equal.or_else(|| {
            let call = features.calls.first()?;
            let same = by_call.get(call.as_str())?.iter().copied();
            let ours = same.filter(|place| *place >= next).find(|place| features.same_calls(&ours[*place]))?;
            Some(Pair { theirs: i, ours, equal: false })
        });
        if let Some(pair) = pair {
            next = pair.ours + 1;
            pairs.push(pair);
        }
    }
    pairs
}

/// Whether both begin with the same messages, up to one that is not said twice by chance or to so many that all of them
/// are not.
fn run_alike(theirs: &[Features], ours: &[Features]) -> bool {
    let is_same = |(theirs, ours): &(&Features, &Features)| theirs.weak == ours.weak && !theirs.answers_others(ours);
    let mut chars = 0;
    theirs.iter().zip(ours).take_while(is_same).any(|(features, _)| {
        chars += features.chars;
        features.is_substantial() || chars >= EVIDENCE_CHARS
    })
}

/// What a history and a path have in common that is said nowhere else.
struct Evidence {
    /// A tool call.
    call: bool,
    messages: usize,
    chars: usize,
    /// Substantial messages of the model.
    replies: usize,
    any_reply: bool,
}

impl Evidence {
    fn of(pairs: &[Pair], theirs: &[Features], ours: &[Features], telling: &[bool]) -> Self {
        let counted = pairs.iter().filter(|pair| telling[pair.theirs]);
        let call = counted.clone().any(|pair| theirs[pair.theirs].shares_unique_call(&ours[pair.ours]));
        let equal: Vec<_> = counted.filter(|pair| pair.equal).map(|pair| &theirs[pair.theirs]).collect();
        let replies: Vec<_> = equal.iter().filter(|features| features.role == Role::Assistant).collect();
        Self {
            call,
            messages: equal.len(),
            chars: equal.iter().map(|features| features.chars).sum(),
            replies: replies.iter().filter(|reply| reply.is_substantial()).count(),
            any_reply: !replies.is_empty(),
        }
    }

    /// Whether it is enough for a change of this kind.
    fn proves(&self, change: Change, based: bool, near_the_end: bool) -> bool {
        let enough = self.messages >= 2 && self.any_reply && self.chars >= EVIDENCE_CHARS;
        self.call
            || enough
                && match change {
                    Change::Reworded | Change::Truncated => true,
                    Change::Compacted => self.replies >= 2 && near_the_end,
                    Change::Edited => self.replies >= 2 && near_the_end && based,
                }
    }
}

/// The client's messages up to the last match that are not on the path, each with the message left out in its place.
fn replaced(pairs: &[Pair], path: &[Stored]) -> Vec<(usize, Option<MessageId>)> {
    let mut replaced = Vec::new();
    for (gap, pair) in gaps(pairs).zip(pairs) {
        let mut left_out = gap.ours.map(|place| path[place].id);
        replaced.extend(gap.theirs.map(|i| (i, left_out.next())));
        if !pair.equal {
            replaced.push((pair.theirs, Some(path[pair.ours].id)));
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: &Role, text: &str) -> Features {
        Features::of(&Message::text(role, text))
    }

    #[test]
    fn an_id_that_ends_in_a_count_is_not_unique() {
        for counted in ["call_1", "call_get_weather_12", "functions.get_weather:0", "chatcmpl-tool-7"] {
            assert!(!is_unique(counted), "{counted}");
        }
        let drawn = ["call_9pw1qnYScqvGrCH58HWCvFH6", "toolu_01A09q90qw90lq917835lq9", "call_h7x2k9qd"];
        let of_sections = ["call_0_6b2f4c1e-8d3a-4f5b-9c7d-446655440000", "function-call-14201137384211334567"];
        for unique in drawn.into_iter().chain(of_sections) {
            assert!(is_unique(unique), "{unique}");
        }
    }

    #[test]
    fn small_talk_is_matched_only_where_it_is_expected() {
        let ours =
            ["a long question that is asked only once, here", "ok", "another question, as long as the first one"];
        let ours: Vec<_> = ours.iter().map(|text| said(&Role::User, text)).collect();
        let matched = |theirs: &[Features], ours: &[Features]| -> Vec<_> {
            pairs(theirs, ours).iter().map(|pair| (pair.theirs, pair.ours)).collect()
        };
        let (ok, other) = (said(&Role::User, "ok"), said(&Role::User, "something else"));
        assert_eq!(matched(&[ok.clone(), ours[2].clone()], &ours), [(0, 1), (1, 2)], "the head of what was kept");
        assert_eq!(matched(&[ok, other, ours[2].clone()], &ours), [(2, 2)]);
        // Many short messages one behind the other are no chance.
        let ours: Vec<_> = (0..20).map(|i| said(&Role::User, &format!("the short message {i}"))).collect();
        assert_eq!(matched(&ours[4..16], &ours).len(), 12);
        assert_eq!(matched(&ours[4..8], &ours), []);
    }
}
