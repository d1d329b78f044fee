//! Dividing: a topic that nears its own limit becomes the parent of smaller ones. Nothing is shortened: every message
//! of it goes into one of its parts, and the parent keeps its name and its place in the tree.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::editions::{Edition, Editions, Member};
use super::event::{During, Event, puts};
use super::shelf::Shelf;
use super::sort::{Sorting, discreet};
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::Depth;
use crate::store::Stored;
use crate::strategy::topics::activation::{self, Why};
use crate::strategy::{Leaf, turns};
use crate::task::{self, Place, Sorted, Subdivide};
use crate::topic::{Card, TopicId};

/// A part of a topic that is being divided.
#[derive(Default)]
struct Piece {
    members: Vec<Member>,
    messages: Vec<Arc<Stored>>,
}

impl Engine {
    /// Divides a topic, if it can be; whether it was. Notes what the helper was asked, also if something fails.
    pub(super) async fn divide(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        topic: TopicId,
        calls: &mut Vec<task::Asked>,
    ) -> Result<bool> {
        let Sorting { session, lineage, .. } = *sorting;
        let editions = Editions { store: self.store(), session, lineage };
        let Some(whole) = editions.of(topic).await? else { return Ok(false) };
        let members = editions.members(topic, Depth(u32::MAX)).await?;
        let messages = self.by_number(session, members.iter().map(|(id, _)| *id).collect()).await?;
        let leaves = Leaf::all(messages.iter().cloned(), &self.settings.strategies.holds);
        let units = turns::pages(&leaves, self.settings.strategies.topics.topic_tokens / 4);
        // Where every message names a topic already, no part could have a name: it would be asked again next turn.
        let is_divisible = units.len() > 1 && members.len() == messages.len();
        if !is_divisible || free_name(&editions, &members).await?.is_none() {
            return Ok(false);
        }
        let told = discreet(&messages, &self.controls(session).await?.excluded);
        let task = Subdivide { card: &whole.card, messages: &told, units: &units };
        let answered = self.splitters().run(&task).await;
        calls.extend(answered.calls);
        let helped = answered.by == task::By::Helper;
        let mut parts: Vec<Edition> = Vec::new();
        for (number, piece) in &pieces(&members, &messages, &units, &answered.answer) {
            let name = free_name(&editions, &piece.members).await?;
            let named = name.zip(answered.answer.fresh.get(*number));
            parts.extend(named.and_then(|(id, named)| part(&whole, id, piece, named)));
        }
        // One part that leaves others behind is a division too.
        let taken: usize = parts.iter().map(|part| part.added.len()).sum();
        if parts.is_empty() || parts.len() == 1 && taken == members.len() {
            return Ok(false);
        }
        let stale = !helped && self.tasks.has_helper();
        let parts = parts.into_iter().map(|part| Edition { stale, ..part }).collect();
        self.put_parts(sorting, shelf, whole, parts).await?;
        Ok(true)
    }

    async fn put_parts(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        whole: Edition,
        parts: Vec<Edition>,
    ) -> Result<()> {
        let topic = whole.card.id;
        shelf.activity = self.latest_activity(sorting.session, shelf).await?;
        let into: Vec<TopicId> = parts.iter().map(|part| part.card.id).collect();
        let mut parent = whole.next(whole.upto);
        let moves = |part: &Edition| part.added.iter().map(|(id, _)| (*id, part.card.id)).collect::<Vec<_>>();
        parent.moved = parts.iter().flat_map(moves).collect();
        // What no part took stays.
        let tokens: u32 = parts.iter().map(|part| part.card.tokens).fold(0, u32::saturating_add);
        let messages = u32::try_from(parent.moved.len()).unwrap_or(u32::MAX);
        parent.card.messages = parent.card.messages.saturating_sub(messages);
        parent.card.tokens = parent.card.tokens.saturating_sub(tokens);
        let was_active = shelf.active().any(|active| active == topic);
        shelf.activity.trails.retain(|trail| trail.topic != topic);
        let mut events = vec![Event::Divided { topic, into: into.clone() }];
        if was_active {
            let woken: Vec<_> = into.iter().map(|part| (*part, Why::Split)).collect();
            let settings = &self.settings.strategies.topics.activation;
            events
                .extend(activation::wake(settings, &mut shelf.activity.trails, &woken).into_iter().map(Event::Changed));
        }
        for part in &parts {
            shelf.touch(part);
        }
        shelf.progress.count += u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let records = puts(sorting.session, During::Dividing(topic), &events, sorting.at);
        let mut editions: Vec<Edition> = std::iter::once(parent).chain(parts).collect();
        self.put_editions(sorting, shelf, &mut editions, records).await
    }
}

/// The parts by number.
fn pieces(
    members: &[Member],
    messages: &[Arc<Stored>],
    units: &[Range<usize>],
    sorted: &Sorted,
) -> BTreeMap<usize, Piece> {
    let mut pieces: BTreeMap<usize, Piece> = BTreeMap::new();
    for (unit, place) in units.iter().zip(&sorted.places) {
        let Place::Fresh(number) = place else { continue };
        let piece = pieces.entry(*number).or_default();
        piece.members.extend_from_slice(&members[unit.clone()]);
        piece.messages.extend_from_slice(&messages[unit.clone()]);
    }
    pieces
}

/// The first of some messages that names no topic yet. Messages that all do, such as a single one that names the whole,
/// stay where they are.
async fn free_name(editions: &Editions<'_>, members: &[Member]) -> Result<Option<TopicId>> {
    for (id, _) in members {
        let topic = TopicId(*id);
        if editions.of(topic).await?.is_none() {
            return Ok(Some(topic));
        }
    }
    Ok(None)
}

/// A part as a topic of its own.
fn part(whole: &Edition, id: TopicId, piece: &Piece, named: &task::Named) -> Option<Edition> {
    let times = piece.messages.iter().map(|stored| stored.at);
    let card = Card {
        id,
        parent: Some(whole.card.id),
        name: named.name.clone(),
        brief: named.brief.clone(),
        messages: u32::try_from(piece.members.len()).unwrap_or(u32::MAX),
        tokens: piece.messages.iter().map(|stored| stored.measure.tokens).fold(0, u32::saturating_add),
        first: times.clone().min()?,
        last: times.max()?,
        refers: Vec::new(),
    };
    Some(Edition { added: piece.members.clone(), ..Edition::new(card, whole.upto) })
}
