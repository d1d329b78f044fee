//! What stands beside a path, and which of its messages it belongs to.

use std::collections::HashSet;

use crate::ids::MessageId;
use crate::store::{Beside, Place, Stored};

/// The message of a path that each message of a session belongs to, itself if it is on one; `None` where that is lost.
/// `all` is the whole session in order of arrival.
pub(super) fn owners(all: &[Stored]) -> Vec<Option<MessageId>> {
    let on_path = |stored: &&Stored| stored.position().is_some();
    let mut next = None;
    let mut nexts: Vec<Option<&Stored>> = Vec::with_capacity(all.len());
    for stored in all.iter().rev() {
        nexts.push(next);
        next = Some(stored).filter(on_path).or(next);
    }
    let mut before = None;
    let owner = |(stored, next): (&Stored, Option<&Stored>)| {
        let owner = owner(stored, before, next);
        before = Some(stored).filter(on_path).map(|stored| stored.id).or(before);
        owner
    };
    all.iter().zip(nexts.into_iter().rev()).map(owner).collect()
}

/// The owner of a message, by the messages of paths that came before and after it.
fn owner(stored: &Stored, before: Option<MessageId>, next: Option<&Stored>) -> Option<MessageId> {
    let next_id = next.map(|next| next.id);
    match stored.place {
        Place::Path(_) => Some(stored.id),
        Place::Beside(Beside::Overlay(over)) => Some(over),
        Place::Beside(Beside::Preamble) => next_id.or(before),
        Place::Beside(Beside::Insert) => before,
        // Reasoning is stored just before what it led to and follows the same message; what follows none came last.
        Place::Beside(Beside::Aside) if stored.parent.is_none() => before.or(next_id),
        Place::Beside(Beside::Aside) => next.filter(|next| next.parent == stored.parent).map(|next| next.id),
    }
}

/// A path with what stands beside it where it was said: the instructions it began with, and the reasoning that led to
/// its messages. `all` is the whole session in order of arrival.
pub fn with_beside(path: Vec<Stored>, all: &[Stored]) -> Vec<Stored> {
    joined(path, all, &owners(all))
}

/// The same, where the owners are known.
pub(super) fn joined(path: Vec<Stored>, all: &[Stored], owners: &[Option<MessageId>]) -> Vec<Stored> {
    let Some(first) = path.first().map(|stored| stored.id) else { return path };
    let on_path: HashSet<MessageId> = path.iter().map(|stored| stored.id).collect();
    let led = |owner: &Option<MessageId>| owner.is_some_and(|owner| on_path.contains(&owner));
    let asides = all.iter().zip(owners).filter(|(stored, owner)| is_aside(stored) && led(owner));
    let mut whole: Vec<Stored> = opening(first, all).chain(asides.map(|(stored, _)| stored)).cloned().collect();
    whole.extend(path);
    whole.sort_by_key(|stored| stored.id);
    whole
}

pub(super) fn is_aside(stored: &Stored) -> bool {
    stored.place == Place::Beside(Beside::Aside)
}

/// The instructions that stood when a path began: the last that came before its first message.
fn opening(first: MessageId, all: &[Stored]) -> impl Iterator<Item = &Stored> {
    let instructs = |stored: &&Stored| stored.place == Place::Beside(Beside::Preamble);
    // By its number, not by its place: of a damaged store some may be missing.
    let before_it = &all[..all.partition_point(|stored| stored.id < first)];
    before_it.iter().rev().skip_while(move |stored| !instructs(stored)).take_while(instructs)
}
