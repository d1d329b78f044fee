//! Topics read back from files: names, briefs and places as the files say. Messages that are in no topic are added,
//! those in another are moved; what is not on the path, and a parent that lies below its part, is told and skipped.
//! Nothing is deleted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::editions::{Chunk, Edition, Editions, Mark, put_chunk};
use super::event::{During, Event, puts};
use super::files::{Closing, TopicFile};
use super::list::{followed, merged_into};
use super::shelf::Shelf;
use super::sort::Sorting;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::message::is_same_json;
use crate::store::{Position, Put, Span, Stored};
use crate::strategy::Leaf;
use crate::strategy::topics::activation::{self, Why};
use crate::task;
use crate::topic::{Card, TopicId};

/// What was read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Topics that changed.
    pub changed: Vec<TopicId>,
    /// How many messages were in no topic and are now.
    pub added: u32,
    /// How many were in another topic.
    pub moved: u32,
    /// Messages that are not on the path, or say something else there.
    pub unknown: Vec<String>,
    /// Topics that a file puts below a part of their own; they stay where they were.
    pub circular: Vec<TopicId>,
}

/// A message and where it shall be.
struct Placement {
    stored: Arc<Stored>,
    at: Position,
    from: Option<TopicId>,
    to: TopicId,
}

/// Topics that change, as far as they have.
struct Desk {
    editions: BTreeMap<TopicId, Edition>,
    changed: HashSet<TopicId>,
    /// What has become part of what.
    merged: HashMap<TopicId, TopicId>,
    /// Topics that would lie below themselves.
    circular: Vec<TopicId>,
    upto: Depth,
    at: At,
}

/// Of two files that tell of one topic nobody knows which is meant.
fn told_once(files: &[TopicFile]) -> Result<()> {
    let mut told = HashMap::new();
    for file in files {
        if let Some(other) = told.insert(file.topic, &file.path) {
            let (topic, path) = (file.topic, &file.path);
            return Err(Error::Invalid(format!("{other} and {path} both tell of {topic}: remove the one not meant")));
        }
    }
    Ok(())
}

impl Engine {
    /// Reads topic files back into a path.
    pub fn restore_topics<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        files: &'a [TopicFile],
        at: At,
    ) -> BoxFuture<'a, Result<Restored>> {
        Box::pin(async move {
            told_once(files)?;
            let lineage = self.lineage_now(session, head).await?;
            let sorting = Sorting { session, lineage: &lineage, at, until: None };
            let mut shelf = self.shelf(session, &lineage).await?;
            let mut restored = Restored::default();
            let closings = files.iter().map(TopicFile::closing).collect::<Result<Vec<_>>>()?;
            let places = self.placements(&sorting, files, &closings, &mut restored).await?;
            let mut asked = Vec::new();
            let sorted = self.sort_between(&sorting, &mut shelf, &places, &mut asked).await;
            self.keep_asked(session, &asked, at).await?;
            sorted?;
            let editions = Editions { store: self.store(), session, lineage: &lineage }.newest().await?;
            let mut desk = Desk::new(editions, shelf.progress.frontier, at);
            let fresh = desk.take(files, &closings, &places);
            shelf.progress.count = shelf.progress.count.saturating_add(fresh);
            restored.moved = count(places.iter().filter(|place| place.from.is_some()).count());
            restored.added = count(places.len()) - restored.moved;
            restored.changed = desk.changed.iter().copied().collect();
            restored.changed.sort();
            restored.circular = std::mem::take(&mut desk.circular);
            if !restored.changed.is_empty() {
                self.put_restored(&sorting, shelf, desk, (&closings, &places)).await?;
                self.lanes.forget(Some(session.id));
            }
            Ok(restored)
        })
    }

    /// The messages that files name and that are elsewhere, or nowhere, so far.
    async fn placements(
        &self,
        sorting: &Sorting<'_>,
        files: &[TopicFile],
        closings: &[Closing],
        restored: &mut Restored,
    ) -> Result<Vec<Placement>> {
        let Sorting { session, lineage, .. } = *sorting;
        let editions = Editions { store: self.store(), session, lineage };
        let (mut places, mut seen) = (Vec::new(), HashSet::new());
        for (file, closing) in files.iter().zip(closings) {
            let said = file.said()?;
            let told = said.iter().map(|said| (said.id.as_str(), Some(said.message.get())));
            for (name, raw) in told.chain(closing.messages.iter().map(|id| (id.as_str(), None))) {
                let Some((stored, at)) = self.on_this_path(sorting, name, raw).await? else {
                    restored.unknown.push(name.to_owned());
                    continue;
                };
                let from = editions.topic_of(at).await?;
                if from != Some(file.topic) && seen.insert(at.id) {
                    places.push(Placement { stored, at, from, to: file.topic });
                }
            }
        }
        places.sort_by_key(|place| place.at.depth);
        Ok(places)
    }

    /// A message by its name, if it is on the path and says the same.
    async fn on_this_path(
        &self,
        sorting: &Sorting<'_>,
        name: &str,
        raw: Option<&str>,
    ) -> Result<Option<(Arc<Stored>, Position)>> {
        let Ok(id) = name.parse::<MessageId>() else { return Ok(None) };
        let Some(stored) = self.by_number(sorting.session, vec![id]).await?.pop() else { return Ok(None) };
        let same = raw.is_none_or(|raw| is_same_json(raw, stored.raw.get()));
        let at = stored.position().filter(|_| same && sorting.lineage.holds(&stored.place));
        Ok(at.map(|at| (stored, at)))
    }

    /// Sorts what lies between messages that files place and is in no topic, so that no gap is left behind.
    async fn sort_between(
        &self,
        sorting: &Sorting<'_>,
        shelf: &mut Shelf,
        places: &[Placement],
        asked: &mut Vec<task::Asked>,
    ) -> Result<()> {
        let placed: HashSet<Depth> = added(places).map(|place| place.at.depth).collect();
        let frontier = shelf.progress.frontier;
        let last = added(places).last().map(|place| place.at.depth);
        let touched = |(from, to): &(Depth, Depth)| placed.iter().any(|at| from <= at && at < to);
        let backlog: Vec<(Depth, Depth)> = shelf.progress.backlog.iter().copied().filter(touched).collect();
        let ahead = last.filter(|last| *last >= frontier).map(|last| (frontier, last.plus(1)));
        for (from, end) in backlog.iter().copied().chain(ahead) {
            let Some(tip) = places.last().map(|place| place.at) else { continue };
            let to = Depth(end.0.saturating_sub(1));
            let head = self.tip(sorting, tip).await?;
            let path = self.store().read(sorting.session, Span::Path { head, from, to }).await?;
            let free = |stored: &Stored| stored.position().is_some_and(|at| !placed.contains(&at.depth));
            for gap in path.split(|stored| !free(stored)).filter(|gap| !gap.is_empty()) {
                let leaves = Leaf::all(gap.iter().cloned().map(Arc::new), &self.settings.strategies.holds);
                self.sort(sorting, shelf, &leaves, asked).await?;
            }
        }
        if !backlog.is_empty() {
            shelf.progress.backlog.retain(|stretch| !backlog.contains(stretch));
        }
        if let Some((_, end)) = ahead {
            shelf.progress.frontier = shelf.progress.frontier.max(end);
        }
        Ok(())
    }

    /// The last message of the path.
    async fn tip(&self, sorting: &Sorting<'_>, near: Position) -> Result<Position> {
        let of = sorting.lineage.0.first().map_or(near.branch, |(branch, _)| *branch);
        Ok(self.store().end_of(sorting.session, of).await?.unwrap_or(near))
    }

    async fn put_restored(
        &self,
        sorting: &Sorting<'_>,
        mut shelf: Shelf,
        mut desk: Desk,
        (closings, places): (&[Closing], &[Placement]),
    ) -> Result<()> {
        let mut changed: Vec<Edition> = desk.changed.iter().filter_map(|topic| desk.editions.remove(topic)).collect();
        changed.sort_by_key(|edition| (edition.card.last, edition.card.id));
        let is_recent = |edition: &&Edition| edition.is_open() && edition.archived.is_none();
        changed.iter().filter(is_recent).for_each(|edition| shelf.touch(edition));
        let fresh: HashSet<String> =
            changed.iter().filter(|edition| edition.number == 0).map(|edition| edition.card.id.to_string()).collect();
        let active = closings.iter().filter(|closing| closing.state == "active" && fresh.contains(&closing.topic));
        let woken: Vec<_> = active.filter_map(|closing| Some((closing.topic.parse().ok()?, Why::Split))).collect();
        let settings = &self.settings.strategies.topics.activation;
        activation::wake(settings, &mut shelf.activity.trails, &woken);
        let mut records = chunks(sorting, &shelf, places);
        for edition in &changed {
            let (topic, messages) = (edition.card.id, count(edition.added.len()));
            let event = [Event::Imported { topic, messages }];
            records.extend(puts(sorting.session, During::Import(topic), &event, sorting.at));
        }
        self.put_editions(sorting, &mut shelf, &mut changed, records).await
    }
}

/// What is in no topic so far.
fn added(places: &[Placement]) -> impl Iterator<Item = &Placement> {
    places.iter().filter(|place| place.from.is_none())
}

/// The records of where messages went that were in no topic, a chunk for each stretch.
fn chunks(sorting: &Sorting<'_>, shelf: &Shelf, places: &[Placement]) -> Vec<Put> {
    let Some(branch) = shelf.branch else { return Vec::new() };
    let added: Vec<&Placement> = added(places).collect();
    let stretches = added.chunk_by(|one, next| one.at.depth.plus(1) == next.at.depth);
    let put = |stretch: &[&Placement]| {
        let runs = stretch.chunk_by(|one, next| one.to == next.to);
        let runs = runs.map(|run| (run[0].at.depth, run[run.len() - 1].at.depth, run[0].to)).collect();
        let (from, to) = (stretch[0].at.depth, stretch[stretch.len() - 1].at.depth);
        put_chunk(sorting.session, branch, to, &Chunk { from, runs }, sorting.at)
    };
    stretches.map(put).collect()
}

impl Desk {
    fn new(editions: Vec<Edition>, upto: Depth, at: At) -> Self {
        let merged = merged_into(&editions);
        let editions = editions.into_iter().map(|edition| (edition.card.id, edition)).collect();
        Self { editions, changed: HashSet::new(), merged, circular: Vec::new(), upto, at }
    }

    /// Changes topics as files say. Returns how many are new.
    fn take(&mut self, files: &[TopicFile], closings: &[Closing], places: &[Placement]) -> u32 {
        let mut fresh = 0;
        let known: HashSet<TopicId> =
            self.editions.keys().copied().chain(files.iter().map(|file| file.topic)).collect();
        for (file, closing) in files.iter().zip(closings) {
            if !self.editions.contains_key(&file.topic) {
                fresh += 1;
                self.editions.insert(file.topic, self.begun(file.topic, closing));
                self.changed.insert(file.topic);
            }
        }
        for place in places {
            self.place(place);
        }
        // Those that leave their parent first: one that was below them may become it.
        let (whole, parts): (Vec<_>, Vec<_>) =
            files.iter().zip(closings).partition(|(_, closing)| closing.parent.is_none());
        for (file, closing) in whole.into_iter().chain(parts) {
            self.describe(file.topic, closing, &known);
        }
        fresh
    }

    /// A topic that is not there yet.
    fn begun(&self, topic: TopicId, closing: &Closing) -> Edition {
        let mut edition = Edition::new(Card::empty(topic, closing.name.clone()), self.upto);
        (edition.importance, edition.archived) = (closing.importance, closing.archived);
        edition
    }

    fn change(&mut self, topic: TopicId) -> Option<&mut Edition> {
        let edition = self.editions.get_mut(&topic)?;
        if self.changed.insert(topic) {
            *edition = edition.next(edition.upto);
        }
        Some(edition)
    }

    fn place(&mut self, place: &Placement) {
        let (upto, tokens, said) = (self.upto, place.stored.measure.tokens, place.stored.at);
        if let Some(from) = place.from.and_then(|from| self.change(from)) {
            from.upto = from.upto.max(upto);
            from.added.retain(|(id, _)| *id != place.at.id);
            from.moved.push((place.at.id, place.to));
            from.card.messages = from.card.messages.saturating_sub(1);
            from.card.tokens = from.card.tokens.saturating_sub(tokens);
        }
        self.merged.remove(&place.to);
        let Some(to) = self.change(place.to) else { return };
        // What holds messages of its own is part of no other.
        to.merged = None;
        to.upto = to.upto.max(upto);
        to.added.push((place.at.id, place.at.depth));
        let card = &mut to.card;
        card.first = if card.messages == 0 { said } else { card.first.min(said) };
        card.last = if card.messages == 0 { said } else { card.last.max(said) };
        card.messages = card.messages.saturating_add(1);
        card.tokens = card.tokens.saturating_add(tokens);
    }

    /// Whether a topic is another or lies below it.
    fn is_below(&self, topic: TopicId, other: TopicId) -> bool {
        let mut above = Some(followed(&self.merged, topic));
        // No way up is longer than there are topics.
        for _ in 0..=self.editions.len() {
            match above {
                Some(topic) if topic == other => return true,
                Some(topic) => above = self.parent(topic),
                None => return false,
            }
        }
        false
    }

    fn parent(&self, topic: TopicId) -> Option<TopicId> {
        let parent = self.editions.get(&topic)?.card.parent?;
        Some(followed(&self.merged, parent)).filter(|parent| *parent != topic)
    }

    /// Takes over what people may have edited.
    fn describe(&mut self, topic: TopicId, closing: &Closing, known: &HashSet<TopicId>) {
        let read =
            |text: &String| text.parse::<TopicId>().ok().filter(|other| *other != topic && known.contains(other));
        let Some(edition) = self.editions.get(&topic) else { return };
        let mut card = edition.card.clone();
        if !closing.name.trim().is_empty() {
            card.name.clone_from(&closing.name);
        }
        card.brief.clone_from(&closing.brief);
        // What stands there as it was written is left as it was kept.
        let now = |topic: &TopicId| followed(&self.merged, *topic).to_string();
        if closing.parent != card.parent.as_ref().map(now) {
            let parent = closing.parent.as_ref().and_then(read);
            if parent.is_some_and(|parent| self.is_below(parent, topic)) {
                self.circular.push(topic);
            } else {
                card.parent = parent;
            }
        }
        let refers: Vec<String> = card.refers.iter().map(now).filter(|other| *other != closing.topic).collect();
        if closing.refers != refers {
            card.refers = closing.refers.iter().filter_map(read).collect();
        }
        let summary = closing.summary.clone();
        if card != edition.card || summary != edition.summary {
            let at = self.at;
            let Some(edition) = self.change(topic) else { return };
            let is_new = edition.number == 0;
            (edition.card, edition.summary, edition.stale) = (card, summary, false);
            if is_new && !edition.summary.is_empty() {
                edition.reviewed = Some(Mark { at, messages: edition.card.messages });
            }
        }
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
