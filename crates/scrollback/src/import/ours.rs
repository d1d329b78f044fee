//! Our own export: a line that holds a whole session, every message with its place, and what a person decided about it.
//!
//! Lines that hold one path each, as they were written once, are read like anybody's.

use std::collections::{HashMap, HashSet};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::entries::Fields;
use super::{Conversation, Timed};
use crate::control::Controls;
use crate::engine::control;
use crate::error::{Error, Result};
use crate::export::Placed;
use crate::ids::{At, Hash128, MessageId};
use crate::log::{Arrival, Log, Received, Returning};
use crate::message::Message;
use crate::store::{Batch, Beside, Expect};

/// Where the messages of a conversation stood, all its branches together, and what a person decided about them.
#[derive(Clone, Debug)]
pub struct Places {
    /// As many as there are messages, in the same order.
    placed: Vec<Place>,
    controls: Controls,
}

/// Where a message stood.
#[derive(Clone, Copy, Debug)]
struct Place {
    id: MessageId,
    follows: Option<MessageId>,
    beside: Option<Beside>,
}

/// The messages of a line with their places, in order of arrival; `None` if it tells no places, or none that can be
/// true.
pub(super) fn read(messages: &[&RawValue], ours: &Fields<'_>) -> Option<(Vec<Timed>, Places)> {
    let newest: Vec<Placed<'_>> = parsed(ours.raw("places")?)?;
    let others: Vec<Placed<'_>> = ours.raw("others").map_or_else(|| Some(Vec::new()), parsed)?;
    let controls = ours.raw("controls").map_or_else(|| Some(Controls::default()), parsed)?;
    if newest.len() != messages.len() {
        return None;
    }
    let given = messages.iter().map(|raw| Some((*raw).to_owned())).chain(std::iter::repeat(None));
    let mut all = Vec::with_capacity(newest.len() + others.len());
    for (placed, given) in newest.into_iter().chain(others).zip(given) {
        let exact = placed.exact.and_then(|text| RawValue::from_string(text.into_owned()).ok());
        let raw = exact.or(given).or(placed.message.map(std::borrow::Cow::into_owned))?;
        all.push((Place { id: placed.id, follows: placed.follows, beside: placed.beside }, (raw.into(), placed.at)));
    }
    all.sort_by_key(|(place, _)| place.id);
    let (placed, messages): (Vec<Place>, Vec<_>) = all.into_iter().unzip();
    is_possible(&placed).then_some((messages, Places { placed, controls }))
}

fn parsed<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// Whether no number is there twice, and whatever a message refers to is on a path and came before.
fn is_possible(placed: &[Place]) -> bool {
    let mut known = HashSet::new();
    let refers = |place: &Place| match place.beside {
        Some(Beside::Overlay(over)) => [place.follows, Some(over)],
        Some(Beside::Preamble | Beside::Insert | Beside::Aside) | None => [place.follows, None],
    };
    let once = placed.windows(2).all(|pair| pair[0].id < pair[1].id);
    once && placed.iter().all(|place| {
        let is_true = refers(place).into_iter().flatten().all(|id| known.contains(&id));
        if place.beside.is_none() {
            known.insert(place.id);
        }
        is_true
    })
}

impl Places {
    /// What tells each message from others: what was said before it, and what it says.
    pub(super) fn nodes(&self, whose: Hash128, messages: &[Timed]) -> Vec<Hash128> {
        let mut known: HashMap<MessageId, Hash128> = HashMap::new();
        let node = |(place, (raw, _)): (&Place, &Timed)| {
            let before = place.follows.and_then(|id| known.get(&id)).copied().unwrap_or(whose);
            let node = Hash128::of("import", &[&before.0, raw.get().as_bytes()]);
            if place.beside.is_none() {
                known.insert(place.id, node);
            }
            node
        };
        self.placed.iter().zip(messages).map(node).collect()
    }

    /// How many messages of paths nothing follows; at least one.
    pub(super) fn branches(&self) -> usize {
        let path = || self.placed.iter().filter(|place| place.beside.is_none());
        let followed: HashSet<MessageId> = path().filter_map(|place| place.follows).collect();
        path().filter(|place| !followed.contains(&place.id)).count().max(1)
    }
}

/// Stores a whole session. What a person decided is taken over where nobody has decided anything yet.
pub(super) async fn store(
    log: &Log,
    arrival: Arrival<'_>,
    conversation: &Conversation,
    places: &Places,
    at: At,
) -> Result<Received> {
    let (times, told) = (conversation.times(at), conversation.messages.iter().zip(&places.placed));
    let returning = told.zip(times).map(|(((raw, _), place), at)| {
        let Place { id, follows, beside } = *place;
        Returning { id, at, follows, beside, message: Message::new(raw.clone()) }
    });
    let (received, now) = log.restore(arrival, returning.collect()).await?;
    let controls = places.controls.renumbered(|id| now.get(&id).map(|place| place.id));
    if controls != Controls::default() {
        let put = control::put(&received.session, &controls, at).expecting(Expect::Absent);
        match log.store().commit(Batch::of_records(received.session.clone(), vec![put])).await {
            Ok(_) | Err(Error::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(received)
}
