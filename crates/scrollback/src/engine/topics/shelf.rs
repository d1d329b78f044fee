//! A shelf: what is known of a branch's topics between two turns. How far the branch is sorted is written with each
//! sorting, and only if nobody else has sorted meanwhile; how active its topics are is written with each reply.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::editions::{Edition, Editions};
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{At, BranchId, Depth, MessageId, SessionKey};
use crate::store::{Expect, Kind, Lineage, Put, Scope, Span};
use crate::strategy::topics::Topical;
use crate::strategy::topics::activation::{self, Trail};
use crate::topic::{Card, TopicId};

/// How many topics are remembered as recent.
const RECENT: usize = 48;
/// How many topics' scores are remembered.
const TRAILS: usize = 96;

/// How far a branch is sorted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The first depth that is in no topic.
    pub(super) frontier: Depth,
    /// Older stretches that were passed over, each from and up to a depth: long histories that came at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) backlog: Vec<(Depth, Depth)>,
    /// How many topics there are.
    pub(super) count: u32,
    /// Those that were added to last, the last one first.
    pub(super) recent: Vec<TopicId>,
    /// Whether any was ever archived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) archived: bool,
}

/// How active the topics of a branch are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Activity {
    pub(super) trails: Vec<Trail>,
    /// The turn that was scored last: answering it again does not score it again.
    pub(super) scored: Option<MessageId>,
    /// How often a card was rewritten beside sortings: whoever has cards in mind reads them again when it grows.
    #[serde(default)]
    pub(super) rewritten: u32,
}

/// A topic on the shelf.
#[derive(Clone, Debug)]
pub(super) struct Shelved {
    pub(super) card: Arc<Card>,
    pub(super) edition: u32,
    pub(super) archived: bool,
}

impl Shelved {
    pub(super) fn of(edition: &Edition) -> Self {
        let archived = edition.archived.is_some();
        Self { card: Arc::new(edition.card.clone()), edition: edition.number, archived }
    }
}

/// The topics of a branch.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Shelf {
    pub(super) branch: Option<BranchId>,
    version: u64,
    /// Whether its branch is sorted further than its path reaches: then it is for looking only.
    is_cut: bool,
    pub(super) progress: Progress,
    pub(super) activity: Activity,
    pub(super) cards: HashMap<TopicId, Shelved>,
    /// The cards that an index lists.
    listed: Vec<Arc<Card>>,
}

impl Shelf {
    /// Whether anything was sorted yet.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.progress.count == 0
    }

    /// Whether it is of this branch.
    pub(in crate::engine) fn is_of(&self, branch: BranchId) -> bool {
        self.branch == Some(branch)
    }

    /// Whether what is done to it may be written.
    pub(in crate::engine) fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// Hands it on to a branch that begins, if what was sorted on its own is all on that one's path.
    pub(super) fn hand_on(&mut self, lineage: &Lineage) -> bool {
        let [(branch, _), (left, depth), ..] = lineage.0[..] else { return false };
        if self.branch != Some(left) || self.is_cut || self.progress.frontier > depth.plus(1) {
            return false;
        }
        (self.branch, self.version) = (Some(branch), 0);
        true
    }

    /// What it takes in memory, roughly.
    pub(in crate::engine) fn bytes(&self) -> usize {
        let cards = self.cards.values().map(|shelved| shelved.card.name.len() + shelved.card.brief.len() + 200);
        cards.sum::<usize>() + 64 * self.activity.trails.len()
    }

    /// What a strategy is told of it.
    pub(in crate::engine) fn topical(&self) -> Topical<'_> {
        Topical { cards: &self.listed, count: self.progress.count }
    }

    pub(super) fn active(&self) -> impl Iterator<Item = TopicId> {
        self.activity.trails.iter().filter(|trail| trail.active).map(|trail| trail.topic)
    }

    /// Takes note of a topic that was added to.
    pub(super) fn touch(&mut self, edition: &Edition) {
        let topic = edition.card.id;
        self.cards.insert(topic, Shelved::of(edition));
        self.progress.recent.retain(|known| *known != topic);
        self.progress.recent.insert(0, topic);
        self.progress.recent.truncate(RECENT);
    }

    /// Settles which topics are listed: those that were added to last.
    pub(super) fn relist(&mut self) {
        let cards = self.progress.recent.iter().filter_map(|topic| self.cards.get(topic));
        let open = cards.filter(|shelved| !shelved.archived && shelved.card.messages > 0);
        self.listed = open.map(|shelved| shelved.card.clone()).collect();
        // One that was divided or merged has nothing left to be awake for.
        let is_left = |topic| self.cards.get(&topic).is_none_or(|shelved| shelved.card.messages > 0);
        self.activity.trails.retain(|trail| is_left(trail.topic));
        activation::forget_idle(&mut self.activity.trails, TRAILS);
        let known: Vec<TopicId> = self.activity.trails.iter().map(|trail| trail.topic).collect();
        self.cards.retain(|topic, _| self.progress.recent.contains(topic) || known.contains(topic));
    }

    /// The records after a sorting; refused if somebody else has sorted meanwhile.
    pub(super) fn sorted(&self, session: &SessionKey, branch: BranchId, at: At) -> [Put; 2] {
        let expect = if self.version == 0 { Expect::Absent } else { Expect::Version(self.version) };
        let progress = Put::new(session, Kind::Setting, progress_key(branch), at, &self.progress).expecting(expect);
        [progress, self.scored(session, branch, at)]
    }

    /// The record after a reply.
    pub(super) fn scored(&self, session: &SessionKey, branch: BranchId, at: At) -> Put {
        Put::new(session, Kind::Setting, activity_key(branch), at, &self.activity)
    }

    /// Counts a sorting that was written.
    pub(super) fn was_written(&mut self) {
        self.version += 1;
    }
}

impl Engine {
    /// The shelf of a branch: its own, or else what it inherits from the branch it left.
    pub(in crate::engine) async fn shelf(&self, session: &SessionKey, lineage: &Lineage) -> Result<Shelf> {
        let mut shelf = Shelf::default();
        for (i, &(branch, depth)) in lineage.0.iter().enumerate() {
            if i == 0 {
                shelf.branch = Some(branch);
            }
            if shelf.version == 0
                && let Some((progress, version)) = self.setting::<Progress>(session, progress_key(branch)).await?
            {
                shelf.is_cut = i == 0 && progress.frontier > depth.plus(1);
                shelf.progress = progress.cut(depth);
                shelf.version = if i == 0 { version } else { 0 };
                shelf.activity = self.activity(session, lineage, i).await?;
                break;
            }
        }
        let editions = Editions { store: self.store(), session, lineage };
        if shelf.version == 0 && shelf.progress.count > 0 {
            // The branch it left may have gone on: what counts is what was sorted before they parted.
            let seen = editions.newest().await?;
            let count = seen.iter().filter(|edition| edition.merged.is_none()).count();
            shelf.progress.count = u32::try_from(count).unwrap_or(u32::MAX);
            let upto = seen.iter().map(|edition| edition.upto).max().unwrap_or_default();
            shelf.progress = shelf.progress.clone().before(upto);
        }
        let known = shelf.progress.recent.iter().copied();
        let wanted: Vec<TopicId> = known.chain(shelf.activity.trails.iter().map(|trail| trail.topic)).collect();
        for topic in wanted {
            if !shelf.cards.contains_key(&topic)
                && let Some(edition) = editions.of(topic).await?
            {
                shelf.cards.insert(topic, Shelved::of(&edition));
            }
        }
        // What was sorted on another path only is not known on this one.
        let Shelf { progress, activity, cards, .. } = &mut shelf;
        progress.recent.retain(|topic| cards.contains_key(topic));
        activity.trails.retain(|trail| cards.contains_key(&trail.topic));
        shelf.relist();
        Ok(shelf)
    }

    /// Whether a shelf is as the store has it; how active its topics are is read again in any case.
    pub(super) async fn is_current(&self, session: &SessionKey, shelf: &mut Shelf) -> Result<bool> {
        let Some(branch) = shelf.branch.filter(|_| !shelf.is_cut) else { return Ok(false) };
        let progress = self.setting::<Progress>(session, progress_key(branch)).await?;
        let activity = self.setting::<Activity>(session, activity_key(branch)).await?;
        // What a branch inherits may change until it has a word of its own.
        let Some((activity, _)) = activity else { return Ok(shelf.is_empty()) };
        let as_before = progress.map_or(0, |(_, version)| version) == shelf.version
            && activity.rewritten == shelf.activity.rewritten;
        shelf.activity = activity;
        Ok(as_before)
    }

    /// Whether a branch has a word of its own on its topics.
    pub(super) async fn has_shelf(&self, session: &SessionKey, branch: BranchId) -> Result<bool> {
        let progress = self.setting::<Progress>(session, progress_key(branch)).await?;
        let activity = self.setting::<Activity>(session, activity_key(branch)).await?;
        Ok(progress.is_some() || activity.is_some())
    }

    /// How active the topics of a shelf are by now: somebody else may have written it meanwhile.
    pub(super) async fn latest_activity(&self, session: &SessionKey, shelf: &Shelf) -> Result<Activity> {
        let Some(branch) = shelf.branch else { return Ok(shelf.activity.clone()) };
        let written = self.setting(session, activity_key(branch)).await?;
        Ok(written.map_or_else(|| shelf.activity.clone(), |(activity, _)| activity))
    }

    /// How active topics are, by the newest word on it up the lineage.
    async fn activity(&self, session: &SessionKey, lineage: &Lineage, upto: usize) -> Result<Activity> {
        for (branch, _) in &lineage.0[..=upto] {
            if let Some((activity, _)) = self.setting(session, activity_key(*branch)).await? {
                return Ok(activity);
            }
        }
        Ok(Activity::default())
    }

    pub(super) async fn setting<T: serde::de::DeserializeOwned>(
        &self,
        session: &SessionKey,
        key: String,
    ) -> Result<Option<(T, u64)>> {
        let record = self.store().record(Scope::Session(session.clone()), Kind::Setting, key).await?;
        record.map(|record| Ok((record.read()?, record.version))).transpose()
    }

    /// Some messages by number.
    pub(super) async fn by_number(
        &self,
        session: &SessionKey,
        ids: Vec<MessageId>,
    ) -> Result<Vec<Arc<crate::store::Stored>>> {
        Ok(self.store().read(session, Span::Ids(ids)).await?.into_iter().map(Arc::new).collect())
    }
}

impl Progress {
    /// Takes note of a stretch that was sorted: the next one, or the beginning of a backlog.
    pub(super) fn pass(&mut self, from: Depth, to: Depth) {
        if from >= self.frontier {
            self.frontier = to;
        } else if let Some(stretch) = self.backlog.iter_mut().find(|(start, _)| *start == from) {
            stretch.0 = to;
        }
        self.backlog.retain(|(start, end)| start < end);
    }

    /// Takes note that a path is folded up to a depth: what was never sorted below it can wait.
    pub(super) fn skip_to(&mut self, open: Depth) {
        if open > self.frontier {
            self.backlog.push((self.frontier, open));
            self.frontier = open;
        }
    }

    /// The same for a path that leaves its branch after a depth.
    fn cut(self, depth: Depth) -> Self {
        self.before(depth.plus(1))
    }

    /// The same, as far as it lies before a depth.
    fn before(mut self, end: Depth) -> Self {
        self.frontier = self.frontier.min(end);
        self.backlog.iter_mut().for_each(|(_, to)| *to = end.min(*to));
        self.backlog.retain(|(from, to)| from < to);
        self
    }
}

fn progress_key(branch: BranchId) -> String {
    format!("sorted/{:06}", branch.0)
}

fn activity_key(branch: BranchId) -> String {
    format!("activity/{:06}", branch.0)
}
