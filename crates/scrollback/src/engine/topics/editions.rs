//! Topics in the store: each change of a topic is an edition, kept for good; a chunk says where each message of a
//! stretch went.
//!
//! Editions belong to the branch they were made on and know how far down it they reach, so that a path sees of a topic
//! what was said on that path and nothing else. The newest edition comes first. A message is sorted once: undoing a
//! fold shows it again and leaves it in its topic.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::ids::{At, BranchId, Depth, MessageId, SessionKey};
use crate::store::{Expect, Keys, Kind, Lineage, Position, Put, Record, Scope, Store};
use crate::topic::{Card, TopicId};

/// How often it is looked where a message went from a topic.
const MOVES: usize = 64;
const TOPIC: &str = "topic/";
const CHUNK: &str = "sorted/";

/// A message of a topic: its number and its depth.
pub(super) type Member = (MessageId, Depth);

/// When a topic was reviewed, and how many messages it held then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) at: At,
    pub(super) messages: u32,
}

/// A topic from some change on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Edition {
    /// Its number, from 1; a branch counts on from the one it left.
    pub(super) number: u32,
    /// How far the path was sorted when it was made.
    pub(super) upto: Depth,
    pub(super) card: Card,
    /// Messages that were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) added: Vec<Member>,
    /// Messages that went into topics of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) moved: Vec<(MessageId, TopicId)>,
    /// Whether messages ever went elsewhere from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) parted: bool,
    /// The topic it became a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) merged: Option<TopicId>,
    /// Since when it is archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) archived: Option<At>,
    /// What it came to when it was last reviewed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) summary: String,
    /// How much it mattered then, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) importance: Option<f32>,
    /// Whether it was a question for once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) once: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reviewed: Option<Mark>,
    /// Whether its brief was written without the helper since messages were added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) stale: bool,
}

impl Edition {
    /// The first edition of a topic.
    pub(super) fn new(card: Card, upto: Depth) -> Self {
        Self {
            number: 0,
            upto,
            card,
            added: Vec::new(),
            moved: Vec::new(),
            parted: false,
            merged: None,
            archived: None,
            summary: String::new(),
            importance: None,
            once: false,
            reviewed: None,
            stale: false,
        }
    }

    /// The edition after it on a branch, with nothing added yet.
    pub(super) fn next(&self, upto: Depth) -> Self {
        let parted = self.parted || !self.moved.is_empty();
        Self { upto, added: Vec::new(), moved: Vec::new(), parted, ..self.clone() }
    }

    /// Whether it holds messages of its own.
    pub(super) fn is_open(&self) -> bool {
        self.merged.is_none() && self.card.messages > 0
    }
}

/// Where the messages of a stretch went: runs of depths.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Chunk {
    pub(super) from: Depth,
    pub(super) runs: Vec<(Depth, Depth, TopicId)>,
}

impl Chunk {
    fn place(&self, depth: Depth) -> Option<TopicId> {
        self.runs.iter().find(|(from, to, _)| (*from..=*to).contains(&depth)).map(|(_, _, topic)| *topic)
    }
}

/// The topics that a path sees.
pub(super) struct Editions<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) session: &'a SessionKey,
    pub(super) lineage: &'a Lineage,
}

impl Editions<'_> {
    /// The newest edition of a topic on this path.
    pub(super) async fn of(&self, topic: TopicId) -> Result<Option<Edition>> {
        let mut below = None;
        while let Some((branch, depth)) = self.nearest(topic, below).await? {
            below = Some(branch);
            let mut after = editions(topic, branch);
            // Nearly always the newest is the one.
            while let Some(record) = self.next(topic, branch, after).await? {
                let edition: Edition = record.read()?;
                if edition.upto <= depth.plus(1) {
                    return Ok(Some(edition));
                }
                after = record.key;
            }
        }
        Ok(None)
    }

    async fn next(&self, topic: TopicId, branch: BranchId, after: String) -> Result<Option<Record>> {
        let found = self.records(Kind::Note, after, 1).await?.pop();
        Ok(found.filter(|record| record.key.starts_with(&editions(topic, branch))))
    }

    /// The nearest branch of this path, below one, on which a topic may have editions, and how far along it the path
    /// goes. Branches are numbered as they begin, so that one leads to the next however many lie between.
    async fn nearest(&self, topic: TopicId, below: Option<BranchId>) -> Result<Option<(BranchId, Depth)>> {
        let mut below = below;
        loop {
            let mut left = self.lineage.0.iter().filter(|(branch, _)| below.is_none_or(|below| *branch < below));
            let Some(&next) = left.next() else { return Ok(None) };
            if left.next().is_none() {
                return Ok(Some(next));
            }
            let keys = Keys::Before(format!("{}~", editions(topic, next.0)), 1);
            let found = self.store.records(&Scope::Session(self.session.clone()), Kind::Note, keys).await?.pop();
            let Some(branch) = found.and_then(|record| branch_in(&record.key, topic)) else { return Ok(None) };
            if let Some(here) = self.lineage.0.iter().find(|(known, _)| *known == branch) {
                return Ok(Some(*here));
            }
            below = Some(branch);
        }
    }

    /// One edition, as it was when it was shown.
    pub(super) async fn numbered(&self, topic: TopicId, number: u32) -> Result<Option<Edition>> {
        let mut below = None;
        while let Some((branch, _)) = self.nearest(topic, below).await? {
            below = Some(branch);
            let (scope, key) = (Scope::Session(self.session.clone()), edition_key(topic, branch, number));
            if let Some(record) = self.store.record(scope, Kind::Note, key).await? {
                return record.read().map(Some);
            }
        }
        Ok(None)
    }

    /// Every edition of a topic on this path, the newest first.
    pub(super) async fn all(&self, topic: TopicId) -> Result<Vec<Edition>> {
        let (mut all, mut below) = (Vec::new(), None);
        while let Some((branch, depth)) = self.nearest(topic, below).await? {
            below = Some(branch);
            let on = self.on(topic, branch).await?;
            all.extend(on.into_iter().filter(|edition| edition.upto <= depth.plus(1)));
        }
        Ok(all)
    }

    /// The messages of a topic that a path has folded, in the order they were said.
    pub(super) async fn members(&self, topic: TopicId, open: Depth) -> Result<Vec<Member>> {
        let mut members: HashMap<MessageId, Depth> = HashMap::new();
        // A message may go and come back: what happened last counts.
        for edition in self.all(topic).await?.iter().rev() {
            members.retain(|member, _| edition.moved.iter().all(|(id, _)| id != member));
            members.extend(edition.added.iter().copied());
        }
        let mut members: Vec<Member> = members.into_iter().filter(|(_, depth)| *depth < open).collect();
        members.sort_by_key(|(_, depth)| *depth);
        Ok(members)
    }

    /// The topic that a message is in now.
    pub(super) async fn topic_of(&self, at: Position) -> Result<Option<TopicId>> {
        Ok(self.home_of(at).await?.map(|(topic, _)| topic))
    }

    /// The topic that a message is in now, and its newest edition.
    pub(super) async fn home_of(&self, at: Position) -> Result<Option<(TopicId, Option<Edition>)>> {
        let Some(mut topic) = self.placed(at).await? else { return Ok(None) };
        // Topics are divided and merged now and then; each step leads to a newer one.
        let mut steps = 0;
        loop {
            let Some(edition) = self.of(topic).await? else { return Ok(Some((topic, None))) };
            let moved = match edition.merged {
                Some(merged) => Some(merged),
                None if edition.parted || !edition.moved.is_empty() => {
                    // A divided topic ends with where its messages went: then its earlier editions need not be read.
                    let here = edition.moved.iter().find(|(moved, _)| *moved == at.id).map(|(_, to)| *to);
                    if here.is_some() { here } else { self.moved(topic, at.id).await? }
                }
                None => None,
            };
            match moved {
                Some(next) if next != topic && steps < MOVES => (topic, steps) = (next, steps + 1),
                _ => return Ok(Some((topic, Some(edition)))),
            }
        }
    }

    /// Where a message went from a topic, unless it came back.
    async fn moved(&self, topic: TopicId, id: MessageId) -> Result<Option<TopicId>> {
        for edition in self.all(topic).await? {
            if edition.added.iter().any(|(added, _)| *added == id) {
                return Ok(None);
            }
            if let Some((_, to)) = edition.moved.iter().find(|(moved, _)| *moved == id) {
                return Ok(Some(*to));
            }
        }
        Ok(None)
    }

    /// Every topic that this path sees, by its newest edition; merged and divided ones too.
    pub(super) async fn newest(&self) -> Result<Vec<Edition>> {
        let (mut found, mut after) = (Vec::new(), TOPIC.to_owned());
        while let Some(record) = self.records(Kind::Note, after, 1).await?.pop() {
            let Some(topic) = topic_in(&record.key) else { break };
            found.extend(self.of(topic).await?);
            after = format!("{TOPIC}{:010}/~", topic.0.0);
        }
        Ok(found)
    }

    /// The topic that a message was sorted into: on its own branch, or on one that left it later.
    async fn placed(&self, at: Position) -> Result<Option<TopicId>> {
        // Mostly that is soon after it was said: on its own branch, or on one of the next. Where a branch left before
        // that, it sorted the message itself; if it only sorted later ones, it took over where this one went.
        let (mut from, mut found) = (at.branch, None);
        while let Some(&(branch, depth)) = self.lineage.0.iter().rev().find(|(branch, _)| *branch >= from) {
            let Some((chunk, (on, to))) = self.chunk(branch, at.depth).await? else { break };
            // What was sorted after the paths parted is another path's.
            if on == branch && to <= depth {
                match chunk.place(at.depth) {
                    None if found.is_some() => break,
                    placed => found = placed,
                }
            }
            from = on.max(BranchId(branch.0 + 1));
        }
        Ok(found)
    }

    /// The chunk of a branch that ends at a depth or next after it, or the first one of a later branch; and where it
    /// ends.
    async fn chunk(&self, branch: BranchId, depth: Depth) -> Result<Option<(Chunk, (BranchId, Depth))>> {
        let after = depth.0.checked_sub(1).map_or_else(|| chunks(branch), |before| chunk(branch, Depth(before)));
        let found = self.records(Kind::Note, after, 1).await?.pop();
        let Some(record) = found else { return Ok(None) };
        let end = record.key.strip_prefix(CHUNK).and_then(|key| key.split_once('/'));
        let end = end.and_then(|(branch, to)| Some((BranchId(branch.parse().ok()?), Depth(to.parse().ok()?))));
        end.map(|end| Ok((record.read::<Chunk>()?, end))).transpose()
    }

    /// The editions of a topic on one branch, the newest first.
    async fn on(&self, topic: TopicId, branch: BranchId) -> Result<Vec<Edition>> {
        let (scope, keys) = (Scope::Session(self.session.clone()), Keys::Under(editions(topic, branch)));
        self.store.records(&scope, Kind::Note, keys).await?.iter().map(Record::read).collect()
    }

    async fn records(&self, kind: Kind, after: String, limit: usize) -> Result<Vec<Record>> {
        self.store.records(&Scope::Session(self.session.clone()), kind, Keys::After(after, limit)).await
    }
}

/// The record of an edition on a branch.
pub(super) fn put(session: &SessionKey, branch: BranchId, edition: &Edition, at: At) -> Put {
    let key = edition_key(edition.card.id, branch, edition.number);
    // Editions are kept for good: whoever has not seen the newest one cannot write over it.
    Put::new(session, Kind::Note, key, at, edition).expecting(Expect::Absent)
}

/// The topics that ever held one of these messages, with every name they had, as records of editions tell.
pub(in crate::engine) fn holding(records: &[Record], ids: &[MessageId]) -> Result<HashMap<TopicId, HashSet<String>>> {
    let mut names: HashMap<TopicId, HashSet<String>> = HashMap::new();
    let mut holding: HashSet<TopicId> = HashSet::new();
    for record in records.iter().filter(|record| record.key.starts_with(TOPIC)) {
        let edition: Edition = record.read()?;
        if edition.added.iter().any(|(id, _)| ids.contains(id)) {
            holding.insert(edition.card.id);
        }
        names.entry(edition.card.id).or_default().insert(edition.card.name);
    }
    names.retain(|topic, _| holding.contains(topic));
    Ok(names)
}

/// An edition without what was written about its messages. The next review writes it anew; that of an archived topic
/// stays empty until messages are added to it.
pub(in crate::engine) fn unwritten(record: &Record, is_named_by: impl Fn(&str) -> bool) -> Result<impl Serialize> {
    let mut edition: Edition = record.read()?;
    (edition.card.brief, edition.summary) = (String::new(), String::new());
    (edition.reviewed, edition.stale) = (None, true);
    if is_named_by(&edition.card.name) {
        edition.card.name = edition.card.id.to_string();
    }
    Ok(edition)
}

/// The record of a chunk that ends at a depth.
pub(super) fn put_chunk(session: &SessionKey, branch: BranchId, to: Depth, body: &Chunk, at: At) -> Put {
    Put::new(session, Kind::Note, chunk(branch, to), at, body)
}

fn editions(topic: TopicId, branch: BranchId) -> String {
    format!("{TOPIC}{:010}/{:06}/", topic.0.0, branch.0)
}

fn edition_key(topic: TopicId, branch: BranchId, number: u32) -> String {
    format!("{}{:010}", editions(topic, branch), u32::MAX - number)
}

fn chunks(branch: BranchId) -> String {
    format!("{CHUNK}{:06}/", branch.0)
}

fn chunk(branch: BranchId, to: Depth) -> String {
    format!("{}{:010}", chunks(branch), to.0)
}

/// The topic that a record's key names.
pub(in crate::engine) fn topic_in(key: &str) -> Option<TopicId> {
    let number = key.strip_prefix(TOPIC)?.split('/').next()?;
    number.parse().ok().map(|number| TopicId(MessageId(number)))
}

/// The branch of the edition of a topic that a record's key names.
fn branch_in(key: &str, topic: TopicId) -> Option<BranchId> {
    let on = key.strip_prefix(&format!("{TOPIC}{:010}/", topic.0.0))?;
    on.split('/').next()?.parse().ok().map(BranchId)
}
