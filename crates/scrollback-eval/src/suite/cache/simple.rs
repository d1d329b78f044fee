//! Simple ways of fitting a conversation into a window.

use scrollback::ids::Hash128;
use scrollback::ledger::Link;
use scrollback::search::gather::Voice;

use crate::dataset::recall::Talk;
use crate::index::Index;
use crate::meter::Meter;
use crate::replay::Script;
use crate::window::{fill, tokens};

/// The part of the window that is recalled anew for every call: 2,000 tokens of 16,000.
const RECALLED: u32 = 8;

/// A simple way of fitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Simple {
    /// The oldest turns are dropped with every call.
    Slide,
    /// When the window is full, all but the newer half of it is dropped.
    Half,
    /// When the window is full, all but the newest fifth of it is dropped: as much as pages fold at once.
    Fifth,
    /// Trimmed to half, with what BM25 finds in front of the rest.
    RecallInFront,
    /// The same before the newest message.
    RecallAtEnd,
}

impl Simple {
    pub(super) const ALL: [Self; 5] = [Self::Slide, Self::Half, Self::Fifth, Self::RecallInFront, Self::RecallAtEnd];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Slide => "slide",
            Self::Half => "trim to half when full",
            Self::Fifth => "trim to a fifth when full",
            Self::RecallInFront => "trim to half, recall in front",
            Self::RecallAtEnd => "trim to half, recall before the newest",
        }
    }

    /// What is left of a room once the oldest is dropped.
    const fn left_of(self, room: u32) -> u32 {
        match self {
            Self::Slide => room,
            Self::Half | Self::RecallInFront | Self::RecallAtEnd => room / 2,
            Self::Fifth => room / 5,
        }
    }

    /// Sends every call of a conversation.
    pub(super) fn send(self, (talk, index, script): (&Talk, &Index, &Script), limit: u32, meter: &mut Meter) {
        let recalls = matches!(self, Self::RecallInFront | Self::RecallAtEnd);
        let room = if recalls { limit - limit / RECALLED } else { limit };
        let mut start = 0;
        meter.part();
        for call in 0..script.calls.len() {
            let all = script.before(call);
            meter.wait(script.at(call));
            let cost = |from: usize| all[from..].iter().map(|link| link.tokens).fold(0, u32::saturating_add);
            if cost(start) > room {
                let most = self.left_of(room);
                let fits = |from: &usize| cost(*from) <= most && talk.messages[*from].voice == Voice::Person;
                start = (start..all.len()).find(fits).unwrap_or(all.len() - 1);
                meter.folds += 1;
            }
            let mut sent = all[start..].to_vec();
            if recalls && start > 0 {
                let place = if self == Self::RecallInFront { 0 } else { sent.len() - 1 };
                // What follows changes with every call, so that a cache is told where to stop.
                place.checked_sub(1).into_iter().for_each(|before| sent[before].marked = true);
                sent.insert(place, recalled(talk, index, (start, all.len() - 1), limit / RECALLED));
            }
            meter.send(&sent);
        }
    }
}

/// What is found among what is no longer shown, for the newest message.
fn recalled(talk: &Talk, index: &Index, (start, newest): (usize, usize), room: u32) -> Link {
    let scores = index.bm25(&talk.messages[newest].text);
    let mut order: Vec<usize> = (0..start).rev().collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let places = fill(&talk.messages, order, room);
    let named: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
    Link::new(Hash128::of("recalled", &[&named]), tokens(&talk.messages, &places))
}
