//! Sorting: each message of a stretch goes to a topic that is active, to one that sleeps and wakes by it, or to a new
//! one.
//!
//! A long stretch is sorted in batches, each of them kept before the next. Which topics a batch may go to, search says:
//! the sorter sees a short list, however many topics there are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use tokio::time::Instant;

use super::editions::{Chunk, Edition, Editions, Member, put, put_chunk};
use super::event::{During, Event, puts};
use super::find::Near;
use super::shelf::Shelf;
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::message::Message;
use crate::store::{Batch, Lineage, Stored};
use crate::strategy::topics::activation::{self, Why};
use crate::strategy::{HoldSettings, Leaf, turns};
use crate::task::{self, Place, Sorted, Split, Standing, Task, WriteBrief};
use crate::topic::{Card, TopicId};

/// How many topics a sorter is shown.
const KNOWN: usize = 40;
/// How many units of a batch are looked up by their words.
const LOOKED_UP: usize = 48;
/// How many topics each of them may bring.
const EACH: usize = 2;
/// What two topics must have in common to refer to each other.
const REFERS_FROM: f32 = 0.5;
/// How many messages are looked at for each of them.
const HITS: usize = 8;
/// How many topics one refers to.
const REFERS: usize = 8;

/// Topics that units have much in common with, by the unit's place in its batch.
type Leads = HashMap<usize, Vec<TopicId>>;

/// What is being sorted.
#[derive(Clone, Copy)]
pub(super) struct Sorting<'a> {
    pub(super) session: &'a SessionKey,
    pub(super) lineage: &'a Lineage,
    pub(super) at: At,
    /// Until when the helper may be asked, if a turn waits.
    pub(super) until: Option<Instant>,
}

/// A batch: its messages and the ranges of them that stay together.
struct Heap<'a> {
    leaves: &'a [Arc<Leaf>],
    units: Vec<Range<usize>>,
}

/// What became of a batch.
struct SortedHeap {
    sorted: Sorted,
    leads: Leads,
    /// Whether the helper sorted it.
    helped: bool,
}

/// What a sorter calls a topic, if that is new.
#[derive(Clone, Copy)]
struct Naming<'s> {
    topic: TopicId,
    named: Option<&'s task::Named>,
    /// Whether the helper sorted.
    helped: bool,
}

/// What goes to one topic.
#[derive(Default)]
struct Share {
    members: Vec<Member>,
    messages: Vec<Arc<Stored>>,
}

impl Engine {
    /// Sorts a stretch of a path that begins where the last sorting ended, batch by batch. Notes what the helper was
    /// asked, also if something fails.
    pub(super) async fn sort(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        leaves: &[Arc<Leaf>],
        calls: &mut Vec<task::Asked>,
    ) -> Result<()> {
        let most = self.settings.strategies.topics.batch_tokens;
        let leaves = &silenced(leaves, &self.controls(sorting.session).await?.excluded);
        for heap in heaps(leaves, most) {
            let (known, leads) = self.known(sorting, shelf, &heap).await?;
            let messages: Vec<Arc<Stored>> = heap.leaves.iter().map(|leaf| leaf.stored.clone()).collect();
            let split = Split { messages: &messages, units: &heap.units, known: &known };
            let left = sorting.until.map(|until| until.saturating_duration_since(Instant::now()));
            let answered = self.splitters().run_within(&split, left).await;
            calls.extend(answered.calls);
            let helped = answered.by == task::By::Helper;
            self.take_in(sorting, shelf, &heap, &SortedHeap { sorted: answered.answer, leads, helped }).await?;
        }
        Ok(())
    }

    /// Who sorts and divides: how well that is done decides what is ever found again.
    pub(super) fn splitters(&self) -> &task::Tasks {
        let named = self.settings.strategies.topics.split_model.as_ref();
        named.and_then(|name| self.helpers.get(name)).unwrap_or(&self.tasks)
    }

    /// The topics that a batch may go to: those added to last, active ones, and those its words lead to.
    async fn known(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        heap: &Heap<'_>,
    ) -> Result<(Vec<(Card, Standing)>, Leads)> {
        let (mut known, mut leads) = (Vec::new(), Leads::new());
        if shelf.is_empty() {
            return Ok((known, leads));
        }
        let mut wanted: Vec<TopicId> = shelf.active().collect();
        let step = heap.units.len().div_ceil(LOOKED_UP).max(1);
        let units: Vec<(usize, &Range<usize>)> = heap.units.iter().enumerate().step_by(step).collect();
        let texts: Vec<String> = units.iter().map(|(_, unit)| words_of(&heap.leaves[(*unit).clone()])).collect();
        let near = Near { open: shelf.progress.frontier, hits: HITS, own: 1 };
        let found = self.by_each(sorting.session, sorting.lineage, &texts, near).await?;
        for ((i, _), found) in units.into_iter().zip(found) {
            wanted.extend(found.iter().take(EACH).map(|found| found.topic));
            let close = found.iter().filter(|found| found.relevance >= REFERS_FROM);
            leads.insert(i, close.map(|found| found.topic).collect());
        }
        wanted.extend(&shelf.progress.recent);
        let mut seen = HashSet::new();
        wanted.retain(|topic| seen.insert(*topic));
        let active: HashSet<TopicId> = shelf.active().collect();
        let asked_for: HashSet<TopicId> = shelf.activity.trails.iter().map(|trail| trail.topic).collect();
        for topic in wanted {
            if known.len() == KNOWN {
                break;
            }
            let Some(shelved) = self.shelved(sorting, shelf, topic).await? else { continue };
            // One that is archived is added to only if somebody asked for it since.
            if (!shelved.archived || asked_for.contains(&topic)) && shelved.card.messages > 0 {
                let standing = if active.contains(&topic) { Standing::Active } else { Standing::Dormant };
                known.push((Card::clone(&shelved.card), standing));
            }
        }
        Ok((known, leads))
    }

    /// Keeps what was sorted: a new edition of every topic that was added to, and where each message went.
    async fn take_in(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        heap: &Heap<'_>,
        SortedHeap { sorted, leads, helped }: &SortedHeap,
    ) -> Result<()> {
        let (Some((first, last)), Some(branch)) = (ends(heap.leaves), shelf.branch) else { return Ok(()) };
        let frontier = last.plus(1);
        let topics = topics_of(heap, sorted);
        let (shares, runs) = shared(heap, &topics);
        let mut records = Vec::new();
        let (mut events, mut woken) = (Vec::new(), Vec::new());
        let upto = frontier.max(shelf.progress.frontier);
        for (topic, share) in &shares {
            let before = self.edition(sorting, *topic).await?;
            let fresh = before.is_none();
            let naming = Naming { topic: *topic, named: name_of(sorted, &topics, *topic), helped: *helped };
            let mut edition = self.grown(before, naming, share, upto);
            refer(&mut edition.card, topics.iter().enumerate().filter(|(_, of)| *of == topic), leads);
            woken.push((*topic, Why::Split));
            let (name, messages) = (edition.card.name.clone(), count(share.members.len()));
            events.push(Event::Sorted { topic: *topic, name, messages, fresh });
            shelf.progress.count += u32::from(fresh);
            shelf.touch(&edition);
            records.push(put(sorting.session, branch, &edition, sorting.at));
        }
        records.push(put_chunk(sorting.session, branch, last, &Chunk { from: first, runs }, sorting.at));
        let settings = &self.settings.strategies.topics.activation;
        shelf.activity = self.latest_activity(sorting.session, shelf).await?;
        let changes = activation::wake(settings, &mut shelf.activity.trails, &woken);
        events.extend(changes.into_iter().map(Event::Changed));
        shelf.progress.pass(first, frontier);
        shelf.relist();
        records.extend(shelf.sorted(sorting.session, branch, sorting.at));
        records.extend(puts(sorting.session, During::Sorting(frontier), &events, sorting.at));
        self.store().commit(Batch::of_records(sorting.session.clone(), records)).await?;
        shelf.was_written();
        Ok(())
    }

    /// The next edition of a topic, with what was added to it.
    fn grown(&self, before: Option<Edition>, naming: Naming<'_>, share: &Share, upto: Depth) -> Edition {
        let Naming { topic, named, helped } = naming;
        let tokens = share.messages.iter().map(|stored| stored.measure.tokens).fold(0, u32::saturating_add);
        let times = share.messages.iter().map(|stored| stored.at);
        let (first, last) = (times.clone().min().unwrap_or_default(), times.max().unwrap_or_default());
        let mut edition = if let Some(before) = before {
            before.next(upto)
        } else {
            Edition::new(Card { first, last, ..Card::empty(topic, String::new()) }, upto)
        };
        edition.number += 1;
        edition.archived = None;
        let card = &mut edition.card;
        let (name, brief) = if let Some(named) = named {
            (named.name.clone(), named.brief.clone())
        } else {
            let written = WriteBrief { card: Some(&*card), messages: &share.messages }.offline();
            (written.name, written.brief)
        };
        (card.name, card.brief) = (name, brief);
        card.messages += count(share.members.len());
        card.tokens = card.tokens.saturating_add(tokens);
        (card.first, card.last) = (card.first.min(first), card.last.max(last));
        edition.added.clone_from(&share.members);
        let is_helpers = named.is_some() && helped;
        edition.stale = !is_helpers && self.tasks.has_helper();
        edition
    }

    pub(super) async fn edition(&self, sorting: &Sorting<'_>, topic: TopicId) -> Result<Option<Edition>> {
        Editions { store: self.store(), session: sorting.session, lineage: sorting.lineage }.of(topic).await
    }

    /// A topic, from the shelf or from the store.
    pub(super) async fn shelved<'s>(
        &self,
        sorting: &Sorting<'_>,
        shelf: &'s mut Shelf,
        topic: TopicId,
    ) -> Result<Option<&'s super::shelf::Shelved>> {
        if !shelf.cards.contains_key(&topic)
            && let Some(edition) = self.edition(sorting, topic).await?
        {
            shelf.cards.insert(topic, super::shelf::Shelved::of(&edition));
        }
        Ok(shelf.cards.get(&topic))
    }
}

/// A stretch with nothing said in what a person wants left out: it goes with what came before, and names no topic.
fn silenced(leaves: &[Arc<Leaf>], excluded: &BTreeSet<MessageId>) -> Vec<Arc<Leaf>> {
    let silent = |leaf: &Arc<Leaf>| {
        let mut told = Leaf::new(Arc::new(silent(&leaf.stored)), &[], &HoldSettings::default());
        (told.begins_turn, told.answers) = (false, leaf.answers);
        Arc::new(told)
    };
    let told = |leaf: &Arc<Leaf>| if excluded.contains(&leaf.stored.id) { silent(leaf) } else { leaf.clone() };
    leaves.iter().map(told).collect()
}

/// Messages for the helper, with nothing said in those that a person wants left out.
pub(super) fn discreet(messages: &[Arc<Stored>], excluded: &BTreeSet<MessageId>) -> Vec<Arc<Stored>> {
    let told = |stored: &Arc<Stored>| {
        if excluded.contains(&stored.id) { Arc::new(silent(stored)) } else { stored.clone() }
    };
    messages.iter().map(told).collect()
}

/// A message that says nothing.
fn silent(stored: &Stored) -> Stored {
    Stored { raw: Message::text(&stored.role, "").raw().clone(), ..stored.clone() }
}

/// A stretch in batches: whole units, at most so many tokens each if a unit alone is not larger.
fn heaps(leaves: &[Arc<Leaf>], most: u32) -> Vec<Heap<'_>> {
    let mut heaps: Vec<Heap<'_>> = Vec::new();
    let (mut start, mut tokens, mut units) = (0, 0_u32, Vec::new());
    for unit in turns::pages(leaves, most / 2) {
        let size = leaves[unit.clone()].iter().map(|leaf| leaf.tokens()).fold(0, u32::saturating_add);
        if !units.is_empty() && tokens.saturating_add(size) > most {
            heaps.push(Heap { leaves: &leaves[start..unit.start], units: std::mem::take(&mut units) });
            (start, tokens) = (unit.start, 0);
        }
        tokens = tokens.saturating_add(size);
        units.push(unit.start - start..unit.end - start);
    }
    if !units.is_empty() {
        heaps.push(Heap { leaves: &leaves[start..], units });
    }
    heaps
}

fn ends(leaves: &[Arc<Leaf>]) -> Option<(Depth, Depth)> {
    let depth = |leaf: &Arc<Leaf>| leaf.stored.position().map(|position| position.depth);
    leaves.first().and_then(depth).zip(leaves.last().and_then(depth))
}

/// The topic of each unit: a new one is named after its first message.
fn topics_of(heap: &Heap<'_>, sorted: &Sorted) -> Vec<TopicId> {
    let mut fresh: BTreeMap<usize, TopicId> = BTreeMap::new();
    let topic = |(unit, place): (&Range<usize>, &Place)| match place {
        Place::Known(topic) => *topic,
        Place::Fresh(number) => *fresh.entry(*number).or_insert(TopicId(heap.leaves[unit.start].stored.id)),
    };
    heap.units.iter().zip(&sorted.places).map(topic).collect()
}

/// What a sorter calls a new topic.
fn name_of<'s>(sorted: &'s Sorted, topics: &[TopicId], topic: TopicId) -> Option<&'s task::Named> {
    let at = topics.iter().position(|known| *known == topic)?;
    match sorted.places[at] {
        Place::Fresh(number) => sorted.fresh.get(number),
        Place::Known(_) => None,
    }
}

type Runs = Vec<(Depth, Depth, TopicId)>;

/// What goes to each topic, and where each message goes.
fn shared(heap: &Heap<'_>, topics: &[TopicId]) -> (BTreeMap<TopicId, Share>, Runs) {
    let mut shares: BTreeMap<TopicId, Share> = BTreeMap::new();
    let mut runs: Runs = Vec::new();
    for (unit, &topic) in heap.units.iter().zip(topics) {
        for leaf in &heap.leaves[unit.clone()] {
            let Some(position) = leaf.stored.position() else { continue };
            let share = shares.entry(topic).or_default();
            share.members.push((position.id, position.depth));
            share.messages.push(leaf.stored.clone());
            match runs.last_mut() {
                Some((_, to, last)) if *last == topic && to.plus(1) == position.depth => *to = position.depth,
                _ => runs.push((position.depth, position.depth, topic)),
            }
        }
    }
    (shares, runs)
}

/// Notes which other topics the units of a topic have much in common with.
fn refer<'a>(card: &mut Card, units: impl Iterator<Item = (usize, &'a TopicId)>, leads: &Leads) {
    let others = units.filter_map(|(unit, _)| leads.get(&unit)).flatten();
    for other in others {
        if *other != card.id
            && Some(*other) != card.parent
            && !card.refers.contains(other)
            && card.refers.len() < REFERS
        {
            card.refers.push(*other);
        }
    }
}

/// What people and the model said in a unit.
fn words_of(leaves: &[Arc<Leaf>]) -> String {
    let said = leaves.iter().filter(|leaf| !leaf.answers);
    said.map(|leaf| leaf.stored.message().to_text()).collect::<Vec<_>>().join("\n")
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
